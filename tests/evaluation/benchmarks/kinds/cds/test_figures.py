"""Figures of CDS results, and what is said of them in words."""

import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evaluation.benchmarks.kinds.cds import figures
from evaluation.benchmarks.kinds.cds.kind import Cds
from tests.evaluation.cds import results

CDS = Cds("cds")


@pytest.fixture(scope="module")
def result():
    return results.result()


def with_contents(result, change):
    rows = [change(row) for row in result.tables.by_content_scheme]
    return replace(result, tables=replace(result.tables, by_content_scheme=rows))


def words(name, result, **query):
    return CDS.alt(name, result, query)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_are_whole_files_in_both_forms_and_themes(result, name):
    light = CDS.draw(name, result, "svg", "light", {})
    dark = CDS.draw(name, result, "svg", "dark", {})
    png = CDS.draw(name, result, "png", "dark", {})

    assert ElementTree.fromstring(light).tag.endswith("svg")
    assert light != dark
    assert png.startswith(b"\x89PNG")


def test_equal_results_give_equal_bytes_even_from_threads(result):
    with ThreadPoolExecutor(4) as pool:
        drawn = pool.map(lambda _: CDS.draw("content", result, "svg", "light", {}), range(6))

        assert len(set(drawn)) == 1


@pytest.mark.parametrize("name", figures.FIGURES)
def test_every_figure_has_words_and_rows(result, name):
    assert words(name, result)
    assert figures.FIGURES[name].rows(result)


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
    script = {"averaging": "script"}

    assert "alpha, 0.900" in words("content", changed, **script)
    assert "alpha, 0.400" in words("content", changed)
    assert CDS.draw("content", changed, "svg", "light", script) != CDS.draw(
        "content", changed, "svg", "light", {}
    )
    assert "CL-ratios of beta" in words("cl-ratio", result, of="beta")


def test_a_result_without_a_mapping_has_fewer_figures(result):
    kept = {
        name: [row for row in getattr(result.tables, name) if row.measure != "b_cds"]
        for name in ("by_content_scheme", "by_part_scheme", "best_and_worst")
    }
    tables = replace(result.tables, **kept, error=[], error_correlation=[], cl_ratio=[])
    bare = replace(result, tables=tables)

    assert CDS.figures(result) == list(figures.FIGURES)
    assert CDS.figures(bare) == ["content", "part", "wins", "presence", "hardness"]


def test_unknown_values_leave_gaps(result):
    def without(row):
        value = None if row.classifier == "gamma" else row.value
        return replace(row, value=value, low=None, high=None)

    changed = with_contents(result, without)

    assert CDS.draw("content", changed, "svg", "light", {})
    assert "gamma" not in words("content", changed)
