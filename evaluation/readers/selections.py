"""Selection files as the site needs them: every line checked, with its number. No database.

`answers.py` reads of a selection what ranking needs; a competition also shows confidences and
distances, and asks about classes, so all of a line is checked here.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.metrics.wordnet.distances import DISTANCES
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from evaluation.readers.answers import json_lines
from labeling.files import BadInput
from labeling.release_files.frozen import canonical

MAX_RANK = 1_000_000
MAX_TOP_K = 10_000
# Settings of a selection that a joining classifier must share, or the two lists do not compare.
RULE = ("top_k", "min_confidence", "max_per_label", "distance", "unique_pairs")


@dataclass(frozen=True)
class Line:
    """An image chosen for a pair, at its rank; labels and confidences in the pair's order."""

    pair: tuple[str, str]
    rank: int
    image: str
    labels: tuple[str, str]
    confidences: tuple[float, float]
    distance: float

    def questions(self) -> list[tuple[str, str]]:
        return [(self.image, label) for label in self.labels]

    def as_dict(self, top_k: int) -> dict[str, Any]:
        row: dict[str, Any] = {
            "pair": list(self.pair),
            "rank": self.rank,
            "image": self.image,
            "labels": list(self.labels),
            "confidences": list(self.confidences),
            "distance": self.distance,
        }
        return row | {"reserve": True} if self.rank > top_k else row


@dataclass(frozen=True)
class SelectionFile:
    meta: dict[str, Any]
    lines: Sequence[Line] = field(default_factory=list)

    @property
    def classifiers(self) -> list[str]:
        return in_order(self.meta, self.meta["classifiers"])

    @property
    def top_k(self) -> int:
        return int(self.meta["top_k"])

    def chosen(self) -> Iterator[Line]:
        """The lines that are asked about; the others are in reserve."""
        return (line for line in self.lines if line.rank <= self.top_k)

    def questions(self) -> list[tuple[str, str]]:
        """(image, wnid) of what is asked, each once, in the order of the lists."""
        return list(dict.fromkeys(key for line in self.chosen() for key in line.questions()))

    def wnids(self) -> list[str]:
        return sorted({label for line in self.lines for label in line.labels})

    def text_lines(self) -> Iterator[str]:
        """The file's lines, meta line first, as `mad rank` and `mad add` read them."""
        rows = ({"meta": self.meta}, *(line.as_dict(self.top_k) for line in self.lines))
        return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def sha256(self) -> str:
        """Of the content, however it was spelt."""
        digest = hashlib.sha256(canonical(self.meta))
        for line in self.lines:
            digest.update(canonical(line.as_dict(self.top_k)))
        return digest.hexdigest()


def read(path: Path, wordnet: WordNet, name: str = "") -> SelectionFile:
    """The selection in a file that `mad select` or `mad add` wrote; `name` is said in its place.

    Raises BadInput naming the line and the cure: for a field that is missing or of another type, a
    classifier that the meta line does not name, a class that is not in WordNet, a rank or an image
    that a pair has twice.
    """
    return _checked(json_lines(path), wordnet, name or path.name)


def from_rows(
    rows: "SelectionFile | Sequence[dict[str, Any]]", wordnet: WordNet
) -> "SelectionFile":
    """The same from the objects of the lines, the meta line first; what is checked stays."""
    if isinstance(rows, SelectionFile):
        return rows
    return _checked(enumerate(rows, 1), wordnet, "selection.jsonl")


def _checked(
    numbered: Iterable[tuple[int, dict[str, Any]]], wordnet: WordNet, file: str
) -> SelectionFile:
    meta: dict[str, Any] = {}
    seen: dict[tuple[Any, ...], int] = {}
    known: set[str] = set()
    lines = []
    number = 1
    for number, row in numbered:
        if "meta" in row or not meta:
            meta = _joined_meta(meta, row.get("meta"), file, number)
            continue
        try:
            line = _line(row, set(meta["classifiers"]))
            for label in set(line.labels) - known:
                wordnet.index(label)
                known.add(label)
        except UnknownLabel as error:
            raise _bad(file, number, str(error), "use WordNet 3.0's noun ids") from None
        except ValueError as error:
            raise _bad(file, number, str(error)) from None
        pair = frozenset(line.pair)
        for key in ((pair, line.rank), (pair, line.image)):
            if key in seen:
                what = f"{'rank' if isinstance(key[1], int) else 'image'} {key[1]!r}"
                said = f"the pair has {what} in line {seen[key]} already"
                raise _bad(file, number, said, "remove one of the two")
            seen[key] = number
        lines.append(line)
    if not lines:
        raise _bad(file, number, "the selection chooses no image", "lower --min-confidence")
    return SelectionFile(meta, lines)


