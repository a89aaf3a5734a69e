"""Boxes that are right: ILSVRC's localization error, and its average precision of detection.

Source: Russakovsky et al. (2015), §4.2, §4.3 and Algorithm 2. Pixels are inclusive where a box from
3 to 3 is one pixel wide, as ILSVRC's boxes are, and exclusive where it is empty; every function is
told which.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# An object of w × h may be missed by this many pixels, half of them on each side.
SLACK_PX = 10


@dataclass(frozen=True)
class Boxes:
    """N boxes: numbers of their images and classes from 0, and (N, 4) x0 y0 x1 y1, finite."""

    images: NDArray[np.int64]
    classes: NDArray[np.int64]
    corners: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.images)

    def of(self, chosen: NDArray[np.bool_] | NDArray[np.int64]) -> "Boxes":
        return Boxes(self.images[chosen], self.classes[chosen], self.corners[chosen])


@dataclass(frozen=True)
class Precisions:
    """What each of C classes came to.

    ap: (C,), NaN for a class without objects, 0 for one without detections. positives, detections:
    (C,) how many counted. order: (D,) the detections that counted, by class, the surest first;
    hits: (D,) whether each of these found its object.
    """

    ap: NDArray[np.float64]
    positives: NDArray[np.int64]
    detections: NDArray[np.int64]
    order: NDArray[np.int64]
    hits: NDArray[np.bool_]

    @property
    def mean_ap(self) -> float:
        """The mean over classes that have objects; NaN where none has."""
        known = self.ap[~np.isnan(self.ap)]
        return float(known.mean()) if len(known) else float("nan")


def pair_iou(
    a: NDArray[np.floating], b: NDArray[np.floating], inclusive: bool
) -> NDArray[np.float64]:
    """IoU of boxes pair by pair: (…, 4) and (…, 4), which are broadcast; 0 for two empty ones.

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


def needed_iou(corners: NDArray[np.floating], inclusive: bool) -> NDArray[np.float64]:
    """thr(B) of Eq. 5 for boxes (…, 4): 0.5, less for objects under about 25 pixels.

    >>> needed_iou(np.array([[0, 0, 10, 10], [0, 0, 100, 100]]), inclusive=False).tolist()
    [0.25, 0.5]
    """
    sides = np.asarray(corners, float)[..., 2:] - np.asarray(corners, float)[..., :2]
    sides = sides + float(inclusive)
    return np.minimum(0.5, sides.prod(axis=-1) / (sides + SLACK_PX).prod(axis=-1))


def average_precisions(
    truth: Boxes,
    found: Boxes,
    confidences: NDArray[np.floating],
    classes: int,
    inclusive: bool,
    excluded: NDArray[np.int64] | None = None,
) -> Precisions:
    """Average precision of every class by Algorithm 2 and the envelope of PASCAL VOC.

    Detections go by confidence, then image, then their order; each takes the object of its class
    and image, free and overlapping enough, that it overlaps most, of equal ones the first. A second
    one of the same object is wrong. excluded: (E, 2) images and classes whose objects and
    detections are left out. AP is the area under the highest precision at this recall or more.
    """
    keep_truth, keep_found = _kept(truth, classes, excluded), _kept(found, classes, excluded)
    objects, chosen = truth.of(keep_truth), np.flatnonzero(keep_found)
    order = chosen[
        np.lexsort((chosen, found.images[chosen], -confidences[chosen], found.classes[chosen]))
    ]
    hits = _matched(objects, found.of(order), classes, inclusive)
    positives = np.bincount(objects.classes, minlength=classes)
    detections = np.bincount(found.classes[order], minlength=classes)
    ends = np.cumsum(detections)
    ap = np.full(classes, np.nan)
    for class_ in np.flatnonzero(positives).tolist():
        own = hits[ends[class_] - detections[class_] : ends[class_]]
        ap[class_] = envelope_area(own) / positives[class_]
    return Precisions(ap, positives, detections, order, hits)


def envelope_area(hits: NDArray[np.bool_]) -> float:
    """Sum over the hits of the highest precision from there on: AP times the number of objects.

    hits: in the order of confidence.

    >>> envelope_area(np.array([True, False, True, True])) == 1 + 3 / 4 + 3 / 4
    True
    """
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(envelope[hits].sum())


def classes_won(ap: NDArray[np.floating]) -> NDArray[np.int64]:
    """(S,) in how many classes each of S submissions has the highest AP.

    ap: (S, C), S at least 1. Submissions that share the highest all win; nobody wins a class where
    it is 0 or NaN.

    >>> classes_won(np.array([[0.5, 0.2, 0.0, np.nan], [0.5, 0.1, 0.0, np.nan]])).tolist()
    [2, 1]
    """
    known = np.nan_to_num(ap, nan=0.0)
    best = known.max(axis=0)
    return ((known == best) & (best > 0)).sum(axis=1)


def localization_errors(
    truth: Sequence[tuple[int, NDArray[np.floating]]],
    predicted: Sequence[tuple[Sequence[int], NDArray[np.floating]]],
    inclusive: bool,
    strict: bool = False,
    k: int = 5,
) -> NDArray[np.bool_]:
    """(N,) whether none of the first k predictions has both the class and one of its boxes.

    truth: for each image its class and the boxes (B, 4) of that class. predicted: up to k classes,
    best first, and a box (K, 4) for each. A box is right from an IoU of 0.5 on, as the published
    kit counts; strict: only above 0.5, as the text says.
    """
    wrong = np.ones(len(truth), bool)
    for image, ((class_, boxes), (named, placed)) in enumerate(zip(truth, predicted, strict=True)):
        own = np.asarray(placed)[:k][np.asarray(named, np.int64)[:k] == class_]
        overlap = pair_iou(own[:, None], np.asarray(boxes)[None], inclusive)
        wrong[image] = not ((overlap > 0.5) if strict else (overlap >= 0.5)).any()
    return wrong


def _keys(boxes: Boxes, classes: int) -> NDArray[np.int64]:
    return boxes.images * classes + boxes.classes


def _kept(boxes: Boxes, classes: int, excluded: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    if excluded is None or not len(excluded):
        return np.ones(len(boxes), bool)
    return ~np.isin(_keys(boxes, classes), excluded[:, 0] * classes + excluded[:, 1])


def _matched(objects: Boxes, found: Boxes, classes: int, inclusive: bool) -> NDArray[np.bool_]:
    """Whether each detection, in their order, finds a free object of its class and image."""
    from evaluation.metrics.compiled_matching import match_greedily

    keys = _keys(objects, classes)
    order = np.argsort(keys, kind="stable")
    own = _keys(found, classes)
    corners = np.ascontiguousarray(objects.corners[order], np.float64).reshape(-1, 4)
    return match_greedily(
        np.searchsorted(keys[order], own, "left"),
        np.searchsorted(keys[order], own, "right"),
        np.ascontiguousarray(found.corners, np.float64).reshape(-1, 4),
        corners,
        needed_iou(corners, inclusive),
        float(inclusive),
    )
