"""Stored calibrations, which never change, each read once in a process. calibrating.py makes them.

So a settlement can always be computed again. docs/quality.md, How answers become a consensus.
"""

from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Max

from labeling.estimators.vote_tables import VoteTable
from labeling.kinds import KINDS, deciding
from labeling.models import Calibration, Campaign


def in_force(source: Campaign | int | None) -> deciding.Skills:
    """What is known now of a campaign's people, or what the calibration of that id says.

    Read once in a process; before the first calibration, and for None, nothing is known.
    """
    if isinstance(source, Campaign):
        source = Campaign.objects.values_list("calibration", flat=True).get(pk=source.pk)
    if source is None:
        return deciding.NONE
    return skills(source, Calibration.objects.values_list("created_at", flat=True).get(pk=source))


def skills(calibration_id: int | None, made_at: datetime | None) -> deciding.Skills:
    """As in_force, for those who have read when the calibration was made already."""
    return deciding.NONE if calibration_id is None else _read(calibration_id, made_at)


@lru_cache(maxsize=64)
def _read(pk: int, made_at: datetime | None) -> deciding.Skills:
    # By the moment too: SQLite gives the id of a row that was rolled back to the next one.
    return skills_of(Calibration.objects.values_list("content", flat=True).get(pk=pk))


def skills_of(content: dict[str, Any]) -> deciding.Skills:
    """A calibration's content as judging wants it."""
    people = content.get("annotators", {})
    since = content.get("learned_at")
    return deciding.Skills(
        classes=tuple(content.get("classes", deciding.BINARY)),
        gains={
            int(person): deciding.gains_of_confusion(said["confusion"])
            for person, said in people.items()
            if "confusion" in said
        },
        accuracy={
            int(person): said["accuracy"] for person, said in people.items() if "accuracy" in said
        },
        prior={topic: shares[1] for topic, shares in content.get("prior", {}).items()},
        tables={
            topic: VoteTable.from_dict(table) for topic, table in content.get("tables", {}).items()
        },
        voided=frozenset(content.get("voided", ())),
        since=datetime.fromisoformat(since) if since else None,
    )


def among_classes(known: deciding.Skills, campaign_id: int) -> deciding.Skills:
    """The same skills, among the classes that the campaign's votes can name."""
    row = Campaign.objects.values_list("kind", "settings").get(pk=campaign_id)
    return replace(known, classes=classes_of(*row))


def classes_of(kind: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """The words that votes of this kind count for."""
    return KINDS[kind].classes(settings)


def create(campaign_id: int, content: dict[str, Any], reason: str) -> Calibration:
    rows = Calibration.objects.filter(campaign=campaign_id)
    last = rows.aggregate(at=Max("number"))["at"] or 0
    return Calibration.objects.create(
        campaign_id=campaign_id, number=last + 1, content=content, reason=reason[:200]
    )


def voiding(campaign: Campaign, voided: set[int], reason: str) -> Calibration | None:
    """What is in force, but with these people void: the row that says so already, or a new one.

    Not yet in force: blocking.py sees to that. None where nothing is known and nobody is void.
    """
    current = Calibration.objects.filter(pk=campaign.calibration_id or 0).first()
    content = (current.content if current else {}) | {"voided": sorted(voided)}
    if content == {"voided": []}:
        return None
    same = Calibration.objects.filter(campaign=campaign, content=content).order_by("number").first()
    return same or create(campaign.pk, content, reason)
