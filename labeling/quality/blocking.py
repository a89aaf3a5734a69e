"""Blocking a person voids their answers; unblocking restores the former state exactly.

Nothing is deleted. The current calibration lists the voided people. Every question that the person
answered is judged again and returns to others, never to the same person, if it needs more votes.
Everything is one transaction. docs/explanation/quality.md, What a block undoes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, QuerySet
from django.utils import timezone

from labeling.answers import submitting
from labeling.consensus import calibration_store, settling
from labeling.consensus.settling import ReplayedQuestions
from labeling.db.sql import (
    Locked,
    LostRace,
    batches,
    execute,
    lock_questions,
    numbers,
    retried,
    writing,
)
from labeling.errors import NotYours, Refusal
from labeling.models import (
    Answer,
    Calibration,
    Campaign,
    Decision,
    Membership,
    Policy,
    Question,
    Seat,
    User,
)

Stage = Membership.Stage
CHUNK = 1_000


@dataclass(frozen=True)
class BlockOutcome:
    """What a block or an unblock changed.

    changed: False if the person was in that state already. answers: their votes that no longer
    count, or count again. decided: questions with a new verdict. reopened: decided questions that
    need more votes. answerable: whether people can give them, which is False in a closed campaign.
    """

    changed: bool
    answers: int = 0
    decided: int = 0
    reopened: int = 0
    answerable: bool = True


def count_affected(campaign: Campaign, user: User) -> dict[str, int]:
    """Return what blocking this person would affect: {"answers": votes to void, "questions":
    decided ones among those they voted on, "seats": open ones that would return to others}.
    """
    held = _seats_of(campaign.pk, user.pk)
    voted = held.exclude(question__state=Question.State.GOLD).filter(
        answers__revision=0, answers__late=False
    )
    return {
        "answers": voted.count(),
        "questions": voted.filter(question__state__in=settling.DECIDED).count(),
        "seats": held.filter(state=Seat.State.LEASED).count(),
    }


def _seats_of(campaign_id: int, user_id: int) -> QuerySet[Seat]:
    return Seat.objects.filter(annotator=user_id, question__campaign=campaign_id)


def block(
    campaign: Campaign, membership: Membership, actor: User | None, reason: str = ""
) -> BlockOutcome:
    """Void the person's answers, give them no more questions, and return the outcome.

    actor: None for the campaign's own rules. Idempotent. Raises Refusal for oneself and for
    researchers, whom neither a rule nor a colleague may block.
    """
    if actor is not None and actor.pk == membership.user_id:
        raise Refusal("You cannot block yourself. Ask another researcher.", field="person")
    return _change(campaign, membership, actor, reason, void=True)


def unblock(
    campaign: Campaign, membership: Membership, actor: User | None, reason: str = ""
) -> BlockOutcome:
    """Count the person's answers again and return the outcome.

    They continue in their stage with a fresh reputation. Their answers sent meanwhile count if a
    seat is free.

    Every question gets its former settlement back, whatever others answered meanwhile; those
    answers are kept and count where possible. Does nothing for a person who is not blocked.
    """
    return _change(campaign, membership, actor, reason, void=False)


@retried
def _change(
    campaign: Campaign, membership: Membership, actor: User | None, reason: str, *, void: bool
) -> BlockOutcome:
    with writing():
        _wait_for_others(campaign)
        member = _lock_member(campaign, membership)
        if void and member.role == Membership.Role.RESEARCHER:
            raise Refusal(
                "This person is a researcher of the campaign. Change their role first.",
                field="person",
            )
        current = Campaign.objects.get(pk=campaign.pk)
        people = calibration_store.in_force(current.calibration_id).voided
        if void == (member.user_id in people) == (member.stage == Stage.BLOCKED):
            return BlockOutcome(changed=False)
        people = people | {member.user_id} if void else people - {member.user_id}
        calibration = calibration_store.voiding(
            current, set(people), "somebody was blocked" if void else "a block was lifted"
        )
        locked = _lock_questions(current.pk, member.user_id)
        if not void and _stage_before(campaign, member) == Stage.WORKING:
            counted = {q.id: q for q in submitting.count_late(member.user_id, campaign.pk)}
            locked = [counted.get(question.id, question) for question in locked]
        outcome = _judge_again(locked, calibration)
        answers = _count_votes([question.id for question in locked], member.user_id)
        stage = _enter(current, member, void)
        # Lock the campaign's row after all questions, as everywhere (sql.py).
        outcome.free_missing_seats()
        _put_in_force(current, calibration)
        Decision.objects.record(
            current,
            Decision.Kind.BLOCK if void else Decision.Kind.UNBLOCK,
            actor,
            {
                "annotator": member.user_id,
                "calibration": calibration.number if calibration else None,
                "from": stage,
                "answers": answers,
                "decided": outcome.decided,
                "reopened": outcome.reopened,
            },
            reason,
        )
    membership.refresh_from_db()
    open_to_people = current.state != Campaign.State.CLOSED
    return BlockOutcome(True, answers, outcome.decided, outcome.reopened, open_to_people)


def _wait_for_others(campaign: Campaign) -> None:
    """Wait until nobody else blocks in this campaign, since concurrent blocks would invalidate each
    other's calibration repeatedly. Locks the row of the first policy until the transaction ends.
    """
    Policy.objects.select_for_update(no_key=True).filter(campaign=campaign, version=1).first()


def _lock_member(campaign: Campaign, membership: Membership) -> Membership:
    """Return the membership, locked, so that the person's submits and claims wait.

    Former members can be blocked too, since their answers stayed.
    """
    member = (
        Membership.objects.select_for_update(no_key=True, of=("self",))
        .filter(pk=membership.pk, campaign=campaign)
        .first()
    )
    if member is None:
        raise NotYours("There is no such person in this campaign.")
    return member


def _lock_questions(campaign_id: int, user_id: int) -> list[Locked]:
    """Lock by id every question on which this person voted or has a seat.

    Gold is never locked; its seats are returned at once.
    """
    held = _seats_of(campaign_id, user_id)
    leased = held.filter(state=Seat.State.LEASED)
    golden = leased.filter(question__state=Question.State.GOLD).values_list("pk", flat=True)
    Seat.objects.filter(pk__in=list(golden), state=Seat.State.LEASED).update(
        state=Seat.State.RETURNED
    )
    question_ids = (
        held.filter(state__in=[Seat.State.ANSWERED, Seat.State.LEASED])
        .exclude(question__state=Question.State.GOLD)
        .order_by("question_id")
        .values_list("question_id", flat=True)
    )
    locked = [row for ids in batches(list(question_ids), CHUNK) for row in lock_questions(ids)]
    # Their questions are locked, so we may change the seats.
    for ids in batches([question.id for question in locked], CHUNK):
        execute(
            "UPDATE labeling_assignment SET state = 'returned' WHERE annotator_id = %s "  # noqa: S608
            f"AND question_id IN ({numbers(ids)}) AND state = 'leased'",
            [user_id],
        )
    return locked


def _judge_again(locked: Sequence[Locked], calibration: Calibration | None) -> ReplayedQuestions:
    moment = (calibration.pk, calibration.created_at) if calibration else (None, None)
    outcome = ReplayedQuestions()
    for part in batches(locked, CHUNK):
        outcome.add(settling.replay_locked(part, moment))
    return outcome


def _count_votes(question_ids: Sequence[int], user_id: int) -> int:
    return sum(
        Answer.objects.filter(
            assignment__question__in=ids, assignment__annotator=user_id, revision=0, late=False
        ).count()
        for ids in batches(question_ids, CHUNK)
    )


def _enter(campaign: Campaign, member: Membership, void: bool) -> str:
    """Move the person into the next stage and return the stage they leave."""
    before = member.stage
    member.standing.pop("freed", None)
    member.stage = Stage.BLOCKED if void else _stage_before(campaign, member)
    if not void:
        # Their answers to gold led to the block and would do so again if they counted.
        member.working_since, member.standing, member.gold_share = timezone.now(), {}, None
    # Let a concurrent claim of a page fail (claiming.py compares the number of pages).
    member.pages = F("pages") + 1
    member.save(update_fields=["stage", "working_since", "standing", "gold_share", "pages"])
    return before


def _stage_before(campaign: Campaign, member: Membership) -> str:
    last = (
        Decision.objects.filter(
            campaign=campaign, kind=Decision.Kind.BLOCK, content__annotator=member.user_id
        )
        .order_by("-pk")
        .values_list("content__from", flat=True)
        .first()
    )
    return last if last in Stage.values and last != Stage.BLOCKED else Stage.WORKING.value


def _put_in_force(campaign: Campaign, calibration: Calibration | None) -> None:
    """Activate the calibration.

    Raises LostRace if another one was activated since, because it voids other people.
    """
    same = Campaign.objects.filter(pk=campaign.pk, calibration=campaign.calibration_id)
    if not same.update(calibration=calibration):
        raise LostRace
