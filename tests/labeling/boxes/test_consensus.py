"""Drawings of one object become one box, whose stated error is the true one."""

import numpy as np
import pytest

from labeling.boxes.consensus import expected_error, learn_sigmas, merge, same_object
from labeling.geometry.boxes import iou

SIGMAS = {"good": 0.01, "careful": 0.015, "usual": 0.02, "other": 0.03, "hasty": 0.06}


def drawn(rng, box, person):
    longer = max(box[2] - box[0], box[3] - box[1])
    return tuple((np.array(box) + rng.normal(0, SIGMAS[person] * longer, 4)).tolist())


def instance(rng):
    x, y, width, height = rng.uniform((0, 0, 40, 40), (300, 200, 200, 200))
    return x, y, x + width, y + height


@pytest.mark.parametrize("share_known", [0.0, 0.2])
def test_everybodys_error_is_learned(share_known):
    rng = np.random.default_rng(1)
    truths = [instance(rng) for _ in range(300)]
    known = [box if rng.random() < share_known else None for box in truths]

    sigmas = learn_sigmas(
        [[(who, drawn(rng, box, who)) for who in SIGMAS] for box in truths], known
    )

    assert sigmas == pytest.approx(SIGMAS, rel=0.25)


def test_the_stated_error_is_the_true_one_and_less_than_anybodys():
    rng = np.random.default_rng(2)
    truths = [instance(rng) for _ in range(400)]
    rows = [[(who, drawn(rng, box, who)) for who in SIGMAS] for box in truths]

    merged = [merge(row, SIGMAS) for row in rows]

    errors = [1 - iou(result.box, box) for result, box in zip(merged, truths, strict=True)]
    alone = [1 - iou(row[0][1], box) for row, box in zip(rows, truths, strict=True)]
    assert np.mean([result.error().mean for result in merged]) == pytest.approx(
        np.mean(errors), rel=0.03
    )
    assert np.mean(errors) < np.mean(alone)


def test_one_drawing_stays_and_is_as_wrong_as_whoever_drew():
    box = (10.0, 10.0, 110.0, 60.0)

    merged = merge([("hasty", box)], SIGMAS)

    assert (merged.box, merged.sigma) == (box, pytest.approx(6.0))
    assert merge([("nobody knows", box)], SIGMAS).sigma == pytest.approx(3.0)


def test_nobody_is_without_error():
    box = (0.0, 0.0, 10.0, 10.0)

    sigmas = learn_sigmas([[("exact", box)]] * 10_000, [box] * 10_000)

    assert 0.001 <= sigmas["exact"] < 0.002


def test_what_was_drawn_alone_says_nothing():
    assert learn_sigmas([[("alone", (0, 0, 10, 10))], []], [None, None]) == {}


@pytest.mark.parametrize("sigma", [0.0, 5.0, 1e6])
def test_the_error_is_a_share(sigma):
    mean, deviation = expected_error((0, 0, 100, 50), sigma)

    assert 0 <= mean <= 1
    assert 0 <= deviation <= 0.5


def test_boxes_of_one_object_are_found():
    near, beside, far = (0, 0, 10, 10), (1, 0, 11, 10), (50, 50, 60, 60)

    assert same_object([near, far, beside]) == [[0, 2], [1]]
    assert same_object([]) == []
    # Half of what both cover is enough, less is not.
    assert same_object([(0, 0, 10, 10), (0, 0, 10, 5)]) == [[0, 1]]
    assert same_object([(0, 0, 10, 10), (0, 0, 10, 4.9)]) == [[0], [1]]
