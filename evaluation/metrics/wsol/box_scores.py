"""Scores of weakly supervised object localization by boxes: MaxBoxAcc and MaxBoxAccV2.

Source: Choe et al., "Evaluation for Weakly Supervised Object Localization" (TPAMI 2022), §4.1. Two
protocols: `paper` is the text, `reference` gives the numbers of the authors' published code.
docs/reference/metrics.md lists the differences.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

PROTOCOLS = ("paper", "reference")
NORMALIZATIONS = ("min-max", "max", "none")
MAX_THRESHOLDS = 65_000
# Side of a score map, in pixels.
LARGEST_SIZE = 4096
DELTAS = (0.3, 0.5, 0.7)
# Required IoU of the largest component's box.
LARGEST_DELTA = 0.5

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Protocol:
    """How score maps are thresholded and boxes compared.

    thresholds: their number, at 0, 1/n, 2/n, …. size: side of a score map, and of the image that
    the ground truth is scaled to, under `reference`; `paper` works at each image's own size.
    """

    name: str = "paper"
    normalize: str = "min-max"
    thresholds: int = 1000
    size: int = 224

    def __post_init__(self) -> None:
        if self.name not in PROTOCOLS:
            raise ValueError(f"protocol is {self.name!r}, expected one of {PROTOCOLS}")
        if self.normalize not in NORMALIZATIONS:
            raise ValueError(f"normalize is {self.normalize!r}, expected one of {NORMALIZATIONS}")
        if not 1 <= self.thresholds <= MAX_THRESHOLDS:
            raise ValueError(f"thresholds is {self.thresholds}, expected 1 to {MAX_THRESHOLDS}")

    @property
    def taus(self) -> Floats:
        """Return the (n,) thresholds: k times 1/n in floats, as numpy's arange makes them."""
        taus: Floats = np.arange(self.thresholds) * np.float64(1 / self.thresholds)
        return taus


def normalized(scores: NDArray[Any], how: str = "min-max") -> Floats:
    """Return the score map in [0, 1], as float64.

    min-max: the lowest score becomes 0, the highest 1; a constant map becomes 0. max: divided by
    the highest score, negative scores become 0; if no score is positive, all do. none: unchanged.
    Source: Choe et al., table 1.

    >>> normalized(np.array([[1.0, 2.0, 5.0]]))
    array([[0.  , 0.25, 1.  ]])
    """
    low, span = scale_of(scores, how)
    return np.clip((scores.astype(np.float64) - low) / span, 0.0, 1.0)


def scale_of(scores: NDArray[Any], how: str) -> tuple[float, float]:
    """Return (low, span) such that (s − low) / span, clipped to [0, 1], is the normalized score s.

    A constant map has an infinite span, so all its scores become 0.
    """
    if how == "none":
        return 0.0, 1.0
    low = float(scores.min()) if how == "min-max" else 0.0
    span = float(scores.max()) - low
    return low, span if span > 0 else math.inf


def resized(scores: NDArray[Any], height: int, width: int) -> Floats:
    """Return the map in (height, width), bilinear between pixel centres, extended to the edges.

    >>> resized(np.array([[0.0, 1.0]]), 1, 4)
    array([[0.  , 0.25, 0.75, 1.  ]])
    """
    from evaluation.metrics.wsol import kernels_levels

    if scores.shape == (height, width):
        return scores.astype(np.float64)
    stretched: Floats = kernels_levels.stretched(plain(scores), height, width)
    return stretched


def plain(scores: NDArray[Any]) -> NDArray[Any]:
    """Return the scores for the compiled loops: float32 if it represents them exactly, else
    float64.
    """
    kind = np.float32 if scores.dtype.itemsize <= 4 else np.float64
    return np.require(scores, kind, ["C", "W"])


def fitted(
    scores: NDArray[Any], protocol: Protocol, width: int, height: int
) -> tuple[NDArray[Any], tuple[float, float]]:
    """Return the score map at the size at which it is scored, and the scale that normalizes it.

    paper: the size of its image, (height, width); the scale is that of the resized map. reference:
    the map's own size.
    """
    check_size(scores, protocol)
    if protocol.name == "paper" and scores.shape != (height, width):
        scores = resized(scores, height, width)
    return plain(scores), scale_of(scores, protocol.normalize)


def check_size(scores: NDArray[Any], protocol: Protocol) -> None:
    """Raise ValueError for a map that `reference` does not accept."""
    if protocol.name == "reference" and scores.shape != (protocol.size, protocol.size):
        raise ValueError(f"scores have shape {scores.shape}, expected {protocol.size} squared")


def prepared(scores: NDArray[Any], protocol: Protocol, width: int, height: int) -> Floats:
    """Return the score map as the protocol scores it on an image of this size, in [0, 1].

    paper: resized to the image, then normalized. reference: normalized.
    """
    return normalized(fitted(scores, protocol, width, height)[0], protocol.normalize)


