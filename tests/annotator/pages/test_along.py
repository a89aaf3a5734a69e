"""The page of questions taken along, and its actions: what they send, to whom, what they refuse."""

import re
import uuid

import pytest
from django.contrib.staticfiles import finders

from labeling.assignment import taking_along
from labeling.campaigns import lifecycle
from labeling.models import Answer, Assignment, Membership, TakenAlong
from tests import factories
from tests.clients import logged_in, text_of

pytestmark = pytest.mark.django_db
PAGE = "/campaigns/pond/label/along/"


@pytest.fixture(autouse=True)
def _small_campaigns(monkeypatch):
    monkeypatch.setattr(taking_along, "ONE_IN", 1)


@pytest.fixture
def pond(alice, bob, dataset):
    policy = {"votes": 1, "gold_share": 0}
    campaign = factories.make_campaign(alice, dataset, "pond", images=25, policy=policy)
    factories.join(bob, campaign)
    return lifecycle.change(campaign, alice, take_along=True)


@pytest.fixture
def client(bob, pond):
    return logged_in(bob)


def post(client, action, person, **body):
    body = {"user": person.pk, **body}
    return client.post(f"{PAGE}{action}/", body, content_type="application/json")


def take(client, user, key=None, questions=10, hours=2):
    key = str(key or uuid.uuid4())
    return post(client, "take", user, id=key, questions=questions, hours=hours)


def test_a_set_has_the_seats_of_a_page_and_says_how_long_it_lasts(client, bob):
    body = take(client, bob).json()

    assert {"id", "questions", "open", "seconds", "seats", "topics"} == set(body)
    assert {tuple(seat) for seat in body["seats"]} == {("seat", "topic", "image")}
    assert len(body["seats"]) == body["open"] == body["questions"] == 10
    assert 7195 <= body["seconds"] <= 7200
    image = client.get(body["seats"][0]["image"])
    assert (image.status_code, image["Cache-Control"]) == (200, "private, max-age=1200")
    state = client.get(f"{PAGE}set/").json()
    assert state["user"] == bob.pk
    assert state["set"] == {key: body[key] for key in ("id", "questions", "open")} | {
        "seconds": state["set"]["seconds"]
    }


def test_the_same_request_again_gives_what_is_still_to_be_answered(client, bob, pond):
    key = uuid.uuid4()
    first = take(client, bob, key).json()
    given = [
        {"id": str(uuid.uuid4()), "seat": seat["seat"], "value": "yes"}
        for seat in first["seats"][:3]
    ]
    answers = {"user": bob.pk, "answers": given}
    client.post("/campaigns/pond/label/answers/", answers, content_type="application/json")

    second = take(client, bob, key).json()

    assert [row["seat"] for row in second["seats"]] == [row["seat"] for row in first["seats"][3:]]
    assert TakenAlong.objects.count() == 1
    assert take(client, bob).json()["code"] == "taken_along_already"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("questions", value) for value in (0, 201, "10", True)),
        *(("hours", value) for value in (5, 1.5, None)),
        *(("id", "x"), ("user", 0)),
    ],
)
def test_what_is_malformed_is_refused_in_a_sentence(client, bob, field, value):
    body = {"id": str(uuid.uuid4()), "questions": 10, "hours": 2} | {field: value}
    response = post(client, "take", bob, **body)

    assert response.status_code in (400, 409)
    assert response.json()["field"] == field
    assert not Assignment.objects.exists()


def test_the_page_holds_nothing_of_one_moment_and_its_worker_reaches_no_other_page(client, bob):
    before = text_of(client.get(PAGE))
    take(client, bob)
    after = text_of(client.get(PAGE))

    def without_ids(text):
        return re.sub(r"[0-9a-f-]{36}|value=\"\w{64}\"", "", text)

    assert without_ids(before) == without_ids(after)
    worker = client.get(f"{PAGE}worker.js")
    assert worker["Content-Type"] == "text/javascript; charset=utf-8"
    assert worker["Cache-Control"] == "no-cache"
    assert "Service-Worker-Allowed" not in worker
    assert "default-src 'none'" in worker["Content-Security-Policy"]
    with open(finders.find("js/along/worker.js"), "rb") as file:
        assert worker.content == file.read()


