"""Monitoring of annotators at work: four checks, and the policy's action when one exceeds its
threshold.

annotator_checks.py computes figures that do not depend on a policy. This module applies thresholds
and actions to them after every tenth answer and every night, and in `preview` before a change of
policy. docs/explanation/quality.md, Standing.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, TypedDict

from django.utils import timezone

from labeling.answers import submitting
from labeling.consensus import calibrating
from labeling.db.sql import writing
from labeling.errors import Conflict, NotAllowed, Refusal
from labeling.estimators import annotator_checks
from labeling.estimators.annotator_checks import GoldTestResult, SequentialTest, TimedAnswer
from labeling.kinds import KINDS, policies
from labeling.models import Answer, Campaign, Gold, Job, Membership, Question, Seat, User
from labeling.quality import blocking, gold, gold_results, qualifying

logger = logging.getLogger(__name__)

Stage = Membership.Stage
# Latest answers of a person used for speed, runs and agreement; also bounds the queries.
RECENT = 500
# Most answers of others to the person's gold that are read.
GOLD_POOL = 2_000
# From mild to strong; the strongest applies.
ACTIONS = ("none", "train", "pause", "block")
STOPPING = ("pause", "block")
VERDICTS = {
    annotator_checks.ACCEPTED: "accepted",
    annotator_checks.UNDECIDED: "undecided",
    annotator_checks.REJECTED: "rejected",
}
# A person's visible share changes after this many more gold answers, at most once a day.
VISIBLE_EVERY = 10


def execute(job: Job) -> None:
    """Run the job "watch", keyed "<campaign>:<user>": check one person, and the gold they
    failed.
    """
    campaign_pk, user_pk = (int(part) for part in job.key.split(":"))
    campaign = Campaign.objects.select_related("policy").filter(pk=campaign_pk).first()
    user = User.objects.filter(pk=user_pk).first()
    if campaign is None or user is None:
        return
    _watch_with_gold(campaign, user)
    calibrating.enqueue_if_due(campaign)


def watch_now(campaign: Campaign, user: User) -> None:
    """Check one person at once, before the rest of their batch is accepted.

    Errors are left to the job, which is queued as well.
    """
    try:
        _watch_with_gold(campaign, user)
    except Exception:
        logger.exception("watching %s in %s failed", user.pseudonym, campaign.name)


def _watch_with_gold(campaign: Campaign, user: User) -> None:
    if failed := _failed_gold(campaign, user):
        gold.retire_failed(campaign, failed)
    watch(campaign, user)


@dataclass(frozen=True)
class Stopped:
    """A person whom an action stops. membership: its id."""

    membership: int
    pseudonym: str
    action: str
    reason: str


def watch_all(campaign: Campaign) -> list[Stopped]:
    """Check everybody, but gold first: gold that trusted people fail must not count against
    anybody.
    """
    gold.retire_failed(campaign)
    return watch(campaign)


def watch(campaign: Campaign, user: User | None = None) -> list[Stopped]:
    """Compute the signals of everybody at work (or of one person), save them in the membership, and
    apply the policy. Return the people it acted on.

    A few queries per person with a bounded number of rows. Idempotent. When checking everybody, a
    person whose check fails does not hold up the others: a separate job retries it and, if it fails
    too, is shown on the page of jobs.
    """
    policy = policies.for_campaign(campaign)
    acted = []
    for membership in _watched(campaign, user):
        try:
            row = _watch_one(campaign, membership, policy)
        except Exception:
            if user is not None:
                raise
            logger.exception("watching %s in %s failed", membership.user.pseudonym, campaign.name)
            submitting.enqueue_watch(campaign, membership.user_id)
            continue
        if row is not None:
            acted.append(row)
    return acted


def _watch_one(
    campaign: Campaign, membership: Membership, policy: policies.WholePolicy
) -> Stopped | None:
    """Check this person and return the action taken, or None."""
    figures = measure(campaign, membership, policy)
    reasons = annotator_checks.reasons(figures, policy)
    action, reason = decide(membership, policy, reasons)
    if not _save_figures(membership, figures, reasons, policy) or action == "none":
        return None
    _act(membership, action, reason, reasons)
    return _stopped(membership, action, reason)


def _watched(campaign: Campaign, user: User | None = None) -> Iterable[Membership]:
    """Return annotators at work. Researchers and reviewers are not monitored."""
    members = campaign.memberships.active().filter(
        role=Membership.Role.ANNOTATOR, stage=Stage.WORKING
    )
    if user is not None:
        members = members.filter(user=user)
    return list(members.select_related("user", "campaign").order_by("pk"))


class PersonFigures(TypedDict):
    """The checks of a person. speed, runs, chance: as annotator_checks returns them."""

    test: GoldTestResult
    speed: Mapping[str, object]
    runs: Mapping[str, object]
    chance: Mapping[str, object]


class VisibleAccuracy(TypedDict):
    """Accuracy on gold as the person may see it. on: date of the figure."""

    right: int
    total: int
    on: str


def measure(
    campaign: Campaign, membership: Membership, policy: policies.WholePolicy
) -> PersonFigures:
    """Return the four checks of a person.

    The pool is what others answered to the same questions, so that neither hard classes nor long
    stretches without a "yes" count against anybody.
    """
    since = {membership.user_id: membership.working_since}
    rights = gold_results.rights(campaign, list(since), since).get(membership.user_id, [])
    own_answers = _recent(campaign, membership)
    pool = _others(campaign, membership, own_answers, policy["signal_answers"])
    kind = KINDS[campaign.kind]
    words: dict[int, list[str]] = {}
    for row in pool:
        words.setdefault(row.question_id, []).append(kind.tally_name(row.value))
    answers = [
        TimedAnswer(
            row.topic, kind.tally_name(row.value), row.ms, tuple(words.get(row.question_id, ()))
        )
        for row in own_answers
    ]
    return {
        "test": annotator_checks.fold(SequentialTest.of(policy), rights),
        "speed": annotator_checks.speed(
            answers, [(row.topic, row.ms) for row in pool if row.ms is not None]
        ),
        "runs": annotator_checks.runs(
            answers, [(row.topic, kind.tally_name(row.value)) for row in pool]
        ),
        "chance": annotator_checks.agreement(answers, kind.abstentions),
    }


@dataclass(slots=True)
class _CheckedAnswer:
    """An answer for the checks: the time of its first revision and the value of its last."""

    question_id: int
    topic: str
    state: str
    at: datetime
    ms: int | None
    value: Any = None


def _rows(answers: Any) -> list[_CheckedAnswer]:
    """Return one row per seat, from answers ordered by revision."""
    rows_by_seat: dict[int, _CheckedAnswer] = {}
    for seat, question_id, topic, state, at, ms, value in answers.values_list(
        "assignment_id",
        "assignment__question_id",
        "assignment__question__topic",
        "assignment__question__state",
        "created_at",
        "duration_ms",
        "value",
    ):
        row = rows_by_seat.setdefault(seat, _CheckedAnswer(question_id, topic, state, at, ms))
        row.value = value
    return list(rows_by_seat.values())


def _recent(campaign: Campaign, membership: Membership) -> list[_CheckedAnswer]:
    """Return the person's last answers in this stage, in order."""
    answers = Answer.objects.filter(
        assignment__annotator_id=membership.user_id,
        assignment__state=Seat.State.ANSWERED,
        # submitting.py numbers each person's answers, so the last ones need no sorting.
        assignment__ordinal__gt=membership.answered - RECENT,
        assignment__question__campaign=campaign,
    ).order_by("assignment__ordinal", "assignment_id", "revision")
    return [row for row in _rows(answers) if row.at >= membership.working_since]


