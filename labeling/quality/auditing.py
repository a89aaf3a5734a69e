"""Auditing: trusted people answer a random sample of settled questions again, blind.

That gives the error of the labels with an interval, and shows whether stated probabilities hold.
An audit changes no settlement. Random gold is drawn and answered in the same way, from all
questions (gold.gold_from_draw). docs/explanation/quality.md, Audit.
"""

import secrets
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice

import numpy as np
from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from labeling.campaigns import subjects
from labeling.db.sql import batches
from labeling.errors import Conflict, NotAllowed, NotYours, Refusal
from labeling.estimators.agreement import calibration_bins
from labeling.estimators.intervals import clopper_pearson
from labeling.estimators.stated_error import StatedError
from labeling.jobs import queue
from labeling.kinds import KINDS
from labeling.kinds.base import CANDIDATES, CHAINS
from labeling.models import Audit, Campaign, Decision, Membership, Question, Seat, Settlement, User
from labeling.plurals import count_of
from labeling.quality import box_audit, gold, stated_errors

BATCH = 500
MAX_LISTED_AUDITS = 24
MAX_SAMPLE_SIZE = 10_000
NO_AUDITED_DRAWINGS = (
    "An audit is for questions with fixed answers. To check drawings, let a reviewer check "
    "everything (see Rules), and see Agreement."
)
NO_GOLD_DRAWINGS = (
    "Only questions with fixed answers can become gold at random. Add known boxes and parts "
    "yourself."
)
TRUSTED = (Membership.Role.RESEARCHER, Membership.Role.REVIEWER)


def draw(
    campaign: Campaign,
    actor: User | None,
    n: int,
    seed: int | None = None,
    *,
    for_gold: bool = False,
    is_fresh: bool = False,
) -> int:
    """Draw a new sample of `n` settled questions, each with the same probability; return its
    version.

    for_gold: draw from all questions that are not gold; the answers become gold. is_fresh: leave
    out questions that were drawn before. Gold is never drawn: some people know its answer. The same
    seed draws the same sample from the same questions. Raises Refusal for a number out of range and
    for drawings, Conflict if there are fewer.
    """
    kind = KINDS[campaign.kind]
    if kind.drawn or (for_gold and kind.asks == CHAINS):
        raise Refusal(NO_GOLD_DRAWINGS if for_gold else NO_AUDITED_DRAWINGS, field="n")
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= MAX_SAMPLE_SIZE:
        raise Refusal(
            f"The sample size is {n!r}; expected 1 to {MAX_SAMPLE_SIZE:,} questions.", field="n"
        )
    if seed is not None and seed < 0:
        raise Refusal(f"The seed is {seed}; expected a whole number from 0.", field="seed")
    if seed is None:
        # Kept with the decision, so that the sample can be drawn again.
        seed = secrets.randbelow(2**31)
    with transaction.atomic():
        # Lock the campaign's row: concurrent draws get different sample numbers, and no question is
        # drawn twice to become gold.
        Campaign.objects.select_for_update().get(pk=campaign.pk)
        if kind.asks == CHAINS:
            drawn, of = box_audit.draw(campaign, n, seed)
        else:
            drawn, of = _drawn(_drawable(campaign, for_gold, is_fresh), n, seed)
        if len(drawn) < n:
            raise Conflict(
                f"Only {count_of(len(drawn), 'question is', 'questions are')} "
                f"{'left' if for_gold else 'settled'}; draw at most as many, or wait.",
                field="n",
            )
        current = {} if for_gold else _current_settlements(drawn)
        sample = (campaign.audits.aggregate(last=Max("sample"))["last"] or 0) + 1
        Audit.objects.bulk_create(
            [
                Audit(
                    question_id=pk,
                    campaign=campaign,
                    sample=sample,
                    for_gold=for_gold,
                    settlement_id=current.get(pk),
                )
                for pk in drawn
            ],
            batch_size=BATCH,
        )
        Decision.objects.record(
            campaign,
            Decision.Kind.GOLD if for_gold else Decision.Kind.AUDIT,
            actor,
            {"drawn": n, "of": of, "seed": seed, "sample": sample},
        )
    return sample


def draw_nightly(campaign: Campaign) -> int:
    """Draw the audit of a night from settled questions that were never drawn, and return its size.

    Nothing is drawn while questions of the last sample wait for an answer.
    """
    if not campaign.nightly_audit or not stated_errors.is_measurable(campaign):
        return 0
    latest = campaign.audits.filter(sample=latest_sample(campaign) or 0)
    if latest.filter(answered_at=None).exists():
        return 0
    n = min(campaign.nightly_audit, _drawable(campaign, is_fresh=True).count())
    if n:
        draw(campaign, None, n, is_fresh=True)
    return n


def _drawn(questions: QuerySet[Question], n: int, seed: int | None) -> tuple[list[int], int]:
    """Return the ids of n random questions (all, if there are fewer) and the number of all."""
    ids = np.fromiter(questions.order_by("pk").values_list("pk", flat=True), np.int64)
    drawn = np.random.default_rng(seed).choice(ids, min(n, len(ids)), replace=False)
    return drawn.tolist(), len(ids)


