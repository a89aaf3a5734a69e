"""Reads untrusted MATLAB v5 files: texts, numbers, structs and cells only.

A file is a tree of elements, each a type, a length and bytes (MAT-File Format, R2019b, chapter 1).
Lengths and dimensions that exceed the file's bytes are faults. Tests compare it with scipy. We
rejected scipy.io.loadmat: of 150 small files with one to four bytes changed, three crashed the
process (SIGSEGV) and one requested over 6 GiB.
"""

import math
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeling.files import BadInput, StrPath

# Limit of unpacked bytes, enough for a hundred masks of ten megapixels.
MAX_BYTES = 1 << 30
MAX_ELEMENTS = 1_000_000
MAX_NESTING = 20
MATRIX, COMPRESSED = 14, 15
CELL, STRUCT, TEXT = 1, 2, 4
COMPLEX = 0x0800
# Classes that cannot hold annotations.
UNSUPPORTED_CLASSES = {
    3: "a MATLAB object",
    5: "a sparse matrix",
    16: "a function handle",
    17: "an opaque object",
    18: "an object",
}
# Type of an element → numpy's type. The class of the matrix may be a different type.
NUMBERS = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
}
ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}


class Struct(NamedTuple):
    """A struct array in column order: a dict by field for every element."""

    rows: "list[dict[str, Value]]"


class Cells(NamedTuple):
    """A cell array in column order."""

    values: "list[Value]"


Value = Struct | Cells | str | NDArray[Any]


def load(path: StrPath, variable: str) -> Value:
    """Return a variable of a MATLAB v5 file: Struct, Cells, str, or an array of MATLAB's shape.

    Raises BadInput for other files and other types.
    """
    with open(path, "rb") as file:
        raw = file.read(MAX_BYTES + 1)
    order = _byte_order(raw, path)
    try:
        return _Tree(order, path).variable(raw, variable)
    except (ValueError, struct.error, zlib.error, OverflowError):
        # Invalid texts, sizes that do not fit, truncated streams.
        raise _damaged(path) from None


def _byte_order(raw: bytes, path: StrPath) -> str:
    """Return "<" or ">" for struct. Raises BadInput for other versions and files."""
    if raw[:4] == b"\x89HDF" or raw[512:516] == b"\x89HDF" or b"MATLAB 7.3" in raw[:116]:
        raise BadInput(
            "is a MATLAB v7.3 file, which is not supported",
            file=path,
            cure="load it in MATLAB and save it with '-v7'",
        )
    order = {b"IM": "<", b"MI": ">"}.get(raw[126:128])
    if order is None or struct.unpack(f"{order}H", raw[124:126]) != (0x0100,):
        raise BadInput("is not a MATLAB v5 file", file=path, cure="save it in MATLAB with '-v7'")
    if len(raw) > MAX_BYTES:
        raise BadInput("is larger than 1 GiB", file=path, cure="split it")
    return order


def _damaged(path: StrPath) -> BadInput:
    return BadInput("is damaged or cut short", file=path, cure="save or download it again")


class _Element(NamedTuple):
    """An element. kind: its type. begin, end: range of its bytes. after: start of the next one."""

    kind: int
    begin: int
    end: int
    after: int


class _Head(NamedTuple):
    """Header of a matrix. bits: class and flags. sizes: dimensions. rest: start of the content."""

    bits: int
    sizes: tuple[int, ...]
    name: bytes
    rest: int


