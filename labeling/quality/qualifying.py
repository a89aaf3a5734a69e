"""How a person starts: training on gold with feedback, a test on gold without, then work.

Training and test use the same seats and answers as work. `working_since` is the start of the
current stage; earlier answers belong to an earlier stage. Gold used here is not given to the person
again. Feedback is given in training only. docs/explanation/quality.md, Training and test.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import BigIntegerField, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext

from labeling.answers import submitting
from labeling.assignment import claiming, gold_mixing
from labeling.assignment.candidates import NOT_A_MEMBER
from labeling.consensus import settling
from labeling.db.sql import retried, writing
from labeling.errors import CampaignClosed, Newcomer, NotYours
from labeling.graphs import store
from labeling.kinds import KINDS, Kind, policies
from labeling.models import Answer, Campaign, Decision, Gold, Membership, Question, Seat, User
from labeling.models.people import new_token
from labeling.plurals import count_of

Stage = Membership.Stage
NEWCOMER_STAGES = (Stage.TRAINING, Stage.TEST)
REUSABLE = (Seat.State.RETURNED, Seat.State.CLOSED)


@dataclass(frozen=True)
class StageState:
    """A person's progress in their stage.

    done, right: gold answered since it began. of: the length of the stage, which is less than the
    policy says if there is too little gold. unseen: gold that this person has not had.
    """

    done: int
    right: int
    of: int
    unseen: int


def stage_for(membership: Membership, policy: policies.WholePolicy) -> str:
    """Return the first stage of a new member: only annotators are trained and tested."""
    if membership.role != Membership.Role.ANNOTATOR:
        return Stage.WORKING
    if policy["training_questions"]:
        return Stage.TRAINING
    return Stage.TEST if policy["test_questions"] else Stage.WORKING


def next_page(
    user: User, campaign: Campaign, size: int | None = None, shown_tokens: Collection[str] = ()
) -> claiming.SeatsPage:
    """Return the person's next page from claiming.next_page, with a fair share of the last
    questions.

    The person holds at most MAX_HELD_SEATS, or one page if that is more. Newcomers go to training
    or the test first. Raises what claiming.next_page raises.
    """
    most = max(claiming.MAX_HELD_SEATS, policies.for_campaign(campaign)["page_size"])
    try:
        return claiming.next_page(
            user, campaign, size, shown_tokens=shown_tokens, most=most, share_last_questions=True
        )
    except Newcomer:
        begin(Membership.objects.get(user=user, campaign=campaign))
        return claiming.next_page(
            user, campaign, size, shown_tokens=shown_tokens, most=most, share_last_questions=True
        )


def begin(membership: Membership) -> str:
    """Start training or the test of a newcomer if the campaign has one; return the stage.

    People who passed, or whom a researcher let in, keep their stage.
    """
    stage = stage_for(membership, policies.for_campaign(membership.campaign))
    if membership.stage != Stage.WORKING or stage == Stage.WORKING:
        return membership.stage
    if claiming.has_been_trained(membership.user_id, membership.campaign_id):
        return membership.stage
    move_to_stage(membership, stage, None, "", expected=Stage.WORKING)
    return advance(membership)


def move_to_stage(
    membership: Membership,
    stage: str,
    actor: User | None,
    reason: str,
    *,
    expected: str | None = None,
    attempts: int | None = None,
    **content: Any,
) -> bool:
    """Move the person to that stage; return False if they left `expected` meanwhile.

    Returns their open seats; earlier answers belong to the earlier stage. Saves a Decision with the
    reason and updates `membership`.
    """
    with writing():
        row = _locked(membership)
        if expected is not None and row.stage != expected:
            membership.refresh_from_db()
            return False
        before, now = row.stage, timezone.now()
        row.stage, row.working_since = stage, now
        row.attempts = row.attempts if attempts is None else attempts
        if stage != Stage.PAUSED:
            # Keep a paused person's figures for the researcher.
            row.gold_share, row.standing = None, {}
        row.save(update_fields=["stage", "working_since", "attempts", "gold_share", "standing"])
        Decision.objects.create(
            campaign_id=row.campaign_id,
            kind=Decision.Kind.STAGE,
            actor=actor,
            content={"annotator": row.user_id, "from": before, "stage": stage} | content,
            reason=reason[:500],
            at=now,
        )
        if before == Stage.PAUSED and stage == Stage.WORKING:
            settling.settle_locked(submitting.count_late(row.user_id, row.campaign_id))
    claiming.return_seats_of(membership.user, membership.campaign)
    membership.refresh_from_db()
    return True


def _locked(membership: Membership) -> Membership:
    row = (
        Membership.objects.active()
        .select_for_update(no_key=True, of=("self",))
        .filter(pk=membership.pk)
        .first()
    )
    if row is None:
        raise NotYours("This person is no longer a member of the campaign.")
    return row


def member_of(user: User, campaign: Campaign) -> Membership:
    """Return the person's membership. Raises NotYours for others."""
    row = (
        Membership.objects.active()
        .filter(user=user, campaign=campaign)
        .select_related("campaign__policy", "user")
        .first()
    )
    if row is None:
        raise NotYours(gettext(NOT_A_MEMBER))
    return row


