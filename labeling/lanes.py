"""Reading the lanes: which questions a person could be given next, from their cursors onward.

Nothing here locks or writes. A question that gains a seat gets a new ticket, and tickets become
visible in order, so a reader never again needs what was once seen or full.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from labeling import policies
from labeling.errors import NotYours
from labeling.models import Campaign, Membership, Question, User
from labeling.seats import fetch

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
        return self.start if self.last is None else self.last


def reader(user: User, campaign: Campaign) -> Reader:
    """The member as a reader of the campaign. Raises NotYours for anybody else."""
    row = (
        Membership.objects.active()
        .filter(user=user, campaign=campaign)
        .values_list(
            "pk",
            "cursor_returned",
            "cursor_fresh",
            "cursor_gold",
            "pages",
            "answered",
            "campaign__state",
            "campaign__floor_returned",
            "campaign__floor_fresh",
            "campaign__last_ticket",
            "campaign__questions_asked",
            "campaign__questions_free",
            "campaign__counted_at",
            "campaign__policy__content",
        )
        .first()
    )
    if row is None:
        raise NotYours(NOT_A_MEMBER)
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
        counted_at=row[12],
        policy=policies.DEFAULTS | (row[13] or {}),
    )


# A seat that was given back or closed can be leased anew.
UNSEEN = (None, "returned", "closed")

# The seat is a scalar subquery, not an anti-join: it is looked up in the unique index for each row
# read, and no planner can turn it into one over everything the person ever answered. Rows that
# they have seen come back too, so the cursor can pass them.
WINDOW = """
SELECT q.id, COALESCE(q.subject, q.id), q.ticket,
    (SELECT a.state FROM labeling_assignment a
     WHERE a.annotator_id = %s AND a.subject = COALESCE(q.subject, q.id))
FROM labeling_question q
WHERE q.campaign_id = %s AND q.lane = %s AND q.ticket > %s AND q.seats_free > 0
ORDER BY q.ticket LIMIT %s
"""


def scan(person: Reader, lane: int, wanted: int) -> Scan:
    """At least `wanted` candidates of the lane in the order of their tickets, unless it ends."""
    found = Scan(lane, person.start(lane))
    subjects: set[int] = set()
    window = max(wanted, 1) * OVERSAMPLE
    position = found.start
    while not found.exhausted and len(found.candidates) < wanted:
        rows = fetch(WINDOW, [person.user_id, person.campaign_id, lane, position, window])
        for pk, subject, ticket, seat in rows:
            # Of several questions of which one person may see only one, the first is offered.
            if seat in UNSEEN and subject not in subjects:
                subjects.add(subject)
                found.candidates.append(Candidate(pk, subject, ticket))
        if rows:
            position = found.last = rows[-1][2]
            found.first = rows[0][2] if found.first is None else found.first
        found.exhausted = len(rows) < window
        window = min(window * 4, WIDEST_WINDOW)
    return found
