import itertools

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import SegmentationEM, SegmentationMajorityVote
from hypothesis import given
from hypothesis import strategies as st

from labeling.geometry import regions
from labeling.parts import pixel_votes
from tests.cases import for_each
from tests.labeling.drawings import square

RNG = np.random.default_rng(4)


def crowd(n: int, size: tuple[int, int] = (24, 31), noise: float = 0.1) -> np.ndarray:
    """N people's masks of one ellipse, each with errors of their own, the last one careless."""
    rows, columns = np.indices(size)
    truth = ((rows - 11) / 8) ** 2 + ((columns - 15) / 11) ** 2 <= 1
    rates = np.full(n, noise)
    rates[-1] = 0.4
    return truth ^ (RNG.random((n, *size)) < rates[:, None, None])


def as_frame(masks: np.ndarray) -> pd.DataFrame:
    rows = [["t", f"p{at}", mask] for at, mask in enumerate(masks)]
    return pd.DataFrame(rows, columns=["task", "worker", "segmentation"])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@for_each("n", [1, 3, 5, 7])
def test_an_odd_vote_is_crowd_kits(n):
    masks = crowd(n)

    theirs = SegmentationMajorityVote().fit_predict(as_frame(masks)).loc["t"]

    assert (pixel_votes.pixel_vote(masks) == theirs).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_vote_weighted_by_skill_is_crowd_kits():
    masks, skills = crowd(4), [0.9, 0.7, 0.61, 0.52]
    by_person = pd.Series(skills, index=[f"p{at}" for at in range(4)], name="skill")

    theirs = SegmentationMajorityVote().fit_predict(as_frame(masks), by_person).loc["t"]

    assert (pixel_votes.pixel_vote(masks, skills) == theirs).all()


def test_a_pixel_on_the_very_half_stays_out():
    left, right = np.array([[1, 1, 0]], bool), np.array([[0, 1, 1]], bool)

    assert pixel_votes.pixel_vote([left, right]).tolist() == [[False, True, False]]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@for_each("n", [1, 2, 3, 4, 6])
@for_each("noise", [0.02, 0.15, 0.3])
def test_expectation_maximisation_is_crowd_kits(n, noise):
    masks = crowd(n, noise=noise)
    theirs = SegmentationEM()

    expected = theirs.fit_predict(as_frame(masks)).loc["t"]

    assert (pixel_votes.segmentation_em(masks)[0] == expected).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_two_who_are_the_same_beside_a_third_are_as_with_crowd_kit():
    masks = np.zeros((3, 12, 40), bool)
    masks[:2, 1:11, 1:11], masks[2, 1:11, 20:30] = True, True

    region, skills = pixel_votes.segmentation_em(masks)

    assert (region == SegmentationEM().fit_predict(as_frame(masks)).loc["t"]).all()
    assert (region == masks[0]).all()
    assert skills.tolist() == [1, 1, 0]


def test_expectation_maximisation_knows_who_is_careless():
    region, skills = pixel_votes.segmentation_em(crowd(5))

    assert skills.argmin() == 4
    assert region.any()


def test_nothing_drawn_gives_nothing():
    region, skills = pixel_votes.segmentation_em(np.zeros((3, 4, 5), bool))

    assert not region.any()
    assert skills.tolist() == [1, 1, 1]


weights = st.lists(st.floats(0.01, 1), min_size=3, max_size=3)


@given(weights, st.lists(st.integers(0, 12), min_size=6, max_size=6))
def test_the_order_of_the_people_changes_no_corner(weights, corners):
    drawings = [square(x, y, 20) for x, y in zip(corners[:3], corners[3:], strict=True)]
    pairs = list(zip(drawings, weights, strict=True))

    votes = {
        pixel_votes.region_vote([d for d, _ in order], [w for _, w in order])
        for order in itertools.permutations(pairs)
    }

    assert len(votes) == 1


def test_of_one_person_or_of_equal_drawings_the_very_corners_come_back():
    drawing = ((((0.3, 0.7), (9.9, 2.4), (5.0, 8.8)),),)

    assert pixel_votes.region_vote([drawing], [0.4]) == drawing
    assert pixel_votes.region_vote([drawing] * 3, [0.4, 0.9, 0.1]) == drawing


def test_a_drawing_that_covers_what_most_drew_comes_back_as_it_is():
    drawing, outside = ((((0.3, 0.7), (19.9, 2.4), (5.0, 18.8)),),), square(0, 0, 30)

    assert pixel_votes.region_vote([outside, drawing, drawing], [1, 1, 1]) == drawing


def test_two_who_weigh_the_same_give_what_both_drew():
    vote = pixel_votes.region_vote([square(0, 0, 10), square(5, 0, 10)], [0.7, 0.7])

    assert vote == ((((5, 0), (10, 0), (10, 10), (5, 10)),),)


def test_one_who_weighs_more_than_all_others_decides():
    vote = pixel_votes.region_vote(
        [square(0, 0, 10), square(40, 0, 10), square(80, 0, 10)], [0.9, 0.4, 0.4]
    )

    assert vote == square(0, 0, 10)


def test_a_part_that_everybody_drew_in_one_piece_stays_in_one():
    bar = (((0, 0), (30, 0), (30, 4), (0, 4)),)
    left = (((0, 0), (8, 0), (8, 4), (0, 4)),)
    right = (((20, 0), (30, 0), (30, 4), (20, 4)),)

    vote = pixel_votes.region_vote([(bar,), (left,), (right,)], [1, 1, 1])

    assert vote == (right,)


def test_a_hole_that_nobody_drew_is_filled():
    ring = np.ones((12, 12), bool)
    ring[5:7, 5:7] = False
    around = [square(0, 0, 12)]
    # Each leaves out another corner of the middle by drawing an L-shaped region.
    others = [((((0, 0), (12, 0), (12, 12), (7, 12), (7, 5), (5, 5), (5, 12), (0, 12)),),)]
    others += [((((0, 0), (5, 0), (5, 7), (7, 7), (7, 0), (12, 0), (12, 12), (0, 12)),),)]

    vote = pixel_votes.region_vote([*around, *others], [1, 1, 1])

    assert vote == square(0, 0, 12)


def test_agreement_of_shifted_squares_is_as_worked_on_paper():
    [(iou, boundary)] = pixel_votes.agreement([square(0, 0, 20), square(5, 0, 20)])

    assert iou == pytest.approx(15 / 25)
    assert 0 < boundary < 1
    masks = (regions.mask_of(square(x, 0, 20), (-1, -1, 26, 21)) for x in (0, 5))
    assert boundary == regions.mask_boundary_f(*masks, 1.5)
    assert pixel_votes.agreement([square(0, 0, 9), square(0, 0, 9)]) == [(1.0, 1.0)]
    assert pixel_votes.agreement([square(0, 0, 9)]) == []


def test_the_result_lies_within_half_a_pixel_of_the_vote():
    rows, columns = np.indices((60, 60))
    discs = [(rows - 30) ** 2 + (columns - x) ** 2 <= 400 for x in (27, 30, 33)]
    drawings = [regions.polygons_of(disc) for disc in discs]

    vote = pixel_votes.region_vote(drawings, [1, 1, 1])

    voted = regions.polygons_of(pixel_votes.pixel_vote(discs))
    assert regions.iou(vote, voted) > 0.97
    assert sum(len(ring) for piece in vote for ring in piece) < sum(
        len(ring) for piece in voted for ring in piece
    )
