"""PxAP, mPxAP and PxAcc against slow loops over thresholds, and on examples worked on paper."""

import numpy as np
import pytest

from evaluation.metrics.wsol import box_scores
from evaluation.metrics.wsol.box_scores import Protocol
from evaluation.metrics.wsol.mask_scores import (
    BACKGROUND,
    FOREGROUND,
    IGNORED,
    MaskScore,
    average_precision,
    nearest,
    truth_of,
)


def slow_ap(scores, truth, count):
    """By the definition: the sets of pixels at each threshold, from the highest down to 0."""
    total, before = 0.0, 0.0
    for tau in [1.0, *(k * (1 / count) for k in range(count - 1, -1, -1))]:
        called = (scores >= tau) & (truth != IGNORED)
        hit = (called & (truth == FOREGROUND)).sum()
        recall = hit / (truth == FOREGROUND).sum()
        if called.sum():
            total += hit / called.sum() * (recall - before)
        before = recall
    return total


def authors_ap(scores, truth, count):
    """One histogram over everything, as numpy makes it, up to edges of 3."""
    edges = np.append(np.arange(0, 1, 1 / count), [1.0, 2.0, 3.0])
    tp = np.histogram(scores[truth == FOREGROUND], edges)[0][::-1].cumsum()
    fp = np.histogram(scores[truth == BACKGROUND], edges)[0][::-1].cumsum()
    some = (tp + fp) != 0
    with np.errstate(invalid="ignore"):
        precision, recall = tp / (tp + fp), tp / tp[-1]
    return (precision[1:] * np.diff(recall))[some[1:]].sum()


def random_cases(rng, size):
    kinds = [BACKGROUND, FOREGROUND, IGNORED]
    for number in range(9):
        truth = rng.choice(kinds, (size, size), p=[0.6, 0.3, 0.1]).astype(np.uint8)
        scores = rng.random((size, size)) + 0.3 * (truth == FOREGROUND)
        if number % 3 == 0:
            scores = np.round(scores, 1)
        yield box_scores.normalized(scores), truth, "abc"[number % 3]


@pytest.mark.parametrize("name", box_scores.PROTOCOLS)
def test_pxap_and_mpxap_equal_slow_loops(name):
    cases = list(random_cases(np.random.default_rng(0), 20))
    score = MaskScore(Protocol(name, thresholds=50, size=20))

    for scores, truth, label in cases:
        score.add(scores, truth, label)

    result = score.result()
    scores, truth = np.array([c[0] for c in cases]), np.array([c[1] for c in cases])
    assert result["pxap"] == authors_ap(scores, truth, 50)
    assert result["pxap"] == pytest.approx(slow_ap(scores, truth, 50), abs=1e-12)
    labels = np.array([c[2] for c in cases])
    each = [slow_ap(scores[labels == label], truth[labels == label], 50) for label in "abc"]
    assert list(result["per_class"].values()) == pytest.approx(each, abs=1e-12)
    assert result["mpxap"] == pytest.approx(np.mean(each), abs=1e-12)
    assert result["mpxap"] != pytest.approx(result["pxap"], abs=1e-6)


def test_four_pixels_by_hand():
    score = MaskScore(Protocol(thresholds=4))
    truth = np.array([[1, 0, 1, 0]], np.uint8)

    score.add(np.array([[1.0, 0.75, 0.5, 0.0]]), truth, "c")

    result = score.result(curves=True)
    # Half the object at precision 1, the other half at 2/3.
    assert result["pxap"] == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)
    curves = result["curves"]
    assert curves["px_prec"].tolist() == [0.5, 2 / 3, 2 / 3, 0.5]
    assert curves["px_rec"].tolist() == [1, 1, 1, 0.5]
    assert curves["px_acc"].tolist() == [0.5, 0.75, 0.75, 0.5]
    assert result["px_acc"] == {"accuracy": 0.75, "threshold": 0.25}
    assert curves["foreground_histogram"].tolist() == [0, 0, 1, 0, 1]
    assert curves["background_histogram"].tolist() == [1, 0, 0, 1, 0]


def test_ignored_pixels_count_nowhere_and_objects_win_over_them():
    masks = [np.array([[True, False, False, False]]), np.array([[False, True, False, False]])]
    ignore = [np.array([[False, True, True, False]])]

    truth = truth_of(masks, ignore)

    assert truth.tolist() == [[FOREGROUND, FOREGROUND, IGNORED, BACKGROUND]]
    score = MaskScore(Protocol(thresholds=10))
    score.add(np.array([[0.4, 0.5, 1.0, 0.0]]), truth, "c")
    assert score.result()["pxap"] == 1.0


def test_a_class_without_an_object_is_no_number_and_left_out_of_the_mean():
    score = MaskScore(Protocol(thresholds=10))
    score.add(np.array([[0.0, 1.0]]), np.array([[0, 0]], np.uint8), "empty")
    score.add(np.array([[0.0, 1.0]]), np.array([[0, 1]], np.uint8), "full")

    result = score.result()

    assert np.isnan(result["per_class"]["empty"])
    assert result["mpxap"] == result["per_class"]["full"] == 1.0
    assert np.isnan(MaskScore(Protocol()).result()["mpxap"])


def test_a_constant_map_calls_everything_object_at_0_alone():
    score = MaskScore(Protocol("reference", size=2, thresholds=10))
    score.add(np.full((2, 2), 7.0), np.array([[1, 0], [0, 0]], np.uint8), "c")

    assert score.result()["pxap"] == 0.25


def test_parts_joined_are_the_whole():
    cases = list(random_cases(np.random.default_rng(1), 8))
    whole, first, rest = (MaskScore(Protocol(thresholds=10)) for _ in range(3))

    for number, case in enumerate(cases):
        whole.add(*case)
        (first if number < 4 else rest).add(*case)
    rest.join(first)

    assert rest.result() == whole.result()
    assert rest.images == 9


@pytest.mark.parametrize("shape", [(5, 7), (37, 53), (448, 300)])
def test_masks_are_brought_to_a_size_by_the_nearest_below(shape):
    mask = np.random.default_rng(2).random(shape) < 0.5

    small = nearest(mask, 16)

    for y, x in np.ndindex(16, 16):
        assert small[y, x] == mask[y * shape[0] // 16, x * shape[1] // 16]


def test_a_precision_of_nothing_called_is_left_out():
    assert average_precision(np.array([[0, 1, 0, 0], [0, 1, 0, 0]])) == 0.5


@pytest.mark.parametrize(
    ("truth", "reason"),
    [
        ([[FOREGROUND, IGNORED]], "no background pixel is left that counts"),
        ([[BACKGROUND, IGNORED]], "no object pixel is left that counts"),
        ([[IGNORED, IGNORED]], "no background and no object pixel is left that counts"),
    ],
)
def test_without_object_or_background_there_is_no_pxap(truth, reason):
    score = MaskScore(Protocol("paper", thresholds=10))

    score.add(np.array([[0.2, 1.0]]), np.array(truth, np.uint8), "a")

    result = score.result()
    assert np.isnan([result["pxap"], result["mpxap"], result["per_class"]["a"]]).all()
    assert result["reason"] == reason
