"""The error rate of settled labels, estimated from images with a known answer.

Dawid–Skene's own probabilities are overconfident, because annotators make the same mistakes on hard
images. So keep its labels, and fit the error on gold and audited images
(docs/explanation/quality.md, "Stated error"): log odds of being wrong = a − b · log(1 + margin) + c
· log(votes / 3). Pure: numpy.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labeling.estimators.aggregation import AnswerTable, Floats, Ints
from labeling.estimators.dawid_skene import FLOOR, DawidSkene

# Below this many gold images no single number is stated, only its interval.
MIN_GOLD = 20
DRAWS = 400
DIGITS = 6
# Factor of the Laplace covariance, which is too small if few gold images are wrong. Measured on
# real crowds.
WIDER = 1.5
# Standard deviations above the mean of the log odds, for the 80 % upper bound.
UPPER = 0.84
# Margins are clipped at this quantile of the gold's margins.
MARGIN_QUANTILE = 0.9
# A target needs at least ANSWERS_OF_TARGET / target known answers.
ANSWERS_OF_TARGET = 3


@dataclass(frozen=True)
class CoefficientPrior:
    """Normal priors of a, b and c."""

    means: tuple[float, float, float]
    deviations: tuple[float, float, float]


FITTED = CoefficientPrior((0.2, 1.0, 0.3), (1.0, 0.4, 0.2))
# A question that settles early is chosen for its margin, so c is less certain.
SETTLING = CoefficientPrior((0.2, 1.0, 0.3), (1.0, 0.4, 0.3))
# For a crowd without any known answers: the range over the four crowds that were measured.
UNKNOWN = CoefficientPrior((0.2, 1.0, 0.3), (0.8, 0.25, 0.0))


@dataclass(frozen=True)
class ErrorModel:
    """The fitted coefficients a, b and c, their covariance, and what they were fitted on.

    gold: number of images with a known answer. wrong: total weight of those that are labeled
    wrongly. largest_margin: larger margins are clipped to it.
    """

    coefficients: tuple[float, float, float]
    covariance: tuple[tuple[float, float, float], ...]
    gold: int
    wrong: float
    largest_margin: float = math.inf

    def error(self, margins: ArrayLike, votes: ArrayLike) -> Floats:
        """Return the probability that each label is wrong. margins, votes: (I,), votes from 1."""
        return _logistic(self._terms(margins, votes) @ np.array(self.coefficients))

    def upper_error(self, margins: ArrayLike, votes: ArrayLike) -> Floats:
        """Return the 80 % upper bound of each label's error, which a target is compared with."""
        terms = self._terms(margins, votes)
        variances = ((terms @ np.array(self.covariance)) * terms).sum(axis=1)
        return _logistic(terms @ np.array(self.coefficients) + UPPER * np.sqrt(variances))

    def mean_interval(
        self, margins: ArrayLike, votes: ArrayLike, seed: int = 0
    ) -> tuple[float, float]:
        """Return the 5 % and 95 % quantiles of the share of labels that are wrong."""
        return _interval_of_mean(
            self._terms(margins, votes),
            np.array(self.coefficients),
            np.array(self.covariance) * WIDER,
            np.random.default_rng(seed),
        )

    def _terms(self, margins: ArrayLike, votes: ArrayLike) -> Floats:
        return _terms(np.minimum(np.asarray(margins, float), self.largest_margin), votes)


# The model before any measurement: the prior means, from the crowds that were measured.
TYPICAL = ErrorModel(UNKNOWN.means, ((0.0,) * 3,) * 3, 0, 0.0)


@dataclass(frozen=True)
class StatedError:
    """The share of labels that are wrong: a value and its interval, or else a range.

    value is None below MIN_GOLD gold images. Without a basis only `range` is set: the error of
    the measured crowds at the same margins and votes.
    """

    value: float | None
    interval: tuple[float, float] | None
    basis: str | None
    range: tuple[float, float] | None = None

    def to_json(self) -> dict[str, object]:
        # The last digits differ from machine to machine.
        stated: dict[str, object] = {
            "value": None if self.value is None else round(self.value, DIGITS),
            "interval": _rounded(self.interval),
            "basis": self.basis,
        }
        return stated if self.range is None else {**stated, "range": _rounded(self.range)}


def _rounded(bounds: tuple[float, float] | None) -> list[float] | None:
    return None if bounds is None else [round(bound, DIGITS) for bound in bounds]


