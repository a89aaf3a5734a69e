"""Reading the lanes: which questions a person could be given next, from their cursors onward.

Nothing here locks or writes. A question that gains a seat gets a new ticket, and tickets become
visible in order, so a reader never again needs what was once seen or full.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, NamedTuple

from labeling import policies
from labeling.errors import NotYours
from labeling.models import Campaign, Question, User
from labeling.seats import fetch, fetch_prepared

NOT_A_MEMBER = "There is no such campaign, or you were not invited to it."
# Candidates read for every seat wanted, since others may take some first.
OVERSAMPLE = 3
# The window grows while nearly all that it shows was seen by this person.
WIDEST_WINDOW = 5_000


@dataclass(frozen=True)
class Reader:
    """A member, how far they have read in each lane, and the campaign as it stands now."""

    membership_id: int
    user_id: int
    campaign_id: int
    cursors: tuple[int, int, int]
    pages: int
    answered: int
    state: str
    floors: tuple[int, int]
    last_ticket: int
    questions_asked: int
    questions_free: int
    counted_at: datetime | None
    policy: dict[str, Any]

    def start(self, lane: int) -> int:
        """The ticket from which they read on: newcomers are spared what has long been full."""
        if lane == Question.Lane.GOLD:
            return self.cursors[lane]
        return max(self.cursors[lane], self.floors[lane])


class Candidate(NamedTuple):
    id: int
    subject: int
    ticket: int


@dataclass
class Scan:
    """What a lane offers one person.

    first, last: tickets of the first and last question read, seen ones too; None if none was.
    exhausted: whether the lane was read to its end.
    """

    lane: int
    start: int
    wanted: int
    window: int
    candidates: list[Candidate] = field(default_factory=list)
    first: int | None = None
    last: int | None = None
    exhausted: bool = False

    def cursor(self, taken: set[int]) -> int:
        """How far they have read once they hold `taken`: up to just before the first candidate
        left behind, so that one skipped because it was locked comes first next time."""
        for candidate in self.candidates:
            if candidate.id not in taken:
                return candidate.ticket - 1
        return self.position

    @property
    def position(self) -> int:
        return self.start if self.last is None else self.last

    def absorb(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Rows of one window: (lane, question, subject, ticket, state of this person's seat)."""
        for _, pk, subject, ticket, seat in rows:
            if seat in UNSEEN:
                self.candidates.append(Candidate(pk, subject, ticket))
        if rows:
            self.first = rows[0][3] if self.first is None else self.first
            self.last = rows[-1][3]
        self.exhausted = len(rows) < self.window
        self.window = min(self.window * 4, WIDEST_WINDOW)


READER = """
SELECT b.id, b.cursor_returned, b.cursor_fresh, b.cursor_gold, b.pages, b.answered, c.state,
    c.floor_returned, c.floor_fresh, c.last_ticket, c.questions_asked, c.questions_free,
    c.counted_at, p.content
FROM labeling_membership b
JOIN labeling_campaign c ON c.id = b.campaign_id
JOIN labeling_policy p ON p.id = c.policy_id
WHERE b.user_id = %s AND b.campaign_id = %s AND b.left_at IS NULL
"""


def reader(user: User, campaign: Campaign) -> Reader:
    """The member as a reader of the campaign. Raises NotYours for anybody else."""
    rows = fetch_prepared(READER, [user.pk, campaign.pk])
    if not rows:
        raise NotYours(NOT_A_MEMBER)
    row = rows[0]
    return Reader(
        membership_id=row[0],
        user_id=user.pk,
        campaign_id=campaign.pk,
        cursors=(row[1], row[2], row[3]),
        pages=row[4],
        answered=row[5],
        state=row[6],
        floors=(row[7], row[8]),
        last_ticket=row[9],
        questions_asked=row[10],
        questions_free=row[11],
        # SQLite keeps UTC and does not say so.
        counted_at=row[12] and row[12].replace(tzinfo=UTC),
        policy=policies.DEFAULTS | json.loads(row[13]),
    )


# A seat that was given back or closed can be leased anew.
UNSEEN = (None, "returned", "closed")
# The seat is a scalar subquery, not an anti-join: it is looked up in the unique index for each row
# read, and no planner can turn it into one over everything the person ever answered. Rows that
# they have seen come back too, so the cursor can pass them. States are written out, not passed:
# SQLite uses a partial index only for what it can read in the statement.
WINDOW = """
SELECT * FROM (
    SELECT q.lane, q.id, COALESCE(q.subject, q.id) AS subject, q.ticket,
        (SELECT a.state FROM labeling_assignment a
         WHERE a.annotator_id = %s AND a.subject = COALESCE(q.subject, q.id)) AS seat
    FROM labeling_question q
    WHERE q.campaign_id = %s AND q.lane = %s AND q.ticket > %s AND q.seats_free > 0
    ORDER BY q.ticket LIMIT %s
) AS w
"""
HELD = """
SELECT -1 AS lane, a.id, 0 AS subject, 0 AS ticket, a.state AS seat
FROM labeling_assignment a JOIN labeling_question q ON q.id = a.question_id
WHERE a.annotator_id = %s AND a.state = 'leased' AND q.campaign_id = %s
"""
EVERYTHING = " UNION ALL ".join([WINDOW, WINDOW, WINDOW, HELD])


def read(person: Reader, size: int) -> tuple[list[int], list[Scan]]:
    """The seats that this person holds (by id), and each lane from their cursor: at least `size`
    candidates in the order of their tickets, or the lane to its end. One statement, unless nearly
    all of a window was seen."""
    scans = []
    for lane in Question.Lane.values:
        wanted = size if lane != Question.Lane.GOLD or person.policy["gold_share"] else 0
        scans.append(Scan(lane, person.start(lane), wanted, wanted * OVERSAMPLE))
    windows = [part for scan in scans for part in _window(person, scan)]
    rows = fetch_prepared(EVERYTHING, [*windows, person.user_id, person.campaign_id])
    for scan in scans:
        # A union promises no order.
        scan.absorb(sorted((row for row in rows if row[0] == scan.lane), key=itemgetter(3)))
        while not scan.exhausted and len(scan.candidates) < scan.wanted:
            scan.absorb(fetch(WINDOW, _window(person, scan)))
    return [row[1] for row in rows if row[0] < 0], scans


def _window(person: Reader, scan: Scan) -> list[int]:
    return [person.user_id, person.campaign_id, scan.lane, scan.position, scan.window]
