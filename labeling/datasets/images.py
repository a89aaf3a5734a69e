"""Adding images and making the derivatives that annotators see. The only writer of Image.

A file is read, checked and stored before its row is written; if the row fails, the file is deleted,
so neither exists alone. Storage names are random and reveal no name, hash or order. See
docs/how-to/images.md.
"""

import hashlib
import io
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files.base import File
from django.db import IntegrityError, models, transaction

from labeling.datasets import details, tombstones
from labeling.datasets.image_report import ImageReport
from labeling.datasets.image_sources import (
    DAMAGED,
    MAX_LICENCE,
    MAX_SOURCE,
    Query,
    Refused,
    SourceFile,
    clean_name,
    in_folder,
    in_manifest,
    in_zip,
    merged,
    open_zip,
    printable,
)
from labeling.datasets.near_images import Lookalikes, fingerprint_of
from labeling.disk_full import StorageFull
from labeling.errors import Conflict, NotYours, Refusal, StoreFault, TooLarge, Unavailable
from labeling.image_files import DISPLAY_PX, PREVIEW, BadImage, Encoded, check, derive
from labeling.jobs import queue
from labeling.jobs.image_store import media_type_of, remove, write
from labeling.models import Dataset, Image, Import, Job
from labeling.near_duplicates.fingerprints import to_bytes
from labeling.plurals import count_of

logger = logging.getLogger(__name__)

DERIVATIVES = "derivatives"
# Neighbouring images per derivatives job: enough work for a message, short enough to spread over
# workers.
BLOCK = 200
# Files looked up in the database at a time.
BATCH = 100
CHUNK_BYTES = 1024 * 1024
# Columns read of existing images.
_KNOWN = ("dataset", "sha256", "name", "came_with")

Source = Iterable[SourceFile | Refused]
# A function that returns the files from the start each time.
Stream = Callable[[], Iterator[SourceFile | Refused]]
Watch = Callable[[int], None]


@dataclass(frozen=True)
class AddedImage:
    """The new image, or the existing one of this dataset with the same content."""

    image: Image | None
    duplicate_of: Image | None = None


@dataclass(frozen=True)
class ImportTarget:
    """The target of an import, with defaults for its files. lookalikes: index of existing images;
    files that look like one of them are left out. first_frame: accept animated files.
    """

    dataset: Dataset
    licence: str = ""
    source: str = ""
    came_with: Import | None = None
    lookalikes: Lookalikes | None = None
    first_frame: bool = False

    def has_added(self, image: Image, name: str) -> bool:
        """Return whether this import added the file in an earlier, interrupted run."""
        ours = self.came_with is not None and image.came_with_id == self.came_with.pk
        return ours and image.name == name


class NameTaken(Conflict):
    code = "name_taken"


class OpenPicture(File):
    """An open derivative and its media type."""

    def __init__(self, file: IO[bytes], media_type: str) -> None:
        # The storage name is left out: it would be the same for everybody who sees the image.
        super().__init__(file, name="")
        self.media_type = media_type


# Adding


def add_file(
    dataset: Dataset, name: str, fileobj: IO[bytes], *, licence: str = "", source: str = ""
) -> AddedImage:
    """Add this one file and return its image.

    Raises Refusal with a sentence; then nothing has changed.
    """
    # Do not close the file: it is the caller's.
    entry = SourceFile(name, name, lambda: nullcontext(fileobj), 0)
    name = clean_name(name)
    content = _read(entry)
    sha256 = hashlib.sha256(content).hexdigest()
    same = dataset.images.filter(sha256=sha256).first()
    if same is not None:
        return AddedImage(None, same)
    if dataset.images.filter(name=name).exists():
        raise _name_taken(name)
    return _store(dataset, name, content, licence, source)