def next_gold(user: User, campaign: Campaign, size: int | None = None) -> claiming.SeatsPage:
    """Return the open seats of a person in training or in the test, filled up with gold new to
    them.

    Balanced between answers and spread over classes; for kinds that hand out topics, all about one.
    Empty at the end of the stage: `progress` has the result. Raises CampaignClosed unless the
    campaign is open, NotYours for non-members.
    """
    membership = member_of(user, campaign)
    if membership.campaign.state != Campaign.State.OPEN:
        raise CampaignClosed(gettext(claiming.CLOSED[Campaign.State(membership.campaign.state)]))
    stage = advance(membership)
    if stage not in NEWCOMER_STAGES:
        return claiming.SeatsPage([], 0)
    _fill(membership, size)
    state = _state(membership)
    return claiming.SeatsPage(claiming.open_seats(user, campaign), max(0, state.of - state.done))


@retried
def _fill(membership: Membership, size: int | None) -> None:
    policy = policies.for_campaign(membership.campaign)
    by_topic = KINDS[membership.campaign.kind].topic_pages
    with writing():
        # All code that gives this person a seat takes this lock, so unseen gold stays unseen.
        if _locked(membership).stage != membership.stage:
            return
        held = list(_open(membership).values_list("question__topic", flat=True))
        state = _state(membership)
        most = max(claiming.MAX_HELD_SEATS, policy["page_size"])
        page_size = min(size or policy["page_size"], most, state.of - state.done)
        now = timezone.now()
        until = now + timedelta(minutes=policy["lease_minutes"])
        _open(membership).update(leased_until=until)
        if page_size <= len(held):
            return
        pool = list(unseen(membership))
        # Gold given in this stage without an answer comes first. The person knows that it is gold,
        # so it must not be left for work.
        if again := [row for row in pool if row[4] and row[4] >= membership.working_since]:
            pool = again
        if by_topic:
            pool = _of_one_topic(pool, held)
        _seat(membership, _choose_balanced(membership, pool, page_size - len(held)), now, until)


def _open(membership: Membership) -> QuerySet[Seat]:
    return Seat.objects.filter(
        annotator_id=membership.user_id,
        question__campaign_id=membership.campaign_id,
        state=Seat.State.LEASED,
    )


