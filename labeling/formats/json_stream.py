"""Reads JSON files an element at a time, so that memory stays constant.

We tried ijson 3.6.0 and rejected it: it returns lone surrogates as "?", refuses NaN and a BOM,
names no line, does not bound values or nesting, and does not return a value's text, which
coco_rows.py copies to disk.
"""

import json
import re
from collections.abc import Iterator
from typing import IO, Any

from labeling.files import BadInput, StrPath

CHUNK = 1 << 20
# An element is read whole; hundreds of megabytes for one are an attack or a mistake.
MAX_ELEMENT = 256 << 20
SPACE = " \t\r\n"
Row = tuple[str, str, Any]
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def elements(path: StrPath) -> Iterator[Any]:
    """Yield the elements of a JSON list. Raises BadInput with the line, also for other values."""
    with _Text.open(path) as text:
        if text.peek() != "[":
            raise BadInput("is not a JSON list", file=path, cure="export it again")
        for _, value in text.list():
            yield value
        text.end()


def members(path: StrPath) -> Iterator[Row]:
    """Yield (key, text, value) of the members of a JSON object; for a list, of each of its
    elements.

    text: of the value, as in the file. A list is preceded by (key, "", None). Raises BadInput with
    the line, also for other values.
    """
    with _Text.open(path) as text:
        if text.peek() != "{":
            raise BadInput("is not a JSON object", file=path, cure="export it again")
        text.skip("{")
        while text.peek() != "}":
            _, key = text.value()
            if not isinstance(key, str):
                raise text.broken()
            text.skip(":")
            if text.peek() == "[":
                yield key, "", None
                for raw, value in text.list():
                    yield key, raw, value
            else:
                yield (key, *text.value())
            if text.peek() != "}":
                text.skip(",")
                if text.peek() == "}":
                    raise text.broken()
        text.skip("}")
        text.end()


def has_half_character(text: str, value: Any) -> bool:
    r"""Return whether a value has a lone surrogate, which cannot be printed or stored.

    text: the value's JSON. A file in UTF-8 can have a lone surrogate only as an escape.

    >>> has_half_character(r'"\ud800"', "\ud800"), has_half_character(r'"\ud83d\ude00"', "😀")
    (True, False)
    """
    if not _SURROGATE.search(text):
        return False
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False


class _Text:
    """A file's text, held only around the reading position."""

    def __init__(self, file: IO[str], path: StrPath) -> None:
        self.file = file
        self.path = path
        self.held = ""
        self.at = 0
        self.lines = 0
        self.whole = False
        self.decoder = json.JSONDecoder()

    @classmethod
    def open(cls, path: StrPath) -> "_Text":
        return cls(open(path, encoding="utf-8-sig"), path)

    def __enter__(self) -> "_Text":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def peek(self) -> str:
        """Return the next character that is no space, "" at the end."""
        while True:
            while self.at < len(self.held) and self.held[self.at] in SPACE:
                self.at += 1
            if self.at < len(self.held) or not self._more():
                return self.held[self.at : self.at + 1]

    def skip(self, letter: str) -> None:
        if self.peek() != letter:
            raise self.broken()
        self.at += 1

    def end(self) -> None:
        if self.peek():
            raise self.broken()

    def list(self) -> Iterator[tuple[str, Any]]:
        self.skip("[")
        while self.peek() != "]":
            yield self.value()
            if self.peek() != "]":
                self.skip(",")
                if self.peek() == "]":
                    raise self.broken()
        self.skip("]")

    def value(self) -> tuple[str, Any]:
        """Return the next value with its text."""
        self.peek()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.held, self.at)
                # A number at the end of the buffer may continue in the file: 1 as 1.5e+3.
                if end + 3 < len(self.held) or self.whole:
                    raw, self.at = self.held[self.at : end], end
                    if has_half_character(raw, value):
                        raise self.broken("contains a lone surrogate, such as \\ud800")
                    return raw, value
                self._more()
            except RecursionError:
                raise self.broken("nests too deeply") from None
            except ValueError:
                if not self._more():
                    raise self.broken() from None

    def _more(self) -> bool:
        """Double the held text and return whether the file had more. Doubling makes the time for
        long values linear.
        """
        if self.whole:
            return False
        self.lines += self.held.count("\n", 0, self.at)
        self.held, self.at = self.held[self.at :], 0
        if len(self.held) > MAX_ELEMENT:
            raise self.broken("has a value of over 256 MiB")
        try:
            added = self.file.read(max(CHUNK, len(self.held)))
        except ValueError:
            raise self.broken("is not UTF-8") from None
        self.held += added
        self.whole = not added
        return bool(added)

    def broken(self, fault: str = "is not JSON") -> BadInput:
        line = self.lines + self.held.count("\n", 0, self.at) + 1
        return BadInput(fault, file=self.path, line=line, cure="export it again")
