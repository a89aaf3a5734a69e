"""Claiming pages of seats: leases, with gold mixed in.

A page takes a handful of statements: read each lane from the person's cursors, lease questions that
nobody else has locked, and move the cursors. Seats that expire or are given back return to the
queue under a new ticket. docs/explanation/assigning-and-jobs.md explains why nothing is lost,
overfilled or starved.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property

from django.utils import timezone
from django.utils.translation import gettext

from labeling.assignment import candidates, counters, gold_mixing
from labeling.assignment.candidates import (
    FRESH,
    GOLD,
    RETURNED,
    CandidateQuestion,
    LaneReader,
    LaneReading,
)
from labeling.assignment.refusals import (
    CLOSED,
    DEADLINE_PASSED,
    IN_TRAINING,
    NOT_WORKING,
    NOT_YOUR_SEAT,
)
from labeling.db import question_counts
from labeling.db.freeing import free
from labeling.db.sql import (
    LostRace,
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

# Most seats on one page.
MAX_PAGE_SIZE = 200
# Most seats that a person may hold, unless one page has more.
MAX_HELD_SEATS = 40
# How long a person keeps their seats after closing the browser's page.
LEASE_AFTER_LEAVING = timedelta(seconds=60)
# Attempts to fill a page that stays empty because others were faster.
ATTEMPTS = 10
EXPIRED_BATCH = 100
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
class SeatsPage:
    """A person's open seats, sorted by their random tokens. Nothing in it reveals gold.

    answered: the person's answers so far. left: estimate of the questions that they could still
    answer, these seats included.
    """

    seats: list[SeatView]
    left: int
    answered: int = 0

    @property
    def topic(self) -> str | None:
        """Return the common topic of these seats, or None."""
        topics = {seat.topic for seat in self.seats}
        return topics.pop() if len(topics) == 1 else None


@dataclass(frozen=True)
class Fill:
    """The result of one attempt to fill a page.

    missing: seats still missing. behind: candidates skipped because others locked them. empty:
    whether the person has no open seat. share: share of gold. ahead: estimate of the answers still
    to give (_answers_left). answered: the person's answers so far. question_count: the campaign's
    questions without gold.
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
    shown_tokens: Collection[str] = (),
    most: int = MAX_PAGE_SIZE,
    share_last_questions: bool = False,
) -> SeatsPage:
    """Return the person's open seats, filled up to `size` (the policy's page_size) with new ones.

    shown_tokens: tokens of seats already shown; those that the person still holds are added to
    `size`. most: seats that the person may hold. share_last_questions: when few questions are left,
    claim at most this person's share of them.

    A reload claims nothing twice; it renews the leases of open seats. For kinds that hand out
    topics, all seats have one topic, that of the seats already open if any, and the page is short
    rather than mixed. It is empty only if there is nothing that this person could answer now.
    Raises NotYours for non-members, CampaignClosed unless the campaign is open, InTraining and
    NotWorking by the person's stage, and Newcomer for a first page that needs training or a test:
    qualifying.next_page starts that, then calls this function.
    """
    for attempt in range(ATTEMPTS):
        # The first two attempts skip locked questions. Later ones wait for the locks: a page may be
        # empty only if no question is left.
        fill = _fill(
            user,
            campaign,
            size,
            shown_tokens,
            most,
            skip=attempt < 2,
            share_last_questions=share_last_questions,
        )
        if not fill.missing or not (fill.behind or return_expired()):
            break
        if attempt >= 2 and not fill.empty:
            break
    seats = open_seats(user, campaign)
    return SeatsPage(seats, _visible_answers_left(fill, len(seats)) if seats else 0, fill.answered)