def unseen(membership: Membership) -> "QuerySet[Question, Unseen]":
    """Return the active gold that this person neither answered nor holds.

    Rows are (question, subject, topic, answer, given_at, step). given_at: when this person last got
    it, or None. With a question graph, only gold of questions that the graph still has.
    """
    seats = Seat.objects.filter(annotator_id=membership.user_id, subject=OuterRef("its_subject"))
    gold = Question.objects.filter(
        campaign_id=membership.campaign_id,
        lane=Question.Lane.GOLD,
        state=Question.State.GOLD,
        seats_free__gt=0,
        gold__retired_at=None,
    )
    if membership.campaign.graph_id:
        gold = gold.filter(topic__in=list(store.load_graph(membership.campaign).index))
    return (
        gold.annotate(its_subject=Coalesce("subject", F("id"), output_field=BigIntegerField()))
        .annotate(seat=Subquery(seats.values("state")[:1]))
        .annotate(given_at=Subquery(seats.values("created_at")[:1]))
        .annotate(seat_on=Subquery(seats.values("question_id")[:1]))
        .filter(Q(seat=None) | Q(seat__in=REUSABLE))
        # A person may only ever see one part of the same subject (subjects.py).
        .exclude(Q(its_subject__lt=0) & ~Q(seat_on=F("pk")) & Q(seat__isnull=False))
        .order_by("pk")
        .values_list("pk", "its_subject", "topic", "gold__answer", "given_at", "step")
    )


Unseen = tuple[int, int, str, Any, datetime | None, str]


def _of_one_topic(pool: Sequence[Unseen], held: Sequence[str]) -> list[Unseen]:
    """Return the gold of one topic: that of the open seats, else a random one, weighted by its
    gold.
    """
    if not pool:
        return []
    topic = held[0] if held else gold_mixing.chance.choice(pool)[2]
    return [row for row in pool if row[2] == topic]


def _choose_balanced(
    membership: Membership, candidates: Sequence[Unseen], count: int
) -> list[Unseen]:
    """Choose `count` candidates at random, balanced over what this stage has given before.

    Prefers the step given least often, then the answer, then the topic.
    """
    dealt = Seat.objects.filter(
        annotator_id=membership.user_id,
        question__campaign_id=membership.campaign_id,
        question__state=Question.State.GOLD,
        created_at__gte=membership.working_since,
    ).values_list("question__gold__answer", "question__topic", "question__step")
    answers = Counter(str(answer) for answer, *_ in dealt)
    topics = Counter(topic for _, topic, _ in dealt)
    steps = Counter(step for *_, step in dealt)
    pool = list(candidates)
    gold_mixing.chance.shuffle(pool)
    chosen: list[Unseen] = []
    while pool and len(chosen) < count:
        candidate = min(pool, key=lambda row: (steps[row[5]], answers[str(row[3])], topics[row[2]]))
        pool = [row for row in pool if row[1] != candidate[1]]
        steps[candidate[5]] += 1
        answers[str(candidate[3])] += 1
        topics[candidate[2]] += 1
        chosen.append(candidate)
    return chosen


def _seat(membership: Membership, chosen: Sequence[Unseen], now: datetime, until: datetime) -> None:
    """Lease a seat on each, as claiming.py does.

    `created_at` is when this stage gave the seat: only seats since working_since get feedback.
    """
    again = {
        row.subject: row
        for row in Seat.objects.filter(
            annotator_id=membership.user_id, subject__in=[subject for _, subject, *_ in chosen]
        )
    }
    new = []
    for question_id, subject, *_ in chosen:
        row = again.get(subject) or Seat(annotator_id=membership.user_id, subject=subject)
        if row.pk and row.question_id != question_id:
            row.token = new_token()
        row.question_id, row.state = question_id, Seat.State.LEASED
        row.leased_until, row.created_at = until, now
        if not row.pk:
            new.append(row)
    Seat.objects.bulk_create(new)
    fields = ["question", "state", "token", "leased_until", "created_at"]
    Seat.objects.bulk_update(again.values(), fields)


