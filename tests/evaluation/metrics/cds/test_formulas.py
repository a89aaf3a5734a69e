"""CDS, B-CDS and CL-ratios: worked on paper, by plain loops, and what must always hold."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.cds.formulas import cds, cl_ratios

FIRST = [0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0]
sequences = st.lists(st.lists(st.booleans(), min_size=1, max_size=12), min_size=1, max_size=8)


def flat(rows: list[list]) -> tuple[list, list[int]]:
    starts = [0, *np.cumsum([len(row) for row in rows]).tolist()]
    return [x for row in rows for x in row], starts


@pytest.mark.parametrize(
    ("values", "answer"),
    [
        (FIRST, Fraction(6, 11)),
        ([0, 0, 0, 1], Fraction(9, 10)),
        ([1 / 2, 3 / 4, 1, 1], Fraction(11, 40)),
        ([1], 0),
        ([0], 1),
    ],
)
def test_what_was_worked_on_paper(values, answer):
    assert cds(values, [0, len(values)])[0] == pytest.approx(float(answer), abs=1e-15)


def test_sequences_of_several_lengths_score_as_each_alone():
    rows = [FIRST, [1], [0, 0, 0, 1], [1 / 2, 3 / 4, 1, 1]]

    together = cds(*flat(rows))

    assert together.tolist() == [cds(row, [0, len(row)])[0] for row in rows]


@given(sequences)
def test_the_formula_in_fractions(rows):
    for row, score in zip(rows, cds(*flat(rows)), strict=True):
        n = len(row)
        weights = [Fraction(n - j + 1, n) for j in range(1, n + 1)]
        exact = 1 - sum(w for w, ok in zip(weights, row, strict=True) if ok) / sum(weights)
        assert score == pytest.approx(float(exact), abs=1e-14)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_cds_is_a_number_from_0_to_1(values):
    assert -1e-12 <= cds(values, [0, len(values)])[0] <= 1 + 1e-12


@given(st.integers(1, 200))
def test_all_right_is_0_and_all_wrong_is_1_exactly(length):
    assert cds(np.ones(length), [0, length])[0] == 0
    assert cds(np.zeros(length), [0, length])[0] == 1


@given(st.lists(st.booleans(), min_size=2, max_size=15), st.data())
def test_a_right_answer_that_comes_earlier_never_scores_worse(row, data):
    at = data.draw(st.integers(1, len(row) - 1))
    earlier = row.copy()
    if row[at] and not row[at - 1]:
        earlier[at - 1 : at + 1] = [True, False]

    assert cds(earlier, [0, len(row)])[0] <= cds(row, [0, len(row)])[0]


def test_the_cl_ratio_of_the_first_sequence_is_four_ninths_at_3_and_there_alone():
    ratios = cl_ratios(FIRST, [0, 11])

    assert ratios.index.tolist() == [3]
    assert Fraction(int(ratios.run[0]), int(ratios.rest[0])) == Fraction(4, 9)
    assert ratios.bins.tolist() == [4]


@given(sequences)
def test_cl_ratios_by_a_plain_loop(rows):
    plain = []
    for number, row in enumerate(rows):
        for j in range(1, len(row) + 1):
            if row[j - 1] and (j == 1 or not row[j - 2]):
                run = next((i for i, ok in enumerate(row[j - 1 :]) if not ok), len(row) - j + 1)
                plain.append((number, j, run, len(row) - j + 1))

    ratios = cl_ratios(*flat(rows))

    rows_found = zip(ratios.sequence, ratios.index, ratios.run, ratios.rest, strict=True)
    assert [tuple(map(int, row)) for row in rows_found] == plain


def test_a_run_does_not_go_on_in_the_next_sequence():
    ratios = cl_ratios([0, 1, 1, 0], [0, 2, 4])

    assert (ratios.run.tolist(), ratios.rest.tolist()) == ([1, 1], [1, 2])


def test_a_ratio_of_1_falls_in_the_last_bin_and_a_tenth_in_the_second():
    one_of_ten = [1, *[0] * 9]

    assert cl_ratios([1, 1], [0, 2]).bins.tolist() == [9]
    assert cl_ratios(one_of_ten, [0, 10]).bins.tolist() == [1]
