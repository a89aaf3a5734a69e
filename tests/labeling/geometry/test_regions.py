"""Masks and polygons: exact edges both ways, areas, unions and agreement."""

import numpy as np
import pytest
import shapely
import shapely.ops
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from labeling.geometry.polygons import Polygons, from_json, from_shapely, to_shapely
from labeling.geometry.regions import (
    area,
    box_of,
    convex_hull,
    iou,
    mask_boundary_f,
    mask_iou,
    mask_of,
    moved,
    polygons_of,
    simplify,
    union,
)
from tests.cases import for_each

masks = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9))


def box(x0: float, y0: float, x1: float, y1: float) -> Polygons:
    return from_json([[[[x0, y0], [x1, y0], [x1, y1], [x0, y1]]]])


def drawn(rows: str) -> np.ndarray:
    """A mask as rows of # and ., separated by spaces."""
    return np.array([[cell == "#" for cell in row] for row in rows.split()])


def disc(size: int, x: float, y: float, radius: float) -> np.ndarray:
    down, across = np.ogrid[:size, :size]
    return (across + 0.5 - x) ** 2 + (down + 0.5 - y) ** 2 < radius**2


def by_shapely(polygons: Polygons, x0: int, y0: int, x1: int, y1: int) -> np.ndarray:
    """Pixels whose centres lie inside; the centre is nudged as the rule on ties says."""
    x, y = np.meshgrid(np.arange(x0, x1) + 0.5 + 1e-7, np.arange(y0, y1) + 0.5 + 1e-9)
    return shapely.contains_xy(to_shapely(polygons), x, y)


@given(masks, st.integers(-5, 5), st.integers(-5, 5))
def test_a_mask_becomes_valid_polygons_and_itself_again(mask, x, y):
    height, width = mask.shape

    polygons = polygons_of(mask, (x, y))

    made = to_shapely(polygons)
    assert made.is_valid
    assert made.area == area(polygons) == mask.sum()
    assert (mask_of(polygons, (x, y, x + width, y + height)) == mask).all()
    assert from_shapely(made) == polygons


@given(masks)
def test_polygons_of_a_mask_are_its_pixels_united(mask):
    squares = [shapely.box(x, y, x + 1, y + 1) for y, x in zip(*np.nonzero(mask), strict=True)]

    assert to_shapely(polygons_of(mask)).equals(shapely.union_all(squares))


@for_each(
    ("rows", "pieces", "holes"),
    [
        ("#", 1, 0),
        ("#.. .#. ..#", 3, 0),  # only corners touch
        ("### #.# ###", 1, 1),
        ("##. #.# ###", 1, 1),  # a hole that meets the outside in a corner
        ("#### #.## ##.# ####", 1, 2),  # holes that meet in a corner
        ("##### #...# #.#.# #...# #####", 2, 1),  # an island
        ("##. #.# .##", 2, 0),
    ],
)
def test_pieces_are_joined_by_sides_and_every_ring_is_simple(rows, pieces, holes):
    polygons = polygons_of(drawn(rows))

    assert len(polygons) == pieces
    assert sum(len(piece) - 1 for piece in polygons) == holes
    assert to_shapely(polygons).is_valid


def test_only_corners_are_kept():
    assert polygons_of(np.ones((3, 4)), (1, 2)) == box(1, 2, 5, 5)


def test_a_mask_is_inside_where_it_is_not_0():
    assert polygons_of(np.array([[0, 7, -1, 0]])) == box(1, 0, 3, 1)


def test_a_mask_of_another_shape_is_an_error():
    with pytest.raises(ValueError, match=r"expected \(h, w\)"):
        polygons_of(np.zeros((2, 2, 3)))


tenth = st.integers(-20, 120).map(lambda number: number / 10)


@given(st.lists(st.tuples(tenth, tenth), min_size=3, max_size=7))
def test_a_pixel_is_inside_with_its_centre(points):
    polygons = from_shapely(shapely.Polygon(points).buffer(0))

    assert (mask_of(polygons, (0, 0, 10, 9)) == by_shapely(polygons, 0, 0, 10, 9)).all()


def test_a_centre_on_a_shared_border_belongs_to_one_side():
    for corners in ([(0, 0), (8, 8)], [(0, 8), (8, 0)], [(0, 3.5), (8, 3.5)], [(2.5, 0), (2.5, 8)]):
        square = shapely.box(0, 0, 8, 8)
        halves = shapely.ops.split(square, shapely.LineString(corners))
        counted = [mask_of(from_shapely(half), (0, 0, 8, 8)).astype(int) for half in halves.geoms]

        assert (sum(counted) == 1).all()


def test_a_centre_on_an_upright_edge_belongs_to_the_right():
    assert mask_of(box(0.5, 0.5, 2.5, 2.5), (0, 0, 3, 3)).tolist() == [
        [True, True, False],
        [True, True, False],
        [False, False, False],
    ]


def test_a_window_shows_its_part_of_the_mask():
    polygons = polygons_of(disc(60, 30, 31, 22))
    whole = mask_of(polygons, (0, 0, 60, 60))

    assert (mask_of(polygons, (20, 5, 44, 37)) == whole[5:37, 20:44]).all()
    assert not mask_of(polygons, (100, 100, 120, 110)).any()
    assert mask_of(polygons, (5, 5, 5, 9)).shape == (4, 0)
    assert mask_of(polygons, (5, 5, 3, 2)).shape == (0, 0)
    assert not mask_of((), (0, 0, 4, 4)).any()


