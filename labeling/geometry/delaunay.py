"""Delaunay triangles of integer points: proven, ranked by exact circumradius, joined.

Circumradii are compared as integer fractions, so ties are exact: four corners of a pixel lie on one
circle, and however qhull splits such a figure, all of its triangles have the same rank.
"""

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Up to this extent the determinants below fit into 64 bits.
MAX_EXTENT = 20_000


class Delaunay(NamedTuple):
    """T triangles of N points.

    points: (N, 2). corners: (T, 3) of points, shoelace positive. twin: (3T,) for the edge 3t + k,
    from corner k to the next one, the same edge of the adjacent triangle, −1 on the hull.
    """

    points: Ints
    corners: Ints
    twin: Ints


class Ranked(NamedTuple):
    """rank: (T,) of each triangle's circumradius, ties equal. radii: of each rank, ascending."""

    rank: Ints
    radii: list[float]


def triangulate(points: Ints) -> Delaunay:
    """Return the Delaunay triangles of distinct points, proven in integers.

    points: (N, 2), not collinear, less than 20,000 apart. A triangulation is Delaunay if no circle
    contains the corner across an edge, nothing overlaps and the hull is covered. qhull computes in
    floats; if its result fails the proof, GEOS is used; ArithmeticError if that fails too, for
    which no input is known.
    """
    from scipy.spatial import Delaunay as Qhull

    shifted = points - points.min(axis=0)
    if shifted.max() > MAX_EXTENT:
        raise ValueError(f"points lie {shifted.max()} apart, expected at most {MAX_EXTENT}")
    made = _joined(shifted, Qhull(shifted.astype(np.float64)).simplices.astype(np.int64))
    if made is None:
        made = _joined(shifted, _by_geos(shifted))
    if made is None:
        raise ArithmeticError("no exact Delaunay triangulation was found")
    return made._replace(points=points)


def hull(points: Ints) -> BaseGeometry:
    """Return the exact convex hull of (N, 2) points, from the first and last of each row
    for speed.
    """
    x, y = points[np.lexsort((points[:, 0], points[:, 1]))].T
    turns = y[1:] != y[:-1]
    ends = np.concatenate([[True], turns]) | np.concatenate([turns, [True]])
    return shapely.MultiPoint(np.stack([x[ends], y[ends]], axis=1)).convex_hull


def rank(triangles: Delaunay, inner: Bools) -> Ranked:
    """Rank the triangles by circumradius. inner: (T,) those that count as halves of a unit square.

    No triangle of integer points has a smaller circumradius than half a unit square, √½; rank 0 is
    theirs even if there are none.
    """
    a, b, c, doubled = _sides(triangles.points[triangles.corners])
    least = inner | ((a <= 2) & (b <= 2) & (c <= 2))
    others = np.flatnonzero(~least)
    # R² = a²b²c² / (4 D)², D the area: beyond 64 bits soon, so Python's integers.
    fractions = [
        _reduced(a2 * b2 * c2, 4 * d * d)
        for a2, b2, c2, d in zip(
            a[others].tolist(),
            b[others].tolist(),
            c[others].tolist(),
            doubled[others].tolist(),
            strict=True,
        )
    ]
    distinct = [(1, 2), *_sorted_fractions(set(fractions) - {(1, 2)})]
    rank_of = {fraction: at for at, fraction in enumerate(distinct)}
    ranks = np.zeros(len(triangles.corners), np.int64)
    ranks[others] = [rank_of[fraction] for fraction in fractions]
    return Ranked(ranks, [math.sqrt(n / d) for n, d in distinct])


