"""Statements of a module, for tests that read the source."""

import ast
from collections.abc import Iterator

# Where a statement keeps the statements, handlers and cases within it.
BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement below a node. ast.walk yields expressions too: ten times as many."""
    for field in BODIES:
        # A lambda or a conditional expression has one expression for a body, not a list.
        inner = getattr(node, field, None)
        for part in inner if isinstance(inner, list) else ():
            yield part
            yield from statements(part)