def truncated(boxes: Floats, width: int, height: int, size: int) -> Floats:
    """Return the boxes of an image scaled to size × size and truncated to integers.

    >>> truncated(np.array([[10.0, 10.0, 499.0, 374.0]]), 500, 375, 224)
    array([[  4.,   5., 223., 223.]])
    """
    sides = np.array([width, height, width, height], np.float64)
    return np.trunc(boxes.astype(np.float64) * float(size) / sides)


def ious(a: Floats, b: Floats, protocol: str = "paper") -> Floats:
    """Return the (N, M) IoU of every box in a (N, 4) with every box in b (M, 4).

    paper: x1 and y1 exclusive, continuous; 0 for two empty boxes. reference: both sides are one
    pixel longer, so a mask of ten pixels a side, whose box ends at x0 + 10, has 100/121 with the
    ten pixels x0 … x0 + 9.

    >>> ious(np.array([[0.0, 0, 10, 10]]), np.array([[0.0, 0, 9, 9]]), "reference").round(2)
    array([[0.83]])
    """
    extra = 1.0 if protocol == "reference" else 0.0
    first, second = a[:, None, :], b[None, :, :]
    sides = np.minimum(first[..., 2:], second[..., 2:]) - np.maximum(
        first[..., :2], second[..., :2]
    )
    both = np.maximum(sides + extra, 0).prod(axis=-1)
    areas = [(box[..., 2:] - box[..., :2] + extra).prod(axis=-1) for box in (first, second)]
    either = areas[0] + areas[1] - both
    return np.divide(both, either, out=np.zeros_like(both), where=either > 0)


def cut(scores: Floats, protocol: Protocol) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return the map as integer levels, and for each threshold the level that a pixel must exceed.

    scores: in [0, 1], normalized. Under `paper` a constant map is 0 everywhere.
    """
    if protocol.name == "reference":
        image = (scores * 255).astype(np.uint8)
        # numpy's float64 times a small integer, as in the authors' code.
        above = (protocol.taus * float(image.max())).astype(np.int64)
        return image.astype(np.uint16), above
    if scores.min() == scores.max():
        levels = np.zeros(scores.shape, np.uint16)
    else:
        levels = np.searchsorted(protocol.taus, scores, side="right").astype(np.uint16)
    return levels, np.arange(protocol.thresholds)


def box_hits(
    scores: NDArray[Any],
    boxes: Floats,
    protocol: Protocol,
    deltas: tuple[float, ...] = DELTAS,
    scale: tuple[float, float] = (0.0, 1.0),
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return (D, n) and (n,): whether any box of the map, and its largest component's box, is
    right.

    At each of the n thresholds: whether the best IoU of the map's boxes with the ground truth
    reaches each delta, and whether that of the largest component's box reaches 0.5. scores: (H, W),
    in [0, 1] or with the scale that normalizes them. boxes: (G, 4), in pixels of the map, as the
    protocol requires them.
    """
    from evaluation.metrics.wsol import kernels_boxes
    from evaluation.metrics.wsol.kernels_levels import Scale

    truth = (np.require(boxes, np.float64, ["C", "W"]), np.array(deltas))
    scaled_map = (plain(scores), Scale(*scale))
    if protocol.name == "paper":
        hits, largest = kernels_boxes.step_hits(*scaled_map, protocol.thresholds, *truth)
        return hits, largest
    hits, largest, highest = kernels_boxes.byte_hits(*scaled_map, *truth)
    # numpy's float64 times a small integer, as in the authors' code.
    above = (protocol.taus * float(highest)).astype(np.int64)
    return hits[:, above], largest[above]


