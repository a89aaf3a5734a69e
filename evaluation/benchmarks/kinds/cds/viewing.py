"""Drawn frames of sequences, cached while they are viewed.

A job draws one sequence into `frames/<number>/<frame>.webp` in the benchmark's folder, frames from
1, lossless. Beyond ASSAY_FRAME_SEQUENCES folders, the least recently viewed ones are removed.
Frames of a benchmark never change, so drawing them again gives the same files.
"""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
from django.conf import settings
from django.db import transaction
from numpy.typing import NDArray
from PIL import Image

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.cds import benchmarks
from evaluation.benchmarks.submissions import lock_benchmark
from evaluation.models import Benchmark
from evaluation.readers.sequences import SequenceLine, parse_line
from evaluation.sequences import sequencing
from labeling.errors import NotYours, Refusal
from labeling.exchange import export_files
from labeling.files import atomic_write
from labeling.jobs import queue, shared_files
from labeling.models import Job, User
from labeling.parts.model import PartedObject, Photograph
from labeling.plurals import count_of
from labeling.release_files.frozen import Frozen, photograph
from labeling.release_files.frozen_objects import to_parted_object
from labeling.releases import freezing

KIND = "frames"
FOLDER = "frames"
# Folders being removed from the cache.
REMOVED_PREFIX = ".gone-"
# More lines or frames than any benchmark has.
MAX_COUNT = 10**9
# Most waiting sequences per user: some ten seconds of work.
MAX_WAITING = 10
# Least seconds between two recorded views of a sequence.
NOTED_SECONDS = 60
# WebP's fastest lossless method: 45 ms for 500 × 375 pixels, with files a tenth larger than
# those of the next method.
WEBP = {"lossless": True, "method": 0}


@dataclass(frozen=True)
class FramesState:
    """How many frames of a sequence are drawn.

    state: "done", "queued", "running", "failed", or "missing" if nobody requested them. ready:
    how many of the `total` are drawn. error: why drawing failed, as a sentence.
    """

    state: str
    ready: int
    total: int
    error: str = ""

    @property
    def is_done(self) -> bool:
        return self.state == "done"

    def as_payload(self) -> dict[str, object]:
        return {key: value for key, value in vars(self).items() if key != "error" or value}


class TooManyWaiting(Refusal):
    """The user has requested too many sequences that are not drawn yet."""

    status = 429
    code = "too_many_waiting"


def ask(benchmark: Benchmark, number: int, actor: User) -> FramesState:
    """Return the state of the frames of line `number`, from 0; start a job if there is none.

    A request after a failure tries again. Raises NotYours for an unknown line, and TooManyWaiting:
    one user's requests must not delay everybody's scores.
    """
    with transaction.atomic():
        # Two simultaneous requests get one job.
        lock_benchmark(benchmark)
        current = state(benchmark, number)
        if current.state not in {"missing", "failed"}:
            return current
        _check_waiting(actor)
        payload = {"benchmark": benchmark.pk, "number": number, "actor": actor.pk}
        queue.enqueue(KIND, _key(benchmark, number), payload)
    return FramesState(Job.State.QUEUED, current.ready, current.total)


def state(benchmark: Benchmark, number: int) -> FramesState:
    """Return the state of the frames from files and job. Raises NotYours for an unknown line.

    One query, none once the frames are drawn.
    """
    total = len(line_of(benchmark, number).frames)
    ready = _count_ready(benchmark, number, total)
    if ready == total:
        return FramesState("done", ready, total)
    job = Job.objects.filter(kind=KIND, key=_key(benchmark, number)).order_by("-pk").first()
    if job is None:
        return FramesState("missing", ready, total)
    if job.state == Job.State.DONE:
        # It may have been drawn on another machine.
        _fetch(benchmark, number)
        ready = _count_ready(benchmark, number, total)
        return FramesState("done" if ready == total else "missing", ready, total)
    return FramesState(job.state, ready, total, job.error if job.state == Job.State.FAILED else "")


def open_frame(benchmark: Benchmark, number: int, frame: int) -> IO[bytes]:
    """Open a frame, numbered from 1, as WebP. Raises FileNotFoundError if it is not drawn."""
    # A longer number may not be a valid file name.
    path = _path(benchmark, min(number, MAX_COUNT), min(frame, MAX_COUNT))
    if not path.parent.exists():
        _fetch(benchmark, min(number, MAX_COUNT))
    file = open(path, "rb")  # noqa: SIM115 - closed with the response
    with suppress(FileNotFoundError):
        if time.time() - path.parent.stat().st_mtime > NOTED_SECONDS:
            os.utime(path.parent)
    return file


def is_drawn(benchmark: Benchmark, number: int, frame: int) -> bool:
    """Return whether the frame, numbered from 1, is drawn."""
    return _path(benchmark, number, frame).is_file()


