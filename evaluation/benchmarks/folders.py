"""Where benchmarks keep their files: a folder each below the data folder, with one a run."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from evaluation.models import Benchmark


def root() -> Path:
    return Path(settings.DATA_DIR) / "benchmarks"


def folder_of(benchmark: Benchmark) -> Path:
    return root() / str(benchmark.pk)


def run_folder(benchmark: Benchmark, run: int) -> Path:
    return folder_of(benchmark) / "runs" / str(run)


def remove_runs(benchmark: Benchmark, gone: Iterable[int]) -> None:
    """Deletes the folders of these runs."""
    for run in gone:
        shutil.rmtree(run_folder(benchmark, run), ignore_errors=True)


@contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder beside the benchmarks', gone afterwards unless it was moved."""
    root().mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".new.", dir=root()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
