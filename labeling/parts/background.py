"""unlabeled-rest: the area of an object, and of the background in its crop, that no part covers.

Nobody draws it: it is computed exactly, as polygons, from parts, outline and crop. As the last
parts of an object it completes the crop.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely

from labeling.geometry.polygons import Polygons, Ring
from labeling.parts.model import REST_BACKGROUND, REST_OBJECT, Box, Part, PartedObject

# Rings up to this area, in square pixels, are dropped. New corners at crossings are rounded to
# doubles, which can leave slivers along a border that two parts share.
SLIVER_PX2 = 1e-6


@dataclass(frozen=True)
class Rest:
    """The areas that no part covers.

    object: the outline without the parts. background: the crop without outline and parts. known:
    False for an unknown outline. Then object is empty, and background includes the object's
    uncovered area.
    """

    object: Polygons
    background: Polygons
    known: bool


def rest(parts: Iterable[Polygons], outline: Polygons | None, crop: Box) -> Rest:
    """Return the outline without the parts, and the crop without both.

    Parts may overlap and may extend beyond the outline or the crop. The drawn parts and the two
    rests share only borders.
    """
    drawn = _united(parts)
    whole = _united([outline or ()])
    return Rest(
        object=_polygons(shapely.difference(whole, drawn)),
        background=_polygons(shapely.difference(shapely.box(*crop), shapely.union(drawn, whole))),
        known=outline is not None,
    )


def rest_parts(uncovered: Rest) -> tuple[Part, ...]:
    """Return the rest as parts of origin "made", the object's first, without empty ones."""
    shares = ((REST_OBJECT, uncovered.object), (REST_BACKGROUND, uncovered.background))
    return tuple(Part(key, share, origin="made") for key, share in shares if share)


def without_rest(parted: PartedObject) -> PartedObject:
    """Return the object with only the parts that come from people or a file."""
    return replace(parted, parts=tuple(part for part in parted.parts if part.origin != "made"))


def with_rest(parted: PartedObject) -> PartedObject:
    """Return the object with the uncovered area as its last parts, of origin "made"."""
    drawn = [part.polygons for part in parted.parts if part.polygons]
    uncovered = rest(drawn, parted.outline, parted.crop or parted.box)
    return replace(parted, parts=(*parted.parts, *rest_parts(uncovered)))


def _united(shapes: Iterable[Polygons]) -> Any:
    """Return the union of all of them, built in one call: a call per ring would cost more than the
    union.
    """
    pieces = [piece for polygons in shapes for piece in polygons]
    rings = [ring for piece in pieces for ring in piece]
    if not rings:
        return shapely.MultiPolygon()
    corners = np.array([corner for ring in rings for corner in ring])
    of_ring = np.repeat(np.arange(len(rings)), [len(ring) for ring in rings])
    of_piece = np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])
    closed: Any = shapely.linearrings(corners, indices=of_ring)
    return shapely.union_all(shapely.polygons(closed, indices=of_piece))


def _polygons(shape: Any) -> Polygons:
    """Return polygons with exact corners: rounded to tenths, the areas would overlap."""
    rings, of_piece = shapely.get_rings(shapely.get_parts(shape), return_index=True)
    if not len(rings):
        return ()
    slivers: Any = shapely.area(shapely.polygons(rings)) <= SLIVER_PX2
    corners, of_ring = shapely.get_coordinates(rings, return_index=True)
    ends = np.searchsorted(of_ring, np.arange(1, len(rings) + 1)).tolist()
    points = list(map(tuple, corners.tolist()))
    pieces: dict[int, list[Ring]] = {}
    start, last = 0, -1
    for piece, end, is_sliver in zip(of_piece.tolist(), ends, slivers.tolist(), strict=True):
        # The outer ring comes first; shapely repeats the first corner.
        if not is_sliver and (piece in pieces or piece != last):
            pieces.setdefault(piece, []).append(tuple(points[start : end - 1]))
        start, last = end, piece
    return tuple(map(tuple, pieces.values()))
