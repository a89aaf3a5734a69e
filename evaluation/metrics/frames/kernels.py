# mypy: disable-error-code="assignment,return-value"
# numba infers the types of these loops; type hints cannot express them all.
"""Loops of blurred frames, compiled by numba. Import this only inside functions.

Their torch versions for any device are in part_distances.py and foveation.py; tests compare both
bit by bit.
"""

import numpy as np
from numpy.typing import NDArray

from labeling.numba_cache import njit

# No pixel of the part in this column.
_NO_PIXEL = 1 << 20


@njit(nogil=True, cache=True)
def extents(steps: NDArray[np.int16], count: int) -> NDArray[np.int64]:
    """Return (count, 4) top, left, bottom, right (exclusive) of each step's pixels; bottom 0 for
    none.
    """
    boxes = np.zeros((count, 4), np.int64)
    boxes[:, :2] = steps.size
    for y in range(steps.shape[0]):
        for x in range(steps.shape[1]):
            box = boxes[steps[y, x]]
            box[0] = min(box[0], y)
            box[1] = min(box[1], x)
            box[2] = y + 1
            box[3] = max(box[3], x + 1)
    return boxes


@njit(nogil=True, cache=True)
def squared_distances(
    steps: NDArray[np.int16],
    step: int,
    box: NDArray[np.int64],
    reach: NDArray[np.int64],
    out: NDArray[np.int32],
) -> None:
    """Fill out (H, W) with squared distances to the step's pixels dilated by a disk.

    box: the step's extent. reach (r + 1,): how far the disk reaches up in its columns 0 to r.
    Vertical distances first, then along each row the lower envelope of their parabolas, in integers
    (Meijster, Roerdink, Hesselink 2000); only columns with pixels of the part have a parabola.
    """
    height, width = steps.shape
    top, left, bottom, right = box
    radius = reach.shape[0] - 1
    begin, end = max(left - radius, 0), min(right + radius, width)
    wide = end - begin
    # Padded on both sides by the disk's radius.
    vertical = np.full((height, wide + 2 * radius), _NO_PIXEL, np.int32)
    aside = begin - radius
    first, last = left - aside, right - aside
    for y in range(top, bottom):
        for x in range(first, last):
            if steps[y, x + aside] == step:
                vertical[y, x] = 0
    for y in range(top + 1, height):
        current, above = vertical[y], vertical[y - 1]
        for x in range(first, last):
            current[x] = min(current[x], above[x] + 1)
    for y in range(bottom - 2, -1, -1):
        current, below = vertical[y], vertical[y + 1]
        for x in range(first, last):
            current[x] = min(current[x], below[x] + 1)
    dilated = np.empty(wide, np.int32)
    centre = np.empty(wide, np.int32)
    start = np.empty(wide, np.int32)
    depth = np.empty(wide, np.int32)
    for y in range(height):
        dilated[:] = _NO_PIXEL
        for shift in range(2 * radius + 1):
            high = np.int32(reach[abs(shift - radius)])
            shifted = vertical[y, shift : shift + wide]
            for x in range(wide):
                dilated[x] = min(dilated[x], shifted[x] - high)
        held = _envelope(dilated, begin, width, centre, start, depth)
        row = out[y]
        for at in range(held):
            stop = start[at + 1] if at + 1 < held else width
            middle, base = centre[at], depth[at]
            for x in range(start[at], stop):
                row[x] = (x - middle) * (x - middle) + base


@njit(nogil=True, cache=True)
def _envelope(
    distances: NDArray[np.int32],
    begin: int,
    width: int,
    centre: NDArray[np.int32],
    start: NDArray[np.int32],
    depth: NDArray[np.int32],
) -> int:
    """Return how many parabolas are lowest somewhere; fill their centres, depths and first
    columns.
    """
    held = 0
    for x in range(distances.shape[0]):
        if distances[x] > _NO_PIXEL // 2:
            continue
        down = np.int32(max(distances[x], np.int32(0)))
        squared, column = np.int32(down * down), np.int32(x + begin)
        takes = np.int32(0)
        while held > 0:
            last_column = centre[held - 1]
            # The first column in which this parabola is below the other; 32-bit division is faster.
            top = np.int32(
                (column - last_column) * (column + last_column) + squared - depth[held - 1]
            )
            takes = np.int32(0)
            if top >= 0:
                takes = np.int32(np.uint32(top) // np.uint32(2 * (column - last_column)) + 1)
            if takes > start[held - 1]:
                break
            held -= 1
        if held == 0:
            takes = np.int32(0)
        if takes < width:
            centre[held], start[held], depth[held] = column, takes, squared
            held += 1
    return held


@njit(nogil=True, cache=True)
def paint(
    squared: NDArray[np.int32],
    nearest: NDArray[np.int32],
    positions: NDArray[np.float32],
    levels: NDArray[np.float32],
    codes: NDArray[np.uint8],
    frame: NDArray[np.uint8],
) -> None:
    """Fill those pixels of a frame that are closer to the new part (squared, (P,)).

    nearest (P,): squared distances so far, updated here. positions: by squared distance. levels
    (n, P, 3) linear. frame (P, 3), codes.
    """
    scale = np.float32(codes.shape[0] - 1)
    half = np.float32(0.5)
    coarsest = np.uint32(levels.shape[0] - 2)
    for pixel in range(squared.shape[0]):
        distance = squared[pixel]
        if distance >= nearest[pixel]:
            continue
        nearest[pixel] = distance
        position = positions[np.uint32(distance)]
        # Unsigned, so that no index is negative.
        level = min(np.uint32(position), coarsest)
        share = position - np.float32(level)
        fine, coarse = levels[level, pixel], levels[level + np.uint32(1), pixel]
        for channel in range(3):
            light = fine[channel] + share * (coarse[channel] - fine[channel])
            frame[pixel, channel] = codes[np.uint32(light * scale + half)]
