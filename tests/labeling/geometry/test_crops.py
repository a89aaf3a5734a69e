"""Crops of objects, tight and with context."""

from labeling.geometry import crops
from tests.cases import for_each


def test_nine_per_cent_are_added_on_each_side():
    assert crops.widened((100, 100, 200, 300), 500, 500) == ((91, 82, 209, 318), True)


def test_the_share_is_taken_exactly_before_it_is_rounded_outward():
    # 0.18 * 50 / 2 is 4.5 on paper; a little more in floating point must not cost a pixel.
    assert crops.widened((100, 100, 200, 150), 500, 500) == ((91, 95, 209, 155), True)


def test_what_leaves_the_image_is_cut_off():
    crop, _ = crops.widened((5, 10, 105, 110), 110, 500)

    assert crop == (0, 1, 110, 119)


@for_each(
    ("box", "room"),
    [
        ((0, 0, 100, 100), False),  # the whole image
        ((0, 9, 100, 91), True),  # the height alone has room
        ((9, 0, 91, 100), True),  # the width alone
        ((0, 0, 84, 84), False),  # at two edges: nine per cent in each
        ((0, 0, 84, 5), True),  # whole pixels are more than 18 % of a small one
    ],
)
def test_an_object_has_room_when_one_dimension_grows_by_all_of_it(box, room):
    assert crops.widened(box, 100, 100)[1] is room


def test_the_tight_crop_is_whole_pixels_that_hold_the_box():
    assert crops.tight((2.5, 3, 7.1, 9), 20, 20) == (2, 3, 8, 9)
    assert crops.tight((2.5, 3, 19.9, 20), 20, 20) == (2, 3, 20, 20)
