"""Everything in kept/ is as it was."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import BaseCommand
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from evaluation.benchmarks.kind import kinds
from evaluation.models import Run
from tests.access import ROWS
from tests.contract.conftest import KEPT
from tests.test_access import Visitor, fill
from tests.test_commands import parsers
from tests.world import World

# Options that Django gives every command.
OF_DJANGO = {action.dest for action in BaseCommand().create_parser("manage.py", "any")._actions}


def answer_of(world: World, path: str) -> tuple[int, str, bytes]:
    """Status, type and content of what the owner of the campaigns gets there."""
    client = Visitor.client
    client.cookies.clear()
    client.force_login(world.alice)
    response = client.get(path)
    content = b"".join(response) if response.streaming else response.content
    return response.status_code, response.headers.get("Content-Type", ""), content


def test_commands_take_what_they_took(kept):
    lines = []
    for name, parser in parsers():
        lines.append(f"{name}: {parser.description or ''}".strip())
        for action in parser._actions:
            if action.dest in OF_DJANGO:
                continue
            names = "/".join(action.option_strings) or action.dest
            choices = "" if action.choices is None else f" of {list(action.choices)}"
            description = (
                f"{action.nargs} {action.default!r}{' required' if action.required else ''}"
            )
            lines.append(f"    {names}: {description}{choices}: {action.help}")

    kept("commands.txt", "\n".join(lines) + "\n")


def test_addresses_have_their_names(kept):
    def walk(resolver: Any, route: str = "", space: str = "") -> list[str]:
        lines = []
        for pattern in resolver.url_patterns:
            address = route + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
                lines += [] if address.startswith("admin/") else walk(pattern, address, inner)
            elif isinstance(pattern, URLPattern):
                lines.append(f"{space}{pattern.name} {address}")
        return lines

    kept("addresses.txt", "\n".join(sorted(walk(get_resolver()))) + "\n")


def brief(value: dict[str, Any]) -> str:
    """Return the type of a value in the schema by its name; `[x]` is a list of x, `{x}` a map."""
    if "$ref" in value:
        return str(value["$ref"]).rpartition("/")[2]
    for key in ("allOf", "oneOf", "anyOf"):
        if key in value:
            return "|".join(map(brief, value[key]))
    if "enum" in value:
        return "|".join(str(choice) for choice in value["enum"])
    if value.get("type") == "array":
        return f"[{brief(value['items'])}]"
    if isinstance(value.get("additionalProperties"), dict):
        return f"{{{brief(value['additionalProperties'])}}}"
    types = value.get("type", "any")
    return types if isinstance(types, str) else "|".join(types)


def bodies(content: dict[str, Any]) -> str:
    return " ".join(f"{kind}={brief(body['schema'])}" for kind, body in sorted(content.items()))


def lines_of_schema(schema: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each method of a path and for each type; `?` marks what may be missing."""
    for path, methods in sorted(schema["paths"].items()):
        for method, action in sorted(methods.items()):
            parameters = " ".join(
                f"{row['in']}:{row['name']}{'' if row.get('required') else '?'}"
                for row in action.get("parameters", [])
            )
            sent = bodies(action.get("requestBody", {}).get("content", {}))
            responses = " ".join(
                f"{status}({bodies(response.get('content', {}))})"
                for status, response in sorted(action["responses"].items())
            )
            yield f"{method} {path} {action['operationId']} ({parameters}) ({sent}) {responses}"
    for name, value in sorted(schema["components"]["schemas"].items()):
        required = value.get("required", [])
        fields = " ".join(
            f"{key}{'' if key in required else '?'}:{brief(field)}"
            for key, field in sorted(value.get("properties", {}).items())
        )
        yield f"type {name} {fields or brief(value)}"


def test_the_schema_of_the_api_is_the_same(kept, schema):
    kept("openapi.txt", "".join(f"{line}\n" for line in lines_of_schema(schema)))


def shape(value: Any) -> Any:
    """Keys and types of JSON: of a list, those of its first element."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def test_the_api_answers_with_the_same_fields(kept, world):
    shapes = {}
    for row in sorted(ROWS):
        method, route = row.split(" ", 1)
        if method == "GET" and route.startswith("api/v1/"):
            status, kind, content = answer_of(world, fill(route, world))
            if status == 200 and kind == "application/json":
                shapes[route] = shape(json.loads(content))

    kept("api.json", json.dumps(shapes, indent=1) + "\n")


@pytest.mark.parametrize(
    ("kind", "part"), [("mad", "run"), ("cds", "revealed"), ("wsol", "mapped")]
)
def test_a_result_that_was_stored_is_read(kept, world, kind, part):
    """kept/result-KIND.json is what a run of the first edition stored, and is never rewritten."""
    run = Run.objects.get(pk=world.parts[part])
    run.result = json.loads((KEPT / f"result-{kind}.json").read_text(encoding="utf-8"))
    run.save(update_fields=["result"])
    arguments = [run.benchmark.name, run.pk]
    tables = []
    for name in (table.name for table in kinds()[kind].tables):
        status, _, content = answer_of(
            world, reverse("evaluation:result_csv", args=[*arguments, name])
        )
        tables.append(f"== {name}: {status}\n")
        tables.append(content.decode().replace("\r\n", "\n") if status == 200 else "")

    assert answer_of(world, reverse("evaluation:run", args=arguments))[0] == 200
    # What the site keeps in files beside the result, the sequences of CDS among it, comes with it.
    downloaded = json.loads(answer_of(world, reverse("evaluation:result_json", args=arguments))[2])
    stored = run.result.keys() - {"sequences"}
    assert {key: downloaded[key] for key in stored} == {key: run.result[key] for key in stored}
    kept(f"tables-{kind}.txt", "".join(tables))
