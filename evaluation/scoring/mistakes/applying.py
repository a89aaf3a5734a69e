"""Turns a review of mistakes into a new version of the label sets. No Django.

Also computes how often labels and models were wrong, and scores every submission again.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.ilsvrc.errors import ABSENT
from evaluation.metrics.significance import mean_interval
from evaluation.metrics.two_phase import AGAINST, FOR, LEFT_OUT, sampled_share
from evaluation.readers.mistakes import ANSWERS, CANNOT, TAGS, VALID, Judgement, Pair
from evaluation.readers.valid_sets import SetVersion
from evaluation.scoring.comparing import IntervalEstimate
from evaluation.scoring.mistakes.queueing import ReviewPool, Strata
from labeling.csv_rows import csv_lines
from labeling.records import Record

UNANSWERED = "no_prediction"


@dataclass(kw_only=True)
class ReviewShare(IntervalEstimate):
    """images: the denominator; for an estimate from a sample, how many were reviewed."""

    images: int


@dataclass(kw_only=True)
class Rates(Record):
    """Shares of all images that could be reviewed, estimated from the reviewed ones, sampled images
    by weight. tags: shares of images with each tag on one of their classes.
    """

    label_not_valid: ReviewShare
    several_valid: ReviewShare
    none_valid: ReviewShare
    cannot_be_labeled: ReviewShare
    tags: dict[str, ReviewShare] | None = None


@dataclass(kw_only=True)
class ModelMistakes(Record):
    """Reviewers' verdicts on a model's disagreements with the previous label sets: shares by answer
    and by tag.
    """

    images: int
    answers: dict[str, ReviewShare]
    tags: dict[str, ReviewShare]


@dataclass(kw_only=True)
class Rescored(Record):
    """Multi-label accuracy of a submission by the label sets before and after, and as estimated
    from the review. mistakes: of the models whose disagreements were reviewed.
    """

    name: str
    sha256: str
    before: ReviewShare
    after: ReviewShare
    estimated: ReviewShare
    mistakes: ModelMistakes | None = None


@dataclass(kw_only=True)
class Applied(SetVersion):
    """A version with its sources, as a benchmark stores it in version.json.

    counts: images by stratum, pairs, and images whose set changed.
    """

    queue_sha256: str
    answers_sha256: str
    counts: dict[str, int]


@dataclass(kw_only=True)
class ReviewFile(Applied):
    """version.json: the version with its sources and figures."""

    rates: Rates
    submissions: list[Rescored]
    confidence: float
    seed: int


@dataclass(frozen=True)
class ReviewedPool:
    """A pool with its strata and the judgements of its reviewed pairs; after: (N,) label sets."""

    pool: ReviewPool
    strata: Strata
    judged: Mapping[Pair, Judgement]
    after: list[frozenset[int]]

    def changed_images(self) -> set[str]:
        """Return the images whose label set differs."""
        sets = zip(self.pool.images, self.pool.sets, self.after, strict=True)
        return {image for image, before, after in sets if before != after}

    def without(self, images: Collection[str]) -> "ReviewedPool":
        """Return the same review with the label sets of these images as they were."""
        kept = zip(self.pool.images, self.pool.sets, self.after, strict=True)
        after = [before if image in images else after for image, before, after in kept]
        return replace(self, after=after)


def apply_review(
    pool: ReviewPool, strata: Strata, judged: Mapping[Pair, Judgement]
) -> ReviewedPool:
    """Return the label sets after the review: the valid classes on reviewed images, else
    unchanged.
    """
    after = list(pool.sets)
    valid: dict[str, set[int]] = {}
    for (image, synset), judgement in judged.items():
        if judgement.answer == VALID:
            valid.setdefault(image, set()).add(synset)
    for index in strata.reviewed.tolist():
        after[index] = frozenset(valid.get(pool.images[index], ()))
    return ReviewedPool(pool, strata, judged, after)


def rates(review: ReviewedPool, confidence: float, generator: np.random.Generator) -> Rates:
    """Return how often the label is invalid, several or no classes are valid, or it is unclear."""
    pool, after = review.pool, review.after
    cannot = {
        image for (image, _), judgement in review.judged.items() if judgement.answer == CANNOT
    }
    tagged: dict[str, set[str]] = {}
    for (image, _), judgement in review.judged.items():
        for tag in judgement.tags:
            tagged.setdefault(tag, set()).add(image)

    # Separate, so that tags do not change the other intervals.
    (of_tags,) = generator.spawn(1)

    def share(is_so: Callable[[int], bool], rng: np.random.Generator = generator) -> ReviewShare:
        outcomes = np.array([is_so(index) for index in range(len(pool.images))], np.int8)
        return _estimated(review.strata, outcomes, confidence, rng)

    def share_in(images: set[str], rng: np.random.Generator = generator) -> ReviewShare:
        return share(lambda index: pool.images[index] in images, rng)

    return Rates(
        label_not_valid=share(lambda index: not pool.sets[index] & after[index]),
        several_valid=share(lambda index: len(after[index]) > 1),
        none_valid=share(lambda index: not after[index]),
        cannot_be_labeled=share_in(cannot),
        tags={tag: share_in(tagged[tag], of_tags) for tag in TAGS if tag in tagged},
    )


def accuracy(
    pool: ReviewPool,
    name: str,
    sets: Sequence[frozenset[int]],
    confidence: float,
    generator: np.random.Generator,
) -> ReviewShare:
    """Return the multi-label accuracy of a submission: how often its first class is in the set,
    over the images that it was asked about and whose set is not empty.
    """
    counted = pool.was_asked[name] & np.array([bool(label_set) for label_set in sets], bool)
    return _mean(pool.is_right(name, sets)[counted], confidence, generator)


def estimate_share(
    review: ReviewedPool, name: str, confidence: float, generator: np.random.Generator
) -> ReviewShare:
    """Return the accuracy as estimated from the reviewed images only, sampled images by weight."""
    outcome = np.where(review.pool.is_right(name, review.after), FOR, AGAINST)
    empty = np.array([not label_set for label_set in review.after], bool)
    outcome[~review.pool.was_asked[name] | empty] = LEFT_OUT
    return _estimated(review.strata, outcome, confidence, generator)


def rescored(
    review: ReviewedPool,
    name: str,
    sha256: str,
    is_model: bool,
    confidence: float,
    generator: np.random.Generator,
) -> Rescored:
    """Return a submission by both label sets. is_model: its disagreements were reviewed."""
    before, after = (
        accuracy(review.pool, name, sets, confidence, generator)
        for sets in (review.pool.sets, review.after)
    )
    return Rescored(
        name=name,
        sha256=sha256,
        before=before,
        after=after,
        estimated=estimate_share(review, name, confidence, generator),
        mistakes=mistakes(review, name, confidence, generator) if is_model else None,
    )


def lines(review: ReviewedPool, wnid_of: Callable[[int], str]) -> Iterator[str]:
    """Yield sets.csv: a row per class of an image, one with an empty wnid for an empty set."""
    yield from csv_lines([("image", "wnid")])
    for image, synsets in zip(review.pool.images, review.after, strict=True):
        yield from csv_lines((image, wnid) for wnid in sorted(map(wnid_of, synsets)) or ("",))


def mistakes(
    review: ReviewedPool, name: str, confidence: float, generator: np.random.Generator
) -> ModelMistakes:
    """Return reviewers' verdicts on each disagreement of a reviewed model."""
    pool = review.pool
    places = review.strata.disagreements
    wrong = places[~pool.is_right(name, pool.sets)[places]].tolist()
    answers: list[str] = []
    tags: list[tuple[str, ...]] = []
    for index in wrong:
        synset = int(pool.first[name][index])
        if synset == ABSENT:
            answers.append(UNANSWERED)
            tags.append(())
        else:
            judgement = review.judged[pool.images[index], synset]
            answers.append(judgement.answer)
            tags.append(judgement.tags)

    def share(flags: list[bool]) -> ReviewShare:
        return _mean(np.array(flags, bool), confidence, generator)

    return ModelMistakes(
        images=len(wrong),
        answers={
            word: share([answer == word for answer in answers])
            for word in (*ANSWERS, UNANSWERED)
            if word != UNANSWERED or UNANSWERED in answers
        },
        tags={
            tag: share([tag in image_tags for image_tags in tags])
            for tag in TAGS
            if any(tag in image_tags for image_tags in tags)
        },
    )


def _estimated(
    strata: Strata,
    outcomes: NDArray[np.integer],
    confidence: float,
    generator: np.random.Generator,
) -> ReviewShare:
    """Return the estimated share in the whole pool. outcomes: (N,), of which the reviewed
    are read. NaN if there are agreements of which none was sampled.
    """
    if len(strata.agreements) and not len(strata.sampled):
        reviewed_images = len(strata.disagreements)
        return ReviewShare(value=nan, interval=[nan, nan], rounds=0, images=reviewed_images)
    estimate = sampled_share(
        outcomes[strata.disagreements],
        outcomes[strata.sampled],
        len(strata.agreements),
        confidence,
        generator,
    )
    low, high, rounds, _ = estimate.interval
    return ReviewShare(
        value=estimate.value, interval=[low, high], rounds=rounds, images=estimate.units
    )


def _mean(
    values: NDArray[np.bool_], confidence: float, generator: np.random.Generator
) -> ReviewShare:
    low, high, rounds, _ = mean_interval(values, confidence, generator, bounds=(0, 1))
    value = float(values.mean()) if len(values) else float("nan")
    return ReviewShare(value=value, interval=[low, high], rounds=rounds, images=len(values))
