"""Calibrations: what a campaign's answers say of its people and its topics.

A row of Calibration never changes, so a settlement can always be computed again as it was. Learning
reads all answers and holds three numbers of each; judging reads a calibration once in a process.
docs/quality.md, How answers become a consensus.
"""

from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Max, Sum
from django.utils import timezone

from labeling import jobs, judging, policies
from labeling.kinds import KINDS
from labeling.models import Calibration, Campaign, Job, User
from labeling.seats import retried, writing
from labeling.vote_tables import VoteTable

# When a calibration was made, which is no part of what it says.
_MOMENT = ("learned_at", "answered")


def in_force(source: Campaign | int | None) -> judging.Skills:
    """What is known now of a campaign's people, or what the calibration of that id says.

    Read once in a process; before the first calibration, and for None, nothing is known.
    """
    if isinstance(source, Campaign):
        source = Campaign.objects.values_list("calibration", flat=True).get(pk=source.pk)
    if source is None:
        return judging.NONE
    return skills(source, Calibration.objects.values_list("created_at", flat=True).get(pk=source))


def skills(calibration_id: int | None, made_at: datetime | None) -> judging.Skills:
    """As in_force, for those who have read when the calibration was made already."""
    return judging.NONE if calibration_id is None else _read(calibration_id, made_at)


@lru_cache(maxsize=64)
def _read(pk: int, made_at: datetime | None) -> judging.Skills:
    # By the moment too: SQLite gives the id of a row that was rolled back to the next one.
    return skills_of(Calibration.objects.values_list("content", flat=True).get(pk=pk))


def skills_of(content: dict[str, Any]) -> judging.Skills:
    """A calibration's content as judging wants it."""
    people = content.get("annotators", {})
    since = content.get("learned_at")
    return judging.Skills(
        classes=tuple(content.get("classes", judging.BINARY)),
        gains={
            int(person): judging.gains_of_confusion(said["confusion"])
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


def among_classes(known: judging.Skills, campaign_id: int) -> judging.Skills:
    """The same skills, among the classes that the campaign's votes can name."""
    row = Campaign.objects.values_list("kind", "settings").get(pk=campaign_id)
    return replace(known, classes=classes_of(*row))


def classes_of(kind: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """The words that votes of this kind count for: no and yes, where it names no others."""
    words = getattr(KINDS[kind], "classes", None)
    return tuple(words(settings)) if words else judging.BINARY


def calibrate(campaign: Campaign, actor: User | None = None, reason: str = "") -> Calibration:
    """The calibration that all answers up to now give, in force from now on.

    One that says what the calibration in force says is not made again. actor: whoever asked, for
    its reason. Answers are read in chunks, outside of any transaction.
    """
    # Learning needs numpy and the compiled loops, which no page should load.
    from labeling import learned_skills

    campaign = Campaign.objects.select_related("policy").get(pk=campaign.pk)
    answered = _answered(campaign)
    content = learned_skills.learn(campaign, in_force(campaign).voided)
    if actor is not None:
        reason = f"{reason or 'asked for'} ({actor.username})"
    return _put_in_force(campaign.pk, content | {"answered": answered}, reason)


@retried
def _put_in_force(campaign_id: int, content: dict[str, Any], reason: str) -> Calibration:
    with writing():
        campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign_id)
        current = Calibration.objects.filter(pk=campaign.calibration_id or 0).first()
        # Who is void may have changed while the answers were read.
        content = content | {"voided": current.content.get("voided", []) if current else []}
        if current is not None and _meaning(current.content) == _meaning(content):
            return current
        made = _create(campaign_id, content | {"learned_at": timezone.now().isoformat()}, reason)
        Campaign.objects.filter(pk=campaign_id).update(calibration=made)
        return made


def _meaning(content: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in content.items() if key not in _MOMENT}


def _create(campaign_id: int, content: dict[str, Any], reason: str) -> Calibration:
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
    return same or _create(campaign.pk, content, reason)


def _answered(campaign: Campaign) -> int:
    return campaign.memberships.aggregate(total=Sum("answered"))["total"] or 0


def wanted(campaign: Campaign) -> bool:
    """Whether anything in the campaign goes by what calibrations say."""
    return (
        policies.of(campaign)["method"] != "majority" or campaign.settings.get("order") == "learned"
    )


def due(campaign: Campaign) -> bool:
    """Whether enough answers came since the last calibration to work standings out anew."""
    if not wanted(campaign):
        return False
    [last] = Campaign.objects.filter(pk=campaign.pk).values_list("calibration__content__answered")
    return _answered(campaign) - (last[0] or 0) >= policies.of(campaign)["calibrate_answers"]


def ask(campaign: Campaign) -> bool:
    """Whether a calibration was due and now waits as a job; asking twice makes one."""
    if not due(campaign):
        return False
    jobs.enqueue("calibrate", str(campaign.pk), campaign=campaign)
    return True


def ask_now(campaign: Campaign, actor: User) -> Job:
    """The job that works standings out anew because this person wants it, due or not."""
    return jobs.enqueue("calibrate", str(campaign.pk), {"actor": actor.pk}, campaign=campaign)


def execute(job: Job) -> None:
    """The job "calibrate" of a campaign: what somebody asked for, or if it is still due when its
    turn comes."""
    assert job.campaign is not None, "a calibrate job names its campaign"
    if "actor" in job.payload:
        calibrate(job.campaign, User.objects.filter(pk=job.payload["actor"]).first())
    elif due(job.campaign):
        calibrate(job.campaign, reason="after many answers")


def calibrate_nightly(campaign: Campaign) -> bool:
    """Whether the campaign has another calibration now: one that goes by calibrations."""
    if not wanted(campaign):
        return False
    return calibrate(campaign, reason="every night").pk != campaign.calibration_id
