"""Merging pieces of a part: exactly the alpha shape at the first radius that holds them all."""

import itertools
import math

import alphashape
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from labeling.errors import Refusal, TooLarge
from labeling.geometry import alpha_shapes, delaunay
from labeling.geometry.alpha_shapes import MergedPieces, merge
from labeling.geometry.polygons import as_json, from_json, to_shapely
from labeling.geometry.regions import area, mask_of, polygons_of
from tests.cases import for_each, for_seeds
from tests.labeling import alpha_reference

LEAST = math.sqrt(0.5)

# Few pixels, so that there is something to bridge.
cells = st.sampled_from([False, False, False, False, True])
masks = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=cells).filter(
    np.any
)


def disc(shape: tuple[int, int], x: float, y: float, radius: float) -> np.ndarray:
    down, across = np.ogrid[: shape[0], : shape[1]]
    return (across + 0.5 - x) ** 2 + (down + 0.5 - y) ** 2 < radius**2


def pixels(*places: tuple[int, int], shape: tuple[int, int] = (12, 12)) -> np.ndarray:
    mask = np.zeros(shape, np.bool_)
    for x, y in places:
        mask[y, x] = True
    return mask


def alone(merged: MergedPieces):
    """The one polygon, for shapely."""
    made = to_shapely(merged.polygons)
    assert made.is_valid
    assert len(made.geoms) == merged.components == 1
    return made.geoms[0]


@given(masks)
def test_radius_and_shape_are_those_of_the_plain_way(mask):
    squared, chosen = alpha_reference.least(alpha_reference.corners(mask))

    merged = merge([mask])

    assert merged.radius == merged.joins_at == math.sqrt(squared)
    assert to_shapely(merged.polygons).is_valid
    assert to_shapely(merged.polygons).equals(alpha_reference.shape(mask, chosen))


@given(masks, st.floats(0.2, 8))
def test_a_given_radius_takes_all_triangles_up_to_it_or_the_component_that_covers(mask, radius):
    points = alpha_reference.corners(mask)
    chosen = [
        triangle
        for triangle in alpha_reference.triangles(points)
        if math.sqrt(alpha_reference.circumradius_squared(triangle)) <= radius
    ]
    group = alpha_reference.covering(points, chosen)

    merged = merge([mask], radius)

    assert merged.radius == radius
    assert merged.apart == (group is None)
    assert to_shapely(merged.polygons).is_valid
    expected = alpha_reference.shape(mask, chosen if group is None else group)
    assert to_shapely(merged.polygons).equals(expected)


@given(masks, st.none() | st.floats(0.2, 20), st.booleans())
def test_the_area_lies_between_the_union_s_and_the_hull_s(mask, radius, holes):
    merged = merge([mask], radius, holes=holes)

    height, width = mask.shape
    raster = mask_of(merged.polygons, (0, 0, width, height))
    assert merged.union_area == mask.sum() <= merged.area <= merged.hull_area
    assert merged.area == raster.sum()
    assert raster[mask].all()


@given(masks, st.booleans())
def test_merging_again_with_its_radius_gives_the_same_bytes(mask, holes):
    first = merge([mask], holes=holes)

    assert merge([mask], first.radius, holes=holes) == first
    assert merge([polygons_of(mask)], holes=holes) == first


def test_the_order_of_pieces_and_who_brought_which_pixel_do_not_matter():
    pieces = [disc((60, 70), 15, 15, 9), disc((60, 70), 45, 20, 8), disc((60, 70), 30, 45, 9)]
    expected = merge(pieces)

    for order in itertools.permutations(pieces):
        assert merge(order) == expected
    assert merge([pieces[0] | pieces[1], pieces[2], pieces[0]]) == expected
    assert merge([polygons_of(piece) for piece in pieces]) == expected
    assert merge([pieces[0], *(polygons_of(piece) for piece in pieces[1:])]) == expected


def test_one_pixel_two_and_a_row_work():
    single = merge([pixels((3, 4))])
    two = merge([pixels((3, 4)), pixels((4, 4))])
    row = merge([pixels(*((x, 4) for x in range(9)))])

    assert as_json(single.polygons) == [[[[3, 4], [4, 4], [4, 5], [3, 5]]]]
    assert as_json(two.polygons) == [[[[3, 4], [5, 4], [5, 5], [3, 5]]]]
    assert as_json(row.polygons) == [[[[0, 4], [9, 4], [9, 5], [0, 5]]]]
    assert single.radius == two.radius == row.radius == LEAST
    assert (single.area, two.area, row.area) == (1, 2, 9)


def test_two_pixels_with_a_gap_are_joined_by_the_figure_between():
    # The gap is a rectangle of 3 by 1: its corners lie on a circle of radius √10 / 2.
    merged = merge([pixels((0, 0)), pixels((4, 0))])

    assert merged.radius == math.sqrt(10) / 2
    assert as_json(merged.polygons) == [[[[0, 0], [5, 0], [5, 1], [0, 1]]]]
    assert (merged.union_area, merged.area, merged.hull_area) == (2, 5, 5)


