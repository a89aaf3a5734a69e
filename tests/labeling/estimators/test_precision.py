import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom

from labeling.estimators import precision
from labeling.estimators.precision import Precision, VerifiedClass, pooled, precisions
from tests.cases import for_each

counts = st.integers(0, 400)


@st.composite
def classes(draw, most=6):
    rows = []
    for _ in range(draw(st.integers(1, most))):
        yes = draw(st.integers(0, 300))
        audited = draw(st.integers(0, min(yes, 40)))
        wrong = draw(st.integers(0, min(audited, 5)))
        rows.append(VerifiedClass(yes, draw(st.floats(0, 0.2)) * yes, audited, wrong))
    return rows


def plain(rows, level=0.95):
    """The same by loops over every combination and every number of wrong images."""
    total = max(sum(row.doubt for row in rows) / sum(row.yes for row in rows), 1e-5)
    cells = []
    for factor in precision.FACTORS:
        for slope in precision.SLOPES:
            for likeness in precision.LIKENESSES:
                shapes, log = [], 0.0
                for row in rows:
                    doubt = max(row.doubt / row.yes, 1e-5) if row.yes else total
                    mean = min(factor * total * (doubt / total) ** slope, 0.5)
                    a, b = likeness, likeness * (1 - mean) / mean
                    if row.audited:
                        log += betabinom.logpmf(row.wrong, row.audited, a, b)
                    shapes.append((a + row.wrong, b + row.audited - row.wrong))
                cells.append((log, shapes))
    best = max(log for log, _ in cells)
    weights = np.array([math.exp(log - best) for log, _ in cells])
    weights /= weights.sum()
    result = []
    for index, row in enumerate(rows):
        left = row.yes - row.audited
        chances = sum(
            weight * betabinom.pmf(np.arange(left + 1), left, *shapes[index])
            for weight, (_, shapes) in zip(weights, cells, strict=True)
        )
        reached = np.cumsum(chances)
        low, high = (int((reached <= 0.025).sum()), int((reached < 0.975).sum()))
        means = np.array([shapes[index][0] / sum(shapes[index]) for _, shapes in cells])
        order = np.argsort(means)
        middle = means[order][np.cumsum(weights[order]).searchsorted(0.5)]
        result.append(
            (
                1 - (row.wrong + left * middle) / row.yes,
                1 - (row.wrong + high) / row.yes,
                1 - (row.wrong + low) / row.yes,
            )
        )
    return result


@pytest.mark.parametrize(
    "rows",
    [
        [VerifiedClass(100, 0.2, 30, 0)],
        [VerifiedClass(60, 0.1, 10, 1), VerifiedClass(90, 0.9, 12, 0), VerifiedClass(40, 0.0)],
        [VerifiedClass(50, 2.0, 20, 12), VerifiedClass(30, 0.01, 30, 0)],
    ],
)
def test_loops_over_every_combination_say_the_same(rows):
    ours = precisions(rows)

    for mine, (stated, low, high) in zip(ours, plain(rows), strict=True):
        assert mine.stated == pytest.approx(stated, abs=1e-4)
        assert mine.interval == pytest.approx((low, high), abs=1e-9)


def test_nothing_is_stated_before_anything_was_audited_nor_of_no_images():
    assert precisions([VerifiedClass(10, 0.1), VerifiedClass(0, 0.0)]) == [
        Precision(0.99, None, None),
        Precision(None, None, None),
    ]
    assert precisions([]) == []
    audited, empty = precisions([VerifiedClass(10, 0.1, 2, 0), VerifiedClass(0, 0.0)])
    assert audited.interval is not None
    assert empty == Precision(None, None, None)


def test_an_audit_of_every_image_leaves_nothing_open():
    [result] = precisions([VerifiedClass(200, 0.4, 200, 3)])

    assert result.stated == 0.985
    assert result.interval == (0.985, 0.985)


def test_errors_that_the_audit_finds_in_other_classes_lower_every_class():
    quiet = VerifiedClass(500, 0.5, 5, 0)
    before = precisions([quiet, VerifiedClass(500, 0.5, 200, 0)])[0]
    after = precisions([quiet, VerifiedClass(500, 0.5, 200, 10)])[0]

    assert after.stated < before.stated
    assert after.interval[0] < before.interval[0]
    assert after.by_table == before.by_table == 0.999


def test_a_class_that_the_audit_finds_bad_is_lowered_most():
    bad, *others = precisions(
        [VerifiedClass(300, 0.3, 20, 6), *[VerifiedClass(300, 0.3, 20, 0) for _ in range(9)]]
    )

    assert bad.interval[1] < 0.98
    assert all(row.interval[1] > 0.99 for row in others)
    assert bad.stated < min(row.stated for row in others)


def test_more_audited_images_narrow_the_interval():
    widths = []
    for audited in (10, 40, 160, 640):
        [result] = precisions([VerifiedClass(1_000, 1.0, audited, 0)])
        widths.append(result.interval[1] - result.interval[0])

    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.01


def test_a_million_images_take_no_longer_than_two_thousand():
    few, many = (precisions([VerifiedClass(n, n / 1_000, 300, 1)])[0] for n in (2_300, 1_000_000))

    assert many.interval == pytest.approx(few.interval, abs=2e-3)


@for_each(
    "wrong",
    [
        VerifiedClass(3, 0.0, 4),
        VerifiedClass(3, 0.0, 2, 3),
        VerifiedClass(3, 4.0),
        VerifiedClass(3, -1.0),
    ],
)
def test_counts_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="yes"):
        precisions([wrong])


@given(classes())
def test_the_stated_precision_lies_in_its_interval_and_all_are_shares(rows):
    for row, mine in zip(rows, precisions(rows), strict=True):
        if mine.stated is None:
            continue
        low, high = mine.interval
        # What is stated is an expectation: it may lie between two whole numbers of images.
        assert 0 <= low <= high <= 1
        assert low - 1 / row.yes <= mine.stated <= high + 1 / row.yes


@given(classes(), st.randoms())
def test_the_order_of_classes_changes_nothing(rows, chance):
    places = list(range(len(rows)))
    chance.shuffle(places)

    there, shuffled = precisions(rows), precisions([rows[index] for index in places])

    for index, mine in zip(places, shuffled, strict=True):
        assert mine.by_table == there[index].by_table
        assert mine.interval == pytest.approx(there[index].interval)


def test_pooled_precision_is_that_of_the_audit_alone():
    result = pooled([VerifiedClass(400, 0.4, 100, 1), VerifiedClass(600, 1.6, 50, 0)])

    assert result.by_table == pytest.approx(0.998)
    assert result.stated == pytest.approx(149 / 150)
    assert result.interval == pytest.approx((0.9634, 0.9998), abs=1e-4)
    assert pooled([VerifiedClass(4, 0.1)]).interval is None
