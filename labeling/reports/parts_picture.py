"""An object for reviewers: all drawings over the photograph, agreement by part, editor setup."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from django.utils.translation import gettext_noop as _

from labeling.consensus.votes import votes_on
from labeling.datasets import objects
from labeling.geometry import svg
from labeling.geometry.polygons import as_json
from labeling.kinds.parts import AskedPart
from labeling.models import Answer, Campaign, Item, Question, SentBack, Settlement
from labeling.parts.joining import PartLabel, labels_in
from labeling.parts.model import OUTLINE, PartedObject

# The number of colours in static/css/drawing.css.
TONES = 32
STATE_WORDS = {"drawn": _("drawn"), "not_visible": _("not visible"), "occluded": _("occluded")}


def tone_of(number: int) -> str:
    """Return the CSS class of a part's colour by its index, as in the editor."""
    return f"tone-{number % TONES}"


def parts_of(campaign: Campaign, topic: str) -> list[AskedPart]:
    """Return the category's parts in the order of the campaign's vocabulary."""
    category = campaign.settings["categories"].get(topic) or {"parts": []}
    parts: list[AskedPart] = category["parts"]
    return parts


class GivenPart(TypedDict):
    state: str
    polygons: list[Any]


# An object as scripts have it, in pixels of its image. crop: the box with context; given: the parts
# that the import holds, by key; missing: the keys of the others in the order of the vocabulary;
# outline: None if it is unknown.
ObjectRow = TypedDict(  # noqa: UP013 - scripts read the key "given"
    "ObjectRow",
    {
        "width": int,
        "height": int,
        "crop": list[float],
        "given": dict[str, GivenPart],
        "missing": list[str],
        "outline": list[Any] | None,
    },
)


def object_of(parted: PartedObject, campaign: Campaign, topic: str) -> ObjectRow:
    """Return the object for scripts."""
    assert parted.size is not None, "objects of a dataset know the size of their image"
    known_parts = {part.key: part for part in parted.parts}
    keys = [part["key"] for part in parts_of(campaign, topic)]
    return {
        "width": parted.size[0],
        "height": parted.size[1],
        "crop": list(parted.crop or parted.box),
        "given": {
            key: {"state": known_parts[key].state, "polygons": as_json(known_parts[key].polygons)}
            for key in keys
            if key in known_parts
        },
        "missing": [key for key in keys if key not in known_parts],
        "outline": None if parted.outline is None else as_json(parted.outline),
    }


def editor_setup(
    campaign: Campaign, item: Item, topic: str, value: object, keep: str
) -> dict[str, object]:
    """Return the setup of js/review/part_editor.js: the object, its parts and their labels.

    keep: key under which the browser stores the unsent drawing.
    """
    return {
        "object": object_of(objects.describe([item])[item.pk], campaign, topic),
        "parts": parts_of(campaign, topic),
        "value": value,
        "ask_outline": campaign.settings["ask_outline"],
        "keep": keep,
    }


@dataclass(frozen=True)
class PartPictureRow:
    """A part or the outline in a picture.

    is_known: only the import has it. d: SVG path data. voters, iou, boundary_f: the agreement.
    """

    key: str
    name: str
    number: int
    tone: str
    is_known: bool
    words: str
    d: str
    voters: int | None = None
    iou: float | None = None
    boundary_f: float | None = None


@dataclass(frozen=True)
class PersonDrawing:
    """The drawing of one person. d: SVG path data of all its parts."""

    answer: Answer
    number: int
    tone: str
    d: str


@dataclass(frozen=True)
class PartsPicture:
    """An object of a question with all its drawings.

    settlement: the latest one; value: its parts. several: whether several people drew. notes: of
    drawings sent back, the newest first.
    """

    settlement: Settlement | None
    value: Mapping[str, Any] | None
    name: str
    view_box: str
    parts: list[PartPictureRow]
    people: list[PersonDrawing]
    several: bool
    notes: list[SentBack]


def question_picture(campaign: Campaign, question: Question) -> PartsPicture:
    """Return the picture of a question, in a fixed number of queries."""
    parted = objects.describe([question.item])[question.item.pk]
    settlement = question.settlements.order_by("-pk").first()
    value = settlement.value if settlement and _has_parts(settlement.value) else None
    people = _people(question, settlement)
    rows = part_rows(campaign, question.topic, parted, value)
    notes = SentBack.objects.filter(assignment__question=question)
    return PartsPicture(
        settlement=settlement,
        value=value,
        name=question.item.name,
        view_box=svg.view_box(parted.crop or parted.box),
        parts=rows,
        people=people,
        several=len(people) > 1,
        notes=list(notes.select_related("reviewer", "assignment__annotator").order_by("-pk")),
    )


def _has_parts(value: object) -> bool:
    return isinstance(value, dict) and "parts" in value


def part_rows(
    campaign: Campaign, topic: str, parted: PartedObject, value: Mapping[str, Any] | None
) -> list[PartPictureRow]:
    """Return a row for each part of the category, and one for the outline if there is one."""
    labels = labels_in(value) if value else {}
    known_parts = {part.key: PartLabel(part.state, part.polygons) for part in parted.parts}
    if parted.outline is not None:
        known_parts[OUTLINE] = PartLabel("drawn", parted.outline)
    agreement = (value or {}).get("agreement", {})
    names = [(part["key"], part["name"]) for part in parts_of(campaign, topic)]
    if OUTLINE in labels:
        names.append((OUTLINE, "whole object"))
    return [
        _part_row(number, key, name, labels.get(key), known_parts.get(key), agreement.get(key, {}))
        for number, (key, name) in enumerate(names)
    ]


def _part_row(
    number: int,
    key: str,
    name: str,
    label: PartLabel | None,
    known: PartLabel | None,
    agreement: Mapping[str, Any],
) -> PartPictureRow:
    current = label or known
    words = STATE_WORDS[current.state] if current else "not labeled"
    return PartPictureRow(
        key=key,
        name=name,
        number=number + 1,
        tone=tone_of(number),
        is_known=label is None and known is not None,
        words=f"given: {words}" if current and label is None else words,
        d=svg.path_data(current.polygons) if current else "",
        voters=agreement.get("voters"),
        iou=agreement.get("iou"),
        boundary_f=agreement.get("boundary_f"),
    )


def _people(question: Question, settlement: Settlement | None) -> list[PersonDrawing]:
    """Return the people with counted drawings, in the order of their seats."""
    if settlement is not None:
        ids: Iterable[str] = settlement.answers
    else:
        votes = votes_on([question.pk]).get(question.pk, [])
        ids = [vote.revisions[-1][1] for vote in votes]
    answers = Answer.objects.filter(pk__in=list(ids)).select_related("assignment__annotator")
    return [
        PersonDrawing(
            answer,
            number,
            tone_of(number + 3),
            "".join(svg.path_data(label.polygons) for label in labels_in(answer.value).values()),
        )
        for number, answer in enumerate(answers.order_by("assignment_id"), 1)
    ]
