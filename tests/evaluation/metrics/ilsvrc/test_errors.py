"""Top-k and hierarchical errors, against the definition written out."""

import numpy as np
import pytest

from evaluation.metrics.ilsvrc import errors
from evaluation.metrics.ilsvrc.errors import hierarchical_errors, shared_heights, wrong_at


def some_classes(wordnet, count: int, seed: int) -> list[int]:
    """Leaves and synsets above them, some of several parents."""
    rng = np.random.default_rng(seed)
    under = np.flatnonzero(wordnet.depth >= 0)
    joint = under[np.diff(wordnet.up_start)[under] > 1]
    chosen = [*rng.choice(under, count - count // 3, False), *rng.choice(joint, count // 3, False)]
    return [int(i) for i in dict.fromkeys(chosen)]


def height(wordnet, index: int, heights: dict[int, int]) -> int:
    if index not in heights:
        below = (height(wordnet, i, heights) + 1 for i in wordnet.hyponyms(index))
        heights[index] = max(below, default=0)
    return heights[index]


def cost(wordnet, a: int, b: int, heights: dict[int, int]) -> int:
    if a == b:
        return 0
    common = wordnet.ancestors(a) & wordnet.ancestors(b)
    return min(height(wordnet, i, heights) for i in common)


def test_costs_are_the_least_height_of_a_common_ancestor(wordnet):
    rows, columns = some_classes(wordnet, 30, 0), some_classes(wordnet, 24, 1)
    columns += rows[:3] + wordnet.hypernyms(rows[5])
    heights: dict[int, int] = {}

    least_heights = shared_heights(wordnet, rows, columns)

    assert least_heights.tolist() == [[cost(wordnet, a, b, heights) for b in columns] for a in rows]
    assert least_heights.tolist() == shared_heights(wordnet, columns, rows).T.tolist()


def test_a_class_below_another_costs_the_height_of_the_upper_one(wordnet):
    dog, poodle, cat = (wordnet.find(label) for label in ("dog.n.01", "poodle", "cat.n.01"))

    least_heights = shared_heights(wordnet, [dog], [poodle, dog, cat])[0].tolist()

    carnivore = wordnet.heights[wordnet.find("carnivore.n.01")]
    assert least_heights == [wordnet.heights[dog], 0, carnivore]


@pytest.mark.parametrize("block", [1, 7, 2000])
def test_errors_equal_a_plain_loop(wordnet, monkeypatch, block):
    monkeypatch.setattr(errors, "_BLOCK", block)
    classes = some_classes(wordnet, 25, 2)
    rng = np.random.default_rng(3)
    truth = rng.integers(0, len(classes), 60)
    predicted = rng.integers(-1, len(classes), (60, 7)).astype(np.int32)
    predicted[5] = -1
    predicted[6, :4] = -1
    heights: dict[int, int] = {}
    entity = int(wordnet.heights[wordnet.index("n00001740")])

    measured = hierarchical_errors(wordnet, classes, truth, predicted)

    expected = []
    for i in range(60):
        costs = [entity]
        for j in predicted[i, :5].tolist():
            if j >= 0:
                costs.append(cost(wordnet, classes[truth[i]], classes[j], heights))
        expected.append(min(costs))
    assert measured.tolist() == expected
    assert measured[5] == entity


def test_no_prediction_at_all_costs_the_height_of_entity(wordnet):
    classes = some_classes(wordnet, 4, 4)

    for width in (0, 3):
        absent = np.full((2, width), -1, np.int32)
        assert len(set(hierarchical_errors(wordnet, classes, np.array([0, 1]), absent))) == 1
    assert len(hierarchical_errors(wordnet, classes, np.zeros(0, int), absent[:0])) == 0


def test_the_class_counts_as_found_only_among_the_first_k():
    truth = np.array([4, 4, 4, 4])
    predicted = np.array([[4, 1, 2], [1, 4, 2], [1, 2, 4], [-1, -1, -1]])

    assert wrong_at(truth, predicted, 1).tolist() == [False, True, True, True]
    assert wrong_at(truth, predicted, 2).tolist() == [False, False, True, True]
    assert wrong_at(truth, predicted, 5).tolist() == [False, False, False, True]
