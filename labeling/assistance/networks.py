"""The network of a campaign: set on the command line only, kept in the site's storage.

The only writer of SegmentationNetwork.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from django.db import transaction

from labeling.errors import Conflict, Refusal
from labeling.files import file_sha256
from labeling.jobs import hashed_files
from labeling.kinds import KINDS, policies
from labeling.kinds.base import OBJECTS
from labeling.models import Campaign, SegmentationNetwork
from labeling.promptable.network import Decoder, Encoder, try_out

# Folder on this machine and in the storage.
STORED = "networks"


def for_campaign(campaign: Campaign) -> SegmentationNetwork | None:
    """Return the campaign's network or None. Read once per campaign object."""
    return getattr(campaign, "segmentation_network", None)


def name(
    campaign: Campaign,
    title: str,
    encoder: Path,
    decoder: Path,
    *,
    budget: int,
    size: int | None = None,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> SegmentationNetwork:
    """Set the campaign's network after a trial on an image and a click; return it.

    The same files again change only the budget. Raises BadInput for files that do not fit, Refusal
    for a campaign that it cannot help, Conflict if another network is set.
    """
    _check_campaign(campaign)
    if not 0 < len(title) <= 100:
        raise Refusal("Name the network in 1 to 100 characters.", field="name")
    opened = Encoder(encoder, size, *(value for value in (mean, std) if value is not None))
    size_of_one = try_out(opened, Decoder(decoder))
    if budget < size_of_one:
        raise Refusal(
            f"The budget is {budget:,} bytes, but one image needs {size_of_one:,}. Raise the "
            "budget.",
            field="budget",
        )
    hashes = file_sha256(encoder), file_sha256(decoder)
    prepared = opened.preparation.as_json()
    whole = hashlib.sha256(json.dumps([*hashes, prepared], sort_keys=True).encode()).hexdigest()
    for path, digest in zip((encoder, decoder), hashes, strict=True):
        hashed_files.keep(path, _stored(digest), digest)
    with transaction.atomic():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        current = SegmentationNetwork.objects.filter(campaign=campaign).first()
        if current is not None and current.sha256 != whole:
            raise Conflict(
                f"The campaign has the network {current.name!r}. Remove it first: manage.py "
                f"proposals remove {campaign.name}."
            )
        made, _ = SegmentationNetwork.objects.update_or_create(
            campaign=campaign,
            defaults={
                "name": title,
                "sha256": whole,
                "encoder_sha256": hashes[0],
                "decoder_sha256": hashes[1],
                "preparation": prepared,
                "embedding_bytes": size_of_one,
                "budget": budget,
            },
        )
    return made


def remove(campaign: Campaign) -> bool:
    """Remove the network and return whether there was one.

    From now on everybody draws without; its proposals and the drawings stay.
    """
    network = for_campaign(campaign)
    if network is None:
        return False
    hashes = {network.encoder_sha256, network.decoder_sha256}
    files = list(network.embeddings.values_list("file", flat=True))
    network.delete()
    for file in files:
        hashed_files.remove(file)
    others = SegmentationNetwork.objects.all()
    for digest in hashes:
        if not (
            others.filter(encoder_sha256=digest).exists()
            or others.filter(decoder_sha256=digest).exists()
        ):
            hashed_files.remove(_stored(digest))
    return True


def people_asked(campaign: Campaign) -> int:
    """Return how many people each question asks at first."""
    return policies.first_votes(policies.for_campaign(campaign))


def file_of(digest: str) -> Path:
    """Return the file of that SHA-256 on this machine.

    Raises Refusal if it is missing.
    """
    path = hashed_files.find(_stored(digest))
    if path is None:
        raise Refusal("A file of the network is missing. Remove the network and add it again.")
    return path


def _stored(digest: str) -> str:
    return f"{STORED}/{digest}.onnx"


def _check_campaign(campaign: Campaign) -> None:
    if KINDS[campaign.kind].release != OBJECTS:
        raise Refusal(
            f"People of {campaign.name} draw no parts. Name a campaign of the kind parts.",
            field="campaign",
        )
    if people_asked(campaign) < 2:
        raise Refusal(
            f"{campaign.name} asks one person a question, who draws without the model. Set votes "
            "to 2 or more in its policy.",
            field="campaign",
        )
