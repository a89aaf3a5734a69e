"""Bins brought to one mean scale, against dropping one class after the other."""

import numpy as np
import pytest

from evaluation.metrics.detection.kernels_scales import matched_rounds
from evaluation.metrics.detection.matched_bins import MIN_CLASSES, match


def plain_kept(scales: list[float], target: float) -> int:
    """Drop the largest while the mean lies above; then take one back if that is closer."""
    ordered = sorted(scales)
    left = list(ordered)
    while left and np.mean(left) > target + 1e-9:
        left.pop()
    if left and len(left) < len(ordered):
        more = ordered[: len(left) + 1]
        if np.mean(more) - target <= target - np.mean(left):
            return len(more)
    return len(left)


def random_bins(seed: int, sizes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    bins = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    scales = rng.beta(2, 4, len(bins)) * (0.6 + 0.2 * bins)
    return bins, scales, rng.random(len(bins))


@pytest.mark.parametrize("seed", range(4))
def test_bins_lose_their_largest_classes_until_their_means_meet(seed):
    bins, scales, values = random_bins(seed, (40, 25, 60, 3))

    target, matched = match(bins, 4, scales, values, 0.95, np.random.default_rng(0))

    assert target == pytest.approx(min(scales[bins == b].mean() for b in range(3)))
    for b, row in enumerate(matched):
        mine = np.flatnonzero(bins == b)
        count = plain_kept(scales[mine].tolist(), target)
        stays = mine[np.argsort(scales[mine])][:count]
        assert (row.classes, row.kept) == (len(mine), count)
        assert row.value == pytest.approx(values[mine].mean())
        if count:
            assert row.kept_scale == pytest.approx(scales[stays].mean())
            assert row.kept_value == pytest.approx(values[stays].mean())
        assert (row.interval is None) == (count < MIN_CLASSES)
    kept = [row.kept_scale for row in matched if row.interval]
    assert max(kept) - min(kept) < 0.02


def test_a_bin_all_of_whose_classes_are_large_keeps_none():
    """As the trains, airplanes and buses of the paper."""
    bins = np.repeat([0, 1], [8, 6])
    scales = np.concatenate([np.linspace(0.05, 0.15, 8), np.linspace(0.2, 0.4, 6)])

    target, (small, large) = match(bins, 2, scales, np.ones(14), 0.95, np.random.default_rng(0))

    assert target == pytest.approx(0.1)
    assert (small.kept, large.kept) == (8, 0)
    assert np.isnan(large.kept_scale)
    assert large.interval is None


def test_a_bin_under_five_classes_sets_no_target_for_the_others():
    bins = np.repeat([0, 1, 2], [4, 6, 6])
    scales = np.repeat([0.01, 0.3, 0.4], [4, 6, 6])

    target, matched = match(bins, 3, scales, np.ones(16), 0.95, np.random.default_rng(0))

    assert target == pytest.approx(0.3)
    assert [row.kept for row in matched] == [4, 6, 0]
    assert [row.interval is None for row in matched] == [True, False, True]


def test_without_a_bin_of_five_there_is_no_figure():
    target, matched = match(
        np.array([0, 0, 1]), 3, np.full(3, 0.2), np.ones(3), 0.95, np.random.default_rng(0)
    )

    assert np.isnan(target)
    assert [(row.classes, row.kept, row.interval) for row in matched] == [
        (2, 0, None),
        (1, 0, None),
        (0, 0, None),
    ]


def test_equal_scales_drop_nothing_and_the_interval_is_that_of_the_mean():
    rng = np.random.default_rng(1)
    values = rng.random(400)

    _, [row] = match(np.zeros(400, int), 1, np.full(400, 0.3), values, 0.95, rng)

    half = 1.96 * values.std() / 20
    assert row.kept == 400
    assert row.interval is not None
    assert row.interval.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert row.interval.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_rounds_equal_drawing_and_matching_one_by_one():
    bins, scales, values = random_bins(7, (9, 6, 14))
    order = np.lexsort((scales, bins))
    begins = np.array([0, 9, 15, 29])
    bits = np.random.default_rng(3).integers(0, 1 << 32, (200, 29), np.uint32)

    means = matched_rounds(bits, begins, scales[order], values[order])

    for bits_of_round, row in zip(bits.tolist(), means, strict=True):
        drawn = []
        for b in range(3):
            first, last = begins[b : b + 2].tolist()
            drawn.append(
                [first + int((last - first) * x / 2**32) for x in bits_of_round[first:last]]
            )
        target = min(float(np.mean(scales[order][places])) for places in drawn)
        for b, places in enumerate(drawn):
            count = plain_kept(scales[order][places].tolist(), target)
            stays = sorted(places)[:count]
            if count:
                assert row[b] == pytest.approx(values[order][stays].mean())
            else:
                assert np.isnan(row[b])