def _others(
    campaign: Campaign, membership: Membership, own_answers: Sequence[_CheckedAnswer], enough: int
) -> list[_CheckedAnswer]:
    """Return answers of others, without blocked people, to the same questions.

    Answers to gold, which everybody gets, are used only if there are too few, as with one vote per
    question.
    """
    is_gold = Question.State.GOLD
    answers = _answers_of_others(
        campaign, membership, [row.question_id for row in own_answers if row.state != is_gold]
    )
    if len(answers) < enough:
        met = [row.question_id for row in own_answers if row.state == is_gold]
        answers += _answers_of_others(campaign, membership, met, GOLD_POOL)
    return answers


def _answers_of_others(
    campaign: Campaign,
    membership: Membership,
    question_ids: Sequence[int],
    limit: int | None = None,
) -> list[_CheckedAnswer]:
    if not question_ids:
        return []
    blocked = campaign.memberships.filter(stage=Stage.BLOCKED).values("user")
    seats = Seat.objects.filter(question_id__in=question_ids, state=Seat.State.ANSWERED).exclude(
        annotator_id=membership.user_id
    )
    seats = seats.exclude(annotator__in=blocked)
    if limit is not None:
        seats = seats.order_by("pk")[:limit]
    return _rows(
        Answer.objects.filter(assignment__in=seats.values("pk")).order_by(
            "assignment_id", "revision"
        )
    )


