"""Every action of the API with one value of its body replaced: by another type, or by a path, an
address or an option of an engine. It is refused with a sentence, and never a 500."""

import copy
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from tests.access import ROWS
from tests.api_bodies import BARE, CAMPAIGN, EARLIER, LEFT_OUT, NOT_NOW, OF_BOB, OF_FILES, bodies
from tests.labeling.web.test_api_errors import check
from tests.test_access import fill

pytestmark = pytest.mark.ci

Place = tuple[str | int, ...]
Ask = Callable[[str, Any], Any]
DEEP = 800
OTHERS = [None, True, 1.5, 2**63, 10**400, "", "x" * 300_000, [], [None], {}, {"a": None}]
NO_TEXT = [b'"a\\u0000b"', b'"\\ud800"', b"1e999", b"NaN", b"9" * 5_000, b"[" * DEEP + b"]" * DEEP]
HOSTILE = ["s3://bucket/x", "../../etc/passwd", "http://127.0.0.1:9000/x", "--on ray:auto"]
FILTERS = ["", "-1", "nan", "9" * 400, "x" * 3_000, "a\0b", "é\u202e", *HOSTILE]
# Texts for people, which may say anything; all others choose among what is there.
FOR_PEOPLE = {
    *("title", "instructions", "description", "definition", "synonyms", "guidance", "caption"),
    *("explanation", "reason", "note", "reply", "source", "question", "url"),
}
# Names of what is new, which rows keep as they are, and what is only compared.
NEW = {
    "PUT api/v1/benchmarks/<slug:benchmark>/failure-tags/vocabulary/": {"vocabulary"},
    f"PUT {CAMPAIGN}graph/": {"id", "class"},
    f"POST {CAMPAIGN}topics/": {"key", "name"},
    f"PATCH {CAMPAIGN}topics/<str:key>/": {"name"},
    f"POST {CAMPAIGN}seats/": {"known"},
    # What somebody typed into a search, for figures alone.
    f"POST {CAMPAIGN}answers/": {"what"},
    "PUT api/v1/datasets/<slug:dataset>/vocabulary/": {"name", "aliases", "merge"},
    "POST api/v1/tokens/": {"name"},
}


@pytest.fixture(autouse=True)
def _quiet(monkeypatch):
    monkeypatch.setattr("labeling.web.api.accounts.SecretsThrottle.rate", "10000/hour")
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def ask(world) -> Ask:
    """Sends a body to an action, and undoes what it changed."""
    clients = []
    for user in (world.alice, world.bob):
        clients.append(Client(raise_request_exception=False))
        clients[-1].force_login(user)

    def send(row: str, body: Any) -> Any:
        method, route = row.split(" ", 1)
        content = body if isinstance(body, bytes) else json.dumps(body)
        point = transaction.savepoint()
        response = clients[row in OF_BOB].generic(
            method, fill(route, world), content, "application/json"
        )
        transaction.savepoint_rollback(point)
        return response

    return send


def places(value: Any, path: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every value inside, and where it is."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else inner:
        yield from places(each, (*path, key))


def replaced(body: Any, path: Place, value: Any) -> Any:
    if not path:
        return value
    changed = goal = copy.deepcopy(body)
    for key in path[:-1]:
        goal = goal[key]
    goal[path[-1]] = value
    return changed


def nested(depth: int, in_lists: bool) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value] if in_lists else {"a": value}
    return value


def properties(schema: dict[str, Any], node: Any) -> set[str]:
    """Names of fields anywhere in the schema of a body."""
    if "$ref" in node:
        return properties(schema, schema["components"]["schemas"][node["$ref"].rpartition("/")[2]])
    names = set(node.get("properties", ()))
    for inner in (*node.get("properties", {}).values(), node.get("items")):
        names |= properties(schema, inner) if inner else set()
    return names


def test_every_action_and_every_field_is_in_the_table(world, schema):
    table = bodies(world)
    writes = {row for row in ROWS if re.match(r"(POST|PUT|PATCH) api/v1/", row)}
    assert writes == set(table) | set(EARLIER) | OF_FILES | BARE
    known = {re.sub(r"<.*?>", "*", row): row for row in table}

    missing = []
    for path, actions in schema["paths"].items():
        for method, action in actions.items():
            row = known.get(re.sub(r"{.*?}", "*", f"{method.upper()} {path[1:]}"))
            if row:
                body = action["requestBody"]["content"]["application/json"]["schema"]
                sent = {key for path, _ in places(table[row]) for key in path}
                missing += [(row, name) for name in properties(schema, body) - sent - LEFT_OUT]

    assert missing == []


def test_the_bodies_of_the_table_are_taken(world, ask):
    met = {row: ask(row, body) for row, body in bodies(world).items()}

    refused = {row: (each.status_code, each.content) for row, each in met.items()}
    refused = {row: reply for row, reply in refused.items() if reply[0] >= 300}
    assert {row: status for row, (status, _) in refused.items()} == NOT_NOW, refused


def test_a_value_of_another_type_makes_no_action_fall_over(world, ask):
    deep = [nested(depth, lists) for depth in (DEEP // 4, DEEP) for lists in (True, False)]
    fallen = []
    for row, body in bodies(world).items():
        for path, _ in places(body):
            for value in (*OTHERS, *deep):
                response = ask(row, replaced(body, path, value))
                if response.status_code >= 500:
                    fallen.append((row, path, str(value)[:40]))
                elif response.status_code >= 400:
                    check(response, response.status_code)

    assert fallen == []


def test_what_no_text_or_number_can_be_is_refused_by_every_action(world, ask):
    for row, body in bodies(world).items():
        field = next(iter(body))
        for content in NO_TEXT:
            check(ask(row, json.dumps({field: "?"}).encode().replace(b'"?"', content)), 400)


def test_a_filter_of_any_value_makes_no_list_fall_over(world, schema):
    client = Client(raise_request_exception=False)
    client.force_login(world.alice)
    routes = {re.sub(r"<.*?>", "*", row): row for row in ROWS}
    fallen, tried = [], 0
    for path, actions in schema["paths"].items():
        route = routes[re.sub(r"{.*?}", "*", f"GET {path[1:]}")] if "get" in actions else ""
        for row in actions.get("get", {}).get("parameters", ()):
            for value in FILTERS if row["in"] == "query" else ():
                address = fill(route.removeprefix("GET "), world)
                response = client.get(address, {row["name"]: value})
                response.close()
                tried += 1
                if response.status_code >= 500:
                    fallen.append((path, row["name"], value))

    assert tried > 100
    assert fallen == []


def test_no_field_that_chooses_takes_a_path_an_address_or_an_option(world, ask):
    taken = []
    for row, body in bodies(world).items():
        for path, value in places(body):
            if not isinstance(value, str) or (FOR_PEOPLE | NEW.get(row, set())) & set(path):
                continue
            for hostile in HOSTILE:
                response = ask(row, replaced(body, path, hostile))
                if response.status_code not in (400, 404) and not is_refused_inside(response):
                    taken.append((row, path, hostile, response.status_code))

    assert taken == []


def is_refused_inside(response: Any) -> bool:
    """Whether the only answer of a page was refused."""
    results = response.json().get("results", [])
    return [row["status"] for row in results] == ["refused"]
