"""Submitting answers in batches: the only writer of Answer.

A batch is one transaction and a fixed number of statements. Valid answers are accepted, each
invalid one gets its own refusal, and resubmitting gives the first results again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from labeling.answers import drafts, window
from labeling.answers.submitted_answers import SubmittedAnswer, check_batch
from labeling.assignment import quotas
from labeling.assignment.candidates import NOT_A_MEMBER
from labeling.assignment.claiming import NOT_YOUR_SEAT
from labeling.assistance import asking
from labeling.consensus import settling
from labeling.db import question_counts
from labeling.db.freeing import free
from labeling.db.sql import (
    LOCKED,
    Locked,
    execute,
    fetch,
    lock_questions,
    locking,
    marks,
    moment,
    retried,
    writing,
)
from labeling.errors import NotYours, Refusal
from labeling.jobs import queue
from labeling.kinds import KINDS, DrawingContext, Kind, policies
from labeling.models import Answer, Campaign, Job, Membership, Question, Seat, User

# Monitoring runs after this many answers of a person. Gold and other answers count alike, so its
# timing does not reveal gold.
WATCH_EVERY = 10

ACCEPTED, REFUSED = "accepted", "refused"
# Answers in these stages are late, for gold and other questions alike.
STOPPED = (Membership.Stage.PAUSED, Membership.Stage.BLOCKED)

MESSAGES = {
    "not_your_seat": NOT_YOUR_SEAT,
    "conflict": _(
        "This answer was sent before with different content. The first one counts; to change it, "
        "send a new answer for the same image."
    ),
    "question_closed": _("This question was withdrawn, so this answer was not saved."),
    "revision_closed": (
        _(
            "It is too late to change this answer. Your earlier answer counts; continue with the "
            "next image."
        )
    ),
    "campaign_closed": (
        _(
            "The campaign was closed before this answer arrived. Everything you sent earlier is "
            "kept."
        )
    ),
    "bad_id": _("The answer has no valid id. Send a new UUID for each answer."),
}


@dataclass(frozen=True)
class Result:
    """The result of an answer. It is the same for gold, late and counted answers."""

    id: UUID
    status: str
    code: str
    message: str
    revision: int | None


@dataclass
class _SubmittedSeat:
    """A seat of the batch, updated as its answers are decided."""

    pk: int
    token: str
    state: str
    ordinal: int | None
    question_id: int
    # What the question is about, for kinds with has_geometry.
    context: DrawingContext | None = None
    revisions: int = 0
    first_at: datetime | None = None
    # The first answer is late: the question had no free seat, or the person was stopped.
    late: bool = False
    changed: bool = False


@dataclass
class _Batch:
    """State while a batch is decided, and rows to write."""

    now: datetime
    member: "_Member"
    seats: dict[str, _SubmittedSeat]
    known: dict[UUID, tuple[str, Any, int | None, int]]
    questions: dict[int, Locked]
    # For a large batch: stop after each tenth answer, so that the person is monitored.
    by_tens: bool
    new: list[Answer] = field(default_factory=list)
    taken: set[int] = field(default_factory=set)
    # Questions whose seat a stopped person's late answer frees.
    freed: set[int] = field(default_factory=set)
    answered: int = 0

    @property
    def is_tenth(self) -> bool:
        """Return whether the person's count of answers has reached a multiple of ten."""
        before, after = self.member.answered, self.member.answered + self.answered
        return after // WATCH_EVERY > before // WATCH_EVERY


@dataclass(frozen=True)
class _Member:
    pk: int
    answered: int
    stage: str
    campaign_state: str
    kind: Kind
    settings: Mapping[str, Any]
    policy: policies.WholePolicy
    has_quota: bool


def submit(
    user: User,
    campaign: Campaign,
    answers: Sequence[SubmittedAnswer],
    watch: Callable[[Campaign, User], object] | None = None,
) -> list[Result]:
    """Submit answers; return one result for each, in order. Accepted ones are committed on return.

    The same id with the same body returns the first result again; with another body it is a
    conflict. A new id on an answered seat is a revision. It is accepted while the policy's window
    is open (window.py): the window closes once revise_minutes have passed and revise_answers
    further answers were given. On a seat that a reviewer sent back, it is accepted at any time. A
    seat whose lease expired is taken again if its question has a free one; otherwise the answer is
    stored as late. Answers are accepted while the campaign is paused, not once it is closed.
    Answers of a person whose work was paused or ended are stored as late (count_late). Raises
    TooLarge for more than 100 answers, NotYours for non-members.

    With more than ten answers, watch(campaign, user) runs after each ten, as if they had come page
    by page; the batch is then several transactions.
    """
    check_batch(answers)
    results: list[Result] = []
    while len(results) < len(answers):
        batch_results, is_tenth = _submit(user, campaign, answers[len(results) :])
        results += batch_results
        if is_tenth and watch is not None:
            watch(campaign, user)
    return results


