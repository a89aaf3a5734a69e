"""ILSVRC's localization error and average precision of detection.

Source: Russakovsky et al. (2015), §4.2, §4.3 and Algorithm 2. Pixels are inclusive if a box from 3
to 3 is one pixel wide, as in ILSVRC, and exclusive if it is empty; every function has an argument
for it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Tolerance in pixels for an object of w × h, half of it on each side.
SLACK_PX = 10
# Two boxes with at least this IoU show the same object.
NEEDED_IOU = 0.5
UNDETECTED = -1
Floats = NDArray[np.floating]
Overlap = Callable[[Floats, Floats, bool], NDArray[np.float64]]


@dataclass(frozen=True)
class ClassBoxes:
    """N boxes: indices of their images and classes from 0, and (N, 4) x0 y0 x1 y1, finite."""

    images: NDArray[np.int64]
    classes: NDArray[np.int64]
    corners: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.images)

    def of(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "ClassBoxes":
        return ClassBoxes(self.images[chosen], self.classes[chosen], self.corners[chosen])

    def with_(self, more: "ClassBoxes") -> "ClassBoxes":
        """Return these boxes followed by more."""
        return ClassBoxes(
            np.concatenate([self.images, more.images]),
            np.concatenate([self.classes, more.classes]),
            np.concatenate([self.corners, more.corners]),
        )

    def outside(self, excluded: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (N,) which boxes are not of the (E, 2) excluded images and classes; class −1 means
        all.
        """
        images = int(max(self.images.max(initial=0), excluded[:, 0].max(initial=0))) + 1
        pairs, whole = excluded[excluded[:, 1] >= 0], excluded[excluded[:, 1] < 0]
        in_pairs = np.isin(_keys(self, images), pairs[:, 1] * images + pairs[:, 0])
        return ~in_pairs & ~np.isin(self.images, whole[:, 0])


@dataclass(frozen=True)
class IgnoredObjects:
    """M ignored objects: they need not be found, and finding them is not wrong.

    is_crowd: (M,) whether it is a region with several objects. A detection matches a crowd by the
    share of its own area in it, as in COCO, and other objects by IoU. Any number of detections may
    match the same object.
    """

    objects: ClassBoxes
    is_crowd: NDArray[np.bool_]

    def holds(self, detected: ClassBoxes, iou: float | None) -> NDArray[np.bool_]:
        """Return (D,) whether each detection matches one of them. iou: None for thr(B)."""
        crowds, others = self.objects.of(self.is_crowd), self.objects.of(~self.is_crowd)
        least = NEEDED_IOU if iou is None else iou
        on_crowd = best_overlaps(crowds, detected, inclusive=False, by=pair_coverage) >= least
        if iou is not None:
            return on_crowd | (best_overlaps(others, detected, inclusive=False) >= iou)
        ratio = best_overlaps(others, detected, inclusive=False, by=_share_of_needed)
        return on_crowd | (ratio >= 1)


