"""Drawings of one proposal are one vote together, and no pair."""

from fractions import Fraction

import pytest

from labeling.kinds import KINDS, policies
from labeling.parts import joining
from labeling.parts.joining import is_same_proposal, shares
from tests.labeling.parted import drawn, square

MINE, NEAR, FAR = ("m", (0, 0, 40, 40)), ("m", (1, 0, 41, 40)), ("m", (30, 0, 70, 40))
OTHER = ("n", (0, 0, 40, 40))


def assisted(polygons, box=(0, 0, 40, 40), model="m"):
    value = drawn(tail=polygons) | {"outline": None}
    value["parts"]["tail"]["came"] = {
        "proposal": "p",
        "how": "taken",
        "iou": 1.0,
        "edits": 0,
        "box": list(box),
        "model": model,
    }
    return value


def alone(polygons):
    return drawn(tail=polygons) | {"outline": None}


def settle(values, **policy):
    rules = policies.whole({"votes": 2, "max_votes": 4, "method": "majority"} | policy)
    return KINDS["parts"].settle(values, rules)


def test_outlines_in_nearly_the_same_box_by_one_network_are_one_proposal():
    assert is_same_proposal(MINE, NEAR)
    assert not is_same_proposal(MINE, FAR)
    assert not is_same_proposal(MINE, OTHER)
    assert not is_same_proposal(MINE, ())
    assert not is_same_proposal((), ())


def test_they_share_one_vote():
    half, third = Fraction(1, 2), Fraction(1, 3)

    assert shares([MINE, (), NEAR, FAR]) == [half, 1, half, 1]
    assert shares([MINE, NEAR, MINE]) == [third] * 3
    assert shares([(), ()]) == [1, 1]


def test_two_who_took_one_proposal_do_not_outvote_one_who_drew():
    large, small = square(0, 0, 40, 40), square(0, 0, 20, 40)
    values = [assisted(large), assisted(large), alone(small)]

    joined = joining.joined(values, [1.0, 1.0, 1.0])
    independent = joining.joined([alone(large), alone(large), alone(small)], [1.0] * 3)

    assert joined["parts"]["tail"]["polygons"] == joining.as_json(small)
    assert independent["parts"]["tail"]["polygons"] == joining.as_json(large)


def test_the_order_of_people_changes_nothing():
    values = [
        assisted(square(0, 0, 40, 40)),
        alone(square(0, 0, 30, 40)),
        assisted(square(0, 0, 39, 40)),
    ]

    first = joining.joined(values, [1.0, 0.8, 0.9])

    assert joining.joined(values[::-1], [0.9, 0.8, 1.0]) == first


def test_they_are_no_pair_in_the_agreement():
    same = square(0, 0, 40, 40)
    joined = joining.joined(
        [assisted(same), assisted(same), alone(square(0, 0, 20, 40))], [1.0] * 3
    )

    assert joined["agreement"]["tail"] == {
        "voters": 3,
        "iou": 0.5,
        "boundary_f": pytest.approx(joined["agreement"]["tail"]["boundary_f"]),
        "least": 0.5,
        "assisted": 2,
    }


def test_a_question_that_only_the_model_drew_asks_one_more_and_then_a_reviewer():
    same = assisted(square(0, 0, 40, 40))

    assert settle([same, same]).more == 1
    assert settle([same] * 4).state == "review"
    assert settle([same, alone(square(0, 0, 40, 40))]).state == "settled"


def test_who_took_one_proposal_is_not_believed_for_agreeing_with_it():
    same = assisted(square(0, 0, 40, 40))

    assert joining.agreement_points([same, same]) == [None, None]
    assert joining.agreement_points([same, alone(square(0, 0, 40, 40))]) == [1.0, 1.0]
