"""unlabeled-rest: what no part covers, of an object and of the background in its crop.

Nobody draws it: it follows from the parts, the outline and the crop, exactly, as polygons. Last in
a part sequence, it completes the crop.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import shapely

from labeling.geometry.polygons import Polygons, Ring
from labeling.parts.model import REST_BACKGROUND, REST_OBJECT, Box, Part, PartedObject

# Square pixels. Where edges cross, the new corner is rounded to a double, which can leave a hair
# along a border that two parts share.
HAIR = 1e-6


@dataclass(frozen=True)
class Rest:
    """object: what of the outline no part covers. background: what of the crop lies neither in the
    outline nor in a part.

    known: False where nobody knows the outline. The object's share is then empty, and what of the
    object no part covers is in the background's.
    """

    object: Polygons
    background: Polygons
    known: bool


def rest(parts: Iterable[Polygons], outline: Polygons | None, crop: Box) -> Rest:
    """What the parts leave of the outline, and what both leave of the crop.

    Parts may overlap and may stick out of the outline or of the crop. The three, drawn parts,
    object's rest and background's rest, meet in borders alone.
    """
    drawn = _united(parts)
    whole = _united([outline or ()])
    return Rest(
        object=_polygons(shapely.difference(whole, drawn)),
        background=_polygons(shapely.difference(shapely.box(*crop), shapely.union(drawn, whole))),
        known=outline is not None,
    )


def made(uncovered: Rest) -> tuple[Part, ...]:
    """Return the rest as parts of origin "made", the object's first; a share that is empty is no
    part.
    """
    shares = ((REST_OBJECT, uncovered.object), (REST_BACKGROUND, uncovered.background))
    return tuple(Part(key, share, origin="made") for key, share in shares if share)


def without(thing: PartedObject) -> PartedObject:
    """Return the object with those parts alone that people or a file told of."""
    return replace(thing, parts=tuple(part for part in thing.parts if part.origin != "made"))


def with_rest(thing: PartedObject) -> PartedObject:
    """Return the object with what no part covers as its last parts, of origin "made"."""
    drawn = [part.polygons for part in thing.parts if part.polygons]
    uncovered = rest(drawn, thing.outline, thing.crop or thing.box)
    return replace(thing, parts=(*thing.parts, *made(uncovered)))


def _united(shapes: Iterable[Polygons]) -> Any:
    """All of them as one geometry. Built in one go: a call for each ring would cost more than the
    union itself."""
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
    """Its corners as they are: on tenths, the shares would overlap."""
    rings, of_piece = shapely.get_rings(shapely.get_parts(shape), return_index=True)
    if not len(rings):
        return ()
    hairs: Any = shapely.area(shapely.polygons(rings)) <= HAIR
    corners, of_ring = shapely.get_coordinates(rings, return_index=True)
    ends = np.searchsorted(of_ring, np.arange(1, len(rings) + 1)).tolist()
    points = list(map(tuple, corners.tolist()))
    pieces: dict[int, list[Ring]] = {}
    start, last = 0, -1
    for piece, end, is_hair in zip(of_piece.tolist(), ends, hairs.tolist(), strict=True):
        # The outer ring comes first; shapely repeats the first corner.
        if not is_hair and (piece in pieces or piece != last):
            pieces.setdefault(piece, []).append(tuple(points[start : end - 1]))
        start, last = end, piece
    return tuple(map(tuple, pieces.values()))
