"""The window in which an answer may be revised: one rule for what is accepted and what is shown.

It is the same for gold and settled questions. If a reviewer sends an answer back, the window starts
again with the next answer.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from labeling.kinds.policy_keys import WholePolicy
from labeling.models import Answer

MAX_REVISIONS = 1_000


class SeatAnswers(NamedTuple):
    """The answers on a seat. revisions: how many; late: whether the first one was late.

    first_at: start of the window. None before the first answer, from being sent back until the next
    answer, and once the person has seen the classes that models predict.
    """

    revisions: int = 0
    first_at: datetime | None = None
    late: bool = False


def answered_on(seats: Collection[int]) -> dict[int, SeatAnswers]:
    """Return what was answered on each answered seat; seats are primary keys. One query."""
    if not seats:
        return {}
    rows: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    ended: set[int] = set()
    for seat, *answer, second in (
        Answer.objects.filter(assignment_id__in=seats)
        .order_by("assignment_id", "revision")
        .values_list(
            "assignment_id",
            "created_at",
            "late",
            "sent_back__created_at",
            "assignment__second_answer",
        )
    ):
        rows[seat].append(tuple(answer))
        if second is not None:
            ended.add(seat)
    return {
        seat: _seat_answers(answers)._replace(first_at=None)
        if seat in ended
        else _seat_answers(answers)
        for seat, answers in rows.items()
    }


def _seat_answers(answers: Sequence[tuple[datetime, bool, datetime | None]]) -> SeatAnswers:
    """Return the state of a seat. answers: (time, late, time it was sent back or None) by revision.

    After an answer was sent back, the window starts with the first revision since then.
    """
    back = max((at for *_, at in answers if at is not None), default=None)
    since = [at for at, *_ in answers if back is None or at > back]
    _, is_late, _ = answers[0]
    return SeatAnswers(len(answers), min(since, default=None), is_late)


def is_open(
    policy: WholePolicy,
    *,
    revisions: int,
    first_at: datetime | None,
    later_answers: int,
    now: datetime,
) -> bool:
    """Return whether another revision is accepted: until both revise_minutes since first_at and
    revise_answers further answers have passed, and at most MAX_REVISIONS times.
    """
    if first_at is None or revisions >= MAX_REVISIONS:
        return False
    in_time = now - first_at <= timedelta(minutes=policy["revise_minutes"])
    return in_time or later_answers < policy["revise_answers"]
