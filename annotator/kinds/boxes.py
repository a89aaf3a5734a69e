"""The bounding-box page: seats get their step and the boxes to show."""

from dataclasses import dataclass
from typing import Any, TypedDict

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from annotator.kinds.base import Context, Page, SeatPage, SeatRow
from labeling.boxes.chain import CHECK, CLICKED, COMPLETE, COVER, DRAW, DRAWN
from labeling.boxes.cleaning import as_box, holds
from labeling.boxes.rules import GOOD
from labeling.geometry.boxes import iou
from labeling.kinds import policies
from labeling.kinds.boxes import BAD, NONE, STEPS, KnownDrawing, KnownMissing
from labeling.models import Answer, Campaign, Question, Seat, User
from labeling.reports import boxes_picture
from labeling.reports.boxes_picture import BoxesPicture, BoxLayer, Points, ShownStep

# Steps grouped by what people look at, so that the task changes as rarely as possible.
ORDER = (CHECK, COVER, DRAW)


class ShownRow(TypedDict):
    """Fields of a seat that come from its question, and the page's heading."""

    shows: ShownStep
    heading: str


class BoxesPage(Page):
    template = "annotator/label_boxes.html"
    training_template = "annotator/training_boxes.html"
    preview_template = "annotator/preview_boxes.html"
    compared_template = "annotator/_boxes_compared.html"
    missing = _("Draw a box, or choose one of the answers.")

    def context(self, campaign: Campaign) -> Context:
        steps = {step: STEPS[step].choices(campaign.settings) for step in ORDER}
        return {**super().context(campaign), "steps": steps, "flags": boxes_picture.flag_rows()}

    def label_context(self, page: SeatPage) -> Context:
        return {"first": _pictured(page.seats[0]) if page.seats else None}

    def training_context(self, page: SeatPage) -> Context:
        person_and_campaign = {"user": page.request.user.pk, "campaign": page.campaign.name}
        first = page.seats[0]
        setup = person_and_campaign | {"seats": [first], "topics": page.payload["topics"]}
        return {"setup": setup | self.setup(page.campaign), "first": _pictured(first)}

    def preview_context(self, campaign: Campaign, question: Question) -> Context:
        return {"first": _pictured(self.preview_row(campaign, question))}

    def preview_row(self, campaign: Campaign, question: Question) -> SeatRow:
        row = super().preview_row(campaign, question)
        return {**row, **_shown(question)}

    def setup(self, campaign: Campaign) -> Context:
        return {"steps": {step: STEPS[step].choices(campaign.settings) for step in ORDER}}

    def describe_seats(self, rows: list[SeatRow], user: User, campaign: Campaign) -> list[SeatRow]:
        """Return the rows grouped by step, each with "shows" (step, image size and content),
        "heading" and "answer", the latest. Always two queries, also for gold.
        """
        seats = {
            seat.token: seat
            for seat in Seat.objects.filter(
                token__in=[row["seat"] for row in rows], annotator=user, question__campaign=campaign
            ).select_related("question__item__image")
        }
        answers = Answer.objects.filter(assignment__in=seats.values()).order_by("revision")
        latest = dict(answers.values_list("assignment_id", "value"))
        described: list[SeatRow] = [
            {
                **row,
                **_shown(seats[row["seat"]].question),
                "answer": latest.get(seats[row["seat"]].pk),
            }
            for row in rows
        ]
        return sorted(described, key=lambda row: ORDER.index(row["shows"]["step"]))

    def words_of(self, value: Any, campaign: Campaign) -> str:
        if isinstance(value, dict) and "small" in value:
            count = len(value["boxes"])
            return (
                gettext("A box around it")
                if count == 1
                else gettext("A box around one of %(count)s") % {"count": count}
            )
        if value == BAD:
            return gettext("Not good")
        return boxes_picture.words_of(value, self.kind.words(campaign.settings))

    def compared(self, value: Any, gold: Any, seat: Seat, campaign: Campaign) -> "BoxComparison":
        """Return an answer and the known one, drawn over the photograph."""
        content = boxes_picture.shows(seat.question)
        compare = {DRAW: _drawn, CHECK: _checked, COVER: _covered}[seat.question.step]
        return compare(content, value, gold, policies.for_campaign(campaign))


