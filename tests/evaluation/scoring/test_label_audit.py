"""Doubtful labels: contradicted ones come first, and a label is no evidence for itself."""

import math

import numpy as np
import pytest

from evaluation.scoring.label_audit import PRIOR, doubts
from tests.cases import for_seeds
from tests.labeling.crowds import real_crowd, votes_of_each


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def table(answers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """raters, items and answers of an (I, R) array; -1 for no answer."""
    items, raters = np.nonzero(answers >= 0)
    return raters, items, answers[items, raters]


def test_an_example_worked_on_paper():
    """One rater, three items labeled 0, 0, 1, answers 0, 1, 1; two classes."""
    outcome = doubts(ints(0, 0, 1), ints(0, 0, 0), ints(0, 1, 2), ints(0, 1, 1), 2)

    # Item 1 without itself: both other answers are right, so accuracy is (2 + 1) / (3 + 1).
    # If it is 0: nobody else of class 0 said 1. If it is 1: item 2 did.
    right = (1 + PRIOR * 3 / 4) / (1 + PRIOR)
    wrong = (0 + PRIOR * 1 / 4) / (1 + PRIOR)
    assert outcome.margins[1] == pytest.approx(math.log(wrong / right))
    assert outcome.likeliest.tolist() == [-1, 1, -1]
    assert outcome.ranked().tolist()[0] == 1


def slow(labels, raters, items, answers, classes):
    """The same in plain loops."""
    margins = []
    for item, label in enumerate(labels):
        scores = {}
        mine = [at for at in range(len(items)) if items[at] == item]
        for truth in {label, *(answers[at] for at in mine), None}:
            score = 0.0
            for at in mine:
                theirs = [b for b in range(len(items)) if raters[b] == raters[at]]
                rest = [b for b in theirs if items[b] != item]
                hits = sum(answers[b] == labels[items[b]] for b in rest)
                accuracy = (hits + 1) / (len(theirs) + 1)
                wrong = (1 - accuracy) / (classes - 1)
                same = [b for b in rest if labels[items[b]] == truth]
                cell = sum(answers[b] == answers[at] for b in same)
                prior = accuracy if answers[at] == truth else wrong
                shared = math.log((cell + PRIOR * prior) / (len(same) + PRIOR))
                score += math.log(wrong) if truth is None else shared
            scores[truth] = score
        margins.append(scores.pop(label) - max(scores.values()))
    return margins


@for_seeds(4)
def test_it_agrees_with_plain_loops(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 25)
    answers = np.where(rng.random((25, 5)) < 0.6, rng.integers(0, 4, (25, 5)), -1)
    parts = table(answers)

    assert doubts(labels, *parts, 4).margins == pytest.approx(slow(labels, *parts, 4))


def test_items_without_answers_and_nothing_at_all():
    none = ints()
    assert doubts(ints(0, 1), none, none, none, 2).margins.tolist() == [0, 0]
    assert doubts(none, none, none, none, 0).ranked().tolist() == []
    assert doubts(ints(0, 0), ints(0), ints(1), ints(0), 1).likeliest.tolist() == [-1, -1]


@for_seeds(3)
def test_flipped_labels_are_among_the_first_tenth(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 20, 1_000)
    flipped = rng.permutation(1_000) < 50
    labels = np.where(flipped, (truth + rng.integers(1, 20, 1_000)) % 20, truth)
    wrong = rng.random((1_000, 3)) < 0.3
    answers = np.where(wrong, rng.integers(0, 20, (1_000, 3)), truth[:, None])

    first = doubts(labels, *table(answers), 20).ranked()[:100]

    assert flipped[first].sum() >= 45


@pytest.mark.parametrize("folder", ["bluebirds", "crowds/dogs"])
def test_votes_alone_find_twice_as_many_errors_as_chance(folder):
    answers, truth = real_crowd(folder)
    precise, chance = [], []
    for seed in range(20):
        drawn = votes_of_each(answers, 5, seed)
        parts = [part.astype(np.int64) for part in (drawn.annotators, drawn.items, drawn.labels)]
        counts = np.zeros((len(truth), len(drawn.classes)))
        np.add.at(counts, (drawn.items, drawn.labels), 1)
        labels = counts.argmax(axis=1)
        first = doubts(labels, *parts, len(drawn.classes)).ranked()[: len(truth) // 10]
        precise.append((labels != truth)[first].mean())
        chance.append((labels != truth).mean())

    assert np.mean(precise) >= 2 * np.mean(chance)
