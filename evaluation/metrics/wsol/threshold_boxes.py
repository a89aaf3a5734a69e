"""The boxes of a score map at one threshold; box_scores.py counts them at every threshold.

A slow, plain version to inspect single images.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wsol.box_scores import Floats, Protocol, cut, ious, prepared, truncated


class BestBox(NamedTuple):
    """A box x0, y0, x1, y1 in pixels of the image, None if there is none, and its best IoU."""

    iou: float
    box: list[float] | None


class ThresholdedMap:
    """A map prepared once, with its image's true boxes, to read at any threshold.

    scores: as in the file. boxes: (G, 4) true ones in pixels of the image.
    """

    def __init__(
        self, scores: NDArray[Any], boxes: Floats, width: int, height: int, protocol: Protocol
    ) -> None:
        self.protocol = protocol
        self.levels, self.above = cut(prepared(scores, protocol, width, height), protocol)
        self.sides = np.array([width, height, width, height], np.float64)
        self.reference = protocol.name == "reference"
        self.truth = truncated(boxes, width, height, protocol.size) if self.reference else boxes

    def best(self, k: int) -> BestBox:
        """Return the box at threshold k with the highest IoU with a true box, the first in
        a tie.
        """
        return self._found(boxes_of(self._mask(k), self.reference))

    def largest(self, k: int) -> BestBox:
        """Return the box of the largest component at threshold k."""
        return self._found(largest_box(self._mask(k), self.reference))

    def _mask(self, k: int) -> NDArray[np.bool_]:
        mask: NDArray[np.bool_] = self.levels > self.above[k]
        return mask

    def _found(self, boxes: Floats) -> BestBox:
        if len(boxes) == 0:
            return BestBox(0.0, None)
        fits = ious(boxes, self.truth, self.protocol.name).max(axis=1)
        at = int(fits.argmax())
        box = boxes[at] * self.sides / self.protocol.size if self.reference else boxes[at]
        return BestBox(float(fits[at]), box.tolist())


def boxes_of(mask: NDArray[np.bool_], reference: bool) -> Floats:
    """Return (B, 4) boxes of the components of a mask (8 neighbours); for reference also of holes.

    reference: edges are clipped at the last pixel, and an empty mask has the box 0, 0, 0, 0.
    Otherwise edges are exclusive, and an empty mask has no box.
    """
    from scipy import ndimage

    labels, count = ndimage.label(mask, np.ones((3, 3)))
    if count == 0:
        return np.zeros((int(reference), 4))
    boxes = _extents(labels)
    if not reference:
        return boxes
    beyond = np.pad(~mask, 1, constant_values=True)
    holes = _extents(ndimage.label(beyond)[0])[1:]
    # The contour around a hole runs through its adjacent pixels; the padding adds one.
    holes += np.array([-2, -2, 0, 0])
    return _cut_at_last(np.concatenate([boxes, holes]), mask.shape)


def largest_box(mask: NDArray[np.bool_], reference: bool) -> Floats:
    """Return (1, 4) the box of the largest component, or (0, 4).

    reference: the largest contour area, the last by rows in a tie; an empty mask has the box 0, 0,
    0, 0. Otherwise most pixels, the first by rows in a tie.
    """
    from scipy import ndimage

    labels, count = ndimage.label(mask, np.ones((3, 3)))
    if count == 0:
        return np.zeros((int(reference), 4))
    boxes = _extents(labels)
    if not reference:
        return boxes[np.bincount(labels.ravel())[1:].argmax()][None]
    return _cut_at_last(boxes[_largest_contour(labels, boxes)][None], mask.shape)


def _largest_contour(labels: NDArray[np.int32], boxes: Floats) -> int:
    """Return which component's outer contour encloses most; only candidates are measured."""
    from scipy import ndimage

    sides = (boxes[:, 2:] - boxes[:, :2] - 1).prod(axis=1)
    best, most = -1, -1.0
    for at in np.argsort(-sides, kind="stable"):
        if sides[at] < most:
            break
        x0, y0, x1, y1 = boxes[at].astype(int)
        filled = ndimage.binary_fill_holes(labels[y0:y1, x0:x1] == at + 1)
        area = _contour_area(filled)
        if (area, at) > (most, best):
            best, most = int(at), area
    return best


def _contour_area(filled: NDArray[np.bool_]) -> float:
    """Return the area of the polygon through the outer pixel centres of a set without holes.

    Every four adjacent centres in the set make a square, every three half of one.
    """
    whole = filled.astype(np.int8)
    corners = whole[1:, 1:] + whole[1:, :-1] + whole[:-1, 1:] + whole[:-1, :-1]
    return float((corners == 4).sum() + (corners == 3).sum() / 2)


def _extents(labels: NDArray[np.int32]) -> Floats:
    """Return (B, 4) the box of each label from 1 on, with exclusive right and bottom edges."""
    from scipy import ndimage

    slices = ndimage.find_objects(labels)
    return np.array(
        [(xs.start, ys.start, xs.stop, ys.stop) for ys, xs in slices], np.float64
    ).reshape(-1, 4)


def _cut_at_last(boxes: Floats, shape: tuple[int, ...]) -> Floats:
    height, width = shape
    last = np.array([np.inf, np.inf, width - 1, height - 1])
    cut_boxes: Floats = np.minimum(boxes, last)
    return cut_boxes
