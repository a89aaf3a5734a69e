"""Names that say nothing may not become more."""

import ast
from collections import Counter
from pathlib import Path

from tests.test_repository import package_of, tracked

EMPTY_WORDS = (
    "found own one other said told asked given place past coming about here away stands standing "
    "shown listed named wanted things what"
)
EMPTY = set(EMPTY_WORDS.split())
# How many each package still defines. Whoever renames some lowers its entry; the table ends empty.
ALLOWED = {
    "annotator": 22,
    "annotator/demo": 18,
    "annotator/kinds": 33,
    "annotator/management": 1,
    "annotator/pages": 24,
    "evaluation/classifiers": 1,
    "evaluation/management": 164,
    "labeling": 43,
    "labeling/answers": 7,
    "labeling/assignment": 39,
    "labeling/assistance": 7,
    "labeling/boxes": 29,
    "labeling/campaigns": 22,
    "labeling/consensus": 60,
    "labeling/datasets": 77,
    "labeling/db": 9,
    "labeling/estimators": 46,
    "labeling/exchange": 93,
    "labeling/follow_ups": 75,
    "labeling/formats": 201,
    "labeling/geometry": 33,
    "labeling/graphs": 16,
    "labeling/jobs": 13,
    "labeling/kinds": 65,
    "labeling/management": 46,
    "labeling/models": 1,
    "labeling/near_duplicates": 18,
    "labeling/parts": 44,
    "labeling/promptable": 17,
    "labeling/question_graph": 80,
    "labeling/release_files": 43,
    "labeling/releases": 55,
    "labeling/reports": 112,
    "labeling/simulation": 63,
    "labeling/templatetags": 1,
    "labeling/vocabulary": 49,
    "tests": 1_353,
}
COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__sub__"}


def is_column(node: ast.AST) -> bool:
    """Return whether a field of a class is a column: its value calls models.TextField or so."""
    call = getattr(node, "value", None)
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)


def defined(tree: ast.AST) -> Counter[str]:
    """Return the names that a module defines: variables, parameters, functions and fields."""
    names: Counter[str] = Counter()
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            columns = [entry for entry in node.body if is_column(entry)]
            skipped |= {id(part) for entry in columns for part in ast.walk(entry)}
        elif isinstance(node, ast.FunctionDef):
            names[node.name] += 1
            if node.name in COMPARISONS:
                skipped |= {id(argument) for argument in node.args.args}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.arg):
            names[node.arg] += 1
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] += 1
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names[node.name] += 1
    return names


def python_files() -> list[Path]:
    return [file for file in tracked() if file.suffix == ".py" and "migrations" not in file.parts]


def empty_names() -> Counter[str]:
    counted: Counter[str] = Counter()
    for file in python_files():
        names = defined(ast.parse(file.read_bytes()))
        counted[package_of(file)] += sum(names[name] for name in EMPTY)
    return +counted


def test_no_package_defines_more_names_that_say_nothing():
    counted = empty_names()

    assert {package: n for package, n in counted.items() if n > ALLOWED.get(package, 0)} == {}


def test_an_empty_name_is_seen_wherever_it_is_defined():
    tree = ast.parse(
        "def found(own, *, said=1):\n"
        "    for one in own: place = one\n"
        "    return [what for what in said if (past := what)]\n"
    )

    names = defined(tree)

    assert {name for name in names if name in EMPTY} == {
        "found",
        "own",
        "said",
        "one",
        "place",
        "what",
        "past",
    }


def test_columns_and_comparisons_may_have_such_names():
    tree = ast.parse(
        "class Row(Model):\n"
        "    place = models.TextField()\n"
        "    def __eq__(self, other): return True\n"
    )

    assert not EMPTY & defined(tree).keys()
