"""Write assay_client/models.py: a TypedDict for each object of the site's OpenAPI schema.

python clients/python/generate.py http://127.0.0.1:8000/api/schema/?format=json
"""

import json
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent / "assay_client" / "models.py"
HEAD = '''"""Objects of the API, written by clients/python/generate.py."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
Schema = Mapping[str, Any]


def source_of(schema: Schema) -> str:
    """Return the text of models.py."""
    components = sorted(schema["components"]["schemas"].items())
    parts = [part for name, component in components for part in _component(name, component)]
    return "\n".join([HEAD, *parts])


def _component(name: str, component: Schema) -> Iterator[str]:
    if "enum" in component:
        yield f"{name} = {_literal(component['enum'])}\n"
        return
    required, fields = component.get("required", ()), component.get("properties", {})
    yield f"\nclass {name}(TypedDict):"
    for field, value in fields.items():
        hint = _hint(value)
        yield f"    {field}: {hint if field in required else f'NotRequired[{hint}]'}"
    yield "" if fields else "    pass\n"


def _hint(value: Schema) -> str:
    options = value.get("oneOf") or value.get("allOf") or value.get("anyOf")
    if options:
        hint = " | ".join(dict.fromkeys(_hint(option) for option in options))
    elif "$ref" in value:
        hint = value["$ref"].rsplit("/")[-1]
    elif "enum" in value:
        hint = _literal(value["enum"])
    elif value.get("type") == "array":
        hint = f"list[{_hint(value['items'])}]"
    elif value.get("type") == "object":
        more = value.get("additionalProperties")
        hint = f"dict[str, {_hint(more) if isinstance(more, Mapping) else 'Any'}]"
    else:
        hint = PLAIN.get(value.get("type", ""), "Any")
    return f"{hint} | None" if value.get("nullable") and hint != "Any" else hint


def _literal(values: list[Any]) -> str:
    known = [value for value in values if value is not None]
    hint = f"Literal[{', '.join(json.dumps(value, ensure_ascii=False) for value in known)}]"
    return hint if len(known) == len(values) else f"{hint} | None"


if __name__ == "__main__":
    with urllib.request.urlopen(sys.argv[1]) as response:  # noqa: S310 - an address of the caller's
        TARGET.write_text(source_of(json.load(response)), encoding="utf-8")
