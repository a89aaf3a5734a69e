"""Stored calibrations. They never change and are cached per process; calibrating.py creates them.

Because they are kept, every settlement can be recomputed. docs/explanation/quality.md, How answers
become a consensus.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db.models import Max

from labeling.estimators.stated_error import ErrorModel
from labeling.estimators.vote_tables import VoteTable
from labeling.kinds import KINDS, deciding
from labeling.models import Calibration, Campaign
from labeling.question_graph.inferring import LearnedScenes
from labeling.records import Record


@dataclass(kw_only=True)
class PersonSkill(Record):
    """A person's skill. confusion: for yes-no questions; accuracy: for others. sigma, sides: for
    box drawing, the deviation of a side as a share of the longer one, and the number of sides it
    was learned from.
    """

    confusion: list[list[float]] | None = None
    accuracy: float | None = None
    sigma: float | None = None
    sides: int | None = None
    answers: int | None = None
    gold: int | None = None


@dataclass(kw_only=True)
class StepFigures(Record):
    """Figures of a step of boxes: answers to questions other than gold, the median time of all
    answers, and answers to gold, total and right.
    """

    answers: int
    seconds: float | None
    right: int
    gold: int


@dataclass(kw_only=True)
class Assisted(Record):
    """Totals over the pairs that began with proposals, or without: accepted boxes, time spent."""

    pairs: int
    boxes: int
    seconds: float


@dataclass(kw_only=True)
class BoxFigures(Record):
    """Progress of a box campaign at its last calibration.

    pairs: by coverage (boxes/chain.py), or "review". boxes: by origin. draws: median time of a
    drawing by input method. seconds_per_box: the sum over the steps of answers per box times their
    median time. planted: [right, all] answers to gold that withholds an instance. classes: [pairs,
    those complete or absent, boxes] by topic.
    """

    pairs: dict[str, int]
    boxes: dict[str, int]
    steps: dict[str, StepFigures]
    draws: dict[str, float]
    seconds_per_box: float | None
    planted: list[int]
    assisted: Assisted
    unassisted: Assisted
    classes: dict[str, list[int]]


@dataclass(kw_only=True)
class TargetOutcome(Record):
    """The share of images that settle at a target error, and their mean number of votes."""

    target: float
    share: float
    votes: float


@dataclass(kw_only=True)
class LearnedError(Record):
    """The error by margin and votes, for policies with a target (estimators/stated_error.py).

    gold, audited: number of images with a known answer. wrong: weight of those labeled wrongly.
    targets: what each would settle.
    """

    coefficients: list[float]
    covariance: list[list[float]]
    largest_margin: float
    gold: int
    audited: int
    wrong: float
    targets: list[TargetOutcome]

    @property
    def known(self) -> int:
        return self.gold + self.audited

    def model(self) -> ErrorModel:
        """Return the model that it was stored from, to the stored digits."""
        a, b, c = self.coefficients
        covariance = tuple((x, y, z) for x, y, z in self.covariance)
        return ErrorModel((a, b, c), covariance, self.known, self.wrong, self.largest_margin)


@dataclass(kw_only=True)
class CalibrationContent(Record):
    """The content of a calibration.

    annotators: by user id. prior: P(no), P(yes) by topic, "*" for all others. tables, statistics:
    JSON of VoteTable and Statistics. error: measured on gold and audits. answered: number of
    answers so far. voided: ids of people whose votes do not count. scenes: which classes appear
    together in images, if questions have a price. Box campaigns add acceptance ([good, shown] of
    proposals by topic), seconds (median of an answer by step) and boxes.
    """

    classes: list[str] | None = None
    annotators: dict[str, PersonSkill] | None = None
    prior: dict[str, list[float]] | None = None
    tables: dict[str, Any] | None = None
    error: LearnedError | None = None
    statistics: dict[str, object] | None = None
    scenes: LearnedScenes | None = None
    acceptance: dict[str, list[int]] | None = None
    seconds: dict[str, float] | None = None
    boxes: BoxFigures | None = None
    answered: int | None = None
    voided: list[int] | None = None
    learned_at: str | None = None


def content_of(campaign: Campaign) -> CalibrationContent:
    """Return the content of the campaign's current calibration; empty before the first one."""
    rows = Campaign.objects.values_list("calibration__content", flat=True)
    return CalibrationContent.from_json(rows.get(pk=campaign.pk) or {})


def in_force(source: Campaign | int | None) -> deciding.Skills:
    """Return the skills of the campaign's current calibration, or of the one with that id.

    Cached per process. Before the first calibration, and for None, nothing is known.
    """
    if isinstance(source, Campaign):
        source = Campaign.objects.values_list("calibration", flat=True).get(pk=source.pk)
    if source is None:
        return deciding.NONE
    return skills(source, Calibration.objects.values_list("created_at", flat=True).get(pk=source))


def skills(calibration_id: int | None, made_at: datetime | None) -> deciding.Skills:
    """Return the same as in_force, for callers that already have the calibration's created_at."""
    return deciding.NONE if calibration_id is None else _read(calibration_id, made_at)


@lru_cache(maxsize=64)
def _read(pk: int, made_at: datetime | None) -> deciding.Skills:
    # Key by time too: SQLite reuses the id of a row that was rolled back.
    content = Calibration.objects.values_list("content", flat=True).get(pk=pk)
    return skills_of(CalibrationContent.from_json(content))


def skills_of(content: CalibrationContent) -> deciding.Skills:
    """Return a calibration's content as Skills for judging."""
    people = {int(person): skill for person, skill in (content.annotators or {}).items()}
    return deciding.Skills(
        classes=tuple(content.classes or deciding.BINARY),
        gains={
            person: deciding.gains_of_confusion(skill.confusion)
            for person, skill in people.items()
            if skill.confusion is not None
        },
        accuracy={
            person: skill.accuracy for person, skill in people.items() if skill.accuracy is not None
        },
        prior={topic: shares[1] for topic, shares in (content.prior or {}).items()},
        tables={
            topic: VoteTable.from_dict(table) for topic, table in (content.tables or {}).items()
        },
        error=content.error.model() if content.error else None,
        voided=frozenset(content.voided or ()),
        since=datetime.fromisoformat(content.learned_at) if content.learned_at else None,
    )


def among_classes(known: deciding.Skills, campaign_id: int) -> deciding.Skills:
    """Return the same skills, restricted to the classes that the campaign's votes can name."""
    kind, settings = Campaign.objects.values_list("kind", "settings").get(pk=campaign_id)
    return replace(known, classes=KINDS[kind].classes(settings))


def create(campaign_id: int, content: CalibrationContent, reason: str) -> Calibration:
    rows = Calibration.objects.filter(campaign=campaign_id)
    last = rows.aggregate(at=Max("number"))["at"] or 0
    return Calibration.objects.create(
        campaign_id=campaign_id, number=last + 1, content=content.to_json(), reason=reason[:200]
    )


def voiding(campaign: Campaign, voided: set[int], reason: str) -> Calibration | None:
    """Return the current calibration with these people voided: an existing row or a new one.

    blocking.py activates it. None if nothing is known and nobody is voided.
    """
    current = Calibration.objects.filter(pk=campaign.calibration_id or 0).first()
    content = CalibrationContent.from_json(current.content if current else {})
    content.voided = sorted(voided)
    if content == CalibrationContent(voided=[]):
        return None
    same = Calibration.objects.filter(campaign=campaign, content=content.to_json())
    return same.order_by("number").first() or create(campaign.pk, content, reason)