def _visible_answers_left(fill: Fill, seats_on_page: int) -> int:
    """Return an estimate of the answers left, including those to the seats on this page.

    Without gold it is exact if the lanes were read to the end. With gold it falls by one with each
    answer: a count of the remaining ordinary questions would reveal, page by page, how many seats
    were gold. So it uses only whether any are left. It never exceeds the campaign's question count:
    people may know that count, and the excess would reveal the number of gold questions.
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
    """Return the seats that this person holds and has not answered; those sent back come first."""
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
    shown_tokens: Collection[str],
    most: int,
    *,
    skip: bool,
    share_last_questions: bool,
) -> Fill:
    """Try once to fill a page.

    Read before the transaction and claim inside it, so that SQLite's only writer finishes quickly.
    """
    person = working_reader(user, campaign)
    size = size or person.policy["page_size"]
    claimable = claimable_questions(person, min(size + len(shown_tokens), most))
    held = claimable.reading.held
    size = min(size + len(claimable.reading.tokens.intersection(shown_tokens)), most)
    if share_last_questions and size > len(held) and claimable.reading.is_at_end:
        size = min(size, counters.fair_share(person, claimable.available, held) or size)
    missing = max(0, size - len(held))
    taken: set[int] = set()
    if held or claimable.moves() or (missing and (claimable.ordinary or claimable.reusable)):
        with writing():
            until = timezone.now() + timedelta(minutes=person.policy["lease_minutes"])
            taken = claim(claimable, missing, skip, until)
            _extend(held, until)
    if person.quota is None:
        # A reader with a quota has not seen the questions of other topics.
        counters.raise_floors(person, claimable.reading.scans[:2])
    open_ids = {candidate.id for candidate in (*claimable.ordinary, *claimable.reusable)}
    got = len(taken & open_ids)
    return Fill(
        missing=missing - len(taken),
        behind=len(open_ids) - got + claimable.reading.is_overtaken,
        empty=not (held or taken),
        share=person.share,
        ahead=_answers_left(claimable, got),
        answered=person.answered,
        question_count=claimable.counts.questions if person.share else 0,
    )


def working_reader(user: User, campaign: Campaign) -> LaneReader:
    """Return the member as a reader of the campaign.

    Raises NotYours, CampaignClosed, Newcomer, InTraining or NotWorking unless the campaign is open,
    its deadline has not passed and the person works here.
    """
    person = candidates.reader(user, campaign)
    if person.state != Campaign.State.OPEN:
        raise CampaignClosed(gettext(CLOSED[Campaign.State(person.state)]))
    if person.is_over:
        raise CampaignClosed(gettext(DEADLINE_PASSED))
    check_stage(person)
    return person


def check_stage(person: LaneReader) -> None:
    """Raise Newcomer, InTraining or NotWorking unless the person works here."""
    stage = Stage(person.stage)
    if _is_new(person):
        raise Newcomer(gettext(IN_TRAINING))
    if stage in (Stage.TRAINING, Stage.TEST):
        raise InTraining(gettext(IN_TRAINING))
    if stage != Stage.WORKING:
        code, message = NOT_WORKING[stage]
        raise NotWorking(gettext(message), code=code)


def _is_new(person: LaneReader) -> bool:
    """Return whether this is an annotator's first page in a campaign with training or a test."""
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
    """Return whether the person passed training and test, or a researcher let them in."""
    return Decision.objects.filter(
        campaign_id=campaign_id,
        kind__in=[Decision.Kind.STAGE, Decision.Kind.UNBLOCK],
        content__annotator=user_id,
    ).exists()


@dataclass(frozen=True)
class ClaimableQuestions:
    """The questions that one person could get.

    ordinary: unseen questions in order. golden: unseen gold. reusable: questions that the person
    gave back, ordinary and gold in one order; used if no ordinary question is left.
    """

    person: LaneReader
    reading: LaneReading
    ordinary: list[CandidateQuestion]
    golden: list[CandidateQuestion]
    reusable: list[CandidateQuestion]

    @cached_property
    def counts(self) -> counters.AnswerableCounts:
        return counters.counts(self.person)

    @property
    def available(self) -> set[CandidateQuestion]:
        """Return the questions of all topics that this person could get, without unseen gold."""
        scanned = (scan.candidates for scan in self.reading.scans[:2])
        return set(self.ordinary).union(self.reusable, *scanned)

    def cursors(self, taken: set[int]) -> list[int]:
        return [scan.cursor(taken) for scan in self.reading.scans]

    def moves(self) -> bool:
        """Return whether a cursor moves even if nothing is taken, because it passes questions that
        the person has seen meanwhile.
        """
        pairs = zip(self.cursors(set()), self.person.cursors, strict=True)
        return any(new > old for new, old in pairs)

    def deal(self, missing: int) -> list[CandidateQuestion]:
        """Return the unseen gold questions for a page with that many missing seats."""
        slots = gold_mixing.slots(missing, self.person.share)
        scan = self.reading.scans[GOLD]
        return gold_mixing.deal(self.person, scan, self.golden, self.ordinary, slots)


