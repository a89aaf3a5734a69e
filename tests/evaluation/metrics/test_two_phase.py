"""Shares of two parts, one sampled: against plain sums, known intervals and their own coverage."""

import math

import numpy as np
import pytest

from evaluation.metrics.significance import mean_interval
from evaluation.metrics.two_phase import sampled_share
from labeling.estimators.intervals import clopper_pearson


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_each_of_the_sample_stands_for_as_many_as_it_was_drawn_from():
    # 3 of 4 for; 1 of 2 of the sample for, which stands for 100: 50.
    share = sampled_share([1, 1, 1, 0], [1, 0], 100, 0.95, rng())

    assert share.value == (3 + 50) / 104
    assert share.units == 6
    assert share.interval.low < share.value < share.interval.high


def test_what_is_left_out_counts_neither_for_nor_against():
    # The sample of 4 stands for 40: 20 for, 10 against.
    share = sampled_share([1, -1], [1, 1, 0, -1], 40, 0.95, rng())

    assert share.value == (1 + 20) / (1 + 30)


@pytest.mark.parametrize("whole", [[], [-1, -1]])
def test_a_share_of_nothing_is_no_number(whole):
    share = sampled_share(whole, [-1] if whole else [], 5 * bool(whole), 0.95, rng())

    assert math.isnan(share.value)
    assert math.isnan(share.interval.low)


def test_others_need_a_sample():
    with pytest.raises(ValueError, match="no sample of 7 units"):
        sampled_share([1], [], 7, 0.95, rng())


def test_a_sample_of_everything_has_the_interval_of_the_mean():
    values = np.arange(1000) % 4 == 0

    share = sampled_share(values[:600], values[600:], 400, 0.95, rng())

    low, high, *_ = mean_interval(values, 0.95, rng())
    assert share.value == values.mean()
    assert share.interval[:2] == pytest.approx((low, high), abs=0.002)


def test_no_error_in_a_small_sample_is_no_certainty():
    share = sampled_share(np.zeros(1000), np.zeros(30), 9000, 0.95, rng())

    assert (share.value, share.interval.low) == (0, 0)
    assert share.interval.high >= 0.9 * clopper_pearson(0, 30)[1]


@pytest.mark.parametrize("rates", [(0.4, 0.05), (0.7, 0.3)])
def test_intervals_cover_the_share_they_state(rates):
    """2,000 images, a quarter looked at whole, a tenth of the others: the truth lies in 95 %."""
    rng = np.random.default_rng(1)
    true = 0.25 * rates[0] + 0.75 * rates[1]
    covered = 0
    for _ in range(100):
        n = rng.binomial(2000, 0.25)
        others = 2000 - n
        sample = rng.random(math.ceil(others / 10)) < rates[1]
        interval = sampled_share(rng.random(n) < rates[0], sample, others, 0.95, rng).interval
        covered += interval.low <= true <= interval.high

    assert 90 <= covered <= 100
