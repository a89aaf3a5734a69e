"""Who labels what next: pages of seats, leases, gold mixed in.

A page is claimed in a handful of statements: read each lane from the person's cursors, take what
nobody else is taking, move the cursors. Seats that run out or are given back return to the queue
under a new ticket. docs/explanation/assigning-and-jobs.md says why nothing is lost, overfilled or
starved.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from django.utils import timezone
from django.utils.translation import gettext

from labeling.assignment import candidates, counters, gold_mixing
from labeling.assignment.candidates import FRESH, GOLD, RETURNED, Candidate, Reader, Reading
from labeling.assignment.refusals import CLOSED, IN_TRAINING, NOT_WORKING, NOT_YOUR_SEAT
from labeling.db import question_counts
from labeling.db.freeing import free
from labeling.db.sql import (
    Raced,
    execute,
    fetch,
    fetch_prepared,
    lock_questions,
    locking,
    moment,
    numbers,
    retried,
    writing,
)
from labeling.errors import CampaignClosed, Conflict, InTraining, Newcomer, NotWorking, NotYours
from labeling.kinds import policies
from labeling.models import Campaign, Decision, Membership, Seat, User
from labeling.models.people import new_token

# Seats of one page at most.
LARGEST_PAGE = 200
# Seats that a person may hold, unless one page has more.
MOST_HELD = 40
# How long the seats of a page that was closed stay with the person.
AFTER_LEAVING = timedelta(seconds=60)
# How often a page is tried for that stays empty because others were quicker.
ATTEMPTS = 10
EXPIRED_AT_ONCE = 100
EXPIRED_BATCHES = 50

Stage = Membership.Stage


@dataclass(frozen=True)
class SeatView:
    """A seat on a person's page. Only the token may leave the server."""

    token: str
    question_id: int
    topic: str
    image_name: str
    created_at: datetime


@dataclass(frozen=True)
class Page:
    """A person's open seats, in the order of their random tokens, and about how many more this
    person could answer, these included, as worked out when they had answered so many. None of it
    tells gold from the rest."""

    seats: list[SeatView]
    left: int
    answered: int = 0

    @property
    def topic(self) -> str | None:
        """What all of these seats are about, if it is one thing."""
        topics = {seat.topic for seat in self.seats}
        return topics.pop() if len(topics) == 1 else None


@dataclass(frozen=True)
class Fill:
    """What became of an attempt to fill a page.

    missing: seats wanted but not got. behind: candidates left behind for others who held them.
    empty: whether the person has no open seat at all. share: of gold. ahead: about how many
    answers lie beyond those given. answered: how many they had given when this was read.
    question_count: the campaign's questions without gold.
    """

    missing: int
    behind: int
    empty: bool
    share: float
    ahead: int
    answered: int
    question_count: int


def next_page(
    user: User,
    campaign: Campaign,
    size: int | None = None,
    *,
    beside: Collection[str] = (),
    most: int = LARGEST_PAGE,
    fair: bool = False,
) -> Page:
    """Return the person's open seats, filled up to `size` (the policy's page_size) with new ones.

    beside: tokens of seats that are shown already; those that the person holds come on top of
    `size`. most: seats that the person may hold. fair: when few questions are left, claim no more
    than this person's share of them.

    So a reload claims nothing twice; the leases of open seats begin again. Where the kind hands out
    topics, all seats are about one, that of the seats already open if there are any, and the page
    is short rather than mixed. Empty only when there is nothing this person could answer now.
    Raises NotYours for those who are not members, CampaignClosed unless the campaign is open,
    InTraining and NotWorking by the person's stage, and Newcomer for a first page where people are
    trained or tested first: qualifying.next_page begins that, then comes here.
    """
    for attempt in range(ATTEMPTS):
        # What others hold is skipped twice, then waited for: an empty page must mean the end.
        fill = _fill(user, campaign, size, beside, most, skip=attempt < 2, fair=fair)
        if not fill.missing or not (fill.behind or return_expired()):
            break
        if attempt >= 2 and not fill.empty:
            break
    seats = open_seats(user, campaign)
    return Page(seats, _left(fill, len(seats)) if seats else 0, fill.answered)


