"""Converts a decoder's mask to an outline for a drawing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from labeling.errors import Refusal
from labeling.geometry import polygons, regions
from labeling.geometry.polygons import Polygons

# Tolerance in pixels of the image; at least one pixel of the decoder's mask is used. It removes the
# steps of pixels and keeps corners.
SIMPLIFIED_PX = 0.75
# People can edit this many corners; the tolerance grows until there are no more.
MAX_CORNERS = 200
GROWTH = 1.5
# A hole that is smaller than this share of the outline is noise.
SMALL_HOLE = 0.01
SMALLEST_PX2 = 4.0


def outline_of(
    mask: NDArray[np.bool_],
    size: tuple[int, int],
    points_on_part: Sequence[tuple[float, float]] = (),
) -> Polygons:
    """Return one valid piece with its holes, in pixels of the image on tenths; () for a tiny mask.

    mask: (h, w), of the whole image scaled to it. size: width and height of the image. on_it:
    points of the image; the component with most of them is returned, else the largest.
    """
    piece = _component(mask, size, points_on_part)
    if piece is None:
        return ()
    height, width = mask.shape
    across, down = size[0] / width, size[1] / height
    scaled = tuple(
        tuple(tuple((x * across, y * down) for x, y in ring) for ring in rings)
        for rings in regions.polygons_of(piece)
    )
    tolerance = max(SIMPLIFIED_PX, across, down)
    while True:
        outline = _without_small_holes(_largest(regions.simplify(scaled, tolerance)))
        if sum(map(len, (ring for rings in outline for ring in rings))) <= MAX_CORNERS:
            break
        tolerance *= GROWTH
    if regions.area(outline) < SMALLEST_PX2:
        return ()
    try:
        return polygons.clean(polygons.as_json(outline), *size)
    except Refusal:
        # Simplifying made the outline invalid; a drawing with it would be refused.
        return ()


def _component(
    mask: NDArray[np.bool_], size: tuple[int, int], points_on_part: Sequence[tuple[float, float]]
) -> NDArray[np.bool_] | None:
    from scipy.ndimage import label

    labelled, count = label(mask)
    if not count:
        return None
    sizes = np.bincount(labelled.ravel(), minlength=count + 1)
    sizes[0] = 0
    height, width = mask.shape
    hits = np.zeros(count + 1, int)
    for x, y in points_on_part:
        column = min(int(x * width / size[0]), width - 1)
        row = min(int(y * height / size[1]), height - 1)
        hits[labelled[row, column]] += 1
    hits[0] = 0
    best = max(range(1, count + 1), key=lambda at: (hits[at], sizes[at], -at))
    return _filled(labelled == best)


def _filled(piece: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the piece without its small holes.

    Noise has thousands of them, and simplification time is quadratic in their number.
    """
    from scipy.ndimage import label

    labelled, _ = label(~np.pad(piece, 1))
    small = np.bincount(labelled.ravel()) < SMALL_HOLE * np.count_nonzero(piece)
    # Label 0 is the piece itself, 1 what is around it.
    small[:2] = True, False
    filled: NDArray[np.bool_] = small[labelled][1:-1, 1:-1]
    return filled


def _largest(outline: Polygons) -> Polygons:
    return (max(outline, key=lambda piece: regions.area((piece,))),) if outline else ()


def _without_small_holes(outline: Polygons) -> Polygons:
    least = SMALL_HOLE * regions.area(outline)
    return tuple(
        (piece[0], *(hole for hole in piece[1:] if regions.area(((hole,),)) >= least))
        for piece in outline
    )
