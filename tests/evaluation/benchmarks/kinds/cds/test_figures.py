"""Figures of CDS results, and what is said of them in words."""

import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evaluation.benchmarks.kinds.cds import figure_words, figures
from evaluation.scoring.cds.tables import Chosen
from tests.evaluation.cds import results

DEFAULT = Chosen()


@pytest.fixture(scope="module")
def result():
    return results.result()


def with_contents(result, change):
    rows = [change(row) for row in result.tables.by_content_scheme]
    return replace(result, tables=replace(result.tables, by_content_scheme=rows))


def words(name, result, chosen=DEFAULT):
    return figure_words.alt(name, result, chosen)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_are_whole_files_in_both_forms_and_themes(result, name):
    light = figures.draw(name, result, "svg", "light", DEFAULT)
    dark = figures.draw(name, result, "svg", "dark", DEFAULT)
    png = figures.draw(name, result, "png", "dark", DEFAULT)

    assert ElementTree.fromstring(light).tag.endswith("svg")
    assert light != dark
    assert png.startswith(b"\x89PNG")


def test_equal_results_give_equal_bytes_even_from_threads(result):
    with ThreadPoolExecutor(4) as pool:
        drawn = pool.map(
            lambda _: figures.draw("content", result, "svg", "light", DEFAULT), range(6)
        )

        assert len(set(drawn)) == 1


def test_every_figure_has_words_and_a_table():
    assert set(figures.FIGURES) == set(figure_words.WORDS) == set(figures.TABLE_OF)


def test_words_tell_the_finding(result):
    assert "object only: alpha, 0.400" in words("content", result)
    assert "People: 0.200 at object only" in words("content", result)
    assert words("error", result).startswith("Median error on whole objects, least first: alpha")
    assert "beta from 0.300 (random) to 0.500 (E_U)" in words("part", result)
    assert "n02121620: lowest people, highest gamma" in words("wins", result)
    assert "CDS Pearson -0.33, p 0.67" in words("correlation", result)
    assert "of 375 runs of right answers 16% last" in words("cl-ratio", result)
    assert "n02084071 46%" in words("presence", result)
    assert "by classifier its median runs from 0.375" in words("hardness", result)


def test_words_and_picture_follow_what_the_reader_chose(result):
    changed = with_contents(
        result, lambda row: replace(row, value=0.9) if row.averaging == "script" else row
    )
    script = Chosen("script")

    assert "alpha, 0.900" in words("content", changed, script)
    assert "alpha, 0.400" in words("content", changed)
    assert figures.draw("content", changed, "svg", "light", script) != figures.draw(
        "content", changed, "svg", "light", DEFAULT
    )
    assert "CL-ratios of beta" in words("cl-ratio", result, Chosen(of="beta"))


def test_a_result_without_a_mapping_has_fewer_figures(result):
    kept = {
        name: [row for row in getattr(result.tables, name) if row.measure != "b_cds"]
        for name in ("by_content_scheme", "by_part_scheme", "best_and_worst")
    }
    tables = replace(result.tables, **kept, error=[], error_correlation=[], cl_ratio=[])
    bare = replace(result, tables=tables)

    assert figures.drawn(result) == list(figures.FIGURES)
    assert figures.drawn(bare) == ["content", "part", "wins", "presence", "hardness"]


def test_unknown_values_leave_gaps(result):
    def without(row):
        value = None if row.classifier == "gamma" else row.value
        return replace(row, value=value, low=None, high=None)

    changed = with_contents(result, without)

    assert figures.draw("content", changed, "svg", "light", DEFAULT)
    assert "gamma" not in words("content", changed)
