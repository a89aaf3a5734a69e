"""What a model does to drawing, on a made-up crowd."""

import pytest

from labeling.errors import Refusal
from labeling.simulation import simulating_proposals
from labeling.simulation.simulating_proposals import ProposalCrowd, simulate


def test_a_good_network_saves_time_and_keeps_quality():
    found = simulate(ProposalCrowd(), 3_000)

    assert found["time_ratio"] <= 0.6
    assert found["iou_difference"] >= -0.005
    assert found["bad_difference"] <= 0.05


def test_the_seed_decides_everything():
    assert simulate(ProposalCrowd(), 200, 7) == simulate(ProposalCrowd(), 200, 7)
    assert simulate(ProposalCrowd(), 200, 7) != simulate(ProposalCrowd(), 200, 8)


def test_whoever_takes_nothing_draws_as_without_and_takes_longer():
    never = ProposalCrowd(takes=1, mends=1, sight=0, careless=0, good=0, again=0)

    found = simulate(never, 500)

    assert found["with"]["outcomes"] == {"taken": 0, "mended": 0, "refused": 1}
    assert found["time_ratio"] > 1
    assert abs(found["iou_difference"]) < 0.02


def test_careless_people_send_what_is_bad():
    careless = ProposalCrowd(careless=1, good=0, bad_high=0.4)

    found = simulate(careless, 200)

    assert found["with"]["bad"] == 1
    assert found["bad_proposals"] == {"shown": 200, "accepted": 200, "share": 1}


def test_mending_is_never_worse_than_a_hand_where_the_network_errs():
    mends = ProposalCrowd(takes=1, sight=0, mends=0, careless=0, good=1, network=0.1, hasty=0)

    found = simulate(mends, 500)

    assert found["with"]["outcomes"]["mended"] == 1
    assert found["iou_difference"] > -0.01


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"speed": 1}, "A crowd has no key 'speed'"),
        ({"good": 2}, "good"),
        ({"clicks": 0}, "clicks"),
        ({"clicks": 1.5}, "clicks"),
        ({"draw_seconds": "x"}, "draw_seconds"),
    ],
)
def test_a_crowd_of_other_keys_or_values_is_refused(content, message):
    with pytest.raises(Refusal, match=message):
        simulating_proposals.clean(content)


def test_a_crowd_may_change_any_key():
    assert simulating_proposals.clean({"good": 0.4, "clicks": 2}).clicks == 2