@dataclass(frozen=True)
class BoxComparison:
    """An answer to a step and the known one over the photograph, with the differences in sentences;
    for templates/annotator/_boxes_compared.html.
    """

    step: str
    picture: BoxesPicture
    sentences: list[str]


def _drawn(
    content: ShownStep, value: Any, gold: Any, policy: policies.WholePolicy
) -> BoxComparison:
    known = KnownDrawing.from_json(gold)
    mine = [] if value == NONE else [value["box"]]
    layers = [
        BoxLayer("known", known.boxes, gettext("known")),
        BoxLayer("mine", mine, gettext("yours")),
    ]
    picture = boxes_picture.picture(content, layers, label=gettext("The known box and yours"))
    if not known.boxes:
        return BoxComparison(
            content["step"],
            picture,
            [gettext("Every one has a box here; nothing was left to draw.")],
        )
    if not mine:
        return BoxComparison(
            content["step"], picture, [gettext("The dashed box was still to be drawn.")]
        )
    overlaps = [
        (iou(as_box(mine[0]), box), "gold_iou_small" if small else "gold_iou")
        for box, small in zip(known.boxes, known.small, strict=True)
    ]
    best, key = max(overlaps)
    needed = policy[key]  # type: ignore[literal-required]
    if key == "gold_iou_small":
        sentence = gettext(
            "The two boxes share %(share)s of what they cover together (IoU); %(needed)s is "
            "needed, as it is small."
        )
    else:
        sentence = gettext(
            "The two boxes share %(share)s of what they cover together (IoU); %(needed)s is needed."
        )
    filled = sentence % {"share": f"{best:.2f}", "needed": f"{needed:g}"}
    return BoxComparison(content["step"], picture, [filled])


def _checked(
    content: ShownStep, value: Any, gold: Any, policy: policies.WholePolicy
) -> BoxComparison:
    picture = boxes_picture.picture(content, label=gettext("The box that was checked"))
    sentence = (
        gettext("This box is good.")
        if gold == GOOD
        else gettext("This box is not good: see its edges.")
    )
    return BoxComparison(content["step"], picture, [sentence])


def _covered(
    content: ShownStep, value: Any, gold: Any, policy: policies.WholePolicy
) -> BoxComparison:
    missing = KnownMissing.from_json(gold).boxes
    points = [] if value == COMPLETE else value["missing"]
    seen = [any(holds(box, point) for point in points) for box in missing]
    layers = [
        BoxLayer(
            "found",
            [box for box, hit in zip(missing, seen, strict=True) if hit],
            gettext("you saw it"),
        ),
        BoxLayer(
            "missed",
            [box for box, hit in zip(missing, seen, strict=True) if not hit],
            gettext("missed"),
        ),
    ]
    mine = [Points("pin", points, gettext("your points"))]
    picture = boxes_picture.picture(content, layers, points=mine, label=gettext("What has no box"))
    if not missing:
        return BoxComparison(content["step"], picture, [gettext("Every one has a box here.")])
    sentence = gettext("%(seen)s of %(count)s without a box were seen.")
    return BoxComparison(
        content["step"], picture, [sentence % {"seen": sum(seen), "count": len(missing)}]
    )


def _shown(question: Question) -> ShownRow:
    shows = boxes_picture.shows(question)
    # Hide how the box was drawn: checkers need not know, and it would reveal gold.
    if shows.get("came") == CLICKED:
        shows["came"] = DRAWN
    return {"shows": shows, "heading": boxes_picture.heading(shows)}


def _pictured(row: SeatRow) -> Context:
    """Return the seat's row with its picture, for pages without scripts."""
    return {**row, "picture": boxes_picture.picture(row["shows"])}
