"""The demonstration's question graph: half answered, with somebody to block."""

import pytest

from annotator.demo import graph
from labeling.assignment import claiming
from labeling.models import Answer, Campaign, Example, User
from labeling.quality import blocking
from labeling.reports import quality_page
from tests.annotator.pieces import ground


@pytest.fixture(scope="module")
def loaded(once) -> int:
    with once():
        return graph.load(*ground()).pk


@pytest.fixture
def campaign(loaded, afresh) -> Campaign:
    return Campaign.objects.get(pk=loaded)


def test_newcomers_get_a_page_at_once(campaign):
    assert campaign.state == "open"
    for name in ("bob", "erin"):
        seats = claiming.next_page(User.objects.get(username=name), campaign).seats
        assert len(seats) > 1


def test_the_pages_of_quality_have_something_to_show(campaign):
    states = set(campaign.questions.values_list("state", flat=True))
    standings = campaign.memberships.get(user__username="frank").standing

    assert {"open", "settled", "gold"} <= states
    assert "runs" in {reason["signal"] for reason in standings["reasons"]}
    assert campaign.questions.filter(topic="person").exists()


def test_a_yes_of_two_asks_what_is_below_it(campaign):
    questions = campaign.questions.filter(topic="cat", state="open")
    animals = campaign.questions.filter(topic="animal", item__image__name="chelsea.png")

    assert animals.get().state == "open"
    assert not questions.exists()  # nobody has said yet that there is an animal


def test_people_disagree_about_what_is_decided(campaign):
    assert quality_page.figures(campaign).alpha is not None
    assert quality_page.figures(campaign).disputed


def test_no_example_gives_gold_away(campaign):
    gold = set(campaign.questions.filter(state="gold").values_list("topic", "item__image__name"))
    names = set(
        Example.objects.filter(topic__campaign=campaign).values_list("topic__key", "image__name")
    )

    assert names
    assert not gold & names


def test_blocking_the_careless_one_reopens_what_rested_on_them(campaign):
    member = campaign.memberships.get(user__username="frank")
    alice = User.objects.get(username="alice")

    done = blocking.block(campaign, member, alice, "says yes to everything")

    assert done.reopened > 0
    assert Answer.objects.filter(assignment__annotator=member.user).count() >= done.answers


def test_loading_twice_answers_nothing_twice(campaign):
    before = Answer.objects.count()

    graph.load(*ground())

    assert Answer.objects.count() == before
    assert Campaign.objects.count() == 1


def test_gold_is_on_photographs_that_are_not_asked_about(campaign):
    gold = set(campaign.questions.filter(state="gold").values_list("item__image__name", flat=True))
    images = set(campaign.questions.for_consensus().values_list("item__image__name", flat=True))

    assert gold
    assert not gold & images
