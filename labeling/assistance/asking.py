"""The model's outlines on a seat, kept permanently: the only writer of Proposal."""

import hashlib
import json
import logging
from datetime import timedelta
from pathlib import Path

from django.utils import timezone
from django.utils.translation import gettext

from labeling.assistance import embedding, networks
from labeling.errors import NotAllowed, Refusal
from labeling.geometry.polygons import from_json
from labeling.kinds.base import GivenProposal
from labeling.models import Assistance, Proposal, Seat, SegmentationNetwork
from labeling.promptable import prompts as prompting
from labeling.promptable import workers
from labeling.promptable.workers import POOL, Reply

logger = logging.getLogger(__name__)

# Most requests of one person, in all campaigns.
MAX_PER_MINUTE = 60
# Most proposals on one seat: more do not help.
MAX_PER_SEAT = 300


class NoAnswer(Refusal):
    """The network is overloaded, hangs, or was stopped."""

    status = 503
    code = "no_answer"


class TooOften(Refusal):
    """The person asks faster than anybody could look."""

    status = 429
    code = "too_often"


def propose(seat: Seat, part: str, raw_prompts: object) -> Proposal:
    """Return the model's outline of the part for the person's prompts.

    Repeating it returns the same row.

    seat: the person's own, with question, item and image. Raises NotAllowed for a seat without the
    model, Refusal for bad prompts or an unknown part, TooOften and NoAnswer.
    """
    campaign = seat.question.campaign
    network = networks.for_campaign(campaign)
    if network is None or not Assistance.objects.filter(assignment=seat, assisted=True).exists():
        raise NotAllowed(gettext("This drawing is made without the model."), code="unassisted")
    image = seat.question.item.image
    prompts = prompting.clean(raw_prompts, image.width, image.height)
    _check_part(part, campaign.settings, seat.question.topic)
    content = json.dumps([network.sha256, part, prompts.as_json()], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()
    if (kept := Proposal.objects.filter(assignment=seat, digest=digest).first()) is not None:
        return kept
    _check_rate(seat)
    made = _decoded(network, image.pk, (image.width, image.height), prompts)
    if not made["polygons"]:
        raise Refusal(
            gettext("The model found nothing there. Try another place, or draw by hand."),
            code="nothing_found",
        )
    proposal, _ = Proposal.objects.get_or_create(
        assignment=seat,
        digest=digest,
        defaults={
            "part": part,
            "prompts": prompts.as_json(),
            "polygons": made["polygons"],
            "score": made["score"],
            "sha256": network.sha256,
        },
    )
    return proposal


def given_on(seats: list[int]) -> dict[int, dict[str, GivenProposal]]:
    """Return the model's proposals on these seats, by primary key and token. One query."""
    proposals: dict[int, dict[str, GivenProposal]] = {}
    rows = Proposal.objects.filter(assignment__in=seats).order_by("pk")
    for seat, token, part, polygons, sha256 in rows.values_list(
        "assignment_id", "token", "part", "polygons", "sha256"
    ):
        proposals.setdefault(seat, {})[token] = GivenProposal(part, from_json(polygons), sha256)
    return proposals


def _check_part(part: object, settings: dict[str, object], topic: str) -> None:
    categories = settings["categories"]
    assert isinstance(categories, dict)
    known = {each["key"] for each in categories.get(topic, {}).get("parts", [])}
    if settings.get("ask_outline"):
        known.add("object")
    if part not in known:
        raise Refusal(f"This object has no part {str(part)[:80]!r}.", field="part")


def _check_rate(seat: Seat) -> None:
    since = timezone.now() - timedelta(minutes=1)
    recent = Proposal.objects.filter(assignment__annotator=seat.annotator_id, created_at__gt=since)
    if len(recent.values_list("pk")[:MAX_PER_MINUTE]) == MAX_PER_MINUTE:
        raise TooOften(
            gettext("Too many requests to the model. Draw by hand, or continue in a minute.")
        )
    if Proposal.objects.filter(assignment=seat).count() >= MAX_PER_SEAT:
        raise TooOften(gettext("Too many requests to the model about this image. Draw by hand."))


def _decoded(
    network: SegmentationNetwork, image: int, size: tuple[int, int], prompts: prompting.Prompts
) -> Reply:
    path: Path | None = embedding.file_of(network, image)
    if path is None:
        raise NotAllowed(gettext("This drawing is made without the model."), code="unassisted")
    decoder = networks.file_of(network.decoder_sha256)
    try:
        return POOL.decode(decoder, network.preparation, path, size, prompts.as_json())
    except workers.NetworkBusy:
        raise NoAnswer(
            gettext("The model is busy. Draw by hand, or try again in a moment."), code="busy"
        ) from None
    except workers.NetworkBroken as broken:
        logger.warning("the network %s: %s", network.name, broken)
        sentence = gettext("The model is not available now. Draw the part by hand.")
        raise NoAnswer(sentence) from broken
