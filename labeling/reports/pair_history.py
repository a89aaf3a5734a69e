"""The questions of an (image, class) pair in order: contents, answers and result of each."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from labeling.boxes.chain import CHECK, COMPLETE, COVER, DRAW, DROPPED, REVIEW
from labeling.follow_ups import chaining
from labeling.kinds import KINDS
from labeling.models import Answer, Campaign, Question, Settlement
from labeling.reports import boxes_picture, question_page
from labeling.reports.boxes_picture import BoxesPicture, BoxLayer, Points

STEP_WORDS = {DRAW: "Draw", CHECK: "Check", COVER: "Look for more", REVIEW: "Review"}
COVERAGE_WORDS = {
    "complete": "every one has a box",
    "absent": "there is none",
    "partial": "some have a box",
    "unknown": "nothing is known yet",
}


@dataclass(frozen=True)
class PairStepRow:
    """One question of the pair. number: from 1. settled: its result; "" while it is open."""

    question: Question
    number: int
    words: str
    picture: BoxesPicture
    answers: list[question_page.QuestionAnswerRow]
    settled: str


class BoxRow(TypedDict):
    """A box in a review."""

    box: list[float]
    flags: list[str]
    came: str


@dataclass(frozen=True)
class PairHistory:
    """The state of a pair.

    boxes: current ones, from which a reviewer starts. words: the known state. steps: valid
    questions in order.
    """

    boxes: list[BoxRow]
    coverage: str
    words: str
    steps: list[PairStepRow]


def for_question(campaign: Campaign, question: Question) -> PairHistory:
    """Return the pair of a question, in a fixed number of queries."""
    pair = chaining.replay_pairs(campaign, [question.item_id])[question.item_id][question.topic]
    pks = [step.id for step in pair.path]
    questions = Question.objects.select_related("item__image").in_bulk(pks)
    answers: dict[int, list[Answer]] = defaultdict(list)
    for answer in question_page.answers_to(pks):
        answers[answer.assignment.question_id].append(answer)
    latest: dict[int, Settlement] = {}
    for settlement in Settlement.objects.filter(question__in=pks).order_by("pk"):
        latest[settlement.question_id] = settlement
    counted = {pk for row in latest.values() for pk in row.answers}
    every = [answer for rows in answers.values() for answer in rows]
    rows = {row.answer.pk: row for row in question_page.answer_rows(campaign, every, counted)}
    labels = KINDS[campaign.kind].words(campaign.settings)
    steps = [
        _step(
            questions[pk],
            number,
            [rows[answer.pk] for answer in answers[pk]],
            latest.get(pk),
            labels,
        )
        for number, pk in enumerate(pks, 1)
    ]
    chain = pair.chain
    known = COVERAGE_WORDS[chain.coverage]
    if pair.path[-1].state == Question.State.WITHDRAWN:
        known = f"{known}; withdrawn"
    elif chain.step not in (COMPLETE, DROPPED):
        known = f"{known}; next: {STEP_WORDS[chain.step].lower()}"
    boxes: list[BoxRow] = [
        {
            "box": list(standing_box.box),
            "flags": list(standing_box.flags),
            "came": standing_box.origin,
        }
        for standing_box in chain.boxes
    ]
    return PairHistory(boxes, chain.coverage, known, steps)


def _step(
    question: Question,
    number: int,
    rows: Sequence[question_page.QuestionAnswerRow],
    settlement: Settlement | None,
    labels: dict[str, str],
) -> PairStepRow:
    values = [row.answer.value for row in rows if not row.replaced and not row.void]
    value: Any = settlement.value if settlement else None
    settled = ""
    if value == "dropped":
        settled = "dropped"
    elif value is not None:
        settled = boxes_picture.words_of(value, labels)
    return PairStepRow(
        question,
        number,
        STEP_WORDS[question.step],
        picture(question, values, value),
        [replace(row, words=boxes_picture.words_of(row.answer.value, labels)) for row in rows],
        settled,
    )


def picture(question: Question, answers: Sequence[Any], value: Any = None) -> BoxesPicture:
    """Return the contents of a question, with its answers and the boxes of a reviewer."""
    objects = [answer for answer in answers if isinstance(answer, dict)]
    drawn = BoxLayer("mine", [answer["box"] for answer in objects if "box" in answer], "drawn")
    points = [point for answer in objects for point in answer.get("missing", ())]
    layers = [drawn]
    if isinstance(value, dict) and "state" in value:
        layers.append(BoxLayer("known", [row["box"] for row in value["boxes"]], "as reviewed"))
    seen = Points("pin", points, "has no box")
    label = f"{STEP_WORDS[question.step]}: question and answer"
    return boxes_picture.picture(boxes_picture.shows(question), layers, [seen], label)
