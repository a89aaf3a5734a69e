"""Four findings of the paper, checked against a study."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from evaluation.wsol_study.report.content import (
    ROUNDS,
    Floats,
    StudyContent,
    backbone_title,
    bounds,
    method_title,
)
from evaluation.wsol_study.results import CAM, FSL
from labeling.estimators.intervals import mean_interval
from labeling.records import Record

# FSL exceeds CAM at MAX_PER_CLASS images per class or fewer; τ exceeds MIN_TAU.
MAX_PER_CLASS, MIN_TAU = 10, 0.7


@dataclass(kw_only=True)
class PaperFinding(Record):
    """A claim about a backbone. It is reproduced if the value exceeds `least`.

    value: a difference of fractions, or τ; None if not measured. low, high: its 95 % interval.
    """

    claim: str
    backbone: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: str
    least: float
    reproduced: bool | None

    @property
    def verdict(self) -> str:
        if self.reproduced is None:
            return "not measured"
        words = "reproduced" if self.reproduced else "not reproduced"
        if self.low is None or self.high is None:
            return f"{words}; no interval"
        includes_least = self.low <= self.least < self.high
        return f"{words}; the interval includes {self.least:g}" if includes_least else words


def findings(content: StudyContent) -> list[PaperFinding]:
    return [
        finding for backbone in content.backbones for finding in _of_backbone(content, backbone)
    ]


def _of_backbone(content: StudyContent, backbone: str) -> Iterator[PaperFinding]:
    def finding(
        claim: str, measure: str, values: Floats, methods: list[str], least: float = 0
    ) -> PaperFinding:
        count = sum(t.converged for m in methods for t in content.trials_of(m, backbone))
        n = f"{count} converged trials of {', '.join(map(method_title, methods))}"
        return _finding(claim, backbone, measure, float(values[0]), bounds(values), n, least)

    gain = content.score(CAM, backbone) - content.center_score()
    claim = "The chosen CAM exceeds the center baseline"
    yield finding(claim, "score minus the baseline's", gain, [CAM])
    for method in ("has", "acol"):
        area = content.score(method, backbone, "area") - content.score(CAM, backbone, "area")
        claim = f"The maps of {method_title(method)} cover more than CAM's"
        yield finding(claim, "mean share of s ≥ 0.2, minus CAM's", area, [method, CAM])
    methods = [method for method in content.methods if content.trials_of(method, backbone)]
    taus = [content.tau(method, backbone) for method in methods] or [np.full(1 + ROUNDS, np.nan)]
    claim = f"Rankings on train-fullsup hold on test: τ > {MIN_TAU}"
    yield finding(claim, "mean τ of the methods", np.mean(taus, axis=0), methods, MIN_TAU)
    yield _few_shot(content, backbone)


def _few_shot(content: StudyContent, backbone: str) -> PaperFinding:
    """Compare FSL with CAM at the fewest images per class where FSL is better, else at the most."""
    scores = {
        (row.per_class, row.method, row.sample): row.test
        for row in content.few_shot
        if row.backbone == backbone and row.test is not None
    }
    changes: dict[int, list[float]] = {}
    for (count, method, sample), score in sorted(scores.items()):
        cam = scores.get((count, CAM, sample))
        if method == FSL and cam is not None and count <= MAX_PER_CLASS:
            changes.setdefault(count, []).append(score - cam)
    means = {count: fmean(values) for count, values in changes.items()}
    at = next((count for count, mean in means.items() if mean > 0), max(means, default=0))
    samples = changes.get(at, [])
    claim = f"FSL exceeds CAM at {MAX_PER_CLASS} images per class or fewer"
    measure = f"FSL minus CAM at {at} per class" if at else "FSL minus CAM"
    interval, n = mean_interval(samples) or (None, None), f"{len(samples)} samples of train-fullsup"
    return _finding(claim, backbone, measure, means.get(at, np.nan), interval, n, 0)


def _finding(
    claim: str,
    backbone: str,
    measure: str,
    value: float,
    interval: tuple[float | None, float | None],
    n: str,
    least: float,
) -> PaperFinding:
    is_number = bool(np.isfinite(value))
    return PaperFinding(
        claim=claim,
        backbone=backbone_title(backbone),
        measure=measure,
        value=value if is_number else None,
        low=interval[0],
        high=interval[1],
        n=n,
        least=least,
        reproduced=value > least if is_number else None,
    )
