"""Imports of objects with parts: read, mapped to the vocabulary, merged and stored.

An upload is stored before its job exists. Objects are stored in batches, in the transaction that
records the progress, so an interrupted job continues after its last batch. Imports are idempotent.
See docs/reference/objects-and-parts.md.
"""

import itertools
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.core.files.storage import default_storage
from django.db import models, transaction

from labeling.datasets import objects, vocabulary_store
from labeling.datasets.archives import MIB, ZipLimits, one_file, unpack
from labeling.datasets.datasets import check_may_add
from labeling.datasets.image_names import ImageNames
from labeling.db.lookups import get_or_404
from labeling.errors import Conflict, Refusal, TooLarge
from labeling.exchange import label_files, part_reading
from labeling.exchange.part_report import ImportedObject, PartImportReport
from labeling.files import BadInput
from labeling.formats.reading import LabelReading, cut_box
from labeling.formats.table import WHOLE
from labeling.jobs import queue, uploads
from labeling.models import Dataset, Item, Job, User
from labeling.models import Vocabulary as Version
from labeling.parts.model import PartedObject
from labeling.parts.simplifying import CAP, Simplified, own_name
from labeling.parts.workers import Made, Simplifiers
from labeling.vocabulary.types import Category, PartVocabulary

KIND = "import parts"
FOLDER = "parts/"
# Merged, written and counted together: a few seconds of work.
BATCH = 100
MAX_FILES = 500_000
MAX_UNPACKED = 8 * 1024 * MIB
READ_SUFFIXES = {".mat", ".json", ".jsonl", ".png", ".csv"}
IN_SHELL = "Split it, or import it in the shell: manage.py labels import --parts."

Keep = Callable[[PartImportReport], None]
# Entries for the report, added when their batch is written.
ReportSteps = list[Callable[[], None]]
ResolvedObject = tuple[PartedObject | None, Callable[[], None]]


@dataclass(frozen=True)
class ImportOptions:
    """Options of an import.

    cap: limit of a merge's radius, as a share of the diagonal of the object's box; None is no
    limit. repair: fix polygons that cross themselves or leave the image. source: of objects without
    one.
    """

    source: str = ""
    cap: float | None = CAP
    repair: bool = False


def import_upload(
    dataset: Dataset,
    actor: User,
    file: File,
    *,
    format_name: str = "",
    how: ImportOptions | None = None,
) -> Job:
    """Return the job that imports the uploaded file.

    format_name: one of part_reading.FORMAT_NAMES, by default detected. Raises Refusal for users
    the right, datasets without a vocabulary, and uploads that are too large.
    """
    how = how or ImportOptions()
    check_may_add(actor, dataset)
    vocabulary_store.in_force(dataset)
    name = Path(file.name or "parts").name
    limit = settings.ASSAY_MAX_UPLOAD_BYTES
    if (file.size or 0) > limit:
        raise TooLarge(
            f"The file has {file.size:,} bytes; the limit is {limit:,}. {IN_SHELL}", field="file"
        )
    forget_old()
    stored = uploads.keep(file, FOLDER)
    details = {"source": how.source, "cap": how.cap, "repair": how.repair}
    details |= {"file": name, "format": format_name, "stored": stored}
    try:
        return _enqueue(dataset, actor, details)
    except BaseException:
        default_storage.delete(stored)
        raise


def import_again(job: Job, dataset: Dataset, actor: User) -> Job:
    """Return a new job for the upload of a finished one, for example after the vocabulary has
    grown.

    Raises Conflict for an unfinished job, and Refusal if the upload is gone.
    """
    check_may_add(actor, dataset)
    if job.state not in Job.ENDED:
        raise Conflict("This import is still under way. Wait for it to end.")
    vocabulary_store.in_force(dataset)
    _check_upload_exists(job.payload["stored"])
    kept = ("file", "format", "stored", "source", "cap", "repair")
    return _enqueue(dataset, actor, {name: job.payload[name] for name in kept})


def continue_import(job: Job, dataset: Dataset, actor: User) -> Job:
    """Continue a failed job and return it; for a finished one, return a new job."""
    check_may_add(actor, dataset)
    return (
        queue.retry(job, actor)
        if job.state == Job.State.FAILED
        else import_again(job, dataset, actor)
    )


def jobs_of(dataset: Dataset) -> models.QuerySet[Job]:
    """Return the dataset's part imports, the newest first."""
    return Job.objects.filter(kind=KIND, key__startswith=f"{dataset.pk}:").order_by("-pk")


def job_for(dataset: Dataset, pk: int) -> Job:
    """Return the dataset's part import by id. Raises NotYours."""
    return get_or_404(jobs_of(dataset), "The dataset has no such import of parts.", pk=pk)


def report_of(job: Job) -> PartImportReport:
    """Return the job's report so far."""
    return PartImportReport(**job.payload.get("report", {}))


def is_kept(job: Job) -> bool:
    """Return whether the job's upload still exists."""
    return default_storage.exists(job.payload["stored"])


def forget_old() -> int:
    """Remove the uploads that no job needs, and return their number."""
    return uploads.forget_old(FOLDER, uploads.needed_uploads(KIND))


