"""unlabeled-rest: parts, the object's share and the background's make up the crop, exactly."""

import random
from itertools import combinations

import pytest
import shapely

from labeling.geometry.polygons import Polygons, canonical, tenths, to_shapely
from labeling.parts import background
from labeling.parts.model import REST_BACKGROUND, REST_OBJECT
from tests.cases import for_seeds

CROP = (0.0, 0.0, 100.0, 80.0)


def box(x0: float, y0: float, x1: float, y1: float, *holes: Polygons) -> Polygons:
    ring = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return canonical(((ring, *(hole[0][0] for hole in holes)),))


def same(first: Polygons, second: Polygons) -> bool:
    """The same region; a corner on a straight edge is no difference."""
    return shapely.symmetric_difference(to_shapely(first), to_shapely(second)).area < 1e-9


def area(polygons: Polygons) -> float:
    return to_shapely(polygons).area


def scattered(seed: int, count: int) -> list[Polygons]:
    """Parts that overlap, touch, have holes, and stick out of the crop."""
    chance = random.Random(seed)
    pieces = []
    for _ in range(count):
        x, y = chance.uniform(-10, 90), chance.uniform(-10, 70)
        blob = shapely.Point(x, y).buffer(chance.uniform(4, 25), quad_segs=chance.randint(1, 6))
        if chance.random() < 0.4:
            blob = blob.difference(shapely.Point(x, y).buffer(2))
        pieces.append(tenths(background._polygons(blob)))
    return pieces


def test_what_no_part_covers_is_told_apart_by_the_outline():
    outline = box(10, 10, 50, 50)

    rest = background.rest([box(10, 10, 50, 20), box(20, 30, 30, 40)], outline, CROP)

    assert rest.known
    assert same(rest.object, box(10, 20, 50, 50, box(20, 30, 30, 40)))
    assert same(rest.background, box(*CROP, outline))


def test_a_part_that_sticks_out_of_the_outline_is_no_background():
    rest = background.rest([box(40, 10, 60, 50)], box(10, 10, 50, 50), CROP)

    assert area(rest.object) == 30 * 40
    assert area(rest.background) == 8000 - 50 * 40


def test_without_an_outline_the_objects_share_is_empty_and_said_to_be_unknown():
    rest = background.rest([box(10, 10, 50, 50)], None, CROP)

    assert not rest.known
    assert rest.object == ()
    assert same(rest.background, box(*CROP, box(10, 10, 50, 50)))
    assert [part.key for part in background.rest_parts(rest)] == [REST_BACKGROUND]


def test_a_covered_object_and_a_crop_without_background_leave_nothing():
    rest = background.rest([box(*CROP)], box(10, 10, 50, 50), CROP)

    assert (rest.object, rest.background, background.rest_parts(rest)) == ((), (), ())


def test_an_object_without_parts_is_all_rest():
    rest = background.rest([], box(10, 10, 50, 50), CROP)

    assert same(rest.object, box(10, 10, 50, 50))
    assert [(part.key, part.origin) for part in background.rest_parts(rest)] == [
        (REST_OBJECT, "made"),
        (REST_BACKGROUND, "made"),
    ]


@for_seeds(40)
def test_parts_and_both_shares_fill_the_crop_and_meet_in_borders_alone(seed):
    parts = scattered(seed, count=seed % 7)
    outline = tenths(
        background._polygons(shapely.union_all([to_shapely(p) for p in scattered(-seed, 4)]))
    )

    rest = background.rest(parts, outline, CROP)

    crop = shapely.box(*CROP)
    drawn = shapely.union_all([to_shapely(part) for part in parts])
    shares = [drawn, to_shapely(rest.object), to_shapely(rest.background)]
    assert all(shapely.is_valid(share) for share in shares)
    assert shapely.union_all(shares).intersection(crop).area == pytest.approx(8000, abs=1e-6)
    for first, second in combinations(shares, 2):
        assert first.intersection(second).area == pytest.approx(0, abs=1e-6)


def test_borders_that_two_parts_share_leave_no_hairs():
    slanted = (
        (((0.0, 0.0), (70.1, 33.3), (0.0, 79.9)),),
        (((70.1, 33.3), (99.7, 0.0), (99.7, 79.9)),),
    )

    rest = background.rest([slanted], tenths(slanted), CROP)

    assert rest.object == ()
    assert all(shapely.Polygon(ring).area > 1 for piece in rest.background for ring in piece)


def test_the_same_parts_in_any_order_leave_the_same_rest():
    parts = scattered(11, 6)

    there, back = background.rest(parts, None, CROP), background.rest(parts[::-1], None, CROP)

    assert same(there.background, back.background)
