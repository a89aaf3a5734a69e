"""Working folders of jobs that run models. A job that is tried again continues in its folder."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from labeling.disk_full import converting_disk_full
from labeling.jobs import queue
from labeling.models import Job

WORK = ".work"


@contextmanager
def working(kind: str, pk: int, job: Job) -> Iterator[Path]:
    """Yield the folder of a row's work, and remove it unless the job will be tried again."""
    folder = _root(kind) / f"{pk}{WORK}"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with converting_disk_full():
            yield folder
    except Exception as error:
        if queue.is_hopeless(job, error):
            shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def sweep(kind: str, rows: QuerySet[Any]) -> None:
    """Remove folders on this machine that no queued or running job uses.

    Another worker did the work, the job's workers died too often, or the row is gone.
    """
    # List the folders before the jobs: a folder created later belongs to a new job.
    folders = list(_root(kind).glob(f"*{WORK}"))
    unfinished = rows.filter(job__state__in=[Job.State.QUEUED, Job.State.RUNNING])
    names = {f"{pk}{WORK}" for pk in unfinished.values_list("pk", flat=True)}
    for folder in folders:
        if folder.name not in names:
            shutil.rmtree(folder, ignore_errors=True)


def _root(kind: str) -> Path:
    return Path(settings.DATA_DIR) / kind
