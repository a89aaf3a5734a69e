"""Which of several images that look the same is kept."""

import numpy as np

from labeling.near_duplicates.choosing import (
    BYTES,
    FIRST,
    LARGER,
    OTHER,
    KnownImage,
    choose,
    with_names,
)
from labeling.near_duplicates.fingerprints import VIEWS


def seen(value: int) -> np.ndarray:
    """A fingerprint whose views are all its whole."""
    return np.full(VIEWS, value, np.uint64)


A, NEAR_A, NEARER_B, B = 0, 0b1111, 0b1111_1111, (1 << 40) - 1


def rows(*images: KnownImage) -> list[tuple[str, str, int, str]]:
    rows_of_images = with_names(images, choose(images))
    return [(row["image"], row["kept"], row["distance"], row["why"]) for row in rows_of_images]


def test_the_one_of_more_pixels_is_kept_then_of_more_bytes_then_the_first():
    small, large = KnownImage("small", seen(A), 10, 9), KnownImage("large", seen(NEAR_A), 20, 1)
    heavy = KnownImage("heavy", seen(A), 10, 10)

    assert rows(small, large) == [("small", "large", 4, LARGER)]
    assert rows(small, heavy) == [("small", "heavy", 0, BYTES)]
    assert rows(small, KnownImage("again", seen(A), 10, 9)) == [("again", "small", 0, FIRST)]


def test_what_another_split_has_stays_there_however_small():
    images = KnownImage("mine", seen(A), 100), KnownImage("test/1", seen(NEAR_A), 1, 1, "test")

    [row] = with_names(images, choose(images))

    assert row == {"image": "mine", "kept": "test/1", "of": "test", "distance": 4, "why": OTHER}


def test_two_of_other_splits_both_stay():
    assert not choose(
        [
            KnownImage("1", seen(A), origin="val"),
            KnownImage("2", seen(A), origin="test"),
            KnownImage("3", seen(B)),
        ]
    )


def test_an_image_goes_only_for_one_that_stays():
    """A is like the middle one, and that is like the last; the middle one goes for A."""
    images = [
        KnownImage("a", seen(A), 30),
        KnownImage("middle", seen(NEAR_A), 20),
        KnownImage("last", seen(NEARER_B), 10),
    ]

    assert rows(*images) == [("middle", "a", 4, LARGER)]


def test_a_copy_of_what_goes_goes_for_the_same():
    images = [
        KnownImage("a", seen(A), 30),
        KnownImage("m", seen(NEAR_A), 20),
        KnownImage("n", seen(NEAR_A), 10),
    ]

    assert rows(*images) == [("m", "a", 4, LARGER), ("n", "a", 4, LARGER)]


def test_plain_images_all_stay():
    assert choose([KnownImage("white", None), KnownImage("black", None)]) == []
    assert choose([]) == []