def _left(fill: Fill, seats_on_page: int) -> int:
    """Return about how many answers are left, those to the seats on this page included.

    Without gold this is as near as the lanes were read. With gold it falls by one with each answer,
    whatever was answered: counting what ordinary questions remain would tell, page by page, how
    many of the seats were gold. It uses only whether any are left, and is capped at the campaign's
    question count, which people may know: the excess would be the gold.
    """
    if not fill.share:
        return seats_on_page + fill.ahead
    return min(fill.question_count, max(fill.ahead, seats_on_page + bool(fill.ahead)))


OPEN_SEATS = """
SELECT a.token, q.id, q.topic, m.name, a.created_at
FROM labeling_assignment a
JOIN labeling_question q ON q.id = a.question_id
JOIN labeling_item i ON i.id = q.item_id
JOIN labeling_image m ON m.id = i.image_id
WHERE a.annotator_id = %s AND a.state = 'leased' AND q.campaign_id = %s
ORDER BY a.ordinal IS NULL, a.token
"""


def open_seats(user: User, campaign: Campaign) -> list[SeatView]:
    """Return the seats this person holds and has not answered: where they left off. First what was
    answered once and sent back.
    """
    rows = fetch_prepared(OPEN_SEATS, [user.pk, campaign.pk])
    return [
        SeatView(token, pk, topic, name, at.replace(tzinfo=UTC))
        for token, pk, topic, name, at in rows
    ]


@retried
def _fill(
    user: User,
    campaign: Campaign,
    size: int | None,
    beside: Collection[str],
    most: int,
    *,
    skip: bool,
    fair: bool,
) -> Fill:
    """Reads before the transaction and claims inside it, so that SQLite's one writer is brief."""
    person = working_reader(user, campaign)
    size = size or person.policy["page_size"]
    hand = hand_of(person, min(size + len(beside), most))
    held = hand.reading.held
    size = min(size + len(hand.reading.tokens.intersection(beside)), most)
    if fair and size > len(held) and hand.reading.at_the_end:
        size = min(size, counters.fair_share(person, hand.left, held) or size)
    missing = max(0, size - len(held))
    taken: set[int] = set()
    if held or hand.moves() or (missing and (hand.ordinary or hand.again)):
        with writing():
            until = timezone.now() + timedelta(minutes=person.policy["lease_minutes"])
            taken = claim(hand, missing, skip, until)
            _extend(held, until)
    if person.quota is None:
        # Who reads some topics only has not seen what the others still need.
        counters.raise_floors(person, hand.reading.scans[:2])
    open_ids = {candidate.id for candidate in (*hand.ordinary, *hand.again)}
    got = len(taken & open_ids)
    return Fill(
        missing=missing - len(taken),
        behind=len(open_ids) - got + hand.reading.overtaken,
        empty=not (held or taken),
        share=person.share,
        ahead=_ahead(hand, got),
        answered=person.answered,
        question_count=hand.counts.questions if person.share else 0,
    )


def working_reader(user: User, campaign: Campaign) -> Reader:
    """Return the member as a reader of the campaign.

    Raises NotYours, CampaignClosed, Newcomer, InTraining or NotWorking unless the campaign is open
    and the person works here.
    """
    person = candidates.reader(user, campaign)
    if person.state != Campaign.State.OPEN:
        raise CampaignClosed(gettext(CLOSED[Campaign.State(person.state)]))
    check_stage(person)
    return person


def check_stage(person: Reader) -> None:
    """Raise Newcomer, InTraining or NotWorking unless the person works here."""
    stage = Stage(person.stage)
    if _is_new(person):
        raise Newcomer(gettext(IN_TRAINING))
    if stage in (Stage.TRAINING, Stage.TEST):
        raise InTraining(gettext(IN_TRAINING))
    if stage != Stage.WORKING:
        code, message = NOT_WORKING[stage]
        raise NotWorking(gettext(message), code=code)


def _is_new(person: Reader) -> bool:
    """Whether this is an annotator's first page where people are trained or tested first."""
    has_stages = person.policy["training_questions"] or person.policy["test_questions"]
    return bool(
        has_stages
        and not person.pages
        and not person.answered
        and person.stage == Stage.WORKING
        and person.role == Membership.Role.ANNOTATOR
        and not has_been_trained(person.user_id, person.campaign_id)
    )


def has_been_trained(user_id: int, campaign_id: int) -> bool:
    """Return whether the person has been through training and test, or a researcher let them in."""
    return Decision.objects.filter(
        campaign_id=campaign_id,
        kind__in=[Decision.Kind.STAGE, Decision.Kind.UNBLOCK],
        content__annotator=user_id,
    ).exists()


