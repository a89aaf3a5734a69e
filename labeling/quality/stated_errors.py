"""The error of a campaign's settled labels, measured on those that were audited.

docs/explanation/quality.md, Stated error.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, Exists, Min, OuterRef, QuerySet
from django.db.models.functions import Mod

from labeling.estimators import stated_error
from labeling.estimators.stated_error import ErrorModel, Evidence, StatedError
from labeling.kinds import KINDS, policies
from labeling.kinds.base import CHAINS
from labeling.models import Audit, Campaign, Question, Settlement

# The mean over this many evenly spaced settled questions is as good as over all of them: its
# sampling error is far below that of the audit.
SAMPLE = 4_000
# How many more audits a page proposes, and the normal quantile of a 90 % interval.
PROPOSED, Z90 = 60, 1.645
SETTLED = ("value", "probability", "answers")


@dataclass(frozen=True)
class MeasuredError:
    """The stated error of the settled labels, and what it was fitted on.

    believed: the mean of 1 − p over the labels; real crowds err many times as often. audited:
    number of audited labels. errors: the stated error of each audited label, fitted without it.
    wrong: whether each audited label is wrong. model: None without audits.
    """

    stated: StatedError
    believed: float | None
    model: ErrorModel | None
    by_majority: bool
    errors: list[float]
    wrong: list[bool]

    @property
    def audited(self) -> int:
        return len(self.wrong)

    @property
    def proposed(self) -> int:
        """Return the number of labels to audit next."""
        return PROPOSED

    @property
    def gain(self) -> float:
        """Return half the width of the interval after the proposed audits."""
        bounds = self.stated.interval or self.stated.range or (0.0, 0.5)
        middle = sum(bounds) / 2
        return Z90 * math.sqrt(middle * (1 - middle) / (self.audited + PROPOSED))

    def error_of(self, probability: float | None, votes: int) -> float | None:
        """Return the error of one settled label; None where nothing was measured."""
        if self.model is None or probability is None or not votes:
            return None
        return stated_error.settled_error(
            self.model.coefficients, self.by_majority, probability, votes
        )


def is_measurable(campaign: Campaign) -> bool:
    """Return whether answers are words; box_audit.py measures the errors of boxes."""
    kind = KINDS[campaign.kind]
    return not kind.drawn and kind.asks != CHAINS


def measure(campaign: Campaign, is_audited: bool = True) -> MeasuredError | None:
    """Return the stated error of the campaign's settled labels; None for drawings. Two
    queries, and two more where many questions are settled."""
    if not is_measurable(campaign):
        return None
    by_majority = policies.of(campaign)["method"] == "majority"
    rows = _sample(campaign)
    votes = np.array([len(answers) for _, answers in rows], float)
    margins = stated_error.settled_margins([share for share, _ in rows], votes, by_majority)
    evidence = _evidence(campaign, by_majority) if is_audited else None
    stated, model = stated_error.measure(margins, votes, evidence)
    errors = stated_error.cross_fitted(evidence).tolist() if evidence else []
    wrong = [bool(row) for row in evidence.wrong] if evidence else []
    believed = 1 - float(np.mean([share for share, _ in rows])) if rows else None
    return MeasuredError(stated, believed, model, by_majority, errors, wrong)


def _sample(campaign: Campaign) -> list[tuple[float, list[str]]]:
    """Return (probability, answers) of settled questions that people's votes decided."""
    questions = Question.objects.filter(campaign=campaign, state=Question.State.SETTLED)
    rows = list(_decided(questions)[: SAMPLE + 1])
    if len(rows) <= SAMPLE:
        return rows
    every = questions.aggregate(n=Count("pk"), low=Min("pk"))
    step = max(1, every["n"] // SAMPLE)
    spaced = questions.annotate(place=Mod("pk", step)).filter(place=every["low"] % step)
    return list(_decided(spaced))


def _decided(questions: QuerySet[Question]) -> QuerySet[Settlement, Any]:
    newer = Settlement.objects.filter(question=OuterRef("question"), pk__gt=OuterRef("pk"))
    current = Settlement.objects.filter(
        ~Exists(newer), question__in=questions.values("pk"), probability__isnull=False
    )
    return current.exclude(answers=[]).order_by("pk").values_list("probability", "answers")


def _evidence(campaign: Campaign, by_majority: bool) -> Evidence | None:
    """Return the audited labels, with the latest audit of each question; None without any."""
    kind = KINDS[campaign.kind]
    rows = (
        Audit.objects.filter(campaign=campaign, answered_at__isnull=False)
        .filter(settlement__probability__isnull=False)
        .order_by("pk")
        .values_list("question", "value", *(f"settlement__{name}" for name in SETTLED))
    )
    latest = {
        question: (share, len(counted), not kind.agrees(value, settled))
        for question, value, settled, share, counted in rows
        if counted and kind.vote(value) is not None
    }
    if not latest:
        return None
    shares, votes, wrong = (
        np.array(column, float) for column in zip(*latest.values(), strict=True)
    )
    return Evidence(stated_error.settled_margins(shares, votes, by_majority), votes, wrong, "audit")
