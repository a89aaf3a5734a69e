"""Scoring of a CDS benchmark.

The rows of each sequence go to files in the run's folder, the tables into the Run.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from evaluation import devices
from evaluation.benchmarks import folders
from evaluation.benchmarks.kind import BenchmarkKind
from evaluation.benchmarks.kinds.cds import benchmarks, people
from evaluation.benchmarks.kinds.cds.choosing import SCORED_BY
from evaluation.benchmarks.submissions import read_all, write_lines
from evaluation.metrics.wordnet.nouns import load
from evaluation.models import Benchmark, Run, Submission
from evaluation.readers.frame_predictions import FramePredictions, frame_places, read_predictions
from evaluation.scoring.cds import scoring
from evaluation.scoring.cds.result import CdsResult, CdsScoringOptions
from evaluation.scoring.scored_release import ScoredRelease
from labeling.errors import Refusal
from labeling.files import require_file
from labeling.json_text import canonical_sha256
from labeling.models import Release
from labeling.releases import freezing

NOBODY = "There are no predictions yet. Add those of a classifier, then score."
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

        Raises one of `refusals`.
        """
        predictions = predictions_of(benchmark)
        if predictions is None:
            raise Refusal(NOBODY)
        chosen = benchmark.settings
        people_names = benchmark.submissions.filter(is_people=True).values_list("name", flat=True)
        scored = scoring.score(
            benchmarks.lines_of(benchmark),
            predictions,
            load(),
            CdsScoringOptions(
                **{key: chosen[key] for key in SCORED_BY}, people=tuple(people_names)
            ),
            mapping=chosen["mapping"],
        )
        with folders.writing_run(benchmark, run.pk) as folder:
            write_lines(folder / SEQUENCES, scored.sequences())
            write_lines(folder / ANSWERS, scored.answers())
        result = replace(
            scored.result,
            notes=[*scored.result.notes, *people.notes(benchmark)],
            release=ScoredRelease(number=release.number, sha256=release.sha256),
            code_version=freezing.code_version(),
        )
        return devices.with_device(result)

    def fingerprint(self, benchmark: Benchmark) -> dict[str, object]:
        naming = benchmark.naming
        return {
            "release": benchmark.own_release.sha256,
            # Hashed, because orders and mapping are long and every run stores this.
            "settings": canonical_sha256(benchmark.settings),
            "classifiers": [
                list(row)
                for row in benchmark.submissions.values_list("name", "sha256", "is_people")
            ],
            "naming": freezing.fingerprint(naming) if naming is not None else None,
        }

    def obstacle(self, benchmark: Benchmark) -> str:
        naming = benchmark.naming
        if benchmark.submissions.filter(is_people=False).exists():
            return ""
        return (
            "" if naming is not None and freezing.fingerprint(naming)["last_settlement"] else NOBODY
        )

    def remove_interim(self, run: Run, gone: Sequence[int]) -> None:
        super().remove_interim(run, gone)
        # Interim releases of what people named, which no run uses any more.
        naming = run.benchmark.naming
        newest = people.latest(naming)
        if naming is not None and newest is not None:
            freezing.prune(naming, newest)


def predictions_of(benchmark: Benchmark) -> FramePredictions | None:
    """Return every classifier's answer to every frame, people last; None without any.

    Raises BadInput for a file that is missing or does not fit.
    """
    return read_all(benchmark, lambda rows: _joined(_each(benchmark, rows)))


def _joined(each: Iterable[FramePredictions]) -> FramePredictions | None:
    joined: FramePredictions | None = None
    for predictions in each:
        joined = predictions if joined is None else joined.joined(predictions)
    return joined


def _each(benchmark: Benchmark, machines: Iterable[Submission]) -> Iterator[FramePredictions]:
    """Yield the predictions of every file, then people's; only one is held in memory."""
    lines = benchmarks.lines_of(benchmark)
    frames = frame_places(lines)
    for row in machines:
        path = benchmarks.predictions_path(row)
        require_file(path, "upload the classifier's predictions again")
        yield read_predictions(path, lines, frames)
    people_predictions = people.predictions(benchmark) if benchmark.naming is not None else None
    if people_predictions is not None:
        yield people_predictions
