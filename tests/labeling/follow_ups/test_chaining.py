"""Boxes, step by step, in the database: what follows what, who may answer it, and what comes back
when a settlement changes."""

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import reviewing, settling
from labeling.db import question_counts
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking, chaining, following
from labeling.models import Item, Question, Seat, Settlement
from labeling.quality import blocking
from tests import factories
from tests.cases import for_each
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A, B, box

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(alice, dataset):
    return boxers.make(alice, dataset)


@pytest.fixture
def crowd(campaign):
    return boxers.people(campaign)


def member(campaign, user):
    return campaign.memberships.get(user=user)


def chain_of(campaign, topic=DOG):
    [pairs] = chaining.replay_pairs(campaign, Item.objects.values_list("pk", flat=True)).values()
    return pairs[topic].chain


def test_five_people_box_every_instance(campaign, crowd):
    def says(question, person):
        boxed = question.content["boxes"] if question.content else []
        if question.step == "check":
            return "good"
        left = [sides for sides in (A, B) if sides not in boxed]
        if question.step == "cover":
            return (
                {"missing": [[sides[0] + 1, sides[1] + 1] for sides in left]}
                if left
                else "complete"
            )
        return box(left[0])

    done = boxers.work(campaign, crowd, says)

    assert [step for step, _ in done] == [
        *("draw", "check", "check", "cover"),
        *("draw", "check", "check", "cover"),
    ]
    for start in (0, 4):
        drawn, *others = [person for _, person in done[start : start + 4]]
        assert drawn not in others
        # Two who check are two people.
        assert others[0] != others[1]
    chain = chain_of(campaign)
    assert [list(drawn.box) for drawn in chain.boxes] == [A, B]
    assert chain.coverage == "complete"
    assert question_counts.differences(campaign.pk) == {}


def test_whoever_drew_is_given_neither_the_check_nor_the_look_for_more(campaign, crowd):
    drawer = crowd[0]
    [seat] = claiming.next_page(drawer, campaign, 1).seats
    boxers.answer(drawer, seat, box(A))
    following.advance(campaign)

    assert claiming.next_page(drawer, campaign, 1).seats == []
    boxers.settle(campaign, crowd, "good")
    assert claiming.next_page(drawer, campaign, 1).seats == []
    # What bars them is no seat: nothing that they could open or answer.
    assert boxers.seats_of(drawer) == ["answered", "barred", "barred"]


def test_a_rejected_box_is_drawn_again_by_somebody_else(campaign, crowd):
    boxers.settle(campaign, crowd, box(A), {"reason": "loose", "sides": ["left"]})

    question = campaign.questions.get(state="open")
    assert question.step == "draw"
    assert question.content["rejected"] == {"box": A, "reason": "loose", "sides": ["left"]}
    assert claiming.next_page(crowd[0], campaign, 1).seats == []
    assert len(claiming.next_page(crowd[1], campaign, 1).seats) == 1


def test_circles_end_at_a_reviewer_who_draws(alice, campaign, crowd):
    boxers.settle(campaign, crowd, "none", "none", "none")

    question = campaign.questions.get(state="review")
    assert (question.step, question.seats_free) == ("review", 0)
    assert question_counts.differences(campaign.pk) == {}
    assert list(settling.rebuild(campaign)) == []
    with pytest.raises(Refusal, match="at least one"):
        reviewing.decide(campaign, question.pk, alice, {"boxes": [], "state": "complete"})

    reviewing.decide(
        campaign, question.pk, alice, {"boxes": [{"box": B}], "state": "partial"}, "crowded"
    )
    following.advance(campaign)

    chain = chain_of(campaign)
    assert (chain.coverage, [list(drawn.box) for drawn in chain.boxes]) == ("partial", [B])
    assert list(settling.rebuild(campaign)) == []


def test_a_rebuild_still_reports_lost_settlements_of_pairs(alice, campaign, crowd):
    boxers.settle(campaign, crowd, "none", "none", "none")
    Settlement.objects.filter(question__step="draw").delete()

    differences = list(settling.rebuild(campaign))

    assert [row.question for row in differences] == list(
        campaign.questions.filter(step="draw").order_by("pk").values_list("pk", flat=True)
    )


def test_a_block_takes_back_what_followed_and_lifting_it_brings_it_back(alice, campaign, crowd):
    boxers.settle(campaign, crowd, box(A), "good", "complete")
    before = boxers.steps(campaign)
    checker = Seat.objects.filter(question__step="check", state="answered").first().annotator

    blocking.block(campaign, member(campaign, checker), alice, "careless")
    following.advance(campaign)

    # One check is missing, so nobody knows whether the box is good.
    assert boxers.steps(campaign) == [
        ("draw", "settled"),
        ("check", "open"),
        ("cover", "withdrawn"),
    ]
    blocking.unblock(campaign, member(campaign, checker), alice, "a mistake")
    following.advance(campaign)
    assert boxers.steps(campaign) == before
    assert chain_of(campaign).coverage == "complete"
    assert list(settling.rebuild(campaign)) == []
    assert question_counts.differences(campaign.pk) == {}


