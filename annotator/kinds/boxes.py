"""The page of a box: beside its seat it gets the step, and the boxes that the question shows."""

from typing import Any

from annotator.kinds.base import Context, Page, SeatRow
from labeling.boxes.chain import CHECK, COVER, DRAW
from labeling.kinds.boxes import CLICKS, STEPS
from labeling.models import Answer, Assignment, Campaign, Question, User

# What one looks at in turn, so that one kind of look follows another as seldom as can be.
ORDER = (CHECK, COVER, DRAW)
# Of a question's content, what the page shows.
SHOWN = ("boxes", "box", "came", "flags", "rejected", "at")


class Boxes(Page):
    missing = "Draw a box, or choose one of the answers."

    def preview_row(self, campaign: Campaign, question: Question) -> SeatRow:
        return {**super().preview_row(campaign, question), "shows": _shown(question)}

    def setup(self, campaign: Campaign) -> Context:
        steps = {step: STEPS[step].choices(campaign.settings) for step in ORDER}
        return {"steps": steps}

    def describe_seats(self, rows: list[SeatRow], user: User, campaign: Campaign) -> list[SeatRow]:
        """The seats of a page, those of one step together, each with "shows": the step, the size of
        the image and what its content shows; and "answer", the latest. Two queries, and the same
        for gold."""
        seats = {
            seat.token: seat
            for seat in Assignment.objects.filter(
                token__in=[row["seat"] for row in rows],
                annotator=user,
                question__campaign=campaign,
            ).select_related("question__item__image")
        }
        answers = Answer.objects.filter(assignment__in=seats.values()).order_by("revision")
        latest = dict(answers.values_list("assignment_id", "value"))
        found: list[SeatRow] = [
            {
                **row,
                "shows": _shown(seats[row["seat"]].question),
                "answer": latest.get(seats[row["seat"]].pk),
            }
            for row in rows
        ]
        return sorted(found, key=lambda row: ORDER.index(row["shows"]["step"]))

    def words_of(self, value: Any, campaign: Campaign) -> str:
        word = self.kind.tally_name(value)
        if word == "box":
            how = "clicked" if value["how"] == CLICKS else "dragged"
            return ", ".join([f"A box, {how}", *value["flags"]])
        if word == "missing":
            return f"{len(value['missing'])} missing"
        label = self.kind.words(campaign.settings).get(word, word)
        sides = value.get("sides", ()) if isinstance(value, dict) else ()
        return f"{label}: {', '.join(sides)}" if sides else label


def _shown(question: Question) -> Context:
    content = question.content or {}
    image = question.item.image
    return {
        "step": question.step,
        "width": image.width,
        "height": image.height,
        "boxes": [],
        **{key: content[key] for key in SHOWN if key in content},
    }
