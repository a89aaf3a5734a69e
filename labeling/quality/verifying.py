"""Verifying candidates of classes: each class's precision, and when to stop asking about it.

Classes are checked every night, after every calibration, and on request. A class is stopped at its
target precision or its budget (kinds/candidates.py): its open questions are withdrawn with a
Decision and return with their answers when it is resumed. The only writer of Verification, except
new rows (follow_ups/candidate_lists.py). docs/explanation/candidates-and-naming.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from labeling.errors import Conflict, NotYours, Refusal
from labeling.estimators import precision
from labeling.estimators.precision import Precision
from labeling.follow_ups import asking
from labeling.jobs import queue
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CANDIDATES
from labeling.kinds.candidates import StopRules, stop_rules
from labeling.models import Campaign, Decision, Job, Question, Topic, User, Verification
from labeling.quality import class_figures
from labeling.quality.class_figures import ClassFigures

State, Reason = Verification.State, Verification.Reason
BATCH = 1_000
FIGURES = [
    "candidates",
    "asked",
    "open",
    "yes",
    "no",
    "answers",
    "cost",
    "by_table",
    "precision",
    "low",
    "high",
    "audited",
    "wrong",
    "has_table",
    "looked_at",
]
NO_CLASSES = "This campaign has no candidates; use one of the kind candidates."
CLOSED = "The campaign is closed, so no more questions are asked."


def fits(campaign: Campaign) -> bool:
    """Return whether the campaign asks about candidates of classes."""
    return KINDS[campaign.kind].asks == CANDIDATES


@dataclass(frozen=True)
class CheckResult:
    """The result of a check: the number of classes, and the keys of those stopped."""

    classes: int
    stopped: list[str]


def check_classes(campaign: Campaign) -> CheckResult:
    """Compute the figures of all classes and stop those that reached a limit.

    Idempotent, and safe while people work. Raises Refusal for another kind of campaign.
    """
    if not fits(campaign):
        raise Refusal(NO_CLASSES)
    campaign = Campaign.objects.select_related("policy").get(pk=campaign.pk)
    figures_by_class = class_figures.read(campaign)
    stated = precision.precisions([figures.verified for figures in figures_by_class.values()])
    audited = sum(figures.audited for figures in figures_by_class.values())
    rows = _save_figures(
        campaign, figures_by_class, dict(zip(figures_by_class, stated, strict=True))
    )
    if campaign.state == Campaign.State.CLOSED:
        return CheckResult(len(rows), [])
    rules = stop_rules(campaign.settings)
    stopped: list[str] = []
    unfinished = Verification.objects.filter(topic__campaign=campaign, state=State.ASKING)
    for row in unfinished.exclude(withdrawn=[]).select_related("topic"):
        _reopen_questions(campaign, row)
    for row in rows:
        if row.state == State.STOPPED:
            # New candidates, and what an interrupted stop left open.
            if row.open:
                _withdraw(campaign, row)
        elif row.open and (reason := _reason(row, rules, audited)):
            stopped += [row.topic.key] * _stop(campaign, row, None, reason, _words(row, rules))
    return CheckResult(len(rows), stopped)


def _save_figures(
    campaign: Campaign,
    figures_by_class: Mapping[str, ClassFigures],
    stated: Mapping[str, Precision],
) -> list[Verification]:
    """Save the figures and return the row of each class."""
    pay = policies.for_campaign(campaign)["cost_per_hour"] / 3_600_000
    topics = Topic.objects.filter(campaign=campaign, key__in=list(figures_by_class))
    Verification.objects.bulk_create(
        [Verification(topic=topic) for topic in topics.filter(verification=None)],
        batch_size=BATCH,
        ignore_conflicts=True,
    )
    rows = Verification.objects.filter(topic__campaign=campaign).select_related("topic")
    now, kept = timezone.now(), []
    for row in rows.defer("withdrawn").order_by("pk"):
        figures = figures_by_class.get(row.topic.key, ClassFigures())
        estimate = stated.get(row.topic.key, Precision(None, None, None))
        for name in ("candidates", "open", "yes", "no", "answers", "audited", "wrong"):
            setattr(row, name, getattr(figures, name))
        row.asked = figures.answered
        row.cost = figures.worked_ms * pay
        row.by_table, row.precision = estimate.by_table, estimate.stated
        row.low, row.high = estimate.interval or (None, None)
        row.has_table, row.looked_at = figures.has_table, now
        kept.append(row)
    Verification.objects.bulk_update(kept, FIGURES, batch_size=BATCH)
    return kept


def stated_precision(row: Verification) -> float | None:
    """Return the precision of a class; from its vote table until something was audited."""
    return row.by_table if row.precision is None else row.precision


def _reason(row: Verification, rules: StopRules, audited: int) -> Verification.Reason | None:
    """Return why the class should stop, or None. The budget is checked first."""
    if rules.budget and row.cost >= rules.budget and row.waived != Reason.MONEY:
        return Reason.MONEY
    stated = stated_precision(row)
    reached = (
        stated is not None
        and stated >= rules.precision
        and row.yes >= rules.images
        and audited >= rules.audited
    )
    return Reason.PRECISION if reached and row.waived != Reason.PRECISION else None


def _words(row: Verification, rules: StopRules) -> str:
    stated = stated_precision(row) or 0.0
    figures = f"{row.yes:,} images at a stated precision of {stated:.2%}"
    return f"{figures} (wanted: {rules.images:,} at {rules.precision:.2%}); cost {row.cost:,.2f}"


def stop(campaign: Campaign, key: str, actor: User, reason: str = "") -> Verification:
    """Stop asking about the class until it is resumed; return its row. Idempotent."""
    row = _row(campaign, key)
    if _stop(campaign, row, actor, Reason.HAND, reason):
        row.refresh_from_db()
    return row


def resume(campaign: Campaign, key: str, actor: User, reason: str = "") -> Verification:
    """Reopen the class's withdrawn questions with their answers and return its row.

    The rule that stopped it no longer applies to it. Idempotent.
    """
    row = _row(campaign, key)
    with transaction.atomic():
        row = _locked(row)
        if row.state == State.STOPPED:
            row.waived = row.reason if row.reason != Reason.HAND else ""
            row.state, row.reason = State.ASKING, ""
            row.save(update_fields=["state", "waived", "reason"])
            _record(campaign, row, actor, {"resumed": len(row.withdrawn)}, reason)
    _reopen_questions(campaign, row)
    row.refresh_from_db()
    return row


def _row(campaign: Campaign, key: str) -> Verification:
    if not fits(campaign):
        raise Refusal(NO_CLASSES)
    if campaign.state == Campaign.State.CLOSED:
        raise Conflict(CLOSED)
    rows = Verification.objects.filter(topic__campaign=campaign, topic__key=key)
    row = rows.select_related("topic").first()
    if row is None:
        raise NotYours("The campaign has no candidates of such a class.")
    return row


def _locked(row: Verification) -> Verification:
    """Return the current row, locked."""
    return Verification.objects.select_for_update().get(pk=row.pk)


def _stop(
    campaign: Campaign, row: Verification, actor: User | None, why: Verification.Reason, reason: str
) -> bool:
    """Stop the class; return whether it was open until now."""
    with transaction.atomic():
        unfinished = Verification.objects.filter(pk=row.pk, state=State.ASKING)
        if not unfinished.update(state=State.STOPPED, reason=why):
            return False
        content = {"stopped": str(why), "open": row.open}
        _record(campaign, row, actor, content, reason)
    _withdraw(campaign, row)
    return True


def _withdraw(campaign: Campaign, row: Verification) -> None:
    """Withdraw the class's open questions in batches.

    Each batch is recorded on the row, so that the next check finishes an interrupted run.
    """
    while True:
        with transaction.atomic():
            kept = _locked(row)
            if kept.state != State.STOPPED:
                return
            ids = _open(campaign, row)
            gone = asking.withdraw_in_states(campaign, ids, (Question.State.OPEN,))
            kept.withdrawn += gone
            kept.open = max(0, kept.open - len(gone))
            kept.save(update_fields=["withdrawn", "open"])
        if len(ids) < BATCH:
            return


def _reopen_questions(campaign: Campaign, row: Verification) -> None:
    """Reopen what the class's stop withdrew, in batches as _withdraw."""
    while True:
        with transaction.atomic():
            kept = _locked(row)
            if kept.state != State.ASKING or not kept.withdrawn:
                return
            ids, kept.withdrawn = kept.withdrawn[:BATCH], kept.withdrawn[BATCH:]
            kept.open += asking.reopen(campaign, ids)
            kept.save(update_fields=["withdrawn", "open"])


def _open(campaign: Campaign, row: Verification) -> list[int]:
    """Return ids of the class's open questions, at most one batch."""
    rows = Question.objects.filter(
        campaign=campaign, topic=row.topic.key, state=Question.State.OPEN
    )
    return list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH])


def _record(
    campaign: Campaign,
    row: Verification,
    actor: User | None,
    content: Mapping[str, object],
    reason: str,
) -> None:
    Decision.objects.record(
        campaign,
        Decision.Kind.CLASS,
        actor,
        {"class": row.topic.key, "name": row.topic.name, **content},
        reason,
    )


def enqueue_check(campaign: Campaign) -> Job:
    """Queue the job that checks the classes and return it, or the waiting one."""
    if not fits(campaign):
        raise Refusal(NO_CLASSES)
    return queue.enqueue("verify", str(campaign.pk), campaign=campaign)


def execute(job: Job) -> None:
    """Run the job "verify". Idempotent."""
    assert job.campaign is not None, "a verify job names its campaign"
    if fits(job.campaign):
        check_classes(job.campaign)
