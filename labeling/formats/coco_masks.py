"""COCO masks: run lengths by column, and rings that COCO rasterizes back to the same pixels.

Source: pycocotools' maskApi.c (Lin et al. 2014). Reading is our own: the C code trusts its counts.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from labeling.geometry.polygons import Polygons
from labeling.geometry.regions import THOUSANDTHS, Mask, box_within, crossings, edges, tight

Ints = npt.NDArray[np.int64]
Pixels = npt.NDArray[np.uint8]
# A mask of a part of an image, and its origin in the image.
Placed = tuple[Mask, tuple[int, int]]
# [x, y, x, y, …] each.
Rings = list[list[int]]


def run_lengths(mask: Mask, origin: tuple[int, int], size: tuple[int, int]) -> Ints:
    """Return run lengths of 0 and 1 in turn, 0 first, by column of an image of (width, height).

    mask: (h, w), the part of the image at origin (x, y); elsewhere is 0.

    >>> run_lengths(np.array([[True], [True]]), (1, 0), (3, 2)).tolist()
    [2, 2, 2]
    """
    height, width = mask.shape
    # A row of zeros below terminates each column's last run.
    columns = np.zeros((width, height + 1), np.int8)
    columns[:, :height] = mask.T
    turns = np.flatnonzero(np.diff(columns.ravel(), prepend=np.int8(0)))
    if not len(turns):
        return np.array([size[0] * size[1]])
    column, row = np.divmod(turns, height + 1)
    places = (column + origin[0]) * size[1] + row + origin[1]
    starts, ends = places[0::2], places[1::2]
    # If the mask is as high as the image, runs continue in the next column.
    joined = starts[1:] == ends[:-1]
    bounds = np.stack([starts[np.r_[True, ~joined]], ends[np.r_[~joined, True]]], axis=1).ravel()
    counts = np.diff(np.r_[0, bounds, size[0] * size[1]])
    return counts[:-1] if len(counts) > 1 and counts[-1] == 0 else counts


def compressed(counts: Ints) -> str:
    """Return COCO's text of run lengths: differences to the second last one, five bits per letter.

    >>> compressed(np.array([2, 2, 2]))
    '222'
    """
    rest = counts.astype(np.int64).copy()
    rest[3:] -= counts[1:-2]
    letters, is_needed = [], []
    more = np.ones(len(rest), bool)
    while more.any():
        is_needed.append(more)
        low = rest & 0x1F
        rest = rest >> 5
        more = more & np.where(low & 0x10, rest != -1, rest != 0)
        letters.append(low + 48 + 0x20 * more)
    text = np.stack(letters, axis=1)[np.stack(is_needed, axis=1)]
    return text.astype(np.uint8).tobytes().decode("ascii")


def counts_in(value: Any, size: tuple[int, int]) -> Ints | None:
    """Return the run lengths of a file's `counts`, a list or COCO's text.

    None if they are invalid or do not fill an image of (width, height).
    """
    if isinstance(value, str):
        counts = _decompressed(value)
    elif isinstance(value, list) and all(type(count) is int for count in value):
        pixels = size[0] * size[1]
        counts = np.array(value, np.int64) if all(0 <= n <= pixels for n in value) else None
    else:
        return None
    if counts is None or not len(counts) or counts.min() < 0:
        return None
    # Float sums do not wrap around; whole numbers below 2**53 are exact in them.
    return counts if counts.sum(dtype=np.float64) == size[0] * size[1] else None


def _decompressed(text: str) -> Ints | None:
    try:
        letters = np.frombuffer(text.encode("ascii"), np.uint8).astype(np.int64) - 48
    except UnicodeEncodeError:
        return None
    if not len(letters) or letters.min() < 0 or letters.max() > 63 or letters[-1] & 0x20:
        return None
    last = np.flatnonzero(~(letters & 0x20).astype(bool))
    first = np.r_[0, last[:-1] + 1]
    lengths = last - first + 1
    # Seven letters hold 35 bits, more than any image has pixels.
    if lengths.max() > 7:
        return None
    shifts = 5 * (np.arange(len(letters)) - np.repeat(first, lengths))
    steps = np.add.reduceat((letters & 0x1F) << shifts, first)
    steps -= np.where(letters[last] & 0x10, np.int64(1) << (5 * lengths), 0)
    steps[1::2] = np.cumsum(steps[1::2])
    steps[2::2] = np.cumsum(steps[2::2])
    return steps


def mask_in(counts: Ints, size: tuple[int, int]) -> Placed:
    """Return the smallest mask of the run lengths' pixels, and its origin (x, y)."""
    flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
    return cropped(flat.reshape(size).T)


