# mypy: disable-error-code="assignment,return-value,no-untyped-def"
# numba infers the types of these loops; a hint cannot say them all.
"""Sets of pixels that grow and join as a threshold moves, and the boxes that they have had.

Pixels are taken level by level into a forest of sets. Each set whose box is about to change tells
where it stood until then. Most pixels touch one set and lie within its box, which their rings say
already. Compiled by numba: import this inside functions only.
"""

import numpy as np

from evaluation.metrics.compiled_rings import DX, DY, FIRST, NONE, OTHERS

from numba import njit  # isort: skip

# The columns of sets: (S, 8) int32. The box is that of the framed map, X1 and Y1 inclusive. SINCE
# is the level from which on it stands, TOP a place in its first row, SUM what its pixels are worth.
PARENT, X0, Y0, X1, Y1, SINCE, TOP, SUM = range(8)
# The columns of told: (T, 7) int32. A box stood between two levels.
TOLD_X0, TOLD_Y0, TOLD_X1, TOLD_Y1, TOLD_FROM, TOLD_TO, TOLD_TOP = range(7)
# The columns of counts: (4,) int64. Sets so far, rows told, the greatest sum so far and its set.
USED, TOLD, MOST, LARGEST = range(4)
# A pixel joins four sets at most, and each tells once or twice.
MOST_TOLD_AT_ONCE = 16


@njit(nogil=True, cache=True)
def room(order, rings, kinds):
    """Empty sets, as many as there can be: one begins where a pixel touches none."""
    count = 1
    for p in order:
        count += kinds[rings[p]] & FIRST == NONE
    return np.zeros((count, 8), np.int32)


@njit(nogil=True, cache=True, inline="always")
def root(sets, at):
    while sets[at, PARENT] != at:
        sets[at, PARENT] = sets[sets[at, PARENT], PARENT]
        at = sets[at, PARENT]
    return at


@njit(nogil=True, cache=True)
def mingle(p, level, kind, wide, labels, sets, told, counts):
    """The set of a pixel that begins one, or joins several, or lies beyond the box of its own.

    kind: of its ring. labels: (P,) a set that each pixel came to.
    """
    y = p // wide
    x = p - y * wide
    first, others = kind & FIRST, kind >> OTHERS
    if first == NONE:
        at = counts[USED]
        counts[USED] += 1
        sets[at, PARENT], sets[at, SINCE], sets[at, TOP], sets[at, SUM] = at, level, p, 0
        sets[at, X0], sets[at, Y0], sets[at, X1], sets[at, Y1] = x, y, x, y
        return at
    at = np.int64(root(sets, labels[p + DY[first] * wide + DX[first]]))
    for i in range(8 if others else 0):
        if others >> i & 1:
            other = np.int64(root(sets, labels[p + DY[i] * wide + DX[i]]))
            if other != at:
                at = _join(at, other, level, sets, told, counts)
    _widen(at, x, y, x, y, p, level, sets, told, counts)
    return at


@njit(nogil=True, cache=True)
def _join(one, other, level, sets, told, counts):
    """The set of both: that with the larger box, which then is the likelier to stay."""
    if _spread(sets, other) > _spread(sets, one):
        one, other = other, one
    tell(other, level, sets, told, counts)
    _widen(
        one,
        sets[other, X0],
        sets[other, Y0],
        sets[other, X1],
        sets[other, Y1],
        sets[other, TOP],
        level,
        sets,
        told,
        counts,
    )
    sets[other, PARENT] = one
    sets[one, SUM] += sets[other, SUM]
    return one


@njit(nogil=True, cache=True, inline="always")
def _spread(sets, at):
    return (sets[at, X1] - sets[at, X0] + 1) * (sets[at, Y1] - sets[at, Y0] + 1)


@njit(nogil=True, cache=True, inline="always")
def _widen(at, x0, y0, x1, y1, top, level, sets, told, counts):
    """The box of a set takes in another with this top; where that changes it, it is told."""
    if x0 < sets[at, X0] or y0 < sets[at, Y0] or x1 > sets[at, X1] or y1 > sets[at, Y1]:
        tell(at, level, sets, told, counts)
        sets[at, SINCE] = level
        if y0 < sets[at, Y0]:
            sets[at, TOP] = top
        sets[at, X0], sets[at, Y0] = min(sets[at, X0], x0), min(sets[at, Y0], y0)
        sets[at, X1], sets[at, Y1] = max(sets[at, X1], x1), max(sets[at, Y1], y1)


@njit(nogil=True, cache=True)
def tell(at, level, sets, told, counts):
    """Writes down the box of a set, if it stood at some threshold up to this level."""
    since = sets[at, SINCE]
    if since == level:
        return
    row = counts[TOLD]
    counts[TOLD] += 1
    told[row, TOLD_X0], told[row, TOLD_Y0] = sets[at, X0], sets[at, Y0]
    told[row, TOLD_X1], told[row, TOLD_Y1] = sets[at, X1], sets[at, Y1]
    told[row, TOLD_FROM], told[row, TOLD_TO] = min(since, level), max(since, level)
    told[row, TOLD_TOP] = sets[at, TOP]


@njit(nogil=True, cache=True)
def begins_before(one, other, p, flat, wide, labels, sets):
    """Whether the first pixel by rows of a set comes before another's, p being the last taken."""
    if sets[one, Y0] != sets[other, Y0]:
        return sets[one, Y0] < sets[other, Y0]
    row = sets[one, Y0] * wide
    begin, end = min(sets[one, X0], sets[other, X0]), max(sets[one, X1], sets[other, X1]) + 1
    for q in range(row + begin, row + end):
        if flat[q] > flat[p] or (flat[q] == flat[p] and q <= p):
            at = root(sets, labels[q])
            if at in (one, other):
                return at == one
    return False
