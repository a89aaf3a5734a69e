"""Converts masks and polygons; areas, unions, agreement. Pure numpy and shapely.

A pixel belongs to a polygon if its centre lies inside. A centre on an edge belongs to the side to
its right or, for a horizontal edge, below, so that of two parts with a common border exactly one
gets it. Boxes are x0, y0, x1, y1 in whole pixels, x1 and y1 exclusive.
"""

import math
from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray

from labeling.geometry.contours import around_pixels, polygons_along
from labeling.geometry.polygons import TENTHS, Polygons, Ring, from_shapely, tenths, to_shapely

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]
PixelBox = tuple[int, int, int, int]
# Coordinates are rounded to this before they meet pixel centres, so that edges are exact.
THOUSANDTHS = 1000
GRID = 1 / TENTHS


def polygons_of(mask: NDArray[np.generic], origin: tuple[int, int] = (0, 0)) -> Polygons:
    """Return the exact pixel edges of a mask with holes; `mask_of` inverts it.

    mask: (h, w), nonzero is inside; its first pixel lies at origin (x, y) of the image. Pixels are
    connected by sides: two that touch in a corner are two pieces. Valid for shapely and canonical;
    () for an empty mask.
    """
    mask = _checked(mask)
    box = tight(mask)
    if box is None:
        return ()
    x0, y0, x1, y1 = box
    return polygons_along(around_pixels(mask[y0:y1, x0:x1]), (x0 + origin[0], y0 + origin[1]))


def mask_of(polygons: Polygons, box: PixelBox) -> Mask:
    """Return (y1 − y0, x1 − x0), True for the pixels of the box with centres inside.

    Ties as in the module's docstring. Exact for corners to a thousandth of a pixel, to which they
    are rounded. Pieces must not overlap (overlaps count as outside); use `union` first.
    """
    x0, y0, x1, y1 = box
    mask = np.zeros((max(0, y1 - y0), max(0, x1 - x0)), np.bool_)
    start, end = edges([ring for piece in polygons for ring in piece], THOUSANDTHS)
    origin = np.array([x0, y0]) * THOUSANDTHS
    height, width = mask.shape
    _, row, column = crossings(start - origin, end - origin, width, height)
    if len(row):
        # Only the part of the box around the polygons: boxes may be whole photographs.
        top, left, right = row.min(), column.min(), column.max()
        span = right - left + 1
        flips = np.bincount((row - top) * span + column - left)
        flips = np.pad(flips, (0, -len(flips) % span)).reshape(-1, span)
        odd = np.cumsum(flips[:, :-1], axis=1, dtype=np.int32) & 1
        mask[top : top + len(odd), left:right] = odd
    return mask


