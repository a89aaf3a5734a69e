"""YAML without references or unreadable values. Pure, no Django."""

import yaml
from yaml.constructor import ConstructorError

# PyYAML reads a third of a million characters a second.
MAX_CHARACTERS = 4_000_000
# Python refuses to write out longer numbers.
MAX_BITS = 4_096


class Refers(yaml.YAMLError):
    """A YAML text with a reference. line: from 1."""

    def __init__(self, line: int) -> None:
        super().__init__("uses a YAML alias (*name)")
        self.line = line


class _Plain(yaml.SafeLoader):
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        # A few lines of aliases can stand for more than any memory holds.
        if self.check_event(yaml.AliasEvent):
            raise Refers(self.peek_event().start_mark.line + 1)
        return super().compose_node(parent, index)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            made = super().construct_object(node, deep)
        except (ValueError, OverflowError) as error:
            raise _unreadable(node) from error
        if isinstance(made, int) and made.bit_length() > MAX_BITS:
            raise _unreadable(node)
        return made


def _unreadable(node: yaml.Node) -> ConstructorError:
    problem = "a number or a date that is none, or too long; put it in quotes if it is text"
    return ConstructorError(None, None, problem, node.start_mark)


def load(text: str) -> object:
    """Return the content of a YAML text.

    Raises yaml.YAMLError, its subclass Refers for references, and RecursionError for deep nesting.
    """
    if len(text) > MAX_CHARACTERS:
        raise yaml.YAMLError(f"more than {MAX_CHARACTERS:,} characters; write so much as JSON")
    return yaml.load(text, Loader=_Plain)  # noqa: S506 - a SafeLoader that takes less


class Repeats(yaml.YAMLError):
    """A YAML text with a repeated key, of which readers keep the last. line: from 1."""

    def __init__(self, key: str, line: int) -> None:
        super().__init__(f"says {key!r} twice")
        self.line = line


Lines = dict[tuple[str | int, ...], int]


def load_with_lines(text: str) -> tuple[object, Lines]:
    r"""Return the content of a YAML text, and the line (from 1) of everything by its path of keys.

    Raises as `load` does, and Repeats for a repeated key.

    >>> load_with_lines("a:\n- b: 1\n")
    ({'a': [{'b': 1}]}, {(): 1, ('a',): 1, ('a', 0): 2, ('a', 0, 'b'): 2})
    """
    if len(text) > MAX_CHARACTERS:
        raise yaml.YAMLError(f"more than {MAX_CHARACTERS:,} characters; write so much as JSON")
    loader = _Plain(text)
    try:
        node = loader.get_single_node()
        lines: Lines = {}
        if node is None:
            return None, lines
        _find_lines(node, (), node.start_mark.line + 1, lines)
        return loader.construct_document(node), lines
    finally:
        loader.dispose()


def _find_lines(node: yaml.Node, path: tuple[str | int, ...], line: int, lines: Lines) -> None:
    lines[path] = line
    if isinstance(node, yaml.SequenceNode):
        for number, child in enumerate(node.value):
            _find_lines(child, (*path, number), child.start_mark.line + 1, lines)
    elif isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            at = (*path, str(key.value))
            if at in lines:
                raise Repeats(str(key.value)[:100], key.start_mark.line + 1)
            _find_lines(child, at, key.start_mark.line + 1, lines)
