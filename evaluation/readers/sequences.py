"""Read sequences.jsonl: the frames that reveal an object, in order. No Django."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluation.readers.answers import json_lines
from labeling.files import BadInput, atomic_write

Row = dict[str, str | int | list[str]]
# Image and object.
ObjectKey = tuple[str, str]
NAMES = ("image", "category", "part_scheme", "content_scheme")
_SUFFIX = re.compile(r"@[0-9a-f]{8}$")


@dataclass(frozen=True)
class SequenceLine:
    """One object revealed part by part, by one part scheme and one content scheme.

    image: its id; object: its object in the image, "" for the only one. frames: ids in order,
    ending with the whole object; an id is repeated where a frame equals the one before. present,
    parts: how many of the category's M parts the object has, None where unknown. line: its number
    in the file, None for one that was never written.
    """

    image: str
    category: str
    part_scheme: str
    content_scheme: str
    frames: tuple[str, ...]
    object: str = ""
    present: int | None = None
    parts: int | None = None
    line: int | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> Row:
        """Return the line as docs/explanation/cds.md describes it, without unknown values."""
        row: Row = {
            "image": self.image,
            "category": self.category,
            "part_scheme": self.part_scheme,
            "content_scheme": self.content_scheme,
            "frames": list(self.frames),
        }
        beside = {"object": self.object or None, "present": self.present, "parts": self.parts}
        return row | {key: value for key, value in beside.items() if value is not None}


def object_of(line: SequenceLine) -> ObjectKey:
    return line.image, line.object


def plain_id(frame: str) -> str:
    """Return a frame's id as its release gives it: without the hash of the masks.

    >>> plain_id("a.png/cat-1/random/low/01@0123abcd"), plain_id("a@0123abcd/01")
    ('a.png/cat-1/random/low/01', 'a@0123abcd/01')
    """
    return _SUFFIX.sub("", frame)


def with_masks(lines: Iterable[SequenceLine], masks: str) -> Iterator[SequenceLine]:
    """Yield the lines with ids that end with eight digits of the hash of the masks."""
    for line in lines:
        yield replace(line, frames=tuple(f"{frame}@{masks[:8]}" for frame in line.frames))


def read_sequences(path: Path) -> list[SequenceLine]:
    """Return the lines of a sequences.jsonl, in its order; unknown keys are ignored.

    Raises BadInput with the line for a value of another type, a sequence without frames or
    repeated, an object of two categories, and a frame of two sequences. Where objects have no
    names, objects of different categories in one image are different objects.
    """
    sequence_lines: list[SequenceLine] = []
    check = _Once(path)
    for number, value in json_lines(path):
        line = _checked(value, path, number)
        check(line, number)
        sequence_lines.append(line)
    if not sequence_lines:
        raise BadInput("there are no sequences", path, None, "give a file that sequences wrote")
    return sequence_lines


def write_sequences(path: Path, lines: Iterable[SequenceLine]) -> None:
    """Write the file atomically, as read_sequences reads it."""
    with atomic_write(path) as file:
        for line in lines:
            file.write(json.dumps(line.as_dict(), ensure_ascii=False) + "\n")


def parse_line(text: str | bytes) -> SequenceLine:
    """Return a line that write_sequences wrote, without checks."""
    return line_of_row(json.loads(text))


def line_of_row(row: Mapping[str, Any]) -> SequenceLine:
    """Return the line of SequenceLine.as_dict."""
    return SequenceLine(**{**row, "frames": tuple(row["frames"])})


def _text(value: Mapping[str, object], name: str, path: Path, number: int) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not text:
        cure = f"name the {name.replace('_', ' ')}"
        raise BadInput(f"{name} is {text!r}, expected a text", path, number, cure)
    return text


def _checked(value: Mapping[str, object], path: Path, number: int) -> SequenceLine:
    image, category, part_scheme, content_scheme = (
        _text(value, name, path, number) for name in NAMES
    )
    frames = value.get("frames")
    if not isinstance(frames, list) or not all(isinstance(i, str) and i for i in frames):
        raise BadInput(
            "frames is not a list of frame ids", path, number, 'write "frames": ["a", "b"]'
        )
    if not frames:
        raise BadInput("the sequence has no frames", path, number, "list its frames, or remove it")
    name = value.get("object", "")
    if not isinstance(name, str):
        raise BadInput(
            f"object is {name!r}, expected a text",
            path,
            number,
            "name the object, or leave it",
        )
    present, parts = _counts(value, path, number)
    return SequenceLine(
        image,
        category,
        part_scheme,
        content_scheme,
        frames=tuple(frames),
        object=name,
        present=present,
        parts=parts,
        line=number,
    )


def _counts(value: Mapping[str, object], path: Path, number: int) -> tuple[int | None, int | None]:
    """Return how many parts the object has and may have; None, None where unknown."""
    present, parts = value.get("present"), value.get("parts")
    if present is None and parts is None:
        return None, None
    if not (type(present) is int and type(parts) is int and 0 <= present <= parts and parts):
        raise BadInput(
            f"present is {present!r} and parts {parts!r}, expected 0 ≤ present ≤ parts",
            path,
            number,
            "count the object's parts and its category's, or leave both",
        )
    return present, parts


class _Once:
    """Refuses values that are repeated."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sequences: dict[tuple[str, ...], int] = {}
        self.categories: dict[tuple[str, str], tuple[str, int]] = {}
        self.frames: dict[str, int] = {}

    def __call__(self, line: SequenceLine, number: int) -> None:
        key = (line.image, line.object, line.category, line.part_scheme, line.content_scheme)
        first = self.sequences.setdefault(key, number)
        if first != number:
            raise self.refused(
                f"{_name(line)} has the sequence of line {first} again", number, "keep one of them"
            )
        if line.object:
            category, first = self.categories.setdefault(
                (line.image, line.object), (line.category, number)
            )
            if category != line.category:
                raise self.refused(
                    f"{_name(line)} is a {line.category!r}, in line {first} it is a {category!r}",
                    number,
                    "give an object one category",
                )
        for frame in line.frames:
            first = self.frames.setdefault(frame, number)
            if first != number:
                raise self.refused(
                    f"frame {frame!r} is of the sequence in line {first} too",
                    number,
                    "give every sequence frames of its own",
                )

    def refused(self, problem: str, number: int, cure: str) -> BadInput:
        return BadInput(problem, self.path, number, cure)


def _name(line: SequenceLine) -> str:
    return f"object {line.object!r} of {line.image!r}" if line.object else f"{line.image!r}"
