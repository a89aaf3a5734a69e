#!/usr/bin/env python
"""Writes docs/reference/settings.md from annotator/settings.py: `python deploy/settings_page.py`.

A variable is a call of `env` with its name and default; its meaning is the comment above the
statement, in lines that begin with `#:`. Needs the standard library alone.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ROOT / "annotator" / "settings.py"
PAGE = ROOT / "docs" / "reference" / "settings.md"

TAKES = {
    "bool": "0 or 1",
    "cache": "URL",
    "db": "URL",
    "email_url": "URL",
    "float": "number",
    "int": "whole number",
    "list": "words with commas between",
    "str": "text",
}
HEAD = """# Settings

Every variable that a site reads, with its default. Do not edit this page:
`python deploy/settings_page.py` writes it from `annotator/settings.py`.

Variables are read from the environment, or from `.env` beside `manage.py`; the environment wins.
`NAME_FILE` names a file that has the value of `NAME`, for secrets. An empty variable counts as not
set; a switch or number that makes no sense is refused at the start. `manage.py check --deploy`
lists the settings that a public site still lacks.

| variable | takes | default | meaning |
|---|---|---|---|
"""
TAIL = """
Read elsewhere, from the environment alone:

| variable | by | meaning |
|---|---|---|
| `ASSAY_WORDNET` | web, worker, commands | a folder with WordNet 3.0's `data.noun`; the default is where `make setup` put it |
| `DJANGO_SETTINGS_MODULE` | all | another module of settings, which imports `annotator.settings` |
| `NUMBA_CACHE_DIR` | worker, commands | where compiled kernels are kept |
| `OMP_NUM_THREADS`, `NUMBA_NUM_THREADS` | worker, commands | threads of one job |
| `PROMETHEUS_MULTIPROC_DIR` | web | where processes add up their figures; the default is a temporary folder |
| `RAY_AUTH_MODE`, `RAY_AUTH_TOKEN`, `RAY_AUTH_TOKEN_PATH` | `--on ray:…` | how a command authenticates to a [cluster](../how-to/clusters-and-gpus.md): the mode (default `token`), the token, a file with the token |
| `TMPDIR` | web | where uploads are kept until they are whole |
| `WEB_BIND`, `WEB_CONCURRENCY` | `deploy/gunicorn_config.py` | address and port (127.0.0.1:8000); processes (4) |
"""  # noqa: E501


class Unexplained(Exception):
    """A variable without a comment, or a call that cannot be read."""


@dataclass(frozen=True)
class Variable:
    """A row of the page. default: as the page shows it."""

    name: str
    takes: str
    default: str
    meaning: str


def variables(source: str) -> list[Variable]:
    """Return every variable that the settings read, in their order. Raises Unexplained."""
    lines = source.splitlines()
    return [
        _variable(call, _meaning(lines, statement.lineno), source)
        for statement, call in _calls(ast.parse(source))
    ]


def _calls(tree: ast.Module) -> Iterator[tuple[ast.stmt, ast.Call]]:
    """Return the calls of `env` in order, each with the innermost statement that contains it."""
    calls: list[tuple[ast.stmt, ast.Call]] = []

    def walk(node: ast.AST, statement: ast.stmt | None) -> None:
        if isinstance(node, ast.stmt):
            statement = node
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "env"
        ):
            assert statement is not None
            calls.append((statement, node))
        for child in ast.iter_child_nodes(node):
            walk(child, statement)

    walk(tree, None)
    return iter(calls)


def _variable(call: ast.Call, meaning: str, source: str) -> Variable:
    assert isinstance(call.func, ast.Attribute)
    where = f"annotator/settings.py, line {call.lineno}"
    default = next((word.value for word in call.keywords if word.arg == "default"), None)
    if not call.args or not isinstance(call.args[0], ast.Constant) or default is None:
        raise Unexplained(f'{where}: expected env.TYPE("NAME", default=…)')
    name = str(call.args[0].value)
    if not meaning:
        raise Unexplained(f"{where}: {name} has no meaning; write it above, after `#:`")
    return Variable(name, TAKES[call.func.attr], _shown(default, source), meaning)


def _meaning(lines: list[str], statement: int) -> str:
    """Return the `#:` comment above the statement's line (from 1), as one line."""
    comment: list[str] = []
    for line in reversed(lines[: statement - 1]):
        if not line.strip().startswith("#:"):
            break
        comment.insert(0, line.strip().removeprefix("#:").strip())
    return " ".join(comment)


def _shown(default: ast.expr, source: str) -> str:
    try:
        value = ast.literal_eval(default)
    except ValueError:
        return f"`{ast.get_source_segment(source, default)}`"
    if value in ("", []):
        return "empty"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        value = ",".join(value)
    return f"`{value}`" if isinstance(value, str) else str(value)


def page(source: str) -> str:
    """Return the text of docs/reference/settings.md. Raises Unexplained."""
    rows = (
        f"| `{each.name}` | {each.takes} | {each.default} | {each.meaning} |\n"
        for each in variables(source)
    )
    return HEAD + "".join(row.replace("||", "\\|\\|") for row in rows) + TAIL


def main() -> int:
    try:
        text = page(SETTINGS.read_text())
    except Unexplained as error:
        print(error, file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
