"""Scoring of a CDS benchmark.

Rows of sequences are stored in files of the run's folder, tables in the Run.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from evaluation import devices
from evaluation.benchmarks import folders, truth_versions
from evaluation.benchmarks.kind import NEWEST_TRUTH, BenchmarkKind
from evaluation.benchmarks.kinds.cds import benchmarks, newest_truth, next_truth, people
from evaluation.benchmarks.kinds.cds.choosing import SCORED_BY
from evaluation.benchmarks.kinds.cds.newest_truth import CLASSIFIERS, KeptScores
from evaluation.benchmarks.kinds.cds.versions import LINES, SequenceHistory
from evaluation.benchmarks.submissions import missing_notes, read_all, write_lines
from evaluation.benchmarks.truth_versions import FIRST
from evaluation.metrics.wordnet.nouns import load
from evaluation.models import Benchmark, Run, Submission, TruthVersion
from evaluation.readers.frame_predictions import FramePredictions, frame_places, read_predictions
from evaluation.readers.sequences import SequenceLine, write_sequences
from evaluation.scoring.cds import scoring
from evaluation.scoring.cds.result import CdsResult, CdsScoringOptions, NewestSequences
from evaluation.scoring.scored_release import ScoredRelease
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal
from labeling.files import require_file
from labeling.json_text import canonical_sha256
from labeling.models import Release
from labeling.releases import freezing

NO_PREDICTIONS = "There are no predictions yet. Add those of a classifier, then score."
SEQUENCES, ANSWERS = "sequences.jsonl", "answers.jsonl"


class CdsScoring(BenchmarkKind[CdsResult]):
    """How a CDS benchmark is scored."""

    def prepare(self, benchmark: Benchmark, run: Run) -> Release:
        """Return the benchmark's release, after freezing what people named."""
        if (
            benchmark.naming is not None
            and freezing.fingerprint(benchmark.naming)["last_settlement"]
        ):
            freezing.freeze(
                benchmark.naming, run.requested_by, interim=bool(run.settings.get("interim"))
            )
        return benchmark.own_release

    def score(self, benchmark: Benchmark, release: Release, run: Run) -> CdsResult:
        """Return the tables, and write sequences.jsonl and answers.jsonl to the run's folder.

        If only the newest truth changed, the other results are copied from the last run; scores of
        unchanged submissions by the same newest truth are kept. Raises one of `refusals`.
        """
        before = self.scored_before(benchmark, (NEWEST_TRUTH, CLASSIFIERS), SEQUENCES)
        classifiers = self.fingerprint(benchmark)[CLASSIFIERS]
        history = SequenceHistory.of(benchmark)
        with converting_disk_full(), folders.writing_run(benchmark, run.pk) as folder:
            if before is not None and before.settings["signature"][CLASSIFIERS] == classifiers:
                result = CdsResult.from_json(before.result or {})
                folders.copy_files(folders.run_folder(benchmark, before.pk), folder)
            else:
                result = _by_opening(history, release, folder)
            result.truth_versions, result.newest = [FIRST, history.newest], None
            if history.newest > FIRST:
                result.newest = read_all(
                    benchmark,
                    lambda machines: _by_newest(
                        history,
                        result,
                        folder / SEQUENCES,
                        machines,
                        KeptScores.of(before, machines),
                    ),
                )
        return result

    def next_truth(
        self, benchmark: Benchmark, before: TruthVersion, release: Release
    ) -> TruthVersion | None:
        return next_truth.next_truth(benchmark, before, release)

    def write_truth(self, benchmark: Benchmark, number: int, folder: Path) -> None:
        write_sequences(folder / LINES, SequenceHistory.of(benchmark).lines_at(number))

    def fingerprint(self, benchmark: Benchmark) -> dict[str, object]:
        naming, later = benchmark.naming, truth_versions.later_sha256(benchmark)
        inputs: dict[str, object] = {
            "release": benchmark.own_release.sha256,
            # Hashed, because orders and mapping are long and every run stores this.
            "settings": canonical_sha256(benchmark.settings),
            CLASSIFIERS: [
                list(row)
                for row in benchmark.submissions.values_list("name", "sha256", "is_people")
            ],
            "naming": freezing.fingerprint(naming) if naming is not None else None,
        }
        return inputs | ({NEWEST_TRUTH: later} if later else {})

    def obstacle(self, benchmark: Benchmark) -> str:
        naming = benchmark.naming
        if benchmark.submissions.filter(is_people=False).exists():
            return ""
        return (
            ""
            if naming is not None and freezing.fingerprint(naming)["last_settlement"]
            else NO_PREDICTIONS
        )

    def remove_interim(self, run: Run, gone: Sequence[int]) -> None:
        super().remove_interim(run, gone)
        # Also remove interim releases of the naming campaign that no run uses any more.
        naming = run.benchmark.naming
        newest = people.latest(naming)
        if naming is not None and newest is not None:
            freezing.prune(naming, newest)


