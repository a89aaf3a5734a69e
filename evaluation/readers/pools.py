"""A predictions folder → a checked pool. What is wrong with it is a BadInput.

Free of Django. Arrays and the list of images are memory-mapped and looked at in pieces, so that
memory stays flat however large the pool.
"""

import codecs
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.mad.selection import Predictions
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from evaluation.readers.answers import NO_ARRAY, require_file, text_lines
from labeling.files import BadInput

LABEL_TYPES = ("int16", "int32")
CONFIDENCE_TYPES = ("float16", "float32")
_PIECE = 1 << 22


class ImageList:
    """images.txt, memory-mapped: `len()` ids by number; see mad.ImageIds.

    Raises BadInput for an empty list, an empty or a repeated id, NUL, a carriage return and what is
    not UTF-8.
    """

    def __init__(self, path: Path) -> None:
        from evaluation.metrics.mad.kernels import STRIDE, scan_lines

        self.path = path
        self._map, self.text = _mapped_bytes(path)
        # Lines are seldom shorter than this; a list of shorter ones is read again.
        self.marks = np.zeros(len(self.text) // (8 * STRIDE) + 1, np.int64)
        seen = np.zeros(3, np.int64)
        self._count, ascending, mixed = scan_lines(self.text, self.marks, seen)
        needed = -(-self._count // STRIDE)
        if needed > len(self.marks):
            self.marks = np.zeros(needed, np.int64)
            scan_lines(self.text, self.marks, seen)
        for line, what, cure in (
            (seen[0], "the image id is empty", "remove the empty line, and its predictions"),
            (seen[1], "the image id holds a NUL byte", "write the list as plain text"),
            (seen[2], "the line ends in a carriage return", "save it with Unix line ends"),
        ):
            if line:
                raise BadInput(what, file=path, line=int(line), cure=cure)
        if mixed > 127:
            self._check_utf8()
        self.in_order = bool(ascending)
        if not self.in_order:
            self._refuse_repeats()

    def __len__(self) -> int:
        return int(self._count)

    def take(self, images: Sequence[int] | NDArray[np.int64]) -> list[bytes]:
        """The ids of these images, as UTF-8 bytes."""
        from evaluation.metrics.mad.kernels import line_start

        found = []
        for image in images:
            start = line_start(self.text, self.marks, int(image))
            end = self._map.find(b"\n", start)
            found.append(self._map[start : end if end >= 0 else len(self._map)])
        return found

    def _check_utf8(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(self._map) + 1, _PIECE):
            piece = self._map[start : start + _PIECE]
            try:
                decoder.decode(piece, final=start + _PIECE > len(self._map))
            except UnicodeDecodeError as error:
                # The bad byte may sit up to three bytes into what the decoder had kept back.
                line = self._map[: start + error.start].count(b"\n") + 1
                raise BadInput(
                    "the image id is not UTF-8", file=self.path, line=line, cure="write it as UTF-8"
                ) from error

    def _refuse_repeats(self) -> None:
        from evaluation.metrics.mad.kernels import hash_lines

        # Hashes of at most 2^25 lines at a time: memory stays bounded however long the list.
        parts = -(-len(self) // (1 << 25))
        for part in range(parts):
            hashes = np.empty(len(self) if parts == 1 else 1 << 26, np.uint64)
            hashes = hashes[: hash_lines(self.text, part, parts, hashes)]
            hashes.sort()
            if (hashes[1:] == hashes[:-1]).any():
                self._refuse_repeated_line()

    def _refuse_repeated_line(self) -> None:
        # Only now that a repeat is near certain is every id held.
        first: dict[bytes, int] = {}
        for number, line in enumerate(iter(self._map.readline, b""), start=1):
            name = line.removesuffix(b"\n")
            if name in first:
                raise BadInput(
                    f"the image id {name.decode()!r} is already in line {first[name]}",
                    file=self.path,
                    line=number,
                    cure="list each image once",
                )
            first[name] = number
        self._map.seek(0)


@dataclass(frozen=True)
class Pool:
    """A predictions folder: classes as wnids, images, and each classifier's predictions."""

    folder: Path
    classes: list[str]
    images: ImageList
    predictions: dict[str, Predictions]
    sha256: dict[str, str] = field(default_factory=dict)


def _mapped_bytes(path: Path) -> tuple[mmap.mmap, NDArray[np.uint8]]:
    require_file(path, "list one image id per line")
    with open(path, "rb") as file:
        if path.stat().st_size == 0:
            raise BadInput("there are no images", file=path, cure="list one image id per line")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return data, np.frombuffer(data, np.uint8)


def classifiers_in(folder: Path) -> list[str]:
    """Names of the classifiers that have a file in a predictions folder, sorted."""
    if not folder.is_dir():
        raise BadInput("the predictions folder does not exist", file=folder, cure="check the path")
    endings = (".labels.npy", ".confidences.npy")
    return sorted(
        {
            file.name.removesuffix(end)
            for file in folder.iterdir()
            for end in endings
            if file.name.endswith(end)
        }
    )


def read_classes(path: Path, wordnet: WordNet) -> list[str]:
    """The wnids of classes.txt. Raises BadInput for one not in WordNet 3.0 or there twice."""
    require_file(path, "list one wnid per line, in the order of the labels")
    first: dict[str, int] = {}
    for number, text in enumerate(text_lines(path), start=1):
        wnid = text.strip()
        try:
            wordnet.index(wnid)
        except UnknownLabel as error:
            raise BadInput(
                f"{wnid!r} is no wnid of a noun of WordNet 3.0",
                file=path,
                line=number,
                cure="give wnids such as n02084071, one per line",
            ) from error
        if wnid in first:
            raise BadInput(
                f"{wnid} is already in line {first[wnid]}",
                file=path,
                line=number,
                cure="list each class once",
            )
        first[wnid] = number
    if not first:
        raise BadInput("there are no classes", file=path, cure="list one wnid per line")
    return list(first)


def read_predictions(
    folder: Path, name: str, images: int, classes: int, part: slice
) -> Predictions:
    """One classifier's two arrays, memory-mapped; the values of part are checked."""
    labels_path = folder / f"{name}.labels.npy"
    confidences_path = folder / f"{name}.confidences.npy"
    labels = _column(labels_path, LABEL_TYPES, images)
    confidences = _column(confidences_path, CONFIDENCE_TYPES, images)
    _check_labels(labels_path, labels, classes, part)
    signed_zero = _check_confidences(confidences_path, confidences, part)
    return Predictions(labels, confidences, signed_zero)


def _column(path: Path, types: Sequence[str], length: int) -> NDArray[Any]:
    require_file(path, "each classifier needs NAME.labels.npy and NAME.confidences.npy")
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except NO_ARRAY as error:
        raise BadInput(
            "is not a whole .npy array", file=path, cure="write it again with numpy.save"
        ) from error
    if not isinstance(mapped, np.ndarray):
        mapped.close()
        raise BadInput("is not one .npy array", file=path, cure="write it with numpy.save")
    # A plain view of the same memory: slices of np.memmap are slow objects.
    array = mapped.view(np.ndarray)
    if array.dtype.name not in types or not array.dtype.isnative:
        raise BadInput(
            f"has dtype {array.dtype.str if array.dtype.name in types else array.dtype}, "
            f"expected {' or '.join(types)}",
            file=path,
            cure=f"save it with .astype('{types[-1]}')",
        )
    if array.ndim != 1:
        raise BadInput(
            f"has shape {array.shape}, expected ({length},)",
            file=path,
            cure="save one value per image, the best label's",
        )
    if len(array) != length:
        raise BadInput(
            f"has {len(array)} values, expected {length}, one per line of images.txt",
            file=path,
            cure="predict the images of images.txt, in that order",
        )
    return array


def _check_labels(path: Path, labels: NDArray[Any], classes: int, part: slice) -> None:
    # As unsigned numbers, negative labels are too large ones: one comparison finds both.
    unsigned = labels.view(f"u{labels.dtype.itemsize}")
    for start, piece in _pieces(unsigned, part):
        if piece.max() >= classes:
            at = start + int(np.argmax(piece >= classes))
            raise BadInput(
                f"the label at index {at} (line {at + 1} of images.txt) is {labels[at]}, "
                f"outside classes.txt, which has {classes} lines (0 to {classes - 1})",
                file=path,
                cure="save indices into classes.txt",
            )


def _check_confidences(path: Path, confidences: NDArray[Any], part: slice) -> bool:
    """Whether there is a −0.0 among them."""
    one = confidences.dtype.type(1)
    highest = one.view(f"u{one.itemsize}")
    signed_zero = False
    # Bits of [0, 1] are the numbers up to those of 1.0: one maximum finds NaN and the rest.
    for start, piece in _pieces(confidences.view(highest.dtype), part):
        if piece.max() > highest:
            values = confidences[start : start + len(piece)]
            wrong = ~((values >= 0) & (values <= 1))
            signed_zero |= bool((np.signbit(values) & (values == 0)).any())
            if wrong.any():
                at = start + int(np.argmax(wrong))
                raise BadInput(
                    f"the confidence at index {at} (line {at + 1} of images.txt) is "
                    f"{confidences[at]}, expected 0 to 1",
                    file=path,
                    cure="save probabilities (after the softmax)",
                )
    return signed_zero


def _pieces(array: NDArray[Any], part: slice) -> Iterator[tuple[int, NDArray[Any]]]:
    for start in range(part.start, part.stop, _PIECE):
        yield start, array[start : min(start + _PIECE, part.stop)]
