"""Scoring of a benchmark on released labels, as `score KIND` scores the files of its truth.

Outcomes of images are stored in files of the run's folder, scores in the Run.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from evaluation import devices
from evaluation.benchmarks import folders, truth_versions
from evaluation.benchmarks.kind import NEWEST_TRUTH, BenchmarkKind
from evaluation.benchmarks.kinds.labeled import (
    benchmarks,
    newest_truth,
    paths,
    scoring,
    versions,
)
from evaluation.benchmarks.kinds.labeled.earlier_scores import (
    CURVES,
    ERRORS,
    IMAGES,
    SUBMISSIONS,
    EarlierScores,
    ImageErrors,
    read_curves,
    write_errors,
)
from evaluation.benchmarks.kinds.labeled.images import image_index, predictions
from evaluation.benchmarks.kinds.labeled.label_sets import reviews, version_scores
from evaluation.benchmarks.kinds.labeled.results import (
    KindCurves,
    LabeledResult,
    ScoredSubmission,
)
from evaluation.benchmarks.kinds.labeled.settings import TEST, LabeledSettings
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    LOCALIZATION,
    TRUTH,
    WSOL,
)
from evaluation.benchmarks.kinds.labeled.versions import TruthFolder, TruthHistory
from evaluation.benchmarks.scoring_device import scoring_device
from evaluation.benchmarks.submissions import read_all, write_lines
from evaluation.benchmarks.truth_versions import FIRST
from evaluation.models import Benchmark, Run, Submission, TruthVersion
from evaluation.scoring import comparing, explaining
from evaluation.scoring.analysis import Analysis, Difficulty, accuracies, analyse, scales_of
from evaluation.scoring.detection import DetectionResult
from evaluation.scoring.image_lines import OutcomesLine
from evaluation.scoring.mistakes.versions import ScoredVersion
from evaluation.scoring.scored_release import ScoredRelease
from evaluation.scoring.wsol.results import WsolResult
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal
from labeling.files import atomic_write
from labeling.json_text import canonical_sha256
from labeling.models import Release
from labeling.records import to_json
from labeling.releases import freezing

NO_SUBMISSIONS = "There are no submissions yet. Add one, then score."
# Keys of the fingerprint.
LABEL_SETS = "label_sets"
Found = TypeVar("Found")
MEASURES = {
    CLASSIFICATION: "accuracy among the first five",
    LOCALIZATION: "localization accuracy",
    DETECTION: "AP",
}


class LabeledScoring(BenchmarkKind[LabeledResult]):
    """How a benchmark on released labels is scored."""

    def prepare(self, benchmark: Benchmark, run: Run) -> Release:
        return benchmark.own_release

    def score(self, benchmark: Benchmark, release: Release, run: Run) -> LabeledResult:
        """Return the result, and write images.jsonl and, for wsol, curves.json to the run's folder.

        Scores of the last run by the same truth are kept. Raises one of `refusals`.
        """
        keys = (LABEL_SETS, NEWEST_TRUTH, SUBMISSIONS)
        earlier = EarlierScores.of(self.scored_before(benchmark, keys, IMAGES))
        history = TruthHistory.of(benchmark)
        with converting_disk_full(), folders.writing_run(benchmark, run.pk) as folder:
            result = _read_all(
                benchmark, lambda rows: _by_opening(history, release, rows, folder, earlier)
            )
            result.label_sets = _by_versions(benchmark)
            result.truth_versions, result.newest = [FIRST, history.newest], None
            if history.newest > FIRST:
                result.newest = _read_all(
                    benchmark,
                    lambda rows: newest_truth.score(
                        history, rows, result, folder / IMAGES, earlier
                    ),
                )
        return result

    def next_truth(
        self, benchmark: Benchmark, before: TruthVersion, release: Release
    ) -> TruthVersion | None:
        return versions.next_truth(benchmark, before, release)

    def write_truth(self, benchmark: Benchmark, number: int, folder: Path) -> None:
        TruthHistory.of(benchmark).at(number).write(folder)

    def fingerprint(self, benchmark: Benchmark) -> dict[str, object]:
        inputs: dict[str, object] = {
            "release": benchmark.own_release.sha256,
            "settings": canonical_sha256(benchmarks.chosen_of(benchmark).to_json()),
            SUBMISSIONS: [
                list(row) for row in benchmark.submissions.values_list("name", "sha256", "attempts")
            ],
        }
        # Leave these keys out if they are empty: fingerprints of older runs lack them.
        if sets := list(reviews.applied_reviews(benchmark).values_list("sha256", flat=True)):
            inputs[LABEL_SETS] = sets
        if sha256 := truth_versions.later_sha256(benchmark):
            inputs[NEWEST_TRUTH] = sha256
        return inputs

    def stored_result(self, benchmark: Benchmark, run: Run) -> Mapping[str, object]:
        result = super().stored_result(benchmark, run)
        newest = (run.result or {}).get("newest")
        if not benchmark.hides_images or newest is None:
            return result
        effects = [effect | {"changed_images": []} for effect in newest["effects"]]
        return {**result, "newest": newest | {"effects": effects}}

    def result_json(self, benchmark: Benchmark, run: Run) -> Iterator[str]:
        """Yield the run's result as it is stored, with the curves of WSOL."""
        curves = {
            name: kind_curves.to_json()
            for name, kind_curves in curves_of(benchmark, run.pk).items()
        }
        result = {**self.stored_result(benchmark, run), "curves": curves}
        yield from json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(result)
        yield "\n"


