"""Vote tables: P(good | yes, no) from calibration images."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.stats import hypergeom

from labeling.estimators.vote_tables import (
    STRENGTH,
    VoteTable,
    independent,
    learn_vote_tables,
    monotone,
    pool,
    sub_votes,
)
from tests.cases import for_each, for_seeds


def pilot(images: int, hit: float, alarm: float, prevalence: float, seed: int, votes: int = 10):
    """yes, no and good of images on which everybody votes independently."""
    rng = np.random.default_rng(seed)
    good = rng.random(images) < prevalence
    yes = rng.binomial(votes, np.where(good, hit, alarm))
    return yes, votes - yes, good


def test_sub_votes_of_an_image_on_paper():
    # Two yes, one no. Of its three pairs one is yes-yes and two are yes-no.
    good, weight = sub_votes(np.array([2]), np.array([1]), np.array([1.0]), 3)

    expected = np.zeros((4, 4))
    expected[0, 0] = 1
    expected[1, 0], expected[0, 1] = 2 / 3, 1 / 3
    expected[2, 0], expected[1, 1] = 1 / 3, 2 / 3
    expected[2, 1] = 1
    assert weight == pytest.approx(expected)
    assert good == pytest.approx(expected)


@for_seeds(5)
def test_sub_votes_are_those_of_every_subset(seed):
    rng = np.random.default_rng(seed)
    yes, no = rng.integers(0, 5, 6), rng.integers(0, 5, 6)
    good, size = rng.random(6), 5
    expected_good, expected = np.zeros((size + 1, size + 1)), np.zeros((size + 1, size + 1))
    for y, n, g in zip(yes.tolist(), no.tolist(), good.tolist(), strict=True):
        votes = [1] * y + [0] * n
        for m in range(min(size, len(votes)) + 1):
            subsets = list(itertools.combinations(votes, m))
            for subset in subsets:
                expected[sum(subset), m - sum(subset)] += 1 / len(subsets)
                expected_good[sum(subset), m - sum(subset)] += g / len(subsets)

    got_good, got = sub_votes(yes, no, good, size)

    assert got == pytest.approx(expected)
    assert got_good == pytest.approx(expected_good)


def test_shares_of_sub_votes_are_hypergeometric_also_for_many_votes():
    _, weight = sub_votes(np.array([300]), np.array([200]), np.array([1.0]), 25)

    for y, n in ((0, 0), (3, 1), (12, 13), (25, 0)):
        assert weight[y, n] == pytest.approx(hypergeom(500, 300, y + n).pmf(y), rel=1e-9)


def test_a_cell_without_the_monotone_step_is_weight_and_prior():
    yes, no, good = pilot(40, 0.9, 0.2, 0.5, seed=0)
    weight_good, weight = sub_votes(yes, no, good.astype(float), 5)
    prior = independent(yes, no, good.astype(float), 5)
    cells = (weight_good + STRENGTH * prior) / (weight + STRENGTH)

    table = learn_vote_tables(yes, no, good, size=5)[""]

    # Votes this good leave nothing to mend in the first cells.
    assert table.probability(0, 0) == pytest.approx(cells[0, 0])
    assert table.probability(2, 0) == pytest.approx(cells[2, 0])
    assert table.images == 40


def test_the_prior_is_bayes_rule_with_the_crowds_rates():
    yes, no = np.array([9, 1, 8]), np.array([1, 9, 2])
    good = np.array([1.0, 0.0, 1.0])
    hit, alarm, prevalence = 17.5 / 21, 1.5 / 11, 2.5 / 4

    got = independent(yes, no, good, 3)

    for y, n in ((0, 0), (2, 1), (0, 3)):
        present = prevalence * hit**y * (1 - hit) ** n
        absent = (1 - prevalence) * alarm**y * (1 - alarm) ** n
        assert got[y, n] == pytest.approx(present / (present + absent))


@for_seeds(10)
def test_tables_rise_with_yes_and_fall_with_no(seed):
    rng = np.random.default_rng(seed)
    yes = rng.integers(0, 15, 30)
    no = rng.integers(0, 15, 30)
    # Truth by chance: as far from monotone as it gets.
    tables = learn_vote_tables(
        yes, no, rng.random(30) < 0.5, [f"c{i % 3}" for i in range(30)], size=12
    )

    for table in tables.values():
        for y in range(12):
            for n in range(12 - y):
                assert table.probability(y + 1, n) >= table.probability(y, n)
                assert table.probability(y, n + 1) <= table.probability(y, n)
                assert 0 <= table.probability(y, n) <= 1


def test_rising_sequences_are_those_of_scikit_learn():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(0)
    for _ in range(50):
        values, weights = rng.random(12), rng.uniform(0.1, 3, 12)
        expected = IsotonicRegression().fit_transform(np.arange(12), values, sample_weight=weights)
        assert pool(values, weights) == pytest.approx(expected)


@for_seeds(5)
def test_the_monotone_table_is_the_nearest_one(seed):
    from scipy.optimize import minimize

    rng = np.random.default_rng(seed)
    size = 4
    cells, weights = rng.random((size, size)), rng.uniform(0.2, 3, (size, size))
    inside = [(y, n) for y in range(size) for n in range(size - y)]
    index = {cell: at for at, cell in enumerate(inside)}
    rules = []
    for y, n in inside:
        for neighbour, sign in (((y + 1, n), 1), ((y, n + 1), -1)):
            if neighbour in index:
                a, b = index[(y, n)], index[neighbour]
                rules.append(lambda x, a=a, b=b, sign=sign: sign * (x[b] - x[a]))
    values = np.array([cells[cell] for cell in inside])
    mass = np.array([weights[cell] for cell in inside])
    best = minimize(
        lambda x: (mass * (x - values) ** 2).sum(),
        np.full(len(inside), 0.5),
        jac=lambda x: 2 * mass * (x - values),
        constraints=[{"type": "ineq", "fun": rule} for rule in rules],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )

    got = monotone(cells, weights)

    assert [got[cell] for cell in inside] == pytest.approx(best.x, abs=1e-5)


def test_what_is_monotone_already_stays():
    cells = np.array([[0.5, 0.4, 0.2], [0.6, 0.5, 0.0], [0.9, 0.0, 0.0]])

    got = monotone(cells, np.ones((3, 3)))

    for y in range(3):
        assert got[y, : 3 - y] == pytest.approx(cells[y, : 3 - y])


def test_an_easy_class_needs_fewer_votes_than_a_hard_one():
    easy, hard = pilot(400, 0.99, 0.01, 0.6, 1), pilot(400, 0.8, 0.25, 0.6, 2)
    yes, no, good = (np.concatenate(parts) for parts in zip(easy, hard, strict=True))
    tables = learn_vote_tables(yes, no, good, ["cat"] * 400 + ["Burmese cat"] * 400)

    def needed(table):
        return next(votes for votes in range(2, 11) if table.probability(votes, 0) >= 0.97)

    assert needed(tables["cat"]) == 2
    assert needed(tables["Burmese cat"]) >= 3
    assert tables["cat"].images == 400
    assert tables[""].images == 800


def test_tables_of_independent_voters_find_the_true_probabilities():
    yes, no, good = pilot(20_000, 0.85, 0.2, 0.3, seed=3)
    table = learn_vote_tables(yes, no, good, size=6)[""]

    for y, n in itertools.product(range(4), range(3)):
        present, absent = 0.3 * 0.85**y * 0.15**n, 0.7 * 0.2**y * 0.8**n
        assert table.probability(y, n) == pytest.approx(present / (present + absent), abs=0.02)


def test_a_topic_with_a_small_pilot_stays_near_all_topics():
    yes, no, good = pilot(500, 0.9, 0.1, 0.5, seed=4)
    # One image that four fifths called good, and is not.
    tables = learn_vote_tables(
        np.append(yes, 8), np.append(no, 2), np.append(good, False), ["many"] * 500 + ["one"]
    )

    everything, single = tables[""].probability(2, 0), tables["one"].probability(2, 0)
    assert 0.5 * everything < single < everything
    assert everything == pytest.approx(tables["many"].probability(2, 0), abs=0.01)


def test_without_known_answers_the_images_own_majorities_teach_and_ties_do_not():
    yes, no = np.array([9, 1, 8, 5, 4]), np.array([1, 9, 2, 5, 4])

    got = learn_vote_tables(yes, no)
    expected = learn_vote_tables(yes[:3], no[:3], [True, False, True])

    assert got == expected
    assert got[""].images == 3


def test_only_images_with_ten_votes_and_a_known_answer_teach():
    yes, no, good = np.array([9, 9, 0, 5]), np.array([1, 0, 10, 5]), [1.0, 0.0, 0.0, math.nan]

    assert learn_vote_tables(yes, no, good)[""].images == 2
    assert learn_vote_tables(yes, no, good, calibration_votes=9)[""].images == 3
    with pytest.raises(ValueError, match="known answer and 10 votes or more"):
        learn_vote_tables(yes[1:2], no[1:2], good[1:2])
    with pytest.raises(ValueError, match="no image"):
        learn_vote_tables([], [])


def test_doubtful_truth_counts_by_its_probability():
    certain = learn_vote_tables([9, 9], [1, 1], [1, 0])
    doubtful = learn_vote_tables([9, 9], [1, 1], [0.5, 0.5])

    for y, n in ((0, 0), (3, 0), (2, 2)):
        assert certain[""].probability(y, n) == pytest.approx(doubtful[""].probability(y, n))


def test_a_crowd_that_is_worse_than_chance_turns_no_table_round():
    yes, no, good = pilot(50, 0.1, 0.9, 0.5, seed=5)
    table = learn_vote_tables(yes, no, good)[""]

    assert table.probability(5, 0) >= table.probability(0, 5)


def table_of(**cells: float) -> VoteTable:
    rows = [[0.5] * (5 - y) for y in range(5)]
    for name, value in cells.items():
        rows[int(name[1])][int(name[2])] = value
    return VoteTable(tuple(tuple(row) for row in rows), 10)


def test_votes_beyond_the_table_are_refused():
    with pytest.raises(ValueError, match="3 yes and 2 no are not in a table for up to 4 votes"):
        table_of().probability(3, 2)
    with pytest.raises(ValueError, match="-1 yes"):
        table_of().probability(-1, 0)


def test_more_votes_than_the_table_knows_are_the_mean_of_their_sub_votes():
    table = learn_vote_tables(*pilot(40, 0.9, 0.2, 0.4, seed=5), size=4)[""]

    votes = [True] * 5 + [False] * 2
    drawn = [sum(some) for some in itertools.combinations(votes, 4)]

    assert table.expected(5, 2) == pytest.approx(
        np.mean([table.probability(yes, 4 - yes) for yes in drawn])
    )
    assert table.expected(3, 1) == table.probability(3, 1)


def test_a_table_comes_back_from_json_to_the_bit():
    yes, no, good = pilot(30, 0.9, 0.2, 0.4, seed=6)
    table = learn_vote_tables(yes, no, good)[""]

    assert VoteTable.from_dict(json.loads(json.dumps(table.as_dict()))) == table


@for_each(
    "content",
    [{}, {"cells": [], "images": 1}, {"cells": [[0.5, 0.5], [0.5, 0.5]], "images": 1},
     {"cells": [[0.5, 1.5], [0.5]], "images": 1}, {"cells": [["x"]], "images": 1},
     {"cells": [[float("nan")]], "images": 1}, {"cells": None, "images": 1}],
)  # fmt: skip
def test_what_is_no_table_is_refused(content):
    with pytest.raises(ValueError, match=r"vote table|could not convert"):
        VoteTable.from_dict(content)


def test_a_thousand_topics_are_learned_within_seconds():
    import time

    yes, no, good = pilot(30_000, 0.9, 0.1, 0.5, seed=7)
    start = time.process_time()
    tables = learn_vote_tables(yes, no, good, [f"c{i % 1000}" for i in range(30_000)], size=9)

    assert len(tables) == 1001
    assert time.process_time() - start < 30
