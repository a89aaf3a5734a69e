"""Merges pieces of a part into one contour: their alpha shape at the first radius that covers all.

Source: Sarvadevabhatla, Venkatraman and Babu, 'Part'ly first among equals (2016), Supplement A,
§2.1, who refine the radius step by step; Edelsbrunner, Kirkpatrick and Seidel, On the shape of a
set of points in the plane (1983). Here the radius is exact: Delaunay triangles of all pixel corners
up to a circumradius are joined over shared edges; the first circumradius is taken at which one
component has a corner in every point. docs/reference/objects-and-parts.md has pictures. The
`alphashape` package draws the same corners as a second opinion.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import shapely
from numpy.typing import NDArray

from labeling.errors import Refusal, TooLarge
from labeling.geometry import delaunay
from labeling.geometry.contours import Border, polygons_along
from labeling.geometry.polygons import Polygons, from_shapely, to_shapely
from labeling.geometry.regions import (
    Mask,
    PixelBox,
    box_of,
    mask_of,
    moved,
    polygons_of,
    simplify,
    tight,
    union,
)

Ints = NDArray[np.int64]
# Ragged masks of a large photograph have tens of thousands.
MAX_CORNERS = 200_000
# Ours, and the alphashape package, which takes 0.08 ms a corner.
METHODS = ("radius", "alphashape")
MAX_PACKAGE_CORNERS = 20_000
# The package takes circumradii below 1 / alpha, and computes them to 4e-8 in the worst case (half a
# pixel, 20,000 pixels from the origin). A radius longer by this share includes equal circumradii.
PACKAGE_MARGIN = 1e-6


@dataclass(frozen=True)
class MergedPieces:
    """A merged part.

    polygons: corners on pixel corners, valid, canonical. radius: limit of the joined triangles'
    circumradius in pixels; None if the pieces stayed apart. joins_at: the first radius that makes
    one component. area, union_area, hull_area: pixels with centres in the polygons, the pieces, the
    convex hull of the pieces. components: number of polygons. apart: no component contains all
    pieces.
    """

    polygons: Polygons
    radius: float | None
    joins_at: float
    apart: bool
    # The pieces' pixels and their origin, from which the areas are counted.
    _mask: Mask = field(repr=False, compare=False)
    _origin: tuple[int, int] = field(repr=False, compare=False)
    _points: Ints = field(repr=False, compare=False)

    @property
    def components(self) -> int:
        return len(self.polygons)

    @cached_property
    def area(self) -> int:
        return int(np.count_nonzero(mask_of(self.polygons, self._box)))

    @cached_property
    def union_area(self) -> int:
        return int(np.count_nonzero(self._mask))

    @cached_property
    def hull_area(self) -> int:
        hull = from_shapely(delaunay.hull(self._points))
        return int(np.count_nonzero(mask_of(moved(hull, *self._origin), self._box)))

    @property
    def _box(self) -> PixelBox:
        (x, y), (height, width) = self._origin, self._mask.shape
        return x, y, x + width, y + height


def merge(
    pieces: Sequence[Polygons | NDArray[np.generic]],
    radius: float | None = None,
    cap: float | None = None,
    holes: bool = True,
    method: str = "radius",
) -> MergedPieces:
    """Return the alpha shape of all pieces, united with them.

    pieces: polygons, or masks of one shape (nonzero is inside) with the image's origin. Polygons
    cover the pixels with centres inside; one without such a pixel covers the pixels it touches. The
    order of the pieces does not matter, nor which pixel belongs to which; the returned radius
    reproduces the same bytes. radius: None takes the first at which one component of triangles has
    a corner in every pixel corner. At that radius or above, the shape is all triangles of that
    component, including ties, without others that touch it only in a corner. Below it, the shape is
    all triangles up to the radius, and `apart` is true. cap: if the first radius exceeds it, the
    pieces are only united, and `apart` is true; ignored for a given radius. holes: whether holes
    are kept; else they are filled, including anything inside them. method: radius, as above, or
    alphashape: that package's shape of the same corners at alpha = 1 / radius, united with the
    pieces. It takes every triangle up to the radius, also those that touch others only in a corner,
    and fills holes. Raises Refusal for an empty piece, masks of different shapes, pieces too far
    apart or too ragged, or a radius that is not above 0; ValueError for no pieces or an unknown
    method.
    """
    if method not in METHODS:
        raise ValueError(f"method is {method!r}, expected one of {', '.join(METHODS)}")
    if radius is not None and not radius > 0:
        raise Refusal(
            f"The radius is {radius}; expected a number of pixels above 0.", field="radius"
        )
    mask, (x0, y0) = _united(pieces)
    triangles, inside = _triangles(mask)
    ranked = delaunay.rank(triangles, inside)
    joins_at = ranked.radii[delaunay.first_covering_rank(triangles, ranked)]
    taken = joins_at if radius is None else radius
    if radius is None and cap is not None and joins_at > cap:
        polygons, used = polygons_of(mask), None
    elif method == "alphashape":
        polygons, used = _by_package(mask, triangles.points, taken), taken
    else:
        polygons, used = _shape(triangles, ranked, inside, taken), taken
    if not holes and any(len(piece) > 1 for piece in polygons):
        polygons = _filled(polygons)
    return MergedPieces(
        polygons=moved(polygons, x0, y0),
        radius=used,
        joins_at=joins_at,
        apart=used is None or used < joins_at,
        _mask=mask,
        _origin=(x0, y0),
        _points=triangles.points,
    )


def _united(pieces: Sequence[Polygons | NDArray[np.generic]]) -> tuple[Mask, tuple[int, int]]:
    """Return all pixels of the pieces in their bounding box, and its origin."""
    shapes = {piece.shape for piece in pieces if isinstance(piece, np.ndarray)}
    if len(shapes) > 1:
        sizes = " and ".join(f"{width} × {height}" for height, width in sorted(shapes))
        raise Refusal(f"The masks have {sizes} pixels; use masks of one photograph.")
    if not pieces:
        raise ValueError("there are no pieces, expected one or more")
    placed = [_pixels(piece) for piece in pieces]
    for number, (mask, _) in enumerate(placed, 1):
        if not mask.any():
            raise Refusal(f"Piece {number} is empty. Leave it out, or draw it.")
    x0, y0 = (min(at[axis] for _, at in placed) for axis in (0, 1))
    x1 = max(x + mask.shape[1] for mask, (x, _) in placed)
    y1 = max(y + mask.shape[0] for mask, (_, y) in placed)
    whole = np.zeros((y1 - y0, x1 - x0), np.bool_)
    for mask, (x, y) in placed:
        height, width = mask.shape
        whole[y - y0 : y - y0 + height, x - x0 : x - x0 + width] |= mask
    left, top, right, bottom = tight(whole) or (0, 0, 0, 0)
    return whole[top:bottom, left:right], (x0 + left, y0 + top)


def _pixels(piece: Polygons | NDArray[np.generic]) -> tuple[Mask, tuple[int, int]]:
    if isinstance(piece, np.ndarray):
        return piece.astype(np.bool_, copy=False), (0, 0)
    box = box_of(piece)
    mask = mask_of(piece, box)
    return mask if mask.any() else _touched(piece, box), box[:2]


def _touched(piece: Polygons, box: PixelBox) -> Mask:
    """Return the pixels that a thin piece intersects."""
    x0, y0, x1, y1 = box
    mask = np.zeros((y1 - y0, x1 - x0), np.bool_)
    region = to_shapely(piece)
    for row in range(y0, y1):
        # Within a row, a connected part spans all columns from its first to its last.
        for part in shapely.get_parts(region.intersection(shapely.box(x0, row, x1, row + 1))):
            if part.area > 0:
                left, _, right, _ = part.bounds
                mask[row - y0, math.floor(left) - x0 : math.ceil(right) - x0] = True
    return mask


def _triangles(mask: Mask) -> tuple[delaunay.Delaunay, NDArray[np.bool_]]:
    """Return the Delaunay triangles of the mask's corners, and which of them lie in its pixels.

    Corners inside the mask are dropped, except one in each of their regions: their only triangles
    are halves of the pixels around them, of circumradius √½. Outside these pixels no empty circle
    changes without them, so no other triangle changes; `delaunay.rank` gives those inside rank 0,
    whatever longer triangles now cover them. The remaining corner makes each region a point that
    must be covered.
    """
    from scipy import ndimage

    padded = np.pad(mask, 1)
    above, below = padded[:-1], padded[1:]
    deep = above[:, :-1] & above[:, 1:] & below[:, :-1] & below[:, 1:]
    kept = (above[:, :-1] | above[:, 1:] | below[:, :-1] | below[:, 1:]) & ~deep
    if deep.any():
        # The pixels around deep corners; two regions are joined where their pixels share a side.
        around = deep[:-1, :-1] | deep[:-1, 1:] | deep[1:, :-1] | deep[1:, 1:]
        labels = ndimage.label(around)[0]
        y, x = np.nonzero(deep)
        first = np.unique(labels[y, x], return_index=True)[1]
        kept[y[first], x[first]] = True
    y, x = np.nonzero(kept)
    if len(y) > MAX_CORNERS:
        raise TooLarge(
            f"The border of the pieces has {len(y):,} corners, and {MAX_CORNERS:,} can be merged. "
            "Smooth the masks, or leave out their specks."
        )
    if max(mask.shape) > delaunay.MAX_EXTENT:
        raise TooLarge(
            f"The pieces extend over {max(mask.shape):,} pixels; at most {delaunay.MAX_EXTENT:,} "
            "can be merged. Use smaller masks."
        )
    triangles = delaunay.triangulate(np.stack([x, y], axis=1).astype(np.int64))
    # Each triangle lies in or outside the mask as a whole, so the pixel of its middle decides.
    at_x, at_y = (triangles.points[triangles.corners].sum(axis=1) // 3).T
    return triangles, mask[at_y, at_x]


def _shape(
    triangles: delaunay.Delaunay, ranked: delaunay.Ranked, inside: NDArray[np.bool_], radius: float
) -> Polygons:
    """Return the triangles up to a radius, or those of the component that covers all, plus the
    mask's own.
    """
    within = (np.array(ranked.radii) <= radius)[ranked.rank]
    chosen = delaunay.covering(triangles, within)
    return polygons_along(_border(triangles, (within if chosen is None else chosen) | inside))


def _by_package(mask: Mask, points: Ints, radius: float) -> Polygons:
    """Return the alphashape package's shape of the points, united with the mask's pixels.

    Corners deep inside the mask are dropped; they would add nothing.
    """
    if len(points) > MAX_PACKAGE_CORNERS:
        raise TooLarge(
            f"The border of the pieces has {len(points):,} corners; the alphashape package "
            f"supports at most {MAX_PACKAGE_CORNERS:,}, because it is slow. Use the method "
            "radius, or smooth the masks."
        )
    # Imported here: it loads 600 modules, and few merges use it.
    from alphashape import alphashape

    drawn = alphashape(points.astype(np.float64), 1 / (radius * (1 + PACKAGE_MARGIN)))
    # Drop collinear corners.
    return simplify(union([from_shapely(drawn), polygons_of(mask)]), 0)


def _border(triangles: delaunay.Delaunay, chosen: NDArray[np.bool_]) -> Border:
    """Return the border of the chosen triangles, with a slot at the end of each edge."""
    twin = triangles.twin
    edges = np.arange(len(twin))
    taken = np.repeat(chosen, 3)
    bare = taken & ((twin < 0) | ~taken[twin])
    following = edges - edges % 3 + (edges + 1) % 3
    # Walk around an edge's end until a triangle has no chosen neighbour.
    turn = np.where(bare, edges, following[twin])
    border = np.flatnonzero(bare)
    after = following[border]
    while not bare[turn[after]].all():
        turn = turn[turn]
    slot = np.cumsum(bare) - 1
    end = triangles.points[triangles.corners.ravel()[following[border]]]

    def pieces() -> Ints:
        numbers: Ints = delaunay.components(triangles, chosen)[border // 3]
        return numbers

    return Border(end[:, 0], end[:, 1], slot[turn[after]], pieces)


def _filled(polygons: Polygons) -> Polygons:
    """Fill the holes; pieces inside holes vanish."""
    outer = [to_shapely(((piece[0],),)) for piece in polygons]
    return from_shapely(shapely.union_all(outer))
