"""The result of a run, as stored and as pages read it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from evaluation.benchmarks.kinds.labeled.settings import LabeledSettings
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    LOCALIZATION,
    WSOL,
    TruthCounts,
)
from evaluation.scoring.analysis import Difficulty
from evaluation.scoring.classification import ClassificationResult
from evaluation.scoring.comparing import SubmissionComparison
from evaluation.scoring.detection import DetectionResult
from evaluation.scoring.localization import LocalizationResult
from evaluation.scoring.mistakes.versions import ScoredVersion
from evaluation.scoring.scored_release import ScoredRelease
from evaluation.scoring.wsol.results import Curves, WsolResult
from labeling.records import Record

KindResult = ClassificationResult | LocalizationResult | DetectionResult | WsolResult
RESULTS: dict[str, type[KindResult]] = {
    CLASSIFICATION: ClassificationResult,
    LOCALIZATION: LocalizationResult,
    DETECTION: DetectionResult,
    WSOL: WsolResult,
}


@dataclass(kw_only=True)
class ScoredSubmission(Record):
    """A submission's result: as printed by `score KIND`, with the analysis of classes and without
    curves.
    """

    name: str
    attempts: int
    result: KindResult


@dataclass(kw_only=True)
class KindCurves(Record):
    """The curves of `score wsol --curves`; masks only where people drew parts."""

    boxes: Curves | None = None
    masks: Curves | None = None


@dataclass(kw_only=True)
class LabeledResult(Record):
    """The result of a run.

    comparison: of several submissions; None for wsol. objects: of true boxes. device, versions: see
    devices.with_device; older results lack them. label_sets: every version with the submissions'
    scores, if a review of mistakes was applied. curves (by submission) and class_names are not
    stored; LabeledPages.result_of adds them.
    """

    kind: str
    settings: LabeledSettings
    truth: TruthCounts
    submissions: list[ScoredSubmission]
    comparison: SubmissionComparison | None
    objects: Difficulty | None
    notes: list[str]
    release: ScoredRelease
    code_version: str
    device: str | None = None
    versions: dict[str, str] | None = None
    label_sets: list[ScoredVersion] | None = None
    curves: dict[str, KindCurves] | None = None
    class_names: dict[str, str] | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        # The oldest results lack these.
        rows = [{"attempts": 1} | row for row in value["submissions"]]
        early: dict[str, object] = {"comparison": None, "objects": None, "notes": []}
        result = super().from_json({**early, **value, "submissions": rows})
        for submission, stored in zip(result.submissions, rows, strict=True):
            submission.result = RESULTS[result.kind].from_json(stored["result"])
        return result