@retried
def _submit(
    user: User, campaign: Campaign, answers: Sequence[SubmittedAnswer]
) -> tuple[list[Result], bool]:
    """Submit the first answers of a batch; a large batch stops at the person's next tenth answer.

    Return their results, and whether it stopped at a tenth answer.
    """
    tokens = sorted({sent.seat for sent in answers if _is_token(sent.seat)})
    with writing():
        member = _lock_member(user, campaign)
        questions = _lock_questions(user, campaign, tokens)
        seats = _seats(
            user, campaign, tokens, has_geometry=member.kind.has_geometry, drawn=member.kind.drawn
        )
        batch = _Batch(
            member=member,
            questions=questions,
            # Read the clock under the locks: votes on a question are ordered by time (deciding.py).
            now=timezone.now(),
            seats=seats,
            known=_stored_answers(user, answers),
            by_tens=len(answers) > WATCH_EVERY,
        )
        results = []
        for sent in answers:
            results.append(_decide(batch, sent))
            if batch.by_tens and batch.is_tenth:
                break
        _write(batch)
        if batch.new and member.has_quota:
            quotas.recount(member.pk)
        if batch.is_tenth:
            enqueue_watch(campaign, user.pk)
    return results, batch.by_tens and batch.is_tenth


def _lock_member(user: User, campaign: Campaign) -> _Member:
    """Return the membership, locked, so that one person's concurrent requests take turns."""
    row = (
        Membership.objects.active()
        .filter(user=user, campaign=campaign)
        .select_for_update(no_key=True, of=("self",))
        .values_list(
            "pk",
            "answered",
            "stage",
            "topics",
            "campaign__state",
            "campaign__settings",
            "campaign__policy__content",
        )
        .first()
    )
    if row is None:
        raise NotYours(gettext(NOT_A_MEMBER))
    pk, answered, stage, topics, state, settings, policy = row
    return _Member(
        pk=pk,
        answered=answered,
        stage=stage,
        campaign_state=state,
        kind=KINDS[campaign.kind],
        settings=settings,
        policy=policies.whole(policy or {}),
        has_quota=topics is not None,
    )


def _lock_questions(user: User, campaign: Campaign, tokens: Sequence[str]) -> dict[int, Locked]:
    """Return the questions of these seats, locked in order of id.

    Gold is shared by everybody and has no counters, so it stays unlocked.

    The plus signs keep SQLite, which has no statistics, from scanning all rows of this person or
    campaign instead of a few tokens.
    """
    if not tokens:
        return {}
    rows = fetch(
        f"SELECT {LOCKED} FROM labeling_question WHERE id IN "  # noqa: S608
        f"(SELECT question_id FROM labeling_assignment WHERE token IN ({marks(tokens)}) "
        "AND +annotator_id = %s) "
        f"AND +campaign_id = %s AND state <> 'gold' ORDER BY id{locking()}",
        [*tokens, user.pk, campaign.pk],
    )
    return {row[0]: Locked(*row) for row in rows}


def _seats(
    user: User, campaign: Campaign, tokens: Sequence[str], *, has_geometry: bool, drawn: bool
) -> dict[str, _SubmittedSeat]:
    """Return the person's seats by token, with revision counts and the window's start; a seat that
    was sent back starts a new window.
    """
    if not tokens:
        return {}
    rows = fetch(
        "SELECT a.id, a.token, a.state, a.ordinal, a.question_id "  # noqa: S608
        "FROM labeling_assignment a "
        f"JOIN labeling_question q ON q.id = a.question_id WHERE a.token IN ({marks(tokens)}) "
        "AND +a.annotator_id = %s AND +q.campaign_id = %s",
        [*tokens, user.pk, campaign.pk],
    )
    seats = {row[1]: _SubmittedSeat(*row) for row in rows}
    by_pk = {seat.pk: seat for seat in seats.values()}
    # The first answer sets the ordinal. Most seats have none and need no query.
    answered_before = [seat.pk for seat in seats.values() if seat.ordinal is not None]
    for pk, answered in window.answered_on(answered_before).items():
        seat = by_pk[pk]
        seat.revisions, seat.first_at, seat.late = (
            answered.revisions,
            answered.first_at,
            answered.late,
        )
    if has_geometry:
        proposals = asking.given_on(list(by_pk)) if drawn else {}
        for pk, context in _contexts(by_pk):
            by_pk[pk].context = (
                replace(context, proposals=proposals.get(pk, {})) if proposals else context
            )
    return seats