def components(triangles: Delaunay, chosen: Bools) -> Ints:
    """Return (T,) the first triangle of each chosen one's component over shared edges, −1 for
    others.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    edge = np.flatnonzero(triangles.twin > np.arange(len(triangles.twin)))
    first_side, second_side = edge // 3, triangles.twin[edge] // 3
    kept = chosen[first_side] & chosen[second_side]
    count = len(chosen)
    joined = coo_array(
        (np.ones(int(kept.sum()), bool), (first_side[kept], second_side[kept])), (count, count)
    )
    label = connected_components(joined, directed=False)[1]
    first = np.unique(label, return_index=True)[1]
    return np.where(chosen, first[label], -1)


def covering(triangles: Delaunay, chosen: Bools) -> Bools | None:
    """Return (T,) the component of the chosen triangles with a corner in every point, None for
    none.

    Of several, the one of the first triangle.
    """
    labels = components(triangles, chosen)
    within = labels >= 0
    size = len(triangles.points)
    # Every component and point of it, once.
    pairs = np.unique((labels[within][:, None] * size + triangles.corners[within]).ravel())
    count = np.bincount(pairs // size, minlength=1)
    best = int(np.argmax(count))
    return labels == best if count[best] == size else None


def first_covering_rank(triangles: Delaunay, ranked: Ranked) -> int:
    """Return the least rank at which one component has a corner in every point, by binary search.

    With more triangles, a covering component stays connected.
    """
    # No point is covered before the least rank of a triangle that has a corner in it.
    seen = np.full(len(triangles.points), len(ranked.radii))
    np.minimum.at(seen, triangles.corners.ravel(), np.repeat(ranked.rank, 3))
    return bisect_left(
        range(len(ranked.radii)),
        True,
        lo=int(seen.max()),
        key=lambda rank: covering(triangles, ranked.rank <= rank) is not None,
    )


def _joined(points: Ints, corners: Ints) -> Delaunay | None:
    """Return the triangles with their neighbours; None if the triangulation is not Delaunay."""
    *_, doubled = _sides(points[corners])
    corners = np.where((doubled < 0)[:, None], corners[:, ::-1], corners)
    count = len(points)
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    # Both directions of an edge have the same key, so sorting makes them neighbours.
    key = np.minimum(start, end) * count + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    first_side, second_side = order[same], order[same + 1]
    twin = np.full(len(key), -1, np.int64)
    twin[first_side], twin[second_side] = second_side, first_side
    covered = int(np.abs(doubled).sum()) == round(2 * hull(points).area)
    whole = (
        covered
        and bool(doubled.all())
        and bool((start[first_side] == end[second_side]).all())
        and len(np.unique(corners)) == count
    )
    if not whole or (_in_circle(points, corners, first_side, second_side) > 0).any():
        return None
    return Delaunay(points, corners, twin)


def _in_circle(points: Ints, corners: Ints, edge: Ints, twin: Ints) -> Ints:
    """Return a positive value where the corner across an edge lies inside the triangle's circle."""
    far = points[corners[twin // 3, (twin + 2) % 3]]
    x, y = np.moveaxis(points[corners[edge // 3]] - far[:, None, :], -1, 0)
    lift = x * x + y * y
    determinants: Ints = (
        lift[:, 0] * (x[:, 1] * y[:, 2] - x[:, 2] * y[:, 1])
        + lift[:, 1] * (x[:, 2] * y[:, 0] - x[:, 0] * y[:, 2])
        + lift[:, 2] * (x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0])
    )
    return determinants


def _by_geos(points: Ints) -> Ints:
    made = shapely.get_coordinates(shapely.delaunay_triangles(shapely.multipoints(points)))
    width = int(points[:, 0].max()) + 1
    keys = points[:, 1] * width + points[:, 0]
    order = np.argsort(keys)
    corners = made.astype(np.int64).reshape(-1, 4, 2)[:, :3]
    indices: Ints = order[np.searchsorted(keys[order], corners[..., 1] * width + corners[..., 0])]
    return indices


def _sides(triangles: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return squared side lengths and twice the signed area, (T,) each, of (T, 3, 2)."""
    steps = np.roll(triangles, -1, axis=1) - triangles
    a, b, c = (steps**2).sum(axis=2).T
    doubled = steps[:, 0, 0] * steps[:, 1, 1] - steps[:, 0, 1] * steps[:, 1, 0]
    return a, b, c, doubled


def _reduced(n: int, d: int) -> tuple[int, int]:
    common = math.gcd(n, d)
    return n // common, d // common


def _sorted_fractions(fractions: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sort by value in floats and verify in integers."""
    by_value = sorted(fractions, key=lambda fraction: fraction[0] / fraction[1])
    if all(n0 * d1 < n1 * d0 for (n0, d0), (n1, d1) in pairwise(by_value)):
        return by_value
    return sorted(fractions, key=lambda fraction: Fraction(*fraction))
