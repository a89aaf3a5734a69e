"""Rows of the tables: the paper's own numbers, plain loops, scipy, and who wins at ties."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from evaluation.metrics.cds import arrays as cs
from evaluation.metrics.cds.histograms import Histograms, cl_rows, presence_rows
from evaluation.metrics.cds.statistics import pearson, resampled, spearman, statistics
from evaluation.metrics.cds.tables import Tables, improvement, p_values
from tests.evaluation.metrics.cds import world

# Table 2 of the paper; the printed gains, two of them mended (METHODS.md).
PRINTED = {
    "AlexNet": ((0.4499, 0.4470, 0.64), (0.4450, 0.3803, 14.54)),
    "GoogLeNet": ((0.5264, 0.4319, 17.95), (0.4544, 0.3490, 23.20)),
    "NiN": ((0.4788, 0.4492, 6.18), (0.4689, 0.3882, 17.21)),
    "VGG-19": ((0.4136, 0.4147, -0.27), (0.3628, 0.2880, 20.62)),
}


def tables(scores: cs.ScoreArrays, rounds: int = 0) -> Tables:
    drawn = resampled(lambda weights: statistics(scores, weights), scores, rounds, 0)
    return Tables(scores, statistics(scores, cs.once(scores)), drawn, 0.95)


def constant(values: np.ndarray) -> cs.ScoreArrays:
    """Two objects whose scores are those of values (P, K, C)."""
    shape = (2, *values.shape)
    scores = world.scores(sizes=(2,))
    return replace(
        scores,
        part_schemes=scores.part_schemes[: shape[1]],
        classifiers=tuple(f"c{i}" for i in range(shape[3])),
        machines=tuple(range(shape[3])),
        cds=np.broadcast_to(values, shape),
        b_cds=None,
        wrong=None,
        last_wrong=None,
    )


def test_improvements_of_the_paper_are_signed_and_of_the_old_value():
    for old, new, percent in itertools.chain.from_iterable(PRINTED.values()):
        assert 100 * improvement(old, new) == pytest.approx(percent, abs=0.006)


def test_table_2_of_the_paper():
    values = np.array([[old, new, low, high] for (old, new, _), (low, high, _) in PRINTED.values()])

    rows = list(tables(constant(values.T[None])).by_content_scheme())

    text = [row for row in rows if row.averaging == "text"]
    assert [row.value for row in text] == pytest.approx(values.T.ravel().tolist())
    best = [(r.content_scheme, r.classifier) for r in text if r.best]
    assert best == [(scheme, "c3") for scheme in world.CONTENTS]
    higher = [row for row in text if row.content_scheme == "higher"]
    gains = [round(100 * row.improvement, 2) for row in higher]
    assert gains == [14.54, 23.2, 17.21, 20.62]
    assert {row.against for row in higher} == {"low"}
    beside = [row for row in text if row.content_scheme == world.CONTENTS[1]]
    assert beside[3].improvement == pytest.approx(-0.0027, abs=5e-5)
    first = [row for row in text if row.content_scheme == "intra-object"]
    assert {(row.improvement, row.against) for row in first} == {(None, None)}


def test_an_improvement_on_nothing_is_none():
    values = np.zeros((1, 4, 1))

    rows = list(tables(constant(values), rounds=5).by_content_scheme())

    assert {row.improvement for row in rows} == {None}
    assert {row.value for row in rows} == {0}


@pytest.mark.parametrize("measure", ["cds", "b_cds"])
def test_best_and_worst_by_a_plain_loop(measure):
    scores = world.scores(5)
    values = scores.measures[measure]
    rows = {row.category: row for row in tables(scores).best_and_worst() if row.measure == measure}

    for g, category in enumerate(scores.categories):
        members = np.flatnonzero(scores.category == g)
        cells = [
            [world.loop_median([values[o, p, k, c] for o in members]) for c in range(4)]
            for p, k in itertools.product(range(2), range(4))
        ]
        row = rows[category]
        shared = 0
        for which, best, sign in (("lowest", min, 1), ("highest", max, -1)):
            wins = [sum(cell[c] == best(cell) for cell in cells) for c in range(4)]
            means = [sign * round(sum(cell[c] for cell in cells) / 8, 12) for c in range(4)]
            names = scores.classifiers
            first = min(range(4), key=lambda c: (-wins[c], means[c], names[c]))
            assert (getattr(row, which), getattr(row, f"{which}_wins")) == (
                names[first],
                wins[first],
            )
        shared = sum(cell.count(min(cell)) > 1 or cell.count(max(cell)) > 1 for cell in cells)
        assert (row.ties, row.combinations) == (shared, 8)


def test_a_tie_of_everything_goes_to_the_earlier_name_both_ways():
    scores = replace(constant(np.full((1, 4, 2), 0.5)), classifiers=("b", "a"))

    row = next(tables(scores).best_and_worst())

    assert (row.lowest, row.highest) == ("a", "a")
    assert (row.lowest_wins, row.ties) == (4, 4)


def test_equal_wins_go_to_the_smaller_mean():
    values = np.array([[0.2, 0.3], [0.3, 0.2], [0.1, 0.3], [0.9, 0.2]])

    row = next(tables(constant(values[None])).best_and_worst())

    assert (row.lowest, row.lowest_wins, row.highest) == ("c1", 2, "c0")


def test_who_stands_beside_the_machines_is_not_compared_with_them():
    scores = replace(world.scores(), machines=(0, 2))
    scores = replace(scores, cds=np.where(np.arange(4) == 1, 0.0, scores.cds))

    built = tables(scores)

    compared = {name for row in built.best_and_worst() for name in (row.lowest, row.highest)}
    assert compared <= {"B", "C"}
    rows = list(built.by_content_scheme())
    assert {row.classifier for row in rows} == {"A", "B", "C", "D"}
    assert {row.classifier for row in rows if row.best} <= {"B", "C"}


def test_a_classifier_without_sequences_of_a_scheme_has_no_row_there():
    scores = world.scores()
    gone = scores.cds.copy()
    gone[:, :, 2, 1] = np.nan
    scores = replace(scores, cds=gone, machines=(0, 2, 3))

    rows = [r for r in tables(scores, 3).by_content_scheme() if r.measure == "cds"]

    missing = {(r.classifier, r.content_scheme) for r in rows}
    assert ("A", "low") not in missing
    assert len(missing) == 15
    higher = [r for r in rows if (r.classifier, r.content_scheme) == ("A", "higher")]
    assert {row.improvement for row in higher} == {None}


def test_error_is_the_median_over_categories_of_what_is_wrong_in_the_end():
    scores = world.scores(2)
    rows = {row.classifier: row for row in tables(scores, 30).error()}

    for c, name in enumerate(scores.classifiers):
        by_category = [
            scores.last_wrong[scores.category == g][..., c].mean()
            for g in range(len(scores.categories))
        ]
        row = rows[name]
        assert row.error == pytest.approx(np.median(by_category))
        assert row.mean == pytest.approx(np.mean(by_category))
        assert row.low <= row.error <= row.high
        assert row.categories == 3


def test_correlations_are_scipys_over_the_content_schemes():
    scores = world.scores(8)
    rows = list(tables(scores).error_correlation())

    assert len(rows) == 2 * 2 * 2
    for row in rows:
        assert row.content_schemes == list(world.CONTENTS)
        r, rho = (stats.pearsonr(row.scores, row.errors), stats.spearmanr(row.scores, row.errors))
        assert (row.pearson, row.pearson_p) == pytest.approx((r.statistic, r.pvalue))
        assert row.spearman == pytest.approx(rho.statistic)
        assert row.pearson_p == pytest.approx(1 - abs(row.pearson))


@pytest.mark.parametrize("averaging", cs.AVERAGINGS)
@pytest.mark.parametrize("error", ["frames", "whole"])
def test_the_vectors_of_the_correlation_by_a_plain_loop(averaging, error):
    scores = world.scores(8)
    part, whole = scores.last_wrong, np.ones_like(scores.frames)
    if error == "frames":
        part, whole = scores.wrong, scores.frames
    row = next(
        row
        for row in tables(scores).error_correlation()
        if (row.measure, row.averaging, row.error) == ("cds", averaging, error)
    )
    loop = {"text": world.loop_text, "script": world.loop_script}[averaging]

    for k in range(4):
        shares = []
        for c in range(4):
            cells = [[0], [1]] if averaging == "text" else [[0, 1]]
            each = []
            for members in cells:
                by_category = [
                    part[scores.category == g][:, members, k, c].sum()
                    / whole[scores.category == g][:, members, k, c].sum()
                    for g in range(3)
                ]
                each.append(np.median(by_category))
            shares.append(np.mean(each))
        assert row.errors[k] == pytest.approx(np.mean(shares))
        expected = np.mean([loop(scores, scores.cds, c, k=k) for c in range(4)])
        assert row.scores[k] == pytest.approx(expected)


def test_pearsons_p_of_four_points_is_one_less_its_size():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.random((2, 4))
        r = pearson(a[None], b[None])[0]
        assert p_values(a, b)[0] == pytest.approx(1 - abs(r), abs=1e-9)
    # Those that the paper prints: 0.0227 with 0.98, −0.33204 with 0.6680.
    assert (round(1 - 0.0227, 2), round(1 - 0.33204, 4)) == (0.98, 0.668)


def test_spearmans_p_of_few_points_counts_the_orders_and_of_many_is_scipys():
    rising, mixed = np.arange(4.0), np.array([1.0, 0.0, 3.0, 2.0])
    a, b = np.random.default_rng(0).random((2, 9))

    # Two of the 24 orders are as extreme as ρ = 1; of ρ = 0, all are.
    assert p_values(rising, rising)[1] == pytest.approx(2 / 24)
    assert p_values(rising, np.array([1.0, 3.0, 0.0, 2.0]))[1] == pytest.approx(1)
    assert p_values(rising, mixed)[1] == pytest.approx(
        stats.permutation_test(
            (rising,), lambda x: stats.spearmanr(x, mixed).statistic, permutation_type="pairings"
        ).pvalue
    )
    assert p_values(a, b)[1] == pytest.approx(stats.spearmanr(a, b).pvalue)


def test_correlations_row_by_row_equal_scipys_with_ties_and_gaps():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 4, (2, 40, 6)).astype(float)
    a[0], a[1, 2], b[2, :2] = 3, np.nan, np.nan

    r, rho = pearson(a, b), spearman(a, b)

    assert np.isnan(r[0])
    assert np.isnan(rho[0])
    for row in range(1, 40):
        known = ~np.isnan(a[row] + b[row])
        if np.ptp(a[row, known]) and np.ptp(b[row, known]):
            pair = (a[row, known], b[row, known])
            assert r[row] == pytest.approx(stats.pearsonr(*pair).statistic)
            assert rho[row] == pytest.approx(stats.spearmanr(*pair).statistic)


def test_two_content_schemes_and_no_mapping_have_no_correlation():
    scores = world.scores()
    two = replace(
        scores,
        content_schemes=world.CONTENTS[:2],
        **{n: getattr(scores, n)[:, :, :2] for n in ("cds", "b_cds", "frames", "wrong")},
        last_wrong=scores.last_wrong[:, :, :2],
    )
    bare = replace(scores, b_cds=None, wrong=None, last_wrong=None)

    assert list(tables(two).error_correlation()) == []
    assert list(tables(bare).error_correlation()) == list(tables(bare).error()) == []


def test_rounds_leave_every_point_as_it_is_and_give_intervals_around_it():
    scores = world.scores(1, sizes=(30, 20, 25))
    plain, drawn = tables(scores), tables(scores, 200)

    for name in ("error", "by_content_scheme", "by_part_scheme", "error_correlation"):
        both = zip(getattr(plain, name)(), getattr(drawn, name)(), strict=True)
        for without, row in both:
            ends = {key for key in row.to_json() if key.endswith(("low", "high"))}
            assert {getattr(without, key) for key in ends} == {None}
            assert replace(row, **dict.fromkeys(ends)) == without
            if hasattr(row, "value"):
                assert row.low <= row.value <= row.high
                assert row.low < row.high or row.measure == "b_cds"
    for row in drawn.best_and_worst():
        assert 0 <= row.lowest_share <= 1


def histograms() -> Histograms:
    """CL-ratios of objects 0, 0, 1 and 2, and the parts of all but the last object."""
    return Histograms(
        owner=np.array([0, 0, 1, 2]),
        classifier=np.array([0, 1, 0, 2]),
        index=np.array([1, 1, 1, 3]),
        bin=np.array([9, 9, 4, 0]),
        presence=np.array([9, 9, 5, 0, *[9] * 7, -1]),
    )


def test_cl_ratios_are_counted_by_classifier_and_index_and_for_the_machines_together():
    scores = replace(world.scores(), machines=(0, 1))
    counts = histograms().counts(scores, cs.once(scores))

    rows = list(cl_rows(scores, counts, None, 0.95))

    actual = {(r.classifier, r.index, r.bin): (r.count, r.share, r.total) for r in rows if r.count}
    assert actual == {
        ("B", 1, 4): (1, 0.5, 2),
        ("B", 1, 9): (1, 0.5, 2),
        ("A", 1, 9): (1, 1, 1),
        ("C", 3, 0): (1, 1, 1),
        ("", 1, 4): (1, 1 / 3, 3),
        ("", 1, 9): (2, 2 / 3, 3),
    }
    assert len(rows) == 4 * 10
    assert (rows[4].low, rows[4].high, rows[4].share_low) == (0.4, 0.5, None)


def test_counts_are_weighted_by_how_often_an_object_was_drawn():
    scores = world.scores()
    weights = np.array([[2, 0, 1, *[1] * 9], [0, 3, 1, *[1] * 9]], np.int32)

    counts = histograms().counts(scores, weights)
    rows = list(cl_rows(scores, histograms().counts(scores, cs.once(scores)), counts, 0.95))

    assert counts["cl"][:, 0, 0, 9].tolist() == [2, 0]
    assert counts["cl"][:, 0, 0, 4].tolist() == [0, 3]
    assert counts["cl"][:, -1, 0, 9].tolist() == [4, 0]
    assert 0 <= rows[9].share_low < rows[9].share_high <= 1


def test_parts_present_are_counted_by_category_where_somebody_says():
    scores = world.scores()
    counts = histograms().counts(scores, cs.once(scores))

    rows = list(presence_rows(scores, counts, None, 0.95))

    actual = {(r.category, r.low): (r.count, r.objects) for r in rows if r.count}
    assert actual == {
        ("bus", 0.9): (2, 4),
        ("bus", 0.5): (1, 4),
        ("bus", 0.0): (1, 4),
        ("cat", 0.9): (5, 5),
        ("dog", 0.9): (2, 2),
    }
