# mypy: disable-error-code="assignment,return-value,no-untyped-def"
# numba infers the types of these loops; a hint cannot say them all.
"""Boxes of every component, and of every hole, at every threshold, in one pass over the pixels.

A component grows as the threshold falls and keeps its box until it takes another pixel. So pixels
are taken level by level into a forest of sets, and each set that is about to change tells for
which thresholds its box stood. Compiled by numba: import this inside functions only.
"""

import numpy as np

from evaluation.metrics import compiled  # noqa: F401  it says where machine code is kept

from numba import njit  # isort: skip

# East, north-east, north, … in turn, anticlockwise as the picture is seen; y goes down.
_DX = np.array([1, 1, 0, -1, -1, -1, 0, 1])
_DY = np.array([0, -1, -1, -1, 0, 1, 1, 1])


@njit(nogil=True, cache=True)
def hits_of(levels, boxes, deltas, inclusive, holes, largest, hits, largest_hits):
    """Fills where a box reaches the IoU delta with one of boxes, for the masks levels > t.

    levels: (H, W) uint16, at most T. boxes: (G, 4) float64. deltas: (D,). hits: (D, T) int32, taken
    as zeros, and largest_hits: (T,) int32, for the largest component at the IoU 0.5.
    inclusive: right and bottom edges are cut at the last pixel, an IoU counts one pixel more on
    both sides, an empty mask has the box 0, 0, 0, 0, and the largest component is the one whose
    contour encloses most, of equals the last to begin by rows. Else edges are exclusive, an empty
    mask has no box, the largest has most pixels, of equals the first to begin.
    holes: contours of holes give boxes too. largest: whether largest_hits is wanted.
    """
    height, width = levels.shape
    wide = width + 2
    top = hits.shape[1]
    order, starts = _by_level(levels, top)
    flat = np.zeros((height + 2) * wide, np.uint16)
    for y in range(height):
        flat[(y + 1) * wide + 1 : (y + 1) * wide + 1 + width] = levels[y]
    highest = top
    while highest > 0 and starts[highest] == starts[highest + 1]:
        highest -= 1

    changes = np.zeros((deltas.shape[0], top + 1), np.int32)
    reach = np.inf
    for g in range(boxes.shape[0]):
        reach = min(reach, _area(boxes[g], inclusive))
    # A little less, lest rounding silence a box that just reaches.
    reach *= deltas.min() * (1 - 1e-9)
    _components(
        flat,
        wide,
        order,
        starts,
        highest,
        boxes,
        deltas,
        inclusive,
        reach,
        changes,
        largest,
        largest_hits,
    )
    if holes:
        _holes(flat, wide, order, starts, highest, boxes, deltas, reach, changes)
    if inclusive and highest < top:
        found = _best(0.0, 0.0, 0.0, 0.0, boxes, inclusive)
        for d in range(deltas.shape[0]):
            if found >= deltas[d]:
                changes[d, highest] += 1
                changes[d, top] -= 1
        for t in range(highest, top):
            largest_hits[t] = found >= 0.5
    for d in range(deltas.shape[0]):
        standing = 0
        for t in range(top):
            standing += changes[d, t]
            hits[d, t] = standing > 0


@njit(nogil=True, cache=True)
def _by_level(levels, top):
    """Places of the pixels in the padded picture by level, and where each level starts."""
    height, width = levels.shape
    starts = np.zeros(top + 2, np.int64)
    for y in range(height):
        for x in range(width):
            starts[levels[y, x] + 1] += 1
    for level in range(top + 1):
        starts[level + 1] += starts[level]
    filled = starts.copy()
    order = np.empty(height * width, np.int32)
    for y in range(height):
        for x in range(width):
            level = levels[y, x]
            order[filled[level]] = (y + 1) * (width + 2) + x + 1
            filled[level] += 1
    return order, starts


@njit(nogil=True, cache=True, inline="always")
def _area(box, inclusive):
    extra = 1.0 if inclusive else 0.0
    return (box[2] - box[0] + extra) * (box[3] - box[1] + extra)


@njit(nogil=True, cache=True)
def _best(x0, y0, x1, y1, boxes, inclusive):
    """The greatest IoU of a box with any of boxes."""
    extra = 1.0 if inclusive else 0.0
    own = (x1 - x0 + extra) * (y1 - y0 + extra)
    best = 0.0
    for g in range(boxes.shape[0]):
        box = boxes[g]
        wide = min(x1, box[2]) - max(x0, box[0]) + extra
        high = min(y1, box[3]) - max(y0, box[1]) + extra
        if wide <= 0 or high <= 0:
            continue
        both = wide * high
        either = own + _area(box, inclusive) - both
        best = max(best, both / either)
    return best


@njit(nogil=True, cache=True, inline="always")
def _root(parent, p):
    while parent[p] != p:
        parent[p] = parent[parent[p]]
        p = parent[p]
    return p


