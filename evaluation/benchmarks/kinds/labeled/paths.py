"""Where the files of a benchmark on released labels lie in its folder.

truth/: what `score KIND` reads; truth.zip: the same to take away; submissions/: a file of
predictions or a folder of score maps a classifier, named by its hash; runs/<pk>/: what a run says
of each image.
"""

import shutil
import zipfile
from pathlib import Path
from typing import IO

from evaluation.benchmarks.folders import folder_of, made, stored_name
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import WSOL
from evaluation.models import Benchmark, Submission
from labeling.jobs import shared_files

# So much of a hash tells the files of one classifier apart.
_DIGITS = 12


def truth_folder(benchmark: Benchmark) -> Path:
    return made(benchmark, "truth")


def truth_zip(benchmark: Benchmark) -> Path:
    return made(benchmark, "truth.zip")


def submission_path(row: Submission) -> Path:
    """Return the predictions (CSV or COCO JSON), or the folder of score maps (wsol)."""
    return shared_files.find(submission_place(row), submission_name(row.benchmark, row.sha256))


def submission_place(row: Submission) -> Path:
    """Return where they lie on the machine that took them in."""
    return folder_of(row.benchmark) / "submissions" / f"{row.pk}-{row.sha256[:_DIGITS]}"


def submission_name(benchmark: Benchmark, sha256: str) -> str:
    """Their name in the store, the same for all classifiers of a benchmark that sent them."""
    end = shared_files.FOLDER if benchmark.kind == WSOL else ""
    return stored_name(benchmark, f"submissions/{sha256}{end}")


def zipped(folder: Path, goal: Path, name: str) -> None:
    """The files of the folder as a zip, below a folder of that name; the same bytes each time."""
    with goal.open("wb") as file:
        zip_into(folder, file, name)


def zip_into(folder: Path, goal: IO[bytes], name: str) -> None:
    """As zipped, into an open file."""
    with zipfile.ZipFile(goal, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}")
            stored = path.suffix == ".png"
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as out:
                shutil.copyfileobj(source, out)