def _by_opening(
    history: TruthHistory,
    release: Release,
    rows: list[Submission],
    folder: Path,
    earlier: EarlierScores | None,
) -> LabeledResult:
    if earlier is not None and earlier.are_of(rows):
        folders.copy_files(earlier.folder, folder)
        return earlier.result
    return _result(history.benchmark, release, _written(history, rows, folder, earlier))


def _result(benchmark: Benchmark, release: Release, scored: "_Scores") -> LabeledResult:
    settings, truth = benchmarks.chosen_of(benchmark), benchmarks.truth_of(benchmark)
    result = LabeledResult(
        kind=benchmark.kind,
        settings=settings,
        truth=truth,
        submissions=scored.submissions,
        comparison=scored.comparison(settings),
        objects=scored.analyst.objects,
        notes=[*truth.notes, *_notes(settings, scored.submissions)],
        release=ScoredRelease(number=release.number, sha256=release.sha256),
        code_version=freezing.code_version(),
    )
    return devices.with_device(result, scored.device)


def _by_versions(benchmark: Benchmark) -> list[ScoredVersion] | None:
    """Return every submission's score by every version of the label sets."""
    if benchmark.kind != CLASSIFICATION:
        return None
    return _read_all(benchmark, lambda rows: version_scores.score(benchmark, rows))


def images_path(benchmark: Benchmark, run: int) -> Path:
    """Return images.jsonl of a run: each image's outcome by classifier."""
    return folders.run_folder(benchmark, run) / IMAGES


def curves_of(benchmark: Benchmark, run: int) -> dict[str, KindCurves]:
    """Return classifier → its curves; empty for kinds other than wsol, and if the file is
    missing.
    """
    return read_curves(folders.run_folder(benchmark, run) / CURVES)


class Analyst:
    """Analyses the results of several classifiers on one truth.

    objects: of the true boxes; None for kinds other than localization and detection.
    """

    def __init__(self, kind: str, truth: Path, settings: LabeledSettings) -> None:
        self.kind, self.truth, self.settings = kind, truth, settings

    @cached_property
    def objects(self) -> Difficulty | None:
        if self.kind not in (LOCALIZATION, DETECTION):
            return None
        options = scoring.options_of(self.truth, self.settings)
        return explaining.difficulty(
            explaining.AnalysisInput(self.truth / TRUTH, options, sizes_needed=False)
        )

    def of(self, scored: scoring.SubmissionScores) -> Analysis | None:
        """Return the analysis of one classifier's result; None for wsol."""
        images: Mapping[str, int] = scored.having
        if isinstance(scored.result, DetectionResult):
            aps = {wnid: row.ap for wnid, row in scored.result.per_class.items()}
            # A class without objects has no AP.
            values = {wnid: ap for wnid, ap in aps.items() if ap is not None}
        elif scored.wrong is not None and scored.classes is not None:
            values, images = accuracies(scored.wrong, scored.classes)
        else:
            return None
        scales = scales_of(self.objects) if self.objects else None
        return analyse(values, images, MEASURES[self.kind], scales)


class _Scores:
    """Results collected while the classifiers are scored one by one. device: used for them."""

    def __init__(self, analyst: Analyst) -> None:
        self.analyst = analyst
        self.device = devices.CPU
        self.submissions: list[ScoredSubmission] = []
        self.curves: dict[str, KindCurves] = {}
        self.errors: dict[str, ImageErrors] = {}

    def add(self, row: Submission, scored: scoring.SubmissionScores) -> None:
        if not isinstance(scored.result, WsolResult):
            scored.result.analysis = self.analyst.of(scored)
        if scored.curves is not None:
            self.curves[row.name] = scored.curves
        if scored.wrong is not None and scored.classes is not None:
            self.errors[row.name] = ImageErrors(scored.wrong, scored.classes, scored.settled)
        self._add(ScoredSubmission(name=row.name, attempts=row.attempts, result=scored.result))

    def keep(self, rows: Iterable[Submission], earlier: EarlierScores) -> None:
        """Add the results of these submissions from the last run."""
        curves, errors = read_curves(earlier.folder / CURVES), earlier.errors()
        for row in rows:
            self._add(earlier.scored(row))
            if row.name in curves:
                self.curves[row.name] = curves[row.name]
            if row.name in errors:
                self.errors[row.name] = errors[row.name]

    def put_in_order(self, rows: Iterable[Submission]) -> None:
        """Move everything into the order of the submissions."""
        names = [row.name for row in rows]
        self.submissions.sort(key=lambda submission: names.index(submission.name))
        self.curves = {name: self.curves[name] for name in names if name in self.curves}
        self.errors = {name: self.errors[name] for name in names if name in self.errors}

    def _add(self, submission: ScoredSubmission) -> None:
        if isinstance(submission.result, WsolResult):
            self.device = submission.result.device or devices.CPU
        self.submissions.append(submission)

    def comparison(self, settings: LabeledSettings) -> comparing.SubmissionComparison | None:
        """Return the comparison of several classifiers, if the kind has one."""
        if len(self.submissions) < 2:
            return None
        if self.errors:
            assert settings.confidence is not None
            return _compared(self.errors, settings.confidence, settings.seed or 0)
        # Classifier → class → AP, NaN where the class has no object.
        aps = {
            submission.name: {
                wnid: math.nan if row.ap is None else row.ap
                for wnid, row in submission.result.per_class.items()
            }
            for submission in self.submissions
            if isinstance(submission.result, DetectionResult)
        }
        return (
            comparing.SubmissionComparison(classes_won=comparing.classes_won(aps)) if aps else None
        )


