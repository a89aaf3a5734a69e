"""Which of a pixel's eight neighbours are added before it, and what that says about its set.

Pixels are added by level, and by rows within one. Needs only numpy; the loops are in kernels_rings.
"""

import numpy as np
from numpy.typing import NDArray

# East, north-east, north, …, anticlockwise on screen; y points down. Bit i of a
# ring is neighbour i.
DX = np.array([1, 1, 0, -1, -1, -1, 0, 1])
DY = np.array([0, -1, -1, -1, 0, 1, 1, 1])


# What a ring says about its pixel, in one number. The lowest four bits: a neighbour in a set
# that it joins, NONE for no set. PLAIN: it joins one set, and is inside its box.
# From bit OTHERS on: a bit for one neighbour in each further set (a set may occur twice).
FIRST, NONE, PLAIN, OTHERS = 15, 8, 16, 8


def _kinds(diagonal: bool) -> NDArray[np.int32]:
    """Return (256,) kinds for sets of 4-connected, or 8-connected, pixels."""
    return np.array([_kind(ring, diagonal) for ring in range(256)], np.int32)


def _kind(ring: int, diagonal: bool) -> int:
    taken = [i for i in range(8) if ring >> i & 1]
    touching = [i for i in taken if diagonal or i % 2 == 0]
    sets = _joined(taken, diagonal)
    ones = sorted({min(i for i in touching if sets[i] == sets[j]) for j in touching})
    # The pixel is outside a side of the box only if its set has no pixel beside it or on that side.
    beyond = any(
        all((side + turn) % 8 not in touching for turn in (-2, -1, 0, 1, 2))
        for side in (0, 2, 4, 6)
    )
    plain = PLAIN * (len(ones) == 1 and not beyond)
    return (ones[0] if ones else NONE) + plain + sum(1 << OTHERS + i for i in ones[1:])


def _joined(taken: list[int], diagonal: bool) -> dict[int, int]:
    """Return for each neighbour the first one that it is connected with through the ring."""
    sets = {i: i for i in taken}
    for _ in taken:
        for i in taken:
            for j in taken:
                apart = abs(DX[i] - DX[j]), abs(DY[i] - DY[j])
                if max(apart) <= 1 and (diagonal or sum(apart) == 1):
                    sets[i] = sets[j] = min(sets[i], sets[j])
    return sets


def _enclosed(ring: int) -> int:
    """Return by how many halves of a pixel this pixel extends what its set's centres enclose.

    Four centres in a square make a whole, three a half.
    """
    corners = (sum(ring >> (at + turn) % 8 & 1 for turn in (-1, 0, 1)) for at in (1, 3, 5, 7))
    return sum(count >= 2 for count in corners)


JOINS, HOLES = _kinds(diagonal=True), _kinds(diagonal=False)
ENCLOSED = np.array([_enclosed(ring) for ring in range(256)], np.int32)
