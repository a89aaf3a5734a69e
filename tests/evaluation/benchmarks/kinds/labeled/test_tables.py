"""Rows beside the figures, and the CSV files."""

import pytest

from evaluation.benchmarks.kinds.labeled import csv_tables, figure_words, figures, tables
from tests.evaluation.benchmarks.kinds.labeled import results
from tests.evaluation.benchmarks.kinds.labeled.results import CAT, COW

KINDS = tuple(results.SCORED)


@pytest.mark.parametrize(("kind", "first"), [("classification", "alpha"), ("detection", "beta")])
def test_best_stands_first_by_which_way_is_better(kind, first):
    rows = tables.standings(results.result(kind, 0.2, 0.4))

    assert rows[0]["name"] == first
    # McNemar's p is 0.2, and the intervals overlap: nobody is marked.
    assert not any(row["cells"][0]["best"] for row in rows)


@pytest.mark.parametrize("kind", KINDS)
def test_a_star_stands_where_the_worse_is_surely_worse(kind):
    result = results.result(kind, 0.2, 0.9)
    for pair in (result["comparison"] or {}).get("pairs", []):
        pair["mcnemar_p"] = 1e-6
    for own in result["submissions"]:
        own["result"]["images"] = 50

    rows = tables.standings(result)

    assert [row["cells"][0]["best"] for row in rows] == [True, False]
    assert [row["images"] for row in rows] == [50, 50]
    assert tables.answer(result)["sure"].leaders == [rows[0]["name"]]


def test_a_submission_without_a_number_comes_last_and_crashes_nothing():
    rows = tables.standings(results.result("detection", None, 0.4))

    assert [row["name"] for row in rows] == ["beta", "alpha"]
    assert rows[1]["cells"][0] == {
        "value": None,
        "low": None,
        "high": None,
        "threshold": None,
        "best": False,
    }


def test_answer_says_whether_anything_tells_two_apart():
    near = tables.answer(results.result("detection", 0.3, 0.2))
    far = tables.answer(results.result("detection", 0.7, 0.2))
    level = tables.answer(results.result("localization", 0.2, 0.2))

    assert (near["sure"].apart, far["sure"].apart) == ((), (("alpha", "beta"),))
    assert "No order is sure" in near["sure"].words
    assert level["sure"].apart == ()
    assert (near["best"]["name"], near["second"]["name"]) == ("alpha", "beta")
    # A result of before does not say of how many images: nothing is known.
    assert tables.answer(results.result("wsol", 0.2, 0.9))["sure"].apart == ()
    assert tables.answer(results.result("wsol", None)) is None


def test_classes_are_ordered_easiest_first_and_those_without_a_value_last():
    rows = tables.per_class(results.result("detection", 0.2, 0.4))

    assert [row["wnid"] for row in rows] == [CAT, COW]
    assert rows[0]["cells"] == [0.2, 0.4]
    assert rows[0]["mean"] == pytest.approx(0.3)
    assert (rows[0]["positives"], rows[0]["detections"]) == (4, [9, 9])
    assert rows[1]["mean"] is None


def test_no_class_is_among_the_easiest_and_the_hardest():
    found = tables.extremes(results.result("localization", 0.2))

    assert [row["wnid"] for row in found["easiest"]] == [CAT]
    assert [row["wnid"] for row in found["hardest"]] == [COW]
    assert tables.extremes(results.result("detection", 0.2)) == {"easiest": [], "hardest": []}


def test_pixels_of_score_one_join_the_last_bin():
    [every, *_] = tables.score_histograms(results.result("wsol", 0.5))

    assert every["counts"] == [9, 4, 2, 2]
    assert sum(every["shares"]) == pytest.approx(1)
    assert every["edges"] == [0, 0.25, 0.5, 0.75, 1]


def test_many_thresholds_are_gathered_in_fifty_bins_without_losing_a_pixel():
    result = results.result("wsol", 0.5)
    result["curves"]["alpha"]["boxes"]["score_histogram"] = [1] * 1001

    [every, *_] = tables.score_histograms(result)

    assert len(every["counts"]) == tables.SCORE_BINS
    assert sum(every["counts"]) == 1001
    assert every["counts"][-1] == 21


def test_a_note_that_several_submissions_have_comes_once():
    found = tables.notes(results.result("classification", 0.2, 0.4))

    assert [who for who, _ in found] == [[], ["alpha", "beta"]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_filled_table_has_a_row_for_every_submission_it_is_about(kind):
    result = results.result(kind)

    for table in csv_tables.filled(result):
        name = table.name
        head, rows = table.content(result)
        assert {len(row) for row in rows} == {len(head)}, name
        if "submission" in head:
            who = {row[head.index("submission")] for row in rows}
            assert who == {"alpha", "beta"}, name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [(None,), (None, None), (0.2, None), (0.0, 1.0)])
def test_nulls_crash_no_table_no_figure_and_no_words(kind, values):
    result = results.result(kind, *values)

    for table in csv_tables.TABLES:
        table.content(result)
    for name in figures.drawn(result):
        assert figures.draw(name, result, "svg", "dark").startswith(b"<?xml")
        assert figure_words.alt(name, result).endswith(".")


def test_a_result_of_nothing_has_no_figure_and_no_table():
    bare = results.result("wsol") | {"submissions": [], "curves": {}, "notes": []}

    assert figures.drawn(bare) == []
    assert csv_tables.filled(bare) == []
    assert tables.answer(bare) is None


def test_figures_are_the_same_bytes_each_time_and_differ_by_theme():
    result = results.result("localization")

    first = figures.draw("lead", result, "svg", "light")

    assert first == figures.draw("lead", result, "svg", "light")
    assert first != figures.draw("lead", result, "svg", "dark")
    assert figures.draw("comparison", result, "png", "light").startswith(b"\x89PNG")


def test_names_that_matplotlib_would_read_as_something_else_are_written_as_they_are():
    result = results.result("classification")
    for own, name in zip(result["submissions"], ("$\\nope$", "_hidden"), strict=True):
        own["name"] = name

    for name in ("lead", "at-k", "per-class"):
        drawn = figures.draw(name, result, "svg", "light").decode()
        assert "_hidden" in drawn, name
        assert "$\\nope$" in drawn, name


def test_many_classes_are_a_curve():
    result = results.result("detection", 0.2)
    own = result["submissions"][0]["result"]["per_class"]
    own |= {f"n{at:08d}": {"ap": at / 200, "positives": 1, "detections": 1} for at in range(200)}

    drawn = figures.draw("per-class", result, "svg", "light").decode()

    assert "n00000007" not in drawn
    assert "from 0.000 to 0.995 over 201 classes" in figure_words.alt("per-class", result)


def test_the_axis_of_scales_has_a_number_however_near_the_scales_are():
    result = results.result("localization", 0.2)
    points = result["submissions"][0]["result"]["analysis"]["by_scale"]["rows"]
    for at, point in enumerate(points):
        point["scale"] = 0.3 + 0.01 * at

    drawn = figures.draw("scale", result, "svg", "light").decode()

    assert "20 %" in drawn or "50 %" in drawn
