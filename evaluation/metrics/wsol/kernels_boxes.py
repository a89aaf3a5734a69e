# mypy: disable-error-code="assignment,return-value,no-untyped-def,call-overload,call-arg"
# numba infers the types of these loops, and its hints lack _nrt.
"""Boxes of every component, and of every hole, at every threshold, in one pass over the pixels.

A component grows as the threshold falls and keeps its box until it includes a pixel outside it. So
pixels are added level by level to a forest of sets, and each set whose box is about to change
records the thresholds at which it was valid. Most pixels touch one set and lie within its box,
which their eight neighbours already show. Compiled by numba: import this only inside functions.
"""

from typing import Any, NamedTuple

import numpy as np

from evaluation.metrics.wsol import kernels_forest as forest
from evaluation.metrics.wsol.kernels_forest import LARGEST, MOST, RECORDED, USED, X0, X1, Y0, Y1
from evaluation.metrics.wsol.kernels_levels import bytes_of, steps_of
from evaluation.metrics.wsol.kernels_rings import downwards, upwards
from evaluation.metrics.wsol.rings import DX, DY, ENCLOSED, FIRST, HOLES, JOINS, NONE, PLAIN
from labeling.numba_cache import njit

NO_RIVAL = (np.int64(0), np.int64(0), np.int64(0), np.int64(-1), False)
# The worth of a pixel by its ring: 1 to count pixels, 0 if sums are not needed.
ONES, NOTHING = np.ones(256, np.int32), np.zeros(256, np.int32)


class Truth(NamedTuple):
    """The true boxes.

    boxes: (G, 4) float64. deltas: (D,) the required IoUs. extra: pixels added to each side. least,
    most: an area outside these bounds reaches no delta, nor 0.5.
    """

    boxes: Any
    deltas: Any
    extra: float
    least: float
    most: float


class Marks(NamedTuple):
    """Counts of boxes. wide, tall: of the framed map.

    wider: by how much a box extends beyond its set, 1 around holes. exact: whether it matters which
    of the sets with the greatest sum begins first. changes: (D, T + 1) by how many more boxes reach
    each delta from that threshold on. floors: (T,) a lower bound of the largest component at each
    threshold, or (0,). rivals: candidates for it, as _settle reads them.
    """

    truth: Any
    wide: int
    tall: int
    wider: int
    exact: bool
    changes: Any
    floors: Any
    rivals: Any


@njit(nogil=True, cache=True)
def byte_hits(scores, scale, boxes, deltas):
    """Return (D, 255) whether a box is right, (255,) whether the largest contour's box has IoU 0.5,
    and the highest byte.

    Index t is the mask ⌊255 s⌋ > t. scores: (H, W). boxes: (G, 4), inclusive. Contours of holes
    give boxes too, right and bottom edges are clipped at the last pixel, an empty mask has the box
    0, 0, 0, 0, and the largest component is the one whose contour encloses most, the last by rows
    in a tie.
    """
    picture = bytes_of(scores, scale)
    truth = _truth(boxes, deltas, 1.0)
    changes = np.zeros((deltas.shape[0], 256), np.int32)
    largest = np.zeros(255, np.bool_)
    _components(picture, truth, changes, largest)
    _holes(picture, truth, changes)
    highest = picture.highest
    if highest < 255:
        nothing = _best(0.0, 0.0, 0.0, 0.0, truth)
        _count(nothing, truth, highest, 255, changes)
        largest[highest:] = nothing >= 0.5
    return _where_right(changes), largest, highest


@njit(nogil=True, cache=True)
def step_hits(scores, scale, bins, boxes, deltas):
    """Return (D, n) and (n,) like byte_hits() for the masks s ≥ k / n, exclusive edges and no
    holes.

    An empty mask has no box; the largest component has most pixels, the first by rows in a tie.
    """
    picture = steps_of(scores, scale, bins)
    truth = _truth(boxes, deltas, 0.0)
    changes = np.zeros((deltas.shape[0], bins + 1), np.int32)
    largest = np.zeros(bins, np.bool_)
    _components(picture, truth, changes, largest)
    return _where_right(changes), largest


@njit(nogil=True, cache=True)
def _truth(boxes, deltas, extra):
    least, most = np.inf, 0.0
    for g in range(boxes.shape[0]):
        area = (boxes[g, 2] - boxes[g, 0] + extra) * (boxes[g, 3] - boxes[g, 1] + extra)
        least, most = min(least, area), max(most, area)
    # An IoU is at most the ratio of the areas; slightly wider to allow for rounding.
    ratio = min(deltas.min(), 0.5) * (1 - 1e-9)
    return Truth(boxes, deltas, extra, least * ratio, most / ratio)


