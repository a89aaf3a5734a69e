"""Ranges of a cut as jobs: whoever freezes works on them, and so does every worker that is free.

Ranges and their pieces lie in the storage that every machine of a site sees, in a folder named by
the digest of the cut: a freeze that was killed and is asked again finds what was made of it.
"""

import logging
import os
import re
import secrets
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
from django.core.files.storage import FileSystemStorage, storages
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from labeling.errors import Refusal, StoreAway
from labeling.jobs import queue
from labeling.models import Job
from labeling.releases import chunk_files
from labeling.releases.snapshots import Snapshot

logger = logging.getLogger(__name__)

KIND = "freeze range"
FOLDER = "freezing"
# How often whoever freezes looks whether others are done.
LOOK_SECONDS = 0.2
# What a freeze left that was killed and never asked again is kept so long.
KEPT = timedelta(days=1)
# An error of a job that is none of our sentences: the name of an exception, and what it says.
FAULT = re.compile(r"([A-Z]\w+)(?:: .*)?", re.DOTALL)

Watch = Callable[[int, int], object]


def unwatched(done: int, total: int) -> None:
    """Nobody wants to know how far it is."""


class ChunkFailed(Refusal):
    """A range of a release could not be made, however often it was tried."""

    status = 503
    code = "range_failed"


def make_here(snapshot: Snapshot, scratch: Path) -> Iterator[Path]:
    """Yield the folders of the pieces in order, made by this process alone."""
    for path in snapshot.chunks:
        with _folder(scratch) as folder:
            chunk_files.write(path, folder)
            yield folder


def make(snapshot: Snapshot, scratch: Path, watch: Watch = unwatched) -> Iterator[Path]:
    """Yield the folders of the pieces in order, made by jobs here and wherever workers are.

    Pieces that are there already are not made again. watch: told how many ranges are made or
    joined, of twice as many. Raises ChunkFailed.
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
                # Somebody else who froze the same has removed it by now.
                logger.warning(
                    "chunk %s of %s is written again: %r", number, snapshot.digest, error
                )
                chunk_files.write(path, folder)
            packed.unlink(missing_ok=True)
            yield folder


def execute(job: Job) -> None:
    """The job "freeze range": one piece into the storage. Harmless to run twice."""
    digest, number = job.payload["cut"], job.payload["range"]
    with tempfile.TemporaryDirectory(prefix="range-") as scratch:
        source, packed = Path(scratch, "range"), Path(scratch, "packed")
        try:
            _fetch(digest, _source_name(number), source)
        except FileNotFoundError:
            # The release stands, or nobody asked for it again.
            return
        with _folder(Path(scratch)) as folder:
            chunk_files.write(source, folder, partial(queue.renew, job))
            chunk_files.pack(folder, packed)
        _put(digest, _packed_name(number), packed)


def forget(digest: str) -> None:
    """Remove ranges, pieces and jobs of a cut, and after a day what is left of others."""
    _remove(digest)
    limit = timezone.now() - KEPT
    Job.objects.filter(kind=KIND).filter(
        Q(key__startswith=f"{digest}:") | Q(created_at__lt=limit)
    ).delete()
    with suppress(FileNotFoundError):
        for digest_folder in storages["data"].listdir(FOLDER)[0]:
            if _is_old(digest_folder, limit):
                _remove(digest_folder)


def _enqueue(snapshot: Snapshot) -> set[int]:
    """The ids of the jobs that make what is missing: new ones, or those of an earlier freeze."""
    there = set(_files(snapshot.digest))
    missing = {
        f"{snapshot.digest}:{number}": number
        for number in range(len(snapshot.chunks))
        if _packed_name(number) not in there
    }
    for number in missing.values():
        if _source_name(number) not in there:
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
    """Runs these jobs but for those that others run, and waits for those. watch: told how many
    are waiting. Raises ChunkFailed, StoreAway."""
    while waiting:
        worked = False
        jobs = Job.objects.in_bulk(waiting)
        for pk in sorted(waiting):
            job = jobs.get(pk)
            if job is not None and job.state == Job.State.FAILED:
                raise ChunkFailed(_failure(job))
            # Without a row it was removed by whoever froze the same: its piece is looked for.
            if job is None or job.state == Job.State.DONE:
                waiting.discard(pk)
            else:
                # Takes none that somebody holds, but what a dead worker left.
                ran = queue.run(pk)
                if ran is not None and ran.state == Job.State.QUEUED and ran.waits_since:
                    # Whoever freezes waits as the job does, not by trying again and again.
                    raise StoreAway(ran.error)
                worked |= ran is not None
                watch(len(waiting))
        if waiting and not worked:
            time.sleep(LOOK_SECONDS)


def _failure(job: Job) -> str:
    """Which range, why, and what to do."""
    fault = FAULT.fullmatch(job.error)
    reason = (
        f"a fault of the program ({fault[1]}), which the log has under job {job.pk}. "
        "Ask whoever runs the site to look there."
        if fault
        else f"{job.error.rstrip('.')}."
    )
    return (
        f"Range {job.payload['range'] + 1} of the release could not be made: {reason} "
        "Freezing again goes on from the ranges that are made."
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
    with storages["data"].open(f"{FOLDER}/{digest}/{name}") as there, open(goal, "wb") as file:
        shutil.copyfileobj(there, file)


def _put(digest: str, name: str, path: Path) -> None:
    """The file into the storage: whole under its name, or not at all."""
    storage, goal = storages["data"], f"{FOLDER}/{digest}/{name}"
    with open(path, "rb") as content:
        if not isinstance(storage, FileSystemStorage):
            storage.save(goal, File(content))
            return
        unfinished = storage.save(f"{goal}.{secrets.token_hex(8)}.part", File(content))
        os.replace(storage.path(unfinished), storage.path(goal))


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
        # A folder, where the storage has such.
        storages["data"].delete(f"{FOLDER}/{digest}")
