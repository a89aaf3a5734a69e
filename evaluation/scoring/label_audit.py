"""Doubtful labels: those that votes, predictions and near duplicates contradict. Pure.

Confident learning's normalized margin (Northcutt et al. 2021). Raters are annotators, classifiers
and near duplicates with their labels. A rater's confusions are counted against the labels of the
other items, so a label is not evidence for itself. We do not use cleanlab, because it is AGPL,
needs pandas and scikit-learn, and cannot mix votes with classes that have no probabilities.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
# Weight of the prior in each row of confusions, in answers.
PRIOR = 8.0


@dataclass(frozen=True)
class Doubts:
    """margins: (I,) log-likelihood of the label minus that of the likeliest other class; the lower,
    the more doubtful. likeliest: (I,) that class, -1 if no rater named another.
    """

    margins: NDArray[np.float64]
    likeliest: Ints

    def ranked(self) -> Ints:
        """Return the items, the most doubtful first; ties by index."""
        return np.argsort(self.margins, kind="stable")


def doubts(labels: Ints, raters: Ints, items: Ints, answers: Ints, n_classes: int) -> Doubts:
    """Return how doubtful each label is.

    labels: (I,) classes. raters, items, answers: (N,) rater, item and class of each answer.
    """
    count, classes = len(labels), max(2, n_classes)
    right = answers == labels[items]
    seen = np.bincount(raters).astype(float)
    hits = np.bincount(raters, right)
    # With Laplace smoothing, without the item itself.
    accuracy = (hits[raters] - right + 1) / (seen[raters] + 1)
    pairs = [items * classes + answers, np.arange(count) * classes + labels]
    candidates = np.unique(np.concatenate(pairs))
    owner, candidate = candidates // classes, candidates % classes
    first = np.searchsorted(owner, np.arange(count + 1))
    # Pair each answer with each candidate class of its item.
    sizes = np.diff(first)[items]
    row = np.repeat(np.arange(len(items)), sizes)
    pair_candidates = (
        first[items][row] + np.arange(len(row)) - np.repeat(sizes.cumsum() - sizes, sizes)
    )
    truth = candidate[pair_candidates]
    by_label, by_truth = raters * classes + labels[items], raters[row] * classes + truth
    is_own_label = truth == labels[items][row]
    confusions = (
        _count(by_label * classes + answers, by_truth * classes + answers[row]) - is_own_label
    )
    total = _count(by_label, by_truth) - is_own_label
    wrong = (1 - accuracy) / (classes - 1)
    prior = np.where(answers[row] == truth, accuracy[row], wrong[row])
    likelihood = np.log((confusions + PRIOR * prior) / (total + PRIOR))
    score = np.bincount(pair_candidates, likelihood, minlength=len(candidates))
    # The score of a class that no rater named: every answer is wrong.
    best = np.bincount(items, np.log(wrong), minlength=count)
    likeliest = np.full(count, -1)
    is_label = candidate == labels[owner]
    for index in np.flatnonzero(~is_label):
        item = owner[index]
        if score[index] > best[item] or likeliest[item] < 0:
            best[item], likeliest[item] = max(score[index], best[item]), candidate[index]
    return Doubts(score[is_label] - best, likeliest)


def _count(entries: Ints, queries: Ints) -> NDArray[np.float64]:
    """Return how often each query is among the entries."""
    keys, counts = np.unique(entries, return_counts=True)
    if not len(keys):
        return np.zeros(len(queries))
    at = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.where(keys[at] == queries, counts[at], 0).astype(float)
