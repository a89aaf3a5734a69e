"""How far the people of a campaign agree on parts, by category and part.

Reads what settlements say of agreement (joining.py), never a drawing.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from labeling.models import Campaign, Question, Settlement
from labeling.parts.model import OUTLINE

WORST = 5
STATES = (Question.State.SETTLED, Question.State.REVIEW, Question.State.OPEN)


@dataclass
class _Part:
    ious: list[tuple[float, int]] = field(default_factory=list)
    boundaries: list[float] = field(default_factory=list)


def agreement(campaign: Campaign) -> dict[str, Any]:
    """{"objects": how many several people drew, "categories": [{"key", "name", "objects", "parts":
    [{"key", "name", "objects", "iou", "boundary_f", "iou_width", "boundary_at", "worst":
    [{"question", "iou"}]}]}]}.

    iou, boundary_f: means over objects, of the mean over their pairs of people; None where nobody
    compares. worst: the objects with the least IoU first. What a reviewer corrected counts as the
    people drew it. Three queries.
    """
    found: dict[str, dict[str, _Part]] = defaultdict(lambda: defaultdict(_Part))
    objects: dict[str, set[int]] = defaultdict(set)
    for question, topic, figures in _figures(campaign):
        objects[topic].add(question)
        for key, said in figures.items():
            part = found[topic][key]
            if said["iou"] is not None:
                part.ious.append((said["iou"], question))
            if said["boundary_f"] is not None:
                part.boundaries.append(said["boundary_f"])
    categories = campaign.settings.get("categories", {})
    return {
        "objects": sum(len(pks) for pks in objects.values()),
        "categories": [
            {
                "key": topic,
                "name": categories[topic]["name"],
                "objects": len(objects[topic]),
                "parts": _rows(categories[topic]["parts"], found[topic]),
            }
            for topic in sorted(objects, key=lambda key: categories[key]["name"])
        ],
    }


def _figures(campaign: Campaign) -> list[tuple[int, str, dict[str, Any]]]:
    """(question, topic, what its latest settlement with figures says of agreement)."""
    rows = (
        Settlement.objects.filter(
            question__campaign=campaign,
            question__state__in=STATES,
            value__has_key="agreement",
        )
        .order_by("pk")
        .values_list("question_id", "question__topic", "value__agreement")
    )
    known = campaign.settings.get("categories", {})
    latest = {question: (question, topic, figures) for question, topic, figures in rows}
    return [row for row in latest.values() if row[1] in known]


def _rows(parts: list[dict[str, Any]], found: dict[str, _Part]) -> list[dict[str, Any]]:
    names = [(part["key"], part["name"]) for part in parts] + [(OUTLINE, "whole object")]
    return [_row(key, name, found[key]) for key, name in names if found.get(key, _Part()).ious]


def _row(key: str, name: str, part: _Part) -> dict[str, Any]:
    iou = sum(iou for iou, _ in part.ious) / len(part.ious)
    boundary = sum(part.boundaries) / len(part.boundaries) if part.boundaries else None
    return {
        "key": key,
        "name": name,
        "objects": len(part.ious),
        "iou": iou,
        "boundary_f": boundary,
        # Of a picture 100 wide.
        "iou_width": round(100 * iou, 1),
        "boundary_at": round(min(99.0, 100 * (boundary or 0)), 1),
        "worst": [
            {"question": question, "iou": iou}
            for iou, question in sorted(part.ious)[:WORST]
            if iou < 1
        ],
    }