def claimable_questions(person: LaneReader, size: int) -> ClaimableQuestions:
    """Return what the person could get for a page of that size. Reads without locks."""
    reading = candidates.read(person, size)
    # A person sees a subject once, whichever lane it is in.
    by_subject: dict[int, CandidateQuestion] = {}
    for in_turn in (*(reading.candidates[lane] for lane in person.turns), reading.reusable):
        for candidate in in_turn:
            by_subject.setdefault(candidate.subject, candidate)
    chosen = _within_quota(person, reading, by_subject.values())
    reusable = set(reading.reusable)
    return ClaimableQuestions(
        person,
        reading,
        ordinary=[candidate for candidate in chosen if candidate not in reusable],
        golden=[
            candidate
            for candidate in reading.candidates[GOLD]
            if candidate.subject not in by_subject
        ],
        reusable=[candidate for candidate in chosen if candidate in reusable],
    )


def _within_quota(
    person: LaneReader, reading: LaneReading, in_turn: Iterable[CandidateQuestion]
) -> list[CandidateQuestion]:
    """Return the first candidates that fit into the person's quota beside their open seats."""
    if person.quota is None:
        return list(in_turn)
    left = Counter(person.quota) - reading.held_topics
    chosen = []
    for candidate in in_turn:
        if left[candidate.topic] > 0:
            left[candidate.topic] -= 1
            chosen.append(candidate)
    return chosen


def claim(claimable: ClaimableQuestions, missing: int, skip: bool, until: datetime) -> set[int]:
    """Lease at most `missing` questions, gold included, to this person; return their ids.

    until: end of the leases. skip: skip questions that others have locked instead of waiting.
    """
    person, cursors = claimable.person, lock_member(claimable.person)
    # Without ordinary questions give no new gold either, or people would answer gold for ever.
    golden = claimable.deal(missing) if missing and claimable.ordinary and person.share else []
    taken = _take_free_seats(person, claimable.ordinary, missing - len(golden), skip)
    if len(taken) < missing - len(golden):
        # The last page is short; its share of gold must be the same as on any other page.
        gold = gold_mixing.slots(round(len(taken) / (1 - person.share)), person.share)
        golden = golden[:gold]
    reusable = claimable.reusable[: missing - len(taken) - len(golden)]
    golden += [candidate for candidate in reusable if candidate.answer is not None]
    ordinary = [candidate for candidate in reusable if candidate.answer is None]
    taken |= _take_free_seats(person, ordinary, len(ordinary), skip)
    taken |= {candidate.id for candidate in golden}
    in_turn = (*claimable.ordinary, *golden, *ordinary)
    _lease_seats(person, [candidate for candidate in in_turn if candidate.id in taken], until)
    _save_cursors(
        person, [max(pair) for pair in zip(cursors, claimable.cursors(taken), strict=True)]
    )
    return taken


def lock_member(person: LaneReader) -> tuple[int, int, int]:
    """Lock the membership, so that one person's tabs take turns, and return its cursors.

    Raises LostRace if another tab has claimed a page, or the stage or the topics of the quota have
    changed, since the lanes were read.
    """
    rows = fetch(
        "SELECT pages, stage, topics, cursor_returned, cursor_fresh, cursor_gold "  # noqa: S608
        f"FROM labeling_membership WHERE id = %s AND left_at IS NULL{locking()}",
        [person.membership_id],
    )
    if not rows or rows[0][:2] != (person.pages, person.stage):
        raise LostRace
    topics = None if rows[0][2] is None else json.loads(rows[0][2]).keys()
    if topics != (None if person.quota is None else person.quota.keys()):
        raise LostRace
    return rows[0][3:]


def _take_free_seats(
    person: LaneReader, ordinary: Sequence[CandidateQuestion], count: int, skip: bool
) -> set[int]:
    """Take a free seat of at most `count` candidates in order; return their ids."""
    pks = [candidate.id for candidate in ordinary]
    if not pks or count <= 0:
        return set()
    # When waiting for locks, take them in the global order.
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


def _lease_seats(person: LaneReader, chosen: Sequence[CandidateQuestion], until: datetime) -> None:
    """Lease a seat on each question; a seat that this person gave back is leased again.

    A seat keeps its token if its question stays the same, so that an answer sent just before the
    lease expired still finds it.
    """
    if not chosen:
        return
    times = (until, timezone.now())
    rows = ",".join(f"({numbers((candidate.id, candidate.subject))},%s)" for candidate in chosen)
    seated = fetch(
        f"WITH taken (question_id, subject, token) AS (VALUES {rows}) "  # noqa: S608
        "INSERT INTO labeling_assignment (question_id, annotator_id, subject, token, state, "
        "leased_until, created_at) "
        # Without a WHERE, SQLite would parse ON as part of a join.
        "SELECT question_id, %s, subject, token, 'leased', %s, %s FROM taken WHERE true "
        "ON CONFLICT (annotator_id, subject) DO UPDATE SET state = 'leased', "
        "leased_until = excluded.leased_until, question_id = excluded.question_id, "
        "token = CASE WHEN labeling_assignment.question_id = excluded.question_id "
        "THEN labeling_assignment.token ELSE excluded.token END "
        "WHERE labeling_assignment.state IN ('returned', 'closed') "
        # A person may only ever see one part of the same subject (subjects.py).
        "AND (labeling_assignment.subject >= 0 "
        "OR labeling_assignment.question_id = excluded.question_id) RETURNING id",
        [*(new_token() for _ in chosen), person.user_id, *map(moment, times)],
    )
    if len(seated) != len(chosen):
        raise LostRace