def execute(job: Job) -> None:
    """Import the upload and store the report; continues an interrupted run."""
    details = job.payload
    dataset = Dataset.objects.filter(pk=details["dataset"]).first()
    if dataset is None:
        default_storage.delete(details["stored"])
        return
    _check_upload_exists(details["stored"])
    if "vocabulary" not in details:
        # Continue with the same version later, so that an import never mixes two.
        details["vocabulary"] = vocabulary_store.in_force(dataset).pk
    version = dataset.vocabularies.get(pk=details["vocabulary"])
    report = report_of(job)
    how = ImportOptions(details["source"], details["cap"], details["repair"])
    part_import = PartImport(dataset, version, how, report, partial(_write, job), details["file"])
    with tempfile.TemporaryDirectory(prefix="parts-") as scratch:
        root = Path(scratch)
        with default_storage.open(details["stored"]) as file, label_files.converting_faults(root):
            path, top = _lay_out(file, details["file"], root)
            part_import.read(path, details["format"], top)
    _write(job, report)
    if not report.has_fixable_faults:
        with suppress(Exception):
            default_storage.delete(details["stored"])


@dataclass
class PartImport:
    """One import of files into the dataset, with its report.

    keep: called with the report in each batch's transaction. The report's `read` is the number of
    objects imported by an earlier run, which are skipped. file: the sender's name of it.
    """

    dataset: Dataset
    version: Version
    how: ImportOptions
    report: PartImportReport
    keep: Keep = lambda report: None
    file: str = ""
    vocabulary: PartVocabulary = field(init=False)
    names: ImageNames = field(init=False)
    # A hash of the identity of every object read so far.
    seen: set[int] = field(init=False, default_factory=set)
    steps: ReportSteps = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.vocabulary = vocabulary_store.read(self.version)
        self.names = ImageNames(self.dataset)
        self.report.vocabulary = self.version.version

    def read(self, path: Path, format_name: str = "", root: Path | None = None) -> PartImportReport:
        """Import all objects of the file or folder and return the report.

        root: positions in the report are relative to it. Raises BadInput for a file that is faulty
        as a whole; objects before it are stored.
        """
        root = root or path.parent
        # An earlier run reported all entries before the first new object.
        skip_count = self.report.read

        def on_fault(bad: BadInput) -> None:
            if not skip_count:
                self.steps.append(partial(self.report.refuse, *_place_and_fault(bad, root)))

        def tell(sentence: str) -> None:
            if not skip_count:
                self.steps.append(partial(self.report.mend, sentence))

        def skip(entry: str, why: str, example: str) -> None:
            if not skip_count:
                self.steps.append(partial(self.report.skip, entry, why, example))

        reading = LabelReading(path, self.how.repair, tell, skip, on_fault)
        objects, where = part_reading.read(reading, format_name)
        if not self.how.source:
            # A release has a name of its own; an upload is stored under an opaque name.
            source = where if where != path.name else self.file or where
            self.how = replace(self.how, source=source)
        for earlier in itertools.islice(objects, skip_count):
            skip_count -= 1
            self._is_new(earlier)
        return self.put(objects)

    def put(self, objects: Iterable[PartedObject]) -> PartImportReport:
        """Import these objects and return the report. Reads and merges a batch while writing
        another.
        """
        with Simplifiers(self.vocabulary.categories, self.how.cap) as simplifiers:
            unfinished: list[Callable[[], None]] = []
            for batch, steps in self._batches(objects):
                resolved = list(self._resolved(batch))
                made = simplifiers.submit([parted for parted, _ in resolved if parted is not None])
                unfinished.append(partial(self._finish, len(batch), steps, resolved, made))
                if len(unfinished) > 1:
                    unfinished.pop(0)()
            for finish in unfinished:
                finish()
        return self.report

    def _batches(
        self, objects: Iterable[PartedObject]
    ) -> Iterator[tuple[list[PartedObject], ReportSteps]]:
        """Yield batches of objects with the report entries that were read beside them."""
        rest = iter(objects)
        while True:
            batch = list(itertools.islice(rest, BATCH))
            steps, self.steps = self.steps, []
            if batch or steps:
                yield batch, steps
            if not batch:
                return

    def _finish(
        self,
        count: int,
        steps: ReportSteps,
        resolved: list[ResolvedObject],
        made: Callable[[], Made],
    ) -> None:
        """Write one batch and record its progress."""
        for step in steps:
            step()
        simple = iter(made())
        ready = []
        for parted, report_fault in resolved:
            outcome = next(simple) if parted is not None else None
            if isinstance(outcome, Simplified):
                ready.append(outcome)
            elif parted is not None and outcome is not None:
                self._refuse(parted, outcome)
            else:
                report_fault()
        with transaction.atomic():
            self._put(ready)
            self.report.read += count
            self.keep(self.report)

    def _put(self, ready: list[Simplified]) -> None:
        # By identity, as put() reports them.
        simple = {id(simplified.parted): simplified for simplified in ready}

        def on_put(parted: PartedObject, item: Item) -> None:
            self._count(simple[id(parted)], item)

        result = objects.put(
            self.dataset,
            [simplified.parted for simplified in ready],
            self.how.source,
            words={category.key: category.name for category in self.vocabulary.categories},
            on_fault=self._refuse,
            on_put=on_put,
        )
        for name, count in result.items():
            setattr(self.report, name, getattr(self.report, name) + count)

    def _resolved(self, batch: list[PartedObject]) -> Iterator[ResolvedObject]:
        """Yield each object under the dataset's names; None for a refused one, with its report
        entry.
        """
        for original, parted in zip(batch, self._placed(batch), strict=True):
            category = self.vocabulary.category(parted.category)
            if category is None:
                yield None, partial(self.report.miss, parted.category)
            elif not self._is_new(original, category):
                yield None, partial(self._refuse, parted, objects.duplicate_refusal(parted))
            else:
                name = own_name(parted, category)
                yield replace(parted, category=category.key, name=name), _report_nothing

    def _placed(self, batch: list[PartedObject]) -> Iterator[PartedObject]:
        """Yield the objects under the names of the dataset's images, with boxes for whole
        images.
        """
        known = self.names.find({parted.image for parted in batch})
        for raw in batch:
            image = known.get(raw.image)
            if image is None:
                # objects.put() refuses it.
                yield raw
                continue
            box = raw.box
            if box == WHOLE:
                box = (0.0, 0.0, float(image.size[0]), float(image.size[1]))
            elif self.how.repair:
                box = cut_box(box, image.size) or box
            size, is_boxed = raw.size or image.size, raw.box != WHOLE
            yield replace(raw, image=image.name, box=box, size=size, is_boxed=is_boxed)

    def _is_new(self, parted: PartedObject, category: Category | None = None) -> bool:
        """Return whether the file has not had this object before."""
        category = category or self.vocabulary.category(parted.category)
        if category is None:
            return True
        identity: tuple[Any, ...] = (parted.image, own_name(parted, category))
        if not identity[1]:
            identity = (parted.image, category.key, *parted.box)
        known = hash(identity)
        if known in self.seen:
            return False
        self.seen.add(known)
        return True

    def _refuse(self, parted: PartedObject, refusal: Refusal) -> None:
        self.report.refuse(objects.position_words(parted), refusal.message)

    def _count(self, simple: Simplified, item: Item) -> None:
        parted, report = simple.parted, self.report
        where: ImportedObject = {"image": parted.image, "object": item.name, "item": item.pk}
        report.merged += simple.merged
        for part in simple.unknown:
            report.miss(parted.category, part)
        for part, instance in simple.apart():
            report.add_apart({**where, "part": f"{instance} {part}".strip()})
        if not objects.crop_of(item)[1]:
            report.add_without_room(where)


