"""Uploads in the storage until a job has read them; removed once no job needs them.

An upload is stored and synced before its job exists, so any machine can run the job.
"""

import os
import secrets
from collections.abc import Container
from datetime import timedelta
from pathlib import Path

from django.core.files.base import File
from django.core.files.storage import default_storage
from django.utils import timezone

from labeling.jobs import shared_files
from labeling.jobs.image_store import storing
from labeling.models import Job

# How long the upload of a job that failed or reported faults is kept.
FAILED_UPLOAD_LIFETIME = timedelta(days=7)


def keep(file: File, folder: str) -> str:
    """Store the file under an opaque name and return the name.

    folder: ends with a slash. Raises StorageFull.
    """
    goal = folder + secrets.token_hex(16)
    with storing(goal):
        stored = default_storage.save(goal, file)
        _sync(stored)
    return stored


def needed_uploads(kind: str) -> set[str]:
    """Return the uploads ("stored" in payloads) of queued and running jobs of this kind."""
    waiting = Job.objects.filter(kind=kind, state__in=[Job.State.QUEUED, Job.State.RUNNING])
    return set(waiting.values_list("payload__stored", flat=True))


def forget_old(folder: str, kept: Container[str]) -> int:
    """Remove uploads that are a week old and not in `kept`; return their number.

    Failed jobs and killed processes leave them.
    """
    limit = timezone.now() - FAILED_UPLOAD_LIFETIME
    count = 0
    for row in shared_files.list_files(folder.rstrip("/"), default_storage):
        if row.name not in kept and row.written < limit:
            default_storage.delete(row.name)
            count += 1
    return count


def _sync(stored: str) -> None:
    try:
        path = Path(default_storage.path(stored))
    except NotImplementedError:
        # An object store keeps what it accepted.
        return
    for target in (path, path.parent):
        handle = os.open(target, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
