# mypy: disable-error-code="assignment,return-value,no-untyped-def,call-overload,call-arg"
# numba infers the types of these loops, and its hints lack _nrt.
"""Sets of pixels that grow and join as a threshold moves, and their successive boxes.

Pixels are added level by level to a forest of sets. Each set whose box is about to change records
the old box. Most pixels touch one set and lie within its box, which their rings already show.
Compiled by numba: import this only inside functions. Loops that create no array are compiled
without reference counting (_nrt=False), which took most of their time.
"""

from typing import Any, NamedTuple

import numpy as np

from evaluation.metrics.wsol.rings import DX, DY, FIRST, NONE, OTHERS
from labeling.numba_cache import njit

# Columns of boxes: (S, 6) int32. Corners in the framed map, X1 and Y1 inclusive. SINCE is the
# level from which the box is valid, TOP a position in its first row.
X0, Y0, X1, Y1, SINCE, TOP = range(6)
# Columns of spans: (T, 7) int32. A box was valid between two levels.
SPAN_X0, SPAN_Y0, SPAN_X1, SPAN_Y1, SPAN_FROM, SPAN_TO, SPAN_TOP = range(7)
# Indices of counts, (4,) int64: sets so far, rows of spans, the greatest sum so far and its set.
USED, RECORDED, MOST, LARGEST = range(4)
# Rows of spans, and how many must be free: a pixel joins at most four sets, each records one or
# two.
ROWS, SPARE = 4096, 16


class Forest(NamedTuple):
    """At most S sets. labels: (P,) a set of each pixel. parents: (S,), a root is its own.

    sums: (S,) of the worth of a root's pixels. boxes, spans, counts: as above.
    """

    labels: Any
    parents: Any
    sums: Any
    boxes: Any
    spans: Any
    counts: Any


@njit(nogil=True, cache=True)
def planted(order, rings, kinds):
    """Return a forest with room for these pixels: a set begins where a pixel touches none."""
    count = 1
    for p in order:
        count += kinds[rings[p]] & FIRST == NONE
    return Forest(
        np.zeros(rings.shape[0], np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.int64),
        np.zeros((count, 6), np.int32),
        np.empty((ROWS, 7), np.int32),
        np.zeros(4, np.int64),
    )


@njit(nogil=True, cache=True, _nrt=False, inline="always")
def root(parents, at):
    """Return the root of a set, halving the path on the way."""
    up = parents[at]
    while up != at:
        parents[at] = parents[up]
        at, up = up, parents[up]
    return at


@njit(nogil=True, cache=True, _nrt=False)
def mingle(p, level, kind, wide, labels, parents, sums, boxes, spans, counts):
    """Return the set of a pixel that begins one, joins several, or lies outside its set's box.

    kind: of its ring. labels: (P,) a set of each pixel.
    """
    y = p // wide
    x = p - y * wide
    first, others = kind & FIRST, kind >> OTHERS
    if first == NONE:
        at = counts[USED]
        counts[USED] += 1
        parents[at] = at
        boxes[at, X0], boxes[at, Y0], boxes[at, X1], boxes[at, Y1] = x, y, x, y
        boxes[at, SINCE], boxes[at, TOP] = level, p
        return at
    at = np.int64(root(parents, labels[p + DY[first] * wide + DX[first]]))
    for i in range(8):
        if others >> i & 1:
            neighbour = np.int64(root(parents, labels[p + DY[i] * wide + DX[i]]))
            if neighbour != at:
                at = _join(at, neighbour, level, parents, sums, boxes, spans, counts)
    widen(at, (x, y, x, y), p, level, boxes, spans, counts)
    return at


@njit(nogil=True, cache=True, _nrt=False)
def _join(kept, merged, level, parents, sums, boxes, spans, counts):
    """Return the joined set: that with the larger box, which is likelier to stay unchanged."""
    if _spread(boxes, merged) > _spread(boxes, kept):
        kept, merged = merged, kept
    record(merged, level, boxes, spans, counts)
    corners = boxes[merged, X0], boxes[merged, Y0], boxes[merged, X1], boxes[merged, Y1]
    widen(kept, corners, boxes[merged, TOP], level, boxes, spans, counts)
    parents[merged] = kept
    sums[kept] += sums[merged]
    return kept


@njit(nogil=True, cache=True, _nrt=False)
def widen(at, corners, top, level, boxes, spans, counts):
    """Extend the box of a set to include `corners`; record the old box if it changes.

    top: a position in the first row of `corners`.
    """
    x0, y0, x1, y1 = corners
    if x0 < boxes[at, X0] or y0 < boxes[at, Y0] or x1 > boxes[at, X1] or y1 > boxes[at, Y1]:
        record(at, level, boxes, spans, counts)
        boxes[at, SINCE] = level
        if y0 < boxes[at, Y0]:
            boxes[at, TOP] = top
        boxes[at, X0], boxes[at, Y0] = min(boxes[at, X0], x0), min(boxes[at, Y0], y0)
        boxes[at, X1], boxes[at, Y1] = max(boxes[at, X1], x1), max(boxes[at, Y1], y1)


@njit(nogil=True, cache=True, _nrt=False, inline="always")
def _spread(boxes, at):
    return (boxes[at, X1] - boxes[at, X0] + 1) * (boxes[at, Y1] - boxes[at, Y0] + 1)


@njit(nogil=True, cache=True, _nrt=False)
def record(at, level, boxes, spans, counts):
    """Record the box of a set if it was valid at some threshold up to this level."""
    since = boxes[at, SINCE]
    if since == level:
        return
    row = counts[RECORDED]
    counts[RECORDED] += 1
    spans[row, SPAN_X0], spans[row, SPAN_Y0] = boxes[at, X0], boxes[at, Y0]
    spans[row, SPAN_X1], spans[row, SPAN_Y1] = boxes[at, X1], boxes[at, Y1]
    spans[row, SPAN_FROM], spans[row, SPAN_TO] = min(since, level), max(since, level)
    spans[row, SPAN_TOP] = boxes[at, TOP]


@njit(nogil=True, cache=True, _nrt=False)
def begins_before(first, second, p, flat, wide, labels, parents, boxes):
    """Return whether a set's first pixel by rows precedes another's. p: the last pixel added."""
    if boxes[first, Y0] != boxes[second, Y0]:
        return boxes[first, Y0] < boxes[second, Y0]
    row = boxes[first, Y0] * wide
    begin, end = (
        min(boxes[first, X0], boxes[second, X0]),
        max(boxes[first, X1], boxes[second, X1]) + 1,
    )
    for q in range(row + begin, row + end):
        if flat[q] > flat[p] or (flat[q] == flat[p] and q <= p):
            at = root(parents, labels[q])
            if at in (first, second):
                return at == first
    return False
