"""Exports of a release as zip: written immediately, or by a job if large.

The zip holds the folder that `labels export` or `publish` writes; its bytes are reproducible.
"""

import hashlib
import json
import os
import tempfile
import zipfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, Any, TypedDict

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from labeling.datasets import images
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.jobs import queue, shared_files
from labeling.kinds import KINDS
from labeling.kinds.base import GRAPH, OBJECTS
from labeling.models import Campaign, Image, Job, Release
from labeling.publishing import folder
from labeling.release_files import exporting
from labeling.release_files.exporting import PUBLISHED
from labeling.releases import freezing

KIND = "export labels"
# About four seconds' work, zipping included.
MAX_WORK_IN_REQUEST = 200_000
# An object with its parts takes as long as this many labels.
WORK_PER_OBJECT = {"csv": 1, "jsonl": 1, "voc": 1, "yolo": 1, "datumaro": 1, "pictures": 6_000}
DEFAULT_WORK_PER_OBJECT = 400
# A published photograph takes as long as this many labels.
WORK_PER_PHOTOGRAPH = 200
# Lifetime of a job's zip; later it is rebuilt on request.
ZIP_LIFETIME = timedelta(days=7)
# Folder of the zips in the object store.
STORED = "labels"
# The strongest compression of labels takes three times as long to save a tenth.
LEVEL = 3
# These are already compressed.
UNCOMPRESSED_ENDINGS = (".png", ".parquet")
# Version of the formats; zips of earlier versions are not reused.
LAYOUT = 3


def fetch(
    release: Release, format_name: str, options: exporting.FormatOptions = exporting.DEFAULT
) -> IO[bytes] | Job:
    """Return the open zip of the release's labels, or the job that writes a large one.

    Repeated calls return the same job. Raises Refusal for an unknown format or option, and if the
    release's files are gone.
    """
    known = formats_of(release.campaign)
    if format_name not in known:
        raise Refusal(
            f"This release has no format {format_name[:40]!r}. Choose one of: {', '.join(known)}.",
            field="format",
        )
    try:
        options.of(format_name, release.campaign.kind)
    except BadInput as bad:
        raise Refusal(f"{_sentence(bad.message)} {_sentence(bad.cure)}") from None
    path = _path(release, format_name, options)
    with suppress(FileNotFoundError):
        return open(shared_files.find(path, _stored_name(path)), "rb")
    if not freezing.folder_of(release).is_dir():
        raise Refusal("The files of this release are not on this server. Freeze it again.")
    if work(release, format_name, options) > MAX_WORK_IN_REQUEST:
        return _export_job(release, format_name, options)
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the response
    try:
        with converting_disk_full():
            write(release, format_name, file, options)
            file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _sentence(text: str | None) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def formats_of(campaign: Campaign) -> list[str]:
    """Return the formats of the campaign's releases, including the folder to publish."""
    return [*exporting.formats_of(campaign.kind), PUBLISHED]


def work(
    release: Release, format_name: str, options: exporting.FormatOptions = exporting.DEFAULT
) -> int:
    """Return an upper bound of the work, in labels or what takes as long."""
    counts = release.counts
    if format_name == PUBLISHED:
        photographs = int(counts["images"]) * WORK_PER_PHOTOGRAPH if options.with_images else 0
        return photographs + int(counts["votes"]) + work(release, "csv")
    release_kind = KINDS[release.campaign.kind].release
    if release_kind == OBJECTS:
        return int(counts["objects"]) * WORK_PER_OBJECT.get(format_name, DEFAULT_WORK_PER_OBJECT)
    if release_kind == GRAPH:
        return int(counts["images"]) * int(counts["topics"])
    return int(counts["settled"]) + int(counts["dropped"])


def file_name(release: Release, format_name: str) -> str:
    return f"{release.campaign.name}-{release.number}-{format_name}.zip"


def write(
    release: Release,
    format_name: str,
    file: IO[bytes],
    options: exporting.FormatOptions = exporting.DEFAULT,
) -> None:
    """Write the zip into an open file.

    Raises Refusal if the release's files changed, or if a photograph for pictures is missing.
    """
    top = f"{release.campaign.name}-{release.number}"
    date = release.created_at.timetuple()[:6]
    with tempfile.TemporaryDirectory(prefix="labels-") as scratch:
        out = Path(scratch) / "labels"
        try:
            frozen = freezing.read(release)
        except BadInput:
            raise Refusal(
                "The files of this release were changed after it was frozen. Freeze it again."
            ) from None
        if format_name == PUBLISHED:
            folder.publish(
                frozen,
                out,
                images_of(release),
                with_images=options.with_images,
                **publishing_options(release),
            )
        else:
            exporting.export(frozen, format_name, out, images_of(release), options)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as archive:
            for path in sorted(path for path in out.rglob("*") if path.is_file()):
                name = f"{top}/{path.relative_to(out).as_posix()}"
                entry = zipfile.ZipInfo(name, date)
                stored = path.suffix in UNCOMPRESSED_ENDINGS
                entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                with path.open("rb") as source, archive.open(entry, "w", force_zip64=True) as goal:
                    while part := source.read(1 << 20):
                        goal.write(part)


