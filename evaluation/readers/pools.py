"""Read a predictions folder, or one stretch of it, as a checked pool. Errors are BadInput. No
Django.

Arrays and the list of images are memory-mapped and read in pieces, so memory stays constant for
any size of pool; of a stretch only its own bytes are read.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.mad.selection import PoolPredictions
from evaluation.metrics.wordnet.nouns import UnknownLabel, WordNet
from evaluation.readers.answers import NO_ARRAY
from evaluation.readers.image_lists import ImageList, read_bytes, read_extent
from labeling.files import BadInput, file_sha256, require_file, text_lines

CLASSES, IMAGES = "classes.txt", "images.txt"
LABEL_TYPES = ("int16", "int32")
CONFIDENCE_TYPES = ("float16", "float32")
_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class ClassifierColumn:
    """A classifier's array in its file. head: bytes before its first value."""

    path: Path
    values: NDArray[Any]
    head: int

    def byte_of(self, row: int) -> int:
        return self.head + row * self.values.itemsize


@dataclass(frozen=True)
class PredictionPool:
    """A predictions folder, or a stretch of it: classes as wnids, images, predictions.

    images and predictions are those of the stretch alone, numbered from 0. part: its range of the
    folder's `total` images. sha256: of each file, of a stretch see read_pool. sizes: bytes of each
    whole file; empty where the pool is sharded, see sharded_pools.py. address: of the original
    folder, where this one is a copy.
    """

    folder: Path
    classes: list[str]
    images: ImageList
    predictions: dict[str, PoolPredictions]
    columns: dict[str, ClassifierColumn]
    part: slice
    total: int
    sha256: dict[str, str]
    sizes: dict[str, int]
    address: str = ""

    def path_in_messages(self, file: str) -> str:
        """Return the path of a file of the pool for an error message."""
        return f"{self.address or self.folder}/{file}"


def read_pool(
    folder: Path,
    names: Sequence[str] | None,
    wordnet: WordNet | None,
    shard: tuple[int, int] = (1, 1),
    threads: int = 1,
) -> PredictionPool:
    """Return a predictions folder, checked, with the SHA-256 of each file; or the I-th of N
    stretches.

    names: classifiers in the wanted order, by default all in the folder, sorted. wordnet: None
    where classes may have any names. shard: (I, N), from 1. Of a stretch, only its own lines and
    values are read, checked and hashed: the SHA-256 of a classifier's file is that of the array's
    head and the stretch's values; that of images.txt covers the stretch's lines. An id in two
    stretches is not detected. Raises BadInput.
    """
    classifiers = classifiers_in(folder)
    chosen = list(names) if names else classifiers
    if len(chosen) < 2:
        raise BadInput(
            f"has predictions of {len(chosen)} classifiers, expected 2 or more",
            file=folder,
            cure="add NAME.labels.npy and NAME.confidences.npy for each classifier",
        )
    classes = read_classes(folder / CLASSES, wordnet)
    with ThreadPoolExecutor(threads) as workers:
        try:
            if shard[1] == 1:
                return _read_whole(workers, folder, chosen, classes)
            return _read_stretch(workers, folder, chosen, classes, shard)
        except BaseException:
            workers.shutdown(wait=False, cancel_futures=True)
            raise


