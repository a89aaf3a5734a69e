"""The analysis of a mean over classes, by hand, and the paper's figures on real boxes."""

from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics.detection.precision import ClassBoxes
from evaluation.scoring.analysis import (
    ClassValue,
    ScaledValue,
    Tied,
    accuracies,
    analyse,
    by_scale,
    chance,
    per_class,
    scales_of,
)
from evaluation.scoring.class_properties import BINS, Codes, by_property
from labeling.records import to_json

REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "wsol" / "ILSVRC_val"
NAN = float("nan")


def test_accuracy_by_class_is_the_share_of_its_images():
    wrong = np.array([True, False, False, True, True])

    assert accuracies(wrong, ["n2", "n1", "n2", "n1", "n1"]) == (
        {"n1": pytest.approx(1 / 3), "n2": 0.5},
        {"n1": 3, "n2": 2},
    )


def test_the_histogram_has_every_class_and_the_range_both_ends():
    values = {"n1": 0.0, "n2": 1.0, "n3": 0.97, "n4": 0.05, "n5": NAN}

    summary = per_class(values, {"n2": 50})

    assert summary.classes == 4
    assert summary.mean == pytest.approx(2.02 / 4)
    counts = summary.histogram["counts"]
    assert (counts[0], counts[1], counts[-1], sum(counts)) == (1, 1, 2, 4)
    assert len(summary.histogram["edges"]) == len(counts) + 1
    assert summary.range == {"lowest": 0, "highest": 1, "difference": 1}
    assert summary.easiest.rows[0] == ClassValue(wnid="n2", value=1, images=50)
    assert [row.wnid for row in summary.hardest.rows] == ["n1", "n4", "n3", "n2"]
    assert [row.wnid for row in summary.rows] == ["n1", "n2", "n3", "n4", "n5"]


def test_what_lies_on_an_edge_is_in_the_bin_above():
    values = {f"n{i}": i / 10 for i in range(11)} | {"sum": 0.1 + 0.2, "less": 1 - 0.9}

    counts = per_class(values, {}).histogram["counts"]

    assert [i for i, count in enumerate(counts) if count] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 19]
    assert (counts[2], counts[6]) == (2, 2)


def test_ties_are_told_where_more_are_equal_than_are_listed():
    values = {f"n{i:02}": 1.0 for i in reversed(range(30))} | {"n30": 0.5, "n31": 0.2}

    summary = per_class(values, {})

    assert [row.wnid for row in summary.easiest.rows] == [f"n{i:02}" for i in range(10)]
    assert summary.easiest.tied == Tied(value=1, classes=30, in_list=10)
    assert [row.wnid for row in summary.hardest.rows[:3]] == ["n31", "n30", "n00"]
    assert summary.hardest.tied == Tied(value=1, classes=30, in_list=8)


def test_no_classes_have_no_figures():
    summary = per_class({}, {})

    assert summary.easiest.rows == []
    assert np.isnan(summary.mean)
    assert np.isnan(by_scale({}, {}).correlation)


def test_scale_goes_with_the_value_over_classes_that_have_both():
    values = {"n1": 0.2, "n2": 0.9, "n3": 0.4, "n4": NAN, "n5": 0.5}
    scales = {"n1": 0.1, "n2": 0.3, "n3": 0.35, "n4": 0.9}

    correlated = by_scale(values, scales)

    assert correlated.classes == 3
    assert correlated.without_scale == 1
    assert correlated.correlation == pytest.approx(
        np.corrcoef([0.1, 0.3, 0.35], [0.2, 0.9, 0.4])[0, 1]
    )
    assert correlated.rank_correlation == pytest.approx(0.5)
    assert correlated.rows[1] == ScaledValue(wnid="n2", scale=0.3, value=0.9)


def test_how_hard_objects_are_to_find_by_hand():
    """A crowd of two in one image and one alone; a class of one object; a class of none."""
    boxes = ClassBoxes(
        np.array([0, 0, 1, 1]),
        np.array([2, 2, 2, 0]),
        np.array([[0, 0, 5, 10], [5, 0, 10, 10], [0, 0, 10, 20], [0, 0, 20, 20]], float),
    )

    difficulty = chance(boxes, np.array([[10, 10], [20, 20]]), ["n3", "n2", "n1"], inclusive=False)

    assert [row.wnid for row in difficulty.rows] == ["n1", "n3"]
    first, three = difficulty.rows
    assert (first.images, first.instances, first.instances_per_image) == (2, 3, 1.5)
    assert first.scale == pytest.approx(0.5)
    assert first.cpl == pytest.approx(1 / 3)
    assert first.neighbours_per_instance == pytest.approx(2 / 3)
    assert (three.scale, three.neighbours_per_instance) == (1, 0)
    assert np.isnan(three.cpl)
    assert (difficulty.classes, difficulty.cpl) == (2, pytest.approx(1 / 3))
    assert difficulty.instances_per_image == 1.25
    assert scales_of(difficulty) == {"n1": pytest.approx(0.5), "n3": 1}


