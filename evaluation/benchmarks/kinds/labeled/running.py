"""How a benchmark on released labels is scored: as `score KIND` scores the files of its truth.

Called by kind.py. What a run says of each image goes to files in its folder, the figures into the
Run.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.labeled import benchmarks, paths, scoring
from evaluation.benchmarks.kinds.labeled.analysing import Analyst
from evaluation.benchmarks.kinds.labeled.benchmarks import COUNTS
from evaluation.benchmarks.kinds.labeled.images import image_index
from evaluation.benchmarks.kinds.labeled.settings import TEST
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import DETECTION
from evaluation.models import Benchmark, Run, Submission
from evaluation.scoring import comparing
from labeling.errors import Refusal
from labeling.files import BadInput, atomic_write
from labeling.jobs.image_store import saying_full
from labeling.management.contract import to_json
from labeling.models import Release
from labeling.release_files.frozen import canonical
from labeling.releases import freezing

# images.jsonl: {"image", "classes", "truth", "outcomes": {classifier: outcome}} a line.
# curves.json: {classifier: {"boxes": …, "masks": …}} as `score wsol --curves` has them.
NOBODY = "Nobody takes part yet. Add a submission, then score."
IMAGES, CURVES = "images.jsonl", "curves.json"


def score(benchmark: Benchmark, release: Release, run: Run) -> dict[str, Any]:
    """{"kind", "settings", "truth", "submissions": [{"name", "attempts", "result"}], "comparison",
    "objects", "notes", "release", "code_version"} of strict JSON values; images.jsonl and, of wsol,
    curves.json lie in the run's folder.

    result: as scoring.Scored has it, with the `analysis` of analysing.py. objects: of true boxes,
    as analysis.chance has it. comparison: of several submissions, as comparing.compare has it;
    {"classes_won"} of detection; None for wsol. Raises one of the kind's refusals.
    """
    folder = folders.run_folder(benchmark, run.pk)
    folder.mkdir(parents=True, exist_ok=True)
    with saying_full():
        scored = _scored(benchmark, folder)
    result = {
        "kind": benchmark.kind,
        "settings": benchmarks.chosen_of(benchmark),
        "truth": benchmark.settings[COUNTS],
        "submissions": scored.results,
        "comparison": scored.comparison(benchmark),
        "objects": scored.analyst.objects,
        "notes": [*benchmark.settings[COUNTS]["notes"], *_notes(benchmark, scored.results)],
        "release": {"number": release.number, "sha256": release.sha256},
        "code_version": freezing.code_version(),
    }
    plain: dict[str, Any] = json.loads(to_json(result))
    return plain


def images_path(benchmark: Benchmark, run: int) -> Path:
    """images.jsonl of a run: what is said of each image, by every classifier."""
    return folders.run_folder(benchmark, run) / IMAGES


def curves_of(benchmark: Benchmark, run: int) -> dict[str, Any]:
    """Classifier → its curves, "boxes" and, of parts, "masks"; none for other kinds than wsol, and
    where the file is gone."""
    try:
        text = (folders.run_folder(benchmark, run) / CURVES).read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    found: dict[str, Any] = json.loads(text)
    return found


def fingerprint(benchmark: Benchmark) -> dict[str, Any]:
    """What a result depends on, cheaply: while it is unchanged a run gives the same result."""
    return {
        "release": benchmark.own_release.sha256,
        "settings": hashlib.sha256(canonical(benchmarks.chosen_of(benchmark))).hexdigest(),
        "submissions": [
            list(row) for row in benchmark.submissions.values_list("name", "sha256", "attempts")
        ],
    }


class _Scores:
    """What is kept of the classifiers as they are scored, one after the other."""

    def __init__(self, analyst: Analyst) -> None:
        self.analyst = analyst
        self.results: list[dict[str, Any]] = []
        self.curves: dict[str, Any] = {}
        self.wrong: dict[str, NDArray[np.bool_]] = {}
        self.classes: list[str] = []

    def add(self, row: Submission, found: scoring.Scored) -> None:
        analysis = self.analyst.of(found)
        result = found.result | ({"analysis": analysis} if analysis else {})
        self.results.append({"name": row.name, "attempts": row.attempts, "result": result})
        if found.curves is not None:
            self.curves[row.name] = found.curves
        if found.wrong is not None and found.classes is not None:
            self.wrong[row.name], self.classes = found.wrong, found.classes

    def comparison(self, benchmark: Benchmark) -> dict[str, Any] | None:
        """Of several classifiers, where the kind compares them."""
        if len(self.results) < 2:
            return None
        if self.wrong:
            settings = benchmark.settings
            return comparing.compare(
                self.wrong, self.classes, settings["confidence"], settings["seed"]
            )
        if benchmark.kind == DETECTION:
            return {"classes_won": comparing.classes_won(_aps(self.results))}
        return None


def _aps(results: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Classifier → class → AP, NaN where the class has no object."""
    return {
        one["name"]: {
            wnid: math.nan if row["ap"] is None else row["ap"]
            for wnid, row in one["result"]["per_class"].items()
        }
        for one in results
    }


