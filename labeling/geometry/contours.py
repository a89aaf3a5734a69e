"""Traces the border of a region on the pixel grid as simple rings.

A border is a set of directed edges with the region on one side. A *slot* is where one edge ends and
the next begins; a corner has several slots if the region touches itself there. Walking from slot to
slot never leaves the current piece; a walk that visits a corner twice is split there, so that every
ring is simple and valid for shapely.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from labeling.geometry.polygons import Polygons, canonical, doubled_area

Ints = NDArray[np.int64]


class Border(NamedTuple):
    """Slots of a border: corner x and y, and the next slot, each (S,).

    pieces: returns the piece of each slot, (S,); called only for several pieces with holes.
    """

    x: Ints
    y: Ints
    after: Ints
    pieces: Callable[[], Ints]


def around_pixels(mask: NDArray[np.bool_]) -> Border:
    """Return the border of a mask's pixels with slots at its turns; pixels are connected by sides.

    The region lies to the right of every edge on a screen, so the shoelace sum of an outer ring is
    positive.
    """
    height, width = mask.shape
    padded = np.zeros((height + 2, width + 2), np.int8)
    padded[1:-1, 1:-1] = mask
    # level: +1 above a pixel (walked to the right), −1 below one (to the left). upright: +1 right
    # of a pixel, −1 left of one.
    level = np.diff(padded, axis=0)
    upright = -np.diff(padded, axis=1).T
    corner, side, sign, touching = _turns(level)
    up_corner, up_side, up_sign, _ = _turns(upright)
    y, x = np.divmod(corner, width + 1)
    up_x, up_y = np.divmod(up_corner, height + 1)
    # Where two pixels touch only at a corner, each level edge joins the upright edge of its own
    # pixel: the left edge joins the lower one if the pixel on the left lies below the corner.
    falls = np.zeros((height + 1) * (width + 1), np.bool_)
    falls[corner[touching & (side == 0) & (sign > 0)]] = True
    same_corner = up_y * (width + 1) + up_x
    up_key = same_corner * 2 + (up_side ^ falls[same_corner])
    joined = np.argsort(up_key, kind="stable")
    # Other corners have one upright edge only, whatever its key: the order is that of corners.
    after = np.empty(len(corner), np.int64)
    _follow(after, np.arange(len(corner)), sign)
    places = np.empty(len(joined), np.int64)
    places[joined] = np.arange(len(joined))
    _follow(after, places, up_sign)

    def pieces() -> Ints:
        from scipy import ndimage

        labels = ndimage.label(mask)[0]
        numbers: Ints = labels[y - (sign < 0), x - (side == 0)].astype(np.int64)
        return numbers

    return Border(x, y, after, pieces)


def _turns(edges: NDArray[np.int8]) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """Return where runs of equal edges end and begin, line by line.

    edges: (L, n + 2), the first and last of each line 0. For each end, in order: its corner (line ×
    (n + 1) + column), its side (0: of the edges before it, 1: after it), the edges' sign, and
    whether both sides turn there. Two consecutive ends form a run.
    """
    before, behind = edges[:, :-1], edges[:, 1:]
    turn = before != behind
    ends = np.stack([turn & (before != 0), turn & (behind != 0)], axis=-1)
    flat = np.flatnonzero(ends)
    corner, side = flat >> 1, flat & 1
    line, offset = np.divmod(corner, edges.shape[1] - 1)
    sign = edges[line, offset + side].astype(np.int64)
    touching = np.logical_and.reduce(ends[line, offset], axis=1)
    return corner.astype(np.int64), side.astype(np.int64), sign, touching


def _follow(after: Ints, slots: Ints, sign: Ints) -> None:
    """Set the next slot in `after`; runs are pairs of slots, walked forwards or backwards."""
    first, last = slots[::2], slots[1::2]
    forwards = sign[::2] > 0
    after[np.where(forwards, first, last)] = np.where(forwards, last, first)


def polygons_along(border: Border, origin: tuple[int, int] = (0, 0)) -> Polygons:
    """Return the region inside a border, canonical, without collinear corners.

    origin: position of the border's (0, 0) in the image.
    """
    x, y, after, pieces = border
    stride = int(x.max(initial=0)) + 1
    xs, ys = (x + origin[0]).tolist(), (y + origin[1]).tolist()
    outer: list[list[int]] = []
    holes: list[list[int]] = []
    for ring in _walks(after.tolist(), (y * stride + x).tolist()):
        positive = doubled_area([(xs[at], ys[at]) for at in ring]) > 0
        (outer if positive else holes).append(ring)
    labels = pieces().tolist() if len(outer) > 1 and holes else [0] * len(xs)
    inside: dict[int, list[list[int]]] = {}
    for ring in holes:
        inside.setdefault(labels[ring[0]], []).append(ring)
    return canonical(
        tuple(
            tuple(
                _straight([(float(xs[at]), float(ys[at])) for at in ring])
                for ring in (first, *inside.get(labels[first[0]], ()))
            )
            for first in outer
        )
    )


def _walks(after: list[int], corners: list[int]) -> list[list[int]]:
    """Return the slots of every ring; no ring visits a corner twice."""
    count: dict[int, int] = {}
    for corner in corners:
        count[corner] = count.get(corner, 0) + 1
    touching = {corner for corner, times in count.items() if times > 1}
    seen = bytearray(len(after))
    rings = []
    for start in range(len(after)):
        if seen[start]:
            continue
        walk: list[int] = []
        passed: dict[int, int] = {}
        at = start
        while not seen[at]:
            seen[at] = 1
            if touching and (corner := corners[at]) in touching:
                if corner in passed:
                    rings.append(_cut(walk, passed[corner], passed, corners))
                passed[corner] = len(walk)
            walk.append(at)
            at = after[at]
        rings.append(walk)
    return rings


def _cut(walk: list[int], start: int, passed: dict[int, int], corners: list[int]) -> list[int]:
    """Remove the loop from `start` to the end of a walk and return it. Loops nest and
    never cross.
    """
    loop = walk[start:]
    del walk[start:]
    for slot in loop:
        passed.pop(corners[slot], None)
    return loop


def _straight(ring: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the ring without collinear corners."""
    around = zip([ring[-1], *ring[:-1]], ring, [*ring[1:], ring[0]], strict=True)
    return tuple(
        corner
        for (x0, y0), corner, (x1, y1) in around
        if (corner[0] - x0) * (y1 - corner[1]) != (x1 - corner[0]) * (corner[1] - y0)
    )