def part_of(count: int, index: int, parts: int) -> slice:
    """Return the index-th (from 1) of this many nearly equal stretches of `count` images."""
    return slice(count * (index - 1) // parts, count * index // parts)


def joined_sha256(digests: Sequence[str]) -> str:
    """Return the SHA-256 of a file from those of its stretches, in order, end to end.

    One stretch is the whole file and has its SHA-256.
    """
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256(bytes.fromhex("".join(digests))).hexdigest()


def sha256_in_stretches(pool: PredictionPool, ends: Sequence[int]) -> dict[str, str]:
    """Return the joined_sha256 of each file of a whole pool that is cut after these images."""
    edges = [0, *ends]
    digests = {CLASSES: pool.sha256[CLASSES]}
    cuts: list[tuple[str, int, Callable[[int], int]]] = [(IMAGES, 0, pool.images.byte_of)]
    cuts += [(file, column.head, column.byte_of) for file, column in pool.columns.items()]
    for file, head, byte_of in cuts:
        digests[file] = joined_sha256(
            [
                _sha256(pool.folder / file, head, byte_of(start), byte_of(stop))
                for start, stop in pairwise(edges)
            ]
        )
    return digests


def _read_whole(
    workers: ThreadPoolExecutor, folder: Path, names: Sequence[str], classes: list[str]
) -> PredictionPool:
    listing = workers.submit(ImageList, folder / IMAGES)
    files = [CLASSES, IMAGES, *(file for name in names for file in _files_of(name))]
    present = [file for file in files if (folder / file).is_file()]
    hashes = [workers.submit(file_sha256, folder / file) for file in present]
    images = listing.result()
    whole = slice(0, len(images))
    columns = _columns(folder, names, len(images), "one per line of images.txt")
    checks = [workers.submit(_checked, columns, name, len(classes), whole) for name in names]
    return PredictionPool(
        folder,
        classes,
        images,
        {name: check.result() for name, check in zip(names, checks, strict=True)},
        columns,
        whole,
        len(images),
        {file: digest.result() for file, digest in zip(present, hashes, strict=True)},
        _sizes(folder, files),
    )


def _read_stretch(
    workers: ThreadPoolExecutor,
    folder: Path,
    names: Sequence[str],
    classes: list[str],
    shard: tuple[int, int],
) -> PredictionPool:
    total = len(_column(folder / _files_of(names[0])[0], LABEL_TYPES).values)
    columns = _columns(folder, names, total, f"as many as {_files_of(names[0])[0]}")
    part = part_of(total, *shard)
    listing = workers.submit(read_extent, folder / IMAGES, total, part)

    def hash_column(column: ClassifierColumn) -> str:
        return _sha256(
            column.path, column.head, column.byte_of(part.start), column.byte_of(part.stop)
        )

    def read(name: str) -> PoolPredictions:
        # Hash first: this reads only the stretch into memory.
        for file in _files_of(name):
            sha256[file] = hash_column(columns[file])
        return _checked(columns, name, len(classes), part)

    sha256 = dict.fromkeys((CLASSES, IMAGES, *columns), "")
    checks = [workers.submit(read, name) for name in names]
    images = listing.result()
    sha256[CLASSES] = file_sha256(folder / CLASSES)
    sha256[IMAGES] = _sha256(images.path, 0, images.start_byte, images.stop_byte)
    predictions = {name: check.result() for name, check in zip(names, checks, strict=True)}
    sizes = _sizes(folder, sha256)
    return PredictionPool(folder, classes, images, predictions, columns, part, total, sha256, sizes)


def _sizes(folder: Path, files: Iterable[str]) -> dict[str, int]:
    return {file: (folder / file).stat().st_size for file in files}


def _sha256(path: Path, head: int, start: int, stop: int) -> str:
    digest = hashlib.sha256()
    for piece in chain(read_bytes(path, 0, head), read_bytes(path, start, stop)):
        digest.update(piece)
    return digest.hexdigest()


def classifiers_in(folder: Path) -> list[str]:
    """Return the sorted names of the classifiers in a predictions folder."""
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


def read_classes(path: Path, wordnet: WordNet | None) -> list[str]:
    """Return the wnids of classes.txt; without wordnet, any names, in NFC.

    Raises BadInput for an empty or repeated class, and for one that is not in WordNet 3.0.
    """
    require_file(path, "list one class per line, in the order of the labels")
    first: dict[str, int] = {}
    for number, text in enumerate(text_lines(path), start=1):
        wnid = unicodedata.normalize("NFC", text.strip())
        if wordnet is None and not wnid:
            raise BadInput("the line is empty", path, number, "list one class per line")
        try:
            if wordnet is not None:
                wordnet.index(wnid)
        except UnknownLabel as error:
            raise BadInput(
                f"{wnid!r} is not a wnid of a noun of WordNet 3.0",
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


def _files_of(name: str) -> tuple[str, str]:
    return f"{name}.labels.npy", f"{name}.confidences.npy"


def _checked(
    columns: Mapping[str, ClassifierColumn], name: str, classes: int, part: slice
) -> PoolPredictions:
    """Return a classifier's values in a stretch, memory-mapped and checked."""
    labels, confidences = (columns[file] for file in _files_of(name))
    _check_labels(labels.path, labels.values, classes, part)
    signed_zero = _check_confidences(confidences.path, confidences.values, part)
    return PoolPredictions(labels.values[part], confidences.values[part], signed_zero)


def _columns(
    folder: Path, names: Sequence[str], length: int, why: str
) -> dict[str, ClassifierColumn]:
    """Return the arrays of these classifiers by file name, all of this length; no value is read."""
    columns = {}
    for name in names:
        for file, types in zip(_files_of(name), (LABEL_TYPES, CONFIDENCE_TYPES), strict=True):
            columns[file] = _column(folder / file, types)
            if len(columns[file].values) != length:
                raise BadInput(
                    f"has {len(columns[file].values)} values, expected {length}, {why}",
                    file=folder / file,
                    cure="predict the images of images.txt, in that order",
                )
    return columns


def _column(path: Path, types: Sequence[str]) -> ClassifierColumn:
    require_file(path, "each classifier needs NAME.labels.npy and NAME.confidences.npy")
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except NO_ARRAY as error:
        raise BadInput(
            "is not a whole .npy array", file=path, cure="write it again with numpy.save"
        ) from error
    if not isinstance(mapped, np.memmap):
        mapped.close()
        raise BadInput("is not one .npy array", file=path, cure="write it with numpy.save")
    # A plain view of the same memory, since slices of np.memmap are slow.
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
            f"has shape {array.shape}, expected one value per image",
            file=path,
            cure="save one value per image, the best label's",
        )
    return ClassifierColumn(path, array, mapped.offset)


def _check_labels(path: Path, labels: NDArray[Any], classes: int, part: slice) -> None:
    # As unsigned numbers, negative labels are too large; one comparison finds both.
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
    """Return whether there is a −0.0 among them. Raises BadInput outside [0, 1]."""
    unit = confidences.dtype.type(1)
    highest = unit.view(f"u{unit.itemsize}")
    signed_zero = False
    # Floats in [0, 1] have bit patterns up to that of 1.0; one maximum finds NaN and all others.
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
    for start in range(part.start, part.stop, _BLOCK_BYTES):
        yield start, array[start : min(start + _BLOCK_BYTES, part.stop)]
