"""Gold boxes: good ones are as people draw them, bad ones off by as much as is wanted, anywhere."""

import random

import numpy as np

from labeling.boxes import shaking
from labeling.geometry.boxes import iou

BOX = (100.0, 80.0, 220.0, 200.0)
SIZE = (500, 375)


def test_good_ones_lie_inside_human_noise_and_are_never_exact():
    chance = random.Random(1)

    ious = [iou(shaking.good(BOX, *SIZE, chance), BOX) for _ in range(500)]

    assert min(ious) >= 0.85
    assert max(ious) < 1
    assert 0.9 < np.mean(ious) < 0.97


def test_bad_ones_are_half_very_and_half_a_little_off_in_all_directions():
    chance = random.Random(2)

    boxes = [shaking.bad(BOX, *SIZE, chance) for _ in range(600)]

    overlaps = np.array([iou(box, BOX) for box in boxes])
    assert overlaps.min() > 0.27
    assert overlaps.max() < 0.72
    assert 0.4 < (overlaps < 0.6).mean() < 0.6
    # Every side goes in and out.
    directions = np.sign(np.array(boxes) - np.array(BOX))
    assert (np.abs(directions.mean(axis=0)) < 0.2).all()
    assert {shaking.reason(box, BOX) for box in boxes} == {"loose", "cropping", "shifted"}


def test_they_are_on_tenths_and_in_the_image():
    chance = random.Random(3)
    corner = (0.0, 0.0, 40.0, 30.0)

    for _ in range(200):
        for box in (shaking.good(corner, *SIZE, chance), shaking.bad(corner, *SIZE, chance)):
            assert box is not None
            assert 0 <= box[0] < box[2] <= 500
            assert 0 <= box[1] < box[3] <= 375
            assert all(round(side, 1) == side for side in box)


def test_where_the_whole_image_is_the_box_only_smaller_ones_are_bad():
    chance = random.Random(4)
    whole = (0.0, 0.0, 500.0, 375.0)

    box = shaking.bad(whole, *SIZE, chance)

    assert shaking.reason(box, whole) == "cropping"