@dataclass(frozen=True)
class Precisions:
    """The results of C classes.

    ap: (C,), NaN for a class without objects, 0 for one without detections. positives, detections:
    (C,) counts. order: (D,) the detections by class, most confident first; taken: (D,) the object
    that each of these matched, its index in the truth, UNDETECTED if it is wrong.
    """

    ap: NDArray[np.float64]
    positives: NDArray[np.int64]
    detections: NDArray[np.int64]
    order: NDArray[np.int64]
    taken: NDArray[np.int64]

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Return (D,) whether each detection, in `order`, matched an object."""
        return self.taken != UNDETECTED

    @property
    def mean_ap(self) -> float:
        """Return the mean over classes that have objects; NaN if none has."""
        known = self.ap[~np.isnan(self.ap)]
        return float(known.mean()) if len(known) else float("nan")


def pair_iou(
    a: NDArray[np.floating], b: NDArray[np.floating], inclusive: bool
) -> NDArray[np.float64]:
    """Return the IoU of boxes pair by pair: (…, 4) and (…, 4), broadcast; 0 for two empty ones.

    >>> pair_iou(np.array([0, 0, 9, 9]), np.array([-5, -5, 14, 14]), inclusive=True).item()
    0.25
    """
    extra = float(inclusive)
    a, b = np.asarray(a, float), np.asarray(b, float)
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    shared = np.maximum(high - low + extra, 0).prod(axis=-1)
    whole = (a[..., 2:] - a[..., :2] + extra).prod(axis=-1)
    whole = whole + (b[..., 2:] - b[..., :2] + extra).prod(axis=-1) - shared
    return np.where(whole > 0, shared / np.where(whole > 0, whole, 1), 0.0)[()]


def pair_coverage(
    a: NDArray[np.floating], b: NDArray[np.floating], inclusive: bool
) -> NDArray[np.float64]:
    """Return the share of each box of `a` that lies in its box of `b`, as COCO uses it for crowds.

    >>> pair_coverage(np.array([0, 0, 10, 10]), np.array([5, 0, 99, 99]), inclusive=False).item()
    0.5
    """
    extra = float(inclusive)
    low, high = np.maximum(a[..., :2], b[..., :2]), np.minimum(a[..., 2:], b[..., 2:])
    shared = np.maximum(high - low + extra, 0).prod(axis=-1)
    return np.asarray(shared / (a[..., 2:] - a[..., :2] + extra).prod(axis=-1))


def _share_of_needed(
    a: NDArray[np.floating], b: NDArray[np.floating], inclusive: bool
) -> NDArray[np.float64]:
    return pair_iou(a, b, inclusive) / needed_iou(b, inclusive)


def needed_iou(corners: NDArray[np.floating], inclusive: bool) -> NDArray[np.float64]:
    """Return thr(B) of Eq. 5 for boxes (…, 4): 0.5, less for objects under about 25 pixels.

    >>> needed_iou(np.array([[0, 0, 10, 10], [0, 0, 100, 100]]), inclusive=False).tolist()
    [0.25, 0.5]
    """
    sides = np.asarray(corners, float)[..., 2:] - np.asarray(corners, float)[..., :2]
    sides = sides + float(inclusive)
    return np.minimum(NEEDED_IOU, sides.prod(axis=-1) / (sides + SLACK_PX).prod(axis=-1))


def average_precisions(
    truth: ClassBoxes,
    detected: ClassBoxes,
    confidences: NDArray[np.floating],
    classes: int,
    inclusive: bool,
    iou: float | None = None,
) -> Precisions:
    """Return the average precision of every class by Algorithm 2 and the envelope of PASCAL VOC.

    Detections are ordered by confidence, then image, then their order; each takes the unmatched
    object of its class and image with the highest sufficient IoU, the first in a tie. A second
    detection of the same object is wrong. AP is the area under the highest precision at this recall
    or more. iou: required, None for thr(B) of its object. Remove excluded boxes from both first,
    see ClassBoxes.outside().
    """
    order = _by_class(detected, confidences, classes)
    taken = matched(truth, detected.of(order), iou, inclusive)
    positives = np.bincount(truth.classes, minlength=classes)
    detections = np.bincount(detected.classes, minlength=classes)
    ends = np.cumsum(detections)
    ap = np.full(classes, np.nan)
    for class_ in np.flatnonzero(positives).tolist():
        class_matches = taken[ends[class_] - detections[class_] : ends[class_]]
        ap[class_] = envelope_area(class_matches != UNDETECTED) / positives[class_]
    return Precisions(ap, positives, detections, order, taken)


def envelope_area(hits: NDArray[np.bool_]) -> float:
    """Return AP times the number of objects: the sum over hits of the highest precision from there
    on.

    hits: in the order of confidence.

    >>> envelope_area(np.array([True, False, True, True])) == 1 + 3 / 4 + 3 / 4
    True
    """
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(envelope[hits].sum())


def best_overlaps(
    truth: ClassBoxes, detected: ClassBoxes, inclusive: bool, by: Overlap = pair_iou
) -> NDArray[np.float64]:
    """Return (D,) the best IoU of each detected box with an object of its image and class, or 0.

    by: a measure to use instead of IoU.

    >>> boxes = ClassBoxes(np.array([7]), np.array([3]), np.array([[0.0, 0.0, 10.0, 10.0]]))
    >>> best_overlaps(boxes, boxes, inclusive=False).tolist()
    [1.0]
    """
    order, first, end = _candidates(truth, detected)
    row = np.repeat(np.arange(len(detected)), end - first)
    # Indices within each run of candidates, concatenated.
    offset = np.arange(len(row)) - np.repeat(np.cumsum(end - first) - (end - first), end - first)
    of = order[first[row] + offset]
    best = np.zeros(len(detected))
    np.maximum.at(best, row, by(detected.corners[row], truth.corners[of], inclusive))
    return best


def localized(overlaps: NDArray[np.floating], strict: bool = False) -> NDArray[np.bool_]:
    """Return whether boxes with these IoUs are right: §4.2's d(b, B) is 0.

    An IoU of exactly 0.5 is right, as in the published kit; strict: wrong, as in the text.

    >>> localized(np.array([0.5, 0.6])).tolist(), localized(np.array([0.5, 0.6]), True).tolist()
    ([True, True], [False, True])
    """
    return overlaps > NEEDED_IOU if strict else overlaps >= NEEDED_IOU


def _by_class(
    detected: ClassBoxes, confidences: NDArray[np.floating], classes: int
) -> NDArray[np.int64]:
    """Return the order by class, confidence, image and position, three times faster than lexsort.

    An unstable sort by confidence comes first; then the few equal confidences are ordered.
    """
    order = np.argsort(-confidences)
    same = np.diff(confidences[order]) == 0
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    tied_boxes = order[tied]
    order[tied] = tied_boxes[
        np.lexsort((tied_boxes, detected.images[tied_boxes], -confidences[tied_boxes]))
    ]
    # 16-bit integers use radix sort.
    small = np.int16 if classes <= np.iinfo(np.int16).max else np.int64
    return order[np.argsort(detected.classes[order].astype(small), kind="stable")]


def _keys(boxes: ClassBoxes, images: int) -> NDArray[np.int64]:
    """Return sort keys class by class, so that boxes ordered by class are searched close
    together.
    """
    return boxes.classes * images + boxes.images


def _candidates(
    objects: ClassBoxes, detected: ClassBoxes
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of objects by class and image, and each detected box's range in it."""
    images = int(max(objects.images.max(initial=0), detected.images.max(initial=0))) + 1
    keys = _keys(objects, images)
    order = np.argsort(keys, kind="stable")
    detected_keys = _keys(detected, images)
    return (
        order,
        np.searchsorted(keys[order], detected_keys, "left"),
        np.searchsorted(keys[order], detected_keys, "right"),
    )


def matched(
    objects: ClassBoxes, detected: ClassBoxes, iou: float | None, inclusive: bool
) -> NDArray[np.int64]:
    """Return (D,) the unmatched object of its class and image that each detection takes, in order.

    iou: required, None for thr(B) of each object.
    """
    from evaluation.metrics.detection.kernels_matching import match_greedily

    order, first, end = _candidates(objects, detected)
    corners = np.ascontiguousarray(objects.corners[order], np.float64).reshape(-1, 4)
    taken = match_greedily(
        first,
        end,
        np.ascontiguousarray(detected.corners, np.float64).reshape(-1, 4),
        corners,
        needed_iou(corners, inclusive) if iou is None else np.full(len(corners), iou),
        float(inclusive),
    )
    taken[taken != UNDETECTED] = order[taken[taken != UNDETECTED]]
    return taken
