"""Index of a run's answers.jsonl, so that a page reads only the lines it needs. Pure.

The index reads the sequence at the start of each line (docs/explanation/cds.md) and skips
`answers` and `scores`, which make up most of it.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from evaluation.scoring.cds.result import AnsweredSequence
from labeling.release_files.line_index import Line, ObjectLines, file_stamp

# Finds the key `answers`, near the start of a line. Names cannot match: their quotes are escaped.
_REST = re.compile(rb',\s*"answers"\s*:\s*\{')


class SequencePlace(NamedTuple):
    """One sequence: its line, from 0, its object and its schemes."""

    number: int
    image: str
    object: str
    category: str
    part_scheme: str
    content_scheme: str


class Thing(NamedTuple):
    """An object as pages list it."""

    image: str
    object: str
    category: str


@dataclass
class AnswerIndex:
    """The sequences of a run in file order."""

    lines: Sequence[Line]
    places: list[SequencePlace] = field(default_factory=list)
    # (image, object) → (part scheme, content scheme) → line
    numbers: dict[tuple[str, str], dict[tuple[str, str], int]] = field(default_factory=dict)
    objects: list[Thing] = field(default_factory=list)
    # image → line of its first sequence
    first_of_image: dict[str, int] = field(default_factory=dict)

    def add(self, head: Line) -> None:
        entry = SequencePlace(
            len(self.places),
            head["image"],
            head.get("object", ""),
            head["category"],
            head["part_scheme"],
            head["content_scheme"],
        )
        self.places.append(entry)
        key = entry.image, entry.object
        if key not in self.numbers:
            self.numbers[key] = {}
            self.objects.append(Thing(*key, entry.category))
            self.first_of_image.setdefault(entry.image, entry.number)
        self.numbers[key][entry.part_scheme, entry.content_scheme] = entry.number

    def line(self, number: int) -> AnsweredSequence:
        return AnsweredSequence.from_json(self.lines[number])

    def number_of(
        self,
        image: str | None,
        name: str | None,
        part: str | None = None,
        content: str | None = None,
    ) -> int | None:
        """Return the line of an object's sequence with these schemes, or of the first that fits."""
        numbers = self.numbers.get((image or "", name or ""), {})
        for (part_scheme, content_scheme), number in numbers.items():
            if part in (None, part_scheme) and content in (None, content_scheme):
                return number
        return None


def index(path: Path) -> AnswerIndex:
    """Return the index of an answers.jsonl. Raises BadInput if the file is missing."""
    return _read(path, *file_stamp(path))


@lru_cache(maxsize=8)
def _read(path: Path, written_ns: int, size: int) -> AnswerIndex:
    """Read the index. written_ns, size: cache keys, so that a rewritten file is read again."""
    lines = ObjectLines[Line](path)
    answers = AnswerIndex(lines)
    start = 0
    with open(path, "rb") as file:
        for line in file:
            rest = _REST.search(line)
            answers.add(json.loads(line[: rest.start()] + b"}" if rest else line))
            lines.starts.append(start)
            start += len(line)
    return answers