@dataclass(frozen=True)
class Hand:
    """The questions that one person could be given.

    ordinary: unseen questions in the order of their turn. golden: unseen gold. again: what the
    person gave back, gold or not; it comes in one order when nothing ordinary is left.
    """

    person: Reader
    reading: Reading
    ordinary: list[Candidate]
    golden: list[Candidate]
    again: list[Candidate]

    @cached_property
    def counts(self) -> counters.Counts:
        return counters.counts(self.person)

    @property
    def left(self) -> set[Candidate]:
        """Return the questions of all topics that this person could be given, but unseen gold."""
        scanned = (scan.candidates for scan in self.reading.scans[:2])
        return set(self.ordinary).union(self.again, *scanned)

    def cursors(self, taken: set[int]) -> list[int]:
        return [scan.cursor(taken) for scan in self.reading.scans]

    def moves(self) -> bool:
        """Return whether a cursor moves even if nothing is taken: past what was seen meanwhile."""
        pairs = zip(self.cursors(set()), self.person.cursors, strict=True)
        return any(new > old for new, old in pairs)

    def deal(self, missing: int) -> list[Candidate]:
        """Return the unseen gold for a page of that many seats."""
        slots = gold_mixing.slots(missing, self.person.share)
        scan = self.reading.scans[GOLD]
        return gold_mixing.deal(self.person, scan, self.golden, self.ordinary, slots)


def hand_of(person: Reader, size: int) -> Hand:
    """What could be given to the person for a page of that size. Reads without locks."""
    reading = candidates.read(person, size)
    # One person sees a subject once, whichever lane it waits in.
    by_subject: dict[int, Candidate] = {}
    for in_turn in (*(reading.candidates[lane] for lane in person.turns), reading.again):
        for candidate in in_turn:
            by_subject.setdefault(candidate.subject, candidate)
    chosen = _within_quota(person, reading, by_subject.values())
    again = set(reading.again)
    return Hand(
        person,
        reading,
        ordinary=[candidate for candidate in chosen if candidate not in again],
        golden=[
            candidate
            for candidate in reading.candidates[GOLD]
            if candidate.subject not in by_subject
        ],
        again=[candidate for candidate in chosen if candidate in again],
    )


def _within_quota(
    person: Reader, reading: Reading, in_turn: Iterable[Candidate]
) -> list[Candidate]:
    """Those that the person's quota leaves to them beside their open seats, first come first."""
    if person.quota is None:
        return list(in_turn)
    left = Counter(person.quota) - reading.held_topics
    chosen = []
    for candidate in in_turn:
        if left[candidate.topic] > 0:
            left[candidate.topic] -= 1
            chosen.append(candidate)
    return chosen


def claim(hand: Hand, missing: int, skip: bool, until: datetime) -> set[int]:
    """Return the questions now leased to this person until then, gold included, at most `missing`.
    skip: what others hold is passed over, not waited for.
    """
    person, cursors = hand.person, lock_member(hand.person)
    # Without an ordinary question there is no new gold either, or people would answer it for ever.
    golden = hand.deal(missing) if missing and hand.ordinary and person.share else []
    taken = _take(person, hand.ordinary, missing - len(golden), skip)
    if len(taken) < missing - len(golden):
        # The last page is short, and gold has the same share in it as in any other.
        gold = gold_mixing.slots(round(len(taken) / (1 - person.share)), person.share)
        golden = golden[:gold]
    again = hand.again[: missing - len(taken) - len(golden)]
    golden += [candidate for candidate in again if candidate.answer is not None]
    ordinary = [candidate for candidate in again if candidate.answer is None]
    taken |= _take(person, ordinary, len(ordinary), skip)
    taken |= {candidate.id for candidate in golden}
    in_turn = (*hand.ordinary, *golden, *ordinary)
    _seat(person, [candidate for candidate in in_turn if candidate.id in taken], until)
    _move(person, [max(pair) for pair in zip(cursors, hand.cursors(taken), strict=True)])
    return taken


