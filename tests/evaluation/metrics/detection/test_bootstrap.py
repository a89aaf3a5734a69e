"""Bootstrap rounds of average precision, against images drawn one by one and copied plainly."""

import numpy as np
import pytest

from evaluation.metrics.detection.bootstrap import Resampled, precision_intervals
from evaluation.metrics.detection.precision import ClassBoxes, average_precisions
from tests.evaluation.metrics.detection.test_precision import boxes, plain_ap, world

MASK = 2**64 - 1
CLASSES = 5


def plain_draws(seed: int, images: int) -> list[int]:
    """The images that SplitMix64 draws from this seed, by whole numbers."""
    state, drawn = seed, []
    while len(drawn) < images:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        mixed ^= mixed >> 31
        for half in (mixed & 0xFFFFFFFF, mixed >> 32):
            if (half * images) & 0xFFFFFFFF >= 2**32 % images:
                drawn.append(half * images >> 32)
    return drawn[:images]


def copied(rows: ClassBoxes, drawn: list[int]) -> tuple[ClassBoxes, np.ndarray]:
    """Every drawn image as an image of its own, and which of the rows its boxes were."""
    rows_of_draw = [np.flatnonzero(rows.images == image) for image in drawn]
    new = np.repeat(np.arange(len(drawn)), [len(places) for places in rows_of_draw])
    places = np.concatenate(rows_of_draw)
    return ClassBoxes(new, rows.classes[places], rows.corners[places]), places


def drawable(
    images: int = 5, seed: int = 1
) -> tuple[ClassBoxes, ClassBoxes, np.ndarray, Resampled]:
    truth, detected, _ = world(seed)
    # Two copies of an image tie with one another alone.
    confidences = np.random.default_rng(seed).permutation(len(detected)) / len(detected)
    measured = average_precisions(truth, detected, confidences, CLASSES, inclusive=True)
    return truth, detected, confidences, Resampled.of(measured, truth, detected, images)


def plain_round(
    truth: ClassBoxes, detected: ClassBoxes, confidences: np.ndarray, drawn: list[int]
) -> list:
    objects, _ = copied(truth, drawn)
    detections, places = copied(detected, drawn)
    return [plain_ap(objects, detections, confidences[places], c, 1, []) for c in range(CLASSES)]


@pytest.mark.parametrize("images", [5, 7])
def test_a_round_is_the_precision_of_the_images_drawn(images):
    truth, result, confidences, drawn = drawable(images)
    seeds = np.array([3, 2**63 + 11, 2**64 - 1, *range(20)], np.uint64)
    into = np.empty((4, len(seeds)))

    means = drawn.rounds(seeds, into)

    for r, seed in enumerate(seeds.tolist()):
        expected = plain_round(truth, result, confidences, plain_draws(seed, images))
        assert np.isnan(expected[4])
        assert into[:, r].tolist() == pytest.approx(expected[:4], abs=1e-13, nan_ok=True)
        assert means[r] == pytest.approx(np.nanmean(expected), abs=1e-13)


def test_rounds_are_the_same_however_many_are_drawn_together():
    *_, drawn = drawable()
    seeds = np.arange(200, dtype=np.uint64)

    together = drawn.rounds(seeds)

    assert drawn.rounds(seeds[:1])[0] == together[0]
    assert drawn.rounds(seeds[100:]).tolist() == together[100:].tolist()


def test_draws_are_spread_as_draws_with_replacement_are():
    from evaluation.metrics.detection.kernels_precision import BLOCK, draw_images

    weights = np.empty((300, BLOCK), np.uint8)
    counts = np.zeros(8)
    generator = np.random.default_rng(0)
    for _ in range(20):
        draw_images(generator.integers(0, 2**64, BLOCK, dtype=np.uint64), weights)
        assert (weights.sum(axis=0, dtype=int) == 300).all()
        counts += np.bincount(weights.ravel(), minlength=8)[:8]

    share = counts / counts.sum()
    assert share[0] == pytest.approx((299 / 300) ** 300, abs=0.002)
    assert share[1] == pytest.approx((299 / 300) ** 299, abs=0.002)


def test_a_class_found_whole_is_sure_and_one_never_found_is_nothing():
    truth = boxes((0, 0, 0, 0, 50, 50), (1, 0, 0, 0, 50, 50), (1, 2, 0, 0, 50, 50))
    detected = boxes((0, 0, 0, 0, 50, 50), (1, 0, 0, 0, 50, 50), (0, 1, 0, 0, 9, 9))
    measured = average_precisions(truth, detected, np.ones(3), 3, inclusive=False)
    drawn = Resampled.of(measured, truth, detected, 3)

    intervals = precision_intervals(
        drawn, 0.9, np.random.default_rng(0), rounds=500, most_rounds=500
    )

    assert sorted(intervals.by_class) == [0, 2]
    assert intervals.by_class[0] == (1, 1, 500, True)
    assert intervals.by_class[2] == (0, 0, 500, True)
    assert intervals.mean.low == 0.5
    assert intervals.mean.high == 1


def test_nothing_to_draw_from_has_no_interval():
    measured = average_precisions(boxes(), boxes(), np.zeros(0), 2, inclusive=True)
    drawn = Resampled.of(measured, boxes(), boxes(), 4)

    intervals = precision_intervals(drawn, 0.9, np.random.default_rng(0), rounds=100)

    assert np.isnan([intervals.mean.low, intervals.mean.high]).all()
    assert intervals.by_class == {}


def test_the_interval_of_the_mean_is_that_of_a_plain_bootstrap():
    truth, detected, confidences, drawn = drawable(images=5, seed=2)
    generator = np.random.default_rng(5)
    plain = [
        np.nanmean(plain_round(truth, detected, confidences, generator.integers(0, 5, 5).tolist()))
        for _ in range(400)
    ]

    intervals = precision_intervals(drawn, 0.8, np.random.default_rng(0)).mean

    assert intervals.rounds >= 20_000
    assert [intervals.low, intervals.high] == pytest.approx(
        np.quantile(plain, [0.1, 0.9]), abs=0.03
    )


def test_rounds_that_memory_does_not_hold_still_settle_the_mean(monkeypatch):
    *_, drawn = drawable()
    monkeypatch.setattr("evaluation.metrics.detection.bootstrap._MAX_IN_MEMORY", 4 * 500)

    intervals = precision_intervals(
        drawn, 0.99, np.random.default_rng(0), rounds=200, most_rounds=800
    )

    assert intervals.mean.rounds == 800
    assert {interval.rounds for interval in intervals.by_class.values()} == {500}
