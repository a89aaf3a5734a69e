"""Figures of results, and the tables beside them."""

import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from evaluation.benchmarks.kinds.mad import figures, tables
from evaluation.benchmarks.kinds.mad.kind import Mad
from evaluation.benchmarks.kinds.mad.scoring import MadResult
from evaluation.figures import THEMES
from labeling.csv_rows import csv_lines

MAD = Mad("mad")
NAMES = ["a", "b", "=cmd()", "resnext101_32x48d_wsl.fb_wsl_ig1b_ft_in1k"]


@pytest.fixture
def result() -> MadResult:
    raw = {
        "classifiers": NAMES,
        "accuracy": [
            [1, 0.9, 0.8, None],
            [0.2, 1, 0.7, 0.6],
            [0.1, 0.3, 1, 0.5],
            [None, 0.4, 0.5, 1],
        ],
        "dominance": [[1, 4.5, 8, None], [0.2, 1, 2, 2], [0.1, 0.4, 1, 1], [None, 0.7, 1, 1]],
        "beats": [[0.5, 1, 1, 1], [0, 0.5, 0.9, 0.8], [0, 0.1, 0.5, 0.5], [0, 0.2, 0.5, 0.5]],
        "scores": [0.6, 0.2, 0.1, 0.1],
        "ranks": [1, 2, 3.5, 3.5],
        "rank_intervals": [[1, 1], [2, 3], [3, 4], [None, None]],
        "hodge": {"ranks": [1, 2, 3, 4], "scores": [1.0, 0.1, -0.5, -0.6], "cyclicity": 0.1},
        "accuracies": [76.1, None, None, None],
        "cases": {"I": 1, "II": 3, "III": 0},
        "pairs": [{"pair": ["a", "b"], "images": 4, "pending": 1, "dropped": 0}],
        "ablation": [
            {"k": 1, "spearman": None},
            {"k": 2, "spearman": 0.8},
            {"k": 3, "spearman": 1},
        ],
        "bootstrap": {"rounds": 0, "seed": 0, "left_out": 0},
        "smoothing": "laplace",
        "top_k": 4,
        "pending": 1,
        "release": {"number": 1, "sha256": ""},
        "alike": {
            "pool": 1,
            "truth": "labels of the dataset",
            "pairs": [
                {"first": "a", "second": "b", "images": 4, "alike": 2, "wrong": 1}
                | {"share": 0.25, "low": 0.01, "high": 0.81}
            ],
        },
    }
    return MadResult.from_json(raw)


@pytest.mark.parametrize("name", figures.FIGURES)
def test_figures_are_whole_files_in_both_forms_and_themes(result, name):
    light, dark = (MAD.draw(name, result, "svg", theme, {}) for theme in THEMES)
    png = MAD.draw(name, result, "png", "dark", {})

    assert ElementTree.fromstring(light).tag.endswith("svg")
    assert light != dark
    assert png.startswith(b"\x89PNG")


def test_equal_results_give_equal_bytes_even_from_threads(result):
    with ThreadPoolExecutor(4) as pool:
        drawn = pool.map(
            lambda name: MAD.draw(name, result, "svg", "light", {}), [*figures.FIGURES] * 3
        )

        assert len(set(drawn)) == len(figures.FIGURES)


def test_figures_say_in_words_what_they_show(result):
    assert "Highest: a against b, 0.90" in MAD.alt("heatmap", result, {})
    assert MAD.alt("ranks", result, {}).startswith("Ranks: 1 a, 2 b")
    assert "0.80 at k = 2, 1.00 at k = 3" in MAD.alt("ablation", result, {})
    assert "no data yet" in MAD.alt("ablation", replace(result, ablation=[]), {})


def test_ties_are_listed_by_name(result):
    assert result.by_rank() == [0, 1, 2, 3]


def test_every_table_has_a_head_as_wide_as_its_rows(result):
    for table in tables.TABLES:
        head, rows = table.content(result)

        assert rows, table
        assert {len(row) for row in rows} == {len(head)}, table


def test_cells_that_a_spreadsheet_would_run_are_neutralised(result):
    head, rows = tables.RANKS.content(result)

    text = "".join(csv_lines([head, *rows]))

    assert "'=cmd()" in text
    # Numbers stay numbers, minus sign and all.
    assert ",-0.5," in text


def test_best_comes_first_with_what_is_known_of_it(result):
    more = replace(result, rank_changes=[0, 1, -1, 0], accuracy_ranks=[1, 3, 2, 4])

    head, rows = tables.RANKS.content(more)

    assert [row[0] for row in rows][:2] == ["a", "b"]
    second = dict(zip(head, rows[1], strict=True))
    assert (second["accuracy_rank"], second["rank_change"]) == (3, 1)


def test_shares_of_no_image_are_unknown(result):
    rows = tables.cases(replace(result, cases={"I": 0, "II": 0, "III": 0}))

    assert [row.share for row in rows] == [None, None, None]
