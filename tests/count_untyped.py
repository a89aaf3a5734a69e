"""How much of the product is untyped JSON: `python -m tests.count_untyped` lists it by file.

Counts `dict[str, Any]` in annotations and aliases of it, and functions that return a bare dict,
`dict[str, Any]`, such an alias, or Any. Migrations do not count.
"""

import ast
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("annotator", "labeling", "evaluation")


def modules() -> list[Path]:
    names = subprocess.run(
        ["git", "ls-files", *PRODUCT], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    return [ROOT / name for name in names if name.endswith(".py") and "migrations" not in name]


def is_untyped_dict(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and getattr(node.value, "id", "") == "dict"
        and ast.unparse(node) == "dict[str, Any]"
    )


def aliases(nodes: list[ast.AST]) -> set[str]:
    return {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and is_untyped_dict(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def counts(text: str) -> tuple[int, int]:
    """(untyped dicts, functions that return one) of a module."""
    if "Any" not in text and "dict" not in text:
        return 0, 0
    nodes = list(ast.walk(ast.parse(text)))
    known = aliases(nodes)
    bare = {"dict", "Any", "dict[str, Any]", *known}
    dicts = sum(
        is_untyped_dict(node) or (isinstance(node, ast.Name) and node.id in known) for node in nodes
    )
    returning = sum(
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.returns is not None
        and ast.unparse(node.returns).strip("'\"") in bare
        for node in nodes
    )
    return dicts, returning


def total() -> tuple[int, int]:
    """(untyped dicts, functions that return one) of the product; prints those of each file."""
    dicts = returning = 0
    for path in modules():
        counted = counts(path.read_text())
        dicts, returning = dicts + counted[0], returning + counted[1]
        if any(counted):
            print(f"{counted[0]:4} {counted[1]:4} {path.relative_to(ROOT)}")
    return dicts, returning


def main() -> None:
    dicts, returning = total()
    print(f"{dicts:4} {returning:4} in all")


if __name__ == "__main__":
    main()
