"""Rows beside the figures, and the CSV files."""

import json
from dataclasses import replace

import pytest

from evaluation.benchmarks.kinds.labeled import figures, rows, tables
from evaluation.benchmarks.kinds.labeled.kind import Labeled
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.scoring.analysis import analyse
from evaluation.scoring.comparing import IntervalEstimate
from labeling.estimators.intervals import clopper_pearson
from tests.evaluation.benchmarks.kinds.labeled import results
from tests.evaluation.benchmarks.kinds.labeled.results import CAT, COW

KINDS = tuple(results.SCORES)


@pytest.mark.parametrize(("kind", "first"), [("classification", "alpha"), ("detection", "beta")])
def test_best_stands_first_by_which_way_is_better(kind, first):
    ranked = rows.submission_rows(results.result(kind, 0.2, 0.4))

    assert ranked[0].name == first
    # McNemar's p is 0.2, and the intervals overlap: nobody is marked.
    assert not any(row.lead.best for row in ranked)


@pytest.mark.parametrize("kind", KINDS)
def test_a_star_stands_where_the_worse_is_surely_worse(kind):
    result = results.result(kind, 0.2, 0.9)
    for pair in rows.pairs(result):
        pair.mcnemar_p = 1e-6
    for submission in result.submissions:
        submission.result.images = 50

    ranked = rows.submission_rows(result)

    assert [(row.lead.best, row.images) for row in ranked] == [(True, 50), (False, 50)]
    assert rows.answer(result).sure.leaders == [ranked[0].name]


def test_a_submission_without_a_number_comes_last_and_crashes_nothing():
    first, last = rows.submission_rows(results.result("detection", None, 0.4))

    assert (first.name, last.name) == ("beta", "alpha")
    assert replace(last.lead, selection=None) == rows.MeasureCell(None)


def test_answer_says_whether_anything_tells_two_apart():
    near = rows.answer(results.result("detection", 0.3, 0.2))
    far = rows.answer(results.result("detection", 0.7, 0.2))

    assert (near.sure.apart, far.sure.apart) == ((), (("alpha", "beta"),))
    assert "No order is confirmed" in near.sure.words
    assert rows.answer(results.result("localization", 0.2, 0.2)).sure.apart == ()
    assert (near.best.name, near.second.name) == ("alpha", "beta")
    # Of five images 0.2 and 0.9 are not told apart.
    assert rows.answer(results.result("wsol", 0.2, 0.9)).sure.apart == ()
    assert rows.answer(results.result("wsol", None)) is None


def test_a_result_of_the_first_edition_is_read():
    """It had neither what is sure of an order nor the intervals of WSOL."""
    stored = results.result("wsol").to_json()

    read = LabeledResult.from_json(json.loads(json.dumps(stored)))

    assert read == results.result("wsol")
    assert "intervals" not in stored["submissions"][0]["result"]
    assert rows.submission_rows(read)[0].lead.low == pytest.approx(clopper_pearson(2, 5)[0])


def test_classes_are_ordered_easiest_first_and_those_without_a_value_last():
    first, last = rows.per_class(results.result("localization", 0.2, None))

    assert (first.wnid, last.wnid) == (CAT, COW)
    assert [cell.value for cell in first.cells] == [0.8, None]
    assert (first.mean, last.mean) == (0.8, 0.2)


def test_classes_of_detections_have_their_objects_and_detections():
    """Also where an analysis, which has neither, gives the values."""
    [row] = rows.per_class(results.result("detection", 0.2, 0.4))

    assert (row.wnid, row.images, row.positives, row.detections) == (CAT, 3, 4, [9, 9])
    assert [row.name for row in rows.per_class(results.result("detection", None))] == [COW, CAT]


def test_no_class_is_among_the_easiest_and_the_hardest():
    result = results.result("localization", 0.2)

    assert [row.wnid for row in rows.easiest(result)] == [CAT]
    assert [row.wnid for row in rows.hardest(result)] == [COW]
    assert rows.easiest(results.result("detection", 0.2)) == []


