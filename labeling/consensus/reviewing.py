"""Reviewers' decisions on questions that the votes could not settle or that the policy sends to
review.

A verdict is a Settlement and a Decision; work sent back returns to its author. Every action may
name the settlement that the reviewer saw (`seen`). If another one is current by now, because
somebody was faster or the question came back with a new answer, nothing happens.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from django.utils import timezone

from labeling.db import question_counts
from labeling.db.sql import Locked, execute, lock_questions, moment, numbers, retried, writing
from labeling.errors import Conflict, NotYours, Refusal
from labeling.jobs import queue
from labeling.kinds import KINDS, DrawingContext, policies
from labeling.models import (
    Answer,
    Campaign,
    Decision,
    Membership,
    Policy,
    Question,
    Seat,
    SentBack,
    Settlement,
    User,
)

State = Question.State
DROP = "drop"
MAX_NOTE_LENGTH = 2_000
NOT_IN_REVIEW = "This question is not, or no longer, in review. Continue with the next one."
CHANGED_MEANWHILE = (
    "Another reviewer decided first, or the question has a new answer. Check it again."
)
AUTHOR_LEFT = (
    "The annotator who drew this no longer works in the campaign and cannot correct it. Correct it "
    "yourself, or drop the image."
)
CLOSED = (
    "The campaign is closed, so its annotators cannot correct drawings. Accept it, correct it "
    "yourself, or drop the image."
)


@retried
def decide(
    campaign: Campaign,
    question_id: int,
    actor: User,
    value: object,
    reason: str = "",
    *,
    seen: int | None = None,
) -> Settlement:
    """Settle a question in review by a reviewer's verdict; return the settlement.

    value: an answer other than an abstention, or "drop" to drop the image (the pair's next one
    follows, as after a dropping vote). The votes stay and are listed in the settlement. Later
    changes of the votes do not change it. Raises Conflict if somebody has decided meanwhile.
    """
    value = clean_verdict(campaign, value, question_context(campaign, question_id))
    with writing():
        question, latest = _lock(campaign, question_id, seen)
        return _settle(campaign, question, latest, actor, value, reason)


@retried
def accept(
    campaign: Campaign, question_id: int, actor: User, reason: str = "", *, seen: int | None = None
) -> Settlement:
    """Settle a question in review as the votes say; return the settlement, marked as reviewed.

    Raises Conflict as decide does, and if the votes have no acceptable result.
    """
    with writing():
        question, latest = _lock(campaign, question_id, seen)
        if latest is None or latest.value is None:
            raise Conflict("The answers gave no result to accept. Give your own verdict.")
        return _settle(campaign, question, latest, actor, latest.value, reason, accepted=True)


@retried
def send_back(
    campaign: Campaign,
    question_id: int,
    actor: User,
    note: str,
    *,
    seen: int | None = None,
    answers: Collection[str] | None = None,
) -> list[SentBack]:
    """Send these drawings (ids) back and return them; by default all counting ones whose authors
    still work here.

    They no longer count but stay. Their seats are leased to the same people again, with the note,
    for the policy's return_hours; after that others are asked too. The question is open meanwhile.
    Raises Refusal without a note or for answers that do not count, Conflict as decide does and if
    nobody could correct it, as in a closed campaign.
    """
    note = note.strip()
    if not KINDS[campaign.kind].drawn:
        raise Refusal("Only drawings are sent back; decide this question yourself.")
    if not note or len(note) > MAX_NOTE_LENGTH:
        raise Refusal(
            f"Write a note of at most {MAX_NOTE_LENGTH:,} characters on what to correct. The "
            "annotator reads it.",
            field="note",
        )
    with writing():
        question, latest = _lock(campaign, question_id, seen)
        if Campaign.objects.filter(pk=campaign.pk, state=Campaign.State.CLOSED).exists():
            raise Conflict(CLOSED)
        chosen = _chosen(campaign, latest, answers)
        rows = SentBack.objects.bulk_create(
            SentBack(assignment_id=answer.assignment_id, answer=answer, note=note, reviewer=actor)
            for answer in chosen
        )
        _lease_again(question, [answer.assignment_id for answer in chosen])
        _change(question, State.OPEN)
        content = {"sent_back": [answer.assignment.annotator_id for answer in chosen]}
        _record(campaign, actor, question, State.OPEN, content, note)
        _follow(campaign, question)
    return rows


def _lock(
    campaign: Campaign, question_id: int, seen: int | None
) -> tuple[Locked, Settlement | None]:
    """Return the question in review, locked, and its current settlement."""
    locked = lock_questions([question_id])
    if not locked or locked[0].campaign_id != campaign.pk:
        raise NotYours("There is no such question in this campaign.")
    if locked[0].state != State.REVIEW:
        raise Conflict(NOT_IN_REVIEW)
    latest = Settlement.objects.filter(question_id=question_id).order_by("-pk").first()
    if seen is not None and (latest is None or latest.pk != seen):
        raise Conflict(CHANGED_MEANWHILE)
    return locked[0], latest


def _settle(
    campaign: Campaign,
    question: Locked,
    latest: Settlement | None,
    actor: User,
    value: object,
    reason: str,
    *,
    accepted: bool = False,
) -> Settlement:
    state, stated = (State.DROPPED, "dropped") if value == DROP else (State.SETTLED, value)
    settlement = Settlement.objects.create(
        question_id=question.id,
        policy_id=question.policy_id,
        value=stated,
        answers=latest.answers if latest else [],
        reviewed=True,
    )
    _change(question, state)
    content = {"value": _recorded_verdict(campaign, stated)} | (
        {"accepted": True} if accepted else {}
    )
    _record(campaign, actor, question, state, content, reason)
    if value == DROP:
        queue.enqueue("question dropped", str(question.id), {"question": question.id}, campaign)
    _follow(campaign, question)
    return settlement


def _change(question: Locked, state: str) -> None:
    Question.objects.filter(pk=question.id).update(state=state, follow_up=question.is_followed)
    question_counts.update_counts([question], [question._replace(state=state)])


def _follow(campaign: Campaign, question: Locked) -> None:
    if question.is_followed:
        queue.enqueue("advance", str(campaign.pk), campaign=campaign)


def _recorded_verdict(campaign: Campaign, value: object) -> object:
    """Return the verdict as a Decision stores it: its tally name for kinds with geometry."""
    kind = KINDS[campaign.kind]
    return kind.tally_name(value) if kind.has_geometry else value


def _record(
    campaign: Campaign,
    actor: User,
    question: Locked,
    state: str,
    content: Mapping[str, object],
    reason: str,
) -> None:
    Decision.objects.record(
        campaign,
        Decision.Kind.REVIEW,
        actor,
        {"question": question.id, "state": state, **content},
        reason,
    )


def _chosen(
    campaign: Campaign, latest: Settlement | None, answers: Collection[str] | None
) -> Sequence[Answer]:
    counted = latest.answers if latest else []
    if answers is not None and (not answers or not set(answers) <= set(counted)):
        raise Refusal("Choose drawings that count for this question.", field="answers")
    at_work = campaign.memberships.active().filter(stage=Membership.Stage.WORKING)
    chosen = list(
        Answer.objects.filter(
            pk__in=counted if answers is None else list(answers),
            assignment__annotator__in=at_work.values("user"),
        )
        .select_related("assignment")
        .order_by("assignment_id")
    )
    if not chosen:
        raise Conflict(AUTHOR_LEFT)
    return chosen


def _lease_again(question: Locked, seats: Sequence[int]) -> None:
    content = Policy.objects.values_list("content", flat=True).get(pk=question.policy_id)
    hours = policies.whole(content)["return_hours"]
    execute(
        "UPDATE labeling_assignment SET state = 'leased', leased_until = %s "  # noqa: S608
        f"WHERE id IN ({numbers(seats)}) AND state = '{Seat.State.ANSWERED.value}'",
        [moment(timezone.now() + timedelta(hours=hours))],
    )


def question_context(campaign: Campaign, question_id: int) -> DrawingContext | None:
    """Return what the question is about, for kinds with has_geometry. Raises NotYours."""
    if not KINDS[campaign.kind].has_geometry:
        return None
    row = (
        campaign.questions.filter(pk=question_id)
        .values_list("topic", "item__image__width", "item__image__height", "step", "content")
        .first()
    )
    if row is None:
        raise NotYours("There is no such question in this campaign.")
    topic, width, height, step, content = row
    return DrawingContext(topic, width, height, step, content or {})


def clean_verdict(
    campaign: Campaign, value: object, context: DrawingContext | None = None
) -> object:
    """Return the verdict; raise Refusal if it decides nothing.

    context: only if the kind has_geometry.
    """
    if value == DROP:
        return DROP
    kind = KINDS[campaign.kind].at(context.step if context else "")
    cleaned = kind.clean(value, campaign.settings, context)
    if kind.vote(cleaned) is None:
        raise Refusal(
            "The verdict decides nothing. Give an answer, or drop the image.", field="value"
        )
    return cleaned
