"""The window in which an answer may be revised: one rule for what is accepted and what is shown.

Gold or not, settled or not, it is the same. What a reviewer sent back is answered again: its window
begins with the answer after that.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from labeling.kinds.policy_keys import Policy
from labeling.models import Answer

MAX_REVISIONS = 1_000


class Answered(NamedTuple):
    """What was answered on a seat: how many revisions, when the window began (None before the first
    answer, from when a reviewer sent it back until it is mended, and once the person has seen what
    models name), and whether the first one came late."""

    revisions: int = 0
    first_at: datetime | None = None
    late: bool = False


def answered_on(seats: Collection[int]) -> dict[int, Answered]:
    """What was answered on each of these seats (primary keys) that has answers. One query."""
    if not seats:
        return {}
    rows: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
    ended: set[int] = set()
    for seat, *row in (
        Answer.objects.filter(assignment_id__in=seats)
        .order_by("assignment_id", "revision")
        .values_list(
            *("assignment_id", "created_at", "late", "sent_back__created_at"),
            "assignment__second_answer",
        )
    ):
        *answer, second = row
        rows[seat].append(tuple(answer))
        if second is not None:
            ended.add(seat)
    return {
        seat: _answered(answers)._replace(first_at=None) if seat in ended else _answered(answers)
        for seat, answers in rows.items()
    }


def _answered(answers: Sequence[tuple[datetime, bool, datetime | None]]) -> Answered:
    """answers: (when it came, whether late, when it was sent back or None) by revision.

    What is sent back is the revision that counted; later ones may lie before that as well."""
    back = max((at for *_, at in answers if at is not None), default=None)
    since = [at for at, *_ in answers if back is None or at > back]
    _, is_late, _ = answers[0]
    return Answered(len(answers), min(since, default=None), is_late)


def is_open(
    policy: Policy,
    *,
    revisions: int,
    first_at: datetime | None,
    further: int,
    now: datetime,
) -> bool:
    """Return whether one more revision is accepted: until both revise_minutes since first_at and
    revise_answers further answers of the person have passed, and at most MAX_REVISIONS times.
    """
    if first_at is None or revisions >= MAX_REVISIONS:
        return False
    in_time = now - first_at <= timedelta(minutes=policy["revise_minutes"])
    return in_time or further < policy["revise_answers"]
