"""The analysis of a classifier's numbers on released labels: by class, by the scale of things."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from evaluation.benchmarks.kinds.labeled.scoring import Scored, options_of
from evaluation.benchmarks.kinds.labeled.settings import Settings
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    LOCALIZATION,
    TRUTH,
)
from evaluation.scoring import explaining
from evaluation.scoring.analysis import Analysis, Difficulty, accuracies, analyse, scales_of
from evaluation.scoring.detection import DetectionResult

MEASURES = {
    CLASSIFICATION: "accuracy among the first five",
    LOCALIZATION: "localization accuracy",
    DETECTION: "AP",
}


class Analyst:
    """Analyses the results of several classifiers on one truth.

    objects: of the true boxes; None where the truth has none.
    """

    def __init__(self, kind: str, truth: Path, settings: Settings) -> None:
        self.kind, self.truth, self.settings = kind, truth, settings

    @cached_property
    def objects(self) -> Difficulty | None:
        if self.kind not in (LOCALIZATION, DETECTION):
            return None
        options = options_of(self.truth, self.settings)
        return explaining.difficulty(
            explaining.Asked(self.truth / TRUTH, options, sizes_needed=False)
        )

    def of(self, found: Scored) -> Analysis | None:
        """The analysis of one classifier's result; None for wsol, which has pixels by class."""
        images: Mapping[str, int] = found.having
        if isinstance(found.result, DetectionResult):
            aps = {wnid: row.ap for wnid, row in found.result.per_class.items()}
            # A class without objects has none.
            values = {wnid: ap for wnid, ap in aps.items() if ap is not None}
        elif found.wrong is not None and found.classes is not None:
            values, images = accuracies(found.wrong, found.classes)
        else:
            return None
        scales = scales_of(self.objects) if self.objects else None
        return analyse(values, images, MEASURES[self.kind], scales)