def fit(
    margins: ArrayLike,
    votes: ArrayLike,
    wrong: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    gold: int | None = None,
    prior: CoefficientPrior = FITTED,
    largest_margin: float = math.inf,
) -> ErrorModel:
    """Return the coefficients by penalised logistic regression.

    margins, votes, wrong: (N,); one entry per gold image, or per prefix of its votes. weights:
    (N,), by default 1 each. gold: the number of images, by default N. Newton's steps are halved
    until the objective falls: plain steps diverge where nearly all gold is right. b stays at 0 or
    above.
    """
    terms = _terms(np.minimum(np.asarray(margins, float), largest_margin), votes)
    target = np.asarray(wrong, float)
    weight = np.ones(len(target)) if weights is None else np.asarray(weights, float)
    means, precisions = np.array(prior.means), np.array(prior.deviations) ** -2.0

    def objective(at: Floats) -> float:
        linear = terms @ at
        loss = (weight * (np.logaddexp(0, linear) - target * linear)).sum()
        return float(loss + ((at - means) ** 2 * precisions).sum() / 2)

    coefficients = means.copy()
    value = objective(coefficients)
    for _ in range(100):
        gradient, hessian = _derivatives(terms, target, weight, coefficients)
        gradient += (coefficients - means) * precisions
        hessian += np.diag(precisions)
        free = np.array([True, coefficients[1] > 0 or gradient[1] < 0, True])
        step = np.zeros(3)
        step[free] = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        scale = 1.0
        while scale > 1e-10:
            trial = coefficients - scale * step
            trial[1] = max(trial[1], 0.0)
            if (lower := objective(trial)) <= value:
                break
            scale /= 2
        else:
            break
        gained, coefficients, value = value - lower, trial, lower
        if gained < 1e-12 * (1 + abs(value)):
            break
    _, hessian = _derivatives(terms, target, weight, coefficients)
    covariance = np.linalg.inv(hessian + np.diag(precisions))
    a, b, c = coefficients.tolist()
    return ErrorModel(
        (a, b, c),
        tuple((x, y, z) for x, y, z in covariance.tolist()),
        len(target) if gold is None else gold,
        float((weight * target).sum()),
        largest_margin,
    )


@dataclass(frozen=True)
class Evidence:
    """Images whose answer is known: margins, votes and whether the label is wrong, (N,) each.

    basis: "gold", "audit" or "gold+audit".
    """

    margins: Floats
    votes: Floats
    wrong: Floats
    basis: str


def measure(
    margins: Floats, votes: Floats, evidence: Evidence | None, seed: int = 0
) -> tuple[StatedError, ErrorModel | None]:
    """Return the stated error of labels with these margins and votes, and the model behind it."""
    if evidence is None or not len(evidence.wrong):
        known_range = unmeasured_range(margins, votes, seed) if len(margins) else None
        return StatedError(None, None, None, known_range), None
    model = fit(evidence.margins, evidence.votes, evidence.wrong)
    if not len(margins):
        return StatedError(None, None, evidence.basis), model
    value = float(model.error(margins, votes).mean()) if model.gold >= MIN_GOLD else None
    interval = model.mean_interval(margins, votes, seed)
    return StatedError(value, interval, evidence.basis), model


@dataclass(frozen=True)
class VotePrefixes:
    """Prefixes of the votes on images with a known answer, (N,) each, by image and length.

    votes: length of the prefix. margins, wrong: of the label by these votes. images: index of the
    image.
    """

    margins: Floats
    votes: Floats
    wrong: Floats
    images: Ints


@dataclass(frozen=True)
class TargetForecast:
    """The share of images that settle at a target, and their mean number of votes."""

    target: float
    share: float
    votes: float


def fit_prefixes(prefixes: VotePrefixes) -> ErrorModel:
    """Return the model that decides when a question settles; each image has total weight 1."""
    weights = 1 / np.bincount(prefixes.images)[prefixes.images]
    return fit(
        prefixes.margins,
        prefixes.votes,
        prefixes.wrong,
        weights,
        gold=len(np.unique(prefixes.images)),
        prior=SETTLING,
        largest_margin=float(np.quantile(prefixes.margins, MARGIN_QUANTILE)),
    )


def forecasts(
    model: ErrorModel, prefixes: VotePrefixes, targets: Iterable[float]
) -> list[TargetForecast]:
    """Return what each target would settle on the images with a known answer."""
    bounds = model.upper_error(prefixes.margins, prefixes.votes)
    rows = []
    for target in targets:
        reached = bounds <= target
        _, first = np.unique(prefixes.images[reached], return_index=True)
        votes = prefixes.votes[reached][first]
        share = len(first) / model.gold
        rows.append(TargetForecast(target, share, float(votes.mean()) if len(first) else 0.0))
    return rows


def smallest_target(known: int) -> float:
    """Return the smallest target that this number of known answers supports."""
    return ANSWERS_OF_TARGET / max(known, 1)


def answers_for(target: float) -> int:
    """Return the number of known answers that a target needs."""
    return math.ceil(ANSWERS_OF_TARGET / target - 1e-9)