def _joined_meta(old: dict[str, Any], meta: Any, file: str, number: int) -> dict[str, Any]:
    """The first meta line, with the classifiers of the later ones (files joined end to end)."""
    new = _checked_meta(meta, file, number)
    if not old:
        return new
    check_same_rule(old, new, file, number)
    return old | {"classifiers": list(dict.fromkeys([*old["classifiers"], *new["classifiers"]]))}


def in_order(meta: dict[str, Any], names: Iterable[str]) -> list[str]:
    """The names as a full run over them all would order them: sorted, or as they were given."""
    return sorted(names) if meta.get("classifier_order") == "sorted" else list(names)


def check_same_rule(old: dict[str, Any], new: dict[str, Any], file: str, number: int = 1) -> None:
    """Passes when two selections were made by one rule. Raises BadInput naming what differs."""
    for key in RULE:
        if key in old and key in new and old[key] != new[key]:
            raise BadInput(
                f"{key} is {new[key]!r}, and {old[key]!r} in the competition",
                file=file,
                line=number,
                cure="run mad add into the competition's own selection.jsonl",
            )


def _bad(file: str, number: int, message: str, cure: str = "") -> BadInput:
    cure = cure or "write the file with mad select or mad add"
    return BadInput(message, file=file, line=number, cure=cure)


def _checked_meta(meta: Any, file: str, number: int) -> dict[str, Any]:
    if not isinstance(meta, dict):
        raise _bad(file, number, 'the first line is not {"meta": {…}}')
    names = meta.get("classifiers")
    if (
        not isinstance(names, list)
        or len(names) < 2
        or not all(_is_text(name, 100) for name in names)
    ):
        raise _bad(file, number, "meta needs classifiers: two or more names of 1 to 100 characters")
    if len(set(names)) < len(names):
        raise _bad(file, number, "meta names a classifier twice")
    top_k = meta.get("top_k")
    if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= MAX_TOP_K:
        said = f"top_k is {str(top_k)[:60]}, expected a whole number from 1 to {MAX_TOP_K}"
        raise _bad(file, number, said)
    if meta.get("distance", DISTANCES[0]) not in DISTANCES:
        said = f"distance is {meta['distance']!r}, expected one of {', '.join(DISTANCES)}"
        raise _bad(file, number, said)
    _check_storable(meta, file, number)
    return dict(meta)


def _check_storable(meta: dict[str, Any], file: str, number: int) -> None:
    """The whole meta line is kept with the benchmark, and no database takes these."""
    try:
        text = json.dumps(meta, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError) as error:
        raise _bad(file, number, "meta holds NaN, infinity or half a character") from error
    if "\\u0000" in text:
        raise _bad(file, number, "meta holds a NUL character")


def _line(row: dict[str, Any], names: set[str]) -> Line:
    pair = _two(row, "pair", str)
    for name in pair:
        if name not in names:
            raise ValueError(f"the meta line names no classifier {name!r}")
    if pair[0] == pair[1]:
        raise ValueError(f"{pair[0]!r} is paired with itself")
    labels = _two(row, "labels", str)
    if labels[0] == labels[1]:
        raise ValueError(f"both labels are {labels[0]}; a pair's image has two")
    confidences = _two(row, "confidences", int | float)
    rank, image, distance = row.get("rank"), row.get("image"), row.get("distance")
    if isinstance(rank, bool) or not isinstance(rank, int) or not 1 <= rank <= MAX_RANK:
        raise ValueError(f"rank is {rank!r}, expected a whole number of 1 or more")
    if not _is_text(image, 400):
        raise ValueError("image needs an id of 1 to 400 characters")
    if not _is_number(distance) or not all(0 <= value <= 1 for value in confidences):
        raise ValueError("distance needs a number, and confidences two in [0, 1]")
    return Line(
        pair=pair,
        rank=rank,
        image=str(image),
        labels=labels,
        confidences=(float(confidences[0]), float(confidences[1])),
        distance=float(distance),  # type: ignore[arg-type]
    )


def _two(row: dict[str, Any], key: str, kind: Any) -> Any:
    value = row.get(key)
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(item, kind) and not isinstance(item, bool) for item in value)
    ):
        raise ValueError(f"{key} needs two values, one for each classifier")
    return tuple(value)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # JSON's whole numbers have no end, those of a float do.
    return -sys.float_info.max <= value <= sys.float_info.max


def _is_text(value: Any, longest: int) -> bool:
    """Whether a database and a file take it: NUL and half a surrogate pair are no text."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= longest
        and not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value)
    )
