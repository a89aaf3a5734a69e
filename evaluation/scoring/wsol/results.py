"""WSOL results, and intervals of their accuracies over the images. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from labeling.estimators.intervals import clopper_pearson
from labeling.records import Record

LEVEL = 0.95
Bounds = list[float | None]


@dataclass(kw_only=True)
class Best(Record):
    """The accuracy at its best threshold, the lowest in a tie."""

    accuracy: float | None
    threshold: float


@dataclass(kw_only=True)
class BestByIou(Record):
    """The best accuracy at each required IoU, such as "0.5", and their mean."""

    best: dict[str, Best]
    mean: float | None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        best = {key: Best.from_json(entry) for key, entry in value.items() if key != "mean"}
        return cls(best=best, mean=value["mean"])

    def to_json(self) -> dict[str, Any]:
        plain = super().to_json()
        return {**plain["best"], "mean": plain["mean"]}


@dataclass(kw_only=True)
class Intervals(Record):
    """Bounds of each accuracy; of max_box_acc_v2 by IoU and of their "mean"."""

    level: float
    max_box_acc: Bounds
    max_box_acc_v2: dict[str, Bounds]
    top1_localization: Bounds | None = None


@dataclass(kw_only=True)
class Curves(Record):
    """Accuracies at every threshold; pixels by score."""

    thresholds: list[float]
    box_acc: list[float] | None = None
    box_acc_v2: dict[str, list[float]] | None = None
    px_prec: list[float] | None = None
    px_rec: list[float] | None = None
    px_acc: list[float] | None = None
    score_histogram: list[int] | None = None
    outside_histogram: list[int] | None = None
    inside_histogram: list[int] | None = None
    background_histogram: list[int] | None = None
    foreground_histogram: list[int] | None = None


@dataclass(kw_only=True)
class BoxResult(Record):
    """The result of `score wsol` for boxes. top1_localization, top1_accuracy: with a classifier's
    classes. device: where it was computed. The oldest results lack `intervals`.
    """

    protocol: str
    normalize: str
    scoremaps: str
    images: int
    boxes: int
    max_box_acc: Best
    max_box_acc_v2: BestByIou
    top1_localization: Best | None = None
    top1_accuracy: float | None = None
    curves: Curves | None = None
    intervals: Intervals | None = None
    device: str | None = None


@dataclass(kw_only=True)
class MaskResult(Record):
    """The result of `score wsol` for masks. pxap: over all pixels, mpxap: the mean over classes.

    reason: why pxap is null.
    """

    protocol: str
    normalize: str
    scoremaps: str
    images: int
    masks: int
    pxap: float | None
    mpxap: float | None
    per_class: dict[str, float | None]
    px_acc: Best
    curves: Curves | None = None
    reason: str | None = None


@dataclass(kw_only=True)
class WsolResult(BoxResult):
    """Both results of a submission to a benchmark: masks only where people drew parts."""

    masks: int | None = None
    pxap: float | None = None
    mpxap: float | None = None
    per_class: dict[str, float | None] | None = None
    px_acc: Best | None = None
    reason: str | None = None


def intervals(result: BoxResult) -> Intervals:
    """Return Clopper-Pearson intervals of shares of the images.

    Exact for the accuracy of boxes at a given threshold; ignores that the threshold was chosen on
    the same images. The mean over IoUs is treated as such a share.
    """

    def bounds(value: float | None) -> Bounds:
        if value is None or value != value:
            return [None, None]
        return list(clopper_pearson(value * result.images, result.images, LEVEL))

    by_iou = result.max_box_acc_v2
    top1 = result.top1_localization
    return Intervals(
        level=LEVEL,
        max_box_acc=bounds(result.max_box_acc.accuracy),
        max_box_acc_v2={key: bounds(entry.accuracy) for key, entry in by_iou.best.items()}
        | {"mean": bounds(by_iou.mean)},
        top1_localization=bounds(top1.accuracy) if top1 else None,
    )
