"""Chunks of a release as jobs, run by the freezing process and by every free worker.

The storage shared by all machines holds the chunks in a folder named after the snapshot's
digest, so a freeze that was killed continues with the chunks written before.
"""

import logging
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from django.core.files import File
from django.core.files.storage import storages
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from labeling.errors import Refusal, StoreUnreachable
from labeling.jobs import queue
from labeling.models import Job
from labeling.releases import chunk_files
from labeling.releases.snapshots import Snapshot

logger = logging.getLogger(__name__)

KIND = "freeze range"
FOLDER = "freezing"
# Interval at which the freezing process checks the jobs.
POLL_SECONDS = 0.2
# How long chunks of a killed freeze are kept.
CHUNK_LIFETIME = timedelta(days=1)
# The error of a job that failed by an unexpected exception: its name and message.
FAULT = re.compile(r"([A-Z]\w+)(?:: .*)?", re.DOTALL)

Watch = Callable[[int, int], object]


def ignore_progress(done: int, total: int) -> None:
    """Ignore the progress."""


class ChunkFailed(Refusal):
    """A chunk of a release failed at every attempt."""

    status = 503
    code = "range_failed"


def make_here(snapshot: Snapshot, scratch: Path) -> Iterator[Path]:
    """Yield the folders of the chunks in order, written by this process alone."""
    for path in snapshot.chunks:
        with _folder(scratch) as folder:
            chunk_files.write(path, folder)
            yield folder


def make(snapshot: Snapshot, scratch: Path, watch: Watch = ignore_progress) -> Iterator[Path]:
    """Yield the folders of the chunks in order, written by jobs here and on workers.

    Chunks in the storage are reused. watch: receives the steps done and the total. Each chunk has
    two steps, writing and joining. Raises ChunkFailed.
    """
    count = len(snapshot.chunks)
    _work(_enqueue(snapshot), lambda waiting: watch(count - waiting, 2 * count))
    for number, path in enumerate(snapshot.chunks):
        watch(count + number, 2 * count)
        with _folder(scratch) as folder:
            packed = folder.with_suffix(".zip")
            try:
                _fetch(snapshot.digest, _packed_name(number), packed)
                chunk_files.unpack(packed, folder)
            except (FileNotFoundError, zipfile.BadZipFile) as error:
                # A concurrent freeze of the same content removed it.
                logger.warning(
                    "chunk %s of %s is written again: %r", number, snapshot.digest, error
                )
                chunk_files.write(path, folder)
            packed.unlink(missing_ok=True)
            yield folder


def execute(job: Job) -> None:
    """Run the job "freeze range": write one chunk to the storage. Idempotent."""
    digest, number = job.payload["cut"], job.payload["range"]
    with tempfile.TemporaryDirectory(prefix="range-") as scratch:
        source, packed = Path(scratch, "range"), Path(scratch, "packed")
        try:
            _fetch(digest, _source_name(number), source)
        except FileNotFoundError:
            # The release is complete, or the freeze was given up.
            return
        with _folder(Path(scratch)) as folder:
            chunk_files.write(source, folder, partial(queue.renew, job))
            chunk_files.pack(folder, packed)
        _put(digest, _packed_name(number), packed)


def forget(digest: str) -> None:
    """Remove the chunks and jobs of a snapshot, and those of other snapshots after a day."""
    _remove(digest)
    limit = timezone.now() - CHUNK_LIFETIME
    Job.objects.filter(kind=KIND).filter(
        Q(key__startswith=f"{digest}:") | Q(created_at__lt=limit)
    ).delete()
    with suppress(FileNotFoundError):
        for digest_folder in storages["data"].listdir(FOLDER)[0]:
            if _is_old(digest_folder, limit):
                _remove(digest_folder)


def _enqueue(snapshot: Snapshot) -> set[int]:
    """Return the ids of the jobs that write missing chunks: new jobs, or those of an earlier
    freeze.
    """
    existing = set(_files(snapshot.digest))
    missing = {
        f"{snapshot.digest}:{number}": number
        for number in range(len(snapshot.chunks))
        if _packed_name(number) not in existing
    }
    for number in missing.values():
        if _source_name(number) not in existing:
            _put(snapshot.digest, _source_name(number), snapshot.chunks[number])
    with transaction.atomic():
        unfinished = Job.objects.filter(
            kind=KIND, key__in=list(missing), state__in=[Job.State.QUEUED, Job.State.RUNNING]
        )
        jobs = dict(unfinished.values_list("key", "pk"))
        for key, number in missing.items():
            if key not in jobs:
                payload = {"cut": snapshot.digest, "range": number}
                jobs[key] = queue.enqueue(KIND, key, payload, snapshot.campaign).pk
    return set(jobs.values())


def _work(waiting: set[int], watch: Callable[[int], object]) -> None:
    """Run the jobs that no worker has claimed, and wait for the others.

    watch: receives the number of unfinished jobs. Raises ChunkFailed, StoreUnreachable.
    """
    while waiting:
        worked = False
        jobs = Job.objects.in_bulk(waiting)
        for pk in sorted(waiting):
            job = jobs.get(pk)
            if job is not None and job.state == Job.State.FAILED:
                raise ChunkFailed(_failure(job))
            # A concurrent freeze removed the row; look for its chunk.
            if job is None or job.state == Job.State.DONE:
                waiting.discard(pk)
            else:
                # Take only jobs that are free or left by a dead worker.
                ran = queue.run(pk)
                if ran is not None and ran.state == Job.State.QUEUED and ran.waits_since:
                    # The store is unavailable: let the caller wait instead of retrying in a loop.
                    raise StoreUnreachable(ran.error)
                worked |= ran is not None
                watch(len(waiting))
        if waiting and not worked:
            time.sleep(POLL_SECONDS)


def _failure(job: Job) -> str:
    """Return a sentence that names the chunk, the cause and the cure."""
    fault = FAULT.fullmatch(job.error)
    reason = (
        f"program error {fault[1]}. Ask the site's operator to check the log for job {job.pk}."
        if fault
        else f"{job.error.rstrip('.')}."
    )
    return (
        f"Part {job.payload['range'] + 1} of the release failed: {reason} "
        "Freezing again continues from the finished parts."
    )


@contextmanager
def _folder(scratch: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        yield Path(folder)


def _source_name(number: int) -> str:
    return f"{number:05}.cut"


def _packed_name(number: int) -> str:
    return f"{number:05}.zip"


def _fetch(digest: str, name: str, goal: Path) -> None:
    """Raises FileNotFoundError."""
    with storages["data"].open(f"{FOLDER}/{digest}/{name}") as existing, open(goal, "wb") as file:
        shutil.copyfileobj(existing, file)


def _put(digest: str, name: str, path: Path) -> None:
    with open(path, "rb") as content:
        storages["data"].save(f"{FOLDER}/{digest}/{name}", File(content))


def _files(digest: str) -> list[str]:
    with suppress(FileNotFoundError):
        return storages["data"].listdir(f"{FOLDER}/{digest}")[1]
    return []


def _is_old(digest: str, limit: datetime) -> bool:
    names = [f"{FOLDER}/{digest}/{name}" for name in _files(digest)]
    with suppress(FileNotFoundError):
        return all(storages["data"].get_modified_time(name) < limit for name in names)
    return False


def _remove(digest: str) -> None:
    for name in _files(digest):
        storages["data"].delete(f"{FOLDER}/{digest}/{name}")
    with suppress(OSError):
        # Only some storages have folders.
        storages["data"].delete(f"{FOLDER}/{digest}")
