"""Plain tests assert no elapsed time below ten seconds: a busy machine would fail them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).parent
CLOCKS = {"time", "perf_counter", "monotonic", "process_time", "thread_time", "timeit", "now"}
CLOCKS |= {f"{name}_ns" for name in CLOCKS}
SECONDS = 10


def name_of(node: ast.AST) -> str:
    return getattr(node, "attr", None) or getattr(node, "id", "")


def reads_clock(node: ast.AST, timed: set[str]) -> bool:
    """Return whether the code calls a clock or reads a name that holds one's value."""
    return any(
        (isinstance(part, ast.Call) and name_of(part.func) in CLOCKS)
        or (isinstance(part, ast.Name) and part.id in timed)
        # Code that runs in another process.
        or (isinstance(part, ast.Constant) and "monotonic() - " in str(part.value))
        for part in ast.walk(node)
    )


def appends(node: ast.AST) -> bool:
    call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return call and node.func.attr == "append"


def functions_of(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def timed_names(function: ast.FunctionDef, timed: set[str]) -> set[str]:
    """Return the names within the function that hold a value of a clock, lists too."""
    timed, before = set(timed), -1
    while len(timed) > before:
        before = len(timed)
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and reads_clock(node.value, timed):
                names = [n for goal in node.targets for n in ast.walk(goal)]
                timed |= {n.id for n in names if isinstance(n, ast.Name)}
            elif appends(node) and reads_clock(node, timed):
                timed.add(name_of(node.func.value))
    return timed


def short_times(source: str) -> Iterator[int]:
    """Yield the lines that assert an elapsed time below SECONDS; slow tests may."""
    if not any(f"{clock}()" in source for clock in CLOCKS):
        return
    functions = functions_of(ast.parse(source))
    timed = {f.name for f in functions if reads_clock(f, set()) and not f.name.startswith("test_")}
    for function in functions:
        if any(name_of(mark) == "slow" for mark in function.decorator_list):
            continue
        names = timed_names(function, timed)
        for node in ast.walk(function):
            if isinstance(node, ast.Compare) and is_short(node, names):
                yield node.lineno


def is_short(compare: ast.Compare, timed: set[str]) -> bool:
    sides = [compare.left, *compare.comparators]
    numbers = [side.value for side in sides if isinstance(side, ast.Constant)]
    limits = [n for n in numbers if isinstance(n, int | float) and 0 < n < SECONDS]
    return bool(limits) and any(reads_clock(side, timed) for side in sides)


def test_short_times_are_seen_through_variables_lists_functions_and_processes():
    source = """
def took(): return run("print(time.monotonic() - start)")
def test_a():
    start = time.perf_counter()
    assert time.perf_counter() - start < 0.1
def test_b():
    times = []
    times.append(monotonic() - 1)
    assert min(times) < 2 and len(pages) == 3
def test_c(): assert took() < 3
@pytest.mark.slow
def test_d(): assert time.time() - 3 < 9
def test_e():
    end = monotonic() + 5
    assert monotonic() < end
    assert monotonic() - end < 20
"""
    assert sorted(set(short_times(source))) == [5, 9, 10]


def test_no_plain_test_asserts_a_short_elapsed_time():
    files = {path.relative_to(TESTS): path for path in TESTS.rglob("*.py")}
    lines = {str(name): sorted(short_times(path.read_text())) for name, path in files.items()}

    assert {name: at for name, at in lines.items() if at} == {}


def test_properties_have_no_deadline():
    assert settings.default is not None
    assert settings.default.deadline is None


def test_browser_tests_wait_as_long_as_a_busy_machine_takes():
    """Playwright's own five seconds gave two tests of a whole run a second turn."""
    conftest = (TESTS / "browser" / "conftest.py").read_text()

    assert "expect.set_options(timeout=PATIENCE_MS)" in conftest
    assert "set_default_timeout(PATIENCE_MS)" in conftest
    waits = [
        re.findall(r"\btimeout=(\d[\d_]*)", p.read_text()) for p in TESTS.rglob("browser/**/*.py")
    ]
    assert [
        wait
        for milliseconds in waits
        for wait in milliseconds
        if int(wait) > 100 and int(wait) < 30_000
    ] == []