def _state(membership: Membership) -> StageState:
    """Return the progress of the stage. Three queries."""
    policy, kind = policies.for_campaign(membership.campaign), KINDS[membership.campaign.kind]
    rows = (
        Answer.objects.filter(
            assignment__annotator_id=membership.user_id,
            assignment__question__campaign_id=membership.campaign_id,
            assignment__question__state=Question.State.GOLD,
            assignment__state=Seat.State.ANSWERED,
            assignment__created_at__gte=membership.working_since,
        )
        .order_by("assignment__ordinal", "revision")
        .values_list("assignment_id", "value", "assignment__question__gold__answer")
    )
    latest: dict[int, tuple[Any, Any]] = {}
    for seat, value, answer in rows:
        # Training shows the known answer at once, so only the first revision counts there.
        if membership.stage != Stage.TRAINING or seat not in latest:
            latest[seat] = (value, answer)
    right = sum(kind.is_right(value, answer, policy) for value, answer in latest.values())
    held = _open(membership).filter(question__state=Question.State.GOLD).count()
    left = unseen(membership).count() + held
    if membership.stage == Stage.TRAINING:
        # Keep enough gold for the test.
        available = len(latest) + max(0, left - policy["test_questions"])
        size = policy["training_questions"]
        last = list(latest.values())[-size:]
        is_extended = 0 < size <= len(latest) and not _reached(last, policy, kind)
        # Below the required level, training goes on question by question while there is gold.
        of = min(len(latest) + 1 if is_extended else size, available)
    else:
        of = min(policy["test_questions"], len(latest) + left)
    return StageState(len(latest), right, of, left)


def _reached(latest: Sequence[tuple[Any, Any]], policy: policies.WholePolicy, kind: Kind) -> bool:
    """Return whether enough of these (answer, known answer) are right to end training."""
    # Older policies lack this key.
    level = policy.get("training_pass", 0)
    right = sum(kind.is_right(value, answer, policy) for value, answer in latest)
    return right >= level * len(latest) - 1e-9


def advance(membership: Membership) -> str:
    """Move the person on if their stage is over; return the stage. Idempotent."""
    while membership.stage in NEWCOMER_STAGES:
        state = _state(membership)
        if state.done < state.of:
            break
        finish = _finish_training if membership.stage == Stage.TRAINING else _finish_test
        finish(membership, state)
    return membership.stage


def _finish_training(membership: Membership, state: StageState) -> None:
    policy = policies.for_campaign(membership.campaign)
    figures = {"right": state.right, "of": state.of}
    if policy["test_questions"] and state.unseen:
        stage, words = Stage.TEST, f"Trained on {count_of(state.done, 'question')}."
    else:
        stage = Stage.WORKING
        words = f"Trained on {count_of(state.done, 'question')}; no test followed."
    move_to_stage(membership, stage, None, words, expected=Stage.TRAINING, **figures)


def _finish_test(membership: Membership, state: StageState) -> None:
    policy, taken = policies.for_campaign(membership.campaign), membership.attempts + bool(state.of)
    figures = {"right": state.right, "of": state.of}
    score = f"Right on {state.right} of {count_of(state.of, 'question')} of the test"
    needed = f"{policy['test_pass']:.0%} are needed"
    if not state.of and not membership.attempts:
        stage, words = Stage.WORKING, "There was no gold for the test."
    # A tolerance: 0.8 of 10 is not exactly 8 in binary.
    elif state.of and state.right >= policy["test_pass"] * state.of - 1e-9:
        stage, words = Stage.WORKING, f"{score}; {needed}."
    elif taken >= policy["test_attempts"]:
        stage, words = Stage.FAILED, f"{score}; {needed}, and the test was taken {taken} times."
    elif not state.unseen:
        stage, words = Stage.FAILED, f"{score}; {needed}, and no gold is left for another test."
    else:
        stage, words = Stage.TEST, f"{score}; {needed}. The test may be taken again."
    move_to_stage(membership, stage, None, words, expected=Stage.TEST, attempts=taken, **figures)