def zip_bytes(file: IO[bytes]) -> int:
    """Return the size of the zip, rewound to its start. Raises TooLarge."""
    size = file.seek(0, io.SEEK_END)
    if size > settings.ASSAY_MAX_UPLOAD_BYTES:
        raise TooLarge(
            f"The zip has {size:,} bytes; the limit is {settings.ASSAY_MAX_UPLOAD_BYTES:,}. "
            "Split it, or have the folder imported on the server.",
            field="file",
        )
    file.seek(0)
    return size


def stream_of_zip(file: IO[bytes], opened: ExitStack) -> Stream:
    size = zip_bytes(file)
    return partial(in_zip, opened.enter_context(open_zip(file)), size)


def stream_at(path: Path, opened: ExitStack) -> Stream:
    """Return the files at the path: a folder, a .csv manifest, or else a zip.

    Images are named by their path in it; nothing is unpacked to disk.
    """
    if path.is_dir():
        return partial(in_folder, path)
    if path.suffix.lower() == ".csv":
        return partial(in_manifest, path)
    return stream_of_zip(opened.enter_context(path.open("rb")), opened)


def add_path(
    dataset: Dataset,
    path: str | Path,
    *,
    licence: str = "",
    source: str = "",
    watch: Watch | None = None,
    against: Sequence[Dataset] | None = None,
    first_frame: bool = False,
) -> ImageReport:
    """Add the files at the path (stream_at) and return the report.

    licence, source: for manifest rows without them. against: datasets, besides this one, whose
    lookalikes are left out; None to skip that check. first_frame: accept animated files and show
    their first frame.
    """
    path, report = Path(path), ImageReport()
    if not path.exists():
        raise Refusal(f"There is no {printable(str(path))}. Check the path.", field="path")
    lookalikes = None if against is None else Lookalikes(dataset, against)
    with ExitStack() as opened:
        goal = ImportTarget(
            dataset, licence, source, lookalikes=lookalikes, first_frame=first_frame
        )
        add_all(goal, stream_at(path, opened)(), report, watch)
    return report


def add_all(
    goal: ImportTarget, files: Source, report: ImageReport, watch: Watch | None = None
) -> None:
    """Add the files and write the results into the report.

    After StorageFull or a killed process, calling it again adds the rest.
    """
    files = iter(files)
    try:
        while batch := list(islice(files, BATCH)):
            _add_batch(goal, batch, report, watch)
    except StorageFull as full:
        raise StorageFull(
            f"{full.message} {count_of(report.added, 'image was', 'images were')} added and stay. "
            "Then repeat the import; it skips the images that were added."
        ) from full


def _add_batch(
    goal: ImportTarget, batch: list[SourceFile | Refused], report: ImageReport, watch: Watch | None
) -> None:
    """Add a batch. Every file is read twice, so that only one is in memory at a time."""
    hashes: dict[int, str] = {}
    names: dict[int, str] = {}
    for index, entry in enumerate(batch):
        with _refusals(report, entry):
            if isinstance(entry, Refused):
                raise Refusal(entry.why)
            names[index] = clean_name(entry.name)
            hashes[index] = _hash(entry)
    images = goal.dataset.images
    # Look up names before content: an image that a concurrent import adds in between then counts as
    # a duplicate instead of being refused for its name.
    taken = set(images.filter(name__in=names.values()).values_list("name", flat=True))
    known = {
        image.sha256: image for image in images.filter(sha256__in=hashes.values()).only(*_KNOWN)
    }
    for index, entry in enumerate(batch):
        with _refusals(report, entry):
            if index in hashes and isinstance(entry, SourceFile):
                name = names[index]
                same = known.get(hashes[index])
                if same is None:
                    if name in taken:
                        raise _name_taken(name)
                    same = _add_found(goal, entry, name, report)
                    if same is not None:
                        known.setdefault(hashes[index], same)
                        taken.add(name)
                elif not goal.has_added(same, name):
                    report.duplicate(entry.file, same.name)
                    add_queries(goal.dataset, same.name, entry.queries)
        if watch:
            watch(1)


