"""Training on drawings: the known one over the person's, how alike each part is; the preview."""

import json
import uuid

import pytest
from django.test import Client
from django.urls import reverse

from labeling.datasets import objects
from labeling.models import Answer, Campaign, Seat
from labeling.quality.gold import add_gold
from tests import factories
from tests.clients import logged_in
from tests.labeling import parted

pytestmark = pytest.mark.django_db
GOLD = parted.drawn(torso=parted.square(24, 10, 44, 30), leg="occluded", tail="not_visible")


@pytest.fixture
def campaign(alice, bob, dataset) -> Campaign:
    policy = {"training_questions": 2, "gold_share": 0.1}
    campaign = parted.parts_campaign(alice, dataset, policy=policy)
    for number in (7, 8):
        factories.make_image(dataset, f"gold/{number}.png")
        objects.put(dataset, [parted.cat(f"gold/{number}.png", name="cat-1")], "the importer")
    rows = [
        {"image": f"gold/{number}.png", "object": "cat-1", "topic": parted.CAT, "answer": GOLD}
        | {"explanation": "The legs are behind it."}
        for number in (7, 8)
    ]
    add_gold(campaign, alice, rows)
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def as_bob(bob, campaign) -> Client:
    client = logged_in(bob)
    client.get(reverse("label", args=["cats"]))
    return client


TRAINING = "/campaigns/cats/training/"


def send(client, value):
    seat = client.get(TRAINING).context["first"]["seat"]
    body = {"id": str(uuid.uuid4()), "seat": seat, "value": json.dumps(value), "duration_ms": "900"}
    return client.post(TRAINING, body)


def test_training_asks_one_drawing_with_all_the_page_needs(as_bob):
    response = as_bob.get(TRAINING)

    setup = response.context["setup"]
    assert [row["seat"] for row in setup["seats"]] == [response.context["first"]["seat"]]
    assert setup["topics"][parted.CAT]["parts"][0]["key"] == "head"
    assert b"after each drawing you see the known one" in response.content


def test_the_known_drawing_is_told_with_the_likeness_of_each_part(as_bob):
    value = parted.drawn(torso=parted.square(24, 10, 44, 40), leg="occluded", tail="occluded")

    response = send(as_bob, value)

    [row] = response.context["results"]
    compared = {part.name: part for part in row["compared"].parts}
    assert row["right"] is False
    assert compared["torso"].likeness == pytest.approx(2 / 3)
    assert (compared["leg"].likeness, compared["tail"].likeness) == (1, 0)
    assert (compared["tail"].answer, compared["tail"].known) == ("occluded", "not visible")
    assert len(row["compared"].picture.layers) == 2
    assert b"The legs are behind it." in response.content
    assert b"0.67" in response.content


def test_the_same_drawing_is_right(as_bob):
    response = send(as_bob, GOLD)

    [row] = response.context["results"]
    assert row["right"] is True
    assert row["known"] == "1 drawn, 1 not visible, 1 occluded"


def test_a_skip_is_told_by_its_reason(as_bob):
    response = send(as_bob, {"skip": "too_small"})

    [row] = response.context["results"]
    assert (row["right"], row["given"]) == (False, "Too small or blurry")


def test_a_faulty_drawing_is_refused_with_its_part_and_asked_again(as_bob):
    crossed = (((((24, 10), (44, 30), (44, 10), (24, 30))),),)

    response = send(as_bob, parted.drawn(torso=crossed))

    assert response.status_code == 200
    assert b"torso" in response.content
    assert not Answer.objects.exists()
    assert Seat.objects.get().state == "leased"


def test_the_preview_shows_the_object_and_claims_nothing(alice, campaign):
    client = logged_in(alice)

    response = client.get(reverse("preview", args=["cats"]))

    assert b'd="M10 8 22 8 22 20 10 20Z"' in response.content
    assert b"torso, leg, tail" in response.content
    assert not Seat.objects.exists()
