"""Ranks and rank correlations, against scipy and the paper's Table 1."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from evaluation.metrics.statistics import kendall, ranks, spearman

ACCURACY_RANKS = list(range(1, 12))
MAD_RANKS = [2, 1, 7, 4, 3, 6, 5, 8, 10, 9, 11]

few_values = arrays(np.float64, 9, elements=st.integers(0, 4).map(float))


def test_table_1_correlates_0_8727_and_0_7091():
    assert round(spearman(ACCURACY_RANKS, MAD_RANKS), 4) == 0.8727
    assert round(kendall(ACCURACY_RANKS, MAD_RANKS), 4) == 0.7091


@given(few_values)
def test_ranks_are_those_of_scipy(values):
    assert ranks(values).tolist() == stats.rankdata(-values).tolist()


@given(few_values, few_values)
def test_correlations_are_those_of_scipy_ties_included(x, y):
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(spearman(x, y))
        assert math.isnan(kendall(x, y))
    else:
        assert math.isclose(spearman(x, y), stats.spearmanr(x, y).statistic, abs_tol=1e-12)
        assert math.isclose(kendall(x, y), stats.kendalltau(x, y).statistic, abs_tol=1e-12)


def test_ranks_of_a_batch_are_the_ranks_of_its_rows():
    rows = np.random.default_rng(0).integers(0, 5, (4, 3, 6))

    assert (ranks(rows)[2, 1] == ranks(rows[2, 1])).all()
