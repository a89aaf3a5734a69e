"""The error of a campaign's settled labels, measured on gold drawn at random and on audits.

docs/explanation/quality.md, Stated error.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, Exists, Min, OuterRef, QuerySet
from django.db.models.functions import Mod

from labeling.consensus import votes
from labeling.db.sql import Locked
from labeling.estimators import stated_error
from labeling.estimators.agreement import calibration_bins
from labeling.estimators.intervals import clopper_pearson
from labeling.estimators.stated_error import ErrorModel, Evidence, StatedError
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS
from labeling.models import Audit, Campaign, Question, Settlement

# The mean over this many evenly spaced settled questions is as good as over all of them: its
# sampling error is far below that of the audit.
SAMPLE = 4_000
# How many more known answers a page proposes, and the normal quantile of a 90 % interval.
PROPOSED, Z90 = 60, 1.645
SETTLEMENT_FIELDS = ("value", "probability", "answers")


@dataclass(frozen=True)
class Reliability:
    """The stated and the real error of the labels with a known answer.

    interval: 95 % Clopper–Pearson interval of the real error. verdict: whether the stated error
    lies in it. bins: from calibration_bins; their "right" is here the share that is wrong.
    """

    stated: float
    wrong: float
    interval: tuple[float, float]
    verdict: str
    bins: list[dict[str, object]]


@dataclass(frozen=True)
class MeasuredError:
    """The stated error of the settled labels, and what it was fitted on.

    believed: the mean of 1 − p over the labels; real crowds err many times as often. gold: number
    of known answers that are random gold; the others are audits. errors: the stated error of each
    label with a known answer, fitted without it. wrong: whether each of them is wrong. model: None
    without known answers.
    """

    stated: StatedError
    believed: float | None
    model: ErrorModel | None
    by_majority: bool
    gold: int
    errors: list[float]
    wrong: list[bool]

    @property
    def known(self) -> int:
        return len(self.wrong)

    @property
    def audited(self) -> int:
        return self.known - self.gold

    @property
    def proposed(self) -> int:
        """Return the number of answers to add next."""
        return PROPOSED

    @property
    def gain(self) -> float:
        """Return half the width of the interval after the proposed answers."""
        bounds = self.stated.interval or self.stated.range or (0.0, 0.5)
        middle = sum(bounds) / 2
        return Z90 * math.sqrt(middle * (1 - middle) / (self.known + PROPOSED))

    @property
    def reliability(self) -> Reliability | None:
        """Return the stated and the real error, also in bins of the stated error; None without
        known answers.
        """
        if not self.known:
            return None
        interval = clopper_pearson(sum(self.wrong), self.known)
        stated = sum(self.errors) / self.known
        verdict = "holds"
        if not interval[0] <= stated <= interval[1]:
            verdict = "is too low" if stated < interval[0] else "is too high"
        bins = calibration_bins(self.errors, self.wrong)["bins"]
        return Reliability(stated, sum(self.wrong) / self.known, interval, verdict, bins)

    def error_of(self, probability: float | None, votes: int) -> float | None:
        """Return the error of one settled label; None where nothing was measured."""
        if self.model is None or probability is None or not votes:
            return None
        return stated_error.settled_error(
            self.model.coefficients, self.by_majority, probability, votes
        )


def is_measurable(campaign: Campaign) -> bool:
    """Return whether answers are neither drawn nor about drawn boxes, whose errors box_audit.py
    measures.
    """
    kind = KINDS[campaign.kind]
    return not kind.drawn and kind.asks != CHAINS


def measure(campaign: Campaign) -> MeasuredError | None:
    """Return the stated error of the campaign's settled labels; None for drawings. Two queries;
    two more if many questions are settled, and a constant number more if gold was drawn.
    """
    if not is_measurable(campaign):
        return None
    by_majority = policies.for_campaign(campaign)["method"] == "majority"
    rows = _sample(campaign)
    counts = np.array([len(answers) for _, answers in rows], float)
    margins = stated_error.settled_margins([share for share, _ in rows], counts, by_majority)
    evidence, gold = _evidence(campaign, by_majority)
    stated, model = stated_error.measure(margins, counts, evidence)
    errors = stated_error.cross_fitted(evidence).tolist() if evidence else []
    wrong = [bool(row) for row in evidence.wrong] if evidence else []
    believed = 1 - float(np.mean([share for share, _ in rows])) if rows else None
    return MeasuredError(stated, believed, model, by_majority, gold, errors, wrong)


def _sample(campaign: Campaign) -> list[tuple[float, list[str]]]:
    """Return (probability, answers) of settled questions that people's votes decided."""
    questions = Question.objects.filter(campaign=campaign, state=Question.State.SETTLED)
    rows = list(_decided(questions)[: SAMPLE + 1])
    if len(rows) <= SAMPLE:
        return rows
    totals = questions.aggregate(n=Count("pk"), low=Min("pk"))
    step = max(1, totals["n"] // SAMPLE)
    spaced = questions.annotate(place=Mod("pk", step)).filter(place=totals["low"] % step)
    return list(_decided(spaced))


def _decided(questions: QuerySet[Question]) -> QuerySet[Settlement, Any]:
    newer = Settlement.objects.filter(question=OuterRef("question"), pk__gt=OuterRef("pk"))
    current = Settlement.objects.filter(
        ~Exists(newer), question__in=questions.values("pk"), probability__isnull=False
    )
    return current.exclude(answers=[]).order_by("pk").values_list("probability", "answers")


def _evidence(campaign: Campaign, by_majority: bool) -> tuple[Evidence | None, int]:
    """Return the labels with a known answer, and how many of these answers are gold.

    The latest answer to each question counts. Gold that a person retired does not count.
    """
    kind = KINDS[campaign.kind]
    rows = (
        Audit.objects.measuring()
        .filter(campaign=campaign)
        .order_by("pk")
        .values_list(
            "question", "for_gold", "value", *(f"settlement__{name}" for name in SETTLEMENT_FIELDS)
        )
    )
    latest = {question: row for question, *row in rows if kind.vote(row[1]) is not None}
    crowd = _crowd_labels(campaign, [pk for pk, row in latest.items() if row[0] and row[4] is None])
    judged = [
        (share, len(counted), not kind.agrees(value, label), for_gold)
        for question, (for_gold, value, *settled) in latest.items()
        for label, share, counted in [crowd.get(question, settled)]
        if share is not None and counted
    ]
    if not judged:
        return None, 0
    shares, counts, wrong, is_gold = np.array(judged, float).T
    gold = int(is_gold.sum())
    bases = {"gold": gold > 0, "audit": gold < len(judged)}
    margins = stated_error.settled_margins(shares, counts, by_majority)
    basis = "+".join(name for name, is_used in bases.items() if is_used)
    return Evidence(margins, counts, wrong, basis), gold


def _crowd_labels(
    campaign: Campaign, question_ids: list[int]
) -> dict[int, tuple[Any, float | None, list[str]]]:
    """Return (value, probability, answers) by gold question: the label that its answers would
    settle, where they suffice. Answers in training or in a test do not count.
    """
    if not question_ids:
        return {}
    since = dict(campaign.memberships.values_list("user", "working_since"))
    questions = Question.objects.filter(pk__in=question_ids).values_list(*Locked._fields)
    counting = {
        question: [vote for vote in cast if vote.at >= since[vote.annotator]]
        for question, cast in votes.votes_on(question_ids).items()
    }
    judged = votes.all_verdicts([Locked(*row) for row in questions], counting)
    return {
        row.question.id: (row.verdict.value, row.verdict.probability, row.answers)
        for row in judged
        if row.verdict.state == Question.State.SETTLED
    }