def _enqueue(dataset: Dataset, actor: User, payload: dict[str, Any]) -> Job:
    payload = payload | {"dataset": dataset.pk, "by": actor.username}
    with transaction.atomic():
        return queue.enqueue(KIND, f"{dataset.pk}:{secrets.token_hex(8)}", payload)


def _check_upload_exists(stored: str) -> None:
    if not default_storage.exists(stored):
        raise Refusal("The upload was deleted after a week. Upload it again.")


def _write(job: Job, report: PartImportReport) -> None:
    """Store the report while we hold the job. Raises LeaseLost."""
    payload = job.payload | {"report": report.content()}
    ours = Job.objects.filter(pk=job.pk, state=Job.State.RUNNING, claim=job.claim)
    if not ours.update(payload=payload, progress_done=report.read):
        raise queue.LeaseLost(f"job {job.pk} went to another worker")
    job.payload = payload


def _lay_out(file: Any, name: str, root: Path) -> tuple[Path, Path]:
    """Write the upload as a file or folder below root; return it and the root of its positions.

    Only the extension of its name is used.
    """
    ending = Path(name).suffix.lower()
    if ending != ".zip":
        path = one_file(file, root / f"parts{ending if ending in READ_SUFFIXES else ''}")
        return path, path
    top = folder = root / "zip"
    unpack(file, folder, ZipLimits(READ_SUFFIXES, MAX_FILES, MAX_UNPACKED, IN_SHELL))
    while not (folder / "release.json").exists():
        entries = list(folder.iterdir())
        if not entries:
            raise Refusal(
                "The zip has no files of objects. Add .mat, .json, .png or .csv files.",
                field="file",
            )
        if len(entries) > 1 or entries[0].is_file():
            break
        folder = entries[0]
    return folder, top


def _place_and_fault(bad: BadInput, root: Path) -> tuple[str, str]:
    """Return (position, sentence) of a fault; the position is a path relative to root."""
    path = Path(bad.file or root)
    relative_path = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    places = [relative_path] if relative_path != "." else []
    if bad.line is not None:
        places.append(f"line {bad.line}")
    cure = f" {bad.cure[0].upper()}{bad.cure[1:]}." if bad.cure else ""
    return ", ".join(places), f"{bad.message[0].upper()}{bad.message[1:]}.{cure}"


def _report_nothing() -> None:
    """Report nothing."""
