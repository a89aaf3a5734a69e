"""Scale, chance performance and neighbours of objects, against pairs looked at one by one."""

import numpy as np
import pytest

from evaluation.metrics.detection.object_scale import chance_performance, image_shares, neighbours
from evaluation.metrics.detection.precision import pair_iou


def boxes(count: int, seed: int, spread: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Boxes on a coarse grid, so that edges meet and shares repeat, and sizes of their images."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, spread, (count, 2))
    sizes = rng.choice([20, 40], (count, 2))
    return np.hstack([low, low + rng.integers(1, 8, (count, 2))]), sizes


def test_the_share_of_an_image_by_both_kinds_of_pixels():
    corners, sizes = np.array([[0, 0, 10, 10], [5, 5, 14, 9]]), np.array([[20, 10], [100, 10]])

    assert image_shares(corners, sizes, inclusive=False) == pytest.approx([0.5, 0.036])
    assert image_shares(corners, sizes, inclusive=True) == pytest.approx([0.55, 0.05])


def test_what_leaves_the_image_is_cut_off():
    assert image_shares(np.array([[-1, -1, 21, 11]]), np.array([[20, 10]]), False).tolist() == [1]


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_chance_performance_is_that_of_all_pairs(seed, inclusive):
    corners, sizes = boxes(60, seed)

    performance = chance_performance(corners, sizes, inclusive)

    edges = corners + np.array([0, 0, 1, 1]) * inclusive
    unit = edges / np.tile(sizes, 2)
    alike = [
        pair_iou(unit[i], unit[j], inclusive=False) >= 0.5 - 1e-12
        for i in range(60)
        for j in range(60)
        if i != j
    ]
    assert performance == pytest.approx(np.mean(alike))
    assert 0 < performance < 1


def test_half_an_overlap_is_enough_and_images_are_brought_to_one_size():
    """A third by a third of one image, a third by two thirds of another."""
    corners = np.array([[0, 0, 3, 6], [0, 0, 12, 12]])

    for heights, expected in (([18, 18], 1), ([18, 19], 1), ([19, 18], 0)):
        sizes = np.column_stack([[9, 36], heights])
        assert chance_performance(corners, sizes, inclusive=False) == expected


def test_one_instance_has_no_chance_performance_and_empty_boxes_are_alike_to_nothing():
    empty = np.array([[2, 2, 2, 5]] * 2)

    assert np.isnan(chance_performance(empty[:1], np.array([[9, 9]]), inclusive=False))
    assert chance_performance(empty, np.full((2, 2), 9), inclusive=False) == 0


@pytest.mark.parametrize("inclusive", [False, True])
def test_neighbours_equal_a_plain_loop(inclusive):
    corners, _ = boxes(120, 5, spread=30)
    groups = np.random.default_rng(6).integers(0, 12, 120)

    counts = neighbours(groups, corners, inclusive)

    edges = corners + np.array([0, 0, 1, 1]) * inclusive
    expected = [
        sum(
            i != j
            and groups[i] == groups[j]
            and max(a[0], b[0]) <= min(a[2], b[2])
            and max(a[1], b[1]) <= min(a[3], b[3])
            for j, b in enumerate(edges)
        )
        for i, a in enumerate(edges)
    ]
    assert counts.tolist() == expected
    assert 0 < sum(expected) < 120 * 9


def test_boxes_that_share_an_edge_are_neighbours_and_those_a_pixel_apart_are_not():
    side = np.array([[0, 0, 5, 5], [5, 0, 9, 5]])
    apart = np.array([[0, 0, 5, 5], [6, 0, 9, 5]])

    assert neighbours(np.zeros(2, int), side, inclusive=False).tolist() == [1, 1]
    assert neighbours(np.zeros(2, int), apart, inclusive=False).tolist() == [0, 0]
    assert neighbours(np.zeros(2, int), apart, inclusive=True).tolist() == [1, 1]
    assert neighbours(np.array([0, 1]), side, inclusive=False).tolist() == [0, 0]
    assert neighbours(np.zeros(0, int), np.zeros((0, 4)), inclusive=False).tolist() == []
