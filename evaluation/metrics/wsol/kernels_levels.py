# mypy: disable-error-code="assignment,return-value,no-untyped-def"
# numba infers the types of these loops; type hints cannot express them all.
"""Score maps as integer levels in a frame, their pixels ordered by level, and counts of scores.

Every rounding is that of numpy's float64, step by step: levels equal numpy's. Compiled by numba:
import this only inside functions.
"""

from typing import Any, NamedTuple

import numpy as np

from labeling.numba_cache import njit

# Scores are binned in blocks, so that a block stays in the L1 cache.
_BLOCK = 2048


class Scale(NamedTuple):
    """A score s becomes (s − low) / span, clipped to 0 … 1."""

    low: float
    span: float


class Picture(NamedTuple):
    """A map of H × W in levels 0 … T.

    flat: ((H + 2)(W + 2),) uint16, each level plus 1 within a frame of 0. wide: W + 2. order: (HW,)
    int32, positions in flat by level, and by rows within one. starts: (T + 2,) where in order each
    level starts. highest: the highest level that occurs.
    """

    flat: Any
    wide: int
    order: Any
    starts: Any
    highest: int


@njit(nogil=True, cache=True, inline="always")
def _scaled(score, scale):
    value = (np.float64(score) - scale.low) / scale.span
    return min(max(value, 0.0), 1.0)


@njit(nogil=True, cache=True, inline="always")
def _bin(value, bins, step):
    """Return the k with k · step ≤ value < (k + 1) · step; the last for larger values. step is 1 /
    bins.
    """
    at = np.int32(value * bins)
    # k / n in floats may be on either side of k times 1 / n.
    at += np.int32(value >= (at + 1) * step)
    at -= np.int32(value < at * step)
    return min(at, np.int32(bins - 1))


@njit(nogil=True, cache=True)
def bytes_of(scores, scale):
    """Return the Picture of ⌊255 s⌋. scores: (H, W) float32 or float64."""
    height, width = scores.shape
    flat = np.zeros((height + 2) * (width + 2), np.uint16)
    for y in range(height):
        row, out = scores[y], flat[(y + 1) * (width + 2) + 1 :]
        for x in range(width):
            out[x] = np.uint16(np.int32(_scaled(row[x], scale) * 255.0) + 1)
    return _sorted(flat, height, width, 255)


@njit(nogil=True, cache=True)
def steps_of(scores, scale, bins):
    """Return the Picture of how many of the thresholds 0, 1/n, … (n - 1)/n each score reaches.

    All 0 for a map that is constant. scores: (H, W) float32 or float64. bins: n.
    """
    height, width = scores.shape
    flat = np.zeros((height + 2) * (width + 2), np.uint16)
    step = 1.0 / bins
    first, constant = _scaled(scores[0, 0], scale), True
    for y in range(height):
        row, out = scores[y], flat[(y + 1) * (width + 2) + 1 :]
        for x in range(width):
            value = _scaled(row[x], scale)
            constant &= value == first
            out[x] = np.uint16(_bin(value, bins, step) + 2)
    if constant:
        for y in range(height):
            flat[(y + 1) * (width + 2) + 1 : (y + 1) * (width + 2) + 1 + width] = 1
    return _sorted(flat, height, width, bins)


@njit(nogil=True, cache=True)
def _sorted(flat, height, width, top):
    wide = width + 2
    starts = np.zeros(top + 2, np.int64)
    for y in range(height):
        row = flat[(y + 1) * wide + 1 :]
        for x in range(width):
            # A level's end is the start of the next.
            starts[row[x]] += 1
    for level in range(top + 1):
        starts[level + 1] += starts[level]
    filled = starts.copy()
    order = np.empty(height * width, np.int32)
    for y in range(height):
        row = flat[(y + 1) * wide + 1 :]
        for x in range(width):
            level = np.int64(row[x]) - 1
            order[filled[level]] = (y + 1) * wide + 1 + x
            filled[level] += 1
    highest = top
    while highest > 0 and starts[highest] == starts[highest + 1]:
        highest -= 1
    return Picture(flat, wide, order, starts, highest)


@njit(nogil=True, cache=True)
def stretched(scores, height, width):
    """Return (height, width) float64, bilinear between pixel centres, extended to the edges."""
    low_x, high_x, part_x = _between(scores.shape[1], width)
    low_y, high_y, part_y = _between(scores.shape[0], height)
    out = np.empty((height, width))
    for y in range(height):
        upper, lower, part = scores[low_y[y]], scores[high_y[y]], part_y[y]
        for x in range(width):
            low, high, share = low_x[x], high_x[x], part_x[x]
            above = upper[low] * (1 - share) + upper[high] * share
            below = lower[low] * (1 - share) + lower[high] * share
            out[y, x] = above * (1 - part) + below * part
    return out


@njit(nogil=True, cache=True)
def _between(old, new):
    """Return for every new position the old ones around it, and its distance from the lower."""
    low, high, part = np.empty(new, np.int64), np.empty(new, np.int64), np.empty(new)
    for i in range(new):
        at = min(max((i + 0.5) * old / new - 0.5, 0.0), old - 1.0)
        low[i] = np.int64(at)
        high[i] = min(low[i] + 1, old - 1)
        part[i] = at - low[i]
    return low, high, part


@njit(nogil=True, cache=True)
def count_scores(scores, scale, kinds, counts):
    """Add each score to counts[its kind, its bin], the bins [k/n, (k + 1)/n) and a last one for 1.

    scores: (P,) float32 or float64. kinds: (P,) uint8; a kind without a row is ignored. counts:
    (K, n + 1) int64.
    """
    rows, columns = counts.shape
    bins, step = columns - 1, 1.0 / (columns - 1)
    sums = np.zeros((rows + 1) * columns, np.int64)
    places = np.empty(_BLOCK, np.int32)
    for begin in range(0, scores.shape[0], _BLOCK):
        part, kind = scores[begin : begin + _BLOCK], kinds[begin : begin + _BLOCK]
        for i in range(part.shape[0]):
            value = _scaled(part[i], scale)
            at = _bin(value, bins, step) + np.int32(value >= 1.0)
            places[i] = at + np.int32(min(kind[i], rows)) * np.int32(columns)
        for i in range(part.shape[0]):
            sums[places[i]] += 1
    for row in range(rows):
        for at in range(columns):
            counts[row, at] += sums[row * columns + at]
