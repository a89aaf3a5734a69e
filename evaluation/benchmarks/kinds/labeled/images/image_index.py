"""Index of images.jsonl: which images contribute to a number, so that a page reads only those.

No Django.
The file is read once, line by line. The index holds where each line begins, and the cases of every
image by class and classifier, at some 20 bytes per entry. It is stored beside the file as
images.index.npz for other processes.
"""

import json
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.benchmarks.kinds.labeled.images import outcomes
from evaluation.benchmarks.kinds.labeled.images.outcomes import OutcomesLine
from evaluation.readers.answers import NO_ARRAY
from labeling.files import atomic_write
from labeling.release_files.line_index import ObjectLines, file_stamp

# Increase it when the arrays change meaning: older files are then rebuilt.
FORM = 1
SUFFIX = ".index.npz"
ARRAYS = ("starts", "image", "name", "classifier", "bits")


@dataclass
class ImageIndex:
    """The lines of a run and the cases of every image.

    image, name, classifier, bits: (E,) an entry per image, class and classifier with any case, in
    the order of the images; name and classifier are indices into `names` and `classifiers`.
    """

    kind: str
    lines: ObjectLines
    names: list[str]
    classifiers: list[str]
    image: NDArray[np.uint32]
    name: NDArray[np.uint32]
    classifier: NDArray[np.uint16]
    bits: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.lines)

    def find(self, image: str) -> int | None:
        """Return the number of the image's line, in about log2(N) reads; None if it has no line.

        Lines are sorted by name, as in a release.
        """
        at = bisect_left(self.lines, image, key=lambda line: line["image"])
        return at if at < len(self) and self.lines[at]["image"] == image else None

    def numbers(self, classifier: str) -> list[outcomes.Number]:
        """Return the numbers to which any outcome of this classifier contributes."""
        known = int(np.bitwise_or.reduce(self.bits[self._of(classifier, "")], initial=0))
        places = outcomes.bits_of(self.kind)
        return [
            number
            for number in outcomes.NUMBERS[self.kind]
            if any(known & bit for bit in places[number.key].values())
        ]

    def images(
        self, classifier: str, number: str, case: str = "", name: str = ""
    ) -> NDArray[np.uint32]:
        """Return the images with this case and class, in file order.

        case: "" for any case of the number. name: a class; "" for any. Without case and name, all
        images are returned, even those without a case.
        """
        if not case and not name:
            return np.arange(len(self), dtype=np.uint32)
        mine = self._of(classifier, name)
        mask = np.uint64(self._mask(number, case))
        return _different(self.image[mine & (self.bits & mask > 0)])

    def counts(self, classifier: str, number: str, name: str = "") -> dict[str, int]:
        """Return case → number of images, with "" for all images. Cases may share images."""
        mine = self._of(classifier, name)
        image, bits = self.image[mine], self.bits[mine]
        counts = {"": len(_different(image)) if name else len(self)}
        for case, bit in outcomes.bits_of(self.kind)[number].items():
            counts[case] = len(_different(image[bits & np.uint64(bit) > 0]))
        return counts

    def class_counts(self, classifier: str) -> list[tuple[str, int]]:
        """Return the number of images of every class of this classifier, by name."""
        mine = self.classifier == self._place(classifier)
        counts = np.bincount(self.name[mine], minlength=len(self.names))
        return sorted((self.names[at], int(n)) for at, n in enumerate(counts) if n)

    def _of(self, classifier: str, name: str) -> NDArray[np.bool_]:
        mine: NDArray[np.bool_] = self.classifier == self._place(classifier)
        if name:
            at = self.names.index(name) if name in self.names else len(self.names)
            mine = mine & (self.name == at)
        return mine

    def _place(self, classifier: str) -> int:
        return self.classifiers.index(classifier)

    def _mask(self, number: str, case: str) -> int:
        bits = outcomes.bits_of(self.kind)[number]
        return bits[case] if case else sum(bits.values())