def test_who_may_take_nothing_is_told_why(client, alice, bob, pond):
    Membership.objects.filter(user=bob).update(stage="paused")
    assert "paused" in text_of(client.get(PAGE), 403)
    Membership.objects.filter(user=bob).update(stage="working")
    lifecycle.change(pond, alice, take_along=False)
    assert "not taken along" in text_of(client.get(PAGE), 403)
    refused = take(client, bob)
    assert (refused.status_code, refused.json()["code"]) == (403, "not_taken_along")
    assert 'href="/campaigns/pond/label/along/"' not in text_of(
        client.get("/campaigns/pond/label/")
    )


def test_the_labeling_page_and_home_lead_to_it(client, bob):
    link = 'href="/campaigns/pond/label/along/"'
    assert link in text_of(client.get("/campaigns/pond/label/"))
    assert link not in text_of(client.get("/"))
    take(client, bob, questions=5)
    assert link in text_of(client.get("/"))


def test_nobody_else_gives_it_back_or_sees_its_images(client, alice, bob, charlie, pond):
    key = uuid.uuid4()
    taken = take(client, bob, key).json()
    factories.join(charlie, pond)
    other = logged_in(charlie)

    assert post(other, "back", charlie, id=str(key)).status_code == 404
    assert other.get(taken["seats"][0]["image"]).status_code == 403
    assert post(other, "back", bob, id=str(key)).json()["code"] == "other_user"
    assert post(client, "back", bob, id=str(key)).json() == {"returned": 10}
    assert client.get(taken["seats"][0]["image"]).status_code == 404


def test_a_researcher_sees_what_is_out_and_calls_it_back(client, alice, bob, pond):
    taken = take(client, bob).json()
    researcher = logged_in(alice)
    page = text_of(researcher.get("/campaigns/pond/people/"))
    assert "Taken along" in page
    assert bob.pseudonym in page
    row = TakenAlong.objects.get()

    said = researcher.post(f"/campaigns/pond/people/along/{row.pk}/call-back/", follow=True)

    assert "10 questions are back for others." in text_of(said)
    assert client.get(f"{PAGE}set/").json()["set"] is None
    given = [{"id": str(uuid.uuid4()), "seat": taken["seats"][0]["seat"], "value": "yes"}]
    answers = {"user": bob.pk, "answers": given}
    sent = client.post("/campaigns/pond/label/answers/", answers, content_type="application/json")
    assert sent.json()["results"][0]["status"] == "accepted"
    assert Answer.objects.count() == 1
    found = researcher.get("/api/v1/campaigns/pond/along/").json()["results"]
    assert [(one["seats"], one["answered"], one["left"]) for one in found] == [(10, 1, 0)]


def test_settings_allow_it_and_the_form_of_other_kinds_has_no_such_choice(alice, pond, dataset):
    researcher = logged_in(alice)
    words = {"title": "Pond", "instructions": ""}
    researcher.post("/campaigns/pond/edit/", words)
    pond.refresh_from_db()
    assert not pond.take_along
    researcher.post("/campaigns/pond/edit/", words | {"take_along": "on", "swiping": "on"})
    pond.refresh_from_db()
    assert pond.take_along
    assert pond.settings == {}
    api = "/api/v1/campaigns/pond/"
    off = researcher.patch(api, {"take_along": False}, content_type="application/json")
    assert off.json()["take_along"] is False
    factories.make_campaign(alice, dataset, "tree", kind="hierarchy", launch=False)
    assert "take_along" not in text_of(researcher.get("/campaigns/tree/edit/"))
    refused = researcher.patch(
        "/api/v1/campaigns/tree/", {"take_along": True}, content_type="application/json"
    )
    assert refused.status_code == 400
    assert "cannot be taken along" in refused.content.decode()