def test_large_photographs_lose_no_exactness():
    # Products of coordinates in thousandths of a pixel need 15 digits here.
    polygons = from_json([[[[0, 0], [12000.1, 0.1], [11999.9, 9000], [0.3, 8999.9]]]])

    corner = mask_of(polygons, (11990, 8990, 12002, 9002))

    assert (corner == by_shapely(polygons, 11990, 8990, 12002, 9002)).all()


def test_areas_and_boxes_are_exact():
    ring = from_json([[box(0, 0, 10, 10)[0][0], box(2.1, 2, 4.3, 3)[0][0]]])

    assert area(ring) == 97.8
    assert area(()) == 0
    assert box_of(box(1.1, 2, 3, 4.9)) == (1, 2, 3, 5)
    assert box_of(()) == (0, 0, 0, 0)


def test_moving_by_pixels_is_exact():
    polygons = from_json([[[[0.1, 0.2], [3.3, 0], [0, 4.7]]]])

    assert moved(moved(polygons, 1234, -777), -1234, 777) == polygons


def test_a_union_and_an_iou_are_those_of_masks():
    a, b = disc(40, 15, 18, 11), disc(40, 24, 20, 9)
    left, right = polygons_of(a), polygons_of(b)

    # Where borders met, a corner may stay on a straight line.
    assert to_shapely(union([left, right])).equals(to_shapely(polygons_of(a | b)))
    assert iou(left, right) == pytest.approx(mask_iou(a, b))
    assert union([]) == union([()]) == ()


def test_a_union_takes_pieces_that_overlap_each_other():
    overlapping = (*box(0, 0, 4, 4), *box(2, 2, 6, 6))

    assert area(union([overlapping])) == 28


def test_results_lie_on_tenths_and_are_valid():
    random = np.random.default_rng(0)
    for _ in range(50):
        left, right = (
            from_shapely(shapely.Polygon(random.integers(0, 300, (5, 2)) / 10).buffer(0))
            for _ in range(2)
        )
        made = union([left, right])
        points = [point for piece in made for ring in piece for point in ring]
        assert to_shapely(made).is_valid
        assert all(x == round(x, 1) and y == round(y, 1) for x, y in points)


def test_iou_of_nothing_is_0():
    assert iou((), ()) == iou(box(0, 0, 1, 1), ()) == 0
    assert mask_iou(np.zeros((2, 2)), np.zeros((2, 2))) == 0
    with pytest.raises(ValueError, match="expected a's"):
        mask_iou(np.zeros((2, 2)), np.zeros((2, 3)))


def test_a_hull_and_a_simpler_outline_hold_what_they_should():
    polygons = polygons_of(disc(80, 40, 40, 30) & ~disc(80, 40, 40, 10))

    hull, simpler = convex_hull(polygons), simplify(polygons, 1.5)

    assert to_shapely(hull).contains(to_shapely(polygons))
    assert len(hull) == len(simpler) == 1
    assert len(simpler[0]) == 2
    assert len(simpler[0][0]) < len(polygons[0][0]) / 3
    assert to_shapely(simpler).hausdorff_distance(to_shapely(polygons)) <= 1.6
    assert iou(polygons, simpler) > 0.93


def plain_boundary_f(a: np.ndarray, b: np.ndarray, tolerance: float) -> float:
    def border(mask):
        height, width = mask.shape
        return [
            (y, x)
            for y in range(height)
            for x in range(width)
            if any(
                mask[y, x] != mask[min(y + down, height - 1), min(x + right, width - 1)]
                for down, right in ((0, 1), (1, 0), (1, 1))
            )
        ]

    def near(some, others):
        hits = [
            any((y - v) ** 2 + (x - u) ** 2 <= tolerance**2 for v, u in others) for y, x in some
        ]
        return sum(hits) / len(hits)

    left, second_border = border(a), border(b)
    precision, recall = near(left, second_border), near(second_border, left)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@for_each("tolerance", [0, 1, 1.5, 3])
def test_the_boundary_score_is_that_of_a_plain_loop(tolerance):
    random = np.random.default_rng(int(tolerance * 2))
    for _ in range(5):
        a, b = (disc(24, *random.uniform(8, 16, 2), random.uniform(3, 8)) for _ in range(2))

        expected = plain_boundary_f(a, b, tolerance)

        assert mask_boundary_f(a, b, tolerance) == pytest.approx(expected)
        assert mask_boundary_f(b, a, tolerance) == pytest.approx(expected)


def test_the_boundary_score_of_nothing_is_agreement_only_with_nothing():
    some, none = disc(60, 4, 4, 3), np.zeros((60, 60), bool)

    assert mask_boundary_f(none, none, 2) == 1
    assert mask_boundary_f(some, none, 2) == mask_boundary_f(none, some, 2) == 0
    assert mask_boundary_f(some, some, 0) == 1
    assert mask_boundary_f(some, np.roll(some, 40, axis=1), 2) == 0
    with pytest.raises(ValueError, match="expected a's"):
        mask_boundary_f(np.zeros((2, 2)), np.zeros((2, 3)), 1)