def _add_found(
    goal: ImportTarget, entry: SourceFile, name: str, report: ImageReport
) -> Image | None:
    """Add and count the file; return its image.

    If a concurrent import added the same content, return that image; for a lookalike return None.
    """
    content, fingerprint = _read(entry), None
    if goal.lookalikes is not None:
        fingerprint = fingerprint_of(content)
        if near := goal.lookalikes.find(fingerprint):
            report.looks_like(entry.file, near.image, near.dataset, near.distance)
            if near.dataset == goal.dataset.name:
                add_queries(goal.dataset, near.image, entry.queries)
            return None
    licence, source = entry.licence or goal.licence, entry.source or goal.source
    more: dict[str, object] = {"queries": [list(query) for query in entry.queries]}
    if goal.lookalikes is not None:
        more["fingerprint"] = to_bytes(fingerprint)
    added = _store(
        goal.dataset, name, content, licence, source, goal.came_with, goal.first_frame, **more
    )
    if added.image is not None:
        report.added += 1
        if goal.lookalikes is not None:
            goal.lookalikes.add(name, fingerprint)
        return added.image
    assert added.duplicate_of is not None
    if not goal.has_added(added.duplicate_of, name):
        report.duplicate(entry.file, added.duplicate_of.name)
        add_queries(goal.dataset, added.duplicate_of.name, entry.queries)
    return added.duplicate_of


def add_queries(dataset: Dataset, name: str, queries: Iterable[Query]) -> None:
    """Add queries that found the image, or one that looks like it."""
    if not (queries := list(queries)):
        return
    with transaction.atomic():
        image = dataset.images.select_for_update(no_key=True, of=("self",)).get(name=name)
        together = merged([*((wnid, query) for wnid, query in image.queries), *queries])
        rows = [list(query) for query in together]
        if rows != image.queries:
            image.queries = rows
            image.save(update_fields=["queries"])


@contextmanager
def _refusals(report: ImageReport, entry: SourceFile | Refused) -> Iterator[None]:
    """Turn a problem with one file into a line of the report.

    A full disk or an unreachable object store ends the import.
    """
    try:
        yield
    except (StorageFull, StoreFault):
        raise
    except Refusal as refusal:
        report.refuse(entry.file, refusal.message)


def _store(
    dataset: Dataset,
    name: str,
    content: bytes,
    licence: str,
    source: str,
    came_with: Import | None = None,
    first_frame: bool = False,
    **more: object,
) -> AddedImage:
    """Store the file, then its row, and return the image. Raises Refusal for a bad file."""
    if len(licence) > MAX_LICENCE:
        raise Refusal(f"The licence is longer than {MAX_LICENCE} characters.", field="licence")
    if len(source) > MAX_SOURCE:
        raise Refusal(f"The source is longer than {MAX_SOURCE} characters.", field="source")
    if "\0" in licence + source:
        raise Refusal("The licence or the source has a NUL character. Remove it.", field="licence")
    try:
        checked = check(
            io.BytesIO(content), max_pixels=settings.ASSAY_MAX_IMAGE_PIXELS, first_frame=first_frame
        )
    except BadImage as bad:
        raise Refusal(str(bad), field="file", code="bad_image") from bad
    sha256 = hashlib.sha256(content).hexdigest()
    tombstones.check(content, sha256, (checked.width, checked.height))
    image = Image(
        dataset=dataset,
        name=name,
        sha256=sha256,
        media_type=checked.media_type,
        bytes=len(content),
        width=checked.width,
        height=checked.height,
        licence=licence,
        source=source,
        came_with=came_with,
        **more,
    )
    stored = write("file", content, checked.media_type)
    image.file = stored
    try:
        with transaction.atomic():
            image.save(force_insert=True)
            _enqueue_derivatives(image)
    except IntegrityError:
        remove("file", stored)
        same = dataset.images.filter(sha256=image.sha256).first()
        if same is not None:
            return AddedImage(None, same)
        if dataset.images.filter(name=name).exists():
            raise _name_taken(name) from None
        raise
    except BaseException:
        remove("file", stored)
        raise
    return AddedImage(image)


