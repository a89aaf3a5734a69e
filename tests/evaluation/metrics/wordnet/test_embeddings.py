"""From word vectors to synsets: the appendix's rules on small vocabularies."""

import numpy as np
import pytest

from evaluation.metrics.wordnet import embeddings
from evaluation.metrics.wordnet.embeddings import label_vectors, nearest_labels, term_labels

TERMS = ["crane", "Ballroom", "dance_hall", "dance hall", "unknown word", "bird"]


@pytest.fixture
def labels(wordnet) -> list[int]:
    """Both cranes of ILSVRC, a ballroom and a bird."""
    cranes = [wordnet.index("n02012849"), wordnet.index("n03126707")]
    return [*cranes, wordnet.find("ballroom"), wordnet.find("bird.n.01")]


def test_a_term_stands_for_all_its_synsets(wordnet, labels):
    assert term_labels(wordnet, TERMS, labels) == [[0, 1], [2], [2], [2], [], [3]]


def test_synsets_are_expanded_once_in_the_order_of_similarity(wordnet, labels):
    vectors = np.array([[1, 0.3], [1, 0.1], [1, 0], [1, 0.2], [1, -0.05], [0, 1]], float)
    labels_of_term = term_labels(wordnet, TERMS, labels)

    # By cosine to (1, 0): dance hall, unknown, ballroom, dance hall again, crane, bird.
    nearest = nearest_labels(np.array([[2.0, 0]]), vectors, labels_of_term, 4, nearest=6)
    assert nearest.tolist() == [[2, 0, 1, 3]]

    assert nearest_labels(np.array([[2.0, 0]]), vectors, labels_of_term, 4, nearest=4).tolist() == [
        [2, -1, -1, -1]
    ]
    assert nearest_labels(np.array([[2.0, 0]]), vectors, labels_of_term, 2, nearest=6).tolist() == [
        [2, 0]
    ]


def test_four_terms_are_looked_at_for_each_prediction():
    vectors = np.array([[1, i / 10] for i in range(6)])
    labels_of_term = [[], [], [], [8], [9], [10]]

    assert nearest_labels(np.array([[1.0, 0]]), vectors, labels_of_term, 1).tolist() == [[8]]
    assert nearest_labels(np.array([[1.0, 0]]), vectors, [[], *labels_of_term], 1, 4).tolist() == [
        [-1]
    ]


@pytest.mark.parametrize("held", [1, 10_000_000])
def test_the_search_equals_a_plain_sort(monkeypatch, held):
    monkeypatch.setattr(embeddings, "_MAX_IN_MEMORY", held)
    rng = np.random.default_rng(0)
    # Few values: equal similarities are frequent, and go by the order of terms.
    terms = rng.integers(-1, 2, (40, 3)) + np.array([0, 0, 2.5])
    queries = rng.normal(size=(9, 3))
    labels_of_term = [sorted(rng.choice(15, rng.integers(0, 4), False).tolist()) for _ in terms]

    nearest = nearest_labels(queries, terms, labels_of_term, 5)

    for query, row in zip(queries, nearest.tolist(), strict=True):
        near = terms @ query / np.linalg.norm(terms, axis=1) / np.linalg.norm(query)
        order = sorted(range(40), key=lambda t: (-round(float(near[t]), 12), t))[:20]
        expected = list(dict.fromkeys(label for t in order for label in labels_of_term[t]))[:5]
        assert row == expected + [-1] * (5 - len(expected))


def test_a_synset_is_its_first_term_a_random_one_or_the_mean(wordnet, labels):
    vectors = {"dance_palace": np.array([0.0, 2]), "Ballroom": np.array([4.0, 0])}

    first = label_vectors(wordnet, labels, vectors)
    assert first[2].tolist() == [4, 0]
    assert np.isnan(first[[0, 1, 3]]).all()
    assert label_vectors(wordnet, labels, vectors, "mean")[2].tolist() == [2, 1]
    drawn = {
        tuple(label_vectors(wordnet, labels, vectors, "random", np.random.default_rng(i))[2])
        for i in range(20)
    }
    assert drawn == {(4, 0), (0, 2)}


def test_a_rule_that_is_none_is_refused(wordnet, labels):
    with pytest.raises(ValueError, match="first, random, mean"):
        label_vectors(wordnet, labels, {}, "last")
    with pytest.raises(ValueError, match="generator"):
        label_vectors(wordnet, labels, {}, "random")
    assert label_vectors(wordnet, labels, {}).shape == (4, 0)


def test_no_terms_and_no_queries_give_nothing():
    assert nearest_labels(np.zeros((2, 3)), np.zeros((0, 3)), [], 2).tolist() == [[-1, -1]] * 2
    assert nearest_labels(np.zeros((0, 3)), np.ones((1, 3)), [[0]], 2).shape == (0, 2)