def _drawable(
    campaign: Campaign, for_gold: bool = False, is_fresh: bool = False
) -> QuerySet[Question]:
    """Return questions with a current consensus; for gold, all that are asked or decided."""
    questions, State = Question.objects.filter(campaign=campaign), Question.State
    if for_gold:
        waiting = campaign.audits.filter(for_gold=True).values("question")
        asked_questions = questions.filter(round=0).exclude(state__in=[State.GOLD, State.WITHDRAWN])
        return asked_questions.exclude(pk__in=waiting)
    settled = questions.filter(state=State.SETTLED)
    return settled.exclude(pk__in=campaign.audits.values("question")) if is_fresh else settled


def _current_settlements(question_ids: list[int]) -> dict[int, int]:
    """Return the current settlement by question."""
    settlement_ids: dict[int, int] = {}
    for part in batches(question_ids, BATCH):
        latest = Settlement.objects.latest_of(part, "pk")
        settlement_ids |= {question: pk for question, (pk,) in latest.items()}
    return settlement_ids


def latest_sample(campaign: Campaign) -> int | None:
    """Return the version of the latest sample of settled questions; None before the first."""
    last: int | None = campaign.audits.filter(for_gold=False).aggregate(last=Max("sample"))["last"]
    return last


def next_for(user: User, campaign: Campaign) -> Audit | None:
    """Return an unanswered audit for this person, or None.

    Audits that become gold come first, then those of the latest sample. Questions
    that this person answered or decided are skipped. Different people usually get different audits;
    a reload returns the same one.
    """
    check_auditor(user, campaign)
    audits = _open_to(user, campaign).filter(Q(sample=latest_sample(campaign)) | Q(for_gold=True))
    audits = audits.order_by("-for_gold", "pk")
    rows = list(audits.values_list("pk", flat=True)[: BATCH * 2])
    # An audit given to them before comes first: its subject bars them from other questions.
    held = audits.filter(question__subject__lt=0, question__seats__annotator=user)
    chosen = held.values_list("pk", flat=True).first()
    while rows:
        pk = rows.pop(user.pk % len(rows)) if chosen is None else chosen
        audit = Audit.objects.select_related("question__item__image", "campaign").get(pk=pk)
        if subjects.may_see(user, audit.question):
            return audit
        chosen = None
    return None


def _open_to(user: User, campaign: Campaign) -> QuerySet[Audit]:
    """Return unanswered audits that this person may answer."""
    seen = Seat.objects.filter(annotator=user, subject=OuterRef("its_subject")).exclude(
        # A person is asked about only one part of an object (subjects.py).
        Q(subject__gte=0) | Q(question=OuterRef("question_id")),
        state__in=[Seat.State.RETURNED, Seat.State.CLOSED],
    )
    decided = Decision.objects.filter(
        campaign=campaign, kind=Decision.Kind.REVIEW, actor=user
    ).values_list("content__question", flat=True)
    mine = [int(pk) for pk in decided if pk is not None]
    # A question becomes gold before anybody answers it, or after it is decided.
    at_work = Seat.objects.filter(
        question=OuterRef("question"), state__in=[Seat.State.LEASED, Seat.State.ANSWERED]
    )
    unfit = Q(Exists(at_work), question__state=Question.State.OPEN)
    return (
        _waiting(campaign)
        .annotate(its_subject=Coalesce("question__subject", F("question_id") + 0))
        .filter(~Exists(seen))
        .exclude(unfit, for_gold=True)
        .exclude(question__in=mine)
    )


def gold_waiting(campaign: Campaign) -> int:
    """Return how many questions are drawn to become gold and not answered yet."""
    return _waiting(campaign).filter(for_gold=True).count()


def unanswered(campaign: Campaign) -> int:
    """Return how many drawn questions wait for a blind answer, those to become gold included."""
    return _waiting(campaign).filter(Q(sample=latest_sample(campaign)) | Q(for_gold=True)).count()


def _waiting(campaign: Campaign) -> QuerySet[Audit]:
    """Return unanswered audits, without those whose question cannot become gold any more."""
    State = Question.State
    return campaign.audits.filter(answered_at=None).exclude(
        question__state__in=[State.GOLD, State.WITHDRAWN], for_gold=True
    )


def check_auditor(user: User, campaign: Campaign) -> Membership:
    """Return the membership of a researcher or reviewer.

    Raises NotYours or NotAllowed for others.
    """
    member = campaign.memberships.active().filter(user=user).first()
    if member is None:
        raise NotYours("There is no such campaign, or you were not invited to it.")
    if member.role not in TRUSTED:
        raise NotAllowed("Only researchers and reviewers of a campaign can audit it.")
    return member


