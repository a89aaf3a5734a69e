"""Images as the network's encoder sees them, by a job, within the network's budget of bytes.

The only writer of ImageEmbedding. Which images have one follows from their hashes, the budget and
the campaign's questions, gold or not.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from labeling.assistance import networks
from labeling.datasets import images
from labeling.disk_full import saying_full
from labeling.errors import Refusal
from labeling.files import file_sha256
from labeling.jobs import child, queue, shared_files
from labeling.models import Campaign, Image, ImageEmbedding, Job, SegmentationNetwork

KIND = "embed images"
STORED = "embeddings"
# So many a start of the encoder: what a killed job does again, at most.
BATCH = 32
WORK = ".work"


@dataclass(frozen=True)
class State:
    """images: that questions are asked about; embedded: how many of them have an embedding; fits:
    how many the budget has room for; bytes: that embeddings take."""

    images: int
    embedded: int
    fits: int
    bytes: int


def state(network: SegmentationNetwork) -> State:
    """Three queries."""
    images = _asked(network.campaign).count()
    rows = network.embeddings.count()
    return State(images, rows, min(images, _room(network)), rows * network.embedding_bytes)


@dataclass(frozen=True)
class Kept:
    """Of the campaign's page. images: with an embedding; bytes: that they take, of the budget."""

    network: str
    images: int
    bytes: int
    budget: int


def kept(campaign: Campaign) -> Kept | None:
    """None where the campaign has no network. Its cost grows with the embeddings alone."""
    network = networks.of(campaign)
    if network is None:
        return None
    count = network.embeddings.count()
    return Kept(network.name, count, count * network.embedding_bytes, network.budget)


def start(campaign: Campaign) -> Job:
    """Return the job that makes what is lacking: one that waits already, or a new one. Raises
    Refusal where the campaign has no network.
    """
    network = networks.of(campaign)
    if network is None:
        raise Refusal(f"{campaign.name} has no network. Name one first: manage.py proposals name.")
    with transaction.atomic():
        job = queue.enqueue(KIND, str(network.pk), {"network": network.pk}, campaign)
        SegmentationNetwork.objects.filter(pk=network.pk).update(job=job)
    return job


def stop(campaign: Campaign) -> bool:
    """Return whether a job was stopped. What it made stays."""
    network = SegmentationNetwork.objects.select_related("job").filter(campaign=campaign).first()
    if network is None or network.job is None:
        return False
    return bool(
        Job.objects.filter(
            pk=network.job.pk, state__in=[Job.State.QUEUED, Job.State.RUNNING]
        ).update(state=Job.State.FAILED, claim="", leased_until=None, error="Stopped by hand.")
    )


def execute(job: Job) -> None:
    """Embed the chosen images that lack it, and forgets what is chosen no more. Harmless to run
    twice; what is there is not made again.
    """
    network = (
        SegmentationNetwork.objects.select_related("campaign")
        .filter(pk=job.payload["network"])
        .first()
    )
    if network is None:
        return
    _forget_gone()
    chosen = _chosen(network)
    for row in network.embeddings.all():
        path = networks.path_of(row.file)
        if row.image_id not in chosen or not (path.is_file() or shared_files.has(row.file)):
            row.delete()
            shared_files.remove(path, row.file)
    done = set(network.embeddings.values_list("image_id", flat=True))
    lacking = [pk for pk in chosen if pk not in done]
    folder = Path(settings.DATA_DIR) / STORED / f"{network.pk}{WORK}"
    try:
        for batch in _batches(lacking):
            queue.renew(job, len(chosen) - len(lacking), len(chosen))
            with saying_full():
                _embed(job, network, batch, folder)
            lacking = [pk for pk in lacking if pk not in batch]
        queue.renew(job, len(chosen), len(chosen))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def file_of(network: SegmentationNetwork, image: int) -> Path | None:
    """Return the embedding's file on this machine; None where the image has none."""
    row = network.embeddings.filter(image=image).first()
    if row is None:
        return None
    path = shared_files.find(networks.path_of(row.file), row.file)
    return path if path.is_file() else None


def _forget_gone() -> None:
    """Removes what campaigns left on this machine that are gone with their networks."""
    known = {str(pk) for pk in SegmentationNetwork.objects.values_list("pk", flat=True)}
    for folder in (Path(settings.DATA_DIR) / STORED).glob("*"):
        if folder.name.removesuffix(WORK) not in known:
            shutil.rmtree(folder, ignore_errors=True)


def _asked(campaign: Campaign) -> QuerySet[Image]:
    return Image.objects.filter(items__questions__campaign=campaign).distinct()


def _room(network: SegmentationNetwork) -> int:
    return int(network.budget // network.embedding_bytes)


def _chosen(network: SegmentationNetwork) -> list[int]:
    """The images that have an embedding, in the order of their hashes: as many as have room."""
    rows = _asked(network.campaign).values_list("sha256", "pk")

    def hash_of(row: tuple[str, int]) -> bytes:
        return hashlib.sha256(f"embedding {row[0]}".encode()).digest()

    return [pk for _, pk in sorted(rows, key=hash_of)[: _room(network)]]


def _batches(pks: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(pks), BATCH):
        yield pks[start : start + BATCH]


def _embed(job: Job, network: SegmentationNetwork, batch: list[int], folder: Path) -> None:
    """Files and rows of these images. What is there under the name already is the same."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "images").mkdir(parents=True)
    for image in Image.objects.filter(pk__in=batch):
        copy = folder / "images" / str(image.pk)
        with images.open_original(image) as source, copy.open("wb") as written:
            shutil.copyfileobj(source, written)
    (folder / "preparation.json").write_text(json.dumps(network.preparation))
    child.manage(
        job,
        folder,
        *("proposals", "embed", str(folder / "images")),
        *("--encoder", str(networks.file_of(network.encoder_sha256))),
        *(
            "--preparation",
            str(folder / "preparation.json"),
            "--out",
            str(folder / "out"),
            "--json",
        ),
    )
    rows = []
    for pk in batch:
        made = folder / "out" / f"{pk}.npy"
        if not made.is_file():
            # An image that cannot be read: people draw on it without the model.
            continue
        stored = f"{STORED}/{network.pk}/{pk}.npy"
        goal = networks.path_of(stored)
        goal.parent.mkdir(parents=True, exist_ok=True)
        digest = file_sha256(made)
        size = made.stat().st_size
        os.replace(made, goal)
        shared_files.put(goal, stored)
        rows.append(
            ImageEmbedding(network=network, image_id=pk, file=stored, sha256=digest, bytes=size)
        )
    # Only while the job is ours: who lost it writes nothing more.
    queue.renew_child(job, job.last_line, job.exit_code)
    ImageEmbedding.objects.bulk_create(rows, ignore_conflicts=True)