def decide(
    membership: Membership, policy: policies.WholePolicy, reasons: Sequence[dict[str, str]]
) -> tuple[str, str]:
    """Return the strongest action of these reasons, and their sentences."""
    action = max((row["action"] for row in reasons), key=ACTIONS.index, default="none")
    if action == "train" and not (
        policy["training_questions"] and qualifying.unseen(membership).exists()
    ):
        action = "pause"
    return action, " ".join(row["words"] for row in reasons if row["action"] != "none")


def _save_figures(
    membership: Membership,
    figures: PersonFigures,
    reasons: Sequence[dict[str, str]],
    policy: policies.WholePolicy,
) -> bool:
    """Save the figures and reasons; return False if the person has left or restarted work."""
    tested, summary = figures["test"], standing_of(membership, figures, reasons)
    with writing():
        row = (
            Membership.objects.active()
            .select_for_update(no_key=True)
            .filter(pk=membership.pk, stage=Stage.WORKING, working_since=membership.working_since)
            .first()
        )
        if row is None:
            return False
        row.standing = summary
        trusted = 0 if tested.verdict == annotator_checks.REJECTED else tested.accepted
        row.gold_share = annotator_checks.gold_share(trusted, policy)
        row.save(update_fields=["standing", "gold_share"])
    membership.standing, membership.gold_share = row.standing, row.gold_share
    return True


def standing_of(
    membership: Membership, figures: PersonFigures, reasons: Sequence[dict[str, str]]
) -> dict[str, object]:
    """Return these figures as JSON for Membership.standing."""
    tested, now = figures["test"], timezone.now()
    return {
        "test": asdict(tested)
        | {"last": list(tested.last), "now": list(tested.now), "verdict": VERDICTS[tested.verdict]},
        "speed": figures["speed"],
        "runs": figures["runs"],
        "chance": figures["chance"],
        "reasons": list(reasons),
        "at": now.isoformat(),
        "told": _visible_accuracy(membership.standing.get("told"), tested, now),
    }


def _visible_accuracy(
    before: VisibleAccuracy | None, tested: GoldTestResult, now: datetime
) -> VisibleAccuracy | None:
    """Return the person's visible accuracy: delayed by some answers and fixed for a day, so that no
    change reveals a single answer.
    """
    if before is not None:
        same_day = before["on"] == now.date().isoformat()
        if same_day or tested.total < before["total"] + VISIBLE_EVERY:
            return before
    if tested.total < VISIBLE_EVERY:
        return before
    return {"right": tested.right, "total": tested.total, "on": now.date().isoformat()}


def shown_accuracy(membership: Membership) -> VisibleAccuracy | None:
    """Return the accuracy to show; None after too little gold.

    Show it in bands, never as a number: docs/explanation/quality.md.
    """
    accuracy: VisibleAccuracy | None = membership.standing.get("told")
    return accuracy


def _act(
    membership: Membership, action: str, reason: str, reasons: Sequence[dict[str, str]]
) -> None:
    signals = [row["signal"] for row in reasons if row["action"] != "none"]
    if action == "block":
        blocking.block(membership.campaign, membership, None, reason)
        return
    # Training is a new start with all attempts at the test.
    stage, attempts = (Stage.PAUSED, None) if action == "pause" else (Stage.TRAINING, 0)
    qualifying.move_to_stage(
        membership, stage, None, reason, expected=Stage.WORKING, attempts=attempts, signals=signals
    )


