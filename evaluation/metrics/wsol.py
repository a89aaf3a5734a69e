"""Scores of weakly supervised object localization by boxes: MaxBoxAcc and MaxBoxAccV2.

Source: Choe et al., "Evaluation for Weakly Supervised Object Localization" (TPAMI 2022), §4.1. Two
protocols: `paper` is the text, `reference` gives the numbers of the authors' published code. Where
they differ stands in docs/metrics.md.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

PROTOCOLS = ("paper", "reference")
NORMALIZATIONS = ("min-max", "max", "none")
DELTAS = (0.3, 0.5, 0.7)
# From this IoU on the box of the largest component is right.
LARGEST_DELTA = 0.5

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Protocol:
    """How score maps are cut and boxes compared.

    thresholds: how many, at 0, 1/n, 2/n, …. size: side of a score map, and of the picture that
    ground truth is brought to, under `reference`; `paper` works at each image's own size.
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
        if not 1 <= self.thresholds <= 65_000:
            raise ValueError(f"thresholds is {self.thresholds}, expected 1 to 65000")

    @property
    def taus(self) -> Floats:
        """(n,) the thresholds: k times 1/n in floats, as numpy's arange makes them."""
        taus: Floats = np.arange(self.thresholds) * np.float64(1 / self.thresholds)
        return taus


def normalized(scores: NDArray[Any], how: str = "min-max") -> Floats:
    """The score map in [0, 1], as float64.

    min-max: the least score becomes 0, the greatest 1; a constant map becomes 0. max: divided by
    the greatest score, and what is below 0 becomes 0; where no score is above 0, all do. none: as
    it is. Source: Choe et al., table 1.

    >>> normalized(np.array([[1.0, 2.0, 5.0]]))
    array([[0.  , 0.25, 1.  ]])
    """
    values = scores.astype(np.float64)
    if how == "none":
        return values
    highest = values.max()
    if how == "max":
        return np.clip(values / highest, 0.0, 1.0) if highest > 0 else np.zeros_like(values)
    lowest = values.min()
    if lowest == highest:
        return np.zeros_like(values)
    values -= lowest
    values /= values.max()
    return values


def resized(scores: Floats, height: int, width: int) -> Floats:
    """(height, width), bilinear between pixel centres, the outer ones continued to the edge.

    >>> resized(np.array([[0.0, 1.0]]), 1, 4)
    array([[0.  , 0.25, 0.75, 1.  ]])
    """
    if scores.shape == (height, width):
        return scores
    low_y, high_y, part_y = _between(scores.shape[0], height)
    low_x, high_x, part_x = _between(scores.shape[1], width)
    rows = scores[:, low_x] * (1 - part_x) + scores[:, high_x] * part_x
    between: Floats = rows[low_y] * (1 - part_y[:, None]) + rows[high_y] * part_y[:, None]
    return between


