"""The drawing page: seats get the object, its given and missing parts, and unfinished work."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from annotator.kinds.base import Context, Page, SeatPage, SeatRow, TopicDescription
from annotator.pages import bodies
from labeling.answers import drafts
from labeling.assistance import networks
from labeling.assistance import seats as assistance
from labeling.datasets import objects
from labeling.geometry.polygons import from_json
from labeling.geometry.svg import path_data, view_box
from labeling.models import Answer, Campaign, Draft, Item, Question, Seat, SentBack, User
from labeling.parts.joining import labels_in
from labeling.reports.parts_picture import STATE_WORDS, ObjectRow, object_of, parts_of, tone_of

LEASED = Seat.State.LEASED


class PartsPage(Page):
    template = "annotator/label_parts.html"
    training_template = "annotator/training_parts.html"
    preview_template = "annotator/preview_parts.html"
    compared_template = "annotator/_parts_compared.html"
    missing = _("Draw a part, or skip the image.")

    def label_context(self, page: SeatPage) -> Context:
        return {
            "first": _pictured(page.seats[0], page.campaign) if page.seats else None,
            "asks_model": networks.for_campaign(page.campaign) is not None,
        }

    def training_context(self, page: SeatPage) -> Context:
        first, campaign = page.seats[0], page.campaign
        person_and_campaign = {"user": page.request.user.pk, "campaign": campaign.name}
        setup = (
            person_and_campaign
            | {"seats": [first], "topics": page.payload["topics"]}
            | self.setup(campaign)
        )
        # Training draws without the model.
        setup.pop("propose_url", None)
        return {"setup": setup, "first": _pictured(first, campaign)}

    def preview_context(self, campaign: Campaign, question: Question) -> Context:
        object_row = _object_in(question.item, campaign, question.topic)
        row: SeatRow = {**self.preview_row(campaign, question), "object": object_row}
        return {"first": _pictured(row, campaign)}

    def read_body(self, request: HttpRequest) -> bodies.Body:
        return bodies.read_drawing(request)

    def setup(self, campaign: Campaign) -> Context:
        """Return the script's settings.

        Drawings are sent one at a time: one may be as large as a batch.
        """
        return {
            "batch": 1,
            "largest": drafts.MAX_BYTES,
            "ask_half": campaign.settings["ask_half"],
            "ask_outline": campaign.settings["ask_outline"],
            "draft_url": reverse("label_draft", args=[campaign.name]),
            "seat_url": reverse("label_seat", args=[campaign.name]),
            # URL for asking the model, in campaigns that have one.
            **(
                {"propose_url": reverse("label_propose", args=[campaign.name])}
                if networks.for_campaign(campaign)
                else {}
            ),
        }

    def describe_seats(self, rows: list[SeatRow], user: User, campaign: Campaign) -> list[SeatRow]:
        """Return the rows with the start of each drawing: sent-back ones first, then drafts.

        Each has "object" (see object_of), "answer" (the latest, or None), "sent_back" (note and
        time, unless a newer answer was sent), "draft" (see draft_of) and, in campaigns with a
        network, "assisted": whether this drawing may use it. The number of queries is constant,
        also for gold.
        """
        tokens = [row["seat"] for row in rows]
        seats = {
            seat.token: seat
            for seat in Seat.objects.filter(
                token__in=tokens, annotator=user, question__campaign=campaign
            ).select_related("question__item__image")
        }
        described = objects.describe([seat.question.item for seat in seats.values()])
        kept = drafts.by_seat(seats.values())
        answers, notes = _latest(seats.values())
        network = networks.for_campaign(campaign)
        helped = (
            assistance.assistance_by_seat(list(seats.values()), campaign, network)
            if network
            else {}
        )
        seat_rows: list[SeatRow] = []
        for row in rows:
            seat = seats[row["seat"]]
            draft, answer, note = kept.get(seat.pk), answers.get(seat.pk), notes.get(seat.pk)
            seat_rows.append(
                {
                    **row,
                    "object": object_of(described[seat.question.item_id], campaign, row["topic"]),
                    "answer": own_answer(answer.value) if answer is not None else None,
                    # A sent-back seat is leased again until a new answer is sent.
                    "sent_back": {"note": note.note, "at": note.created_at.isoformat()}
                    if note and seat.state == LEASED
                    else None,
                    "draft": draft_of(draft) if draft is not None else None,
                }
            )
            if seat.pk in helped:
                seat_rows[-1]["assisted"] = helped[seat.pk]
        # Sort here, so that drawings begun on another machine come first, too.
        return sorted(seat_rows, key=lambda row: (row["sent_back"] is None, row["draft"] is None))

    def describe_topic(
        self, topic: TopicDescription, campaign: Campaign, key: str
    ) -> TopicDescription:
        """Return the category's parts, the guidance of vocabulary and campaign, and good and bad
        examples.
        """
        category = campaign.settings["categories"].get(key) or {}
        texts = [topic.get("guidance", ""), category.get("guidance", "")]
        return {
            **topic,
            "examples": [
                example
                | {"word": gettext("Good") if example["answer"] == "yes" else gettext("Bad")}
                for example in topic.get("examples", [])
            ],
            "parts": parts_of(campaign, key),
            "guidance": "\n\n".join(dict.fromkeys(text for text in texts if text)),
        }

    def words_of(self, value: Any, campaign: Campaign) -> str:
        """Return an answer in a few words: the reason for skipping, or the number of described
        parts.
        """
        if not isinstance(value, dict):
            return str(value)
        if "skip" in value:
            labels = {
                choice["value"]: choice["label"] for choice in self.kind.choices(campaign.settings)
            }
            return labels.get(value["skip"], str(value["skip"]))
        states = Counter(part_answer["state"] for part_answer in value.get("parts", {}).values())
        counts = [
            f"{states[state]} {gettext(STATE_WORDS[state])}"
            for state in STATE_WORDS
            if states[state]
        ]
        return ", ".join(counts) or gettext("nothing changed")

    def compared(self, value: Any, gold: Any, seat: Seat, campaign: Campaign) -> "PartComparison":
        """Return a drawing and the known one."""
        topic = seat.question.topic
        mine, known = labels_in(value), labels_in(gold)
        figures = self.kind.likeness(value, gold) if known and "skip" not in value else {}
        rows, layers = [], []
        for number, part in enumerate(parts_of(campaign, topic)):
            my_label, known_label = mine.get(part["key"]), known.get(part["key"])
            tone = tone_of(number)
            layers += [
                PartLayer(part["name"], look, path_data(drawn.polygons))
                for drawn, look in ((my_label, tone), (known_label, f"{tone} fixed"))
                if drawn and drawn.polygons
            ]
            if my_label or known_label:
                rows.append(
                    ComparedPart(
                        part["name"],
                        gettext(STATE_WORDS[my_label.state]) if my_label else gettext("nothing"),
                        gettext(STATE_WORDS[known_label.state])
                        if known_label
                        else gettext("not asked"),
                        figures.get(part["key"]),
                    )
                )
        picture = _picture_of(_object_in(seat.question.item, campaign, topic), campaign, topic)
        return PartComparison(replace(picture, layers=layers, label=gettext("Both drawings")), rows)


@dataclass(frozen=True)
class PartLayer:
    """A part in a picture. tone: CSS classes; d: SVG path."""

    name: str
    tone: str
    d: str


@dataclass(frozen=True)
class PartPicture:
    """The crop of an object with layers over it, for templates/annotator/_parts_picture.html."""

    view: str
    width: int
    height: int
    layers: list[PartLayer]
    label: str


@dataclass(frozen=True)
class ComparedPart:
    """A part in two drawings. likeness: their IoU; for states 1 if equal, else 0."""

    name: str
    answer: str
    known: str
    likeness: float | None


@dataclass(frozen=True)
class PartComparison:
    """A drawing and the known one, for templates/annotator/_parts_compared.html."""

    picture: PartPicture
    parts: list[ComparedPart]


def _latest(seats: Iterable[Seat]) -> tuple[dict[int, Answer], dict[int, SentBack]]:
    """Return the latest answer and the latest reviewer's note of each seat. Two queries."""
    seats = list(seats)
    answers = Answer.objects.filter(assignment__in=seats).order_by("assignment_id", "revision")
    notes = SentBack.objects.filter(assignment__in=seats).order_by("assignment_id", "pk")
    return (
        {answer.assignment_id: answer for answer in answers},
        {note.assignment_id: note for note in notes},
    )


