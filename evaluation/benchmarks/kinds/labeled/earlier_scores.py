"""Scores that a run takes over from the last one: same submission, truth, settings and code."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.labeled.results import (
    KindCurves,
    LabeledResult,
    NewestTruth,
    ScoredSubmission,
)
from evaluation.models import Run, Submission
from labeling.files import atomic_write

# Key of the fingerprint.
SUBMISSIONS = "submissions"
# images.jsonl: {"image", "classes", "truth", "outcomes": {classifier: outcome}} a line.
# newest.jsonl: the same by the newest truth, ordered by image.
# curves.json: {classifier: {"boxes": …, "masks": …}} as `score wsol --curves` has them.
# errors.npz: ImageErrors of each submission.
IMAGES, NEWEST_IMAGES = "images.jsonl", "newest.jsonl"
CURVES, ERRORS = "curves.json", "errors.npz"


@dataclass(frozen=True)
class ImageErrors:
    """Per image, whether a submission is wrong, and its class. settled: see SubmissionScores."""

    wrong: NDArray[np.bool_]
    classes: list[str]
    settled: NDArray[np.bool_] | None


def write_errors(path: Path, errors: Mapping[str, ImageErrors]) -> None:
    arrays: dict[str, NDArray[np.generic]] = {"names": np.array([*errors], np.str_)}
    for number, each in enumerate(errors.values()):
        arrays[f"wrong{number}"] = each.wrong
        arrays[f"classes{number}"] = np.array(each.classes, np.str_)
        if each.settled is not None:
            arrays[f"settled{number}"] = each.settled
    with atomic_write(path, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_curves(path: Path) -> dict[str, KindCurves]:
    """Return classifier → its curves; empty if the file is missing."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return {name: KindCurves.from_json(curves) for name, curves in json.loads(text).items()}


@dataclass(frozen=True)
class EarlierScores:
    """The result of the last run. submissions: [name, SHA-256, attempts] in its fingerprint."""

    result: LabeledResult
    folder: Path
    submissions: list[list[object]]

    @classmethod
    def of(cls, run: Run | None) -> "EarlierScores | None":
        """Return the scores of a run that differs at most in submissions or in later truth."""
        if run is None:
            return None
        result = LabeledResult.from_json(run.result or {})
        folder = folders.run_folder(run.benchmark, run.pk)
        return cls(result, folder, run.settings["signature"][SUBMISSIONS])

    def are_of(self, rows: Sequence[Submission]) -> bool:
        """Return whether these are the scores of exactly these submissions."""
        return self.submissions == [[row.name, row.sha256, row.attempts] for row in rows]

    def has(self, row: Submission) -> bool:
        """Return whether the last run has scores of the submission's present predictions."""
        scored = self._scored.get(row.name)
        known = scored and [row.name, row.sha256, scored.attempts] in self.submissions
        return bool(known) and (self.folder / ERRORS).is_file()

    def newest(self, sha256: str) -> NewestTruth | None:
        """Return the scores by this newest truth; None without them or their newest.jsonl."""
        newest = self.result.newest
        if newest is None or newest.sha256 != sha256:
            return None
        return newest if (self.folder / NEWEST_IMAGES).is_file() else None

    def scored(self, row: Submission) -> ScoredSubmission:
        return of_row(self.result.submissions, row)[0]

    def errors(self) -> dict[str, ImageErrors]:
        with np.load(self.folder / ERRORS, allow_pickle=False) as arrays:
            return {
                str(name): ImageErrors(
                    arrays[f"wrong{number}"],
                    arrays[f"classes{number}"].tolist(),
                    arrays.get(f"settled{number}"),
                )
                for number, name in enumerate(arrays["names"])
            }

    @cached_property
    def _scored(self) -> dict[str, ScoredSubmission]:
        return {scored.name: scored for scored in self.result.submissions}


def of_row(scored: Sequence[ScoredSubmission], row: Submission) -> list[ScoredSubmission]:
    """Return the submission's scores, with the attempts that it has now; empty if it has none."""
    return [
        ScoredSubmission(name=row.name, attempts=row.attempts, result=each.result)
        for each in scored
        if each.name == row.name
    ]
