"""What waits for a person: the same as the labeling page would show, found by existence alone."""

import pytest

from labeling.assignment import claiming, quotas
from labeling.assignment.waiting import Waiting, waiting_for
from labeling.campaigns import lifecycle
from labeling.consensus import reviewing
from labeling.follow_ups import asking
from labeling.models import Question, Seat, SentBack
from labeling.quality.gold import add_gold
from tests import factories
from tests.labeling import parted
from tests.labeling.crowd import answer, vote

pytestmark = pytest.mark.django_db


def of(user, campaign) -> Waiting:
    return waiting_for(user)[campaign.memberships.get(user=user).pk]


def test_something_waits_until_all_is_answered(bob, coots):
    assert of(bob, coots).more

    vote(bob, coots, size=3)
    assert of(bob, coots).more
    vote(bob, coots, size=6)

    assert not of(bob, coots).more
    assert claiming.next_page(bob, coots).seats == []


def test_a_question_added_later_waits(bob, coots):
    vote(bob, coots, size=6)

    factories.make_image(coots.dataset, "coots/late.png")
    asking.add_questions(coots, [("coots/late.png", "n02018207")])

    assert of(bob, coots).more


def test_what_was_skipped_waits_for_whoever_skipped_it(bob, coots):
    vote(bob, coots, size=5)
    [seat] = claiming.next_page(bob, coots).seats
    assert of(bob, coots).more

    claiming.return_seat(bob, seat.token)

    assert of(bob, coots).more


def test_nothing_waits_that_others_hold_or_have_finished(alice, bob, charlie, dataset):
    pond = factories.make_campaign(alice, dataset, "pond", images=1, policy={"votes": 1})
    factories.join(bob, pond)
    factories.join(charlie, pond)

    [seat] = claiming.next_page(charlie, pond).seats
    assert not of(bob, pond).more
    answer(charlie, pond, [seat])

    assert not of(bob, pond).more
    assert not of(charlie, pond).more


def test_gold_alone_is_nothing_that_waits(alice, bob, coots):
    factories.make_image(coots.dataset, "coots/gold.png")
    add_gold(coots, alice, [{"image": "coots/gold.png", "topic": "n02018207", "answer": "yes"}])
    vote(bob, coots, size=6)

    assert not of(bob, coots).more


def test_a_quota_leaves_only_its_topics(alice, bob, coots):
    lifecycle.define_topics(coots, [{"key": "n01847000", "name": "drake"}])
    member = coots.memberships.get(user=bob)

    quotas.assign(member, alice, {"n01847000": 2})
    assert not of(bob, coots).more
    quotas.assign(member, alice, {"n02018207": 2})

    assert of(bob, coots).more


def test_what_was_sent_back_is_named(alice, bob, dataset):
    cats = parted.parts_campaign(alice, dataset, policy={"page_size": 3})
    factories.join(bob, cats)
    [seat, *_] = claiming.next_page(bob, cats, 1).seats
    assert of(bob, cats) == Waiting(sent_back=False, more=True)
    drawing = parted.drawn(torso=parted.square(24, 10, 50, 30), leg="occluded", tail="not_visible")
    answer(bob, cats, [seat], drawing)
    Question.objects.filter(pk=seat.question_id).update(state="review", seats_free=0)

    reviewing.send_back(cats, seat.question_id, alice, "Mind the tail.")

    assert SentBack.objects.exists()
    assert Seat.objects.get(token=seat.token).state == "leased"
    assert of(bob, cats).sent_back


def test_one_statement_for_any_number_of_campaigns(alice, bob, dataset, django_assert_num_queries):
    for number in range(4):
        campaign = factories.make_campaign(alice, dataset, f"c{number}", images=1)
        factories.join(bob, campaign)

    with django_assert_num_queries(1):
        waiting = waiting_for(bob)

    assert len(waiting) == 4
