"""Polygons in answers, files and pages: rings of corners in image pixels.

A region is any number of pieces; a piece is an outer ring and its holes; a ring is three corners or
more, the first not repeated. Coordinates count pixels from the upper left corner of the image, so
that pixel (0, 0) is the square from 0 to 1, and are exact to a tenth. Pieces never overlap; they
and their holes may touch in single points.
"""

import math
import re
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from labeling.errors import Refusal, TooLarge

Point = tuple[float, float]
Ring = tuple[Point, ...]
# The outer ring, then the holes.
Piece = tuple[Ring, ...]
Polygons = tuple[Piece, ...]
# The least x and y of a corner, the largest x, the largest y.
Limits = tuple[float, float, float]
# The same in JSON.
PolygonLists = list[list[list[list[float]]]]

# Limit of vertices: drawings have hundreds, pixel edges of ragged masks thousands.
MAX_VERTICES = 20_000
# Limit of pairs of edges whose boxes meet, each counted twice; shapely tests every pair. A drawing
# by hand has a few per corner. This many take shapely most of a second.
MAX_INTERSECTIONS = 20_000_000
TENTHS = 10


def clean(
    value: Any,
    width: float,
    height: float,
    subject: str = "The polygon",
    most_vertices: int = MAX_VERTICES,
    margin: float = 0.0,
) -> Polygons:
    """Return the polygons in JSON, rounded to tenths, without repeated corners.

    value: [[[[x, y], …], hole, …], piece, …]. width, height: of the image, in pixels. margin: how
    far corners may lie outside. subject: begins each sentence. A ring may repeat its first corner
    at its end. No pieces give (). Raises Refusal, which names piece and ring: another shape, fewer
    than three corners, an invalid number, a corner outside the image, a ring that crosses or
    touches itself (and where), no area, a hole outside its ring, overlapping pieces; TooLarge for
    too many vertices, before anything else.
    """
    _check_count(value, subject, most_vertices)
    polygons = tuple(
        tuple(
            _ring(ring, (-margin, width + margin, height + margin), _name(subject, value, at, nth))
            for nth, ring in enumerate(piece)
        )
        for at, piece in enumerate(value)
    )
    _check_meetings(polygons, subject)
    _check_valid(polygons, subject)
    return _noded(polygons)


def as_json(polygons: Polygons) -> PolygonLists:
    """Return nested lists for JSON.

    >>> as_json(((((0.0, 0.0), (1.0, 0.0), (0.0, 1.5)),),))
    [[[[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]]]]
    """
    return [[[list(point) for point in ring] for ring in piece] for piece in polygons]


def from_json(value: Sequence[Any]) -> Polygons:
    """Return the polygons of `as_json`'s nested lists, unchecked.

    >>> from_json([[[[0, 0], [1, 0], [0, 1.5]]]])
    ((((0.0, 0.0), (1.0, 0.0), (0.0, 1.5)),),)
    """
    return tuple(
        tuple(tuple((float(x), float(y)) for x, y in ring) for ring in piece) for piece in value
    )


def from_rings(rings: Sequence[Ring]) -> Polygons:
    """Return the polygons of rings by the even-odd rule: a ring inside an outer ring is a hole.

    Rings must not cross; this is not checked. Corners are unchanged.

    >>> outer, hole = ((0, 0), (9, 0), (9, 9)), ((5, 2), (7, 2), (7, 4))
    >>> from_rings([hole, outer]) == ((outer, hole),)
    True
    """
    shapes: Any = [shapely.Polygon(ring) for ring in rings]
    around: dict[int, list[int]] = {nth: [] for nth in range(len(rings))}
    for inner, outer in shapely.STRtree(shapes).query(shapes, predicate="within").T.tolist():
        if inner != outer:
            around[inner].append(outer)
    pieces = {nth: [rings[nth]] for nth, outer in around.items() if len(outer) % 2 == 0}
    for nth, outer in around.items():
        if nth not in pieces:
            pieces[max(outer, key=lambda ring: len(around[ring]))].append(rings[nth])
    return tuple(map(tuple, pieces.values()))


def tenths(polygons: Polygons) -> Polygons:
    """Return the region with corners on tenths of a pixel, valid and canonical.

    If rounding makes edges cross, they meet in new corners, and areas thinner than a tenth vanish.
    Corners on tenths are unchanged.
    """
    return from_shapely(to_shapely(polygons))


def to_shapely(polygons: Polygons) -> shapely.MultiPolygon:
    """Return the region for shapely, without checking validity.

    >>> to_shapely(((((0, 0), (2, 0), (2, 2)),),)).area
    2.0
    """
    if not polygons:
        return shapely.MultiPolygon()
    made: shapely.MultiPolygon = shapely.multipolygons([_polygon(piece) for piece in polygons])
    return made


def _polygon(rings: Sequence[Sequence[tuple[float, float]]]) -> shapely.Polygon:
    """Return shapely.Polygon of a ring and its holes, in half the time."""
    shell, *holes = (np.array(ring, np.float64) for ring in rings)
    inner: Any = [shapely.linearrings(hole) for hole in holes] or None
    made: Any = shapely.polygons(shell, inner)
    return made