def _compared(
    scored_by_name: Mapping[str, ImageErrors], confidence: float, seed: int
) -> comparing.SubmissionComparison | None:
    """Compare submissions on the images that all of them answer; None if there are none."""
    people = {
        name: scored.settled
        for name, scored in scored_by_name.items()
        if scored.settled is not None
    }
    common = np.logical_and.reduce([*people.values()]) if people else None
    if common is not None and not common.any():
        return None
    wrong, classes = {}, []
    for name, scored in scored_by_name.items():
        kept = np.ones(len(scored.wrong), bool)
        if common is not None:
            # Mask over the images of scored.wrong: those that people settled, or all.
            kept = common if scored.settled is None else common[scored.settled]
        wrong[name] = scored.wrong[kept]
        classes = [scored.classes[index] for index in np.flatnonzero(kept).tolist()]
    return comparing.compare(wrong, classes, confidence, seed, people)


def _read_all(benchmark: Benchmark, read: Callable[[list[Submission]], Found]) -> Found:
    def read_some(rows: list[Submission]) -> Found:
        if not rows:
            raise Refusal(NO_SUBMISSIONS)
        return read(rows)

    return read_all(benchmark, read_some)


def _written(
    history: TruthHistory, rows: list[Submission], folder: Path, earlier: EarlierScores | None
) -> _Scores:
    benchmark = history.benchmark
    truth = paths.truth_folder(benchmark)
    settings = benchmarks.chosen_of(benchmark)
    # Other kinds do not use a GPU.
    device = scoring_device() if benchmark.kind == WSOL else devices.CPU
    scores = _Scores(Analyst(benchmark.kind, truth, settings))
    kept = [row for row in rows if earlier is not None and earlier.has(row)]
    new = [row for row in rows if row not in kept]
    earlier_files, parts = list[Path](), list[Path]()
    opening = TruthFolder(truth)
    if earlier is not None and kept:
        scores.keep(kept, earlier)
        earlier_files.append(earlier.folder / IMAGES)
    try:
        with history.folder_at(FIRST) as with_later_images:
            for row in new:
                scored_by = opening if row.version == FIRST else with_later_images
                scored = newest_truth.scored_by(history, scored_by, FIRST, row, settings, device)
                scores.add(row, scored)
                parts.append(folder / f"{row.position}.part.jsonl")
                lines = scored.outcomes()
                if benchmark.kind == WSOL and row.version != FIRST:
                    lines = newest_truth.with_uncovered(lines, history.opening)
                write_lines(parts[-1], newest_truth.with_name(row.name, lines))
        scores.put_in_order(rows)
        merged = _merged([row.name for row in rows], [*earlier_files, *parts])
        write_lines(folder / IMAGES, merged)
        write_errors(folder / ERRORS, scores.errors)
        # Build the indexes here, so that no page waits for them.
        image_index.index(folder / IMAGES, benchmark.kind)
        predictions.index(folder / IMAGES, benchmark.kind)
        if scores.curves:
            with atomic_write(folder / CURVES) as file:
                file.write(to_json(scores.curves))
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return scores


def _merged(names: list[str], parts: list[Path]) -> Iterator[OutcomesLine]:
    """Yield the outcomes of every classifier image by image.

    One line per file is held in memory. Outcomes of later files replace those of earlier ones.
    """
    with ExitStack() as files:
        opened = [files.enter_context(part.open(encoding="utf-8")) for part in parts]
        for lines in zip(*opened, strict=True):
            yield newest_truth.joined([json.loads(line) for line in lines], names)


def _notes(settings: LabeledSettings, submissions: list[ScoredSubmission]) -> Iterator[str]:
    """Yield a note for each classifier that was scored more than once on a test split."""
    if settings.split != TEST:
        return
    for submission in submissions:
        if submission.attempts > 1:
            yield (
                f"this is a test split, and {submission.name} was scored on it"
                f" {submission.attempts} times: choose settings on another split"
            )
