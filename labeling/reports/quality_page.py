"""Consistency of a campaign's answers: agreement, votes per question, disputed questions.

Reads a sample of bounded size. Figures of a sample are cached for minutes, since drawing it
reads the whole index.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import QuerySet

from labeling.consensus import settling
from labeling.db import question_counts
from labeling.db.cached import cached
from labeling.estimators.agreement import krippendorff_alpha
from labeling.kinds import KINDS
from labeling.models import Campaign, Question, Settlement
from labeling.models.questions import PLACE, RING

SAMPLE = 1_000
MAX_LISTED_QUESTIONS = 12
KEPT_SECONDS = 300.0
DECIDED = (Question.State.SETTLED, Question.State.DROPPED, Question.State.REVIEW)


def decided_questions(campaign: Campaign) -> QuerySet[Question]:
    return campaign.questions.filter(state__in=DECIDED)


def sample(campaign: Campaign, total: int, size: int = SAMPLE) -> list[int]:
    """Return about `size` ids of the `total` decided questions; all if there are no more.

    The sample is stable while the campaign does not change.
    """
    questions = decided_questions(campaign)
    if total > size:
        share = int(RING * size / total)
        questions = questions.annotate(place=PLACE).filter(place__lt=share)
    # Sort here; with ORDER BY, PostgreSQL would read the table instead of the index.
    return sorted(questions.order_by().values_list("pk", flat=True))[: 2 * size]


@dataclass(frozen=True)
class VoteBar:
    """The number of questions with n answers. share: relative to the longest bar."""

    n: int
    count: int
    share: float


@dataclass(frozen=True)
class QualityFigures:
    """Figures of the sample; None if nothing was decided or only one answer was given.

    sampled: number of decided questions read. alpha: Krippendorff's, over questions with two votes
    or more. votes: mean answers per question. abstained: share of abstentions. disputed: ids, the
    most divided first.
    """

    decided: int
    sampled: int
    alpha: float | None
    votes: float | None
    histogram: list[VoteBar]
    abstained: float | None
    disputed: list[int]


def figures(campaign: Campaign) -> QualityFigures:
    total = question_counts.of_campaign(campaign.pk).decided
    if total <= SAMPLE:
        return _figures(campaign, total)
    sampled = cached(f"figures:{campaign.pk}", lambda: _figures(campaign, total), KEPT_SECONDS)
    return replace(sampled, decided=total)


def _figures(campaign: Campaign, total: int) -> QualityFigures:
    pks = sample(campaign, total)
    tallies = settling.tallies(campaign, pks)
    able = {pk: _able(campaign, tallies.get(pk, Counter())) for pk in pks}
    answers = {pk: tallies[pk].total() if pk in tallies else 0 for pk in pks}
    total_answers = sum(answers.values())
    return QualityFigures(
        decided=total,
        sampled=len(pks),
        alpha=_alpha(list(able.values())),
        votes=total_answers / len(pks) if pks else None,
        histogram=_histogram(list(answers.values())),
        abstained=1 - sum(votes.total() for votes in able.values()) / total_answers
        if total_answers
        else None,
        disputed=_disputed(able)[:MAX_LISTED_QUESTIONS],
    )


def mean_votes(campaign: Campaign, total: int, size: int = 200) -> float | None:
    """Return the mean answers per settled question, from a smaller sample; None before the
    first.
    """
    if total <= size:
        return _mean_votes(campaign, total, size)
    key = f"mean_votes:{campaign.pk}"
    return cached(key, lambda: _mean_votes(campaign, total, size), KEPT_SECONDS)


def _mean_votes(campaign: Campaign, total: int, size: int) -> float | None:
    pks = sample(campaign, total, size)
    rows = Settlement.objects.filter(question__in=pks).order_by("pk")
    counted = {question: len(ids) for question, ids in rows.values_list("question", "answers")}
    return sum(counted.values()) / len(counted) if counted else None


def _able(campaign: Campaign, tally: Counter[str]) -> Counter[str]:
    kind = KINDS[campaign.kind]
    return Counter({name: count for name, count in tally.items() if kind.vote(name) is not None})


def _alpha(votes: Sequence[Counter[str]]) -> float | None:
    words = sorted({word for tally in votes for word in tally})
    if not words:
        return None
    alpha = krippendorff_alpha([[tally[word] for word in words] for tally in votes])
    return None if math.isnan(alpha) else alpha


def _histogram(answers: Sequence[int]) -> list[VoteBar]:
    counts = Counter(answers)
    if not counts:
        return []
    top = max(counts.values())
    # Include counts of 0 between others, so that gaps are visible.
    return [VoteBar(n, counts[n], counts[n] / top) for n in range(min(counts), max(counts) + 1)]


def _disputed(able: dict[int, Counter[str]]) -> list[int]:
    """Return questions with the smallest majority share first; among equals, those with
    more votes.
    """
    ranked = []
    for pk, tally in able.items():
        if len(tally) > 1:
            top = tally.most_common(1)[0][1]
            ranked.append((top / tally.total(), -tally.total(), pk))
    return [pk for *_, pk in sorted(ranked)]
