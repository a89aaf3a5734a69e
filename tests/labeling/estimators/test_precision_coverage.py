"""Intervals of precision on a made-up crowd; the long form is benchmarks/bench_verification."""

import numpy as np

from benchmarks.bench_verification import measure

SEEDS = range(12)


def test_stated_intervals_hold_the_truth_where_tables_alone_do_not():
    found = [measure((0.01, seed)) for seed in SEEDS]

    for size in (50, 300):
        measured = [run[size] for run in found]
        assert np.mean([one.holds for one in measured]) >= 0.9
        assert np.mean([one.tables_alone for one in measured]) < 0.85
        # Pooling is worth it: a class's own audited images say far less.
        assert np.mean([one.width for one in measured]) < 0.2 * np.mean(
            [one.own_width for one in measured]
        )