def _contexts(seats: Iterable[int]) -> Iterator[tuple[int, DrawingContext]]:
    rows = Seat.objects.filter(pk__in=list(seats)).values_list(
        "pk",
        "question__topic",
        "question__item__image__width",
        "question__item__image__height",
        "question__step",
        "question__content",
    )
    for pk, topic, width, height, step, content in rows:
        yield pk, DrawingContext(topic, width, height, step, content or {})


def _stored_answers(
    user: User, answers: Sequence[SubmittedAnswer]
) -> dict[UUID, tuple[str, Any, int | None, int]]:
    """Return stored answers with these ids as (seat, value, duration, revision).

    The seat is empty for another person's answer, so it never matches.
    """
    ids = [sent.id for sent in answers if isinstance(sent.id, UUID)]
    rows = Answer.objects.filter(pk__in=ids).values_list(
        "pk", "assignment__annotator_id", "assignment__token", "value", "duration_ms", "revision"
    )
    return {
        pk: (token if annotator == user.pk else "", value, duration, revision)
        for pk, annotator, token, value, duration, revision in rows
    }


def _decide(batch: _Batch, sent: SubmittedAnswer) -> Result:
    try:
        return Result(sent.id, ACCEPTED, "", "", _accept(batch, sent))
    except Refusal as refusal:
        return Result(sent.id, REFUSED, refusal.code, refusal.message, None)


def _accept(batch: _Batch, sent: SubmittedAnswer) -> int:
    """Return the answer's revision number. Raises the matching Refusal."""
    if not isinstance(sent.id, UUID):
        raise _refusal("bad_id")
    seat = batch.seats.get(sent.seat) if _is_token(sent.seat) else None
    if sent.id in batch.known:
        return _check_resent(batch, sent, seat)
    value = _clean_value(batch, sent, seat)
    if seat is None:
        raise _refusal("not_your_seat")
    if batch.member.campaign_state == Campaign.State.CLOSED:
        raise _refusal("campaign_closed")
    question = batch.questions.get(seat.question_id)
    if seat.state == Seat.State.ANSWERED:
        _check_window(batch, seat)
    elif question is not None:
        _reclaim_seat(batch, seat, question)
    batch.new.append(
        Answer(
            id=sent.id,
            assignment_id=seat.pk,
            revision=seat.revisions,
            value=value,
            duration_ms=sent.duration_ms,
            input_method=sent.input_method,
            language=sent.language,
            late=seat.late
            or batch.member.stage in STOPPED
            or (question is not None and question.state != Question.State.OPEN),
            created_at=batch.now,
        )
    )
    if not seat.revisions:
        batch.answered += 1
        seat.ordinal = batch.member.answered + batch.answered
    if seat.state != Seat.State.ANSWERED:
        seat.state, seat.changed = Seat.State.ANSWERED.value, True
        seat.first_at = batch.now
    batch.known[sent.id] = (seat.token, value, sent.duration_ms, seat.revisions)
    seat.revisions += 1
    return seat.revisions - 1


def _check_resent(batch: _Batch, sent: SubmittedAnswer, seat: _SubmittedSeat | None) -> int:
    """Return the revision number of a resubmitted answer. Raises a conflict for another body."""
    token, known_value, known_ms, revision = batch.known[sent.id]
    value = sent.value
    if batch.member.kind.has_geometry and seat is not None:
        # Drawings are stored rounded to tenths of a pixel.
        value = _clean_value(batch, sent, seat)
    if (token, known_value, known_ms) != (sent.seat, value, sent.duration_ms):
        raise _refusal("conflict")
    return revision


def _clean_value(batch: _Batch, sent: SubmittedAnswer, seat: _SubmittedSeat | None) -> object:
    if seat is None and batch.member.kind.has_geometry:
        raise _refusal("not_your_seat")
    context = seat.context if seat else None
    return batch.member.kind.clean(sent.value, batch.member.settings, context)


def _refusal(code: str) -> Refusal:
    return Refusal(gettext(MESSAGES[code]), code=code)


def _is_token(seat: object) -> bool:
    # Reject other text before it reaches the database, which refuses some characters (NUL).
    return isinstance(seat, str) and re.fullmatch("[0-9a-f]{32}", seat) is not None


def _check_window(batch: _Batch, seat: _SubmittedSeat) -> None:
    assert seat.ordinal is not None
    if not window.is_open(
        batch.member.policy,
        revisions=seat.revisions,
        first_at=seat.first_at,
        later_answers=batch.member.answered + batch.answered - seat.ordinal,
        now=batch.now,
    ):
        raise _refusal("revision_closed")