class PublishingOptions(TypedDict):
    """Options of `folder.publish` that come from the database."""

    sealed: frozenset[str]
    started: str


def publishing_options(release: Release | None) -> PublishingOptions:
    """Return the images that a split of the campaign seals, and the campaign's start.

    None: a release that is only a folder. Raises Conflict while a sealed split is being made.
    """
    if release is None:
        return {"sealed": frozenset(), "started": ""}
    sealed = import_string(settings.ASSAY_SEALED_IMAGES)(release.campaign)
    return {"sealed": sealed, "started": release.campaign.created_at.date().isoformat()}


def images_of(release: Release) -> exporting.Open:
    """Return a function that opens an image of the release's dataset by name, upright."""
    return lambda name: images.open_display(_image_of(release, name))


def originals_of(release: Release) -> exporting.Open:
    """Return a function that opens an image file of the release's dataset by name, as uploaded."""
    return lambda name: images.open_original(_image_of(release, name))


def _image_of(release: Release, name: str) -> Image:
    image = release.campaign.dataset.images.filter(name=name).first()
    if image is None:
        raise Refusal(f"{name} is no longer in {release.campaign.dataset.name}.")
    return image


def execute(job: Job) -> None:
    """Write the zip of the job. Idempotent."""
    release = Release.objects.select_related("campaign").get(pk=job.payload["release"])
    # Jobs from before there were options have none.
    options = exporting.FormatOptions(**job.payload.get("options", {}))
    format_name = job.payload["format"]
    path = _path(release, format_name, options)
    forget_old()
    if shared_files.find(path, _stored_name(path)).exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(release, format_name, file, options)
        os.chmod(part, 0o640)
        shared_files.put(Path(part), _stored_name(path))
        os.replace(part, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part)
        raise


def forget_old() -> int:
    """Remove old zips and unfinished ones of killed workers; return their number."""
    limit = (timezone.now() - ZIP_LIFETIME).timestamp()
    removed = 0
    with suppress(FileNotFoundError):
        for path in list(_folder().iterdir()):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < limit:
                    path.unlink()
                    removed += 1
    if shared_files.is_shared():
        for row in shared_files.list_files(STORED):
            if row.written.timestamp() < limit:
                shared_files.delete(row.name)
                removed += 1
    return removed


def forget(release: Release) -> None:
    """Remove the zips of the release, on this machine and in the object store."""
    prefix = f"{release.sha256}-{release.number}-"
    names = {path.name for path in _folder().glob(f"{prefix}*")}
    if shared_files.is_shared():
        rows = shared_files.list_files(STORED)
        names |= {row.name.rpartition("/")[2] for row in rows if f"/{prefix}" in row.name}
    for name in names:
        shared_files.remove(_folder() / name, f"{STORED}/{name}")


def _export_job(release: Release, format_name: str, options: exporting.FormatOptions) -> Job:
    """Return the job of the zip: a queued, running or last failed one, else a new one."""
    chosen = options.of(format_name, release.campaign.kind)
    key = f"{release.pk}:{format_name}"
    if options != exporting.DEFAULT:
        key += f":{_digest(chosen)}"
    with transaction.atomic():
        # Concurrent requests get the same job.
        Release.objects.select_for_update().get(pk=release.pk)
        latest = Job.objects.filter(kind=KIND, key=key).order_by("-pk").first()
        if latest is not None and latest.state != Job.State.DONE:
            return latest
        payload: dict[str, Any] = {"release": release.pk, "format": format_name, "options": chosen}
        return queue.enqueue(KIND, key, payload, release.campaign)


def _folder() -> Path:
    # Not a campaign's folder, since those names have no dot.
    return Path(settings.RELEASES_DIR) / ".labels"


def _path(release: Release, format_name: str, options: exporting.FormatOptions) -> Path:
    content: list[Any] = [LAYOUT, options.of(format_name, release.campaign.kind)]
    if format_name == PUBLISHED:
        # If a split is sealed after a zip was made, another zip is needed.
        content.append(sorted(publishing_options(release)["sealed"]))
    how = _digest(content)
    return _folder() / f"{release.sha256}-{release.number}-{format_name}-{how}.zip"


def _stored_name(path: Path) -> str:
    return f"{STORED}/{path.name}"


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