def cropped(mask: Mask) -> Placed:
    """Return the smallest mask with all pixels, and its origin (x, y)."""
    x0, y0, x1, y1 = tight(mask) or (0, 0, 0, 0)
    return mask[y0:y1, x0:x1], (x0, y0)


class Canvas:
    """Regions of an image of (width, height) as pixels, side by side on one canvas.

    This pays numpy's overhead once for all regions. The pixels equal those of regions.mask_of.
    Every region has a piece.
    """

    def __init__(self, regions: Sequence[Polygons], size: tuple[int, int]) -> None:
        boxes = np.array([box_within(region, size) for region in regions])
        self.origins = boxes[:, :2]
        self.sizes = boxes[:, 2:] - boxes[:, :2]
        # An empty row and column around each region, for neighbour lookups.
        self.columns = np.cumsum(np.r_[1, self.sizes[:-1, 0] + 1])
        shape = (int(self.sizes[:, 1].max()) + 2, int(self.columns[-1] + self.sizes[-1, 0]) + 1)
        self.pixels = self._filled(regions, shape)

    def _filled(self, regions: Sequence[Polygons], shape: tuple[int, int]) -> Pixels:
        ring_lists = [[ring for piece in region for ring in piece] for region in regions]
        counts = [sum(map(len, rings)) for rings in ring_lists]
        region = np.repeat(np.arange(len(ring_lists)), counts)
        start, end = edges(list(chain.from_iterable(ring_lists)), THOUSANDTHS)
        origin = self.origins[region] * THOUSANDTHS
        edge, row, column = crossings(start - origin, end - origin, *self.sizes[region].T)
        pixels = (row + 1) * shape[1] + self.columns[region[edge]] + column
        flips = np.bincount(pixels, minlength=shape[0] * shape[1]).astype(np.uint8) & 1
        # Every row of a region has an even number of flips, so the next row begins outside.
        return np.bitwise_xor.accumulate(flips.reshape(shape), axis=1)

    def masks(self) -> list[Placed]:
        """Return the mask of every region, and its origin."""
        return [
            (self.pixels[1 : 1 + height, at : at + width].view(np.bool_), (x, y))
            for at, (width, height), (x, y) in zip(
                self.columns.tolist(), self.sizes.tolist(), self.origins.tolist(), strict=True
            )
        ]

    def rings(self) -> list[Rings | None]:
        """Return rings() of every region."""
        ys, xs, kinds, below = _turns(self.pixels)
        region = np.searchsorted(self.columns, xs, "right") - 1
        xs += (self.origins[:, 0] - self.columns)[region]
        ys += self.origins[:, 1][region] - 1
        outlines: list[Rings | None] = [[] for _ in self.columns]
        for nth, ring in _walks(xs, ys, kinds, below, region):
            so_far = outlines[nth]
            if ring is None or so_far is None:
                outlines[nth] = None
            else:
                so_far.append(ring)
        return outlines