def _different(ordered: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return each value once; equal values must be adjacent."""
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def index(path: Path, kind: str) -> ImageIndex:
    """Return the index of a run. Raises BadInput if the file is missing."""
    return _kept(path, kind, *file_stamp(path))


@lru_cache(maxsize=8)
def _kept(path: Path, kind: str, written_ns: int, size: int) -> ImageIndex:
    """Return the cached index. written_ns, size: cache keys, so that a rewritten file is read
    again.
    """
    beside = path.with_suffix(SUFFIX)
    stamp = [FORM, kind, written_ns, size]
    image_index = _read_index(beside, path, stamp)
    if image_index is None:
        image_index = _read_lines(path, kind)
        _write_index(beside, image_index, stamp)
    return image_index


@dataclass
class _Entries:
    """Entries collected while the file is read."""

    kind: str
    image: array = field(default_factory=lambda: array("I"))
    name: array = field(default_factory=lambda: array("I"))
    classifier: array = field(default_factory=lambda: array("H"))
    bits: array = field(default_factory=lambda: array("Q"))
    names: dict[str, int] = field(default_factory=dict)
    classifiers: dict[str, int] = field(default_factory=dict)

    def add(self, at: int, line: OutcomesLine) -> None:
        for classifier, outcome in line["outcomes"].items():
            who = self.classifiers.setdefault(classifier, len(self.classifiers))
            if outcome is None:
                continue
            for name, bits in outcomes.sorted_in(self.kind, line, outcome).items():
                self.image.append(at)
                self.name.append(self.names.setdefault(name, len(self.names)))
                self.classifier.append(who)
                self.bits.append(bits)


def _read_lines(path: Path, kind: str) -> ImageIndex:
    lines, entries = ObjectLines[OutcomesLine](path), _Entries(kind)
    start = 0
    with open(path, "rb") as file:
        for at, line in enumerate(file):
            entries.add(at, json.loads(line))
            lines.starts.append(start)
            start += len(line)
    return ImageIndex(
        kind,
        lines,
        list(entries.names),
        list(entries.classifiers),
        np.frombuffer(entries.image, np.uint32),
        np.frombuffer(entries.name, np.uint32),
        np.frombuffer(entries.classifier, np.uint16),
        np.frombuffer(entries.bits, np.uint64),
    )


def _write_index(beside: Path, image_index: ImageIndex, stamp: list[Any]) -> None:
    """Store the index for other processes. If it cannot be written, they read the file again."""
    words = json.dumps([stamp, image_index.names, image_index.classifiers]).encode()
    arrays = {key: getattr(image_index, key) for key in ARRAYS[1:]}
    starts = np.frombuffer(image_index.lines.starts, np.uint64)
    try:
        with atomic_write(beside, "wb") as file:
            np.savez(file, words=np.frombuffer(words, np.uint8), starts=starts, **arrays)
    except OSError:
        return


def _read_index(beside: Path, path: Path, stamp: list[Any]) -> ImageIndex | None:
    """Return the stored index; None if it is missing or belongs to another file."""
    try:
        # Opened here, because numpy does not close a zip that it cannot read.
        with open(beside, "rb") as file, np.load(file, allow_pickle=False) as kept:
            stood, names, classifiers = json.loads(kept["words"].tobytes())
            if stood != stamp:
                return None
            starts, *columns = (kept[key] for key in ARRAYS)
    except NO_ARRAY:
        return None
    lines = ObjectLines[OutcomesLine](path, array("Q", starts.tobytes()))
    return ImageIndex(stamp[1], lines, names, classifiers, *columns)


def around(images: NDArray[np.uint32], number: int) -> dict[str, int | None]:
    """Return the images before and after this one in a case, and its position, from 1.

    >>> around(np.array([3, 8, 9], np.uint32), 8)
    {'at': 2, 'of': 3, 'previous': 3, 'next': 9}
    """
    at = int(np.searchsorted(images, number))
    inside = at < len(images) and int(images[at]) == number
    after = at + 1 if inside else at
    return {
        "at": at + 1 if inside else None,
        "of": len(images),
        "previous": int(images[at - 1]) if at > 0 else None,
        "next": int(images[after]) if after < len(images) else None,
    }