def execute(job: Job) -> None:
    """Draw the frames of one sequence; may run again. Payload: {"benchmark": pk, "number": n}."""
    number = job.payload["number"]
    benchmark = (
        Benchmark.objects.select_related("release__campaign__dataset")
        .filter(pk=job.payload["benchmark"])
        .first()
    )
    if benchmark is None or state(benchmark, number).is_done:
        return
    line = line_of(benchmark, number)
    pictures = dict(_drawn(benchmark, line))
    folder = _folder(benchmark, number)
    folder.mkdir(parents=True, exist_ok=True)
    for done, (name, path) in enumerate(
        zip(line.frames, _paths(benchmark, number, len(line.frames)), strict=True)
    ):
        queue.renew(job, done, len(line.frames))
        with atomic_write(path, "wb") as file:
            Image.fromarray(pictures[name]).save(file, "WEBP", **WEBP)
    shared_files.put(folder, _stored_name(benchmark, number))
    queue.renew(job, len(line.frames), len(line.frames))
    forget_unused(folder)
    _forget_stored()


def _fetch(benchmark: Benchmark, number: int) -> None:
    """Copy frames here that another machine drew."""
    folder = _folder(benchmark, number)
    if shared_files.fetch(_stored_name(benchmark, number), folder):
        os.utime(folder)
        forget_unused(folder)


def _forget_stored() -> None:
    """Remove the oldest frames in the store beyond ASSAY_FRAME_SEQUENCES."""
    if not shared_files.is_shared():
        return
    stored = sorted(shared_files.list_files(FOLDER), key=lambda row: row.written)
    for row in stored[: -settings.ASSAY_FRAME_SEQUENCES]:
        shared_files.delete(row.name)


def _check_waiting(actor: User) -> None:
    sequence_jobs = Job.objects.filter(kind=KIND, payload__actor=actor.pk)
    waiting = sequence_jobs.filter(state__in=[Job.State.QUEUED, Job.State.RUNNING]).count()
    if waiting >= MAX_WAITING:
        raise TooManyWaiting(
            f"The frames of {count_of(waiting, 'object')} that you opened are still being drawn. "
            "Wait until some of them are there, then try again."
        )


def line_of(benchmark: Benchmark, number: int) -> SequenceLine:
    """Return line `number`, from 0, without reading further. Raises NotYours if there is none."""
    with suppress(FileNotFoundError), open(benchmarks.lines_path(benchmark), "rb") as file:
        text = next(islice(file, min(number, MAX_COUNT), None), None)
        if text is not None:
            return parse_line(text)
    raise NotYours("There is no such sequence in this benchmark.")


def forget_unused(keep: Path) -> int:
    """Remove the least recently viewed sequences and return how many. `keep` stays."""
    cached = []
    for folder in _cached(keep):
        if folder.name.startswith(REMOVED_PREFIX):
            shutil.rmtree(folder, ignore_errors=True)
        elif folder != keep:
            with suppress(FileNotFoundError):
                cached.append((folder.stat().st_mtime_ns, folder))
    too_many = max(0, len(cached) + 1 - settings.ASSAY_FRAME_SEQUENCES)
    for _, folder in sorted(cached)[:too_many]:
        # Renamed first: a half-removed folder would look like one being drawn.
        renamed = folder.with_name(f"{REMOVED_PREFIX}{folder.name}-{secrets.token_hex(4)}")
        with suppress(FileNotFoundError):
            folder.rename(renamed)
            shutil.rmtree(renamed, ignore_errors=True)
    return too_many


def _drawn(benchmark: Benchmark, line: SequenceLine) -> list[tuple[str, NDArray[np.uint8]]]:
    release = benchmark.own_release
    photo, parted_object = _object(freezing.read(release), line)
    return sequencing.render(
        parted_object,
        photo,
        line,
        benchmark.settings["orders"][line.part_scheme][line.category],
        export_files.originals_of(release),
        include_empty=benchmark.settings["include_empty"],
    )


def _object(frozen: Frozen, line: SequenceLine) -> tuple[Photograph, PartedObject]:
    """Return the line's photograph and object from the release."""
    [photo] = (row for row in frozen.images() if row["name"] == line.image)
    [content] = (
        row
        for row in frozen.lines("objects.jsonl")
        if (row["image"], row["object"]) == (line.image, line.object)
    )
    return photograph(photo), to_parted_object(content, {})


def _cached(sequence_folder: Path) -> Iterator[Path]:
    """Yield the cached folders of all benchmarks' sequences. sequence_folder: any one of them."""
    return sequence_folder.parents[2].glob(f"*/{FOLDER}/*")


def _folder(benchmark: Benchmark, number: int) -> Path:
    return folders.folder_of(benchmark) / FOLDER / str(number)


def _stored_name(benchmark: Benchmark, number: int) -> str:
    return f"{FOLDER}/{benchmark.pk}-{number}{shared_files.FOLDER}"


def _count_ready(benchmark: Benchmark, number: int, total: int) -> int:
    return sum(path.is_file() for path in _paths(benchmark, number, total))


def _path(benchmark: Benchmark, number: int, frame: int) -> Path:
    return _folder(benchmark, number) / f"{frame}.webp"


def _paths(benchmark: Benchmark, number: int, total: int) -> list[Path]:
    return [_path(benchmark, number, frame) for frame in range(1, total + 1)]


def _key(benchmark: Benchmark, number: int) -> str:
    return f"{benchmark.pk}:{number}"
