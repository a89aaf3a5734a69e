"""Polygons of people: what is taken, what is refused and with which sentence."""

import json
import math
import time

import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from labeling.errors import Refusal, TooLarge
from labeling.geometry.polygons import (
    as_json,
    canonical,
    clean,
    from_json,
    from_shapely,
    tenths,
    to_shapely,
)
from tests.cases import for_each

SQUARE = [[10, 10], [20, 10], [20, 20], [10, 20]]
HOLE = [[12, 12], [12, 15], [15, 15], [15, 12]]
BOW_TIE = [[0, 0], [10, 10], [10, 0], [0, 10]]

tenth = st.integers(0, 300).map(lambda number: number / 10)
number = st.floats(0, 30, allow_subnormal=False)
ring = st.lists(st.tuples(tenth, tenth).map(list), min_size=3, max_size=8)


def refused(value, **limits) -> Refusal:
    with pytest.raises(Refusal) as caught:
        clean(value, 100, 50, **limits)
    return caught.value


def test_corners_are_rounded_to_tenths_and_said_once():
    ring = [[10.04, 10], [10, 10.01], [20, 10.26], [20, 20], [20, 20], [10, 10]]

    assert clean([[ring]], 100, 50) == ((((10.0, 10.0), (20.0, 10.3), (20.0, 20.0)),),)


def test_holes_and_several_pieces_are_kept_as_they_are_drawn():
    value = [[SQUARE, HOLE], [[[30, 10], [40, 10], [30, 20]]]]

    assert as_json(clean(value, 100, 50)) == value


def test_no_pieces_are_no_region():
    assert clean([], 100, 50) == ()


def test_the_image_s_own_edge_is_inside():
    whole = [[[0, 0], [100, 0], [100, 50], [0, 50]]]

    assert as_json(clean([whole], 100, 50)) == [whole]


def test_pieces_and_holes_may_touch_in_a_point():
    corner_to_corner = [[SQUARE], [[[20, 20], [30, 20], [30, 30], [20, 30]]]]
    hole_at_the_edge = [[SQUARE, [[10, 15], [15, 18], [15, 12]]]]

    assert as_json(clean(corner_to_corner, 100, 50)) == corner_to_corner
    assert as_json(clean(hole_at_the_edge, 100, 50)) == hole_at_the_edge


@for_each(
    ("value", "code", "message"),
    [
        ([[BOW_TIE]], "self_crossing", "crosses or touches itself near (5.0, 5.0)"),
        ([[[[0, 0], [9, 9]]]], "too_few_vertices", "2 different corners; a region needs three"),
        ([[[[1, 1], [1.04, 1], [1, 1.04]]]], "too_few_vertices", "1 different corners"),
        ([[[]]], "too_few_vertices", "0 different corners"),
        ([[[[0, 0], [5, 5], [9, 9]]]], "no_area", "no area"),
        ([[[[0, 0], [9, 0], [4, 0]]]], "no_area", "no area"),
        ([[[[0, 0], [101, 0], [0, 9]]]], "outside", "corner 2 (101, 0) lies outside the image"),
        ([[[[0, 0], [9, 0], [0, -0.1]]]], "outside", "corner 3 (0, -0.1) lies outside"),
        ([[[[0, 0], [9, 0], [0, 50.1]]]], "outside", "100 × 50 pixels"),
        ([[[[0, 0], [math.nan, 0], [0, 9]]]], "refused", "corner 2 is not two finite numbers"),
        ([[[[0, 0], [9, math.inf], [0, 9]]]], "refused", "not two finite numbers"),
        ([[[[0, 0], [10**400, 0], [0, 9]]]], "refused", "not two finite numbers"),
        ([[[[0, 0], [True, 0], [0, 9]]]], "refused", "not two numbers [x, y]"),
        ([[[[0, 0], ["9", 0], [0, 9]]]], "refused", "corner 2 is not two numbers [x, y]"),
        ([[[[0, 0], [9, 0, 1], [0, 9]]]], "refused", "not two numbers"),
        ([[[0, 0], [9, 0], [0, 9]]], "refused", "corner 1 is not two numbers [x, y]"),
        ([[]], "refused", "not a list of pieces"),
        ("[[]]", "refused", "not a list of pieces"),
        ({"0": 1}, "refused", "not a list of pieces"),
        (None, "refused", "not a list of pieces"),
        ([[SQUARE, [[30, 10], [40, 10], [30, 20]]]], "hole", "holes do not lie apart inside it"),
        ([[SQUARE, HOLE, HOLE]], "hole", "do not lie apart inside it"),
        ([[SQUARE], [HOLE]], "overlap", "two of its pieces overlap"),
        ([[SQUARE], [SQUARE]], "overlap", "two of its pieces overlap"),
        ([[SQUARE], [BOW_TIE]], "self_crossing", "piece 2 crosses"),
        ([[SQUARE, BOW_TIE]], "self_crossing", "hole 1 crosses"),
    ],
)
def test_what_is_no_region_is_refused_with_its_place(value, code, message):
    refusal = refused(value, subject="The leg")

    assert refusal.code == code
    assert refusal.message.startswith("The leg")
    assert message in refusal.message


