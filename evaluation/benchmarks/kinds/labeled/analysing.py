"""What lies behind a classifier's numbers on released labels: by class, by the scale of things."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from evaluation.benchmarks.kinds.labeled.scoring import Scored, Settings, options_of
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    LOCALIZATION,
    TRUTH,
)
from evaluation.scoring import explaining
from evaluation.scoring.analysis import accuracies, analyse, scales_of

Result = dict[str, Any]
MEASURES = {
    CLASSIFICATION: "accuracy among the first five",
    LOCALIZATION: "localization accuracy",
    DETECTION: "AP",
}


class Analyst:
    """Analyses what several classifiers say to one truth.

    objects: how large, crowded and predictable the true boxes are, as analysis.chance has it; None
    where the truth has no boxes.
    """

    def __init__(self, kind: str, truth: Path, settings: Settings) -> None:
        self.kind, self.truth, self.settings = kind, truth, settings

    @cached_property
    def objects(self) -> Result | None:
        if self.kind not in (LOCALIZATION, DETECTION):
            return None
        options = options_of(self.truth, self.settings)
        return explaining.difficulty(
            explaining.Asked(self.truth / TRUTH, options, sizes_needed=False)
        )

    def of(self, found: Scored) -> Result | None:
        """What lies behind one classifier's result, as analysis.analyse has it; None for wsol,
        whose pixels are told by class already."""
        if self.kind not in MEASURES:
            return None
        images: Mapping[str, int] = found.having
        if found.wrong is not None and found.classes is not None:
            values, images = accuracies(found.wrong, found.classes)
        else:
            aps = {wnid: row["ap"] for wnid, row in found.result["per_class"].items()}
            # A class without objects has none.
            values = {wnid: ap for wnid, ap in aps.items() if ap is not None}
        scales = scales_of(self.objects) if self.objects else None
        return analyse(values, images, MEASURES[self.kind], scales)
