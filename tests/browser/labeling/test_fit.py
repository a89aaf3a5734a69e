"""How many images fit on a stage, in how many columns: the pure module, run by node."""

import math
import random

import pytest

from tests.browser.conftest import MANY

LEAST = 90
# Stages of the page at three windows: with the instructions beside it, and on a phone.
STAGES = {
    1440: {"width": 1074, "height": 640, "gap": 8, "bar": 32},
    1920: {"width": 1554, "height": 820, "gap": 8, "bar": 32},
    390: {"width": 378, "height": 570, "gap": 6, "bar": 44},
}
COUNTS = (1, 2, 4, 9, 20)


def sizes_in(ratios, columns, stage):
    """Width and height of each image in so many columns; none where nothing fits."""
    rows = math.ceil(len(ratios) / columns)
    width = (stage["width"] - stage["gap"] * (columns - 1)) // columns
    height = (stage["height"] - stage["gap"] * (rows - 1)) // rows - stage["bar"]
    if width <= 0 or height <= 0:
        return []
    return [(min(width, height * ratio), min(height, width / ratio)) for ratio in ratios]


def covered(sizes):
    return sum(width * height for width, height in sizes)


def fits(sizes, ratios, stage):
    if not sizes:
        return False
    least = {ratio: min(LEAST, *sizes_in([ratio], 1, stage)[0]) for ratio in set(ratios)}
    return all(min(size) >= least[ratio] - 0.01 for size, ratio in zip(sizes, ratios, strict=True))


def ratios_of(rng, count):
    return [rng.choice([4 / 3, 3 / 4, 1, 3 / 2, 16 / 9, 9 / 16]) for _ in range(count)]


@pytest.mark.parametrize("window", STAGES)
def test_no_other_number_of_columns_covers_more(js, window):
    stage, rng = STAGES[window], random.Random(window)
    cases = [ratios_of(rng, count) for count in COUNTS for _ in range(6)]
    pages = js(MANY, ["/fit", "pageSize", [[ratios, stage] for ratios in cases]])
    page_ratios = [ratios[:count] for ratios, count in zip(cases, pages, strict=True)]

    best_fits = js(MANY, ["/fit", "best", [[ratios, stage] for ratios in page_ratios]])

    for ratios, made in zip(page_ratios, best_fits, strict=True):
        each = [sizes_in(ratios, columns, stage) for columns in range(1, len(ratios) + 1)]
        most = max(covered(sizes) for sizes in each if fits(sizes, ratios, stage))
        sizes = each[made["columns"] - 1]
        assert fits(sizes, ratios, stage)
        assert made["covered"] == pytest.approx(covered(sizes))
        assert covered(sizes) >= 0.999 * most
        # Nothing is cropped, and all of it is on the stage.
        rows = math.ceil(len(ratios) / made["columns"])
        gaps = stage["gap"] * (made["columns"] - 1), stage["gap"] * (rows - 1)
        assert made["columns"] * made["width"] + gaps[0] <= stage["width"]
        assert rows * (made["face"] + stage["bar"]) + gaps[1] <= stage["height"]
        assert max(width for width, _ in sizes) <= made["width"]
        assert max(height for _, height in sizes) <= made["face"]


@pytest.mark.parametrize("window", STAGES)
def test_one_more_image_than_a_page_has_would_be_too_small(js, window):
    stage, rng = STAGES[window], random.Random(window)
    cases = [ratios_of(rng, 100) for _ in range(4)]

    counts = js(MANY, ["/fit", "pageSize", [[ratios, stage] for ratios in cases]])

    for ratios, count in zip(cases, counts, strict=True):
        assert 1 < count < 100
        # Of what would fit only a row that is not full is left to the next page.
        more = [n for n in range(count, 101) if any_fits(ratios[:n], stage)]
        assert max(more) - count < max(range(1, 101), key=lambda c: fits_in(ratios, more, c, stage))


def any_fits(ratios, stage):
    return any(
        fits(sizes_in(ratios, columns, stage), ratios, stage)
        for columns in range(1, len(ratios) + 1)
    )


def fits_in(ratios, counts, columns, stage):
    most = ratios[: max(counts)]
    return fits(sizes_in(most, columns, stage), most, stage)


def test_a_strip_that_is_narrow_even_alone_is_shown_as_large_as_it_can_be(js):
    stage = STAGES[390]

    [count] = js(MANY, ["/fit", "pageSize", [[[10, 1, 1, 1], stage]]])
    [made] = js(MANY, ["/fit", "best", [[[10], stage]]])

    assert count == 4
    assert made["columns"] == 1
    assert made["width"] == stage["width"]


def test_a_stage_without_room_shows_one_image_at_a_time(js):
    stage = {"width": 200, "height": 20, "gap": 8, "bar": 32}

    assert js(MANY, ["/fit", "pageSize", [[[1, 1], stage]]]) == [1]
    assert js(MANY, ["/fit", "best", [[[1, 1], stage]]]) == [None]
