# mypy: disable-error-code="assignment,return-value"
# numba infers the types of these loops; type hints cannot express them all.
"""Loops compiled by numba. Import this only inside functions.

Compiling takes seconds once; the machine code is cached beside the source or, if that is not
writable, in the user's cache folder. Every loop has a plain version in the tests.
"""

import numpy as np
from numpy.typing import NDArray

from labeling.numba_cache import njit

# The start of every STRIDE-th line of a list of images is stored.
STRIDE = 64
_BLOCK = 2048
_NEWLINE = 10


@njit(nogil=True, cache=True)
def scan_lines(
    text: NDArray[np.uint8], marks: NDArray[np.int64], seen: NDArray[np.int64]
) -> tuple[int, bool, int]:
    """Return the number of lines, whether they ascend strictly by bytes, and the OR of all bytes.

    Fills marks with the starts of every STRIDE-th line; if marks is too short, call again with a
    longer one. Fills seen with the first line (from 1) that is empty, the first with NUL and the
    first with a carriage return; 0 if there is none. The last line may lack its line break.
    """
    size = text.shape[0]
    lines, start, before, before_size = 0, 0, 0, 0
    ascending = True
    mixed = np.uint8(0)
    while start < size:
        if lines % STRIDE == 0 and lines // STRIDE < marks.shape[0]:
            marks[lines // STRIDE] = start
        end = start
        # Compare with the previous line and find the end in one pass.
        while end < size and end - start < before_size and text[end] == text[before + end - start]:
            end += 1
        same = end - start
        for at in range(end, size):
            if text[at] == _NEWLINE:
                break
            end = at + 1
        length, above = end - start, before_size
        if lines > 0:
            if same < length and same < above:
                ascending &= text[start + same] > text[before + same]
            else:
                ascending &= length > above
        lines += 1
        lowest = np.uint8(255)
        returns = False
        for at in range(start, end):
            mixed |= text[at]
            lowest = min(lowest, text[at])
            returns |= text[at] == 13
        if length == 0 and seen[0] == 0:
            seen[0] = lines
        if lowest == 0 and seen[1] == 0:
            seen[1] = lines
        if returns and seen[2] == 0:
            seen[2] = lines
        before, before_size = start, length
        start = end + 1
    return lines, ascending, mixed


@njit(nogil=True, cache=True)
def hash_lines(text: NDArray[np.uint8], part: int, parts: int, hashes: NDArray[np.uint64]) -> int:
    """Return the number of lines with a hash of this part (hash % parts == part); fill hashes.

    FNV-1a, 64 bits, with a final mix.
    """
    count = 0
    value = np.uint64(14695981039346656037)
    prime = np.uint64(1099511628211)
    size = text.shape[0]
    for at in range(size + 1):
        if at == size and (size == 0 or text[size - 1] == _NEWLINE):
            break
        if at == size or text[at] == _NEWLINE:
            value ^= value >> np.uint64(32)
            if value % np.uint64(parts) == np.uint64(part):
                if count < hashes.shape[0]:
                    hashes[count] = value
                count += 1
            value = np.uint64(14695981039346656037)
        else:
            value = (value ^ np.uint64(text[at])) * prime
    return count


@njit(nogil=True, cache=True)
def line_start(text: NDArray[np.uint8], marks: NDArray[np.int64], line: int) -> int:
    """Return where a line (from 0) begins."""
    at = marks[line // STRIDE]
    for _ in range(line % STRIDE):
        while text[at] != _NEWLINE:
            at += 1
        at += 1
    return at


@njit(nogil=True, cache=True)
def line_before(
    text: NDArray[np.uint8], marks: NDArray[np.int64], line: int, other_line: int
) -> bool:
    """Return whether a line comes before another by its bytes."""
    a, b = line_start(text, marks, line), line_start(text, marks, other_line)
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
    labels_a,
    labels_b,
    keys_a,
    keys_b,
    first,
    threshold,
    alive,
    need,
    count,
    keys,
    images,
    opened,
    opened_count,
    in_order,
    text,
    marks,
):
    """Add images first, first + 1, … to the cells: each keeps its best by (key, image id).

    labels_a, labels_b: (n,) int16 or int32 under C. keys_a, keys_b: (n,) uint16 or uint32, ordered
    as the confidences. alive: one bit per cell (a · C + b, low bits first), 0 if the cell is ruled
    out; unlike the other tables it fits into the cache. need (C, C) keys: an image below it cannot
    enter the cell (raised here as cells fill up). count (C, C) uint16; keys and images (C, C, m),
    best first. opened (C · C,): the cells with images, opened_count of them. in_order: image ids
    ascend, so a later image never beats an earlier one of the same key. Returns opened_count.
    """
    size = keys.shape[2]
    classes = np.uint32(need.shape[0])
    flags = np.zeros(_BLOCK, np.uint8)
    eights = flags.view(np.uint64)
    picked = np.empty(_BLOCK, np.uint32)
    for begin in range(0, labels_a.shape[0], _BLOCK):
        end = min(begin + _BLOCK, labels_a.shape[0])
        block_a, block_b = labels_a[begin:end], labels_b[begin:end]
        sure_a, sure_b = keys_a[begin:end], keys_b[begin:end]
        # Simple enough for the compiler to vectorize.
        for i in range(end - begin):
            flags[i] = (min(sure_a[i], sure_b[i]) >= threshold) & (block_a[i] != block_b[i])
        flags[end - begin :] = 0
        picked_count = np.uint32(0)
        for eight in range((end - begin + 7) // 8):
            if eights[eight] == 0:
                continue
            # No branch: which of these pass is unpredictable, and a misprediction costs more.
            for i in range(eight * 8, min(eight * 8 + 8, end - begin)):
                at = np.uint32(i)
                cell = np.uint32(block_a[at]) * classes + np.uint32(block_b[at])
                bit = alive[cell >> np.uint32(3)] >> np.uint8(cell & np.uint32(7))
                picked[picked_count] = at
                picked_count += np.uint32(bit & np.uint8(1) & flags[at])
        for slot in range(picked_count):
            i = begin + np.int64(picked[slot])
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
            if filled == 0:
                opened[opened_count] = np.int64(a) * need.shape[0] + b
                opened_count += 1
            if filled < size:
                count[a, b] = filled + 1
            if count[a, b] == size:
                # If ids are in order, a later image with the worst key loses the tie.
                need[a, b] = max(need[a, b], keys[a, b, size - 1] + np.int64(in_order))
    return opened_count


@njit(nogil=True, cache=True)
def clear_below(
    alive: NDArray[np.uint8],
    of: NDArray[np.int32],
    least_a: NDArray[np.int64],
    least_b: NDArray[np.int64],
    level: int,
) -> None:
    """Clear the bit of each cell whose level is below the bound of its row or column.

    alive: one bit per cell, low bits first. of (C, C): levels. level: cells below it are already
    cleared.
    """
    classes = of.shape[0]
    for label in range(classes):
        in_row, in_column = least_a[label] >> 32, least_b[label] >> 32
        for second_label in range(classes):
            if in_row > level and of[label, second_label] < in_row:
                cell = label * classes + second_label
                alive[cell >> 3] &= ~(np.uint8(1) << np.uint8(cell & 7))
            if in_column > level and of[second_label, label] < in_column:
                cell = second_label * classes + label
                alive[cell >> 3] &= ~(np.uint8(1) << np.uint8(cell & 7))


@njit(nogil=True, cache=True)
def rule_out(
    a: NDArray[np.int32],
    b: NDArray[np.int32],
    within: NDArray[np.int64],
    merits: NDArray[np.int64],
    total: int,
    cap: int,
    per_cell: int,
    possible: NDArray[np.bool_],
    least_a: NDArray[np.int64],
    least_b: NDArray[np.int64],
) -> tuple[int, bool]:
    """Return the number of images processed, and whether none after them can be chosen.

    a, b, within, merits: (n,) of images best first; within: how many with the same two labels come
    before. Fills possible (n,): whether an image can be chosen in some larger pool; and least_a,
    least_b (C,): merits below which no image with that label can be chosen, 0 for none. See
    selection.survivors.
    """
    size, classes = a.shape[0], least_a.shape[0]
    spare = (total - 1) // cap
    partners_a, partners_b = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    count_a, count_b = np.zeros(classes, np.int64), np.zeros(classes, np.int64)
    full_a, full_b = 0, 0
    fit = 0
    for i in range(size):
        x, y = a[i], b[i]
        again = np.int64(within[i] > 0)
        possible[i] = (
            within[i] < per_cell
            and least_a[x] == 0
            and least_b[y] == 0
            and within[i] + max(0, partners_a[x] - again - (spare - full_b)) < cap
            and within[i] + max(0, partners_b[y] - again - (spare - full_a)) < cap
        )
        if least_a[x] or least_b[y]:
            continue
        if within[i] == 0:
            partners_a[x] += 1
            partners_b[y] += 1
        is_changed = False
        is_due = partners_a[x] - (spare - full_b) >= cap or partners_b[y] - (spare - full_a) >= cap
        while is_due:
            is_due = False
            for label in range(classes):
                if least_a[label] == 0 and partners_a[label] - (spare - full_b) >= cap:
                    least_a[label] = max(1, merits[i])
                    full_a += 1
                    is_due = True
                    for j in range(i + 1):
                        if a[j] == label and within[j] == 0 and least_b[b[j]] == 0:
                            partners_b[b[j]] -= 1
                if least_b[label] == 0 and partners_b[label] - (spare - full_a) >= cap:
                    least_b[label] = max(1, merits[i])
                    full_b += 1
                    is_due = True
                    for j in range(i + 1):
                        if b[j] == label and within[j] == 0 and least_a[a[j]] == 0:
                            partners_a[a[j]] -= 1
            is_changed |= is_due
        first = i
        if is_changed:
            count_a[:], count_b[:] = 0, 0
            first, fit = 0, 0
        for j in range(first, i + 1):
            u, v = a[j], b[j]
            if within[j] >= per_cell or least_a[u] or least_b[v]:
                continue
            if count_a[u] < cap and count_b[v] < cap:
                count_a[u] += 1
                count_b[v] += 1
                fit += 1
        limit = 2 * (total - 1) - cap * (full_a + full_b)
        if per_cell < min(cap, total):
            limit += total - 1 - cap * max(full_a, full_b)
        if full_a > spare or full_b > spare or fit > limit:
            return i + 1, True
    return size, False