def test_imagenet_v2_is_as_hard_as_the_paper_found_imagenet():
    """Printed of ILSVRC's validation images: scale 35.8 %, CPL 20.8 %, 0.47 neighbours, ρ 0.9."""
    if not REAL.is_dir():
        pytest.skip(f"{REAL} is not there")

    def rows(name: str) -> list[list[str]]:
        return [line.split(",") for line in (REAL / name).read_text().split()]

    names = [image for image, *_ in rows("image_ids.txt")]
    index_of = {name: i for i, name in enumerate(names)}
    labels = dict(rows("class_labels.txt"))
    sizes = np.array([[float(x) for x in size] for _, *size in rows("image_sizes.txt")])
    true = rows("localization.txt")
    boxes = ClassBoxes(
        np.array([index_of[image] for image, *_ in true]),
        np.array([int(labels[image]) for image, *_ in true]),
        np.array([[float(x) for x in corners] for _, *corners in true]),
    )

    difficulty = chance(boxes, sizes, [f"{i:03}" for i in range(1000)], inclusive=False)

    assert difficulty.scale == pytest.approx(0.358, abs=0.02)
    assert difficulty.cpl == pytest.approx(0.208, abs=0.002)
    assert difficulty.neighbours_per_instance == pytest.approx(0.47, abs=0.04)
    assert difficulty.cpl_scale_correlation == pytest.approx(0.9, abs=0.02)


def properties(count: int, seed: int) -> list[Codes]:
    rng = np.random.default_rng(seed)
    return [
        Codes(*(int(rng.integers(0, len(words))) for words in BINS.values())) for _ in range(count)
    ]


def test_each_property_is_matched_within_itself_and_both_kinds_beside_it():
    class_codes = properties(300, 0)
    rng = np.random.default_rng(1)
    scales, values = rng.beta(2, 4, 300), rng.random(300)

    matched = by_property(class_codes, scales, values, np.random.default_rng(0))

    assert list(matched.figures) == [*BINS, "natural_deformability", "natural_texture"]
    for name, words in BINS.items():
        bins = matched.figures[name].bins
        assert [row.bin for row in bins] == list(words)
        for code, row in enumerate(bins):
            mine = [values[i] for i in range(300) if getattr(class_codes[i], name) == code]
            assert row.classes == len(mine)
            assert row.value == pytest.approx(np.mean(mine))
            low, high = row.matched.interval
            assert low < row.matched.value < high
        low, high = matched.figures[name].scale_range
        assert high - low < 0.02
    both = matched.figures["natural_texture"].bins
    assert [row.bin for row in both] == [
        "man-made, none",
        "man-made, low",
        "natural, none",
        "natural, low",
    ]
    assert [row.classes for row in both] == [
        sum((c.natural, c.texture) == pair for c in class_codes)
        for pair in ((0, 0), (0, 1), (1, 0), (1, 1))
    ]
    codes = np.array(class_codes)
    assert matched.correlations["deformability_natural"] == pytest.approx(
        np.corrcoef(codes[:, 1], codes[:, 3])[0, 1]
    )


def test_a_small_bin_is_left_out_and_says_so():
    class_codes = [Codes(0, 0, 0, 0)] * 9 + [Codes(4, 1, 3, 1)] * 4

    matched = by_property(class_codes, np.full(13, 0.2), np.ones(13), np.random.default_rng(0))

    bins = {row.bin: row for row in matched.figures["size"].bins}
    assert (bins["XS"].left_out, bins["XL"].left_out, bins["S"].left_out) == (False, True, True)
    assert bins["XL"].matched.interval is None
    assert np.isnan(bins["XL"].matched.value)
    assert bins["XL"].value == 1


def test_all_of_it_in_one_call_with_what_there_is():
    values = {f"n{i}": i / 20 for i in range(20)}
    images = dict.fromkeys(values, 50)
    scales = {c: 0.2 for c in values if c != "n3"}
    kinds = {c: Codes(0, 0, 0, 0) for c in values if c != "n4"}

    bare = analyse(values, images, "accuracy")
    full = analyse(values, images, "accuracy", scales, kinds)

    assert (bare.by_scale, bare.properties) == (None, None)
    assert full.per_class == bare.per_class
    assert full.properties.classes == 18
    assert full.properties.left_out == 2
    again = analyse(values, images, "accuracy", scales, kinds)
    assert to_json(full) == to_json(again)
