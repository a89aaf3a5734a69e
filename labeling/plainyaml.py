"""YAML that means what it shows: no references, no values that cannot be read. Pure, no Django."""

from typing import Any

import yaml
from yaml.constructor import ConstructorError

# PyYAML reads a third of a million characters a second.
LONGEST = 4_000_000
# Python refuses to write out longer numbers.
MOST_BITS = 4_096


class Refers(yaml.YAMLError):
    """A YAML text that refers back to itself. line: where, from 1."""

    def __init__(self, line: int) -> None:
        super().__init__("uses a YAML alias (*name)")
        self.line = line


class _Plain(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        # A few lines of aliases can stand for more than any memory holds.
        if self.check_event(yaml.AliasEvent):
            raise Refers(self.peek_event().start_mark.line + 1)
        return super().compose_node(parent, index)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            made = super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            raise _unreadable(node) from error
        if isinstance(made, int) and made.bit_length() > MOST_BITS:
            raise _unreadable(node)
        return made


def _unreadable(node: Any) -> ConstructorError:
    problem = "a number or a date that is none, or too long; put it in quotes if it is text"
    return ConstructorError(None, None, problem, node.start_mark)


def load(text: str) -> Any:
    """What a YAML text holds. Raises yaml.YAMLError, of which Refers says that the text refers to
    itself, and RecursionError for what nests too deeply."""
    if len(text) > LONGEST:
        raise yaml.YAMLError(f"more than {LONGEST:,} characters; write so much as JSON")
    return yaml.load(text, Loader=_Plain)  # noqa: S506 - a SafeLoader that takes less