@njit(nogil=True, cache=True)
def _components(
    flat,
    wide,
    order,
    starts,
    highest,
    boxes,
    deltas,
    inclusive,
    reach,
    changes,
    largest,
    largest_hits,
):
    size = flat.shape[0]
    tall = size // wide
    parent = np.full(size, -1, np.int32)
    # Of every root: its corners, its pixels, its first by rows, and since which level it stands.
    x0s, y0s = np.empty(size, np.int32), np.empty(size, np.int32)
    x1s, y1s = np.empty(size, np.int32), np.empty(size, np.int32)
    counts, firsts = np.empty(size, np.int32), np.empty(size, np.int32)
    since = np.empty(size, np.int32)
    steps = np.array([-wide - 1, -wide, -wide + 1, -1, 1, wide - 1, wide, wide + 1])
    # The greatest area so far at each threshold (twice it, to stay whole), and where it begins.
    areas = np.full(highest, -1, np.int64)
    begins = np.zeros(highest, np.int64)

    for level in range(highest, -1, -1):
        first, last = starts[level], starts[level + 1]
        if level == 0:
            # Nothing at level 0 is ever above a threshold: only those that stand are told.
            last = first
            for place in range(starts[1], order.shape[0]):
                root = order[place]
                if parent[root] == root:
                    _tell(
                        0,
                        root,
                        flat,
                        wide,
                        tall,
                        x0s,
                        y0s,
                        x1s,
                        y1s,
                        counts,
                        firsts,
                        since,
                        boxes,
                        deltas,
                        inclusive,
                        reach,
                        changes,
                        largest,
                        largest_hits,
                        areas,
                        begins,
                    )
        for place in range(first, last):
            p = order[place]
            mine = p
            parent[p] = p
            y = p // wide
            x = p - y * wide
            x0s[p], x1s[p], y0s[p], y1s[p] = x, x, y, y
            counts[p], firsts[p], since[p] = 1, p, level
            for step in steps:
                q = p + step
                if parent[q] < 0:
                    continue
                other = _root(parent, q)
                if other == mine:
                    continue
                if since[other] > level:
                    _tell(
                        level,
                        other,
                        flat,
                        wide,
                        tall,
                        x0s,
                        y0s,
                        x1s,
                        y1s,
                        counts,
                        firsts,
                        since,
                        boxes,
                        deltas,
                        inclusive,
                        reach,
                        changes,
                        largest,
                        largest_hits,
                        areas,
                        begins,
                    )
                if counts[other] > counts[mine]:
                    other, mine = mine, other
                parent[other] = mine
                counts[mine] += counts[other]
                x0s[mine] = min(x0s[mine], x0s[other])
                y0s[mine] = min(y0s[mine], y0s[other])
                x1s[mine] = max(x1s[mine], x1s[other])
                y1s[mine] = max(y1s[mine], y1s[other])
                firsts[mine] = min(firsts[mine], firsts[other])
                since[mine] = level


@njit(nogil=True, cache=True)
def _tell(
    level,
    root,
    flat,
    wide,
    tall,
    x0s,
    y0s,
    x1s,
    y1s,
    counts,
    firsts,
    since,
    boxes,
    deltas,
    inclusive,
    reach,
    changes,
    largest,
    largest_hits,
    areas,
    begins,
):
    """Marks where the box of a root counts: for the thresholds from level to since − 1."""
    until = since[root]
    x0, y0 = np.float64(x0s[root] - 1), np.float64(y0s[root] - 1)
    x1, y1 = np.float64(x1s[root]), np.float64(y1s[root])
    if inclusive:
        x1, y1 = min(x1, wide - 3.0), min(y1, tall - 3.0)
    extra = 1.0 if inclusive else 0.0
    found = -1.0
    # Too small for the least delta with the smallest box.
    if (x1 - x0 + extra) * (y1 - y0 + extra) >= reach:
        found = _best(x0, y0, x1, y1, boxes, inclusive)
        for d in range(deltas.shape[0]):
            if found >= deltas[d]:
                changes[d, level] += 1
                changes[d, until] -= 1
    if not largest:
        return
    most = 2 * (x1s[root] - x0s[root]) * (y1s[root] - y0s[root]) if inclusive else counts[root]
    wanted = False
    for t in range(level, until):
        wanted |= most >= areas[t]
    if not wanted:
        return
    area = np.int64(counts[root])
    if inclusive:
        area = _contour_area(flat, wide, firsts[root], until)
    if found < 0:
        found = _best(x0, y0, x1, y1, boxes, inclusive)
    begin = firsts[root] if inclusive else -firsts[root]
    for t in range(level, until):
        if area > areas[t] or (area == areas[t] and begin > begins[t]):
            areas[t] = area
            begins[t] = begin
            largest_hits[t] = found >= 0.5


