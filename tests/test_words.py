"""Names that say nothing may not become more."""

import ast
from collections import Counter
from pathlib import Path

from tests.syntax import statements
from tests.test_repository import GENERATED, package_of, tracked

EMPTY_WORDS = (
    "found own one other said told asked given place past coming about here away stands standing "
    "shown listed named wanted things what"
)
EMPTY = set(EMPTY_WORDS.split())
# How many each package still defines. Whoever renames some lowers its entry; the table ends empty.
ALLOWED = {"evaluation/classifiers": 1}
COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__sub__"}


def is_column(node: ast.AST) -> bool:
    """Return whether a field of a class is a column: its value calls models.TextField or so."""
    call = getattr(node, "value", None)
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)


def defined(tree: ast.AST) -> Counter[str]:
    """Return the names that a module defines: variables, parameters, functions and fields."""
    names: Counter[str] = Counter()
    skipped = set()
    for node in statements(tree):
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
    return [
        file
        for file in tracked()
        if file.suffix == ".py" and "migrations" not in file.parts and file != GENERATED
    ]


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


# The first word of a public docstring says what the function does (PEP 257).
VERB_WORDS = (
    "Return Raise Yield Accept Add Answer Append Apply Ask Assign Bar Block Calibrate Change Check "
    "Classify Clear Close Complete Compute Continue Convert Copy Correct Count Create Cut "
    "Decide Decode Define Delete Deliver Download Draw Edit Embed End Extend Extract Fetch Fill "
    "Flag Flush Free Freeze Give Grant Group Hand Ignore Import Join Judge Keep Label Learn "
    "Lease Let Lift List Load Lock Log Lower Make Mark Move Number Open Pack Pass Pause Place "
    "Plan Predict Print Put Queue Rank Read Recompute Record Recount Redirect Register Remove "
    "Rename Render Renew Reopen Replace Replan Reply Request Resend Reserve Retire Retry Revoke "
    "Run Save Score Search Send Set Settle Show Skip Start Stop Store Submit Sync Take Tell Turn "
    "Unpack Update Upload Void Wait Withdraw Write Zip"
)
VERBS = set(VERB_WORDS.split())
PRODUCT = ("annotator", "labeling", "evaluation")


def first_words(tree: ast.AST) -> list[str]:
    """Return the first word of the docstring of each public function."""
    functions = (node for node in statements(tree) if isinstance(node, ast.FunctionDef))
    public = (node for node in functions if not node.name.startswith("_"))
    docstrings = (ast.get_docstring(node) for node in public)
    return [docstring.split()[0].strip(".,:;") for docstring in docstrings if docstring]


def test_docstrings_of_public_functions_begin_with_a_verb():
    wrong = {
        f"{file}: {word}"
        for file in python_files()
        if package_of(file).split("/")[0] in PRODUCT
        for word in first_words(ast.parse(file.read_bytes()))
        if word not in VERBS
    }

    assert wrong == set()


def test_a_docstring_without_a_verb_is_seen():
    tree = ast.parse(
        "def area(): 'The area.'\n"
        "def width(): 'Return the width.'\n"
        "def _height(): 'Height.'\n"
        "class Box:\n    'A box.'\n    def top(self): '(N,) tops.'\n"
    )

    assert [word for word in first_words(tree) if word not in VERBS] == ["The", "(N,)"]


# Classes that Django finds by these names, and choices named within their model.
SHARED_CLASS_NAMES = {"Meta", "Command", "Kind", "State"}


def test_no_class_name_is_used_twice():
    classes = Counter(
        node.name
        for file in python_files()
        if package_of(file).split("/")[0] in PRODUCT
        for node in statements(ast.parse(file.read_bytes()))
        if isinstance(node, ast.ClassDef)
    )

    assert {name for name, n in classes.items() if n > 1} - SHARED_CLASS_NAMES == set()


def test_literals_are_not_packed_to_please_the_formatter():
    packed = [
        f"{file}:{node.lineno}"
        for file in python_files()
        if package_of(file).split("/")[0] in PRODUCT and "*(" in file.read_text()
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple)
    ]

    assert packed == []
