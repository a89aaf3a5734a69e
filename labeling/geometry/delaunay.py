"""Delaunay triangles of whole-numbered points: proven, ranked by exact circumradius, joined.

Circumradii are compared as fractions of whole numbers, so ties are ties: four corners of a pixel
lie on one circle, and whichever way qhull cuts such a figure, all of its triangles have one rank.
"""

import math
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
MOST_EXTENT = 20_000


class Delaunay(NamedTuple):
    """T triangles of N points.

    points: (N, 2). corners: (T, 3) of points, x y shoelace positive. twin: (3T,) for the edge
    3t + k, from corner k to the next one, the same edge of the triangle beyond, −1 on the hull.
    """

    points: Ints
    corners: Ints
    twin: Ints

    def beyond(self) -> Ints:
        """(T, 3): the triangles across each edge, −1 for none."""
        return np.where(self.twin < 0, -1, self.twin // 3).reshape(-1, 3)


class Ranked(NamedTuple):
    """rank: (T,) of each triangle's circumradius, ties equal. radii: of each rank, rising."""

    rank: Ints
    radii: list[float]


def triangulate(points: Ints) -> Delaunay:
    """The Delaunay triangles of distinct points, proven in whole numbers.

    points: (N, 2), not all on one line, less than 20,000 apart. A triangulation is Delaunay when no
    circle holds the corner across an edge, when nothing overlaps and all of the hull is covered.
    qhull computes in floats; where its result fails the proof, GEOS is asked; ArithmeticError when
    that fails too, which no input is known to reach.
    """
    from scipy.spatial import Delaunay as Qhull

    shifted = points - points.min(axis=0)
    if shifted.max() > MOST_EXTENT:
        raise ValueError(f"points lie {shifted.max()} apart, expected at most {MOST_EXTENT}")
    made = _joined(shifted, Qhull(shifted.astype(np.float64)).simplices.astype(np.int64))
    if made is None:
        made = _joined(shifted, _by_geos(shifted))
    if made is None:
        raise ArithmeticError("no exact Delaunay triangulation was found")
    return made._replace(points=points)


def hull(points: Ints) -> BaseGeometry:
    """The convex hull of (N, 2) points, exact: of the first and last in each row, for speed."""
    x, y = points[np.lexsort((points[:, 0], points[:, 1]))].T
    turns = y[1:] != y[:-1]
    ends = np.concatenate([[True], turns]) | np.concatenate([turns, [True]])
    return shapely.MultiPoint(np.stack([x[ends], y[ends]], axis=1)).convex_hull


def rank(triangles: Delaunay, inner: Bools) -> Ranked:
    """The triangles by circumradius. inner: (T,) those that count as halves of a unit square.

    No triangle of whole-numbered points has a smaller circumradius than half a unit square,
    √½: rank 0 is theirs, whether or not there are any.
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
    distinct = [(1, 2), *_rising(set(fractions) - {(1, 2)})]
    place = {fraction: at for at, fraction in enumerate(distinct)}
    ranks = np.zeros(len(triangles.corners), np.int64)
    ranks[others] = [place[fraction] for fraction in fractions]
    return Ranked(ranks, [math.sqrt(n / d) for n, d in distinct])


def components(triangles: Delaunay, chosen: Bools) -> Ints:
    """(T,) the first triangle of each chosen one's component over shared edges, −1 for others."""
    edge = np.flatnonzero(triangles.twin > np.arange(len(triangles.twin)))
    one, other = edge // 3, triangles.twin[edge] // 3
    kept = chosen[one] & chosen[other]
    one, other = one[kept], other[kept]
    label = np.arange(len(chosen))
    # Neighbours of different labels: the greater label takes the lesser, and all that had it.
    while len(one):
        lesser = np.minimum(label[one], label[other])
        greater = np.maximum(label[one], label[other])
        np.minimum.at(label, greater, lesser)
        while (label[label] != label).any():
            label = label[label]
        apart = label[one] != label[other]
        one, other = one[apart], other[apart]
    return np.where(chosen, label, -1)


def covering(triangles: Delaunay, chosen: Bools) -> Bools | None:
    """(T,) the component of the chosen triangles that has a corner in every point, None for none.

    Should several have, the one of the first triangle.
    """
    labels = components(triangles, chosen)
    label, _ = _labels_and_points(triangles, labels)
    count = np.bincount(label, minlength=1)
    best = int(np.argmax(count))
    return labels == best if count[best] == len(triangles.points) else None


def first_covering_rank(triangles: Delaunay, ranked: Ranked) -> int:
    """The least rank up to which one component has a corner in every point.

    Union-find: triangles come in by rank, all of one rank together, and join those they share an
    edge with; each component knows its points. Those of rank 0 are joined beforehand.
    """
    labels = components(triangles, ranked.rank == 0)
    joined = _Components(_points_of(triangles, labels))
    owner = labels.tolist()
    beyond, corners = triangles.beyond().tolist(), triangles.corners.tolist()
    wanted = len(triangles.points)
    order = np.argsort(ranked.rank, kind="stable")[int((labels >= 0).sum()) :]
    reached = 0
    for triangle, its_rank in zip(order.tolist(), ranked.rank[order].tolist(), strict=True):
        if its_rank != reached:
            if joined.most == wanted:
                return reached
            reached = its_rank
        # Labels of the first components are below the count of triangles.
        owner[triangle] = name = len(owner) + triangle
        joined.add(name, set(corners[triangle]))
        for neighbour in beyond[triangle]:
            if neighbour >= 0 and owner[neighbour] >= 0:
                joined.join(name, owner[neighbour])
    assert joined.most == wanted, "all triangles together cover every point"
    return reached


class _Components:
    """Union-find over names; each root has the set of its points, `most` is the largest's size."""

    def __init__(self, points: dict[int, set[int]]) -> None:
        self.parent = {name: name for name in points}
        self.points = points
        self.most = max((len(held) for held in points.values()), default=0)

    def add(self, name: int, points: set[int]) -> None:
        self.parent[name] = name
        self.points[name] = points
        self.most = max(self.most, len(points))

    def join(self, one: int, other: int) -> None:
        one, other = self.root(one), self.root(other)
        if one == other:
            return
        # The smaller set moves: each point moves log N times at most.
        if len(self.points[one]) < len(self.points[other]):
            one, other = other, one
        self.parent[other] = one
        self.points[one] |= self.points.pop(other)
        self.most = max(self.most, len(self.points[one]))

    def root(self, name: int) -> int:
        parent = self.parent
        while parent[name] != name:
            parent[name] = name = parent[parent[name]]
        return name


def _points_of(triangles: Delaunay, labels: Ints) -> dict[int, set[int]]:
    """The points of each component."""
    label, point = _labels_and_points(triangles, labels)
    starts = np.flatnonzero(np.diff(label, prepend=-1))
    return {
        int(name): set(held.tolist())
        for name, held in zip(label[starts], np.split(point, starts)[1:], strict=True)
    }


def _labels_and_points(triangles: Delaunay, labels: Ints) -> tuple[Ints, Ints]:
    """Every component and point of it, once, sorted."""
    count = len(triangles.points)
    within = labels >= 0
    pairs = np.sort((labels[within][:, None] * count + triangles.corners[within]).ravel())
    label, point = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], count)
    return label, point


