"""Folders of benchmarks in the data folder, each with a folder per run.

Machines share (labeling/jobs/shared_files.py) the folder as created, and every later submission,
run, version and review.
"""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.conf import settings

from evaluation.benchmarks.changes import link_or_copy
from evaluation.models import Benchmark
from labeling.jobs import shared_files

_MADE = f"made{shared_files.FOLDER}"


def root() -> Path:
    return Path(settings.DATA_DIR) / "benchmarks"


def folder_of(benchmark: Benchmark) -> Path:
    """Return the local folder of the benchmark."""
    return root() / str(benchmark.pk)


def stored_name(benchmark: Benchmark, below: str) -> str:
    """Return the name in the shared store of a path in the benchmark's folder."""
    return f"benchmarks/{benchmark.pk}/{below}"


def publish(benchmark: Benchmark, folder: Path) -> None:
    """Move the folder to the new benchmark: the last step before its row is committed."""
    # A rolled-back transaction may have left files under this number.
    shutil.rmtree(folder_of(benchmark), ignore_errors=True)
    shared_files.put(folder, stored_name(benchmark, _MADE))
    os.replace(folder, folder_of(benchmark))


def created_path(benchmark: Benchmark, below: str) -> Path:
    """Return the path of a file or folder created with the benchmark; it may be missing."""
    local = folder_of(benchmark) / below
    if local.exists():
        return local
    copy = shared_files.copy_of(stored_name(benchmark, _MADE))
    return local if copy is None else copy / below


def run_folder(benchmark: Benchmark, run: int) -> Path:
    """Return the folder of a run; it may be missing."""
    return shared_files.find(_run_place(benchmark, run), _run_name(benchmark, run))


def version_folder(benchmark: Benchmark, number: int) -> Path:
    """Return the folder of a later version of the truth; it may be missing."""
    return shared_files.find(_version_place(benchmark, number), _version_name(benchmark, number))


def publish_version(benchmark: Benchmark, folder: Path, number: int) -> None:
    """Move the folder to the version: the last step before its row is committed."""
    move(folder, _version_place(benchmark, number), _version_name(benchmark, number))


def _version_place(benchmark: Benchmark, number: int) -> Path:
    return folder_of(benchmark) / "versions" / str(number)


def _version_name(benchmark: Benchmark, number: int) -> str:
    return stored_name(benchmark, f"versions/{number}{shared_files.FOLDER}")


def move(folder: Path, goal: Path, name: str) -> None:
    """Move a folder to its place and store it under this name."""
    shared_files.put(folder, name)
    goal.parent.mkdir(parents=True, exist_ok=True)
    # A rolled-back transaction, or a worker that was declared dead, may have written it.
    shutil.rmtree(goal, ignore_errors=True)
    os.replace(folder, goal)


def copy_files(folder: Path, goal: Path) -> None:
    """Copy the files of a run's folder to an existing folder, by links where possible."""
    shutil.copytree(folder, goal, copy_function=link_or_copy, dirs_exist_ok=True)


@contextmanager
def writing_run(benchmark: Benchmark, run: int) -> Iterator[Path]:
    """Yield an empty folder that becomes the run's on success and is removed otherwise."""
    with scratch() as folder:
        filling = folder / "run"
        filling.mkdir()
        yield filling
        move(filling, _run_place(benchmark, run), _run_name(benchmark, run))


def remove_runs(benchmark: Benchmark, gone: Iterable[int]) -> None:
    """Delete the folders of these runs."""
    for run in gone:
        shared_files.remove(_run_place(benchmark, run), _run_name(benchmark, run))


def _run_place(benchmark: Benchmark, run: int) -> Path:
    return folder_of(benchmark) / "runs" / str(run)


def _run_name(benchmark: Benchmark, run: int) -> str:
    return stored_name(benchmark, f"runs/{run}{shared_files.FOLDER}")


@contextmanager
def scratch() -> Iterator[Path]:
    """Yield a temporary folder next to the benchmarks' folders; removed unless it was moved."""
    root().mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".new.", dir=root()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def zip_into(folder: Path, goal: IO[bytes], name: str) -> None:
    """Zip the files of `folder` under the top folder `name`; equal files give equal bytes."""
    with zipfile.ZipFile(goal, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}")
            stored = path.suffix == ".png"
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as out:
                shutil.copyfileobj(source, out)