def test_a_box_whose_drawer_is_blocked_is_drawn_and_checked_anew(alice, campaign, crowd):
    boxers.settle(campaign, crowd, box(A), "good", "complete")
    drawer = Seat.objects.get(question__step="draw", state="answered").annotator

    blocking.block(campaign, member(campaign, drawer), alice, "careless")
    following.advance(campaign)
    assert boxers.steps(campaign)[:1] == [("draw", "open")]
    others = [person for person in crowd if person != drawer]
    boxers.settle(campaign, others, box(B), "good", "complete")

    assert [list(drawn.box) for drawn in chain_of(campaign).boxes] == [B]
    blocking.unblock(campaign, member(campaign, drawer), alice, "a mistake")
    following.advance(campaign)
    # The first settlement stands again, with all that followed it.
    assert [list(drawn.box) for drawn in chain_of(campaign).boxes] == [A]
    assert chain_of(campaign).coverage == "complete"


def test_an_image_that_is_withdrawn_half_way_asks_no_more_and_refuses_what_comes(
    alice, campaign, crowd
):
    boxers.settle(campaign, crowd, box(A))
    [seat] = claiming.next_page(crowd[1], campaign, 1).seats
    question = campaign.questions.get(state="open")

    asking.withdraw_questions(campaign, [question.pk], alice, "not ours")
    result = boxers.answer(crowd[1], seat, "good")
    following.advance(campaign)

    assert (result.status, result.code) == ("refused", "question_closed")
    assert boxers.steps(campaign) == [("draw", "settled"), ("check", "withdrawn")]
    assert chain_of(campaign).coverage == "unknown"
    # Asked for again, it goes on where it was.
    assert asking.add_questions(campaign, [("0.png", DOG)]).reopened == 1
    boxers.settle(campaign, crowd, "good", "complete")
    assert chain_of(campaign).coverage == "complete"


@for_each(
    ("value", "message"),
    [
        (box([0, 0, 65, 10]), r"extends beyond the upright image of 64 × 48"),
        (box([10, 10, 10, 20]), "no area"),
        (box([20, 10, 10, 20]), "no area"),
        (box([0, 0, float("nan"), 10]), "number of pixels"),
        ({"box": [0, 0, 10, 10], "how": "clicks", "points": [[0, 0]] * 4}, "four points"),
        (box([0, 0, 10, 10], "blurred"), "flags are"),
        ("good", "a drawing is"),
        ({"missing": [[1, 1]]}, "a drawing is"),
    ],
)
def test_a_drawing_that_is_none_is_refused_and_changes_nothing(campaign, crowd, value, message):
    [seat] = claiming.next_page(crowd[0], campaign, 1).seats

    result = boxers.answer(crowd[0], seat, value)

    assert result.status == "refused"
    assert re.search(message, result.message, re.IGNORECASE), result.message
    assert boxers.steps(campaign) == [("draw", "open")]


def test_a_box_that_is_there_is_refused(campaign, crowd):
    boxers.settle(campaign, crowd, box(A), "good", {"missing": [[40, 20]]})
    [seat] = claiming.next_page(crowd[0], campaign, 1).seats

    result = boxers.answer(crowd[0], seat, box([side + 4 for side in A]))
    assert "This instance has a box already" in result.message

    assert boxers.answer(crowd[0], seat, box([side + 5 for side in A])).status == "accepted"


def test_proposals_are_mended_by_those_who_check_them(alice, dataset):
    campaign = boxers.make(alice, dataset, images=0)
    factories.make_image(dataset, "0.png")
    items, _ = asking.whole_items(campaign, ["0.png"])
    chaining.open_pairs(campaign, [(items["0.png"], DOG)], {(items["0.png"], DOG): [tuple(A)]})
    lifecycle.launch(campaign, alice)
    crowd = boxers.people(campaign)

    boxers.settle(campaign, crowd, {"box": [2.0, 2.0, 24.0, 22.0], "flags": ["occluded"]})

    boxers.settle(campaign, crowd, "complete")
    [box] = chain_of(campaign).boxes
    assert (list(box.box), box.origin, box.flags) == (
        [2.0, 2.0, 24.0, 22.0],
        "proposed",
        ("occluded",),
    )


def test_queries_do_not_grow_with_the_pairs(alice, dataset):
    campaign = boxers.make(alice, dataset, images=6, topics=(DOG, CAT))
    crowd = boxers.people(campaign, 1)

    def advance_after(answers):
        page = claiming.next_page(crowd[0], campaign, answers)
        for seat in page.seats:
            boxers.answer(crowd[0], seat, box(A))
        with CaptureQueriesContext(connection) as queries:
            following.advance(campaign)
        return len(queries)

    first = advance_after(2)
    assert advance_after(10) == first
    assert Question.objects.filter(step="check").count() == 12


def test_a_closed_campaign_opens_no_pairs(alice, campaign):
    lifecycle.change_state(campaign, alice, "close")
    campaign.refresh_from_db()

    with pytest.raises(Conflict, match="closed"):
        asking.add_questions(campaign, [("0.png", DOG)])
