"""The demonstration's parts: a cat, a person whose arm is merged, a horse nobody has drawn."""

import pytest

from annotator.demo import parts as parts_demonstration
from labeling.assignment import claiming
from labeling.datasets import objects
from labeling.geometry.polygons import clean
from labeling.models import Campaign, Item, User
from tests.annotator.pieces import ground


@pytest.fixture(scope="module")
def loaded(once) -> int:
    with once():
        return parts_demonstration.load(*ground()).pk


@pytest.fixture
def campaign(loaded, afresh) -> Campaign:
    return Campaign.objects.get(pk=loaded)


def test_what_was_imported_is_there_and_pieces_are_merged(campaign):
    items = Item.objects.filter(questions__campaign=campaign).select_related("image")
    described = {item.image.name: objects.describe([item])[item.pk] for item in items}

    assert set(described) == {"astronaut.png", "chelsea.png", "horse.png"}
    parts = {part.key: part for part in described["astronaut.png"].parts}
    assert set(parts) == {"head", "hair", "eye", "mouth", "arm"}
    assert (len(parts["arm"].pieces), len(parts["arm"].polygons)) == (2, 1)
    assert described["horse.png"].parts == ()


def test_one_drawing_waits_for_the_reviewer_and_the_rest_for_people(campaign):
    states = dict(campaign.questions.values_list("item__image__name", "state"))

    assert states == {"chelsea.png": "review", "astronaut.png": "open", "horse.png": "open"}
    seats = claiming.next_page(User.objects.get(username="bob"), campaign).seats
    assert len(seats) == 1


def test_the_drawing_lies_in_the_photograph():
    assert clean([[parts_demonstration.HEAD]], 451, 300)


def test_loading_twice_makes_nothing_new(campaign):
    before = Item.objects.count(), campaign.memberships.count()

    parts_demonstration.load(*ground())

    assert before == (Item.objects.count(), campaign.memberships.count())
