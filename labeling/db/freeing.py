"""Adding free seats, with a new ticket, to locked questions."""

from collections.abc import Sequence
from typing import Any

from labeling.db import question_counts
from labeling.db.sql import Locked, execute, marks, take_tickets
from labeling.models import Question


def free(questions: Sequence[Locked], seats: dict[int, int], lane: int) -> None:
    """Add free seats to each question and give it a new ticket in the lane.

    The new ticket lets cursors that passed the question reach it again. Gold keeps its lane and its
    one seat and also gets a ticket. Closed questions stay as they are.
    """
    rows: list[Any] = []
    for campaign_id in sorted({question.campaign_id for question in questions}):
        asking = [
            question
            for question in questions
            if question.campaign_id == campaign_id
            and question.state in (Question.State.OPEN, Question.State.GOLD)
        ]
        first = take_tickets(campaign_id, len(asking))
        for index, question in enumerate(asking):
            gold = question.state == Question.State.GOLD
            rows += [
                question.id,
                0 if gold else seats[question.id],
                first + index,
                Question.Lane.GOLD.value if gold else int(lane),
            ]
    if rows:
        execute(
            f"WITH freed (id, seats, ticket, lane) AS (VALUES {marks(rows, 4)}) "  # noqa: S608
            "UPDATE labeling_question SET seats_free = seats_free + freed.seats, "
            "ticket = freed.ticket, lane = freed.lane "
            "FROM freed WHERE labeling_question.id = freed.id",
            rows,
        )
    more = [
        question._replace(seats_free=question.seats_free + seats[question.id])
        for question in questions
        if question.state == Question.State.OPEN
    ]
    question_counts.update_counts([q for q in questions if q.state == Question.State.OPEN], more)
