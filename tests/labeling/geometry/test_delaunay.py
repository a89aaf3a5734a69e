"""Triangles of whole-numbered points: proven, ranked exactly, joined as a plain way does it."""

import math

import numpy as np
import pytest
import scipy.spatial
from hypothesis import given
from hypothesis import strategies as st

from labeling.geometry import delaunay
from tests.labeling import alpha_reference


def spread(points: list[tuple[int, int]]) -> bool:
    """Whether they do not lie on one line."""
    return np.linalg.matrix_rank(np.array(points) - points[0]) == 2


point_sets = st.sets(st.tuples(st.integers(-7, 7), st.integers(0, 9)), min_size=3, max_size=14).map(
    sorted
)


def ranked(points) -> tuple[delaunay.Delaunay, delaunay.Ranked]:
    made = delaunay.triangulate(np.array(points))
    return made, delaunay.rank(made, np.zeros(len(made.corners), np.bool_))


@given(point_sets.filter(spread))
def test_the_first_covering_radius_is_the_least_of_all_circumradii(points):
    made, ranks = ranked(points)

    radius = ranks.radii[delaunay.first_covering_rank(made, ranks)]

    assert radius == math.sqrt(alpha_reference.least(points)[0])


@given(point_sets.filter(spread), st.integers(0, 30))
def test_what_covers_is_what_the_plain_way_says(points, limit):
    made, ranks = ranked(points)
    chosen = ranks.rank <= limit % len(ranks.radii)
    triangles = [frozenset(points[at] for at in corners) for corners in made.corners.tolist()]

    covering = delaunay.covering(made, chosen)

    expected = alpha_reference.covering(
        points, [name for name, taken in zip(triangles, chosen, strict=True) if taken]
    )
    assert (covering is None) == (expected is None)
    if covering is not None:
        assert {triangles[at] for at in np.flatnonzero(covering)} == set(expected)


@given(point_sets.filter(spread))
def test_ranks_follow_exact_circumradii(points):
    made, ranks = ranked(points)
    exact = [
        alpha_reference.circumradius_squared(frozenset(points[at] for at in corners))
        for corners in made.corners.tolist()
    ]

    by_rank = [math.sqrt(squared) for squared in sorted({*exact, alpha_reference.Fraction(1, 2)})]
    assert ranks.radii == by_rank
    assert [ranks.radii[rank] for rank in ranks.rank.tolist()] == [math.sqrt(s) for s in exact]


def test_figures_on_one_circle_have_one_rank_however_they_are_cut():
    # Twelve points on the circle of radius 5 and its centre's neighbours left out.
    circle = [(x, y) for x in range(-5, 6) for y in range(-5, 6) if x * x + y * y == 25]

    made, ranks = ranked(circle)

    assert len(made.corners) == 10
    assert set(ranks.rank.tolist()) == {1}
    assert ranks.radii[1] == 5.0


def test_fractions_that_floats_cannot_tell_apart_are_sorted_all_the_same():
    big = 10**17
    fractions = {(big, big + 1), (big - 1, big), (big + 1, big + 2), (1, 3)}

    assert delaunay._sorted_fractions(fractions) == [
        (1, 3),
        (big - 1, big),
        (big, big + 1),
        (big + 1, big + 2),
    ]


def test_points_as_far_apart_as_is_allowed_are_triangulated_exactly():
    random = np.random.default_rng(0)
    around = np.rint(9_999 * np.exp(2j * np.pi * random.random(300)) + 9_999 + 9_999j)
    points = np.unique(np.stack([around.real, around.imag], axis=1).astype(np.int64), axis=0)

    made = delaunay.triangulate(points)

    assert len(np.unique(made.corners)) == len(points)
    with pytest.raises(ValueError, match="at most 20000"):
        delaunay.triangulate(points * 2)


class Wrong:
    """A triangulation of a kite by its long diagonal, which no Delaunay triangulation has."""

    simplices = np.array([[0, 1, 2], [0, 2, 3]])


KITE = np.array([[0, 0], [5, 1], [20, 0], [5, -1]])


def test_a_wrong_triangulation_is_noticed_and_made_right(monkeypatch):
    right = {frozenset(corners) for corners in delaunay.triangulate(KITE).corners.tolist()}
    monkeypatch.setattr(scipy.spatial, "Delaunay", lambda points: Wrong)

    made = delaunay.triangulate(KITE)

    assert right == {frozenset({0, 1, 3}), frozenset({1, 2, 3})}
    assert {frozenset(corners) for corners in made.corners.tolist()} == right


@pytest.mark.parametrize(
    "simplices",
    [
        [[0, 1, 3]],  # the hull is not covered
        [[0, 1, 3], [1, 2, 3], [0, 1, 3]],  # one twice
        [[0, 1, 2], [0, 1, 3]],  # they overlap
    ],
)
def test_what_is_no_triangulation_is_noticed(simplices):
    assert delaunay._joined(KITE, np.array(simplices)) is None


def test_where_no_exact_triangulation_is_found_it_is_said(monkeypatch):
    monkeypatch.setattr(scipy.spatial, "Delaunay", lambda points: Wrong)
    monkeypatch.setattr(delaunay, "_by_geos", lambda points: Wrong.simplices)

    with pytest.raises(ArithmeticError, match="no exact Delaunay triangulation"):
        delaunay.triangulate(KITE)
