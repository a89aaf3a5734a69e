"""Scores of weakly supervised object localization by pixels: PxAP, mPxAP and PxAcc.

Source: Choe et al., "Evaluation for Weakly Supervised Object Localization" (TPAMI 2022), §3.3 and
§4.1. Everything is computed from two histograms per class: scores on the object, and outside it.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wsol.box_scores import Floats, Protocol, add_scores, fitted

BACKGROUND, FOREGROUND, IGNORED = 0, 1, 255

Counts = NDArray[np.int64]


def truth_of(masks: list[NDArray[np.bool_]], ignore: list[NDArray[np.bool_]]) -> NDArray[np.uint8]:
    """Return FOREGROUND inside any mask, else IGNORED inside any ignore region, else BACKGROUND."""
    truth = np.full(masks[0].shape, BACKGROUND, np.uint8)
    for region in ignore:
        truth[region] = IGNORED
    for mask in masks:
        truth[mask] = FOREGROUND
    return truth


def nearest(mask: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """Return (size, size): each pixel from the position of its upper left corner, as in OpenCV.

    >>> nearest(np.array([[True, False, False]]), 2)
    array([[ True, False],
           [ True, False]])
    """
    rows, columns = (
        np.minimum((np.arange(size) * (1 / (size / old))).astype(np.int64), old - 1)
        for old in mask.shape
    )
    return mask[rows[:, None], columns[None, :]]


def curves_of(counts: Counts) -> tuple[Floats, Floats, Floats]:
    """Return (n,) precision, recall and share of right pixels at each threshold; NaN if undefined.

    counts: (2, n + 1) scores outside the object and on it, in the bins [τ_k, τ_k+1), then scores of
    1. A pixel counts as object if its score is in bin k or above.
    """
    false, true = counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, :-1]
    outside, inside = counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision, recall = true / (true + false), true / inside
        right = (true + (outside - false)) / (outside + inside)
    return precision, recall, right


def average_precision(counts: Counts) -> float:
    """Return Σ precision · gain in recall, from the highest threshold down; NaN without an object.

    >>> average_precision(np.array([[2, 0, 0], [0, 0, 2]]))
    1.0
    """
    # An empty bin above 1, as in the authors' code: recall starts at 0.
    false, true = np.pad(counts, ((0, 0), (0, 1)))[:, ::-1].cumsum(axis=1)
    if true[-1] == 0 or false[-1] == 0:
        return float("nan")
    called = (true + false)[1:]
    some = called != 0
    gains = np.diff(true / true[-1])[some]
    return float((true[1:][some] / called[some] * gains).sum())


@dataclass
class MaskScore:
    """Histograms of every class; add() each image, or join() others, then read result().

    Only counts are kept, so the order of images does not matter.
    """

    protocol: Protocol
    images: int = 0
    classes: dict[str, Counts] = field(default_factory=dict)

    def add(self, scores: NDArray[Any], truth: NDArray[np.uint8], label: str) -> None:
        """Add one image. truth: (h, w), from truth_of; ignored pixels do not count.

        paper: the map is resized to the truth. reference: both are size × size.
        """
        scores, scale = fitted(scores, self.protocol, truth.shape[1], truth.shape[0])
        if scores.shape != truth.shape:
            raise ValueError(f"truth has shape {truth.shape}, expected {scores.shape}")
        add_scores(self._counts(label), scores, truth, scale)
        self.images += 1

    def add_counts(self, counts: Counts, labels: list[str]) -> None:
        """Add B images that are already counted: (B, 2, n + 1), and the class of each."""
        for image_counts, label in zip(counts, labels, strict=True):
            self._counts(label).__iadd__(image_counts)
        self.images += len(counts)

    def join(self, score: "MaskScore") -> None:
        """Add the counts of another score, which covers other images."""
        self.images += score.images
        for label, counts in score.classes.items():
            self._counts(label).__iadd__(counts)

    def result(self, curves: bool = False) -> dict[str, Any]:
        """Return pxap over all pixels, mpxap the mean over classes, per_class, and px_acc at its
        best τ.

        A class without object pixels, or without background, has NaN and is left out of the mean.
        reason: why pxap is NaN.
        """
        every = sum(self.classes.values(), np.zeros((2, self.protocol.thresholds + 1), np.int64))
        per_class = {
            label: average_precision(self.classes[label]) for label in sorted(self.classes)
        }
        known = [value for value in per_class.values() if not np.isnan(value)]
        precision, recall, right = curves_of(every)
        best = int(right.argmax())
        results: dict[str, Any] = {
            "pxap": average_precision(every),
            "mpxap": float(np.mean(known)) if known else float("nan"),
            "per_class": per_class,
            "px_acc": {
                "accuracy": float(right[best]),
                "threshold": float(self.protocol.taus[best]),
            },
        }
        if missing := [
            word
            for word, kind in (("background", BACKGROUND), ("object", FOREGROUND))
            if not every[kind].any()
        ]:
            results["reason"] = f"no {' and no '.join(missing)} pixel is left that counts"
        if curves:
            results["curves"] = {
                "thresholds": self.protocol.taus,
                "px_prec": precision,
                "px_rec": recall,
                "px_acc": right,
                "background_histogram": every[BACKGROUND],
                "foreground_histogram": every[FOREGROUND],
            }
        return results

    def _counts(self, label: str) -> Counts:
        return self.classes.setdefault(label, np.zeros((2, self.protocol.thresholds + 1), np.int64))