def _stopped(membership: Membership, action: str, reason: str) -> Stopped:
    return Stopped(membership.pk, membership.user.pseudonym, action, reason)


def preview(campaign: Campaign, policy: policies.WholePolicy) -> list[Stopped]:
    """Return whom this policy would train again, pause or block now, by pseudonym.

    The test is run again on their gold; the other signals are as last computed. Constant number of
    queries, plus one for each person whom the policy would train.
    """
    rights = gold_results.rights(campaign)
    test = SequentialTest.of(policy)
    rows = []
    for membership in _watched(campaign):
        kept = membership.standing
        figures = {
            "test": annotator_checks.fold(test, rights.get(membership.user_id, [])),
            **{name: kept.get(name, {}) for name in ("speed", "runs", "chance")},
        }
        reasons = annotator_checks.reasons(figures, policy)
        action, reason = decide(membership, policy, reasons)
        if action != "none":
            rows.append(_stopped(membership, action, reason))
    return sorted(rows, key=lambda row: row.pseudonym)


def would_block_everyone(
    campaign: Campaign,
    policy: policies.WholePolicy,
    stopped_people: Sequence[Stopped] | None = None,
) -> bool:
    """Return whether this policy would pause or block everybody at work, if anybody is."""
    stopped_people = preview(campaign, policy) if stopped_people is None else stopped_people
    stopped = sum(row.action in STOPPING for row in stopped_people)
    return stopped > 0 and stopped == len(list(_watched(campaign)))


def check_policy(
    campaign: Campaign, policy: policies.WholePolicy, *, confirmed: bool = False
) -> None:
    """Raise Conflict if the policy would stop everybody at work and nobody has confirmed that."""
    if not confirmed and would_block_everyone(campaign, policy):
        raise Conflict(
            "These rules would pause or block all current annotators. Relax them, or confirm that "
            "you want this.",
            field="confirmed",
            code="blocks_everyone",
        )


def pause(membership: Membership, actor: User, reason: str) -> Membership:
    """Pause the person until a researcher lets them in again; return the membership."""
    _check_annotator(membership)
    _check_reason(reason)
    if not qualifying.move_to_stage(
        membership, Stage.PAUSED, actor, reason, expected=Stage.WORKING
    ):
        raise Conflict("This person is not, or no longer, working in the campaign.")
    return membership


def pardon(membership: Membership, actor: User, reason: str) -> Membership:
    """Let the person work again after a pause, a failed test, or instead of training and test;
    return the membership.

    Their reputation restarts, since otherwise the same reasons would apply at once. Blocked people
    are unblocked instead, which restores their answers.
    """
    _check_annotator(membership)
    _check_reason(reason)
    if membership.stage == Stage.BLOCKED:
        raise Conflict("This person is blocked. Lift the block, which restores their answers.")
    if membership.stage == Stage.WORKING:
        raise Conflict("This person is working already.")
    stage = membership.stage
    if not qualifying.move_to_stage(
        membership, Stage.WORKING, actor, reason, expected=stage, attempts=0
    ):
        raise Conflict("Somebody else has just decided about this person. Reload the page.")
    return membership


def _check_annotator(membership: Membership) -> None:
    if membership.role != Membership.Role.ANNOTATOR:
        raise NotAllowed("Only annotators can be paused or let in. Change the role instead.")


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise Refusal("Give a reason. It is stored with the decision.", field="reason")


def _failed_gold(campaign: Campaign, user: User) -> list[int]:
    """Return active gold that this person got wrong among their last answers."""
    membership = campaign.memberships.active().filter(user=user).first()
    if membership is None:
        return []
    met = {
        row.question_id: row.value
        for row in _recent(campaign, membership)
        if row.state == Question.State.GOLD
    }
    known = Gold.objects.filter(question__in=met, retired_at=None)
    kind, policy = KINDS[campaign.kind], policies.for_campaign(campaign)
    return [
        question_id
        for question_id, answer in known.values_list("question_id", "answer")
        if not kind.is_right(met[question_id], answer, policy)
    ]