def _name_taken(name: str) -> NameTaken:
    return NameTaken(
        f"The dataset has another image named {printable(name)}. Rename this one.", field="name"
    )


def _read(entry: SourceFile) -> bytes:
    """Return the file's content, up to the limit."""
    content = b"".join(_pieces(entry))
    if not content:
        raise Refusal("The file is empty.", field="file", code="bad_image")
    return content


def _hash(entry: SourceFile) -> str:
    digest = hashlib.sha256()
    for piece in _pieces(entry):
        digest.update(piece)
    return digest.hexdigest()


def _pieces(entry: SourceFile) -> Iterator[bytes]:
    """Yield the file in pieces: reading it at once would allocate the limit's size."""
    limit = settings.ASSAY_MAX_IMAGE_BYTES
    if entry.bytes > limit:
        raise _too_large(limit)
    count = 0
    with _reading(entry) as file:
        while piece := file.read(CHUNK_BYTES):
            count += len(piece)
            # An archive may state less than it holds.
            if count > limit:
                raise _too_large(limit)
            yield piece


@contextmanager
def _reading(entry: SourceFile) -> Iterator[IO[bytes]]:
    """Open the file and turn read errors into a Refusal."""
    try:
        with entry.open() as file:
            yield file
    except DAMAGED as error:
        raise Refusal(f"It is damaged in the zip ({error}). Create the zip again.") from None
    except (NotImplementedError, RuntimeError):
        raise Refusal("It is encrypted or has another compression. Use plain zip.") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Refusal(f"It cannot be read: {reason}.") from None


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"It has more than {limit:,} bytes, the limit of this site.", field="file")


# Derivatives


def make_derivatives(job: Job) -> None:
    """Make missing derivatives in the job's block of neighbouring images. Idempotent.

    An image that fails does not hold up the others; the job then fails and names it.
    """
    block = job.payload["block"]
    large = models.Q(width__gt=DISPLAY_PX) | models.Q(height__gt=DISPLAY_PX)
    missing = Image.objects.filter(
        models.Q(display="") | models.Q(thumbnail="") | large,
        dataset=job.payload["dataset"],
        pk__gte=block * BLOCK,
        pk__lt=(block + 1) * BLOCK,
    ).order_by("pk")
    waiting = [image for image in missing.iterator() if not _has_derivatives(image)]
    broken = []
    for done, image in enumerate(waiting):
        queue.renew(job, done=done, total=len(waiting))
        try:
            if not (image.display and image.thumbnail):
                _derive(image)
            if image.display and not _has_derivatives(image):
                details.make(image)
        except StoreFault:
            raise
        except (Refusal, FileNotFoundError) as error:
            logger.warning("no derivatives of image %s: %s", image.pk, error)
            broken.append(image.name)
    queue.renew(job, done=len(waiting), total=len(waiting))
    if broken:
        names = ", ".join(broken[:5]) + (" …" if len(broken) > 5 else "")
        raise Refusal(
            f"{len(broken)} of {len(waiting)} images could not be converted, because their files "
            f"are missing or damaged: {names}. Restore the files, then try again."
        )


def _has_derivatives(image: Image) -> bool:
    has_both = image.display and image.thumbnail
    return bool(has_both and (not details.is_large(image) or details.tiles_exist(image)))


def open_display(image: Image) -> OpenPicture:
    """Open the image that annotators see; make it now if its job has not run."""
    return _open("display", image)


def open_preview(image: Image) -> OpenPicture:
    """Open the preview of a large image if a job has made it, else the display version."""
    _check_kept(image)
    if details.is_large(image):
        with suppress(FileNotFoundError):
            return OpenPicture(details.open_file(image, PREVIEW), "image/jpeg")
        _enqueue_tiles(image)
    return open_display(image)