@dataclass
class BoxScore:
    """Sums over images; add() each image, or join() other sums, then read result().

    Only counts are kept, so the order of images does not matter. histograms: also count scores, for
    the curves.
    """

    protocol: Protocol
    deltas: tuple[float, ...] = DELTAS
    histograms: bool = False
    images: int = 0
    class_hits: int = 0
    hits: NDArray[np.int64] = field(init=False)
    largest: NDArray[np.int64] = field(init=False)
    named_largest: NDArray[np.int64] = field(init=False)
    pixels: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        count = self.protocol.thresholds
        self.hits = np.zeros((len(self.deltas), count), np.int64)
        self.largest = np.zeros(count, np.int64)
        self.named_largest = np.zeros(count, np.int64)
        self.pixels = np.zeros((2, count + 1), np.int64)

    def add(
        self,
        scores: NDArray[Any],
        boxes: Floats,
        width: int,
        height: int,
        class_right: bool | None = None,
    ) -> None:
        """Add one image: its score map, and its boxes in pixels of the image.

        class_right: whether a classifier gave the image its class, for top-1 localization.
        """
        scores, scale = fitted(scores, self.protocol, width, height)
        if self.protocol.name == "reference":
            boxes = truncated(boxes, width, height, self.protocol.size)
        hits, largest = box_hits(scores, boxes, self.protocol, self.deltas, scale)
        self.add_hits(hits[None], largest[None], [class_right])
        if self.histograms:
            inside = covered(boxes, scores.shape, self.protocol.name)
            add_scores(self.pixels, scores, inside, scale)

    def add_hits(
        self,
        hits: NDArray[np.bool_],
        largest: NDArray[np.bool_],
        classes_right: Sequence[bool | None],
    ) -> None:
        """Add the result of box_hits for B images, (B, D, n) and (B, n), and classes_right (B,)."""
        right = np.array([bool(is_right) for is_right in classes_right])
        self.images += len(hits)
        self.hits += hits.sum(axis=0)
        self.largest += largest.sum(axis=0)
        self.class_hits += int(right.sum())
        self.named_largest += largest[right].sum(axis=0)

    def join(self, score: "BoxScore") -> None:
        """Add the sums of another score, which covers other images."""
        self.images += score.images
        self.class_hits += score.class_hits
        for name in ("hits", "largest", "named_largest", "pixels"):
            getattr(self, name).__iadd__(getattr(score, name))

    def result(self, curves: bool = False, top1: bool = False) -> dict[str, Any]:
        """Return accuracies in [0, 1], each with its best threshold, the lowest in a tie.

        NaN without images. top1: localization that also requires the right class. curves: needs
        histograms.
        """
        best = {
            str(delta): self._best(row) for delta, row in zip(self.deltas, self.hits, strict=True)
        }
        mean = float(np.mean([row["accuracy"] for row in best.values()]))
        results: dict[str, Any] = {
            "max_box_acc": self._best(self.largest),
            "max_box_acc_v2": {**best, "mean": mean},
        }
        if top1:
            results["top1_localization"] = self._best(self.named_largest)
            results["top1_accuracy"] = (
                self.class_hits / self.images if self.images else float("nan")
            )
        if curves:
            results["curves"] = {
                "thresholds": self.protocol.taus,
                "box_acc": self._shares(self.largest),
                "box_acc_v2": {
                    str(delta): self._shares(row)
                    for delta, row in zip(self.deltas, self.hits, strict=True)
                },
                "score_histogram": self.pixels.sum(axis=0),
                "outside_histogram": self.pixels[0],
                "inside_histogram": self.pixels[1],
            }
        return results

    def _shares(self, counts: NDArray[np.int64]) -> Floats:
        return counts / self.images if self.images else np.full(counts.shape, np.nan)

    def _best(self, counts: NDArray[np.int64]) -> dict[str, float]:
        at = int(counts.argmax())
        return {
            "accuracy": float(self._shares(counts)[at]),
            "threshold": float(self.protocol.taus[at]),
        }


def covered(boxes: Floats, shape: tuple[int, ...], protocol: str) -> NDArray[np.uint8]:
    """Return (H, W) 1 at the pixels whose centre is in a box in pixels of the map, else 0.

    reference: the last pixel of a box is included.

    >>> covered(np.array([[1.0, 0.0, 2.4, 1.0]]), (1, 4), "paper")
    array([[0, 1, 0, 0]], dtype=uint8)
    """
    inside = np.zeros(shape, np.uint8)
    last = np.array([0, 0, 1, 1])
    ends = boxes + last if protocol == "reference" else np.ceil(boxes - 0.5)
    for x0, y0, x1, y1 in ends.astype(np.int64):
        inside[y0:y1, x0:x1] = 1
    return inside


def add_scores(
    counts: NDArray[np.int64],
    scores: NDArray[Any],
    kinds: NDArray[np.uint8],
    scale: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Count each score in [τ_k, τ_k+1), and scores of 1 in the last bin.

    counts: (K, n + 1), a row per kind. scores: (H, W), in [0, 1] or with the scale that normalizes
    them. kinds: (H, W); kinds without a row are ignored.
    """
    from evaluation.metrics.wsol import kernels_levels

    kernels_levels.count_scores(
        plain(scores).ravel(), kernels_levels.Scale(*scale), kinds.ravel(), counts
    )


def center_gaussian(height: int, width: int) -> Floats:
    """Return the (height, width) Gaussian around the centre, a baseline that ignores the image.

    Each side spans −1 to 1 between the centres of its end pixels, and the deviation is 1 along
    both.
    """
    return _bell(height)[:, None] * _bell(width)[None, :]


def _bell(length: int) -> Floats:
    bell: Floats = np.exp(-0.5 * np.linspace(-1, 1, length) ** 2)
    return bell