def lock_member(person: Reader) -> tuple[int, int, int]:
    """Return the cursors as they stand, locked: one person's tabs take turns. Raises Raced when
    another one has claimed a page, or their stage has changed, since the lanes were read.
    """
    rows = fetch(
        "SELECT pages, stage, cursor_returned, cursor_fresh, cursor_gold "  # noqa: S608
        f"FROM labeling_membership WHERE id = %s AND left_at IS NULL{locking()}",
        [person.membership_id],
    )
    if not rows or rows[0][:2] != (person.pages, person.stage):
        raise Raced
    return rows[0][2:]


def _take(person: Reader, ordinary: Sequence[Candidate], count: int, skip: bool) -> set[int]:
    """The candidates of which a free seat is now ours: at most `count`, first come first."""
    pks = [candidate.id for candidate in ordinary]
    if not pks or count <= 0:
        return set()
    # Who waits for locks takes them in the order that everyone keeps.
    order = f"lane {'DESC' if person.fresh_first else 'ASC'}, ticket" if skip else "id"
    rows = fetch(
        "WITH chosen AS MATERIALIZED (SELECT id FROM labeling_question "  # noqa: S608
        f"WHERE id IN ({numbers(pks)}) AND seats_free > 0 AND state = 'open' "
        f"ORDER BY {order} LIMIT %s{locking(skip=skip)}) "
        "UPDATE labeling_question SET seats_free = seats_free - 1 "
        "WHERE id IN (SELECT id FROM chosen) RETURNING id, seats_free",
        [count],
    )
    full = sum(not seats for _, seats in rows)
    question_counts.add(person.campaign_id, {"free": -full, "seats_free": -len(rows)})
    return {pk for pk, _ in rows}


def _seat(person: Reader, chosen: Sequence[Candidate], until: datetime) -> None:
    """Leases a seat on each question; one that this person gave back is leased again.

    It keeps its token while it is about the same question: an answer that was on its way when the
    lease ran out still finds its seat.
    """
    if not chosen:
        return
    times = (until, timezone.now())
    rows = ",".join(f"({numbers((candidate.id, candidate.subject))},%s)" for candidate in chosen)
    seated = fetch(
        f"WITH taken (question_id, subject, token) AS (VALUES {rows}) "  # noqa: S608
        "INSERT INTO labeling_assignment (question_id, annotator_id, subject, token, state, "
        "leased_until, created_at) "
        # Without a WHERE, SQLite would read ON as a part of the join.
        "SELECT question_id, %s, subject, token, 'leased', %s, %s FROM taken WHERE true "
        "ON CONFLICT (annotator_id, subject) DO UPDATE SET state = 'leased', "
        "leased_until = excluded.leased_until, question_id = excluded.question_id, "
        "token = CASE WHEN labeling_assignment.question_id = excluded.question_id "
        "THEN labeling_assignment.token ELSE excluded.token END "
        "WHERE labeling_assignment.state IN ('returned', 'closed') "
        # Of one thing a person sees one part, ever (subjects.py).
        "AND (labeling_assignment.subject >= 0 "
        "OR labeling_assignment.question_id = excluded.question_id) RETURNING id",
        [*(new_token() for _ in chosen), person.user_id, *map(moment, times)],
    )
    if len(seated) != len(chosen):
        raise Raced


def _extend(held: Sequence[int], leased_until: datetime) -> None:
    if held:
        execute(
            # What was sent back to be mended is held for longer.
            "UPDATE labeling_assignment SET leased_until = %s "  # noqa: S608
            f"WHERE id IN ({numbers(held)}) AND state = 'leased' AND leased_until < %s",
            [moment(leased_until)] * 2,
        )


def _move(person: Reader, cursors: Sequence[int]) -> None:
    execute(
        "UPDATE labeling_membership SET cursor_returned = %s, cursor_fresh = %s, "
        "cursor_gold = %s, pages = pages + 1 WHERE id = %s",
        [*cursors, person.membership_id],
    )