@njit(nogil=True, cache=True)
def _where_right(changes):
    """Return where more boxes have started than stopped being right."""
    count = changes.shape[1] - 1
    hits = np.zeros((changes.shape[0], count), np.bool_)
    for d in range(changes.shape[0]):
        boxes_open = 0
        for t in range(count):
            boxes_open += changes[d, t]
            hits[d, t] = boxes_open > 0
    return hits


@njit(nogil=True, cache=True, _nrt=False)
def _best(x0, y0, x1, y1, truth):
    """Return the highest IoU of a box with a true one, or 0 if it can reach no delta."""
    extra = truth.extra
    area = (x1 - x0 + extra) * (y1 - y0 + extra)
    best = 0.0
    if area < truth.least or area > truth.most:
        return best
    for g in range(truth.boxes.shape[0]):
        left, top = truth.boxes[g, 0], truth.boxes[g, 1]
        right, bottom = truth.boxes[g, 2], truth.boxes[g, 3]
        wide = min(x1, right) - max(x0, left) + extra
        high = min(y1, bottom) - max(y0, top) + extra
        if wide > 0 and high > 0:
            both = wide * high
            either = area + (right - left + extra) * (bottom - top + extra) - both
            best = max(best, both / either)
    return best


@njit(nogil=True, cache=True, inline="always")
def _count(iou, truth, begin, end, changes):
    """Count a box with this IoU at the thresholds begin … end − 1."""
    for d in range(truth.deltas.shape[0]):
        if iou >= truth.deltas[d]:
            changes[d, begin] += 1
            changes[d, end] -= 1


@njit(nogil=True, cache=True)
def _overlap(x0, y0, x1, y1, marks):
    """Return the best IoU of the box of a set of the framed map."""
    left, top = np.float64(x0 - 1 - marks.wider), np.float64(y0 - 1 - marks.wider)
    right, bottom = np.float64(x1 + marks.wider), np.float64(y1 + marks.wider)
    if marks.truth.extra > 0:
        right, bottom = min(right, marks.wide - 3.0), min(bottom, marks.tall - 3.0)
    return _best(left, top, right, bottom, marks.truth)


@njit(nogil=True, cache=True)
def _mark(spans, counts, marks):
    """Count the boxes in spans, and make room for more."""
    floors = marks.floors
    for row in range(counts[RECORDED]):
        x0, y0, x1, y1, begin, end, top = spans[row]
        iou = _overlap(x0, y0, x1, y1, marks)
        if iou > 0:
            _count(iou, marks.truth, begin, end, marks.changes)
        if floors.shape[0]:
            most = 2 * np.int64(x1 - x0) * np.int64(y1 - y0)
            if most >= floors[end - 1]:
                marks.rivals.append(
                    (np.int64(top), np.int64(begin), np.int64(end), most, iou >= 0.5)
                )
    counts[RECORDED] = 0


@njit(nogil=True, cache=True)
def _take(places, level, rings, kinds, worth, flat, woods, marks):
    """Add the pixels of one level to the forest; spans are counted when there are many."""
    labels, parents, sums, boxes, spans, counts = woods
    wide, most, largest = marks.wide, counts[MOST], counts[LARGEST]
    steps = DY * wide + DX
    for p in places:
        if counts[RECORDED] > forest.ROWS - forest.SPARE:
            _mark(spans, counts, marks)
        ring = rings[p]
        kind = kinds[ring]
        if kind < NONE or kind & PLAIN:
            at = np.int64(forest.root(parents, labels[p + steps[kind & FIRST]]))
            if kind < NONE:
                y = p // wide
                x = p - y * wide
                # Checking here is cheaper than a call that has nothing to do.
                if (x < boxes[at, X0] or x > boxes[at, X1]) or (
                    y < boxes[at, Y0] or y > boxes[at, Y1]
                ):
                    forest.widen(at, (x, y, x, y), p, level, boxes, spans, counts)
        else:
            at = forest.mingle(p, level, kind, wide, labels, parents, sums, boxes, spans, counts)
        labels[p] = at
        total = sums[at] + worth[ring]
        sums[at] = total
        if total > most or (
            marks.exact
            and total == most
            and forest.begins_before(at, largest, p, flat, wide, labels, parents, boxes)
        ):
            most, largest = total, at
    counts[MOST], counts[LARGEST] = most, largest


