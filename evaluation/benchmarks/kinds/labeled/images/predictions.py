"""Index of images.jsonl by prediction: find images by predicted class, right or wrong. No Django.

The index is a file beside images.jsonl: a line of JSON, then three columns. It is mapped into
memory. A look-up of W images reads about W log2(N) of its entries.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.benchmarks.kinds.labeled.images import box_overlays
from evaluation.scoring.image_lines import Outcome, OutcomesLine
from labeling.files import atomic_write
from labeling.release_files.line_index import file_stamp

# Increase it when the columns change meaning: older files are then rebuilt.
FORM = 1
SUFFIX = ".predictions.bin"
COLUMNS = (("image", "<u8"), ("name", "<u4"), ("right", "i1"))
WRONG, RIGHT, NEITHER = 0, 1, -1
OUTCOMES = {"right": RIGHT, "wrong": WRONG}


@dataclass
class PredictionIndex:
    """The predictions of a run, sorted by classifier and image.

    names: classes. classifiers: (start, end) of each one's entries, end exclusive. image: digests.
    name: indices into `names`. right: RIGHT, WRONG or NEITHER.
    """

    names: list[str]
    classifiers: dict[str, tuple[int, int]]
    image: NDArray[np.uint64]
    name: NDArray[np.uint32]
    right: NDArray[np.int8]

    def matching(
        self, images: Sequence[str], classifier: str, names: Iterable[int] | None, right: int | None
    ) -> set[str]:
        """Return the images for which this classifier predicts one of these classes.

        names: indices into `names`; None for all. right: as in the column; None for all.
        """
        start, end = self.classifiers.get(classifier, (0, 0))
        block, digests = self.image[start:end], np.array([digest(image) for image in images], "<u8")
        first = np.searchsorted(block, digests, "left")
        counts = np.searchsorted(block, digests, "right") - first
        owners = np.repeat(np.arange(len(images)), counts)
        entries = (
            start + np.arange(len(owners)) + np.repeat(first - counts.cumsum() + counts, counts)
        )
        chosen = np.ones(len(owners), bool)
        if names is not None:
            chosen &= np.isin(self.name[entries], list(names))
        if right is not None:
            chosen &= self.right[entries] == right
        return {images[owner] for owner in np.unique(owners[chosen]).tolist()}


def digest(image: str) -> int:
    return int.from_bytes(hashlib.blake2b(image.encode(), digest_size=8).digest(), "little")


def predictions(kind: str, line: OutcomesLine, outcome: Outcome | None) -> dict[str, int]:
    """Return RIGHT, WRONG or NEITHER by predicted class; empty if the image is not covered.

    Predictions are the first class of a classification, each box of a localization or detection,
    and the class of a score map.

    >>> line = {"classes": ["n1"], "truth": []}
    >>> predictions("classification", line, {"labels": ["n2", "n1"], "top1": False})
    {'n2': 0}
    """
    rows: dict[str, int] = {}
    for name, right in _predicted(kind, line, outcome) if outcome is not None else ():
        # One right box makes the class right.
        rows[name] = max(right, rows.get(name, NEITHER))
    return rows


def _predicted(kind: str, line: OutcomesLine, outcome: Outcome) -> Iterator[tuple[str, int]]:
    if kind == "classification":
        first = (outcome.get("labels") or [None])[0]
        if first is not None:
            yield first, RIGHT if outcome["top1"] else WRONG
    elif kind == "localization":
        right = box_overlays.right_box(line, outcome)
        for number, name in enumerate(outcome.get("labels") or ()):
            if name is not None:
                yield name, RIGHT if number == right else WRONG
    elif kind == "detection":
        for name, _, _, _, _, _, hit, _ in outcome.get("found") or ():
            yield name, RIGHT if hit else WRONG
    else:
        box = outcome.get("max_box_acc")
        for name in line["classes"]:
            yield name, NEITHER if box is None else RIGHT if box["right"] else WRONG


def index(path: Path, kind: str) -> PredictionIndex:
    """Return the index of images.jsonl of a run. Raises BadInput if the file is missing."""
    return _kept(path, kind, *file_stamp(path))


@lru_cache(maxsize=32)
def _kept(path: Path, kind: str, written_ns: int, size: int) -> PredictionIndex:
    """Return the cached index. written_ns, size: cache keys, so that a rewritten file is read
    again.
    """
    beside, stamp = path.with_suffix(SUFFIX), [FORM, kind, written_ns, size]
    known = _mapped(beside, stamp)
    if known is None:
        known = _read_lines(path, kind)
        _write(beside, known, stamp)
        # Without a file, the columns stay in memory.
        known = _mapped(beside, stamp) or known
    return known


@dataclass
class _Columns:
    """The entries of one classifier, collected while the file is read."""

    image: array = field(default_factory=lambda: array("Q"))
    name: array = field(default_factory=lambda: array("I"))
    right: array = field(default_factory=lambda: array("b"))

    def sorted_by_image(self) -> list[NDArray[Any]]:
        rows = [np.frombuffer(getattr(self, key), kind) for key, kind in COLUMNS]
        order = np.argsort(rows[0], kind="stable")
        return [row[order] for row in rows]


def _read_lines(path: Path, kind: str) -> PredictionIndex:
    names: dict[str, int] = {}
    columns: dict[str, _Columns] = {}
    with open(path, "rb") as file:
        for text in file:
            line: OutcomesLine = json.loads(text)
            image = digest(line["image"])
            for classifier, outcome in line["outcomes"].items():
                rows = columns.setdefault(classifier, _Columns())
                for name, right in predictions(kind, line, outcome).items():
                    rows.image.append(image)
                    rows.name.append(names.setdefault(name, len(names)))
                    rows.right.append(right)
    ends = np.cumsum([0, *(len(rows.image) for rows in columns.values())]).tolist()
    classifiers = dict(zip(columns, pairwise(ends), strict=True))
    parts = [rows.sorted_by_image() for rows in (_Columns(), *columns.values())]
    joined = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return PredictionIndex(list(names), classifiers, *joined)


def _write(beside: Path, known: PredictionIndex, stamp: list[Any]) -> None:
    """Store the index for other processes. If it cannot be written, they read the file again."""
    head = json.dumps([stamp, known.names, known.classifiers]).encode()
    try:
        with atomic_write(beside, "wb") as file:
            # A multiple of 8 bytes, so that the first column is aligned.
            file.write(head + b" " * (-(len(head) + 1) % 8) + b"\n")
            for key, _ in COLUMNS:
                file.write(getattr(known, key).tobytes())
    except OSError:
        return


def _mapped(beside: Path, stamp: list[Any]) -> PredictionIndex | None:
    """Return the stored index; None if it is missing, damaged or belongs to another file."""
    try:
        with open(beside, "rb") as file:
            stored, names, classifiers = json.loads(file.readline())
            offset = file.tell()
        if stored != stamp:
            return None
        count = max((end for _, end in classifiers.values()), default=0)
        mapped = []
        for _, kind in COLUMNS:
            mapped.append(
                np.memmap(beside, kind, "r", offset, count) if count else np.empty(0, kind)
            )
            offset += mapped[-1].nbytes
    except (OSError, ValueError):
        return None
    return PredictionIndex(names, classifiers, *mapped)
