"""The job that embeds images with the network's encoder, within the network's byte budget.

The only writer of ImageEmbedding. The images' hashes, the budget and the campaign's questions, gold
or not, determine which images get one.
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
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal
from labeling.files import file_sha256
from labeling.jobs import child, hashed_files, queue, shared_files
from labeling.models import Campaign, Image, ImageEmbedding, Job, SegmentationNetwork

KIND = "embed images"
STORED = "embeddings"
# Images per start of the encoder; a killed job repeats at most these.
BATCH = 32
WORK = ".work"


@dataclass(frozen=True)
class EmbeddingState:
    """images: images with questions; embedded: how many of them have an embedding; fits: how many
    fit into the budget; bytes: size of the embeddings.
    """

    images: int
    embedded: int
    fits: int
    bytes: int


def state(network: SegmentationNetwork) -> EmbeddingState:
    """Return the state of a campaign's embeddings. Three queries."""
    images = _images_with_questions(network.campaign).count()
    rows = network.embeddings.count()
    return EmbeddingState(
        images, rows, min(images, _capacity(network)), rows * network.embedding_bytes
    )


@dataclass(frozen=True)
class EmbeddingSummary:
    """Embeddings on the campaign's page. images: how many have one; bytes: used of the budget."""

    network: str
    images: int
    bytes: int
    budget: int


def summary(campaign: Campaign) -> EmbeddingSummary | None:
    """Return the campaign's embeddings for its page; None without a network.

    The cost grows with the number of embeddings only.
    """
    network = networks.for_campaign(campaign)
    if network is None:
        return None
    count = network.embeddings.count()
    return EmbeddingSummary(network.name, count, count * network.embedding_bytes, network.budget)


def start(campaign: Campaign) -> Job:
    """Return the job that creates missing embeddings: a waiting one or a new one.

    Raises Refusal for a campaign without a network.
    """
    network = networks.for_campaign(campaign)
    if network is None:
        raise Refusal(f"{campaign.name} has no network. Name one first: manage.py proposals name.")
    with transaction.atomic():
        job = queue.enqueue(KIND, str(network.pk), {"network": network.pk}, campaign)
        SegmentationNetwork.objects.filter(pk=network.pk).update(job=job)
    return job


def stop(campaign: Campaign) -> bool:
    """Stop the job; return whether there was one. Its embeddings stay."""
    network = SegmentationNetwork.objects.select_related("job").filter(campaign=campaign).first()
    if network is None or network.job is None:
        return False
    return bool(
        Job.objects.filter(
            pk=network.job.pk, state__in=[Job.State.QUEUED, Job.State.RUNNING]
        ).update(state=Job.State.FAILED, claim="", leased_until=None, error="Stopped by hand.")
    )


def execute(job: Job) -> None:
    """Embed the chosen images that lack an embedding, and delete embeddings of images no longer
    chosen. Idempotent.
    """
    network = (
        SegmentationNetwork.objects.select_related("campaign")
        .filter(pk=job.payload["network"])
        .first()
    )
    if network is None:
        return
    _forget_deleted_campaigns()
    chosen = _chosen(network)
    for row in network.embeddings.all():
        path = hashed_files.path_of(row.file)
        if row.image_id not in chosen or not (path.is_file() or shared_files.has(row.file)):
            row.delete()
            shared_files.remove(path, row.file)
    done = set(network.embeddings.values_list("image_id", flat=True))
    missing = [pk for pk in chosen if pk not in done]
    folder = Path(settings.DATA_DIR) / STORED / f"{network.pk}{WORK}"
    try:
        for batch in _batches(missing):
            queue.renew(job, len(chosen) - len(missing), len(chosen))
            with converting_disk_full():
                _embed(job, network, batch, folder)
            missing = [pk for pk in missing if pk not in batch]
        queue.renew(job, len(chosen), len(chosen))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def file_of(network: SegmentationNetwork, image: int) -> Path | None:
    """Return the embedding's file on this machine; None if the image has none."""
    row = network.embeddings.filter(image=image).first()
    if row is None:
        return None
    return hashed_files.find(row.file)


def _forget_deleted_campaigns() -> None:
    """Delete this machine's files of deleted campaigns."""
    known = {str(pk) for pk in SegmentationNetwork.objects.values_list("pk", flat=True)}
    for folder in (Path(settings.DATA_DIR) / STORED).glob("*"):
        if folder.name.removesuffix(WORK) not in known:
            shutil.rmtree(folder, ignore_errors=True)


def _images_with_questions(campaign: Campaign) -> QuerySet[Image]:
    return Image.objects.filter(items__questions__campaign=campaign).distinct()


def _capacity(network: SegmentationNetwork) -> int:
    return int(network.budget // network.embedding_bytes)


def _chosen(network: SegmentationNetwork) -> list[int]:
    """Return the images to embed, ordered by hash: as many as fit into the budget."""
    rows = _images_with_questions(network.campaign).values_list("sha256", "pk")

    def hash_of(row: tuple[str, int]) -> bytes:
        return hashlib.sha256(f"embedding {row[0]}".encode()).digest()

    return [pk for _, pk in sorted(rows, key=hash_of)[: _capacity(network)]]


def _batches(pks: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(pks), BATCH):
        yield pks[start : start + BATCH]


def _embed(job: Job, network: SegmentationNetwork, batch: list[int], folder: Path) -> None:
    """Write files and rows for these images. An existing file of that name has the same content."""
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
        "proposals",
        "embed",
        str(folder / "images"),
        f"--encoder={networks.file_of(network.encoder_sha256)}",
        f"--preparation={folder / 'preparation.json'}",
        f"--out={folder / 'out'}",
        "--json",
    )
    rows = []
    for pk in batch:
        made = folder / "out" / f"{pk}.npy"
        if not made.is_file():
            # An unreadable image: people draw on it without the model.
            continue
        stored = f"{STORED}/{network.pk}/{pk}.npy"
        goal = hashed_files.path_of(stored)
        goal.parent.mkdir(parents=True, exist_ok=True)
        digest = file_sha256(made)
        size = made.stat().st_size
        os.replace(made, goal)
        shared_files.put(goal, stored)
        rows.append(
            ImageEmbedding(network=network, image_id=pk, file=stored, sha256=digest, bytes=size)
        )
    # Write only while the job is ours.
    queue.renew_child(job, job.last_line, job.exit_code)
    ImageEmbedding.objects.bulk_create(rows, ignore_conflicts=True)
