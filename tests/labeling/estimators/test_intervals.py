"""Intervals of a proportion, against scipy."""

import pytest
from scipy.stats import binomtest

from labeling.estimators.intervals import clopper_pearson, wilson_interval
from tests.cases import for_each

CASES = [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (499, 500), (20_000, 100_000)]


@for_each(("right", "total"), CASES)
def test_both_intervals_are_those_of_scipy(right, total):
    test = binomtest(right, total)

    for ours, method in ((wilson_interval, "wilson"), (clopper_pearson, "exact")):
        expected = test.proportion_ci(0.95, method=method)
        assert ours(right, total) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_nothing_seen_leaves_everything_possible():
    assert wilson_interval(0, 0) == clopper_pearson(0, 0) == (0.0, 1.0)


def test_another_level_is_another_width():
    expected = binomtest(3, 10).proportion_ci(0.99, method="exact")

    assert clopper_pearson(3, 10, level=0.99) == pytest.approx((expected.low, expected.high))
