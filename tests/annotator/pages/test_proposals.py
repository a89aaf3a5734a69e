"""The model's outline by HTTP: whom it helps, what it says, and that nothing tells gold."""

import json

import pytest
from django.urls import reverse

from labeling.assistance import asking
from labeling.datasets import objects
from labeling.models import Answer, Assistance, Campaign, Proposal, Seat
from labeling.promptable import workers
from labeling.quality import gold
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in
from tests.labeling import parted, prompted

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.usefixtures("afresh")
CLICK = {"points": [prompted.MIDDLE]}


@pytest.fixture(scope="module")
def built(once) -> int:
    with once():
        alice, bob, dataset = factories.cast()
        campaign = prompted.campaign_of(alice, dataset, once.folder)
        factories.join(bob, campaign)
    return campaign.pk


@pytest.fixture
def campaign(built, afresh) -> Campaign:
    return Campaign.objects.get(pk=built)


@pytest.fixture
def as_bob(bob, campaign):
    return logged_in(bob)


@pytest.fixture
def seat(as_bob, bob, campaign) -> str:
    page = post(as_bob, "label_page", {"user": bob.pk, "held": []}).json()
    assert all("assisted" in row for row in page["seats"])
    Assistance.objects.update(assisted=True)
    return str(page["seats"][0]["seat"])


def post(client, name, body, campaign="cats"):
    url = reverse(name, args=[campaign])
    return client.post(url, json.dumps(body), content_type="application/json")


def ask(client, user, token, campaign="cats", **fields):
    body = {"user": user.pk, "seat": token, "part": "tail", "prompts": CLICK}
    return post(client, "label_propose", body | fields, campaign)


def test_a_click_gives_an_outline_and_an_answer_of_it_is_kept(as_bob, bob, seat):
    reply = ask(as_bob, bob, seat).json()

    part = {
        "state": "drawn",
        "polygons": reply["polygons"],
        "came": {"proposal": reply["proposal"], "edits": 0},
    }
    answer = {
        "id": "0198c0de-0000-7000-8000-000000000001",
        "seat": seat,
        "value": {"parts": {"tail": part}, "half": True, "outline": None},
        "duration_ms": 9000,
        "input_method": "key",
    }
    results = post(as_bob, "label_answers", {"user": bob.pk, "answers": [answer]}).json()
    again = post(as_bob, "label_seat", {"user": bob.pk, "seat": seat}).json()

    assert set(reply) == {"proposal", "polygons"}
    assert results["results"][0]["status"] == "accepted"
    assert Answer.objects.get().value["parts"]["tail"]["came"]["how"] == "taken"
    # What the page has again is what it sent.
    assert again["seats"][0]["answer"]["parts"]["tail"] == part


def test_a_draft_keeps_where_a_part_came_from(as_bob, bob, seat):
    content = {"half": True, "states": {}, "came": {"tail": {"proposal": "x", "edits": 2}}}
    body = {"user": bob.pk, "seat": seat, "content": content, "base": 0, "device": "laptop"}

    post(as_bob, "label_draft", body)

    seat_row = post(as_bob, "label_seat", {"user": bob.pk, "seat": seat}).json()["seats"][0]
    assert seat_row["draft"]["content"] == content


def test_a_seat_of_another_is_said_not_to_exist(campaign, bob, charlie, seat):
    factories.join(charlie, campaign)

    response = ask(logged_in(charlie), charlie, seat)

    assert (response.status_code, response.json()["code"]) == (404, "not_found")
    assert not Proposal.objects.exists()


def test_a_drawing_without_the_model_is_told_so(as_bob, bob, seat):
    Assistance.objects.update(assisted=False)

    response = ask(as_bob, bob, seat)

    assert (response.status_code, response.json()["code"]) == (403, "unassisted")


@for_each(
    ("fields", "code"),
    [
        ({"part": 3}, "refused"),
        ({"part": "wing"}, "refused"),
        ({"prompts": None}, "bad_prompts"),
        ({"prompts": {"points": [[1000, 1, 1]]}}, "bad_prompts"),
        ({"seat": "x" * 40}, "malformed"),
    ],
)
def test_bad_requests_are_sentences(as_bob, bob, seat, fields, code):
    response = ask(as_bob, bob, seat, **fields)

    assert (response.status_code, response.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    ("error", "code"),
    [(workers.NetworkBusy("4 wait"), "busy"), (workers.NetworkBroken("hangs"), "no_answer")],
)
def test_a_model_that_gives_nothing_is_a_503_with_a_sentence(
    as_bob, bob, seat, monkeypatch, error, code
):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(asking.POOL, "decode", fail)

    response = ask(as_bob, bob, seat)

    assert (response.status_code, response.json()["code"]) == (503, code)
    assert "by hand" in response.json()["message"]


def test_too_many_questions_are_a_429_with_a_sentence(as_bob, bob, seat, monkeypatch):
    monkeypatch.setattr(asking, "MAX_PER_MINUTE", 0)

    response = ask(as_bob, bob, seat)

    assert (response.status_code, response.json()["code"]) == (429, "too_often")


def test_gold_is_asked_and_told_as_all_else(campaign, alice, bob, as_bob):
    image = factories.make_image(campaign.dataset, "cats/3.png")
    objects.put(campaign.dataset, [parted.cat(image.name)], "importer", words={parted.CAT: "cat"})
    known = parted.drawn(tail=parted.square(*prompted.RED))
    row = {"image": "cats/3.png", "object": "cat-1", "answer": known}
    gold.add_gold(campaign, alice, [row])
    prompted.paint(image)
    prompted.embed(campaign)
    question = campaign.questions.get(state="gold")
    seat = Seat.objects.create(
        question=question, annotator=bob, subject=question.pk, leased_until="2100-01-01T00:00Z"
    )
    page = post(as_bob, "label_page", {"user": bob.pk, "held": []}).json()
    Assistance.objects.update(assisted=True)
    replies = {row["seat"]: ask(as_bob, bob, row["seat"]) for row in page["seats"]}

    assert seat.token in replies
    assert {frozenset(row) for row in page["seats"]} == {frozenset(page["seats"][0])}
    assert {(r.status_code, frozenset(r.json())) for r in replies.values()} == {
        (200, frozenset({"proposal", "polygons"}))
    }
    headers = {tuple(sorted(set(r.headers) - {"Content-Length"})) for r in replies.values()}
    assert len(headers) == 1


def test_a_campaign_without_a_network_says_nothing_of_one(alice, bob):
    lake = factories.make_dataset(alice, "lake")
    campaign = parted.parts_campaign(alice, lake, name="plain")
    factories.join(bob, campaign)
    as_bob = logged_in(bob)
    page = post(as_bob, "label_page", {"user": bob.pk, "held": []}, "plain").json()
    html = as_bob.get(reverse("label", args=["plain"])).content.decode()

    assert "assisted" not in page["seats"][0]
    assert "tool-ask" not in html
    assert "propose" not in html
    assert ask(as_bob, bob, page["seats"][0]["seat"], "plain").status_code == 403
