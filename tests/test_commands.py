"""Every command says what its verbs and options are for, and docs/reference/commands.md has all of
them."""

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.core.management import get_commands, load_command_class

TABLE = Path(__file__).resolve().parents[1] / "docs/reference/commands.md"
APPS = ("annotator", "labeling", "evaluation")


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """("mad rank", its parser) of every verb of ours, and of every command without verbs."""
    for name, app in sorted(get_commands().items()):
        if app in APPS:
            parser = load_command_class(str(app), name).create_parser("manage.py", name)
            verbs = verbs_of(parser)
            if verbs is None:
                yield name, parser
            else:
                yield from ((f"{name} {verb}", each) for verb, each in verbs.choices.items())


def verbs_of(parser: argparse.ArgumentParser) -> argparse._SubParsersAction | None:
    actions = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return actions[0] if actions else None


def test_every_option_and_argument_says_what_it_is():
    silent = [
        f"{name} {'/'.join(action.option_strings) or action.dest}"
        for name, parser in parsers()
        for action in parser._actions
        if not action.help
    ]

    assert silent == []


def test_every_verb_says_what_it_does():
    silent = []
    for name, app in get_commands().items():
        if app in APPS:
            parser = load_command_class(str(app), name).create_parser("manage.py", name)
            assert parser.description, name
            if (verbs := verbs_of(parser)) is not None:
                described = {each.dest for each in verbs._choices_actions if each.help}
                silent += [f"{name} {verb}" for verb in verbs.choices if verb not in described]

    assert silent == []


def in_table() -> set[str]:
    """The commands in docs/reference/commands.md; `mad select`, `merge` are mad select and mad
    merge."""
    names: set[str] = set()
    verbs = {name.split()[0] for name, _ in parsers() if " " in name}
    rows = re.findall(r"^\| (`.+?`) \|", TABLE.read_text(), flags=re.M)
    for row in rows:
        above = ""
        for code in re.findall(r"`([^`]+)`", row):
            words = [word for word in code.split() if re.fullmatch(r"[a-z-]+", word)]
            if words[0] in verbs and len(words) > 1:
                above = words[0]
            names.add(" ".join(words) if len(words) > 1 or not above else f"{above} {words[0]}")
    return names


def test_the_table_of_commands_has_every_command():
    assert in_table() == {name for name, _ in parsers()}


ROOT = TABLE.parents[2]
# The API describes itself in Markdown, and published folders have documents in it.
MARKDOWN = re.compile(r"(^|/)(api|serializers|api_urls)(\.py|/)|publishing/documents\.py$")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def strings_in(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every string of a module but its docstrings."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node


def test_no_message_has_raw_backticks():
    marked = [
        f"{path.relative_to(ROOT)}:{text.lineno}"
        for app in APPS
        for path in sorted((ROOT / app).rglob("*.py"))
        if not MARKDOWN.search(path.relative_to(ROOT).as_posix()) and "migrations" not in path.parts
        if "`" in (code := path.read_text())
        for text in strings_in(ast.parse(code))
        if "`" in text.value
    ]

    assert marked == []