def _reclaim_seat(batch: _Batch, seat: _SubmittedSeat, question: Locked) -> None:
    """Take an expired seat again if its question has a free one; otherwise mark the answer as late.

    Answers of a stopped person are late as well, and the seat they held is freed. Raises
    question_closed if another answer has withdrawn the question: nothing would use this one. Gold
    always has a free seat and is not passed to this function.
    """
    if question.state == Question.State.WITHDRAWN and question.is_followed:
        raise _refusal("question_closed")
    if question.state != Question.State.OPEN:
        return
    is_leased = seat.state == Seat.State.LEASED
    if batch.member.stage != Membership.Stage.WORKING:
        seat.late = True
        if is_leased:
            batch.freed.add(question.id)
    elif not is_leased and question.seats_free:
        batch.questions[question.id] = question._replace(seats_free=question.seats_free - 1)
        batch.taken.add(question.id)
    elif not is_leased:
        seat.late = True


def _write(batch: _Batch) -> None:
    if not batch.new:
        return
    Answer.objects.bulk_create(batch.new)
    rows = [
        part for seat in batch.seats.values() if seat.changed for part in (seat.pk, seat.ordinal)
    ]
    if rows:
        execute(
            f"WITH sent (id, ordinal) AS (VALUES {marks(rows, 2)}) "  # noqa: S608
            "UPDATE labeling_assignment SET state = 'answered', ordinal = sent.ordinal "
            "FROM sent WHERE labeling_assignment.id = sent.id",
            rows,
        )
    if batch.taken:
        # A person has one seat per question, so each question loses one free seat.
        taken = sorted(batch.taken)
        execute(
            "UPDATE labeling_question SET seats_free = seats_free - 1 "  # noqa: S608
            f"WHERE id IN ({marks(taken)})",
            taken,
        )
        now = [batch.questions[pk] for pk in taken]
        question_counts.update_counts([q._replace(seats_free=q.seats_free + 1) for q in now], now)
    if batch.member.kind.drawn:
        drafts.forget(answer.assignment_id for answer in batch.new)
    longest = batch.member.kind.longest_work_ms
    worked = sum(min(answer.duration_ms or 0, longest) for answer in batch.new)
    execute(
        "UPDATE labeling_membership SET answered = answered + %s, worked_ms = worked_ms + %s, "
        "last_answered_at = %s WHERE id = %s",
        [batch.answered, worked, moment(batch.now), batch.member.pk],
    )
    freed = [batch.questions[pk] for pk in sorted(batch.freed)]
    free(freed, dict.fromkeys(batch.freed, 1), Question.Lane.RETURNED)
    for question in freed:
        batch.questions[question.id] = question._replace(seats_free=question.seats_free + 1)
    settling.settle_locked(list(batch.questions.values()))


def count_late(user_id: int, campaign_id: int) -> list[Locked]:
    """Count the late answers of a person who may work again, in the caller's transaction.

    An answer counts if the person holds the seat, the question has a free one, or it is gold.
    Return the questions that gained votes; the caller settles them. The membership must be locked.
    """
    seats = Seat.objects.filter(
        annotator=user_id, question__campaign=campaign_id, state=Seat.State.ANSWERED
    )
    late = Answer.objects.filter(late=True, assignment__in=seats)
    rows = dict(late.values_list("assignment", "assignment__question"))
    counted = set(
        Answer.objects.filter(late=False, assignment__in=rows).values_list("assignment", flat=True)
    )
    questions = lock_questions(rows.values())
    locked = {row.id: row for row in questions if row.state == Question.State.OPEN}
    golden = seats.filter(pk__in=rows, question__state=Question.State.GOLD)
    counting = list(golden.values_list("pk", flat=True))
    before, after = [], []
    for seat, question_id in rows.items():
        question = locked.get(question_id)
        if question is None or not (seat in counted or question.seats_free):
            continue
        counting.append(seat)
        if seat not in counted:
            before.append(question)
            after.append(question._replace(seats_free=question.seats_free - 1))
            locked[question_id] = after[-1]
    Answer.objects.filter(late=True, assignment__in=counting).update(late=False)
    Question.objects.filter(pk__in=[q.id for q in after]).update(seats_free=F("seats_free") - 1)
    question_counts.update_counts(before, after)
    return [locked[rows[seat]] for seat in counting if rows[seat] in locked]


def enqueue_watch(campaign: Campaign, user_pk: int) -> Job:
    """Queue and return the job that watches this person."""
    payload = {"campaign": campaign.pk, "user": user_pk}
    return queue.enqueue("watch", f"{campaign.pk}:{user_pk}", payload, campaign)