def unmeasured_range(margins: ArrayLike, votes: ArrayLike, seed: int = 0) -> tuple[float, float]:
    """Return the range of the mean error where neither gold nor audits say anything."""
    return _interval_of_mean(
        _terms(margins, votes),
        np.array(UNKNOWN.means),
        np.diag(np.array(UNKNOWN.deviations) ** 2),
        np.random.default_rng(seed),
    )


def class_scores(answers: AnswerTable, blind: DawidSkene) -> Floats:
    """Return (I, K): log prior plus the sum of the log confusions.

    blind: a run without gold. Its posteriors are not used, since they round to 0 and 1.
    """
    logs = np.log(np.maximum(blind.confusions, FLOOR))
    scores = np.zeros((len(answers.item_names), len(answers.classes)))
    for truth in range(len(answers.classes)):
        weights = logs[answers.annotators, truth, answers.labels]
        scores[:, truth] = np.bincount(answers.items, weights, len(scores))
    return scores + np.log(np.maximum(blind.priors, FLOOR))


def margins_of(scores: Floats, labels: Ints) -> Floats:
    """Return (I,) how far each label's score is above the largest other one, at least 0.

    A label of -1 has margin 0. With a single class the margin is infinite.
    """
    if not scores.shape[1]:
        return np.zeros(len(labels))
    others = scores.copy()
    rows = np.arange(len(labels))
    label_scores = others[rows, labels].copy()
    others[rows, labels] = -np.inf
    margins = np.maximum(label_scores - others.max(axis=1, initial=-np.inf), 0)
    return np.where(labels >= 0, margins, 0)


def settled_margins(probabilities: ArrayLike, votes: ArrayLike, by_majority: bool) -> Floats:
    """Return (I,) the margins of settled labels, from their stored probabilities and votes.

    With by_majority the probability is the label's share of the votes, and the margin is the number
    of votes for it minus the votes for all others. Otherwise the margin is the log odds of the
    probability. On the measured crowds, both predict the error as well as Dawid–Skene's margins.
    """
    shares = np.clip(np.asarray(probabilities, float), 0, 1 - 1e-15)
    if by_majority:
        return np.maximum((2 * shares - 1) * np.asarray(votes, float), 0)
    return np.maximum(np.log(np.maximum(shares, 1e-300)) - np.log1p(-shares), 0)


def settled_error(
    coefficients: Sequence[float], by_majority: bool, probability: float, votes: int
) -> float:
    """Return the error of one settled label. coefficients: a, b and c of its campaign."""
    terms = _terms(settled_margins([probability], [votes], by_majority), [votes])
    # The last digits differ from machine to machine.
    return round(float(_logistic(terms @ np.array(coefficients))[0]), DIGITS)


def cross_fitted(evidence: Evidence, folds: int = 5) -> Floats:
    """Return (N,) the error of each label, by a model fitted on the other folds (interleaved)."""
    errors = np.zeros(len(evidence.wrong))
    for first in range(min(folds, len(errors))):
        fold = np.zeros(len(errors), bool)
        fold[first::folds] = True
        columns = (evidence.margins, evidence.votes, evidence.wrong)
        model = fit(*(column[~fold] for column in columns))
        errors[fold] = model.error(evidence.margins[fold], evidence.votes[fold])
    return errors


def _terms(margins: ArrayLike, votes: ArrayLike) -> Floats:
    """Return (N, 3): what a, b and c are multiplied with."""
    margins, votes = np.asarray(margins, float), np.asarray(votes, float)
    return np.column_stack([np.ones(len(margins)), -np.log1p(margins), np.log(votes / 3)])


def _derivatives(
    terms: Floats, target: Floats, weight: Floats, at: Floats
) -> tuple[Floats, Floats]:
    rates = _logistic(terms @ at)
    gradient = terms.T @ (weight * (rates - target))
    hessian = (terms * (weight * rates * (1 - rates))[:, None]).T @ terms
    return gradient, hessian


def _interval_of_mean(
    terms: Floats, means: Floats, covariance: Floats, generator: np.random.Generator
) -> tuple[float, float]:
    """Return the 90 % interval of the share that is wrong: draw coefficients, then a binomial
    count.
    """
    drawn = generator.multivariate_normal(means, covariance, DRAWS)
    drawn[:, 1] = np.maximum(drawn[:, 1], 0)
    rates = np.array([_logistic(terms @ draw).mean() for draw in drawn])
    shares = generator.binomial(len(terms), rates) / max(len(terms), 1)
    low, high = np.quantile(shares, [0.05, 0.95])
    return float(low), float(high)


def _logistic(linear: Floats) -> NDArray[np.float64]:
    return np.asarray(1 / (1 + np.exp(-np.clip(linear, -700, 700))))