def from_shapely(geometry: BaseGeometry) -> Polygons:
    """Return the polygons of a geometry on tenths, canonical; points and lines are dropped.

    Outer rings have a positive shoelace sum (clockwise on a screen), holes a negative one; a ring
    begins at its uppermost, then leftmost corner; holes and pieces are sorted. The same region with
    the same corners gives the same bytes.
    """
    coordinates = shapely.get_coordinates(geometry)
    if (coordinates != np.rint(coordinates * TENTHS) / TENTHS).any():
        geometry = _snapped(geometry)
    pieces = []
    for part in shapely.get_parts(shapely.get_parts(geometry)):
        if part.geom_type == "Polygon" and not part.is_empty:
            rings = [part.exterior, *part.interiors]
            pieces.append(tuple(tuple(_rounded(ring.coords[:-1])) for ring in rings))
    return canonical(tuple(pieces))


def canonical(polygons: Polygons) -> Polygons:
    """Return the same corners in `from_shapely`'s order."""
    return tuple(
        sorted(
            (
                (_turned(piece[0], 1), *sorted((_turned(hole, -1) for hole in piece[1:]), key=_row))
                for piece in polygons
            ),
            key=lambda piece: _row(piece[0]),
        )
    )


def doubled_area(ring: Sequence[tuple[float, float]]) -> float:
    """Return twice the shoelace area, positive if the ring turns from x to y; exact for
    integers.
    """
    return sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairwise([*ring, ring[0]]))


def _snapped(geometry: BaseGeometry) -> BaseGeometry:
    # GEOS divides by the length of edges that are next to nothing, and recovers.
    with np.errstate(divide="ignore", invalid="ignore"):
        return shapely.set_precision(geometry, 1 / TENTHS)


def _turned(ring: Ring, sign: int) -> Ring:
    if doubled_area(ring) * sign < 0:
        ring = ring[::-1]
    start = min(range(len(ring)), key=lambda at: (ring[at][1], ring[at][0]))
    return ring[start:] + ring[:start]


def _row(ring: Ring) -> list[tuple[float, float]]:
    return [(y, x) for x, y in ring]


def _rounded(points: Sequence[Sequence[float]]) -> list[Point]:
    # + 0.0 turns the negative zero of a corner just outside into a zero.
    return [(round(float(x), 1) + 0.0, round(float(y), 1) + 0.0) for x, y in points]


def _check_count(value: Any, subject: str, most: int) -> None:
    expected = f"{subject} is not a list of pieces, each a list of rings of [x, y]."
    if not isinstance(value, list | tuple):
        raise Refusal(expected)
    vertices = 0
    for piece in value:
        if not isinstance(piece, list | tuple) or not piece:
            raise Refusal(expected)
        for ring in piece:
            if not isinstance(ring, list | tuple):
                raise Refusal(expected)
            # Count empty rings too, or a million of them would pass.
            vertices += max(1, len(ring))
        if vertices > most:
            raise TooLarge(
                f"{subject} has more than {most:,} corners. "
                "Simplify it, or draw it again with fewer.",
                code="too_many_vertices",
            )


def _name(subject: str, value: Sequence[Any], piece: int, ring: int) -> str:
    """Return a short name of the ring for messages."""
    of = f"{subject}, piece {piece + 1}" if len(value) > 1 else subject
    return f"{of}, hole {ring}" if ring else of


def _ring(value: Sequence[Any], limits: Limits, subject: str) -> Ring:
    points = [point for point, _ in groupby(_corners(value, limits, subject))]
    if len(points) > 1 and points[0] == points[-1]:
        points.pop()
    if len(points) < 3:
        raise Refusal(
            f"{subject} has {len(points)} different corners; a region needs three.",
            code="too_few_vertices",
        )
    return tuple(points)


def _corners(value: Sequence[Any], limits: Limits, subject: str) -> list[Point]:
    """Return the ring's corners on tenths. Raises Refusal for the first outside its limits."""
    least, widest, highest = limits
    # Fast path for valid corners: files have millions.
    if {type(pair) for pair in value} <= {list, tuple} and {len(pair) for pair in value} == {2}:
        numbers = [number for pair in value for number in pair]
        # NaN and infinity propagate to the sum.
        if {type(number) for number in numbers} == {float} and math.isfinite(sum(numbers)):
            points = _rounded(value)
            xs, ys = zip(*points, strict=True)
            if min(*xs, *ys) >= least and max(xs) <= widest and max(ys) <= highest:
                return points
    points = []
    for at, raw_corner in enumerate(value):
        point = _point(raw_corner, f"{subject}: corner {at + 1}")
        x, y = point
        if not (least <= x <= widest and least <= y <= highest):
            raise Refusal(
                f"{subject}: corner {at + 1} ({x:g}, {y:g}) lies outside the image of "
                f"{widest + least:g} × {highest + least:g} pixels. Move it inside.",
                code="outside",
            )
        points.append(point)
    return points


