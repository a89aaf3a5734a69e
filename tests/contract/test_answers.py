"""Answers as pages that are still open, and scripts that are still running, send them.

The bodies are those of the first edition and are never rewritten: what waits in a browser must
be taken by every later version, with the same answer and time.
"""

import json
import uuid
from typing import Any

import pytest

from labeling.assignment import claiming
from labeling.models import Answer, Campaign, User
from tests.labeling import hierarchies

PAGE = "/campaigns/{}/label/"
OUTBOX = "/campaigns/{}/label/answers/"
API = "/api/v1/campaigns/{}/answers/"
HOUR_MS = 3_600_000


def seats_of(user: User, campaign: Campaign) -> list[str]:
    return [seat.token for seat in claiming.next_page(user, campaign).seats]


def stored() -> list[tuple[Any, int | None]]:
    """Value and time of every answer, in no order that depends on their ids."""
    return sorted(Answer.objects.values_list("value", "duration_ms"), key=str)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"value": "yes", "duration_ms": 900}, ("yes", 900)),
        ({"value": "hard", "duration_ms": 10**12}, ("hard", HOUR_MS)),
        ({"value": "no", "duration_ms": None}, ("no", None)),
        ({"value": "no"}, ("no", None)),
        # Of a question taken along, or from a page that noted what was looked at.
        ({"value": "no", "along": str(uuid.uuid4()), "looks": []}, ("no", None)),
    ],
)
def test_the_outbox(as_bob, bob, coots, sent, kept):
    answer = {"id": str(uuid.uuid4()), "seat": seats_of(bob, coots)[0]} | sent
    body = {"user": bob.pk, "answers": [answer]}

    response = as_bob.post(OUTBOX.format("coots"), json.dumps(body), "application/json")

    assert response.json()["results"][0]["status"] == "accepted"
    assert stored() == [kept]


@pytest.mark.parametrize(("duration", "kept"), [("900", 900), ("", None)])
def test_the_page_without_scripts(as_bob, bob, coots, duration, kept):
    form = {"id": str(uuid.uuid4()), "seat": seats_of(bob, coots)[0], "value": "not_photo"}

    response = as_bob.post(PAGE.format("coots"), form | {"duration_ms": duration})

    assert response.status_code == 302
    assert stored() == [("not_photo", kept)]


def test_a_script_by_the_api(as_bob, bob, coots):
    first, second = seats_of(bob, coots)[:2]
    answers = [
        {"id": str(uuid.uuid4()), "seat": first, "value": "yes", "duration_ms": HOUR_MS},
        {"id": str(uuid.uuid4()), "seat": second, "value": "no"},
    ]

    response = as_bob.post(API.format("coots"), {"answers": answers}, "application/json")

    assert [row["status"] for row in response.json()["results"]] == ["accepted", "accepted"]
    assert stored() == [("no", None), ("yes", HOUR_MS)]


def test_the_api_ignores_the_set_that_a_question_was_taken_along_with(as_bob, bob, coots):
    answer = {"id": str(uuid.uuid4()), "seat": seats_of(bob, coots)[0], "value": "no"}
    body = {"answers": [answer | {"along": str(uuid.uuid4()), "looks": None}]}

    response = as_bob.post(API.format("coots"), body, "application/json")

    assert response.json()["results"][0]["status"] == "accepted"


def test_a_page_of_images_without_scripts(as_bob, alice, bob, dataset):
    campaign = hierarchies.make(alice, dataset, images=3)
    campaign.memberships.create(user=bob, role="annotator")
    page = claiming.next_page(bob, campaign, 3).seats
    tokens = [seat.token for seat in page if seat.topic == page[0].topic]
    ids = {f"id-{token}": str(uuid.uuid4()) for token in tokens}
    form = {"seat": tokens, "yes": tokens[:1], "hard": tokens[1:2], "duration_ms": "9000"}

    response = as_bob.post(PAGE.format("home"), form | ids)

    assert response.status_code == 302
    each = 9000 // len(tokens)
    values = ["yes", "hard", *["no"] * (len(tokens) - 2)]
    assert stored() == sorted([(value, each) for value in values], key=str)