@pytest.mark.parametrize(
    ("histogram", "counts"),
    # Pixels of score one join the last bin.
    [([9, 4, 2, 1, 1], [9, 4, 2, 2]), ([1] * 1001, [20] * 49 + [21])],
)
def test_scores_are_gathered_in_fifty_bins_without_losing_a_pixel(histogram, counts):
    result = results.result("wsol", 0.5)
    result.curves["alpha"].boxes.score_histogram = histogram

    every, *_ = rows.score_histograms(result)

    assert every.counts == counts
    assert sum(every.shares) == pytest.approx(1)
    assert every.edges == [at / len(counts) for at in range(len(counts) + 1)]


def test_a_note_that_several_submissions_have_comes_once():
    notes = rows.notes(results.result("classification", 0.2, 0.4))

    assert [who for who, _ in notes] == [[], ["alpha", "beta"]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_filled_table_has_a_row_for_every_submission_it_is_about(kind):
    result = results.result(kind)

    for table in Labeled(result.kind).filled_tables(result):
        name = table.name
        head, content = table.content(result)
        assert {len(row) for row in content} == {len(head)}, name
        if "submission" in head:
            who = {row[head.index("submission")] for row in content}
            assert who == {"alpha", "beta"}, name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [(None,), (0.2, None), (0.0, 1.0)])
def test_nulls_crash_no_table_no_figure_and_no_words(kind, values):
    result = results.result(kind, *values)

    for table in tables.TABLES:
        table.content(result)
    for name in Labeled(result.kind).figures(result):
        assert Labeled(result.kind).draw(name, result, "svg", "dark", {}).startswith(b"<?xml")
        assert figures.FIGURES[name].words(result).endswith(".")


def test_a_result_of_nothing_has_no_figure_and_no_table():
    bare = replace(results.result("wsol"), submissions=[], curves={}, notes=[])

    assert Labeled(bare.kind).figures(bare) == []
    assert Labeled(bare.kind).filled_tables(bare) == []
    assert rows.answer(bare) is None


def test_figures_are_the_same_bytes_each_time_and_differ_by_theme():
    result = results.result("localization")

    first = Labeled(result.kind).draw("lead", result, "svg", "light", {})

    assert first == Labeled(result.kind).draw("lead", result, "svg", "light", {})
    assert first != Labeled(result.kind).draw("lead", result, "svg", "dark", {})
    assert (
        Labeled(result.kind).draw("comparison", result, "png", "light", {}).startswith(b"\x89PNG")
    )


def test_names_that_matplotlib_would_read_as_something_else_are_written_as_they_are():
    result = results.result("classification")
    for submission, name in zip(result.submissions, ("$\\nope$", "_hidden"), strict=True):
        submission.name = name

    for name in ("lead", "at-k", "per-class"):
        drawn = Labeled(result.kind).draw(name, result, "svg", "light", {}).decode()
        assert "_hidden" in drawn, name
        assert "$\\nope$" in drawn, name


def test_many_classes_are_a_curve():
    result = results.result("detection", 0.2)
    values = {f"n{at:08d}": at / 200 for at in range(201)}
    result.submissions[0].result.analysis = analyse(values, {}, "AP")

    drawn = Labeled(result.kind).draw("per-class", result, "svg", "light", {}).decode()

    assert "n00000007" not in drawn
    assert "from 0.000 to 1.000 over 201 classes" in figures.FIGURES["per-class"].words(result)


def test_the_axis_of_scales_has_a_number_however_near_the_scales_are():
    result = results.result("localization", 0.2)
    for at, point in enumerate(result.submissions[0].result.analysis.by_scale.rows):
        point.scale = 0.3 + 0.01 * at

    drawn = Labeled(result.kind).draw("scale", result, "svg", "light", {}).decode()

    assert "20 %" in drawn or "50 %" in drawn


@pytest.mark.parametrize("is_old", [False, True])
def test_a_pair_shows_its_cross_table_where_the_result_has_one(is_old):
    result = results.result("classification", 0.2, 0.4)
    [pair] = rows.pairs(result)
    if not is_old:
        pair.both_right, pair.mcnemar_holm_p = 2, 0.04
        pair.either_right = IntervalEstimate(value=0.75, interval=[0.5, 0.9])

    def cell(key: str) -> object:
        [column] = (column for column in tables.PAIRS.columns if column.key == key)
        return column.cell(pair)

    cells = (cell("both_right"), cell("mcnemar_holm_p"), cell("either_right"))
    assert cells == (
        (None, None, None) if is_old else (2, "0.04", rows.MeasureCell(0.75, 0.5, 0.9))
    )
