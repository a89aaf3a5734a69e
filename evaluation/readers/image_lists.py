"""Read images.txt: the ids of a pool, or of one stretch of it. No Django.

The file is memory-mapped and read in pieces, so memory stays constant for any length.
"""

import codecs
import contextlib
import mmap
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from evaluation.readers.answers import NO_ARRAY
from labeling.files import BadInput, atomic_write, require_file

CURE = "list one image id per line"
# Lists with lines of several lengths have an index beside them: the start of every N-th line.
INDEX_STRIDE = 1 << 12
_BLOCK_BYTES = 1 << 22
_PAGE = 1 << 12
_NEWLINE = 10


@dataclass(frozen=True)
class Extent:
    """The bytes of the file that hold lines first to stop (from 0, stop excluded)."""

    first: int
    stop: int
    start_byte: int
    stop_byte: int


class ImageList:
    """The ids of images.txt, or of one extent of it, by number; see metrics.mad.selection.ImageIds.

    Raises BadInput for an empty list, an empty or repeated id, NUL, a carriage return, a byte order
    mark and bytes that are not UTF-8. Within an extent, ids are numbered, and repeats searched, in
    that extent alone.
    """

    def __init__(self, path: Path, extent: Extent | None = None) -> None:
        from evaluation.metrics.mad.kernels import STRIDE, scan_lines

        self.path = path
        size = _size(path)
        self._first = extent.first if extent else 0
        self.start_byte, self.stop_byte = (
            (extent.start_byte, extent.stop_byte) if extent else (0, size)
        )
        self._lead = self.start_byte % mmap.ALLOCATIONGRANULARITY
        self._map, self.text = self._mapped()
        # Lines are seldom shorter; a list with shorter lines is read again.
        self.marks = np.zeros(len(self.text) // (8 * STRIDE) + 1, np.int64)
        faults = np.zeros(3, np.int64)
        self._count, ascending, mixed = scan_lines(self.text, self.marks, faults)
        needed = -(-self._count // STRIDE)
        if needed > len(self.marks):
            self.marks = np.zeros(needed, np.int64)
            scan_lines(self.text, self.marks, faults)
        for line, problem, cure in (
            (faults[0], "the image id is empty", "remove the empty line, and its predictions"),
            (faults[1], "the image id holds a NUL byte", "write the list as plain text"),
            (faults[2], "the line ends in a carriage return", "save it with Unix line ends"),
        ):
            if line:
                raise BadInput(problem, file=path, line=self._first + int(line), cure=cure)
        if mixed > 127:
            if self.start_byte == 0 and self.text[:3].tobytes() == codecs.BOM_UTF8:
                cure = "save it as UTF-8 without a byte order mark"
                raise BadInput("begins with a byte order mark", file=path, line=1, cure=cure)
            self._check_utf8()
        self.in_order = bool(ascending)
        if not self.in_order:
            self._refuse_repeats()

    def __len__(self) -> int:
        return int(self._count)

    def take(self, images: Sequence[int] | NDArray[np.int64]) -> list[bytes]:
        """Return the ids of these images, as UTF-8 bytes."""
        from evaluation.metrics.mad.kernels import line_start

        ids = []
        for image in images:
            start = self._lead + line_start(self.text, self.marks, int(image))
            end = self._map.find(b"\n", start)
            ids.append(self._map[start : end if end >= 0 else len(self._map)])
        return ids

    def byte_of(self, image: int) -> int:
        """Return the byte where the line of an image begins; one past the last image, the end."""
        from evaluation.metrics.mad.kernels import line_start

        if image == len(self):
            return self.stop_byte
        return self.start_byte + int(line_start(self.text, self.marks, image))

    def _mapped(self) -> tuple[mmap.mmap, NDArray[np.uint8]]:
        if self.stop_byte == self.start_byte:
            empty = mmap.mmap(-1, 1)
            return empty, np.zeros(0, np.uint8)
        with open(self.path, "rb") as file:
            start = self.start_byte - self._lead
            data = mmap.mmap(
                file.fileno(), self.stop_byte - start, access=mmap.ACCESS_READ, offset=start
            )
        return data, np.frombuffer(data, np.uint8)[self._lead :]

    def _check_utf8(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")()
        for start in range(0, len(self.text) + 1, _BLOCK_BYTES):
            piece = self.text[start : start + _BLOCK_BYTES].tobytes()
            try:
                decoder.decode(piece, final=start + _BLOCK_BYTES > len(self.text))
            except UnicodeDecodeError as error:
                # The bad byte may be among up to three bytes that the decoder had buffered.
                before = self.text[: start + error.start]
                line = self._first + int(np.count_nonzero(before == _NEWLINE)) + 1
                raise BadInput(
                    "the image id is not UTF-8", file=self.path, line=line, cure="write it as UTF-8"
                ) from error

    def _refuse_repeats(self) -> None:
        from evaluation.metrics.mad.kernels import hash_lines

        # Hash at most 2^25 lines at a time, to bound the memory.
        parts = -(-len(self) // (1 << 25))
        for part in range(parts):
            hashes = np.empty(len(self) if parts == 1 else 1 << 26, np.uint64)
            hashes = hashes[: hash_lines(self.text, part, parts, hashes)]
            hashes.sort()
            if (hashes[1:] == hashes[:-1]).any():
                self._refuse_repeated_line()

    def _refuse_repeated_line(self) -> None:
        # Hold every id only now that a repeat is nearly certain.
        first: dict[bytes, int] = {}
        self._map.seek(self._lead)
        for number, line in enumerate(iter(self._map.readline, b""), start=self._first + 1):
            name = line.removesuffix(b"\n")
            if name in first:
                raise BadInput(
                    f"the image id {name.decode()!r} is already in line {first[name]}",
                    file=self.path,
                    line=number,
                    cure="list each image once",
                )
            first[name] = number


def read_extent(path: Path, images: int, part: slice) -> ImageList:
    """Return the ids of lines part.start to part.stop of a list of this many images; no other is
    read.

    The position of the lines comes from the index beside the list, or from the length of the first
    line if all lines can have that length. Both are guesses, accepted if they hold as many whole
    lines as needed. The caller that joins extents checks by their bytes that no line is missing.
    Without a guess the whole list is counted once, and the index is written if the folder is
    writable. Raises BadInput as ImageList does, and for another number of lines.
    """
    starts, length = _index(path, images), _first_length(path)
    extent = None if starts is None else _indexed(path, starts, images, part)
    if extent is not None and _is_whole(path, extent):
        return ImageList(path, extent)
    extent = Extent(part.start, part.stop, part.start * length, part.stop * length)
    size = _size(path)
    if size == images * length - 1 and part.stop == images:
        # The last line may lack a line break.
        extent = replace(extent, start_byte=min(extent.start_byte, size), stop_byte=size)
    if size in (images * length, images * length - 1) and _is_whole(path, extent, length):
        return ImageList(path, extent)
    state = _state(path)
    starts = _counted(path, images)
    with contextlib.suppress(OSError, BadInput), atomic_write(_index_path(path), "wb") as file:
        np.save(file, np.append(starts, state))
    return ImageList(path, _indexed(path, starts, images, part))


def _size(path: Path) -> int:
    require_file(path, CURE)
    size = path.stat().st_size
    if size == 0:
        raise BadInput("there are no images", file=path, cure=CURE)
    return size


def read_bytes(path: Path, start: int, stop: int, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """Yield these bytes of a file in pieces of a given size, without the system's read-ahead."""
    with _opened(path) as file:
        file.seek(start)
        while start < stop and (piece := file.read(min(size, stop - start))):
            yield piece
            start += len(piece)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with open(path, "rb", buffering=_PAGE) as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        yield file


def _first_length(path: Path) -> int:
    with _opened(path) as file:
        return len(file.readline(1 << 16))


def _is_whole(path: Path, extent: Extent, length: int | None = None) -> bool:
    """Return whether the extent has the expected number of whole lines, each of `length`
    if given.
    """
    start = extent.start_byte
    if start > 0 and next(read_bytes(path, start - 1, start), b"") != b"\n":
        return False
    size = _BLOCK_BYTES if length is None else max(1, _BLOCK_BYTES // length) * length
    lines, in_place, last = 0, 0, b"\n"
    for piece in read_bytes(path, start, extent.stop_byte, size):
        ends = np.frombuffer(piece, np.uint8) == _NEWLINE
        lines += int(np.count_nonzero(ends))
        in_place += int(np.count_nonzero(ends[length - 1 :: length])) if length else 0
        last = piece[-1:]
    is_open = last != b"\n"
    if is_open and extent.stop_byte < path.stat().st_size:
        return False
    return lines + is_open == extent.stop - extent.first and (not length or in_place == lines)


def _index_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.index.npy")


def _state(path: Path) -> NDArray[np.int64]:
    """Return what identifies this version of the list."""
    stat = path.stat()
    return np.array([stat.st_size, stat.st_mtime_ns])


def _index(path: Path, images: int) -> NDArray[np.int64] | None:
    """Return the byte of every INDEX_STRIDE-th line, then the size; None without a current
    index.
    """
    try:
        starts: NDArray[Any] = np.load(_index_path(path), mmap_mode="r", allow_pickle=False)
    except NO_ARRAY:
        return None
    if not isinstance(starts, np.ndarray) or starts.dtype != np.int64:
        return None
    if starts.shape != (-(-images // INDEX_STRIDE) + 3,) or (starts[-2:] != _state(path)).any():
        return None
    return starts[:-2]


def _counted(path: Path, images: int) -> NDArray[np.int64]:
    """Return what _index() returns, by reading the whole list.

    Raises BadInput for another number of lines.
    """
    size = path.stat().st_size
    starts, lines, at, last = [np.zeros(1, np.int64)], 0, 0, b"\n"
    for piece in read_bytes(path, 0, size):
        ends = np.flatnonzero(np.frombuffer(piece, np.uint8) == _NEWLINE)
        # The k-th line break, counted over all pieces, ends line k and begins line k + 1.
        starts.append(ends[-(lines + 1) % INDEX_STRIDE :: INDEX_STRIDE] + at + 1)
        lines, at, last = lines + len(ends), at + len(piece), piece[-1:]
    lines += last != b"\n"
    if lines != images:
        raise BadInput(
            f"has {lines} lines, but the arrays beside it have {images} values",
            file=path,
            cure="list one image id per value",
        )
    begins = np.concatenate(starts)
    return np.append(begins[begins < size], size)


def _indexed(path: Path, starts: NDArray[np.int64], images: int, part: slice) -> Extent | None:
    edges = [_start_of(path, starts, images, line) for line in (part.start, part.stop)]
    first, stop = edges
    if first is None or stop is None:
        return None
    return Extent(part.start, part.stop, first, stop)


def _start_of(path: Path, starts: NDArray[np.int64], images: int, line: int) -> int | None:
    if line == images:
        return int(starts[-1])
    mark, ahead = divmod(line, INDEX_STRIDE)
    start, stop = int(starts[mark]), int(starts[mark + 1])
    if ahead == 0:
        return start
    text = np.frombuffer(b"".join(read_bytes(path, start, stop)), np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    return start + int(ends[ahead - 1]) + 1 if ahead <= len(ends) else None