def _joined(points: Ints, corners: Ints) -> Delaunay | None:
    """The triangles with their neighbours; None where they are no Delaunay triangulation."""
    *_, doubled = _sides(points[corners])
    corners = np.where((doubled < 0)[:, None], corners[:, ::-1], corners)
    count = len(points)
    start, end = corners.ravel(), np.roll(corners, -1, axis=1).ravel()
    # Both ways along an edge have one key; sorted, they stand side by side.
    key = np.minimum(start, end) * count + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    one, other = order[same], order[same + 1]
    twin = np.full(len(key), -1, np.int64)
    twin[one], twin[other] = other, one
    covered = int(np.abs(doubled).sum()) == round(2 * hull(points).area)
    whole = (
        covered
        and bool(doubled.all())
        and bool((start[one] == end[other]).all())
        and len(np.unique(corners)) == count
    )
    if not whole or (_in_circle(points, corners, one, other) > 0).any():
        return None
    return Delaunay(points, corners, twin)


def _in_circle(points: Ints, corners: Ints, edge: Ints, twin: Ints) -> Ints:
    """Positive where the corner across an edge lies inside the circle of the edge's triangle."""
    far = points[corners[twin // 3, (twin + 2) % 3]]
    x, y = np.moveaxis(points[corners[edge // 3]] - far[:, None, :], -1, 0)
    lift = x * x + y * y
    found: Ints = (
        lift[:, 0] * (x[:, 1] * y[:, 2] - x[:, 2] * y[:, 1])
        + lift[:, 1] * (x[:, 2] * y[:, 0] - x[:, 0] * y[:, 2])
        + lift[:, 2] * (x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0])
    )
    return found


def _by_geos(points: Ints) -> Ints:
    made = shapely.get_coordinates(shapely.delaunay_triangles(shapely.multipoints(points)))
    width = int(points[:, 0].max()) + 1
    keys = points[:, 1] * width + points[:, 0]
    order = np.argsort(keys)
    wanted = made.astype(np.int64).reshape(-1, 4, 2)[:, :3]
    found: Ints = order[np.searchsorted(keys[order], wanted[..., 1] * width + wanted[..., 0])]
    return found


def _sides(triangles: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Squared lengths of the sides and twice the signed area, (T,) each, of (T, 3, 2)."""
    steps = np.roll(triangles, -1, axis=1) - triangles
    a, b, c = (steps**2).sum(axis=2).T
    doubled = steps[:, 0, 0] * steps[:, 1, 1] - steps[:, 0, 1] * steps[:, 1, 0]
    return a, b, c, doubled


def _reduced(n: int, d: int) -> tuple[int, int]:
    common = math.gcd(n, d)
    return n // common, d // common


def _rising(fractions: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted by value. Floats nearly always do it, and whole numbers tell whether they did."""
    found = sorted(fractions, key=lambda fraction: fraction[0] / fraction[1])
    if all(n0 * d1 < n1 * d0 for (n0, d0), (n1, d1) in pairwise(found)):
        return found
    return sorted(fractions, key=lambda fraction: Fraction(*fraction))
