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
from evaluation.scoring.comparing import IntervalEstimate, SubmissionComparison
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
class ScoredColumn(Record):
    """Scores by the newest truth, on the images of the opening truth or on all. images: their
    number.

    Submissions that do not cover the images are missing.
    """

    images: int
    submissions: list[ScoredSubmission]


@dataclass(kw_only=True)
class TruthEffect(Record):
    """What the newest truth changes for a submission.

    version: the truth that it was checked against. images: number of images of the newest truth
    that it covers. ignored: its images that the newest truth lacks. outcomes_changed: number of
    images with another outcome; changed_images has the first of them. ranks: by the opening truth,
    by the newest on the opening's images, by the newest on all; None without a rank. difference:
    newest − opening on the images of both, with a paired interval; unknown for detection.
    """

    name: str
    version: int
    images: int
    ignored: int
    outcomes_changed: int
    changed_images: list[str]
    ranks: list[int | None]
    difference: IntervalEstimate


@dataclass(kw_only=True)
class NewestTruth(Record):
    """The scores by the newest truth. opening_images: on images that the opening truth has too."""

    version: int
    sha256: str
    release: ScoredRelease
    images: int
    classes: int
    objects: int
    opening_images: ScoredColumn
    all_images: ScoredColumn
    effects: list[TruthEffect]


@dataclass(kw_only=True)
class LabeledResult(Record):
    """The result of a run: by the opening truth, and by the newest if there is a later one.

    comparison: of several submissions; None for wsol. objects: the difficulty of the true boxes.
    device, versions: see devices.with_device; older results lack them. label_sets: every version
    with the submissions' scores, if a review of mistakes was applied. truth_versions: the opening
    and the newest; older results lack them. curves (by submission) and class_names are not stored;
    LabeledPages.result_of adds them.
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
    truth_versions: list[int] | None = None
    newest: NewestTruth | None = None
    curves: dict[str, KindCurves] | None = None
    class_names: dict[str, str] | None = None

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        # The oldest results lack these.
        rows = [{"attempts": 1} | row for row in value["submissions"]]
        early: dict[str, object] = {"comparison": None, "objects": None, "notes": []}
        result = super().from_json({**early, **value, "submissions": rows})
        result._restore_results(result.submissions, rows)
        if result.newest is not None:
            for name in ("opening_images", "all_images"):
                stored = value["newest"][name]["submissions"]
                result._restore_results(getattr(result.newest, name).submissions, stored)
        return result

    def _restore_results(
        self, scored: list[ScoredSubmission], rows: list[Mapping[str, Any]]
    ) -> None:
        for submission, stored in zip(scored, rows, strict=True):
            submission.result = RESULTS[self.kind].from_json(stored["result"])
