"""What is known about one image: its labels with their votes, its objects, and where it is used."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Subquery
from django.utils.module_loading import import_string

from labeling.datasets import objects
from labeling.geometry import svg
from labeling.geometry.polygons import from_json
from labeling.models import (
    Campaign,
    GivenLabel,
    Image,
    Item,
    Membership,
    Question,
    Settlement,
    Topic,
    User,
)
from labeling.parts.joining import labels_in
from labeling.reports.question_page import (
    QuestionAnswerRow,
    SettlementRow,
    answer_rows,
    answers_to,
    settled_words,
)

# An image of a question graph may have hundreds of questions.
MAX_QUESTIONS = 100
MAX_OBJECTS = 200


@dataclass(frozen=True)
class ImageUse:
    """A result of another app that used the image. words: the result in words."""

    title: str
    url: str
    words: str


@dataclass(frozen=True)
class Shape:
    """An outline over the image. d: SVG path data. tone: "given", "object" or "settled"."""

    name: str
    tone: str
    d: str


@dataclass(frozen=True)
class ImageQuestion:
    """A question about the image, its current label in words ("" without one), and its history."""

    campaign: Campaign
    question: Question
    topic: str
    label: str
    probability: float | None
    answers: list[QuestionAnswerRow]
    settlements: list[SettlementRow]


@dataclass(frozen=True)
class ImageFacts:
    """What a person may see of an image. more: whether further questions are left out."""

    questions: list[ImageQuestion]
    more: bool
    known: list[GivenLabel]
    objects: list[Item]
    shapes: list[Shape]
    uses: list[ImageUse]

    @property
    def campaigns(self) -> list[Campaign]:
        return list({row.campaign.pk: row.campaign for row in self.questions}.values())


def facts(user: User, image: Image, campaigns: Sequence[Campaign]) -> ImageFacts:
    """Return what is known about the image, in a constant number of queries.

    campaigns: those whose answers the person may see.
    """
    items = image.items.order_by("pk").prefetch_related("given_labels")[: MAX_OBJECTS + 1]
    whole = [label for item in items if item.region is None for label in item.given_labels.all()]
    known = sorted(whole, key=lambda label: label.key)
    topics = Topic.objects.filter(campaign=OuterRef("campaign"), key=OuterRef("topic"))
    questions = list(
        Question.objects.for_consensus()
        .filter(campaign__in=campaigns, item__in=image.items.values("pk"))
        .annotate(topic_name=Subquery(topics.values("name")[:1]))
        .order_by("-campaign", "item", "topic", "round")[: MAX_QUESTIONS + 1]
    )
    rows = _rows(campaigns, questions[:MAX_QUESTIONS])
    drawn = [item for item in items if item.region is not None]
    for item in drawn:
        item.image = image
    described = objects.describe(drawn)
    shapes = [
        *_known_shapes(known),
        *(
            Shape(
                parted.name,
                "object",
                svg.path_data(parted.outline) if parted.outline else _box(parted.box),
            )
            for parted in described.values()
        ),
        *_settled_shapes(rows),
    ]
    return ImageFacts(rows, len(questions) > MAX_QUESTIONS, known, drawn, shapes, uses(user, image))


def uses(user: User, image: Image) -> list[ImageUse]:
    """Return where other apps used the image, by the functions of ASSAY_IMAGE_USES."""
    image_uses: list[ImageUse] = []
    for path in getattr(settings, "ASSAY_IMAGE_USES", []):
        image_uses += import_string(path)(user, image)
    return image_uses


def _rows(campaigns: Sequence[Campaign], questions: Sequence[Question]) -> list[ImageQuestion]:
    by_pk = {campaign.pk: campaign for campaign in campaigns}
    pks = [question.pk for question in questions]
    answers: dict[int, list[Any]] = defaultdict(list)
    settlements: dict[int, list[Settlement]] = defaultdict(list)
    blocked = Membership.objects.filter(
        campaign=OuterRef("assignment__question__campaign"),
        user=OuterRef("assignment__annotator"),
        stage=Membership.Stage.BLOCKED,
    )
    for answer in answers_to(pks).annotate(is_void=Exists(blocked)):
        answers[answer.assignment.question_id].append(answer)
    for row in Settlement.objects.filter(question__in=pks).select_related("policy").order_by("pk"):
        settlements[row.question_id].append(row)
    image_questions = []
    for question in questions:
        campaign, history = by_pk[question.campaign_id], settlements[question.pk]
        counted = set(history[-1].answers) if history else set()
        last = history[-1] if history and question.state == Question.State.SETTLED else None
        received = answers[question.pk]
        void = {row.assignment.annotator_id for row in received if row.is_void}
        rows = answer_rows(campaign, received, counted, void)
        image_questions.append(
            ImageQuestion(
                campaign=campaign,
                question=question,
                topic=getattr(question, "topic_name", None) or question.topic,
                label=settled_words(last, campaign) if last else "",
                probability=last.probability if last else None,
                answers=rows,
                settlements=[SettlementRow(row, settled_words(row, campaign)) for row in history],
            )
        )
    return image_questions


def _known_shapes(labels: Sequence[GivenLabel]) -> Iterator[Shape]:
    for label in labels:
        geometry = label.geometry or {}
        for box in geometry.get("boxes", ()):
            yield Shape(label.key, "given", _box(box))
        if geometry.get("polygons"):
            yield Shape(label.key, "given", svg.path_data(from_json(geometry["polygons"])))


def _settled_shapes(rows: Sequence[ImageQuestion]) -> Iterator[Shape]:
    """Yield what people drew: the box of a settled question, or the parts of an object."""
    for row in rows:
        value = row.settlements[-1].settlement.value if row.label else None
        if not isinstance(value, dict):
            continue
        for box in (value, *(value.get("boxes") or ())):
            if isinstance(box, dict) and "box" in box:
                yield Shape(row.topic, "settled", _box(box["box"]))
        for key, part in labels_in(value).items():
            if part.polygons:
                yield Shape(f"{row.topic}: {key}", "settled", svg.path_data(part.polygons))


def _box(box: Sequence[float]) -> str:
    x0, y0, x1, y1 = box
    return svg.path_data(((((x0, y0), (x1, y0), (x1, y1), (x0, y1)),),))