def test_pixels_that_touch_in_a_corner_are_joined_at_once():
    merged = merge([pixels((1, 1)), pixels((2, 2))])

    assert merged.radius == LEAST
    outline = alone(merged)
    assert outline.area == 3
    assert set(outline.exterior.coords) == {(1, 1), (2, 1), (3, 2), (3, 3), (2, 3), (1, 2)}


def test_the_upper_and_the_lower_leg_become_one_leg_and_no_more():
    upper, lower = np.zeros((90, 60), np.bool_), np.zeros((90, 60), np.bool_)
    upper[5:40, 10:22] = True
    lower[43:85, 14:24] = True

    merged = merge([upper, lower])

    leg = alone(merged)
    assert leg.contains(to_shapely(polygons_of(upper)))
    assert merged.radius < 5
    # The gap is three rows of about ten pixels.
    assert 20 <= merged.area - merged.union_area <= 40
    assert merged.hull_area - merged.area > 100


def test_a_hole_stays_or_is_filled_with_what_lies_in_it():
    ring = disc((50, 50), 25, 25, 20) & ~disc((50, 50), 25, 25, 12)
    island = disc((50, 50), 25, 25, 2)

    kept, filled = merge([ring]), merge([ring], holes=False)
    apart = merge([ring, island], radius=1)
    drowned = merge([ring, island], radius=1, holes=False)

    assert len(alone(kept).interiors) == 1
    assert len(alone(filled).interiors) == 0
    assert filled.polygons == merge([disc((50, 50), 25, 25, 20)]).polygons
    assert (apart.components, drowned.components) == (2, 1)
    assert drowned.polygons == filled.polygons


def test_pieces_beyond_the_cap_stay_as_they_are_and_are_flagged():
    pieces = [disc((40, 90), 15, 20, 10), disc((40, 90), 70, 20, 10)]
    needed = merge(pieces).joins_at

    capped = merge(pieces, cap=needed - 0.01)
    just = merge(pieces, cap=needed)

    assert capped.apart
    assert capped.radius is None
    assert capped.joins_at == needed
    assert capped.components == 2
    assert capped.polygons == polygons_of(pieces[0] | pieces[1])
    assert capped.area == capped.union_area
    assert just == merge(pieces)
    assert not just.apart
    assert merge(pieces, radius=needed, cap=1) == just


def test_a_given_radius_below_the_first_leaves_pieces_apart_and_a_large_one_makes_the_hull():
    pieces = [disc((40, 90), 15, 20, 10), disc((40, 90), 70, 20, 10)]

    small, large = merge(pieces, radius=2), merge(pieces, radius=1e9)

    assert small.apart
    assert small.components == 2
    assert large.area == large.hull_area
    assert alone(large).equals(alone(large).convex_hull)


def test_polygons_count_by_the_pixels_whose_centres_they_hold():
    triangle = from_json([[[[2, 2], [9.7, 2.2], [2.1, 9.9]]]])
    mask = mask_of(triangle, (0, 0, 12, 12))

    assert merge([triangle]) == merge([mask])
    assert area(merge([triangle]).polygons) >= mask.sum()


def test_a_piece_that_holds_no_centre_takes_the_pixels_it_touches():
    sliver = from_json([[[[1.1, 3.1], [6.9, 3.2], [6.9, 3.3]]]])
    between = from_json([[[[4.6, 2.6], [5.4, 2.6], [5.4, 3.4], [4.6, 3.4]]]])
    slanted = from_json([[[[0, 0.3], [0.1, 0.3], [4.3, 4.7]]]])

    assert merge([sliver]).union_area == 6
    assert merge([between]).union_area == 4
    touched = merge([slanted])
    assert (touched.union_area, touched.components) == (9, 1)


def test_a_thin_piece_takes_no_pixel_that_it_touches_in_a_point():
    above = [[1.1, 1.1], [1.3, 1.1], [1.2, 2]]
    below = [[6.1, 2.1], [6.3, 2.1], [6.2, 2.9]]

    assert merge([from_json([[above], [below]])]) == merge([pixels((1, 1), (6, 2))])


def test_inputs_stay_as_they_are():
    mask = disc((30, 30), 14, 13, 9)
    before = mask.copy()

    merge([mask, ~mask], radius=2)

    assert (mask == before).all()


@pytest.mark.parametrize("value", [0, -1, math.nan])
def test_a_radius_that_is_none_is_refused(value):
    with pytest.raises(Refusal, match="above 0"):
        merge([pixels((1, 1))], value)


