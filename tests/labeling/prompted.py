"""A campaign of parts with the made-up promptable network: a red square on blue in each image."""

import io
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from PIL import Image, ImageDraw

from labeling.assistance import embedding, networks
from labeling.jobs import queue
from labeling.models import Assistance, Campaign, Dataset, Seat, User
from labeling.models import Image as DatasetImage
from tests.labeling import parted
from tests.labeling.promptable import made_up

# Of the red square, in pixels of an image of 64 × 48.
RED = (24, 12, 48, 36)
MIDDLE = [36, 24, 1]


def paint(image: DatasetImage) -> None:
    """The photograph becomes a red square on blue."""
    made = Image.new("RGB", (64, 48), (30, 40, 200))
    x0, y0, x1, y1 = RED
    ImageDraw.Draw(made).rectangle((x0, y0, x1 - 1, y1 - 1), fill=(220, 40, 30))
    content = io.BytesIO()
    made.save(content, "PNG")
    image.file.save(f"{image.sha256[:16]}.png", ContentFile(content.getvalue()))


def campaign_of(
    owner: User, dataset: Dataset, folder: Path, *, embedded: bool = True, **fields: Any
) -> Campaign:
    """An open campaign of drawn parts that asks two people, with the network."""
    fields["policy"] = {"votes": 2, "review": "disputed", "page_size": 3} | fields.get("policy", {})
    campaign = parted.parts_campaign(owner, dataset, **fields)
    for image in dataset.images.all():
        paint(image)
    encoder, decoder = made_up.files(folder / "network")
    networks.name(campaign, "Made up", encoder, decoder, budget=1 << 30)
    if embedded:
        embed(campaign)
    return Campaign.objects.get(pk=campaign.pk)


def embed(campaign: Campaign) -> None:
    job = queue.run(embedding.start(campaign).pk)
    assert job is not None
    assert job.state == "done", job.error


def seat_of(user: User, campaign: Campaign, number: int = 0, *, assisted: bool = True) -> Seat:
    """The person's seat on that image, with the model or without."""
    seat = Seat.objects.select_related("question__item__image", "question__campaign").get(
        annotator=user,
        question__campaign=campaign,
        question__item__image__name=f"cats/{number}.png",
    )
    Assistance.objects.update_or_create(assignment=seat, defaults={"assisted": assisted})
    return seat
