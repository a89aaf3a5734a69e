"""The report of an import of objects with parts: counts, and lists of bounded length.

Pure. The job stores the report after every batch, so that an interrupted import continues with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import NotRequired, TypedDict, TypeVar

from labeling.formats.reading import Skipped, add_skipped

# Length limit of each list; the counts are of all.
MAX_LISTED_ENTRIES = 500
# Limits of unknown names: how many different ones, and their length.
MAX_NAMES = 500
MAX_NAME_LENGTH = 100
T = TypeVar("T")


class ImportedObject(TypedDict):
    """An imported object, or one part of it."""

    image: str
    object: str
    item: int
    part: NotRequired[str]


class Unknown(TypedDict):
    """A name that the vocabulary lacks; part is "" for a category."""

    category: str
    part: str
    count: int


@dataclass
class PartImportReport:
    """The report of an import.

    vocabulary: version. read: objects read, imported or not. objects, parts: imported ones. new:
    objects that did not exist. changed: labels written. merged: instances joined from pieces.
    refused: {"place", "why"}. apart: parts whose pieces are too far apart. no_room: objects without
    room for context. mended: sentences of the reader.
    """

    vocabulary: int = 0
    read: int = 0
    objects: int = 0
    parts: int = 0
    new: int = 0
    changed: int = 0
    merged: int = 0
    refused: list[dict[str, str]] = field(default_factory=list)
    refused_count: int = 0
    apart: list[ImportedObject] = field(default_factory=list)
    apart_count: int = 0
    no_room: list[ImportedObject] = field(default_factory=list)
    no_room_count: int = 0
    unknown: list[Unknown] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    mended_count: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    _rows: dict[tuple[str, str], Unknown] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )

    def refuse(self, prefix: str, why: str) -> None:
        self.refused_count += 1
        _keep(self.refused, {"place": prefix[:300], "why": why[:1000]})

    def add_apart(self, row: ImportedObject) -> None:
        self.apart_count += 1
        _keep(self.apart, row)

    def add_without_room(self, row: ImportedObject) -> None:
        self.no_room_count += 1
        _keep(self.no_room, row)

    def mend(self, sentence: str) -> None:
        self.mended_count += 1
        _keep(self.mended, sentence[:1000])

    def skip(self, entry: str, why: str, example: str) -> None:
        add_skipped(self.skipped, entry, why[:1000], example[:300])

    def miss(self, category: str, part: str = "") -> None:
        """Count a category, or a part of one, that the vocabulary lacks."""
        key = (category[:MAX_NAME_LENGTH], part[:MAX_NAME_LENGTH])
        if not self._rows:
            self._rows = {(row["category"], row["part"]): row for row in self.unknown}
        if key in self._rows:
            self._rows[key]["count"] += 1
        elif len(self.unknown) < MAX_NAMES:
            self._rows[key] = {"category": key[0], "part": key[1], "count": 1}
            self.unknown.append(self._rows[key])

    @property
    def unknown_categories(self) -> list[Unknown]:
        return _largest_first([row for row in self.unknown if not row["part"]])

    @property
    def unknown_parts(self) -> list[Unknown]:
        return _largest_first([row for row in self.unknown if row["part"]])

    @property
    def has_fixable_faults(self) -> bool:
        """Return whether the same file may give more objects after something was fixed."""
        return bool(self.unknown or self.refused_count)

    def content(self) -> dict[str, object]:
        """Return the report as JSON; PartImportReport(**content) reads it."""
        return {column.name: getattr(self, column.name) for column in fields(self) if column.init}


def _keep(kept: list[T], row: T) -> None:
    if len(kept) < MAX_LISTED_ENTRIES:
        kept.append(row)


def _largest_first(rows: Sequence[Unknown]) -> list[Unknown]:
    return sorted(rows, key=lambda row: (-row["count"], row["category"], row["part"]))