@njit(nogil=True, cache=True)
def _components(picture, truth, changes, largest):
    """Mark in changes where boxes of components count, and fill largest.

    If pixels are counted, the largest set is known while pixels are added. If contours are, a set's
    own pixels give a lower bound of what its contour encloses, and its box an upper bound. The
    bounds nearly always show which set is the largest.
    """
    flat, wide, order, starts, highest = picture
    contours, rings = truth.extra > 0, downwards(flat, wide)
    worth = ENCLOSED if contours else ONES
    # Level 0 is never above a threshold.
    woods = forest.planted(order[starts[1] :], rings, JOINS)
    rivals, floors = [NO_RIVAL], np.zeros(highest if contours else 0, np.int64)
    marks = Marks(truth, wide, flat.shape[0] // wide, 0, not contours, changes, floors, rivals)
    for level in range(highest, 0, -1):
        places = order[starts[level] : starts[level + 1]]
        _take(places, level, rings, JOINS, worth, flat, woods, marks)
        if contours:
            floors[level - 1] = woods.counts[MOST]
        elif places.shape[0]:
            box = woods.boxes[woods.counts[LARGEST]]
            largest[level - 1] = _overlap(box[X0], box[Y0], box[X1], box[Y1], marks) >= 0.5
        else:
            largest[level - 1] = largest[level]
    _tell_all(0, 0, woods, marks)
    if contours:
        _settle(flat, wide, floors, rivals, largest)


@njit(nogil=True, cache=True)
def _holes(picture, truth, changes):
    """Mark in changes where boxes of holes count: 4-connected lower pixels apart from the frame.

    The contour around a hole runs through the pixels beside it. A box is valid for the thresholds
    from its level on, until the hole grows.
    """
    flat, wide, order, starts, highest = picture
    rings, tall = upwards(flat, wide), flat.shape[0] // wide
    woods = forest.planted(order[: starts[highest]], rings, HOLES)
    # The frame is the first set, with the widest box: it absorbs whatever touches it.
    woods.counts[USED] = 1
    woods.boxes[0, X1], woods.boxes[0, Y1] = wide - 1, tall - 1
    marks = Marks(truth, wide, tall, 1, False, changes, np.zeros(0, np.int64), [NO_RIVAL])
    for level in range(highest):
        places = order[starts[level] : starts[level + 1]]
        _take(places, level, rings, HOLES, NOTHING, flat, woods, marks)
    _tell_all(1, highest, woods, marks)


@njit(nogil=True, cache=True)
def _tell_all(first, level, woods, marks):
    """Count the boxes of the sets that are left after the last level."""
    _, parents, _, boxes, spans, counts = woods
    for at in range(first, counts[USED]):
        if counts[RECORDED] > forest.ROWS - forest.SPARE:
            _mark(spans, counts, marks)
        if parents[at] == at:
            forest.record(at, level, boxes, spans, counts)
    _mark(spans, counts, marks)


@njit(nogil=True, cache=True)
def _settle(flat, wide, floors, rivals, largest):
    """Fill largest below the highest level from (top, begin, end, most, right) of sets.

    A set may be the largest if most, twice what its box encloses, reaches the floor. If all such
    sets agree on being right, so does the largest; otherwise their contours are traced.
    """
    votes = np.zeros((2, floors.shape[0]), np.int64)
    for _, begin, end, most, right in rivals:
        for t in range(begin, end):
            votes[int(right), t] += most >= floors[t]
    for t in range(floors.shape[0]):
        largest[t] = votes[1, t] > 0
        if votes[0, t] == 0 or votes[1, t] == 0:
            continue
        area, first = np.int64(-1), 0
        for top, begin, end, most, right in rivals:
            if begin <= t < end and most >= max(area, floors[t]):
                # Levels in flat are one higher, and t is exceeded from the next one on.
                enclosed, begins = _contour(flat, wide, top, t + 2)
                if enclosed > area or (enclosed == area and begins > first):
                    area, first, largest[t] = enclosed, begins, right


@njit(nogil=True, cache=True)
def _contour(flat, wide, start, level):
    """Return twice the area within the outer contour, through pixel centres, and its first
    position.

    The contour is that of the component of flat >= level with `start` in its first row. The border
    is traced as in Suzuki and Abe (1985), and the area summed on the way.
    """
    for turn in range(8):
        # Clockwise from the north, which is empty.
        towards = (2 - turn) % 8
        if flat[start + DY[towards] * wide + DX[towards]] >= level:
            break
    else:
        return 0, start
    ending = start + DY[towards] * wide + DX[towards]
    point, back, first = start, towards, start
    x, y, twice = 0, 0, 0
    while True:
        towards = back
        for _ in range(8):
            towards = (towards + 1) % 8
            if flat[point + DY[towards] * wide + DX[towards]] >= level:
                break
        twice += x * DY[towards] - y * DX[towards]
        x += DX[towards]
        y += DY[towards]
        there = point + DY[towards] * wide + DX[towards]
        if there == start and point == ending:
            return abs(twice), first
        point, back = there, (towards + 4) % 8
        first = min(first, point)
