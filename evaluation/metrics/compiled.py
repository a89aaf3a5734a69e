"""Loops that numpy cannot carry, compiled by numba. Import this inside functions only.

Compiling costs seconds once; the machine code is kept beside the source, or, where the source
cannot be written to, under the person's cache folder. Every loop has a plain twin in the tests.
"""

import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def _keep_machine_code() -> None:
    here = Path(__file__).resolve().parent / "__pycache__"
    if "NUMBA_CACHE_DIR" in os.environ or os.access(
        here if here.exists() else here.parent, os.W_OK
    ):
        return
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "numba"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        writable = os.access(cache, os.W_OK)
    except OSError:
        writable = False
    # A name that others could guess would let them plant code: a fresh private folder instead.
    os.environ["NUMBA_CACHE_DIR"] = str(cache) if writable else tempfile.mkdtemp(prefix="assay-")


_keep_machine_code()

from numba import njit  # noqa: E402  numba reads its cache folder as it is imported

# Every so many lines of a list of images, where the line begins.
STRIDE = 64
_BLOCK = 2048
_NEWLINE = 10


@njit(nogil=True, cache=True)
def scan_lines(
    text: NDArray[np.uint8], marks: NDArray[np.int64], seen: NDArray[np.int64]
) -> tuple[int, bool, int]:
    """Number of lines, whether they ascend strictly by bytes, and the OR of all bytes.

    Fills marks with the start of every STRIDE-th line as far as it reaches (call again with a
    longer one), and seen with the first line (from 1) that is empty, that holds NUL, that holds a
    carriage return; 0 where there is none. The last line may lack its line break.
    """
    size = text.shape[0]
    lines, start, before, before_size = 0, 0, 0, 0
    ascending = True
    mixed = np.uint8(0)
    while start < size:
        if lines % STRIDE == 0 and lines // STRIDE < marks.shape[0]:
            marks[lines // STRIDE] = start
        end = start
        # Compare with the line above and look for the end in one go.
        while end < size and end - start < before_size and text[end] == text[before + end - start]:
            end += 1
        same = end - start
        for at in range(end, size):
            if text[at] == _NEWLINE:
                break
            end = at + 1
        here, above = end - start, before_size
        if lines > 0:
            if same < here and same < above:
                ascending &= text[start + same] > text[before + same]
            else:
                ascending &= here > above
        lines += 1
        lowest = np.uint8(255)
        returns = False
        for at in range(start, end):
            mixed |= text[at]
            lowest = min(lowest, text[at])
            returns |= text[at] == 13
        if here == 0 and seen[0] == 0:
            seen[0] = lines
        if lowest == 0 and seen[1] == 0:
            seen[1] = lines
        if returns and seen[2] == 0:
            seen[2] = lines
        before, before_size = start, here
        start = end + 1
    return lines, ascending, mixed


@njit(nogil=True, cache=True)
def hash_lines(text: NDArray[np.uint8], part: int, parts: int, hashes: NDArray[np.uint64]) -> int:
    """How many lines have a hash of this part (hash % parts == part); fills hashes as it reaches.

    FNV-1a, 64 bits, with a final mix.
    """
    found = 0
    value = np.uint64(14695981039346656037)
    prime = np.uint64(1099511628211)
    size = text.shape[0]
    for at in range(size + 1):
        if at == size and (size == 0 or text[size - 1] == _NEWLINE):
            break
        if at == size or text[at] == _NEWLINE:
            value ^= value >> np.uint64(32)
            if value % np.uint64(parts) == np.uint64(part):
                if found < hashes.shape[0]:
                    hashes[found] = value
                found += 1
            value = np.uint64(14695981039346656037)
        else:
            value = (value ^ np.uint64(text[at])) * prime
    return found


@njit(nogil=True, cache=True)
def line_start(text: NDArray[np.uint8], marks: NDArray[np.int64], line: int) -> int:
    """Where a line (from 0) begins."""
    at = marks[line // STRIDE]
    for _ in range(line % STRIDE):
        while text[at] != _NEWLINE:
            at += 1
        at += 1
    return at


@njit(nogil=True, cache=True)
def line_before(text: NDArray[np.uint8], marks: NDArray[np.int64], line: int, other: int) -> bool:
    """Whether a line comes before another by its bytes."""
    a, b = line_start(text, marks, line), line_start(text, marks, other)
    size = text.shape[0]
    while True:
        end_a = a >= size or text[a] == _NEWLINE
        end_b = b >= size or text[b] == _NEWLINE
        if end_a or end_b:
            return end_a and not end_b
        if text[a] != text[b]:
            return text[a] < text[b]
        a += 1
        b += 1


@njit(nogil=True, cache=True)
def best_per_cell(
    labels_a,  # type: ignore[no-untyped-def]
    labels_b,
    keys_a,
    keys_b,
    first,
    threshold,
    need,
    count,
    keys,
    images,
    in_order,
    text,
    marks,
):
    """Takes images first, first + 1, … into the cells: each keeps its best by (key, image id).

    labels_a, labels_b: (n,) int16 or int32 under C. keys_a, keys_b: (n,) uint16 or uint32, ordered
    as the confidences. need (C, C) keys: an image below it cannot enter the cell (raised here as
    cells fill up). count (C, C) uint16; keys and images (C, C, m), the best first. in_order: image
    ids ascend, so a later image never beats an earlier one of the same key.
    """
    size = keys.shape[2]
    picked = np.empty(_BLOCK, np.int64)
    for begin in range(0, labels_a.shape[0], _BLOCK):
        end = min(begin + _BLOCK, labels_a.shape[0])
        found = 0
        # No branch: which images pass is as good as random, and a wrong guess costs more.
        for i in range(begin, end):
            picked[found] = i
            passes = (
                (labels_a[i] != labels_b[i]) & (keys_a[i] >= threshold) & (keys_b[i] >= threshold)
            )
            found += np.int64(passes)
        for place in range(found):
            i = picked[place]
            a, b = labels_a[i], labels_b[i]
            key = min(keys_a[i], keys_b[i])
            if key < need[a, b]:
                continue
            image = first + i
            filled = np.int64(count[a, b])
            at = filled
            while at > 0 and (
                keys[a, b, at - 1] < key
                or (
                    not in_order
                    and keys[a, b, at - 1] == key
                    and line_before(text, marks, image, images[a, b, at - 1])
                )
            ):
                at -= 1
            if at == size:
                continue
            for move in range(min(filled, size - 1), at, -1):
                keys[a, b, move] = keys[a, b, move - 1]
                images[a, b, move] = images[a, b, move - 1]
            keys[a, b, at] = key
            images[a, b, at] = image
            if filled < size:
                count[a, b] = filled + 1
            if count[a, b] == size:
                # In order, a later image of the worst key loses its tie.
                need[a, b] = max(need[a, b], keys[a, b, size - 1] + np.int64(in_order))