def rings(mask: Mask, origin: tuple[int, int]) -> Rings | None:
    """Return the outlines [x, y, x, y, …] of a mask along its pixel edges, clockwise.

    None for a mask with a hole, which COCO's polygons cannot express. COCO rasterizes the rings to
    exactly this mask. Pixels that meet only at a corner are separate.

    >>> rings(np.array([[True, True]]), (5, 0))
    [[5, 0, 7, 0, 7, 1, 5, 1]]
    """
    ys, xs, kinds, below = _turns(np.pad(mask, 1).astype(np.uint8))
    outlines = []
    for _, ring in _walks(xs + (origin[0] - 1), ys + (origin[1] - 1), kinds, below, kinds):
        if ring is None:
            return None
        outlines.append(ring)
    return outlines


def _turns(pixels: Pixels) -> tuple[Ints, Ints, Pixels, Ints]:
    """Return the corners of outlines, row by row.

    For each: its y and x, the four pixels around it, and the corner at the other end of its
    vertical edge. The other end of its horizontal edge is its neighbour, at ^ 1. pixels: 0 all
    around. Bits of the four: upper left 1, upper right 2, lower left 4, lower right 8.
    """
    around = pixels[:-1, :-1] | pixels[:-1, 1:] << 1 | pixels[1:, :-1] << 2 | pixels[1:, 1:] << 3
    kinds = around.ravel()
    # Keep corners with one to three pixels. One comparison suffices: 0 − 1 wraps around to 255.
    at = np.flatnonzero(kinds - np.uint8(1) < 14)
    # Where two pixels meet only at this corner, it is a turn of each.
    at = np.repeat(at, _TURNS[kinds[at]])
    kinds = kinds[at]
    ys, xs = np.divmod(at, around.shape[1])
    # In a row, turns 2n and 2n + 1 are the ends of an edge; in a column as well. Of two pixels that
    # meet at a corner, the upper one turns first down the column, even if it is the right one (6).
    down = np.argsort(xs, kind="stable")
    later = np.flatnonzero((at[1:] == at[:-1]) & (kinds[1:] == 6)) + 1
    if len(later):
        swapped = np.arange(len(at))
        swapped[later], swapped[later - 1] = later - 1, later
        down = swapped[down]
    below = np.empty(len(down), np.int64)
    below[down[0::2]], below[down[1::2]] = down[1::2], down[0::2]
    # From here on, coordinates of corners instead of pixel indices.
    return ys.astype(np.int64) + 1, xs.astype(np.int64) + 1, kinds.astype(np.uint8), below


# Number of turns at a raster corner, by the pixels around it.
_TURNS = np.array([0, 1, 1, 0, 1, 0, 2, 1, 1, 2, 0, 1, 0, 1, 1, 0], np.uint8)


def _walks(
    xs: Ints, ys: Ints, kinds: Pixels, below: Ints, region: npt.NDArray[Any]
) -> Iterator[tuple[int, list[int] | None]]:
    """Yield every ring with the region of its first corner; None instead of a hole."""
    if not len(below):
        return
    after = below[np.arange(len(below)) ^ 1].tolist()
    seen = bytearray(len(after))
    order: list[int] = []
    ends: list[int] = []
    for start in range(len(after)):
        if seen[start]:
            continue
        corner = start
        while not seen[corner]:
            seen[corner] = seen[corner ^ 1] = 1
            order.append(corner)
            corner = after[corner]
        ends.append(len(order))
    # Both ends of every edge along a row.
    along = np.array(order, np.int64)
    both = np.stack([along, along ^ 1], axis=1)
    points = np.stack([xs[both], ys[both]], axis=2).ravel().tolist()
    # A ring begins at its highest, then leftmost corner. For a hole, only the pixel below right
    # of it is empty (7).
    begins = [0, *ends[:-1]]
    holes = (kinds[along[begins]] == 7).tolist()
    owners = region[along[begins]].tolist()
    for begin, end, hole, owner in zip(begins, ends, holes, owners, strict=True):
        yield owner, None if hole else points[4 * begin : 4 * end]
