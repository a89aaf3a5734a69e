"""Importing images in a job: files are stored first, then added one by one, with a report.

Uploads are in the storage before the import's row exists, so that a worker on any machine finds
them. The job may be killed and run again: the row records the files that it added. See
docs/how-to/images.md.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypedDict

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from labeling.datasets import images
from labeling.datasets.datasets import check_may_add
from labeling.datasets.image_report import ImageReport
from labeling.datasets.image_sources import (
    BadSource,
    SourceFile,
    clean_name,
    count_entries,
    in_zip,
    open_zip,
)
from labeling.datasets.near_images import Lookalikes
from labeling.db.lookups import get_or_404
from labeling.errors import Refusal, StoreFault
from labeling.image_files import stated_pixels
from labeling.jobs import queue, uploads
from labeling.models import Dataset, Import, Job, User

KIND = "import images"
FOLDER = "imports/"
# A few small files may be added within the request; everything else takes a job.
SMALL_FILES = 20
SMALL_BYTES = 50 * 1024 * 1024
# Decoding takes a second for 40 million pixels, whatever the bytes: a blank image compresses well.
SMALL_PIXELS = 100_000_000
# Larger zip directories are read by the job only: 20 µs per entry.
SMALL_ENTRIES = 10_000
# Most duplicates, and most refused files, in the lists; the counts cover all.
MAX_LISTED_FILES = 2000


class Upload(TypedDict):
    """A stored upload of an import. file: its name; stored: its name in the storage."""

    file: str
    stored: str
    bytes: int
    zip: bool


@dataclass(frozen=True)
class NamedUpload:
    """An uploaded file. name: of the future image, or of the zip."""

    name: str
    file: File
    is_zip: bool


def are_small(files: Sequence[NamedUpload]) -> bool:
    """Return whether the files are small enough to add within the request."""
    together = sum(sent.file.size for sent in files)
    few = len(files) <= SMALL_FILES and together <= SMALL_BYTES
    return few and not any(sent.is_zip for sent in files) and _pixels(files) <= SMALL_PIXELS


def _pixels(files: Sequence[NamedUpload]) -> int:
    """Return the pixels of all files together, from their headers; rewinds each file."""
    count = 0
    for sent in files:
        file: Any = sent.file
        count += stated_pixels(file, max_pixels=settings.ASSAY_MAX_IMAGE_PIXELS)
        file.seek(0)
    return count


def add_small(
    dataset: Dataset, files: Sequence[NamedUpload], *, licence: str, source: str
) -> ImageReport:
    """Add the files within the request and return the report."""
    report = ImageReport()
    for sent in files:
        try:
            added = images.add_file(dataset, sent.name, sent.file, licence=licence, source=source)
        except (images.StorageFull, StoreFault):
            raise
        except Refusal as refusal:
            report.refuse(sent.name, refusal.message)
            continue
        if added.duplicate_of is not None:
            report.duplicate(sent.name, added.duplicate_of.name)
        else:
            report.added += 1
    return report


def of_uploads(
    dataset: Dataset,
    actor: User,
    files: Sequence[NamedUpload],
    *,
    licence: str = "",
    source: str = "",
    against: Sequence[Dataset] | None = None,
) -> Import:
    """Create the import of these files, which are kept until it is done; return it.

    against: datasets, besides this one, whose lookalikes are left out; None to skip that check.
    Raises Refusal for a zip that is invalid, too large or a bomb; then nothing is kept.
    """
    check_may_add(actor, dataset)
    for sent in files:
        if sent.is_zip:
            _check_zip(sent)
    forget_old()
    kept: list[Upload] = []
    try:
        for sent in files:
            kept.append(_keep(sent))
        first = files[0].name
        name = first if len(files) == 1 else f"{first} and {len(files) - 1} more"
        details = {"licence": licence, "source": source, "options": _options(against)}
        return _enqueue(dataset, actor, name, uploads=kept, **details)
    except BaseException:
        _remove(kept)
        raise


def of_path(
    dataset: Dataset,
    actor: User,
    path: str,
    *,
    licence: str = "",
    source: str = "",
    against: Sequence[Dataset] | None = None,
) -> Import:
    """Create the import of a path below the import folder and return it; against as in of_uploads.

    Raises Refusal for a path outside.
    """
    check_may_add(actor, dataset)
    import_root_path(path)
    details = {"licence": licence, "source": source, "options": _options(against)}
    return _enqueue(dataset, actor, path, path=path, **details)


def _options(against: Sequence[Dataset] | None) -> dict[str, object]:
    if against is None:
        return {}
    return {"near": True, "against": [dataset.pk for dataset in against]}


def import_for(dataset: Dataset, pk: int) -> Import:
    """Return the dataset's import of that id, with its job. Raises NotYours."""
    return get_or_404(
        dataset.imports.select_related("job", "created_by"),
        "The dataset has no such import.",
        pk=pk,
    )


def retry(row: Import, actor: User) -> None:
    """Queue a failed import again; files added already stay.

    Raises Conflict if it has not failed.
    """
    check_may_add(actor, row.dataset)
    queue.retry(row.job, actor)


def report_of(row: Import) -> ImageReport:
    """Return the import's report with its truncated lists."""
    return ImageReport(
        added=row.added,
        duplicates=row.report.get("duplicates", []),
        refused=row.report.get("refused", []),
        near=row.report.get("near", []),
        near_count=row.near,
        duplicate_count=row.duplicates,
        refused_count=row.refused,
    )


def forget_old() -> int:
    """Delete uploads that no import needs any more; return how many."""
    running = Import.objects.filter(job__state__in=[Job.State.QUEUED, Job.State.RUNNING])
    lists = running.values_list("uploads", flat=True)
    kept = {upload["stored"] for rows in lists for upload in rows}
    return uploads.forget_old(FOLDER, kept)


