"""Agreement of a campaign's people on parts, by category and part.

Reads the agreement stored in settlements (joining.py), never a drawing.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TypedDict

from labeling.models import Campaign, Question, Settlement
from labeling.parts.model import OUTLINE

WORST = 5
STATES = (Question.State.SETTLED, Question.State.REVIEW, Question.State.OPEN)


@dataclass(frozen=True)
class LowAgreement:
    """An object with little agreement on a part."""

    question: int
    iou: float


@dataclass(frozen=True)
class PartAgreementRow:
    """Agreement on a part: means over objects, of the mean over pairs of people.

    boundary_f: None if no pair was compared. worst: the objects with the least IoU first.
    iou_width, boundary_at: in a picture 100 wide.
    """

    key: str
    name: str
    objects: int
    iou: float
    boundary_f: float | None
    iou_width: float
    boundary_at: float
    worst: list[LowAgreement]


@dataclass(frozen=True)
class CategoryAgreement:
    key: str
    name: str
    objects: int
    parts: list[PartAgreementRow]


@dataclass(frozen=True)
class CampaignAgreement:
    """objects: number of objects that several people drew."""

    objects: int
    categories: list[CategoryAgreement]


class StoredAgreement(TypedDict):
    """The agreement on one part in a settlement (joining.py)."""

    iou: float | None
    boundary_f: float | None


@dataclass
class _Part:
    ious: list[tuple[float, int]] = field(default_factory=list)
    boundaries: list[float] = field(default_factory=list)


def agreement(campaign: Campaign) -> CampaignAgreement:
    """Return the agreement on each part, from the drawings before any correction by a reviewer.

    One query.
    """
    parts_by_topic: dict[str, dict[str, _Part]] = defaultdict(lambda: defaultdict(_Part))
    objects: dict[str, set[int]] = defaultdict(set)
    for question, topic, figures in _figures(campaign):
        objects[topic].add(question)
        for key, likeness in figures.items():
            part = parts_by_topic[topic][key]
            if likeness["iou"] is not None:
                part.ious.append((likeness["iou"], question))
            if likeness["boundary_f"] is not None:
                part.boundaries.append(likeness["boundary_f"])
    categories = campaign.settings.get("categories", {})
    return CampaignAgreement(
        objects=sum(len(pks) for pks in objects.values()),
        categories=[
            CategoryAgreement(
                key=topic,
                name=categories[topic]["name"],
                objects=len(objects[topic]),
                parts=_rows(categories[topic]["parts"], parts_by_topic[topic]),
            )
            for topic in sorted(objects, key=lambda key: categories[key]["name"])
        ],
    )


def _figures(campaign: Campaign) -> list[tuple[int, str, dict[str, StoredAgreement]]]:
    """Return (question, topic, agreement in its latest settlement with figures)."""
    rows = (
        Settlement.objects.filter(
            question__campaign=campaign, question__state__in=STATES, value__has_key="agreement"
        )
        .order_by("pk")
        .values_list("question_id", "question__topic", "value__agreement")
    )
    known = campaign.settings.get("categories", {})
    latest = {question: (question, topic, figures) for question, topic, figures in rows}
    return [row for row in latest.values() if row[1] in known]


def _rows(parts: list[dict[str, str]], parts_by_key: dict[str, _Part]) -> list[PartAgreementRow]:
    names = [(part["key"], part["name"]) for part in parts] + [(OUTLINE, "whole object")]
    return [
        _row(key, name, parts_by_key[key])
        for key, name in names
        if parts_by_key.get(key, _Part()).ious
    ]


def _row(key: str, name: str, part: _Part) -> PartAgreementRow:
    iou = sum(iou for iou, _ in part.ious) / len(part.ious)
    boundary = sum(part.boundaries) / len(part.boundaries) if part.boundaries else None
    return PartAgreementRow(
        key=key,
        name=name,
        objects=len(part.ious),
        iou=iou,
        boundary_f=boundary,
        iou_width=round(100 * iou, 1),
        boundary_at=round(min(99.0, 100 * (boundary or 0)), 1),
        worst=[
            LowAgreement(question, iou) for iou, question in sorted(part.ious)[:WORST] if iou < 1
        ],
    )