def _ahead(hand: Hand, got: int) -> int:
    """Return about how many answers this person has still to give, 0 at the end; see _left.

    Without gold: how many questions lie beyond this page, exact when the lanes were read to the
    end. With gold: those of the page too. Never more than the campaign's questions leave.
    """
    person, reading = hand.person, hand.reading
    if person.quota is not None:
        left = min(sum(person.quota.values()), hand.counts.questions - person.answered)
        left -= len(reading.held) + got
        return max(1, left) if len(hand.ordinary) + len(hand.again) > got else 0
    beyond = len({candidate.subject for candidate in hand.left}) - got
    if reading.at_the_end and (not beyond or not person.share):
        return beyond
    counts = hand.counts
    if not person.share:
        held = len(reading.held)
        return max(beyond, min(counts.free, counts.questions - person.answered) - held - got)
    # In tens: a count that falls with each ordinary answer would tell it from gold.
    free_seats = -(-counts.free // 10) * 10
    return max(1, min(round(free_seats / (1 - person.share)), counts.questions - person.answered))


def return_seat(user: User, token: str) -> None:
    """Give a seat back unanswered (skip): the question goes to the end of the fresh lane, for
    others first. Twice is no error. Raises NotYours, or Conflict once it was answered.
    """
    seat = Seat.objects.filter(token=token, annotator=user).values_list("pk", "state").first()
    if seat is None:
        raise NotYours(gettext(NOT_YOUR_SEAT), code="not_your_seat")
    if not give_back([seat[0]], FRESH):
        state = Seat.objects.values_list("state", flat=True).get(pk=seat[0])
        if state == Seat.State.ANSWERED:
            raise Conflict(
                gettext("You have answered this one already. You may change your answer.")
            )


def return_seats_of(user: User, campaign: Campaign) -> int:
    """Return how many open seats this person gave back, all at once: they left."""
    held = Seat.objects.filter(annotator=user, question__campaign=campaign, state=Seat.State.LEASED)
    return give_back(list(held.values_list("pk", flat=True)), RETURNED)


def leave(user: User, campaign: Campaign, tokens: Collection[str], seen_at: datetime) -> int:
    """Cut the leases of a closed page's seats to AFTER_LEAVING; return how many were cut.

    seen_at: when that page last got seats. Leases renewed since, by a reload or another tab, stay;
    so do seats with a draft and seats sent back.
    """
    until = timezone.now() + AFTER_LEAVING
    renewed = seen_at + timedelta(minutes=policies.of(campaign)["lease_minutes"])
    seats = Seat.objects.filter(
        state=Seat.State.LEASED, leased_until__gt=until, leased_until__lte=renewed
    )
    with writing():
        held = seats.filter(
            annotator=user,
            question__campaign=campaign,
            token__in=list(tokens),
            ordinal=None,
            draft=None,
        )
        return seats.filter(pk__in=list(held.values_list("pk", flat=True))).update(
            leased_until=until
        )


def return_expired() -> int:
    """Return the number of seats returned to the queue because their lease ran out.

    A few at a time, each few in a transaction of milliseconds; any number of processes may do it
    at once.
    """
    count = 0
    for _ in range(EXPIRED_BATCHES):
        now = timezone.now()
        pks = [pk for (pk,) in fetch(EXPIRED, [moment(now), EXPIRED_AT_ONCE])]
        returned = give_back(pks, RETURNED, expired_at=now) if pks else 0
        count += returned
        if returned < EXPIRED_AT_ONCE:
            break
    return count


# The state is written out so that SQLite uses the partial index.
EXPIRED = """
SELECT id FROM labeling_assignment WHERE state = 'leased' AND leased_until < %s
ORDER BY leased_until LIMIT %s
"""


@retried
def give_back(pks: Iterable[int], lane: int, expired_at: datetime | None = None) -> int:
    """Return how many of these seats were still leased (and, if said, expired) and are now free
    again.
    """
    pks = list(pks)
    if not pks:
        return 0
    expired = "" if expired_at is None else " AND leased_until < %s"
    with writing():
        # A question's row never moves to another id, so it is read before it is locked. Questions
        # that someone works on keep their expired seats until the next round.
        questions = lock_questions(
            (pk for (pk,) in fetch(_QUESTIONS.format(numbers(pks)), [])),
            skip=expired_at is not None,
        )
        if not questions:
            return 0
        ids = [question.id for question in questions]
        rows = fetch(
            "UPDATE labeling_assignment SET state = 'returned' "  # noqa: S608
            f"WHERE id IN ({numbers(pks)}) AND question_id IN ({numbers(ids)}) "
            f"AND state = 'leased'{expired} RETURNING question_id",
            [moment(expired_at)] if expired_at else [],
        )
        seats = Counter(question_id for (question_id,) in rows)
        free([question for question in questions if seats[question.id]], seats, lane)
    return len(rows)


_QUESTIONS = "SELECT question_id FROM labeling_assignment WHERE id IN ({})"
