"""Scores of submissions by every version of a benchmark's label sets. No Django.

Version 1 is the truth's single class; each later one came from a review of the mistakes by the
previous version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.class_files import Classified
from evaluation.readers.mistakes import Judgement, Pair
from evaluation.readers.valid_sets import ReviewedModel
from evaluation.scoring.comparing import SubmissionComparison, compare
from evaluation.scoring.mistakes import applying, queueing
from evaluation.scoring.mistakes.applying import (
    Applied,
    ModelMistakes,
    Rates,
    ReviewedPool,
    ReviewShare,
)
from evaluation.scoring.mistakes.queueing import ReviewPool, Strata
from labeling.records import Record

FIRST = 1


@dataclass(kw_only=True)
class VersionScore(Record):
    """A submission by one version. is_reviewed: whether the review covered its mistakes; if not,
    some that are valid may count as wrong. estimated: from the reviewed images only.
    """

    name: str
    accuracy: ReviewShare
    is_reviewed: bool | None = None
    estimated: ReviewShare | None = None
    mistakes: ModelMistakes | None = None


@dataclass(kw_only=True)
class ScoredVersion(Record):
    """A version with every submission by it. images: with a label set that is not empty; changed:
    whose set the review changed. comparison: of several submissions, by the newest version.
    """

    version: int
    sha256: str | None
    models: list[ReviewedModel]
    images: int
    empty: int
    counts: dict[str, int] | None = None
    rates: Rates | None = None
    submissions: list[VersionScore]
    comparison: SubmissionComparison | None = None


@dataclass(frozen=True)
class Version:
    """An applied version. sets: (N,) in the order of the truth; before: the label sets that were
    reviewed; None if they are those of the previous version in the list.
    """

    applied: Applied
    sets: list[frozenset[int]]
    strata: Strata
    judged: Mapping[Pair, Judgement]
    before: list[frozenset[int]] | None = None


def score(
    submissions: Mapping[str, Classified],
    sha256: Mapping[str, str],
    versions: Sequence[Version],
    wordnet: WordNet,
    confidence: float,
    seed: int,
) -> list[ScoredVersion]:
    """Return every version from 1 on. submissions: by name, on one whole truth; sha256: of each."""
    generator = np.random.default_rng(seed)
    pool = queueing.pool_of(submissions, None)
    scored = [_scored(pool, None, sha256, confidence, generator)]
    for version in versions:
        reviewed_pool = replace(pool, sets=version.before or pool.sets)
        review = ReviewedPool(reviewed_pool, version.strata, version.judged, version.sets)
        pool = replace(pool, sets=version.sets)
        scored_version = _scored(pool, version.applied, sha256, confidence, generator)
        scored_version.rates = applying.rates(review, confidence, generator)
        for row in scored_version.submissions:
            row.estimated = applying.estimate_share(review, row.name, confidence, generator)
            if row.is_reviewed:
                row.mistakes = applying.mistakes(review, row.name, confidence, generator)
        scored.append(scored_version)
    scored[-1].comparison = _compared(pool, submissions, wordnet, confidence, seed)
    return scored


def _scored(
    pool: ReviewPool,
    applied: Applied | None,
    sha256: Mapping[str, str],
    confidence: float,
    generator: np.random.Generator,
) -> ScoredVersion:
    images = sum(map(bool, pool.sets))
    models = applied.models if applied else []
    reviewed = {model.sha256 for model in models}
    return ScoredVersion(
        version=applied.version if applied else FIRST,
        sha256=applied.sha256 if applied else None,
        models=models,
        images=images,
        empty=len(pool.sets) - images,
        counts=applied.counts if applied else None,
        submissions=[
            VersionScore(
                name=name,
                accuracy=applying.accuracy(pool, name, pool.sets, confidence, generator),
                is_reviewed=sha256[name] in reviewed if applied else None,
            )
            for name in pool.first
        ],
    )


def _compared(
    pool: ReviewPool,
    submissions: Mapping[str, Classified],
    wordnet: WordNet,
    confidence: float,
    seed: int,
) -> SubmissionComparison | None:
    """Compare submissions on the images with a label set that all were asked about."""
    counted = np.logical_and.reduce(
        [np.array([bool(label_set) for label_set in pool.sets], bool), *pool.was_asked.values()]
    )
    if len(submissions) < 2 or not counted.any():
        return None
    first = next(iter(submissions.values()))
    assert first.synsets is not None, "the truth has wnids"
    classes = [wordnet.wnid(first.synsets[number]) for number in first.truth[counted].tolist()]
    wrong = {name: ~pool.is_right(name, pool.sets)[counted] for name in pool.first}
    people = [name for name, classified in submissions.items() if classified.people]
    return compare(wrong, classes, confidence, seed, people)