def _point(value: Any, subject: str) -> Point:
    if (
        not isinstance(value, list | tuple)
        or len(value) != 2
        or not all(isinstance(number, int | float) for number in value)
        or any(isinstance(number, bool) for number in value)
    ):
        raise Refusal(f"{subject} is not two numbers [x, y].")
    try:
        x, y = (float(number) for number in value)
    except OverflowError:
        x = math.inf
    if not (math.isfinite(x) and math.isfinite(y)):
        raise Refusal(f"{subject} is not two finite numbers.")
    return _rounded([(x, y)])[0]


def _check_meetings(polygons: Polygons, subject: str) -> None:
    """Raise Refusal for shapes that take shapely more than about a second.

    Many long slanted parallel edges would take a minute while other requests wait.
    """
    corners = [np.array([*ring, ring[0]]) for piece in polygons for ring in piece]
    count = sum(len(ring) - 1 for ring in corners)
    if count**2 <= MAX_INTERSECTIONS:
        return
    ends = np.concatenate([np.stack([ring[:-1], ring[1:]], axis=1) for ring in corners])
    edges: Any = shapely.linestrings(ends)
    tree = shapely.STRtree(edges)
    meetings = 0
    for start in range(0, count, 100):
        meetings += tree.query(edges[start : start + 100]).shape[1]
        if meetings > MAX_INTERSECTIONS:
            raise Refusal(
                f"{subject} is too complex to be checked: too many of its edges run side by side. "
                "Simplify it, or draw it again with fewer corners.",
                code="too_intricate",
            )


def _check_valid(polygons: Polygons, subject: str) -> None:
    """Check validity in integer tenths, where shapely's predicates are exact."""
    pieces = []
    for at, piece in enumerate(polygons):
        rings = [[(round(x * TENTHS), round(y * TENTHS)) for x, y in ring] for ring in piece]
        outer, *holes = (
            _check_ring(ring, _name(subject, polygons, at, nth)) for nth, ring in enumerate(rings)
        )
        pieces.append(_check_holes(rings, _name(subject, polygons, at, 0)) if holes else outer)
    if len(pieces) > 1 and not (region := shapely.MultiPolygon(pieces)).is_valid:
        raise Refusal(
            f"{subject}: two of its pieces overlap{_where(region)}. Join them, or move one away.",
            code="overlap",
        )


def _check_ring(ring: list[tuple[int, int]], subject: str) -> shapely.Polygon:
    alone = _polygon([ring])
    if not alone.is_valid:
        if shapely.LineString(ring).convex_hull.area == 0:
            raise Refusal(
                f"{subject} has no area: its corners lie on one line. Draw it again.",
                code="no_area",
            )
        raise Refusal(
            f"{subject} crosses or touches itself{_where(alone)}. Move a corner there.",
            code="self_crossing",
        )
    if alone.area == 0:
        raise Refusal(f"{subject} has no area. Draw it again.", code="no_area")
    return alone


def _check_holes(rings: list[list[tuple[int, int]]], subject: str) -> shapely.Polygon:
    piece = _polygon(rings)
    if not piece.is_valid:
        raise Refusal(
            f"{subject}: its holes do not lie apart inside it{_where(piece)}. "
            "Move the hole's corners.",
            code="hole",
        )
    return piece


def _where(geometry: BaseGeometry) -> str:
    """Return " near (x, y)" in pixels, if shapely tells the position."""
    match = re.search(r"\[(\S+) (\S+)\]", shapely.is_valid_reason(geometry))
    if not match:
        return ""
    x, y = (float(number) / TENTHS for number in match.groups())
    return f" near ({x:.1f}, {y:.1f})"


def _noded(polygons: Polygons) -> Polygons:
    """Return the shape with a corner wherever a corner lies on another edge, in tenths.

    Floats cannot represent tenths, so shapely would see such a touch as a crossing or a gap.
    """
    if to_shapely(polygons).is_valid:
        return polygons
    corners = np.unique(
        [(round(x * TENTHS), round(y * TENTHS)) for piece in polygons for r in piece for x, y in r],
        axis=0,
    )
    tree = shapely.STRtree([shapely.Point(corner) for corner in corners])
    return tuple(tuple(_with_touches(ring, corners, tree) for ring in piece) for piece in polygons)


def _with_touches(ring: Ring, corners: NDArray[np.int64], tree: shapely.STRtree) -> Ring:
    corners_with_touches: list[Point] = []
    for start, end in pairwise([*ring, ring[0]]):
        a, b = (np.rint(np.multiply(point, TENTHS)).astype(np.int64) for point in (start, end))
        near = corners[tree.query(shapely.LineString([a, b]))]
        from_a, whole = near - a, b - a
        along = from_a @ whole
        on_line = from_a[:, 0] * whole[1] == from_a[:, 1] * whole[0]
        between = on_line & (along > 0) & (along < whole @ whole)
        touching = near[between][np.argsort(along[between])] / TENTHS
        corners_with_touches += [start, *_rounded(touching.tolist())]
    return tuple(corners_with_touches)
