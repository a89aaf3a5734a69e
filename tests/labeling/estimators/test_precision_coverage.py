"""Intervals of precision on a made-up crowd hold the truth."""

import numpy as np
import pytest

from tests.labeling.estimators.candidate_crowd import AUDITED, measure


def test_stated_intervals_hold_the_truth_where_tables_alone_do_not():
    found = [measure(0.01, seed) for seed in range(12)]

    for size in (50, 300):
        measured = [run[size] for run in found]
        assert np.mean([one.holds for one in measured]) >= 0.9
        assert np.mean([one.tables_alone for one in measured]) < 0.85
        # Pooling is worth it: a class's own audited images say far less.
        assert np.mean([one.width for one in measured]) < 0.2 * np.mean(
            [one.own_width for one in measured]
        )


@pytest.mark.slow
@pytest.mark.parametrize("lookalikes", [0.0, 0.005, 0.01, 0.04])
def test_stated_intervals_hold_the_truth_in_ninety_of_a_hundred_runs(lookalikes):
    found = [measure(lookalikes, seed) for seed in range(100)]

    for size in AUDITED:
        assert np.mean([run[size].holds for run in found]) >= 0.9