def import_root_path(relative: str) -> Path:
    """Return the path below ASSAY_IMPORT_ROOT.

    Raises Refusal if it does not exist or leads outside.

    Both cases have the same message, so that it reveals nothing about the rest of the disk.
    """
    if not settings.ASSAY_IMPORT_ROOT:
        raise Refusal(
            "This site has no import folder. Upload the images, or ask the site's administrator to "
            "set ASSAY_IMPORT_ROOT.",
            field="path",
        )
    root = Path(settings.ASSAY_IMPORT_ROOT).resolve()
    lost = Refusal(
        "The import folder has no such file or folder. Give a path relative to the import folder, "
        "not a URL or an absolute path.",
        field="path",
    )
    try:
        path = (root / clean_name(relative)).resolve(strict=True)
    except (OSError, RuntimeError, ValueError, Refusal):
        raise lost from None
    if not path.is_relative_to(root):
        raise lost
    return path


def execute(job: Job) -> None:
    """Add the import's files and write its report. It may be interrupted anywhere and run again."""
    row = Import.objects.select_related("dataset").filter(pk=job.payload["import"]).first()
    if row is None:
        # The dataset was deleted with its imports and their uploads.
        return
    if row.finished_at is None:
        report = ImageReport(list_limit=MAX_LISTED_FILES)
        try:
            _add(job, row, report)
        except queue.LeaseLost:
            raise
        except Exception:
            _write(job, row, report, None)
            raise
        _write(job, row, report, timezone.now())
    _remove(row.uploads)


def _add(job: Job, row: Import, report: ImageReport) -> None:
    with _stream_of(row) as stream:
        # Counting a manifest's rows finds its faults before anything is added.
        total = sum(1 for _ in stream())
        done = 0

        def watch(count: int) -> None:
            nonlocal done
            done += count
            queue.renew(job, done=done, total=total)

        lookalikes = None
        if row.options.get("near"):
            others = Dataset.objects.filter(pk__in=row.options["against"]).order_by("pk")
            # An interrupted run has added files already; they are recognised by name.
            lookalikes = Lookalikes(
                row.dataset, list(others), lambda _: queue.renew(job, done=0, total=total)
            )
        goal = images.ImportTarget(row.dataset, row.licence, row.source, row, lookalikes)
        images.add_all(goal, stream(), report, watch)


def _write(job: Job, row: Import, report: ImageReport, finished_at: datetime | None) -> None:
    """Save the report while the job is ours. Raises LeaseLost."""
    ours = Import.objects.filter(pk=row.pk, job__state=Job.State.RUNNING, job__claim=job.claim)
    changed = ours.update(
        # Not the report's count, which lacks the files of an interrupted run.
        added=row.images.count(),
        duplicates=report.duplicate_count,
        refused=report.refused_count,
        near=report.near_count,
        report={"duplicates": report.duplicates, "refused": report.refused, "near": report.near},
        finished_at=finished_at,
    )
    if not changed:
        raise queue.LeaseLost(f"job {job.pk} went to another worker")


@contextmanager
def _stream_of(row: Import) -> Iterator[images.Stream]:
    """Yield a function that yields the import's files from the start each time."""
    with ExitStack() as opened:
        if row.path:
            yield images.stream_at(import_root_path(row.path), opened)
            return
        if not all(default_storage.exists(upload["stored"]) for upload in row.uploads):
            raise Refusal(
                "The upload was deleted after a week. Upload it again; images that were added "
                "already are skipped."
            )
        streams = [_stream_in(upload, opened) for upload in row.uploads]
        yield lambda: chain.from_iterable(stream() for stream in streams)


def _stream_in(upload: Upload, opened: ExitStack) -> images.Stream:
    stored = upload["stored"]
    if upload["zip"]:
        return images.stream_of_zip(opened.enter_context(default_storage.open(stored)), opened)
    name = upload["file"]
    entry = SourceFile(name, name, partial(default_storage.open, stored), upload["bytes"])
    return lambda: iter([entry])


def _check_zip(sent: NamedUpload) -> None:
    """Raise Refusal for an unreadable archive or a zip bomb; rewinds the file.

    For an archive with many entries only their number is checked here; the job does the rest.
    """
    file: Any = sent.file
    size = images.zip_bytes(file)
    if not (count := count_entries(file)):
        raise BadSource("The zip is empty. Add images to it and upload it again.")
    if count <= SMALL_ENTRIES:
        with open_zip(file) as archive:
            next(in_zip(archive, size), None)
    file.seek(0)


def _keep(sent: NamedUpload) -> Upload:
    """Store the file and return its Upload. Raises StorageFull."""
    # Read first: the storage may move a file that is on disk.
    size = sent.file.size
    stored = uploads.keep(sent.file, FOLDER)
    return {"file": sent.name, "stored": stored, "bytes": size, "zip": sent.is_zip}


def _remove(kept: Sequence[Upload]) -> None:
    for upload in kept:
        # forget_old deletes what is left over.
        with suppress(Exception):
            default_storage.delete(upload["stored"])


def _enqueue(dataset: Dataset, actor: User, name: str, **fields: Any) -> Import:
    with transaction.atomic():
        # Job and import refer to each other, so the job is created first.
        job = queue.enqueue(KIND, f"{dataset.pk}:{secrets.token_hex(8)}")
        row = Import.objects.create(
            dataset=dataset, name=name[:1000], created_by=actor, job=job, **fields
        )
        job.payload = {"import": row.pk}
        job.save(update_fields=["payload"])
    return row