def open_detail(image: Image, name: str) -> OpenPicture:
    """Open a tile of a large image, named LEVEL,COLUMN,ROW.

    Raises NotYours if there is none, Unavailable until a job has made it.
    """
    _check_kept(image)
    if details.is_large(image) and details.TILE_NAME.fullmatch(name):
        with suppress(FileNotFoundError):
            return OpenPicture(details.open_file(image, name), "image/jpeg")
        if not details.tiles_exist(image):
            _enqueue_tiles(image)
            raise Unavailable("The photograph is being prepared. Try again in a moment.")
    raise NotYours("The photograph has no such tile.")


def open_thumbnail(image: Image) -> OpenPicture:
    """Open a small WebP; make it now if its job has not run."""
    return _open("thumbnail", image)


def open_original(image: Image) -> IO[bytes]:
    """Open the file as it was added."""
    _check_kept(image)
    opened: IO[bytes] = image.file.storage.open(str(image.file.name))
    return opened


def derivative_jobs(dataset: Dataset) -> models.QuerySet[Job]:
    """Return the dataset's derivative jobs, which belong to no campaign."""
    return Job.objects.filter(kind=DERIVATIVES, key__startswith=f"{dataset.pk}:")


def _key(image: Image) -> str:
    return f"{image.dataset_id}:{image.pk // BLOCK}"


def _enqueue_derivatives(image: Image) -> None:
    block = image.pk // BLOCK
    queue.enqueue(DERIVATIVES, _key(image), {"dataset": image.dataset_id, "block": block})


def _enqueue_tiles(image: Image) -> None:
    """Queue the tiles of an image that predates them, once per block.

    Does nothing if the block's job has failed; a person must retry it.
    """
    states = [Job.State.QUEUED, Job.State.RUNNING, Job.State.FAILED]
    if not Job.objects.filter(kind=DERIVATIVES, key=_key(image), state__in=states).exists():
        _enqueue_derivatives(image)


def _check_kept(image: Image) -> None:
    if image.removed_at is not None:
        raise NotYours("This image was removed for privacy.", code="image_removed")


def _open(kind: str, image: Image) -> OpenPicture:
    _check_kept(image)
    stored = getattr(image, kind)
    if stored:
        with suppress(FileNotFoundError):
            return OpenPicture(stored.storage.open(stored.name), media_type_of(stored.name))
        # Missing in the storage (restored without derivatives): make it again.
        Image.objects.filter(pk=image.pk, **{kind: stored.name}).update(**{kind: ""})
        setattr(image, kind, "")
    try:
        _derive(image)
    except FileNotFoundError:
        raise Refusal(
            "The file of this image is missing on the server. Tell a researcher of the campaign.",
            code="file_missing",
        ) from None
    made = getattr(image, kind)
    if not made:
        raise Refusal("This image was deleted.", code="file_missing")
    return OpenPicture(made.storage.open(made.name), media_type_of(made.name))


def _derive(image: Image) -> None:
    """Make the image's display version and thumbnail, unless another process has."""
    with image.file.storage.open(str(image.file.name)) as original:
        try:
            display, thumbnail = derive(
                io.BytesIO(original.read()), max_pixels=settings.ASSAY_MAX_IMAGE_PIXELS
            )
        except BadImage as bad:
            raise Refusal(str(bad), code="bad_image") from bad
    _keep(image, "display", display)
    _keep(image, "thumbnail", thumbnail)


def _keep(image: Image, kind: str, made: Encoded) -> None:
    name = write(kind, made.content, made.media_type)
    try:
        ours = Image.objects.filter(pk=image.pk, **{kind: ""}).update(**{kind: name})
    except BaseException:
        remove(kind, name)
        raise
    # Otherwise another process stored its file first, or the image was deleted.
    if not ours:
        remove(kind, name)
    names = Image.objects.filter(pk=image.pk).values_list(kind, flat=True)
    setattr(image, kind, name if ours else names.first() or "")
