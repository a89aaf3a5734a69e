"""A CDS result as tables: order, marks, words, CSV."""

from dataclasses import replace

import pytest

from evaluation.metrics.bands import Sure
from evaluation.scoring.cds import tables
from evaluation.scoring.cds.tables import PeopleMean, ReaderChoice
from tests.evaluation.cds import results


@pytest.fixture
def result():
    return results.result()


def with_rows(result, name, rows):
    return replace(result, tables=replace(result.tables, **{name: rows}))


def with_order(result):
    """The same, alpha surely before beta."""
    bands = [["alpha"], ["beta"]]
    return replace(result, sure=Sure(level=0.95, apart=[["alpha", "beta"]], bands=bands, words=""))


def test_a_stored_result_is_written_as_it_was_read(result):
    assert result.to_json() == results.stored()


def test_the_least_comes_first_and_people_last(result):
    rows = tables.classifier_rows(result, "cds", "text")

    assert [row.classifier for row in rows] == ["alpha", "beta", "gamma", "people"]
    assert rows[0].mean == pytest.approx((0.4 + 0.35 + 0.3 + 0.25) / 4)


def test_people_take_no_classifiers_mark(result):
    rows = tables.classifier_rows(with_order(result), "cds", "text")

    assert [cell.is_best for cell in rows[0].cells] == [True] * 4
    assert not any(cell.is_best for cell in rows[-1].cells)


def test_improvements_have_a_sign_and_an_interval(result):
    cells = tables.classifier_rows(result, "cds", "text")[0].cells

    assert cells[1].gain == "+12.5 %"
    assert cells[1].gain_interval == "+7.5 to +17.5"
    assert cells[0].gain == ""


@pytest.mark.parametrize(
    ("old", "new", "text"), [(0.5264, 0.4319, "+18.0"), (0.4136, 0.4147, "−0.3")]
)
def test_table_2_of_the_paper_has_these_improvements(old, new, text):
    assert tables.signed((old - new) / old) == text


def test_schemes_come_in_the_papers_order_and_others_after_them(result):
    rows = result.tables.by_content_scheme
    renamed = [replace(row, content_scheme="mine") for row in rows if row.content_scheme == "low"]

    schemes = tables.content_schemes(with_rows(result, "by_content_scheme", renamed + rows[::-1]))

    assert schemes == [*results.CONTENTS, "mine"]


def test_a_scheme_that_people_did_not_see_is_a_gap(result):
    seen = [
        row
        for row in result.tables.by_content_scheme
        if row.classifier != "people" or row.content_scheme == "low"
    ]
    result = with_rows(result, "by_content_scheme", seen)

    people = tables.classifier_rows(result, "cds", "text")[-1]
    answer = tables.answer(result, "text")

    assert [bool(cell) for cell in people.cells] == [False, False, True, False]
    assert people.mean is None
    assert answer.people == PeopleMean(value=0.1, machine=0.3, schemes=1)


def test_the_answer_names_the_best_machine_and_how_sure_it_is(result):
    answer = tables.answer(result, "text")

    assert answer.best.classifier == "alpha"
    assert (answer.second.classifier, answer.wins) == ("beta", 4)
    # Results of the first edition do not have it.
    assert answer.sure.apart == ()
    assert not any(
        cell.is_best
        for row in tables.classifier_rows(result, "cds", "text")
        for cell in row.cells
        if cell
    )


def test_the_order_is_sure_where_the_sign_test_says_so(result):
    answer = tables.answer(with_order(result), "text")

    assert answer.sure.apart == (("alpha", "beta"),)


def test_people_alone_are_no_answer(result):
    rows = tables.where(result.tables.by_content_scheme, classifier="people")
    result = replace(with_rows(result, "by_content_scheme", rows), classifiers=["people"])

    assert tables.answer(result, "text") is None


def test_ratios_count_ten_bins_at_each_index(result):
    rows = tables.ratios(result, "")

    assert [row.name for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[1].counts == list(range(2, 12))
    assert rows[1].total == sum(range(2, 12))


def test_presence_says_how_many_objects_lack_half_of_their_parts(result):
    [row, *_] = tables.presence(replace(result, category_names={"n02121620": "cat"}))

    assert row.name == "cat"
    assert row.counts == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    assert row.below_half == 6 / 13


def test_hardness_is_told_by_its_median_and_both_ends(result):
    row = tables.hardness(result, "classifier")[1]

    assert row.of == "beta"
    assert row.median == pytest.approx(0.375)
    assert (row.easiest.object, row.hardest.object) == ("thing-0", "thing-11")


def test_a_query_says_only_what_differs():
    assert ReaderChoice().query() == ""
    assert ReaderChoice("script", "a&b").query() == "averaging=script&of=a%26b"
