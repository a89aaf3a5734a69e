"""A program boxes by the API: it gets the step and what is shown, and sends what people send."""

import json
import uuid

import pytest

from labeling.follow_ups import following
from tests.clients import logged_in
from tests.labeling import boxers
from tests.labeling.boxers import DOG, A, box

pytestmark = pytest.mark.django_db


def seats(client):
    reply = client.post(
        "/api/v1/campaigns/boxes/seats/", {"size": 1}, content_type="application/json"
    )
    return reply.json()["seats"]


def send(client, seat, value):
    answer = {"id": str(uuid.uuid4()), "seat": seat["seat"], "value": value}
    body = json.dumps({"answers": [answer]})
    reply = client.post("/api/v1/campaigns/boxes/answers/", body, content_type="application/json")
    return reply.json()["results"][0]


def test_the_chain_by_the_api(alice, dataset):
    campaign = boxers.make(alice, dataset)
    drawer, *others = [logged_in(person) for person in boxers.people(campaign)]

    [seat] = seats(drawer)
    assert seat["topic"] == DOG
    assert seat["shows"] == {"step": "draw", "width": 64, "height": 48, "boxes": []}
    assert send(drawer, seat, box([0, 0, 99, 10]))["code"] == "bad_value"
    assert send(drawer, seat, box(A))["status"] == "accepted"
    following.advance(campaign)

    assert seats(drawer) == []
    for checker in others[:2]:
        [seat] = seats(checker)
        assert (seat["shows"]["step"], seat["shows"]["box"]) == ("check", A)
        assert send(checker, seat, "good")["status"] == "accepted"
    following.advance(campaign)

    [seat] = seats(others[2])
    assert seat["shows"]["step"] == "cover"
    assert send(others[2], seat, "complete")["status"] == "accepted"
    rows = logged_in(alice).get("/api/v1/campaigns/boxes/questions/").json()["results"]
    assert [row["step"] for row in rows] == ["draw", "check", "cover"]
