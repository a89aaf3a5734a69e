"""Counters that keep pages fast: the floors where newcomers start reading, and how many are left.

Floors may be late or never move; pages are then slower, not wrong. The number left that people see
is up to a minute old: counts that fell with each answer would reveal gold.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django.utils import timezone

from labeling.assignment.candidates import CandidateQuestion, LaneReader, Scan
from labeling.db import question_counts
from labeling.db.sql import execute, fetch, locking, moment, numbers
from labeling.models import Campaign

FLOOR_COLUMNS = ("floor_returned", "floor_fresh")
# Move a floor only if it saves newcomers this much: the campaign's row has other writers.
FLOOR_STEP = 1_000
COUNT_AFTER = timedelta(minutes=1)
# Members who answered or joined within this time share the last questions.
ACTIVE_WITHIN = timedelta(days=1)
# Free seats are rounded down to a step: a share that fell by one an answer would reveal gold.
SHARE_STEPS = (10, 5)


class AnswerableCounts(NamedTuple):
    """Questions that one person could answer (without gold and withdrawn ones), and how many have a
    free seat.
    """

    questions: int
    free: int


def raise_floors(person: LaneReader, scans: Sequence[Scan]) -> None:
    """Move each lane's floor to just below the first free seat that a reader from the floor met."""
    for lane, scan in enumerate(scans):
        floor = person.floors[lane]
        if scan.start != floor:
            continue
        # last_ticket was read before the lane, so all questions up to it were visible.
        empty = person.last_ticket if scan.exhausted else floor
        reached = empty if scan.first is None else scan.first - 1
        if reached - floor >= FLOOR_STEP:
            _raise(person.campaign_id, lane, reached)


def _raise(campaign_id: int, lane: int, reached: int) -> None:
    column = FLOOR_COLUMNS[lane]
    _set(campaign_id, f"{column} = %s", [reached], f"AND {column} < %s", [reached])


def _set(
    campaign_id: int,
    assignments: str,
    values: list[Any],
    when: str = "",
    having: Sequence[Any] = (),
) -> None:
    # Skip this while a long action (adding a million questions) locks the campaign's row.
    execute(
        f"UPDATE labeling_campaign SET {assignments} WHERE id = (SELECT id FROM labeling_campaign "  # noqa: S608
        f"WHERE id = %s {when}{locking(skip=True)})",
        [*values, campaign_id, *having],
    )


def counts(person: LaneReader) -> AnswerableCounts:
    """Return the campaign's counts, at most a minute old."""
    if person.counted_at is None or timezone.now() - person.counted_at > COUNT_AFTER:
        return recount(person.campaign_id)
    return AnswerableCounts(person.questions_asked, person.questions_free)


def recount(campaign_id: int) -> AnswerableCounts:
    """Recount, save the counts on the campaign's row, and return them."""
    now = question_counts.of_campaign(campaign_id)
    # A person is asked only one of several questions about a subject.
    questions, free = now.questions - now.repeated, now.free
    _set(
        campaign_id,
        "questions_asked = %s, questions_free = %s, counted_at = %s",
        [questions, free, moment(timezone.now())],
    )
    return AnswerableCounts(questions, free)


SHARE_QUERY = """
SELECT (SELECT SUM(seats_free) FROM labeling_question WHERE id IN ({left})),
    (SELECT COUNT(*) FROM labeling_assignment a JOIN labeling_question q ON q.id = a.question_id
     WHERE a.id IN ({held}) AND q.state = 'open'),
    COUNT(*),
    SUM(CASE WHEN user_id = %s OR joined_at > %s OR last_answered_at > %s THEN 1 ELSE 0 END)
FROM labeling_membership WHERE campaign_id = %s AND left_at IS NULL AND stage = 'working'
    AND (role = 'annotator' OR user_id = %s OR last_answered_at > %s)
"""


def fair_share(
    person: LaneReader, left: Collection[CandidateQuestion], held: Sequence[int]
) -> int | None:
    """Return how many of the last questions the person may hold: the free seats divided by the
    active members, plus one if there are more members. None if the person works alone. held: the
    person's open seats.
    """
    if not left:
        return None
    me, since = person.user_id, moment(timezone.now() - ACTIVE_WITHIN)
    query = SHARE_QUERY.format(
        left=numbers({candidate.id for candidate in left}), held=numbers(held or [0])
    )
    [(free, mine, members, active)] = fetch(
        query, [me, since, since, person.campaign_id, me, since]
    )
    people = min(members, active + 1)
    if people == 1:
        return None
    seats = (free or 0) + mine
    return next((-(-(seats // step * step) // people) for step in SHARE_STEPS if seats >= step), 1)


def note_settled(campaign_id: int) -> None:
    """Save how many questions are settled; people see this number until the next night."""
    decided = question_counts.of_campaign(campaign_id).decided
    Campaign.objects.filter(pk=campaign_id).update(settled_nightly=decided)


def sweep() -> int:
    """Update the floors of open campaigns; return how many campaigns."""
    rows = Campaign.objects.filter(state=Campaign.State.OPEN).values_list(
        "pk", "floor_returned", "floor_fresh"
    )
    for pk, *floors in rows:
        for lane, floor in enumerate(floors):
            _sweep_floor(pk, lane, floor)
    return len(rows)


def _sweep_floor(campaign_id: int, lane: int, floor: int) -> None:
    first = fetch(
        "SELECT ticket FROM labeling_question WHERE campaign_id = %s AND lane = %s "
        "AND ticket > %s AND seats_free > 0 ORDER BY ticket LIMIT 1",
        [campaign_id, lane, floor],
    )
    if first and first[0][0] - 1 - floor >= FLOOR_STEP:
        _raise(campaign_id, lane, first[0][0] - 1)