def crossings(
    start: Ints, end: Ints, width: Ints | int, height: Ints | int
) -> tuple[Ints, Ints, Ints]:
    """Return where edges cross the lines of pixel centres: (edge, row, column), (K,) each.

    start, end: (E, 2) in thousandths of a pixel. width, height: of each edge's mask in pixels, to
    which crossings are clipped. column: the first with its centre at or right of the crossing,
    where a row changes between outside and inside.
    """
    falling = start[:, 1:] <= end[:, 1:]
    start, end = np.where(falling, start, end), np.where(falling, end, start)
    # Rows whose centre lies at or below an edge's upper end and above its lower one.
    half = THOUSANDTHS // 2
    first = np.clip(-((half - start[:, 1]) // THOUSANDTHS), 0, height)
    last = np.clip(-((half - end[:, 1]) // THOUSANDTHS), 0, height)
    rows = last - first
    edge = np.repeat(np.arange(len(rows)), rows)
    row = np.arange(len(edge)) - np.repeat(np.cumsum(rows) - rows - first, rows)
    (dx, dy), (sx, sy) = (end - start)[edge].T, start[edge].T
    over = (sx - half) * dy + dx * (row * THOUSANDTHS + half - sy)
    most = width if isinstance(width, int) else width[edge]
    return edge, row, np.clip(-(-over // (dy * THOUSANDTHS)), 0, most)


def area(polygons: Polygons) -> float:
    """Return the area in square pixels, exact for corners on tenths.

    >>> area(((((0, 0), (2, 0), (2, 0.1)),),))
    0.1
    """
    rings = [ring for piece in polygons for ring in piece]
    if not rings:
        return 0.0
    start, end = edges(rings, TENTHS)
    doubled = start[:, 0] * end[:, 1] - end[:, 0] * start[:, 1]
    signs = [-1 if nth else 1 for piece in polygons for nth in range(len(piece))]
    ends = np.cumsum([len(ring) for ring in rings])
    sums = [int(part.sum()) for part in np.split(doubled, ends[:-1])]
    whole = sum(sign * abs(size) for sign, size in zip(signs, sums, strict=True))
    return whole / (2 * TENTHS**2)


def box_of(polygons: Polygons) -> PixelBox:
    """Return the smallest box of whole pixels around the polygons; 0, 0, 0, 0 for none.

    >>> box_of(((((0.5, 1), (2, 1), (2, 3.1)),),))
    (0, 1, 2, 4)
    """
    points = [point for piece in polygons for point in piece[0]]
    if not points:
        return (0, 0, 0, 0)
    xs, ys = zip(*points, strict=True)
    return (math.floor(min(xs)), math.floor(min(ys)), math.ceil(max(xs)), math.ceil(max(ys)))


def box_within(polygons: Polygons, size: tuple[int, int]) -> PixelBox:
    """Return the whole pixels around polygons, inside an image of (width, height)."""
    (x0, y0, x1, y1), (width, height) = box_of(polygons), size
    x0, y0 = min(max(x0, 0), width), min(max(y0, 0), height)
    return x0, y0, max(min(x1, width), x0), max(min(y1, height), y0)


def moved(polygons: Polygons, by_x: int, by_y: int) -> Polygons:
    """Return the polygons moved right and down by whole pixels, exactly."""
    if not by_x and not by_y:
        return polygons
    return tuple(
        tuple(tuple((round(x + by_x, 1), round(y + by_y, 1)) for x, y in ring) for ring in piece)
        for piece in polygons
    )


def union(several: Sequence[Polygons]) -> Polygons:
    """Return the union on tenths, valid and canonical; inputs may overlap.

    Areas thinner than a tenth of a pixel may vanish.
    """
    # Piece by piece: pieces of one that overlap each other are united too.
    shapes = [to_shapely((piece,)) for polygons in several for piece in polygons]
    return from_shapely(shapely.union_all(shapes, grid_size=GRID)) if shapes else ()


def iou(a: Polygons, b: Polygons) -> float:
    """Return the IoU of polygons; 0 for none."""
    if not a or not b:
        return 0.0
    shared = shapely.intersection(to_shapely(a), to_shapely(b)).area
    return float(shared / (area(a) + area(b) - shared))


def mask_iou(a: NDArray[np.generic], b: NDArray[np.generic]) -> float:
    """Return the IoU of two masks of one shape, by pixels; 0 if both are empty."""
    a, b = _checked(a), _checked(b)
    if a.shape != b.shape:
        raise ValueError(f"b has shape {b.shape}, expected a's {a.shape}")
    either = int(np.count_nonzero(a | b))
    return int(np.count_nonzero(a & b)) / either if either else 0.0


def mask_boundary_f(a: NDArray[np.generic], b: NDArray[np.generic], tolerance_px: float) -> float:
    """Return the boundary F measure 2 P R / (P + R) of two masks, in [0, 1], symmetric.

    P is the share of a's border pixels within the tolerance (Euclidean) of one of b's, R that of
    b's near a's. A border pixel differs from the one to its right, below it, or right below; at the
    edge of the mask there is no border. Both without a border: 1; one of them: 0. Source: Perazzi
    et al., A benchmark dataset and evaluation methodology for video object segmentation (DAVIS),
    2016, §5.1; the border is seg2bmap's, the disc is drawn by distance.
    """
    from scipy.ndimage import distance_transform_edt

    border_a, border_b = _border(_checked(a)), _border(_checked(b))
    if border_a.shape != border_b.shape:
        raise ValueError(f"b has shape {border_b.shape}, expected a's {border_a.shape}")
    if not border_a.any() or not border_b.any():
        return float(border_a.any() == border_b.any())
    precision = np.mean(distance_transform_edt(~border_b)[border_a] <= tolerance_px)
    recall = np.mean(distance_transform_edt(~border_a)[border_b] <= tolerance_px)
    both = float(precision + recall)
    return 2 * float(precision * recall) / both if both else 0.0


def convex_hull(polygons: Polygons) -> Polygons:
    """Return the convex hull, one piece; () for none."""
    return from_shapely(to_shapely(polygons).convex_hull)


def simplify(polygons: Polygons, tolerance_px: float) -> Polygons:
    """Return fewer corners with the border within the tolerance; pieces and holes remain.

    Douglas–Peucker by shapely with preserved topology; on tenths, valid, canonical.
    """
    return tenths(from_shapely(to_shapely(polygons).simplify(tolerance_px)))


def _border(mask: Mask) -> Mask:
    padded = np.pad(mask, ((0, 1), (0, 1)), mode="edge")
    inner = padded[:-1, :-1]
    border: Mask = (
        (inner != padded[:-1, 1:]) | (inner != padded[1:, :-1]) | (inner != padded[1:, 1:])
    )
    return border


def _checked(mask: NDArray[np.generic]) -> Mask:
    if mask.ndim != 2:
        raise ValueError(f"mask has shape {mask.shape}, expected (h, w)")
    return mask.astype(np.bool_, copy=False)


def tight(mask: Mask) -> PixelBox | None:
    """Return the bounding box of the pixels inside, None for none."""
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(rows):
        return None
    y0, y1 = int(rows[0]), int(rows[-1]) + 1
    columns = np.flatnonzero(mask[y0:y1].any(axis=0))
    return int(columns[0]), y0, int(columns[-1]) + 1, y1


def edges(rings: Sequence[Ring], scale: int) -> tuple[Ints, Ints]:
    """Return both ends of every edge of the rings in order: (E, 2) each, in 1 / scale pixels."""
    lengths = np.array([len(ring) for ring in rings], np.int64)
    flat = [edge for ring in rings for point in ring for edge in point]
    start = np.rint(np.array(flat, np.float64).reshape(-1, 2) * scale).astype(np.int64)
    following = np.arange(1, len(start) + 1)
    ends = np.cumsum(lengths)
    following[ends - 1] = ends - lengths
    return start, start[following]