@dataclass(frozen=True)
class Feedback:
    """The result of an answer.

    right, answer (the known one), explanation and parts (the score of each part) are set for
    answers that were accepted in training, on seats that training gave. Else they keep their
    defaults.
    """

    seat: object
    status: str
    message: str
    right: bool | None = None
    answer: Any = None
    explanation: str = ""
    parts: dict[str, float] = field(default_factory=dict)


def feedback(
    user: User, campaign: Campaign, sent: Sequence[submitting.SubmittedAnswer]
) -> list[Feedback]:
    """Submit answers as usual and return the feedback on each, in order.

    Moves the person on if the stage is over. Raises what submitting.submit does.
    """
    membership = member_of(user, campaign)
    results = submitting.submit(user, campaign, sent)
    known = _known(membership, [answer.seat for answer in sent])
    kind, policy = KINDS[membership.campaign.kind], policies.for_campaign(membership.campaign)
    rows = []
    for sent_answer, result in zip(sent, results, strict=True):
        row = Feedback(sent_answer.seat, result.status, result.message)
        gold = known.get(sent_answer.seat) if result.status == submitting.ACCEPTED else None
        if gold is not None:
            row = replace(
                row,
                right=kind.is_right(sent_answer.value, gold.answer, policy),
                answer=gold.answer,
                explanation=gold.explanation,
                parts=kind.likeness(sent_answer.value, gold.answer),
            )
        rows.append(row)
    advance(membership)
    return rows


def _known(membership: Membership, tokens: Sequence[Any]) -> dict[str, Gold]:
    """Return the gold of seats that training gave; {} for any other stage."""
    if membership.stage != Stage.TRAINING:
        return {}
    rows = Seat.objects.filter(
        token__in=[token for token in tokens if isinstance(token, str)],
        annotator_id=membership.user_id,
        question__campaign_id=membership.campaign_id,
        question__state=Question.State.GOLD,
        created_at__gte=membership.working_since,
    ).select_related("question__gold")
    return {row.token: row.question.gold for row in rows}


@dataclass(frozen=True)
class StageProgress:
    """A newcomer's progress. right is None in the test, where it would reveal each answer; needed:
    the share to pass the test. In other stages done, of and right are 0.
    """

    stage: str
    done: int
    of: int
    right: int | None
    attempts_left: int
    needed: float
    # Training continues until this share of the latest is right; 0 if it has a fixed length.
    level: float = 0.0


def progress(membership: Membership) -> StageProgress:
    policy = policies.for_campaign(membership.campaign)
    is_candidate = membership.stage in NEWCOMER_STAGES
    state = _state(membership) if is_candidate else StageState(0, 0, 0, 0)
    return StageProgress(
        stage=membership.stage,
        done=state.done,
        of=state.of,
        right=None if membership.stage == Stage.TEST else state.right,
        attempts_left=max(0, policy["test_attempts"] - membership.attempts),
        needed=policy["test_pass"],
        level=policy.get("training_pass", 0),
    )


def shortage(campaign: Campaign) -> str:
    """Return a sentence for the researcher if there is too little gold, with the actual length of
    training and test; "" if there is enough.

    Work needs additional gold that nobody had in training.
    """
    policy = policies.for_campaign(campaign)
    gold = Gold.objects.filter(question__campaign=campaign, retired_at=None).count()
    training, test = policy["training_questions"], policy["test_questions"]
    needed = training + test * policy["test_attempts"]
    if gold < needed:
        return (
            f"Training and test need {count_of(needed, 'gold question')} for each newcomer and the "
            f"campaign has {gold}: training has "
            f"{count_of(min(training, max(0, gold - test)), 'question')} "
            f"and the test {min(test, gold)} until more gold is added."
        )
    if needed and gold == needed:
        return "Training and test use all the gold. None is left to check annotators afterwards."
    return ""