@njit(nogil=True, cache=True)
def _contour_area(flat, wide, start, level):
    """Twice the area within the outer contour, through pixel centres, of the set at start.

    start is the first pixel by rows of a component of flat >= level. The border is followed as
    Suzuki and Abe (1985) do it, and the area summed on the way.
    """
    towards = 4
    for turn in range(8):
        # Clockwise from the west, which is empty.
        towards = (4 - turn) % 8
        if flat[start + _DY[towards] * wide + _DX[towards]] >= level:
            break
    else:
        return 0
    ending = start + _DY[towards] * wide + _DX[towards]
    here, back = start, towards
    x, y, twice = 0, 0, 0
    while True:
        towards = back
        for _ in range(8):
            towards = (towards + 1) % 8
            if flat[here + _DY[towards] * wide + _DX[towards]] >= level:
                break
        twice += x * _DY[towards] - y * _DX[towards]
        x += _DX[towards]
        y += _DY[towards]
        there = here + _DY[towards] * wide + _DX[towards]
        if there == start and here == ending:
            return abs(twice)
        here, back = there, (towards + 4) % 8


@njit(nogil=True, cache=True)
def _holes(flat, wide, order, starts, highest, boxes, deltas, reach, changes):
    """The same for holes: sets of side by side pixels below that do not reach the frame."""
    size = flat.shape[0]
    tall = size // wide
    parent = np.full(size, -1, np.int32)
    x0s, y0s = np.empty(size, np.int32), np.empty(size, np.int32)
    x1s, y1s = np.empty(size, np.int32), np.empty(size, np.int32)
    counts, since = np.empty(size, np.int32), np.empty(size, np.int32)
    # The frame is one set with the root 0, the largest there is: it swallows what touches it.
    for y in range(tall):
        parent[y * wide] = 0
        parent[y * wide + wide - 1] = 0
    parent[:wide] = 0
    parent[size - wide :] = 0
    counts[0] = size + 1
    since[0] = highest + 1
    steps = np.array([-wide, -1, 1, wide])
    for level in range(highest):
        for place in range(starts[level], starts[level + 1]):
            p = order[place]
            mine = p
            parent[p] = p
            y = p // wide
            x = p - y * wide
            x0s[p], x1s[p], y0s[p], y1s[p] = x, x, y, y
            counts[p], since[p] = 1, level
            for step in steps:
                q = p + step
                if parent[q] < 0:
                    continue
                other = _root(parent, q)
                if other == mine:
                    continue
                for root in (other, mine):
                    if root != 0 and since[root] < level:
                        _tell_hole(
                            level,
                            root,
                            wide,
                            tall,
                            x0s,
                            y0s,
                            x1s,
                            y1s,
                            since,
                            boxes,
                            deltas,
                            reach,
                            changes,
                        )
                if counts[other] > counts[mine]:
                    other, mine = mine, other
                parent[other] = mine
                counts[mine] += counts[other]
                if mine == 0:
                    continue
                x0s[mine] = min(x0s[mine], x0s[other])
                y0s[mine] = min(y0s[mine], y0s[other])
                x1s[mine] = max(x1s[mine], x1s[other])
                y1s[mine] = max(y1s[mine], y1s[other])
                since[mine] = level
    for place in range(starts[highest]):
        root = order[place]
        if parent[root] == root:
            _tell_hole(
                highest,
                root,
                wide,
                tall,
                x0s,
                y0s,
                x1s,
                y1s,
                since,
                boxes,
                deltas,
                reach,
                changes,
            )


@njit(nogil=True, cache=True)
def _tell_hole(level, root, wide, tall, x0s, y0s, x1s, y1s, since, boxes, deltas, reach, changes):
    """Marks where the contour around a hole counts: for the thresholds from since to level − 1.

    The contour runs through the pixels beside the hole, one further on each side.
    """
    x0, y0 = np.float64(x0s[root] - 2), np.float64(y0s[root] - 2)
    x1, y1 = min(x1s[root] + 1.0, wide - 3.0), min(y1s[root] + 1.0, tall - 3.0)
    if (x1 - x0 + 1) * (y1 - y0 + 1) < reach:
        return
    found = _best(x0, y0, x1, y1, boxes, True)
    for d in range(deltas.shape[0]):
        if found >= deltas[d]:
            changes[d, since[root]] += 1
            changes[d, level] -= 1


@njit(nogil=True, cache=True)
def count_scores(scores, kinds, edges, counts):
    """Adds each score in [0, 1] to counts[its kind, its bin], the bins [edges k, edges k + 1).

    scores: (P,) float64. kinds: (P,) uint8; a kind beyond the rows of counts is left out. edges:
    (n,), ascending from 0, about k / n. counts: (K, n + 1) int64; the last bin is for 1.
    """
    bins = edges.shape[0]
    for i in range(scores.shape[0]):
        kind = kinds[i]
        if kind >= counts.shape[0]:
            continue
        score = scores[i]
        at = bins
        if score < 1.0:
            at = min(np.int64(score * bins), bins - 1)
            # k / n in floats may lie on either side of k times 1 / n.
            while at + 1 < bins and score >= edges[at + 1]:
                at += 1
            while score < edges[at]:
                at -= 1
        counts[kind, at] += 1
