"""Numbers that fit no column: in addresses, in queries and in bodies."""

import io
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from tests.doors import ROWS
from tests.test_doors import Visitor, _quiet, fill  # noqa: F401
from tests.world import World

LARGEST = 2**63 - 1
TOO_LARGE = (str(2**63), "1" + "0" * 30, "9" * 5000)
# Numbers in the queries of pages; the schema has those of the API.
QUERIES = ("page", "after", "question", "release", "radius", "version")


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    out = io.StringIO()
    call_command("spectacular", stdout=out)
    return yaml.safe_load(out.getvalue())


def with_numbers(route: str, world: World, number: str) -> Iterator[str]:
    """The route's real address with the number in place of each of its integers in turn."""
    address, _, query = fill(route, world).partition("?")
    for found in re.finditer(r"<int:\w+>", route):
        place = route[: found.start()].count("/")
        parts = address.removeprefix("/").split("/")
        parts[place] = route.split("/")[place].replace(found.group(), number)
        yield "/" + "/".join(parts) + (f"?{query}" if query else "")


def test_no_address_falls_over_a_number_that_fits_no_column(world):
    owner = Visitor(world.alice)
    wrong, tried = [], 0
    for row in ROWS:
        method, route = row.split(" ", 1)
        for number in TOO_LARGE:
            for path in with_numbers(route, world, number):
                tried += 1
                if (met := owner.ask(method, path)).startswith("5"):
                    wrong.append(f"{method} {path[:200]}: {met}")

    assert wrong == []
    assert tried > 100


def test_no_query_falls_over_a_number_that_fits_no_column(world, schema):
    asked = {
        path: item["get"].get("parameters", ())
        for path, item in schema["paths"].items()
        if "get" in item
    }
    owner = Visitor(world.alice)
    wrong, tried = [], 0
    for row in ROWS:
        method, route = row.split(" ", 1)
        if method != "GET" or route.startswith("accounts/"):
            continue
        known = asked.get("/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route).replace("{pk}", "{id}"), ())
        names = [one["name"] for one in known if one["in"] == "query"]
        for name in names if route.startswith("api/") else QUERIES:
            tried += route.startswith("api/")
            path = fill(route, world)
            path += f"{'&' if '?' in path else '?'}{name}={TOO_LARGE[1]}"
            if (met := owner.ask(method, path)).startswith("5"):
                wrong.append(f"GET {path}: {met}")

    assert wrong == []
    assert tried > 20


def test_every_whole_number_that_a_body_takes_has_bounds(schema):
    bodies = {
        f"{method} {path}": action["requestBody"]
        for path, item in schema["paths"].items()
        for method, action in item.items()
        if "requestBody" in action
    }

    found = [(where, *fault) for where, body in bodies.items() for fault in unbounded(body, schema)]

    assert len(bodies) > 20
    assert found == []


def unbounded(node: Any, schema: dict[str, Any], seen: tuple[str, ...] = ()) -> Iterator[tuple]:
    """Name and content of every writable integer below the node without a maximum that fits."""
    if isinstance(node, list):
        for inner in node:
            yield from unbounded(inner, schema, seen)
    if not isinstance(node, dict):
        return
    name = node.get("$ref", "").rpartition("/")[2]
    if name and name not in seen:
        yield from unbounded(schema["components"]["schemas"][name], schema, (*seen, name))
    written = node.get("type") == "integer" and not node.get("readOnly")
    if written and node.get("maximum", LARGEST + 1) > LARGEST:
        yield (*seen, node)
    for inner in node.values():
        yield from unbounded(inner, schema, seen)
