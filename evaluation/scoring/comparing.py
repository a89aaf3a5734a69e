"""Compares submissions on the same images: which differ, and the best of all. No Django.

Source: Russakovsky et al. (2015), §6.2, §6.3 and §6.4.1.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics import bands
from evaluation.metrics.significance import (
    difference_of_errors,
    holm,
    mcnemar,
    mean_interval,
    two_proportion_z,
)
from evaluation.scoring.analysis import Analysis, accuracies
from labeling.records import Record

BY_CLASS = "for each class the submission that is best on it; mean over classes"
BY_IMAGE = "an image is wrong where every submission is"
ALL_PAIRS, WITH_PEOPLE = "all pairs", "pairs of people and a classifier"


@dataclass(kw_only=True)
class IntervalEstimate(Record):
    """A value with its interval. rounds: of the bootstrap, 0 for no interval."""

    value: float | None
    interval: list[float | None] | None
    rounds: int | None = None


def mean_difference(differences: Sequence[float], level: float, seed: int) -> IntervalEstimate:
    """Return the mean of paired differences from −1 to 1, with its bootstrap interval."""
    if not differences:
        return IntervalEstimate(value=None, interval=None)
    values = np.array(differences)
    generator = np.random.default_rng(seed)
    low, high, rounds, _ = mean_interval(values, level, generator, bounds=(-1, 1))
    return IntervalEstimate(value=float(values.mean()), interval=[low, high], rounds=rounds)


def ranks_of(values: Mapping[str, float | None], *, less_is_better: bool) -> dict[str, int]:
    """Return the rank of each known value; equal values share one.

    >>> ranks_of({"a": 0.5, "b": 0.1, "c": None, "d": 0.5}, less_is_better=True)
    {'a': 2, 'b': 1, 'd': 2}
    """
    sign = 1 if less_is_better else -1
    known = {name: sign * value for name, value in values.items() if value is not None}
    return {
        name: 1 + sum(better < value for better in known.values()) for name, value in known.items()
    }


@dataclass(kw_only=True)
class SubmissionPair(Record):
    """Two submissions on the same images. difference: first − second, of the errors or of the mean
    AP. Detection has no errors and no tests of them.

    either_right: the share of images on which at least one is right. mcnemar_holm_p: the p-value
    adjusted by Holm, for pairs that SubmissionComparison.holm counts. Older results lack these.
    """

    first: str
    second: str
    errors: list[int] | None = None
    difference: IntervalEstimate
    only_first_wrong: int | None = None
    only_second_wrong: int | None = None
    both_wrong: int | None = None
    z: float | None = None
    p_one_sided: float | None = None
    p_two_sided: float | None = None
    mcnemar_p: float | None = None
    mcnemar_holm_p: float | None = None
    both_right: int | None = None
    either_right: IntervalEstimate | None = None


@dataclass(kw_only=True)
class BestByClass(Record):
    """The best submission of each class. error: of classes of images; mean_ap: of detection."""

    error: float | None = None
    mean_ap: float | None = None
    classes_won: dict[str, int]
    convention: str
    analysis: Analysis | None = None


@dataclass(kw_only=True)
class BestByImage(Record):
    error: IntervalEstimate
    convention: str


@dataclass(kw_only=True)
class Optimistic(Record):
    """The best of all submissions. by_image: not for detection."""

    by_class: BestByClass
    by_image: BestByImage | None = None


@dataclass(kw_only=True)
class HolmFamily(Record):
    """The tests that Holm's method adjusts, and how many."""

    over: str
    tests: int


@dataclass(kw_only=True)
class SubmissionComparison(Record):
    """Several submissions compared. Benchmarks of detection have only classes_won; the oldest
    results lack `sure` and `holm`.
    """

    images: int | None = None
    confidence: float | None = None
    sure: bands.Sure | None = None
    pairs: list[SubmissionPair] | None = None
    holm: HolmFamily | None = None
    optimistic: Optimistic | None = None
    classes_won: dict[str, int] | None = None


def compare(
    wrong: Mapping[str, NDArray[np.bool_]],
    classes: Sequence[str],
    confidence: float = 0.999,
    seed: int = 0,
    people: Collection[str] = (),
) -> SubmissionComparison:
    """Return the tests of every pair of submissions, and the "optimistic" model over all of them.

    wrong: (N,) by name of the submission, for the same images in the same order; classes: (N,) the
    class of each. people: submissions by people: if there are any, Holm's method adjusts the tests
    of people against classifiers, else those of all pairs. Raises ValueError for arrays of
    different lengths.
    """
    for name, flags in wrong.items():
        if len(flags) != len(classes):
            raise ValueError(f"{name} has {len(flags)} images, expected {len(classes)}")
    generator = np.random.default_rng(seed)
    by_class = {name: accuracies(flags, classes)[0] for name, flags in wrong.items()}
    all_wrong = np.logical_and.reduce([*wrong.values()]) if wrong else np.zeros(0, bool)
    low, high, *_ = mean_interval(all_wrong, confidence, generator, bounds=(0, 1))
    best = best_by_class(by_class)
    pairs = list(_pairs(wrong, confidence, generator))
    family = _adjust(pairs, people)
    _add_either_right(pairs, wrong, confidence, generator)
    errors = {name: _mean(flags) for name, flags in wrong.items()}
    return SubmissionComparison(
        images=len(classes),
        confidence=confidence,
        sure=sure(errors, pairs, confidence).as_record(),
        pairs=pairs,
        holm=family,
        optimistic=Optimistic(
            by_class=BestByClass(
                error=1 - mean_of(best), classes_won=classes_won(by_class), convention=BY_CLASS
            ),
            by_image=BestByImage(
                error=IntervalEstimate(value=_mean(all_wrong), interval=[low, high]),
                convention=BY_IMAGE,
            ),
        ),
    )