def _between(old: int, new: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """For every new place the old ones beside it, and how far it is from the lower."""
    at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    low = np.floor(at).astype(np.int64)
    return low, np.minimum(low + 1, old - 1), at - low


def prepared(scores: NDArray[Any], protocol: Protocol, width: int, height: int) -> Floats:
    """The score map as the protocol scores it on an image of this size, in [0, 1].

    paper: resized to the image, then normalised. reference: normalised.
    """
    if protocol.name == "reference":
        if scores.shape != (protocol.size, protocol.size):
            raise ValueError(f"scores have shape {scores.shape}, expected {protocol.size} squared")
        return normalized(scores, protocol.normalize)
    return normalized(resized(scores.astype(np.float64), height, width), protocol.normalize)


def truncated(boxes: Floats, width: int, height: int, size: int) -> Floats:
    """Boxes of an image in a picture of size × size, cut down to whole numbers.

    >>> truncated(np.array([[10.0, 10.0, 499.0, 374.0]]), 500, 375, 224)
    array([[  4.,   5., 223., 223.]])
    """
    sides = np.array([width, height, width, height], np.float64)
    return np.trunc(boxes.astype(np.float64) * float(size) / sides)


def ious(a: Floats, b: Floats, protocol: str = "paper") -> Floats:
    """(N, M) IoU of every box in a (N, 4) with every box in b (M, 4).

    paper: x1 and y1 exclusive, continuous; 0 for two empty boxes. reference: one pixel more on both
    sides, so a mask of ten pixels a side, whose box ends at x0 + 10, has 100/121 with the ten
    pixels x0 … x0 + 9.

    >>> ious(np.array([[0.0, 0, 10, 10]]), np.array([[0.0, 0, 9, 9]]), "reference").round(2)
    array([[0.83]])
    """
    extra = 1.0 if protocol == "reference" else 0.0
    one, other = a[:, None, :], b[None, :, :]
    sides = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
    both = np.maximum(sides + extra, 0).prod(axis=-1)
    areas = [(box[..., 2:] - box[..., :2] + extra).prod(axis=-1) for box in (one, other)]
    either = areas[0] + areas[1] - both
    return np.divide(both, either, out=np.zeros_like(both), where=either > 0)


def cut(scores: Floats, protocol: Protocol) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """The map in whole levels, and for each threshold the level that a pixel must exceed.

    scores: in [0, 1], normalised. Under `paper` a constant map is 0 everywhere.
    """
    if protocol.name == "reference":
        image = (scores * 255).astype(np.uint8)
        # numpy's float64 times a small integer, as the authors' code multiplies.
        above = (protocol.taus * float(image.max())).astype(np.int64)
        return image.astype(np.uint16), above
    if scores.min() == scores.max():
        levels = np.zeros(scores.shape, np.uint16)
    else:
        levels = np.searchsorted(protocol.taus, scores, side="right").astype(np.uint16)
    return levels, np.arange(protocol.thresholds)


def box_hits(
    scores: Floats, boxes: Floats, protocol: Protocol, deltas: tuple[float, ...] = DELTAS
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(D, n) and (n,): where some box of the map, and that of its largest component, is right.

    At each of the n thresholds: whether the best IoU of the map's boxes with the ground truth
    reaches each delta, and whether that of the box of the largest component reaches 0.5.
    scores: (H, W) in [0, 1]. boxes: (G, 4), in pixels of the map, as the protocol wants them.
    """
    from evaluation.metrics import compiled_boxes

    levels, above = cut(scores, protocol)
    top = 255 if protocol.name == "reference" else protocol.thresholds
    hits = np.zeros((len(deltas), top), np.int32)
    largest = np.zeros(top, np.int32)
    reference = protocol.name == "reference"
    compiled_boxes.hits_of(
        levels,
        np.ascontiguousarray(boxes, np.float64),
        np.array(deltas),
        reference,
        reference,
        True,
        hits,
        largest,
    )
    return hits[:, above] > 0, largest[above] > 0


@dataclass
class BoxScore:
    """Sums over images; add() each image, or join() sums of others, then read result().

    The order of images changes nothing: what is kept are counts.
    """

    protocol: Protocol
    deltas: tuple[float, ...] = DELTAS
    images: int = 0
    named: int = 0
    hits: NDArray[np.int64] = field(init=False)
    largest: NDArray[np.int64] = field(init=False)
    named_largest: NDArray[np.int64] = field(init=False)
    pixels: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        count = self.protocol.thresholds
        self.hits = np.zeros((len(self.deltas), count), np.int64)
        self.largest = np.zeros(count, np.int64)
        self.named_largest = np.zeros(count, np.int64)
        self.pixels = np.zeros(count + 1, np.int64)

    def add(
        self,
        scores: NDArray[Any],
        boxes: Floats,
        width: int,
        height: int,
        named: bool | None = None,
    ) -> None:
        """Takes one image in: its score map, and its boxes in pixels of the image.

        named: whether a classifier gave the image its class, for top-1 localization.
        """
        ready = prepared(scores, self.protocol, width, height)
        if self.protocol.name == "reference":
            boxes = truncated(boxes, width, height, self.protocol.size)
        hits, largest = box_hits(ready, boxes, self.protocol, self.deltas)
        self.images += 1
        self.hits += hits
        self.largest += largest
        if named:
            self.named += 1
            self.named_largest += largest
        self.pixels += score_histogram(ready, self.protocol)

    def join(self, other: "BoxScore") -> None:
        """Takes in what another has summed over other images."""
        self.images += other.images
        self.named += other.named
        for name in ("hits", "largest", "named_largest", "pixels"):
            getattr(self, name).__iadd__(getattr(other, name))

    def result(self, curves: bool = False, top1: bool = False) -> dict[str, Any]:
        """Accuracies as fractions of 1, each with its best threshold: the lowest of equals.

        NaN without images. top1: localization that also wants the class right.
        """
        best = {
            str(delta): self._best(row) for delta, row in zip(self.deltas, self.hits, strict=True)
        }
        mean = float(np.mean([row["accuracy"] for row in best.values()]))
        found: dict[str, Any] = {
            "max_box_acc": self._best(self.largest),
            "max_box_acc_v2": {**best, "mean": mean},
        }
        if top1:
            found["top1_localization"] = self._best(self.named_largest)
            found["top1_accuracy"] = self.named / self.images if self.images else float("nan")
        if curves:
            found["curves"] = {
                "thresholds": self.protocol.taus,
                "box_acc": self._shares(self.largest),
                "box_acc_v2": {
                    str(delta): self._shares(row)
                    for delta, row in zip(self.deltas, self.hits, strict=True)
                },
                "score_histogram": self.pixels,
            }
        return found

    def _shares(self, counts: NDArray[np.int64]) -> Floats:
        return counts / self.images if self.images else np.full(counts.shape, np.nan)

    def _best(self, counts: NDArray[np.int64]) -> dict[str, float]:
        at = int(counts.argmax())
        return {
            "accuracy": float(self._shares(counts)[at]),
            "threshold": float(self.protocol.taus[at]),
        }


def score_histogram(scores: Floats, protocol: Protocol) -> NDArray[np.int64]:
    """(n + 1,) how many scores lie in [τ_k, τ_k+1), and in the last place how many are 1."""
    from evaluation.metrics import compiled_boxes

    counts = np.zeros((1, protocol.thresholds + 1), np.int64)
    compiled_boxes.count_scores(
        scores.ravel(), np.zeros(scores.size, np.uint8), protocol.taus, counts
    )
    return counts[0]


def center_gaussian(height: int, width: int) -> Floats:
    """(height, width) the baseline that looks at nothing: round, and highest in the middle.

    Its spread is 1 where the shorter side reaches from −1 to 1; between pixel centres.
    """
    return _bell(height)[:, None] * _bell(width)[None, :]


def _bell(length: int) -> Floats:
    bell: Floats = np.exp(-0.5 * np.linspace(-1, 1, length) ** 2)
    return bell
