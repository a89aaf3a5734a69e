"""Intervals of precision on a made-up crowd hold the truth."""

import numpy as np
import pytest

from tests.labeling.estimators.candidate_crowd import AUDITED, measure


@pytest.mark.ci
def test_stated_intervals_hold_the_truth_where_tables_alone_do_not():
    runs = [measure(0.01, seed) for seed in range(12)]

    for size in (50, 300):
        measured = [run[size] for run in runs]
        assert np.mean([run.holds for run in measured]) >= 0.9
        assert np.mean([run.tables_alone for run in measured]) < 0.85
        # Pooling is worth it: a class's own audited images say far less.
        assert np.mean([run.width for run in measured]) < 0.2 * np.mean(
            [run.own_width for run in measured]
        )


@pytest.mark.slow
@pytest.mark.parametrize("lookalikes", [0.0, 0.005, 0.01, 0.04])
def test_stated_intervals_hold_the_truth_in_ninety_of_a_hundred_runs(lookalikes):
    measured = [measure(lookalikes, seed) for seed in range(100)]

    for size in AUDITED:
        assert np.mean([run[size].holds for run in measured]) >= 0.9