def test_what_cannot_be_merged_is_refused():
    with pytest.raises(Refusal, match="Piece 2 is empty"):
        merge([pixels((1, 1)), np.zeros((12, 12))])
    with pytest.raises(Refusal, match="Piece 1 is empty"):
        merge([()])
    with pytest.raises(Refusal, match="The masks have 5 × 4 and 12 × 12 pixels"):
        merge([pixels((1, 1)), np.ones((4, 5))])
    with pytest.raises(ValueError, match="no pieces"):
        merge([])


def test_what_is_too_ragged_or_too_large_is_refused(monkeypatch):
    far = from_json([[[[0, 0], [1, 0], [1, 1]]], [[[30_000, 0], [30_001, 0], [30_001, 1]]]])
    with pytest.raises(TooLarge, match="extend over 30,001 pixels; at most 20,000 can"):
        merge([far])

    monkeypatch.setattr(alpha_shapes, "MAX_CORNERS", 7)
    with pytest.raises(TooLarge, match="has 8 corners, and 7 can be merged"):
        merge([pixels((1, 1), (5, 5))])


def blobs(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two ragged pieces."""
    random = np.random.default_rng(seed)
    pieces = []
    for x, y in ((14, 14), (34, 30)):
        mask = np.zeros((46, 50), np.bool_)
        for _ in range(5):
            mask |= disc(mask.shape, *random.normal((x, y), 5), random.uniform(2, 6))
        pieces.append(mask)
    return pieces[0], pieces[1]


@pytest.mark.ci
@for_seeds(8)
def test_the_alphashape_package_draws_the_same_at_that_radius(seed):
    pieces = blobs(seed)
    merged = merge(pieces, holes=False)
    points = [(float(x), float(y)) for x, y in alpha_reference.corners(pieces[0] | pieces[1])]

    # It takes circumradii below 1 / alpha, and fills holes.
    at = alphashape.alphashape(points, 1 / (merged.radius * (1 + 1e-9)))
    below = alphashape.alphashape(points, 1 / (merged.radius * (1 - 1e-9)))

    ours = to_shapely(merged.polygons)
    # What hangs on the component by a corner is a polygon of its own there.
    parts = [part for part in getattr(at, "geoms", [at]) if part.area > 1]
    assert ours.equals(shapely.union_all(parts)) or at.contains(ours)
    assert ours.symmetric_difference(at).area <= at.area - max(part.area for part in parts)
    whole = shapely.MultiPoint(points)
    assert below.geom_type == "MultiPolygon" or not below.covers(whole)


@pytest.mark.ci
@for_each("factor", [1, 1.7, 40])
@for_seeds(4)
def test_the_method_alphashape_is_the_package_on_all_corners(seed, factor):
    pieces = blobs(seed)
    radius = factor * merge(pieces).joins_at
    points = [(float(x), float(y)) for x, y in alpha_reference.corners(pieces[0] | pieces[1])]

    merged = merge(pieces, radius, method="alphashape")

    theirs = alphashape.alphashape(points, 1 / (radius * (1 + 1e-9)))
    assert to_shapely(merged.polygons).equals(theirs)
    assert (merged.radius, merged.apart) == (radius, False)
    assert all(float(number).is_integer() for number in shapely.get_coordinates(theirs).ravel())


def test_far_from_the_origin_the_package_still_takes_the_radius_that_joins():
    mask = np.zeros((12, 9000), np.bool_)
    mask[0, 0] = mask[:5, -9:] = mask[7:, -8:] = True
    ends = merge([mask[:, -9:]])

    merged = merge([mask], ends.radius, method="alphashape")

    # The two at the far end are one; the pixel at the near end is another.
    assert len(merged.polygons) == 2


def test_pieces_beyond_the_cap_stay_apart_by_the_package_too():
    merged = merge([pixels((1, 1), (10, 10))], cap=2, method="alphashape")

    assert (merged.radius, merged.apart, len(merged.polygons)) == (None, True, 2)


def test_another_method_is_an_error():
    with pytest.raises(ValueError, match="expected one of radius, alphashape"):
        merge([pixels((1, 1))], method="hull")


@for_seeds(6)
def test_leaving_out_deep_corners_changes_nothing(seed):
    pieces = blobs(seed)
    mask = pieces[0] | pieces[1]
    points = np.array(alpha_reference.corners(mask))
    every = delaunay.triangulate(points)
    ranks = delaunay.rank(every, np.zeros(len(every.corners), np.bool_))
    at = delaunay.first_covering_rank(every, ranks)
    chosen = delaunay.covering(every, ranks.rank <= at)
    assert chosen is not None
    named_triangles = [
        frozenset((int(x), int(y)) for x, y in points[corners])
        for corners in every.corners[chosen].tolist()
    ]

    merged = merge(pieces)

    assert merged.radius == ranks.radii[at]
    assert to_shapely(merged.polygons).equals(alpha_reference.shape(mask, named_triangles))