def _extend(held: Sequence[int], leased_until: datetime) -> None:
    if held:
        execute(
            # Work that was sent back has a longer lease.
            "UPDATE labeling_assignment SET leased_until = %s "  # noqa: S608
            f"WHERE id IN ({numbers(held)}) AND state = 'leased' AND leased_until < %s",
            [moment(leased_until)] * 2,
        )


def _save_cursors(person: LaneReader, cursors: Sequence[int]) -> None:
    execute(
        "UPDATE labeling_membership SET cursor_returned = %s, cursor_fresh = %s, "
        "cursor_gold = %s, pages = pages + 1 WHERE id = %s",
        [*cursors, person.membership_id],
    )


def _answers_left(claimable: ClaimableQuestions, got: int) -> int:
    """Return an estimate of the answers that this person can still give; 0 at the end.

    Without gold it counts the questions after this page and is exact if the lanes were read to the
    end. With gold it includes those of the page. It never exceeds the number of the campaign's
    questions that the person has not answered.
    """
    person, reading = claimable.person, claimable.reading
    if person.quota is not None:
        left = min(sum(person.quota.values()), claimable.counts.questions - person.answered)
        left -= len(reading.held) + got
        return max(1, left) if len(claimable.ordinary) + len(claimable.reusable) > got else 0
    beyond = len({candidate.subject for candidate in claimable.available}) - got
    if reading.is_at_end and (not beyond or not person.share):
        return beyond
    counts = claimable.counts
    if not person.share:
        held = len(reading.held)
        return max(beyond, min(counts.free, counts.questions - person.answered) - held - got)
    # In steps of ten: a count that falls with each ordinary answer would reveal gold.
    free_seats = -(-counts.free // 10) * 10
    return max(1, min(round(free_seats / (1 - person.share)), counts.questions - person.answered))


def return_seat(user: User, token: str) -> None:
    """Return a seat unanswered (skip): its question goes to the end of the fresh lane.

    Idempotent. Raises NotYours, or Conflict if it was answered.
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
    """Give all open seats of a leaving person back to the queue; return how many."""
    held = Seat.objects.filter(annotator=user, question__campaign=campaign, state=Seat.State.LEASED)
    return give_back(list(held.values_list("pk", flat=True)), RETURNED)


def leave(user: User, campaign: Campaign, tokens: Collection[str], seen_at: datetime) -> int:
    """Cut the leases of a closed page's seats to LEASE_AFTER_LEAVING; return how many were cut.

    seen_at: when that page last got seats. Leases that a reload or another tab renewed since then
    stay, as do seats with a draft and seats sent back.
    """
    until = timezone.now() + LEASE_AFTER_LEAVING
    renewed = seen_at + timedelta(minutes=policies.for_campaign(campaign)["lease_minutes"])
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
    """Return expired seats to the queue; return how many.

    Works in small batches, each in a transaction of milliseconds. Any number of processes may run
    it at once.
    """
    count = 0
    for _ in range(EXPIRED_BATCHES):
        now = timezone.now()
        pks = [pk for (pk,) in fetch(EXPIRED, [moment(now), EXPIRED_BATCH])]
        returned = give_back(pks, RETURNED, expired_at=now) if pks else 0
        count += returned
        if returned < EXPIRED_BATCH:
            break
    return count


# The state is a literal so that SQLite uses the partial index.
EXPIRED = """
SELECT id FROM labeling_assignment WHERE state = 'leased' AND leased_until < %s
ORDER BY leased_until LIMIT %s
"""


@retried
def give_back(pks: Iterable[int], lane: int, expired_at: datetime | None = None) -> int:
    """Free the seats that are still leased and, with expired_at, had expired by then; return how
    many.
    """
    pks = list(pks)
    if not pks:
        return 0
    expired = "" if expired_at is None else " AND leased_until < %s"
    with writing():
        # Read the questions before locking them: a leased seat keeps its question. Questions locked
        # by others keep their expired seats until the next round.
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
