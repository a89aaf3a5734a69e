"""Majority, and Bayes' rule with known skills."""

import itertools
import math
import random
from collections import Counter

import numpy as np
import pytest

from labeling.estimators.aggregation import (
    AnsweredTwice,
    AnswerTable,
    majority,
    pick,
    posterior,
    posterior_binary,
    vote_gains,
)
from tests.cases import for_seeds
from tests.labeling import crowds


def labels_of(rows):
    answers = AnswerTable.from_rows(rows)
    labels, _, ties = majority(answers)
    names = [answers.classes[label] if label >= 0 else None for label in labels]
    return dict(zip(answers.item_names, names, strict=True)), int(ties.sum())


def rows_of(votes: dict[str, list[str]]):
    return [
        (f"p{number}", item, vote)
        for item, labels in votes.items()
        for number, vote in enumerate(labels)
    ]


def test_answers_are_sorted_by_item_then_annotator_whatever_their_order():
    rows = [("b", "2", "x"), ("a", "2", "y"), ("b", "1", "y"), ("c", "10", "")]
    for order in itertools.permutations(rows):
        answers = AnswerTable.from_rows(order)

        assert answers.annotator_names == ("a", "b", "c")
        assert answers.item_names == ("1", "10", "2")
        assert answers.classes == ("x", "y")
        assert answers.items.tolist() == [0, 2, 2]
        assert answers.annotators.tolist() == [1, 0, 1]
        assert answers.labels.tolist() == [1, 1, 0]


def test_an_annotator_twice_on_an_item_is_refused_also_with_an_abstention():
    with pytest.raises(AnsweredTwice, match=r"'ann' answers 'b' twice \(rows 0 and 2\)") as caught:
        AnswerTable.from_rows([("ann", "b", "x"), ("ann", "a", "x"), ("ann", "b", "")])

    assert (caught.value.first, caught.value.row) == (0, 2)


def test_of_three_answers_the_first_repetition_is_named():
    rows = [("z", "z", "x"), ("a", "a", "x"), ("z", "z", "x"), ("a", "a", "y"), ("z", "z", "x")]

    with pytest.raises(AnsweredTwice) as caught:
        AnswerTable.from_rows(rows)

    assert (caught.value.first, caught.value.row) == (0, 2)


def test_the_majority_of_an_example_on_paper():
    labels, ties = labels_of(rows_of({"a": ["yes", "yes", "no"], "b": ["no"], "c": ["no", "no"]}))

    assert (labels, ties) == ({"a": "yes", "b": "no", "c": "no"}, 0)


def test_a_tie_goes_to_the_commoner_class_and_is_counted():
    labels, ties = labels_of(rows_of({"a": ["yes", "no"], "b": ["yes"], "c": ["no", "yes"]}))

    assert (labels, ties) == ({"a": "yes", "b": "yes", "c": "yes"}, 2)


def test_a_tie_of_equally_common_classes_goes_to_the_smaller_string():
    labels, ties = labels_of(rows_of({"a": ["10", "9"], "b": ["9", "10"]}))

    assert (labels, ties) == ({"a": "10", "b": "10"}, 2)


def test_a_third_class_that_is_commonest_wins_no_tie_it_is_not_part_of():
    labels, ties = labels_of(rows_of({"a": ["x", "y"], "b": ["z"], "c": ["z"]}))

    assert (labels, ties) == ({"a": "x", "b": "z", "c": "z"}, 1)


def test_a_given_prior_decides_ties_before_commonness():
    answers = AnswerTable.from_rows(rows_of({"a": ["x", "y"], "b": ["x"]}))

    assert majority(answers)[0].tolist() == [0, 0]
    assert majority(answers, prior=[0.1, 0.9])[0].tolist() == [1, 0]


def test_an_item_with_abstentions_only_has_no_label_and_no_tie():
    answers = AnswerTable.from_rows([("a", "x", ""), ("a", "y", "yes"), ("b", "x", None)])
    labels, shares, ties = majority(answers)

    assert answers.item_names == ("x", "y")
    assert labels.tolist() == [-1, 0]
    assert np.isnan(shares[0]).all()
    assert not ties.any()


