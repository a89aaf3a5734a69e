"""COCO's average precision over several IoUs: 101 recalls, the 100 most confident detections.

Source: Lin et al. (2014) and pycocotools' cocoeval, area "all": of equal confidences the detection
of the earlier image counts first, of equal IoUs the later object is taken.
"""

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.detection.precision import UNDETECTED, ClassBoxes, IgnoredObjects, matched

RECALLS = np.linspace(0, 1, 101)
MAX_DETECTIONS = 100
# Tolerance of pycocotools at a threshold of 1.
SLACK = 1e-10


def precisions(
    truth: ClassBoxes,
    detected: ClassBoxes,
    confidences: NDArray[np.floating],
    classes: int,
    ious: NDArray[np.floating],
    left_out: IgnoredObjects,
) -> NDArray[np.float64]:
    """Return (T, C) the average precision of each class at each IoU; NaN without objects.

    Images are indexed in the order in which equal confidences count. Detections on ignored objects
    are neither right nor wrong.
    """
    kept = _surest(detected, confidences)
    detected, confidences = detected.of(kept), confidences[kept]
    order = np.lexsort((detected.images, -confidences, detected.classes))
    detected = detected.of(order)
    later_first = truth.of(np.arange(len(truth))[::-1])
    positives = np.bincount(truth.classes, minlength=classes)
    ends = np.cumsum(np.bincount(detected.classes, minlength=classes))
    values = np.full((len(ious), classes), np.nan)
    for t, iou in enumerate(ious.tolist()):
        least = min(iou, 1 - SLACK)
        hit = matched(later_first, detected, least, inclusive=False) != UNDETECTED
        counts = hit | ~left_out.holds(detected, least)
        for class_ in np.flatnonzero(positives).tolist():
            run = slice(ends[class_ - 1] if class_ else 0, ends[class_])
            hits = hit[run][counts[run]]
            values[t, class_] = _interpolated(hits, int(positives[class_]))
    return values


def _surest(detected: ClassBoxes, confidences: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the indices of the most confident detections of their class and image, in order."""
    order = np.lexsort((-confidences, detected.classes, detected.images))
    image, class_ = detected.images[order], detected.classes[order]
    starts = np.r_[True, (np.diff(image) != 0) | (np.diff(class_) != 0)][: len(order)]
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    return np.sort(order[np.arange(len(order)) - first < MAX_DETECTIONS])


def _interpolated(hits: NDArray[np.bool_], positives: int) -> float:
    """Return the mean over RECALLS of the highest precision at that recall or more.

    >>> round(_interpolated(np.array([True, False]), 2), 4)
    0.505
    """
    right = np.cumsum(hits)
    precision = right / np.arange(1, len(hits) + 1)
    envelope = np.append(np.maximum.accumulate(precision[::-1])[::-1], 0.0)
    at = np.searchsorted(right / positives, RECALLS, "left")
    return float(envelope[at].mean())