def _scored(benchmark: Benchmark, folder: Path) -> _Scores:
    """Every classifier scored; images.jsonl and curves.json are written."""
    machines = benchmark.submissions
    while True:
        rows = list(machines.all())
        if not rows:
            raise Refusal(NOBODY)
        try:
            return _written(benchmark, rows, folder)
        except (BadInput, FileNotFoundError):
            # A file that was replaced while we read is no fault: read what is there now.
            if dict(machines.values_list("pk", "sha256")) == {row.pk: row.sha256 for row in rows}:
                raise


def _written(benchmark: Benchmark, rows: list[Submission], folder: Path) -> _Scores:
    truth = paths.truth_folder(benchmark)
    if not truth.is_dir():
        raise Refusal(benchmarks.TRUTH_GONE)
    scores = _Scores(Analyst(benchmark.kind, truth, benchmark.settings))
    parts: list[Path] = []
    try:
        for row in rows:
            path = paths.submission_path(row)
            if not path.exists():
                raise BadInput("the file is missing", row.name, None, "send it in again")
            with scoring.called(path, row.name, truth):
                found = scoring.score(benchmark.kind, truth, path, benchmark.settings)
                scores.add(row, found)
                parts.append(folder / f"{row.position}.part.jsonl")
                _write(parts[-1], found.outcomes())
        _write(folder / IMAGES, _merged([row.name for row in rows], parts))
        # Here, where nobody waits for a page.
        image_index.index(folder / IMAGES, benchmark.kind)
        if scores.curves:
            with atomic_write(folder / CURVES) as file:
                file.write(to_json(scores.curves))
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return scores


def _merged(names: list[str], parts: list[Path]) -> Iterator[dict[str, Any]]:
    """What every classifier made of each image; a line of each file is held at a time."""
    with ExitStack() as files:
        opened = [files.enter_context(part.open(encoding="utf-8")) for part in parts]
        for lines in zip(*opened, strict=True):
            said = [json.loads(line) for line in lines]
            outcomes = dict(zip(names, (one["outcome"] for one in said), strict=True))
            yield {key: said[0][key] for key in ("image", "classes", "truth")} | {
                "outcomes": outcomes
            }


def _write(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    with atomic_write(path) as file:
        for line in lines:
            file.write(to_json(line) + "\n")


def _notes(benchmark: Benchmark, results: list[dict[str, Any]]) -> Iterator[str]:
    """A test split is for one look: who was scored on it more often is told."""
    if benchmark.settings["split"] != TEST:
        return
    for one in results:
        if one["attempts"] > 1:
            yield (
                f"this is a test split, and {one['name']} was scored on it {one['attempts']} times:"
                " choose settings on another split"
            )
