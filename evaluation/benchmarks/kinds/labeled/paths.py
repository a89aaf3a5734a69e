"""Paths in the folder of a benchmark on released labels.

truth/: input of `score KIND`; truth.zip: the same as a download; versions/<number>/: how a later
truth differs from the one before; submissions/: a file of predictions or a folder of score maps per
classifier, named by its hash; runs/<pk>/: outcomes of each image; reviews/<pk>/asked/: queue.jsonl
and strata.csv; reviews/<pk>/applied/: also answers.csv, sets.csv, version.json.
"""

from pathlib import Path

from evaluation.benchmarks.folders import created_path, folder_of, stored_name, zip_into
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import WSOL
from evaluation.models import Benchmark, MistakeReview, Submission
from labeling.errors import Refusal
from labeling.jobs import shared_files

TRUTH_GONE = (
    "The ground truth of this benchmark is not on this server any more. Restore the folder of "
    "benchmarks from a backup, or create the benchmark again under another name."
)
ASKED, APPLIED = "asked", "applied"
# The stratum of each image of a review: disagreement, sampled or agreement.
STRATA = "strata.csv"
# This much of a hash distinguishes the files of one classifier.
_DIGITS = 12


def truth_folder(benchmark: Benchmark) -> Path:
    return created_path(benchmark, "truth")


def truth_zip(benchmark: Benchmark) -> Path:
    return created_path(benchmark, "truth.zip")


def submission_path(row: Submission) -> Path:
    """Return the predictions (CSV or COCO JSON), or the folder of score maps (wsol)."""
    return shared_files.find(submission_place(row), submission_name(row.benchmark, row.sha256))


def submission_place(row: Submission) -> Path:
    """Return the path on the machine that received the submission."""
    return folder_of(row.benchmark) / "submissions" / f"{row.pk}-{row.sha256[:_DIGITS]}"


def submission_name(benchmark: Benchmark, sha256: str) -> str:
    """Return the name in the shared store; equal files of one benchmark share it."""
    end = shared_files.FOLDER if benchmark.kind == WSOL else ""
    return stored_name(benchmark, f"submissions/{sha256}{end}")


def review_folder(review: MistakeReview, part: str) -> Path:
    """Return the folder of ASKED or APPLIED files. Raises Refusal if it is missing."""
    folder = shared_files.find(review_place(review, part), review_name(review, part))
    if not folder.is_dir():
        raise Refusal(
            "The files of this review are not on this server any more. Restore the folder of "
            "benchmarks from a backup."
        )
    return folder


def review_place(review: MistakeReview, part: str) -> Path:
    return folder_of(review.benchmark) / "reviews" / str(review.pk) / part


def review_name(review: MistakeReview, part: str) -> str:
    below = f"reviews/{review.pk}/{part}{shared_files.FOLDER}"
    return stored_name(review.benchmark, below)


def zip_folder(folder: Path, goal: Path, name: str) -> None:
    """Zip the files of `folder` under the top folder `name`; equal files give equal bytes."""
    with goal.open("wb") as file:
        zip_into(folder, file, name)
