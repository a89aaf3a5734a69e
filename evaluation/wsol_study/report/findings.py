"""Four findings of the paper that a study is to show again, or not."""

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

# Most images per class at which fsl is to exceed CAM, and the τ that is to be exceeded.
MOST_PER_CLASS, LEAST_TAU = 10, 0.7


@dataclass(kw_only=True)
class PaperFinding(Record):
    """A claim about a backbone, which appears where the value exceeds `least`.

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
    appeared: bool | None

    @property
    def verdict(self) -> str:
        if self.appeared is None:
            return "not measured"
        words = "appeared" if self.appeared else "did not appear"
        if self.low is None or self.high is None:
            return f"{words}; no interval"
        return f"{words}; its interval allows both" if self.low <= self.least < self.high else words


def findings(content: StudyContent) -> list[PaperFinding]:
    return [finding for backbone in content.backbones for finding in _of(content, backbone)]


def _of(content: StudyContent, backbone: str) -> Iterator[PaperFinding]:
    methods = [method for method in content.methods if content.of(method, backbone)]
    taus = [content.tau(method, backbone) for method in methods] or [np.full(1 + ROUNDS, np.nan)]
    cam = content.score(CAM, backbone) - content.center_score()
    claims: list[tuple[str, str, Floats, list[str], float]] = [
        ("The chosen CAM exceeds the center baseline", "score minus the baseline's", cam, [CAM], 0),
        *(
            (
                f"The maps of {method_title(method)} are larger than CAM's",
                "mean share of s ≥ 0.2, minus CAM's",
                content.score(method, backbone, "area") - content.score(CAM, backbone, "area"),
                [method, CAM],
                0,
            )
            for method in ("has", "acol")
        ),
        (
            f"Rankings on train-fullsup hold on test: τ > {LEAST_TAU}",
            "mean τ of the methods",
            np.mean(taus, axis=0),
            methods,
            LEAST_TAU,
        ),
    ]
    for claim, measure, values, of, least in claims:
        converged = sum(trial.converged for method in of for trial in content.of(method, backbone))
        n = f"{converged} converged trials of {', '.join(map(method_title, of))}"
        yield _finding(claim, backbone, measure, float(values[0]), bounds(values), n, least)
    yield _few_shot(content, backbone)


def _few_shot(content: StudyContent, backbone: str) -> PaperFinding:
    """Return whether fsl exceeds CAM: at the fewest images where it does, else at the most."""
    scores = {
        (row.per_class, row.method, row.sample): row.test
        for row in content.few_shot
        if row.backbone == backbone and row.test is not None
    }
    changes: dict[int, list[float]] = {}
    for (count, method, sample), score in sorted(scores.items()):
        cam = scores.get((count, CAM, sample))
        if method == FSL and cam is not None and count <= MOST_PER_CLASS:
            changes.setdefault(count, []).append(score - cam)
    means = {count: fmean(values) for count, values in changes.items()}
    at = next((count for count, mean in means.items() if mean > 0), max(means, default=0))
    return _finding(
        f"FSL exceeds CAM at {MOST_PER_CLASS} images per class or fewer",
        backbone,
        f"FSL minus CAM at {at} a class",
        means.get(at, np.nan),
        mean_interval(changes.get(at, [])) or (None, None),
        f"{len(changes.get(at, []))} samples of train-fullsup",
        0,
    )


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
        appeared=value > least if is_number else None,
    )