@pytest.mark.parametrize("rows", [[], [("a", "x", "")]])
def test_no_answers_at_all_give_no_labels(rows):
    answers = AnswerTable.from_rows(rows)
    labels, shares, ties = majority(answers)

    assert labels.tolist() == [-1] * len(rows)
    assert shares.shape == (len(rows), 0)
    assert not ties.any()


@for_seeds(20)
def test_the_majority_is_that_of_a_plain_count(seed):
    rng = random.Random(seed)
    rows = [
        (person, image, rng.choice(["", "a", "b", "c"]))
        for person in "klmnopq"
        for image in "12345678"
    ]
    rng.shuffle(rows)
    votes: dict[str, Counter] = {image: Counter() for image in "12345678"}
    for _, image, answer in rows:
        if answer:
            votes[image][answer] += 1
    common = sum(votes.values(), Counter())
    expected = {
        image: min(count, key=lambda c, n=count: (-n[c], -common[c], c)) if count else None
        for image, count in votes.items()
    }
    tied = sum(list(count.values()).count(max(count.values())) > 1 for count in votes.values())

    assert labels_of(rows) == (expected, tied)


def test_probabilities_that_differ_in_their_last_digits_only_are_a_tie():
    labels, ties = pick(np.array([[0.5 + 1e-14, 0.5 - 1e-14], [0.6, 0.4]]), [0.2, 0.8])

    assert labels.tolist() == [1, 0]
    assert ties.tolist() == [True, False]


def test_votes_that_make_every_class_impossible_say_nothing():
    sure = [[1.0, 0.0], [0.0, 1.0]]

    batch = posterior(
        np.array([0, 0]),
        np.array([0, 0]),
        np.array([0, 1]),
        n_items=1,
        confusions=np.array([sure]),
        prior=np.array([0.7, 0.3]),
    )
    assert batch.tolist() == [[0.7, 0.3]]


def test_a_hundred_thousand_votes_neither_overflow_nor_vanish():
    many = np.zeros(100_000, int)
    skills = np.array([[[0.9, 0.1], [0.1, 0.9]]])

    got = posterior(many, many, many + 1, n_items=1, confusions=skills, prior=np.array([0.5, 0.5]))

    assert got.tolist() == [[0.0, 1.0]]
    assert posterior_binary(0.5, [vote_gains(0.9, 0.1)[1]] * 100_000) == 0.0


@for_seeds(5)
def test_posteriors_and_log_odds_are_bayes_rule(seed):
    crowd = crowds.crowd(seed, classes=2)
    prior = np.array([0.7, 0.3])
    sizes = crowd.sizes

    batch = posterior(
        crowd.annotators,
        crowd.items,
        crowd.labels,
        n_items=sizes["n_items"],
        confusions=crowd.confusions,
        prior=prior,
    )

    for item in range(sizes["n_items"]):
        rows = np.flatnonzero(crowd.items == item)
        skills = crowd.confusions[crowd.annotators[rows]]
        votes = crowd.labels[rows].tolist()
        # The rule itself, without logs.
        joint = [
            prior[k] * math.prod(s[k, v] for s, v in zip(skills, votes, strict=True))
            for k in (0, 1)
        ]
        expected = [value / sum(joint) for value in joint]
        gains = [
            vote_gains(s[1, 1], s[0, 1])[1 - vote] for s, vote in zip(skills, votes, strict=True)
        ]
        assert batch[item] == pytest.approx(expected, rel=1e-9)
        assert posterior_binary(0.3, gains) == pytest.approx(expected[1], rel=1e-9)


def test_three_classes_with_a_prior_for_each_item():
    crowd = crowds.crowd(1)
    prior = np.random.default_rng(0).dirichlet(np.ones(3), crowd.sizes["n_items"])
    got = posterior(
        crowd.annotators,
        crowd.items,
        crowd.labels,
        n_items=crowd.sizes["n_items"],
        confusions=crowd.confusions,
        prior=prior,
    )
    expected = prior.copy()
    for who, item, label in zip(crowd.annotators, crowd.items, crowd.labels, strict=True):
        expected[item] *= crowd.confusions[who, :, label]

    assert got == pytest.approx(expected / expected.sum(axis=1, keepdims=True), rel=1e-9)


def test_majority_gets_82_of_the_108_bluebirds():
    answers, truth = crowds.bluebirds()

    assert (majority(answers)[0] == truth).sum() == 82