class _Tree:
    """Reads a file's nested elements."""

    def __init__(self, order: str, path: StrPath) -> None:
        self.order = order
        self.path = path
        self.seen = 0

    def variable(self, raw: bytes, name: str) -> Value:
        at, left = 128, MAX_BYTES
        while at < len(raw):
            element = self._element(raw, at, len(raw))
            inside = raw
            at = element.after
            if element.kind == COMPRESSED:
                # Only compressed elements are not padded to eight bytes.
                at = element.end
                inside = zlib.decompressobj().decompress(raw[element.begin : element.end], left + 1)
                left -= len(inside)
                if left < 0:
                    raise BadInput("unpacks to over 1 GiB", file=self.path, cure="split it")
                element = self._element(inside, 0, len(inside))
            if element.kind == MATRIX and self._head(inside, element).name == name.encode():
                return self._matrix(inside, element, 0)
        raise BadInput(
            f"has no variable {name}", file=self.path, cure=f"save it under the name {name}"
        )

    def _element(self, raw: bytes, at: int, limit: int) -> _Element:
        self.seen += 1
        if at + 8 > limit or self.seen > MAX_ELEMENTS:
            raise _damaged(self.path)
        kind, length = struct.unpack_from(f"{self.order}II", raw, at)
        if kind >> 16:
            # Up to four bytes are in the tag itself.
            element = _Element(kind & 0xFFFF, at + 4, at + 4 + (kind >> 16), at + 8)
        else:
            end = at + 8 + length
            element = _Element(kind, at + 8, end, min(end + -length % 8, limit))
        if element.end > min(element.after, limit):
            raise _damaged(self.path)
        return element

    def _head(self, raw: bytes, element: _Element) -> _Head:
        flags = self._element(raw, element.begin, element.end)
        (bits,) = struct.unpack(f"{self.order}Q", raw[flags.begin : flags.end])
        # The first of two four-byte words holds class and flags.
        bits = bits & 0xFFFFFFFF if self.order == "<" else bits >> 32
        if bits & 0xFF in UNSUPPORTED_CLASSES:
            # Some of these classes have no dimensions, others no name.
            return _Head(bits, (), b"", element.end)
        dims = self._element(raw, flags.after, element.end)
        count = (dims.end - dims.begin) // 4
        sizes = struct.unpack_from(f"{self.order}{count}i", raw, dims.begin)
        if len(sizes) < 2 or min(sizes) < 0:
            raise _damaged(self.path)
        name = self._element(raw, dims.after, element.end)
        return _Head(bits, sizes, raw[name.begin : name.end], name.after)

    def _matrix(self, raw: bytes, element: _Element, depth: int) -> Value:
        if element.kind != MATRIX or depth > MAX_NESTING:
            raise _damaged(self.path)
        if element.begin == element.end:
            return np.zeros((0, 0))
        head = self._head(raw, element)
        kind = head.bits & 0xFF
        if kind in UNSUPPORTED_CLASSES or head.bits & COMPLEX:
            raise BadInput(
                f"has {UNSUPPORTED_CLASSES.get(kind, 'complex numbers')}, which is not an "
                "annotation",
                file=self.path,
                cure="save structs of texts, numbers and masks only",
            )
        if kind == STRUCT:
            return self._struct(raw, head, element.end, depth)
        if kind == CELL:
            return Cells(
                self._matrices(raw, head.rest, element.end, math.prod(head.sizes), depth)[0]
            )
        return self._plain(raw, head, element.end)

    def _struct(self, raw: bytes, head: _Head, end: int, depth: int) -> Struct:
        length = self._element(raw, head.rest, end)
        names = self._element(raw, length.after, end)
        (width,) = struct.unpack(f"{self.order}i", raw[length.begin : length.end])
        if width < 1 or (names.end - names.begin) % width:
            raise _damaged(self.path)
        fields = [
            raw[at : at + width].split(b"\0")[0].decode("ascii")
            for at in range(names.begin, names.end, width)
        ]
        rows: list[dict[str, Value]] = []
        at = names.after
        for _ in range(self._checked_count(math.prod(head.sizes), max(len(fields), 1), end - at)):
            values, at = self._matrices(raw, at, end, len(fields), depth)
            rows.append(dict(zip(fields, values, strict=True)))
        return Struct(rows)

    def _matrices(
        self, raw: bytes, at: int, end: int, count: int, depth: int
    ) -> tuple[list[Value], int]:
        """Return `count` consecutive matrices, and the position after them."""
        values = []
        for _ in range(self._checked_count(count, 1, end - at)):
            inner = self._element(raw, at, end)
            values.append(self._matrix(raw, inner, depth + 1))
            at = inner.after
        return values, at

    def _checked_count(self, count: int, each: int, left: int) -> int:
        """Return `count` if that many items of `each` elements fit into `left` bytes.

        An element takes at least eight bytes.
        """
        if count * each * 8 > left:
            raise _damaged(self.path)
        return count

    def _plain(self, raw: bytes, head: _Head, end: int) -> Value:
        values = self._element(raw, head.rest, end)
        if head.bits & 0xFF == TEXT:
            encoding = ENCODINGS.get(values.kind, "")
            if not encoding:
                raise _damaged(self.path)
            if encoding in {"utf-16", "utf-32"}:
                encoding += "-le" if self.order == "<" else "-be"
            return raw[values.begin : values.end].decode(encoding)
        if values.kind not in NUMBERS:
            raise _damaged(self.path)
        dtype = np.dtype(self.order + NUMBERS[values.kind])
        count = math.prod(head.sizes)
        if count * dtype.itemsize != values.end - values.begin:
            raise _damaged(self.path)
        matrix = np.frombuffer(raw, dtype, count, values.begin)
        return matrix.reshape(head.sizes, order="F")
