"""Alpha shapes the slow and plain way, for comparison."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import shapely
from scipy.spatial import Delaunay

Triangle = frozenset[tuple[int, int]]


def corners(mask: np.ndarray) -> list[tuple[int, int]]:
    """All four of every pixel inside."""
    return sorted(
        {
            (int(x) + right, int(y) + down)
            for y, x in zip(*np.nonzero(mask), strict=True)
            for right in (0, 1)
            for down in (0, 1)
        }
    )


def triangles(points: list[tuple[int, int]]) -> list[Triangle]:
    return [
        frozenset(points[corner] for corner in simplex)
        for simplex in Delaunay(np.array(points, float)).simplices.tolist()
    ]


def circumradius_squared(triangle: Triangle) -> Fraction:
    (ax, ay), (bx, by), (cx, cy) = triangle
    product = 1
    for (x0, y0), (x1, y1) in combinations(triangle, 2):
        product *= (x1 - x0) ** 2 + (y1 - y0) ** 2
    doubled = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return Fraction(product, 4 * doubled**2)


def components(chosen: list[Triangle]) -> list[list[Triangle]]:
    """Groups that hang together over shared edges."""
    left, components = list(chosen), []
    while left:
        group = [left.pop()]
        for triangle in group:
            beside = [triple for triple in left if len(triangle & triple) == 2]
            left = [triple for triple in left if triple not in beside]
            group.extend(beside)
        components.append(group)
    return components


def covering(points: list[tuple[int, int]], chosen: list[Triangle]) -> list[Triangle] | None:
    for group in components(chosen):
        if set().union(*group) == set(points):
            return group
    return None


def least(points: list[tuple[int, int]]) -> tuple[Fraction, list[Triangle]]:
    """The least of all circumradii, squared, at which one component covers every point; and it."""
    every = triangles(points)
    for squared in sorted({circumradius_squared(triangle) for triangle in every}):
        chosen = [t for t in every if circumradius_squared(t) <= squared]
        if group := covering(points, chosen):
            return squared, group
    raise AssertionError("all triangles together cover every point")


def shape(mask: np.ndarray, chosen: list[Triangle]) -> shapely.Geometry:
    """The chosen triangles and the mask's pixels, united by shapely."""
    pixels = [shapely.box(x, y, x + 1, y + 1) for y, x in zip(*np.nonzero(mask), strict=True)]
    return shapely.union_all([*pixels, *(shapely.Polygon(list(t)) for t in chosen)])