def answer(audit: Audit, user: User, value: object) -> Audit:
    """Save this person's answer and return the audit. "too hard" is an answer that counts neither
    way and makes no gold.

    Raises Conflict if somebody has answered it meanwhile, NotAllowed for a question that this
    person answered or decided, and what the kind's clean and gold_from_draw raise.
    """
    campaign = audit.campaign
    check_auditor(user, campaign)
    context = box_audit.question_context(audit) if KINDS[campaign.kind].asks == CHAINS else None
    cleaned = KINDS[campaign.kind].clean(value, campaign.settings, context)
    current = Audit.objects.filter(pk=audit.pk).values_list("answered_at", "auditor").get()
    again = Conflict("Somebody else has answered this question. Continue with the next one.")
    if current[0] is not None:
        raise again
    if not _open_to(user, campaign).filter(pk=audit.pk).exists():
        raise NotAllowed("You have answered this question yourself; somebody else must audit it.")
    with transaction.atomic():
        changed = Audit.objects.filter(pk=audit.pk, answered_at=None).update(
            value=cleaned, auditor=user, answered_at=timezone.now()
        )
        if not changed:
            raise again
        if audit.for_gold and KINDS[campaign.kind].vote(cleaned) is not None:
            gold.gold_from_draw(audit, cleaned, user)
    left = campaign.audits.filter(sample=audit.sample, answered_at=None)
    if KINDS[campaign.kind].asks == CANDIDATES and not left.exists():
        queue.enqueue("verify", str(campaign.pk), campaign=campaign)
    audit.refresh_from_db()
    return audit


@dataclass(frozen=True)
class ErrorShare:
    """The error of the audited questions, without those too hard. interval: Clopper–Pearson, 95 %.
    error is None if nothing was audited.
    """

    audited: int
    wrong: int
    error: float | None
    interval: tuple[float, float]


@dataclass(frozen=True)
class ErrorEstimate(ErrorShare):
    """What a sample says of all settled questions.

    measured: the stated error of all settled labels; None for drawings. stated: the error that the
    labels' own probabilities imply; stated_holds: whether it lies in the interval. calibration:
    bins of 1 − stated error; the error of each label is estimated without its own known answer.
    """

    sample: int
    drawn: int
    answered: int
    unclear: int
    measured: stated_errors.MeasuredError | None
    stated_error: StatedError | None
    stated: float | None
    stated_holds: bool | None
    calibration: dict[str, object] | None
    by_answer: dict[str, ErrorShare]
    # For redrawn boxes: their errors.
    boxes: list[box_audit.RedrawnError]


def estimate(campaign: Campaign, sample: int | None = None) -> ErrorEstimate | None:
    """Return the estimate from the sample (default: the latest); None before the first."""
    sample = latest_sample(campaign) if sample is None else sample
    if sample is None:
        return None
    kind = KINDS[campaign.kind]
    rows = campaign.audits.filter(sample=sample).values_list(
        "answered_at", "value", "settlement__value"
    )
    drawn = answered = 0
    judged: list[tuple[str, bool]] = []
    for answered_at, value, settled in rows:
        drawn += 1
        if answered_at is None:
            continue
        answered += 1
        if kind.vote(value) is not None:
            judged.append((kind.tally_name(settled), kind.agrees(value, settled)))
    measured = stated_errors.measure(campaign)
    stated = measured.believed if measured else None
    whole = _share(judged)
    low, high = whole.interval
    by_answer: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for row in judged:
        by_answer[row[0]].append(row)
    return ErrorEstimate(
        **vars(whole),
        sample=sample,
        drawn=drawn,
        answered=answered,
        unclear=answered - len(judged),
        measured=measured,
        stated_error=measured.stated if measured else None,
        stated=stated,
        stated_holds=None if stated is None or not judged else low <= stated <= high,
        calibration=calibration_bins(
            [1 - error for error in measured.errors], [not wrong for wrong in measured.wrong]
        )
        if measured and measured.errors
        else None,
        by_answer={word: _share(rows) for word, rows in sorted(by_answer.items())},
        boxes=box_audit.measure(campaign, sample) if kind.asks == CHAINS else [],
    )


def _share(judged: list[tuple[str, bool]]) -> ErrorShare:
    wrong = sum(not right for _, right in judged)
    error = wrong / len(judged) if judged else None
    return ErrorShare(len(judged), wrong, error, clopper_pearson(wrong, len(judged)))


def disagreements(campaign: Campaign, limit: int = MAX_LISTED_AUDITS) -> list[Audit]:
    """Return the last sample's questions whose auditor disagrees, newest first."""
    kind = KINDS[campaign.kind]
    rows = (
        campaign.audits.filter(sample=latest_sample(campaign) or 0, answered_at__isnull=False)
        .select_related("question__item__image", "settlement")
        .order_by("-answered_at", "pk")
    )
    contradicted = (
        row
        for row in rows
        if kind.vote(row.value) is not None and not kind.agrees(row.value, row.label.value)
    )
    return list(islice(contradicted, limit))