def test_deeply_nested_json_is_refused():
    deep = json.loads("[" * 900 + "]" * 900)

    assert "not two numbers" in refused(deep).message


def test_what_would_be_checked_for_a_minute_is_refused_at_once():
    """Slanted teeth side by side: every edge's box meets most of the others'."""
    started = time.process_time()

    with pytest.raises(Refusal, match="is too complex"):
        clean([[comb(4700)]], 4000, 4000)

    assert time.process_time() - started < 20
    assert clean([[comb(1000)]], 4000, 4000)


def comb(teeth: int) -> list[list[float]]:
    ring = []
    for tooth in range(teeth):
        x = round(0.4 * tooth, 1)
        ring += [[x, 0.0], [x + 2000, 3900.0], [x + 2000.2, 3900.0], [x + 0.2, 0.0]]
    return [*ring, [round(0.4 * teeth, 1), 0.0], [3999.0, 3999.0], [0.0, 3999.0]]


def test_a_million_corners_are_refused():
    point = [1.0, 1.0]
    value = [[[point] * 1_000_000]]

    refusal = refused(value)

    assert isinstance(refusal, TooLarge)
    assert "more than 20,000 corners" in refusal.message


@pytest.mark.parametrize("value", [[[[]] * 300], [[[[1, 1]]]] * 300])
def test_empty_rings_and_pieces_count_as_corners(value):
    assert isinstance(refused(value, most_vertices=200), TooLarge)


@given(st.lists(st.lists(ring, min_size=1, max_size=2), max_size=2))
def test_whatever_is_taken_is_valid_and_taken_again_unchanged(value):
    try:
        taken = clean(value, 30, 30)
    except Refusal:
        return

    assert to_shapely(taken).is_valid
    assert clean(as_json(taken), 30, 30) == taken
    assert from_json(json.loads(json.dumps(as_json(taken)))) == taken


def test_a_touch_that_floats_miss_gets_a_corner():
    # (0.2, 2.2) lies on the line from (0, 0) to (0.3, 3.3), in tenths; in floats beyond it.
    value = [[[[0, 0], [0.3, 3.3], [0, 3.3]]], [[[0.2, 2.2], [0.3, 0], [0.3, 1.1]]]]

    taken = clean(value, 100, 50)

    assert not to_shapely(from_json(value)).is_valid
    assert to_shapely(taken).is_valid
    assert taken[0][0] == ((0.0, 0.0), (0.2, 2.2), (0.3, 3.3), (0.0, 3.3))
    assert clean(as_json(taken), 100, 50) == taken


@given(st.lists(st.lists(st.tuples(number, number), min_size=3, max_size=6), max_size=4))
def test_tenths_are_valid_and_near(rings):
    region = shapely.union_all([shapely.Polygon(ring).buffer(0) for ring in rings])

    rounded = to_shapely(from_shapely(region))

    assert rounded.is_valid
    assert abs(rounded.area - region.area) <= 0.1 * region.length + 0.01
    assert tenths(from_shapely(rounded)) == from_shapely(region)


def test_one_region_has_one_form():
    pieces = [[SQUARE, HOLE], [[[30, 10], [40, 10], [30, 20]]]]
    turned = [
        [ring[2:] + ring[:2] for ring in [list(reversed(ring)) for ring in piece]]
        for piece in reversed(pieces)
    ]

    first = canonical(from_json(pieces))

    assert canonical(from_json(turned)) == first
    assert from_shapely(to_shapely(from_json(turned))) == first
    assert first[0][0][0] == (10.0, 10.0)
    assert shapely.LinearRing(first[0][0]).is_ccw
    assert not shapely.LinearRing(first[0][1]).is_ccw