def own_answer(value: object) -> object:
    """Return an answer for its page: proposals of the model appear as the page sent them."""
    if not isinstance(value, dict) or "parts" not in value:
        return value
    parts = {
        key: {**part, "came": {name: part["came"][name] for name in ("proposal", "edits")}}
        if "came" in part
        else part
        for key, part in value["parts"].items()
    }
    return {**value, "parts": parts}


def draft_of(draft: Draft) -> Context:
    """Return the server's draft for scripts."""
    return {
        "version": draft.version,
        "content": draft.content,
        "device": draft.device,
        "saved_at": draft.saved_at.isoformat(),
    }


def _object_in(item: Item, campaign: Campaign, topic: str) -> ObjectRow:
    """Return object_of for one object."""
    return object_of(objects.describe([item])[item.pk], campaign, topic)


def _picture_of(object_row: ObjectRow, campaign: Campaign, topic: str) -> PartPicture:
    """Return the object with each given part as a layer, for pages without scripts."""
    layers = [
        PartLayer(
            part["name"],
            f"{tone_of(number)} fixed",
            path_data(from_json(object_row["given"][part["key"]]["polygons"])),
        )
        for number, part in enumerate(parts_of(campaign, topic))
        if part["key"] in object_row["given"]
    ]
    names = ", ".join(layer.name for layer in layers)
    return PartPicture(
        view_box(object_row["crop"]),
        object_row["width"],
        object_row["height"],
        layers,
        gettext("The object, with its %(names)s") % {"names": names}
        if names
        else gettext("The object"),
    )


def _pictured(row: SeatRow, campaign: Campaign) -> Context:
    """Return the seat's row with its picture and the names of the missing parts."""
    names = {part["key"]: part["name"] for part in parts_of(campaign, row["topic"])}
    return {
        **row,
        "picture": _picture_of(row["object"], campaign, row["topic"]),
        "missing_names": ", ".join(names[key] for key in row["object"]["missing"]),
    }
