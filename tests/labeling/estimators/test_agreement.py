"""Krippendorff's alpha, agreement beyond chance, calibration."""

import itertools
import warnings

import krippendorff
import numpy as np
import pytest

from labeling.estimators.aggregation import vote_counts
from labeling.estimators.agreement import (
    agreement_beyond_chance,
    calibration_bins,
    krippendorff_alpha,
)
from labeling.estimators.intervals import wilson_interval
from tests.cases import for_each, for_seeds
from tests.labeling import crowds


def kappas(rows, people, items, classes):
    annotators, places, labels = np.array(rows).reshape(-1, 3).T
    return agreement_beyond_chance(
        annotators, places, labels, n_annotators=people, n_items=items, n_classes=classes
    )


def test_alpha_of_krippendorffs_own_example():
    # Krippendorff 2011, example C: four observers, twelve units, five values, missing data.
    data = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]
    counts = [[column.count(value) for value in range(1, 6)] for column in zip(*data, strict=True)]

    assert krippendorff_alpha(counts) == pytest.approx(0.743, abs=5e-4)


@for_seeds(20)
def test_alpha_agrees_with_the_package(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (rng.integers(2, 40), rng.integers(2, 6)))

    expected = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")

    assert krippendorff_alpha(counts) == pytest.approx(expected, rel=1e-12)


def test_alpha_is_one_where_all_agree_and_negative_where_all_pairs_differ():
    assert krippendorff_alpha([[2, 0], [0, 3]]) == 1
    assert krippendorff_alpha([[1, 1], [1, 1]]) < 0


@for_each("counts", [np.zeros((0, 2), int), [[1, 0], [0, 1]], [[3, 0], [2, 0]], [[0, 0]]])
def test_alpha_is_not_a_number_where_nothing_could_disagree(counts):
    assert np.isnan(krippendorff_alpha(counts))


def test_alpha_of_a_million_items_does_not_overflow():
    counts = np.tile([[3, 2], [2, 3], [5, 0]], (400_000, 1))

    small = krippendorff.alpha(
        value_counts=np.tile([[3, 2], [2, 3], [5, 0]], (4_000, 1)), level_of_measurement="nominal"
    )
    assert krippendorff_alpha(counts) == pytest.approx(small, abs=1e-4)


def test_kappa_of_an_example_on_paper():
    # Annotator 0 against two who always agree with each other: right on 3 of 4.
    rows = []
    for item, (mine, others) in enumerate([(1, 1), (1, 1), (0, 0), (1, 0)]):
        rows += [(0, item, mine), (1, item, others), (2, item, others)]

    got = kappas(rows, 3, 4, 2)

    # Chance: 3/4 × 2/4 + 1/4 × 2/4 = 1/2.
    assert got.share[0] == 0.75
    assert got.kappa[0] == pytest.approx(0.5)
    # The others: on item 3, the rest of annotator 1 is (1, 0), a tie that judges nobody.
    assert got.n.tolist() == [4, 3, 3]
    assert got.kappa[1:].tolist() == [1, 1]


def test_who_always_says_the_same_has_no_agreement_beyond_chance():
    rows = [(person, item, item % 2) for person in (0, 1, 2) for item in range(10)]
    rows += [(3, item, 1) for item in range(10)]

    got = kappas(rows, 4, 10, 2)

    assert got.kappa[3] == 0
    assert (got.kappa[:3] == 1).all()


def test_who_meets_nobody_or_only_ties_is_not_judged():
    got = kappas([(0, 0, 1), (1, 1, 0), (2, 1, 1), (3, 1, 0)], 5, 2, 2)

    assert got.n.tolist() == [0, 0, 1, 0, 0]
    assert np.isnan(got.kappa).tolist() == [True, True, False, True, True]


def test_kappa_is_not_a_number_where_everybody_says_one_thing():
    got = kappas([(person, item, 0) for person in range(3) for item in range(3)], 3, 3, 2)

    assert np.isnan(got.kappa).all()
    assert (got.share == 1).all()


def test_kappas_of_nothing_are_empty():
    assert kappas(np.zeros((0, 3), int), 0, 0, 0).kappa.shape == (0,)


@for_seeds(5)
def test_kappa_agrees_with_a_plain_loop_and_scikit_learn(seed):
    from sklearn.metrics import cohen_kappa_score

    crowd = crowds.crowd(seed)
    sizes = crowd.sizes
    counts = vote_counts(crowd.items, crowd.labels, sizes["n_items"], sizes["n_classes"])
    got = agreement_beyond_chance(crowd.annotators, crowd.items, crowd.labels, **sizes)

    for person in range(sizes["n_annotators"]):
        mine, others = [], []
        for who, item, label in zip(crowd.annotators, crowd.items, crowd.labels, strict=True):
            if who != person:
                continue
            rest = counts[item].tolist()
            rest[label] -= 1
            if max(rest) > 0 and rest.count(max(rest)) == 1:
                mine.append(label)
                others.append(rest.index(max(rest)))
        assert got.n[person] == len(mine) > 0
        assert got.kappa[person] == pytest.approx(cohen_kappa_score(mine, others))


def test_calibration_on_paper():
    got = calibration_bins([0.55, 0.58, 0.95, 1.0, 0.5], [True, False, True, True, False])

    assert got["n"] == 5
    assert [(row["low"], row["high"], row["n"]) for row in got["bins"]] == [
        (0.5, 0.6, 3),
        (0.9, 1.0, 2),
    ]
    first, last = got["bins"]
    assert first["stated"] == pytest.approx(1.63 / 3)
    assert first["right"] == pytest.approx(1 / 3)
    assert first["interval"] == list(wilson_interval(1, 3))
    assert last["stated"] == pytest.approx(0.975)
    assert got["error"] == pytest.approx((1.63 - 1 + 2 - 1.95) / 5)


def test_calibration_of_nothing_is_not_a_number():
    got = calibration_bins([], [])

    assert (got["bins"], got["n"]) == ([], 0)
    assert np.isnan(got["error"])


def test_what_is_stated_by_chance_is_calibrated():
    rng = np.random.default_rng(0)
    stated = rng.uniform(0.5, 1, 100_000)

    got = calibration_bins(stated, rng.random(100_000) < stated)

    assert got["error"] < 0.01
    assert all(a["high"] == b["low"] for a, b in itertools.pairwise(got["bins"]))


def test_probabilities_on_the_border_of_bins_belong_to_the_upper_one():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = calibration_bins([0.0, 0.5, 1.0], [False, True, True], bins=2)

    assert [row["n"] for row in got["bins"]] == [1, 2]