def sure(
    values: Mapping[str, float],
    pairs: Sequence[SubmissionPair],
    level: float,
    less_is_better: bool = True,
) -> bands.ConfirmedOrder:
    """Return which ranks of the submissions are confirmed by the pairwise tests on the same images.

    values: the submissions are ordered by them. pairs: from compare(): McNemar's p if there is one,
    else the interval of the difference must exclude 0.
    """
    tested = {frozenset((pair.first, pair.second)): pair for pair in pairs}

    def is_apart(a: str, b: str) -> bool:
        pair = tested.get(frozenset((a, b)))
        if pair is None:
            return False
        if pair.errors is not None:
            p = pair.mcnemar_p
            return p is not None and values[a] != values[b] and bool(p <= 1 - level)
        low, high = pair.difference.interval or (None, None)
        return low is not None and high is not None and not low <= 0 <= high

    sign = 1 if less_is_better else -1
    known = [name for name, value in values.items() if not math.isnan(value)]
    ranked = sorted(known, key=lambda name: (sign * values[name], name))
    return bands.order(ranked, is_apart, level)


def best_by_class(values: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return class → the highest value of any submission, accuracy or AP; NaN if none has one.

    >>> best_by_class({"A": {"n1": 0.5, "n2": 0.1}, "B": {"n1": 0.2, "n2": 0.4}})
    {'n1': 0.5, 'n2': 0.4}
    """
    classes = dict.fromkeys(itertools.chain.from_iterable(values.values()))
    best = {}
    for wnid in classes:
        known = [
            by_class[wnid]
            for by_class in values.values()
            if not math.isnan(by_class.get(wnid, math.nan))
        ]
        best[wnid] = max(known, default=math.nan)
    return best


def classes_won(values: Mapping[str, Mapping[str, float]]) -> dict[str, int]:
    """Return submission → in how many classes it is the best; ties count for all, 0 for none.

    >>> classes_won({"A": {"n1": 0.5, "n2": 0.0}, "B": {"n1": 0.5, "n2": 0.0}})
    {'A': 1, 'B': 1}
    """
    best = best_by_class(values)
    return {
        name: sum(by_class.get(wnid) == value and value > 0 for wnid, value in best.items())
        for name, by_class in values.items()
    }


def mean_of(values: Mapping[str, float]) -> float:
    """Return the mean over classes with a value; NaN if there are none."""
    known = [value for value in values.values() if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _pairs(
    wrong: Mapping[str, NDArray[np.bool_]], confidence: float, generator: np.random.Generator
) -> Iterator[SubmissionPair]:
    for (first, a), (second, b) in itertools.combinations(wrong.items(), 2):
        errors = int(a.sum()), int(b.sum())
        only_first, only_second = int((a & ~b).sum()), int((b & ~a).sum())
        test = two_proportion_z(errors[0], len(a), errors[1], len(b)) if len(a) else None
        difference = a.astype(np.int8) - b.astype(np.int8)
        low, high, *_ = difference_of_errors(only_first, only_second, len(a), confidence, generator)
        yield SubmissionPair(
            first=first,
            second=second,
            errors=list(errors),
            difference=IntervalEstimate(value=_mean(difference), interval=[low, high]),
            only_first_wrong=only_first,
            only_second_wrong=only_second,
            both_wrong=int((a & b).sum()),
            z=test.z if test else math.nan,
            # One-sided: the chance of this many more errors in the worse one.
            p_one_sided=test.two_sided / 2 if test else math.nan,
            p_two_sided=test.two_sided if test else math.nan,
            mcnemar_p=mcnemar(only_first, only_second),
        )


def _adjust(pairs: Sequence[SubmissionPair], people: Collection[str]) -> HolmFamily:
    """Set the Holm-adjusted p-values of the pairs that are tested; return the family of tests."""
    with_people = [pair for pair in pairs if (pair.first in people) != (pair.second in people)]
    tested = with_people or pairs
    adjusted = holm([pair.mcnemar_p for pair in tested if pair.mcnemar_p is not None])
    for pair, p in zip(tested, adjusted, strict=True):
        pair.mcnemar_holm_p = p
    return HolmFamily(over=WITH_PEOPLE if with_people else ALL_PAIRS, tests=len(tested))


def _add_either_right(
    pairs: Sequence[SubmissionPair],
    wrong: Mapping[str, NDArray[np.bool_]],
    confidence: float,
    generator: np.random.Generator,
) -> None:
    """Set both_right and either_right.

    This is done last, so that the random draws of the other intervals stay the same.
    """
    for pair in pairs:
        either = ~(wrong[pair.first] & wrong[pair.second])
        low, high, *_ = mean_interval(either, confidence, generator, bounds=(0, 1))
        pair.both_right = int((~(wrong[pair.first] | wrong[pair.second])).sum())
        pair.either_right = IntervalEstimate(value=_mean(either), interval=[low, high])


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else math.nan
