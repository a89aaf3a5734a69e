"""The statistics of the tables of a CDS benchmark, in each round of a bootstrap.

The reported value is the statistic of a round that draws each object once, so it and its interval
come from the same formula. arrays.py explains the axes. *Machines* are the classifiers to compare.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.cds import arrays as cs
from evaluation.metrics.cds.arrays import AVERAGINGS, Counts, Floats, ScoreArrays

# Equal scores may differ in their last bits, because they are sums in different orders.
TOLERANCE = 1e-12
ERRORS = ("frames", "whole")
Found = dict[Hashable, NDArray[Any]]


def statistics(scores: ScoreArrays, weights: Counts) -> Found:
    """Return the statistics of every round, each (R, …), under these keys:

    (measure, "content", averaging): (R, K, C); (measure, "part", averaging): (R, P, C); (measure,
    "lowest") and (measure, "highest"): (R, G) index of the classifier that most often has the
    lowest, or highest, median; (measure, "wins", which): (R, G, C) how often; (measure, "ties"):
    (R, G); with a mapping "error" and "mean_error" (R, C), ("errors", averaging, error) and
    (measure, "scores", averaging) (R, K), and (measure, "correlation", averaging, error): (R, 2)
    Pearson and Spearman.
    """
    results: Found = {}
    for measure, values in scores.measures.items():
        by_cell = cs.cells(scores, values, weights)
        averaged = cs.averages(scores, values, weights, by_cell) | winners(scores, by_cell)
        for key, value in averaged.items():
            results[measure, *key] = value
    if scores.wrong is not None:
        results |= _errors(scores, weights)
        for measure in scores.measures:
            for averaging in AVERAGINGS:
                overall = _over_machines(scores, results[measure, "content", averaging])
                results[measure, "scores", averaging] = overall
                for error in ERRORS:
                    pair = (overall, results["errors", averaging, error])
                    results[measure, "correlation", averaging, error] = np.stack(
                        [pearson(*pair), spearman(*pair)], axis=1
                    )
    return results


def resampled(
    make: Callable[[Counts], Found], scores: ScoreArrays, rounds: int, seed: int
) -> Found | None:
    """Return the concatenated results of `make` for every batch of rounds; None for no rounds."""
    batches = [make(weights) for weights in cs.draws(scores, rounds, seed)]
    if not batches:
        return None
    return {key: np.concatenate([batch[key] for batch in batches]) for key in batches[0]}


def interval(samples: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the percentile interval of each statistic in samples (R, …), ignoring NaN."""
    ends = [(1 - level) / 2, (1 + level) / 2]
    if not np.isnan(samples).any():
        low, high = np.quantile(samples, ends, axis=0)
        return low, high
    flat = samples.reshape(len(samples), -1)
    both = np.full((2, flat.shape[1]), np.nan)
    for column, values in enumerate(flat.T):
        known = values[~np.isnan(values)]
        if len(known):
            both[:, column] = np.quantile(known, ends)
    low, high = both.reshape(2, *samples.shape[1:])
    return low, high


def plain(value: float | np.floating[Any]) -> float | None:
    """Return a Python number; None for NaN, which JSON lacks."""
    return None if np.isnan(value) else float(value)


def winners(scores: ScoreArrays, by_cell: Floats) -> dict[tuple[str, ...], Floats]:
    """Return the machines that most often have the lowest, or highest, median of a category.

    by_cell: (R, G, P, K, C). Every part × content scheme is one contest of the machines; a shared
    first place counts for each. Ties go to the smaller (for the highest: larger) mean, then to the
    earlier name.
    """
    machines = sorted(scores.machines, key=lambda c: scores.classifiers[c])
    shape = (*by_cell.shape[:2], -1, len(machines))
    contests = by_cell[..., machines].reshape(shape)
    results: dict[tuple[str, ...], Floats] = {}
    shared = np.zeros(contests.shape[:3], bool)
    for which, sign in (("lowest", 1.0), ("highest", -1.0)):
        signed = np.where(np.isnan(contests), np.inf, sign * contests)
        won = (signed <= signed.min(axis=3, keepdims=True) + TOLERANCE) & np.isfinite(signed)
        shared |= won.sum(axis=3) > 1
        wins = won.sum(axis=2)
        best = _first(wins, np.nan_to_num(cs.mean(sign * contests, 2), nan=np.inf))
        all_wins = np.zeros((*wins.shape[:2], len(scores.classifiers)))
        all_wins[..., machines] = wins
        results[which,] = np.array(machines, float)[best]
        results["wins", which] = all_wins
    results["ties",] = shared.sum(axis=2).astype(float)
    return results


def _first(wins: NDArray[np.int64], means: Floats) -> NDArray[np.int64]:
    """Return the index over axis 2 with most wins, then the smaller mean, then the first."""
    most = wins == wins.max(axis=2, keepdims=True)
    means = np.where(most, means, np.inf)
    fit = most & (means <= means.min(axis=2, keepdims=True) + TOLERANCE)
    return fit.argmax(axis=2)


def _errors(scores: ScoreArrays, weights: Counts) -> Found:
    assert scores.wrong is not None
    assert scores.last_wrong is not None
    seen = (scores.frames > 0).astype(np.int64)
    both = (1, 2)
    whole = cs.shares(scores, scores.last_wrong.sum(both), seen.sum(both), weights)
    results: Found = {"error": cs.median(whole, 1), "mean_error": cs.mean(whole, 1)}
    for error, part, of in (
        ("frames", scores.wrong, scores.frames),
        ("whole", scores.last_wrong, seen),
    ):
        by_scheme = cs.mean(cs.median(cs.shares(scores, part, of, weights), 1), 1)
        pooled = cs.median(cs.shares(scores, part.sum(1), of.sum(1), weights), 1)
        results["errors", "text", error] = _over_machines(scores, by_scheme)
        results["errors", "script", error] = _over_machines(scores, pooled)
    return results


def _over_machines(scores: ScoreArrays, values: Floats) -> Floats:
    """Return the (R, K) mean of (R, K, C) over machines."""
    return cs.mean(values[..., list(scores.machines)], 2)


def pearson(a: Floats, b: Floats) -> Floats:
    """Return (R,) Pearson's r of the rows of a and b, (R, K), where both are known; NaN for
    constants.
    """
    known = ~(np.isnan(a) | np.isnan(b))
    a, b = (np.where(known, x, np.nan) for x in (a, b))
    a, b = (np.nan_to_num(x - cs.mean(x, 1)[:, None]) for x in (a, b))
    squares_a, squares_b = (a * a).sum(1), (b * b).sum(1)
    flat = np.minimum(squares_a, squares_b) <= TOLERANCE**2
    with np.errstate(invalid="ignore", divide="ignore"):
        r: Floats = (a * b).sum(1) / np.sqrt(squares_a * squares_b)
    return np.where(flat, np.nan, np.clip(r, -1, 1))


def spearman(a: Floats, b: Floats) -> Floats:
    """Return (R,) Spearman's ρ of the rows of a and b, as pearson(); ties share their mean rank."""
    known = ~(np.isnan(a) | np.isnan(b))
    return pearson(_ranks(np.where(known, a, np.nan)), _ranks(np.where(known, b, np.nan)))


def _ranks(values: Floats) -> Floats:
    """Return the ranks along axis 1; NaN stays NaN."""
    rounded = values.round(12)
    below = (rounded[:, :, None] > rounded[:, None, :]).sum(2)
    equal = (rounded[:, :, None] == rounded[:, None, :]).sum(2)
    return np.where(np.isnan(values), np.nan, below + (equal + 1) / 2)
