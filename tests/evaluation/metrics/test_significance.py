"""Intervals and tests, against a plain bootstrap, scipy and Table 8 and 9 of the paper."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from evaluation.metrics.significance import (
    ROUNDS,
    Interval,
    holm,
    mcnemar,
    mean_interval,
    settled_interval,
    two_proportion_z,
    widened,
)
from labeling.estimators.intervals import clopper_pearson


def plain(values: np.ndarray, level: float, rounds: int, seed: int) -> tuple[float, float]:
    """Images drawn one by one, the tails of the rounds left out."""
    rng = np.random.default_rng(seed)
    means = sorted(values[rng.integers(0, len(values), len(values))].mean() for _ in range(rounds))
    tail = round(rounds * (1 - level) / 2)
    return means[tail], means[rounds - 1 - tail]


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_the_printed_error_is_the_printed_one(seed):
    wrong = np.arange(100_000) < 6660

    interval = mean_interval(wrong, 0.999, np.random.default_rng(seed))

    assert interval.stable
    assert interval.rounds >= ROUNDS
    assert 100 * interval.low == pytest.approx(6.40, abs=0.01)
    assert 100 * interval.high == pytest.approx(6.92, abs=0.01)


def test_an_error_has_the_interval_of_the_binomial_distribution():
    wrong = np.arange(500) < 40

    interval = mean_interval(wrong, 0.9, np.random.default_rng(0))

    exact = stats.binom.ppf([0.05, 0.95], 500, 40 / 500) / 500
    assert (interval.low, interval.high) == pytest.approx(tuple(exact), abs=1 / 500)


@pytest.mark.parametrize("values", [[0, 3, 3, 8, 12] * 12, [0.25, 0.5, 1.0] * 15, [0, 7] * 20])
def test_intervals_agree_with_images_drawn_one_by_one(values):
    values = np.array(values)

    interval = mean_interval(values, 0.9, np.random.default_rng(1))

    expected = plain(values, 0.9, 8000, seed=2)
    spread = values.std() / math.sqrt(len(values))
    assert (interval.low, interval.high) == pytest.approx(expected, abs=0.12 * spread)


def test_rounds_double_until_the_bounds_settle():
    calls = []

    def draw(size: int) -> np.ndarray:
        calls.append(size)
        return np.random.default_rng(len(calls)).normal(size=size)

    interval = settled_interval(draw, 0.999)

    assert interval.stable
    assert interval.rounds == sum(calls) > ROUNDS
    assert calls == [ROUNDS, *(ROUNDS * 2**i for i in range(len(calls) - 1))]
    assert (interval.low, interval.high) == pytest.approx((-3.2905, 3.2905), abs=0.07)


def test_rounds_that_are_settled_are_enough():
    interval = settled_interval(lambda size: np.arange(size) % 3.0, 0.9)

    assert (interval.low, interval.high, interval.rounds, interval.stable) == (0, 2, ROUNDS, True)


def test_bounds_that_never_settle_are_told():
    interval = settled_interval(
        lambda size: np.random.default_rng(size).standard_cauchy(size), 0.9999, 100, 800
    )

    assert (interval.stable, interval.rounds) == (False, 800)


def test_few_images_have_an_interval_as_wide_as_an_exact_one():
    generator = np.random.default_rng(0)
    for wrong, images in ((0, 4), (4, 4), (3, 200)):
        values = np.arange(images) < wrong
        low, high, *_ = mean_interval(values, 0.95, generator, bounds=(0, 1))
        a, b = clopper_pearson(wrong, images)
        assert low <= a < b <= high
    # Of many nothing changes, and neither does it without bounds.
    many = np.arange(1000) < 400
    for bounds in ((0, 1), None):
        drawn = mean_interval(many, 0.95, np.random.default_rng(1), bounds=bounds)
        assert drawn == mean_interval(many, 0.95, np.random.default_rng(1))


def test_a_widened_mean_stays_within_what_its_units_may_be_worth():
    interval = widened(Interval(2, 2, 20, True), 2, 4, 0.95, (0, 2))

    assert (interval.low, interval.high) == (pytest.approx(2 * clopper_pearson(4, 4)[0]), 2)
    assert widened(Interval(math.nan, math.nan, 0, True), math.nan, 0, 0.95).rounds == 0


def test_equal_values_have_an_interval_of_nothing_and_no_images_have_none():
    rng = np.random.default_rng(0)

    assert mean_interval(np.ones(7), 0.999, rng)[:2] == (1, 1)
    assert mean_interval(np.array([3]), 0.5, rng)[:2] == (3, 3)
    assert np.isnan(mean_interval(np.zeros(0), 0.95, rng)[:2]).all()
    assert mean_interval(np.zeros(0), 0.95, rng).rounds == 0


@pytest.mark.parametrize("unknown", [0, 500])
def test_the_whole_tail_and_rounds_without_a_figure_are_left_out_and_no_more(unknown):
    drawn = np.concatenate([np.arange(1000.0), np.full(unknown, np.nan)])

    interval = settled_interval(lambda size: drawn[:size], 0.9, len(drawn), len(drawn))

    assert (interval.low, interval.high) == (50, 949)


def test_a_level_is_a_share():
    for level in [0, 1, 95]:
        with pytest.raises(ValueError, match="between 0 and 1"):
            mean_interval([0, 1], level, np.random.default_rng(0))


def test_two_submissions_of_table_9():
    test_result = two_proportion_z(102, 1500, 76, 1500)

    assert test_result.one_sided == pytest.approx(0.0222, abs=0.0001)
    assert test_result.two_sided == pytest.approx(2 * test_result.one_sided)
    assert two_proportion_z(76, 1500, 102, 1500).z == pytest.approx(-test_result.z)
    assert two_proportion_z(76, 1500, 102, 1500).one_sided == pytest.approx(
        1 - test_result.one_sided
    )
    assert math.isnan(two_proportion_z(0, 5, 0, 9).one_sided)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (5, 0), (10, 3), (7, 7), (400, 520)])
def test_mcnemar_is_the_binomial_test_of_where_they_differ(a, b):
    expected = stats.binomtest(a, a + b).pvalue if a + b else 1

    assert mcnemar(a, b) == pytest.approx(expected)
    assert mcnemar(b, a) == pytest.approx(expected)


def test_holm_is_the_closed_test_of_bonferronis():
    """A hypothesis falls where every set of hypotheses with it does, by the least p of the set."""
    rng = np.random.default_rng(0)
    for count in (1, 2, 5):
        for _ in range(10):
            p = (rng.random(count) ** 3).round(1 if count == 5 else 6).tolist()
            closed = [
                max(
                    min(1, len(chosen) * min(p[i] for i in chosen))
                    for size in range(1, count + 1)
                    for chosen in itertools.combinations(range(count), size)
                    if hypothesis in chosen
                )
                for hypothesis in range(count)
            ]

            assert holm(p) == pytest.approx(closed)
    assert holm([]) == []