def _by_opening(history: SequenceHistory, release: Release, folder: Path) -> CdsResult:
    rounds = history.benchmark.settings["bootstrap"]
    predictions = predictions_of(history, FIRST)
    if predictions is None:
        raise Refusal(NO_PREDICTIONS)
    scored = _scored(history.benchmark, predictions, history.opening, rounds)
    write_lines(folder / SEQUENCES, scored.sequences())
    write_lines(folder / ANSWERS, scored.answers())
    result = replace(
        scored.result,
        notes=[
            *scored.result.notes,
            *missing_notes(predictions.missing),
            *people.notes(history.benchmark),
        ],
        release=ScoredRelease(number=release.number, sha256=release.sha256),
        code_version=freezing.code_version(),
    )
    return devices.with_device(result)


def _by_newest(
    history: SequenceHistory,
    opening: CdsResult,
    sequences: Path,
    machines: Sequence[Submission],
    kept: KeptScores | None,
) -> NewestSequences:
    changed = [row for row in machines if kept is None or row.name not in kept.names]
    predictions = _joined(_each(history, history.newest, changed))
    if predictions is None:
        return newest_truth.score(history, opening, sequences, None, kept)

    def scored(lines: Sequence[SequenceLine]) -> scoring.CdsScores:
        return _scored(history.benchmark, predictions, lines, bootstrap=0)

    return newest_truth.score(history, opening, sequences, scored, kept)


def _scored(
    benchmark: Benchmark,
    predictions: FramePredictions,
    lines: Sequence[SequenceLine],
    bootstrap: int,
) -> scoring.CdsScores:
    chosen = {key: benchmark.settings[key] for key in SCORED_BY} | {"bootstrap": bootstrap}
    people_names = benchmark.submissions.filter(is_people=True).values_list("name", flat=True)
    return scoring.score(
        lines,
        predictions,
        load(),
        CdsScoringOptions(**chosen, people=tuple(people_names)),
        mapping=benchmark.settings["mapping"],
    )


def predictions_of(history: SequenceHistory, number: int) -> FramePredictions | None:
    """Return every classifier's answer to every frame of a version, people last; None without any.

    Raises BadInput for a file that is missing or does not fit.
    """
    return read_all(history.benchmark, lambda rows: _joined(_each(history, number, rows)))


def _joined(each: Iterable[FramePredictions]) -> FramePredictions | None:
    joined: FramePredictions | None = None
    for predictions in each:
        joined = predictions if joined is None else joined.joined(predictions)
    return joined


def _each(
    history: SequenceHistory, number: int, machines: Iterable[Submission]
) -> Iterator[FramePredictions]:
    """Yield the predictions of every file, then people's; only one is held in memory.

    Frames that are not in the version that a file was checked against count as not asked.
    """
    benchmark, lines = history.benchmark, history.lines_at(number)
    frames = frame_places(lines)
    for row in machines:
        path = benchmarks.predictions_path(row)
        require_file(path, "upload the classifier's predictions again")
        later = () if row.version == number else frames.keys() - history.frames_at(row.version)
        yield read_predictions(
            path,
            lines,
            frames,
            optional=later,
            ignored=history.every_frame,
            missing_count_as_wrong=True,
        )
    people_predictions = (
        people.predictions(benchmark, frames) if benchmark.naming is not None else None
    )
    if people_predictions is not None:
        yield people_predictions
