"""The page of a drawing as the server tells it, its drafts by HTTP, its form without scripts."""

import json
import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.kinds import page_of
from annotator.pages import bodies, last, seats
from labeling.answers import submitting, window
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import reviewing
from labeling.models import Answer, Campaign, Draft, Question, Seat, SentBack
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in
from tests.labeling import parted

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(alice, bob, dataset) -> Campaign:
    campaign = parted.parts_campaign(alice, dataset, policy={"page_size": 3})
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def as_bob(bob, campaign) -> Client:
    return logged_in(bob)


@pytest.fixture
def page(as_bob, bob):
    return post(as_bob, "label_page", {"user": bob.pk, "held": []}).json()


def post(client, name, body):
    url = reverse(name, args=["cats"])
    return client.post(url, json.dumps(body), content_type="application/json")


def save(client, user, seat, content=None, base=0, **fields):
    body = {"user": user.pk, "seat": seat, "content": content or {"half": True}, "base": base}
    return post(client, "label_draft", body | {"device": "laptop"} | fields)


def test_the_page_tells_the_object_what_is_given_and_what_is_missing(page):
    row = page["seats"][0]

    assert set(row) == {"seat", "topic", "image", "object", "answer", "sent_back", "draft"}
    assert row["object"] == {
        "width": 64,
        "height": 48,
        "crop": [3, 2, 61, 46],
        "given": {
            "head": {"state": "drawn", "polygons": [[[[10, 8], [22, 8], [22, 20], [10, 20]]]]}
        },
        "missing": ["torso", "leg", "tail"],
        "outline": None,
    }
    assert (row["answer"], row["sent_back"], row["draft"]) == (None, None, None)


def test_the_topic_tells_its_parts_with_their_guidance(page):
    topic = page["topics"][parted.CAT]

    assert [part["key"] for part in topic["parts"]] == ["head", "torso", "leg", "tail"]
    assert topic["parts"][0]["guidance"] == "With the ears."
    assert topic["guidance"] == "Cats hide their legs."


def test_examples_are_good_or_bad(campaign):
    for image, answer in zip(campaign.dataset.images.all(), ("yes", "no"), strict=False):
        lifecycle.add_example(campaign, parted.CAT, image, answer, "whiskers")

    examples = seats.topics_of(campaign, {parted.CAT})[parted.CAT]["examples"]

    assert {(example["answer"], example["word"]) for example in examples} == {
        ("yes", "Good"),
        ("no", "Bad"),
    }


def test_the_guidance_of_the_campaign_stands_before_that_of_the_vocabulary(campaign):
    campaign.topics.update(guidance="Kittens too.")

    assert seats.topics_of(campaign, {parted.CAT})[parted.CAT]["guidance"] == (
        "Kittens too.\n\nCats hide their legs."
    )


def test_telling_of_many_seats_takes_as_many_queries_as_of_one(
    page, bob, campaign, django_assert_num_queries
):
    rows = [{"seat": row["seat"], "topic": row["topic"]} for row in page["seats"]]

    for count in (1, 2):
        with django_assert_num_queries(6 if count == 1 else 5):
            assert len(page_of(campaign).describe_seats(rows[:count], bob, campaign)) == count


def test_a_draft_is_saved_and_comes_with_the_seat_first(as_bob, bob, page):
    last = page["seats"][-1]["seat"]

    version = save(as_bob, bob, last).json()["version"]

    again = post(as_bob, "label_page", {"user": bob.pk, "held": []}).json()["seats"]
    assert again[0]["seat"] == last
    draft = again[0]["draft"]
    assert (draft["content"], draft["version"], draft["device"]) == (
        {"half": True},
        version,
        "laptop",
    )


def test_a_draft_of_another_device_is_told_and_not_overwritten(as_bob, bob, page):
    seat = page["seats"][0]["seat"]
    version = save(as_bob, bob, seat, device="phone").json()["version"]

    response = save(as_bob, bob, seat, {"half": None})

    body = response.json()
    assert response.status_code == 409
    assert (body["code"], body["version"], body["content"], body["device"]) == (
        "draft_conflict",
        version,
        {"half": True},
        "phone",
    )
    assert body["saved_at"]
    assert save(as_bob, bob, seat, {"half": None}, version).json() == {"version": version + 1}


def test_a_draft_that_is_gone_is_told_as_none(as_bob, bob, page):
    response = save(as_bob, bob, page["seats"][0]["seat"], base=7)

    assert (response.status_code, response.json()["content"], response.json()["version"]) == (
        409,
        None,
        0,
    )


@for_each(
    ("fields", "status"),
    [
        ({"base": -1}, 400),
        ({"base": True}, 400),
        ({"base": 2**40}, 400),
        ({"device": "a b"}, 400),
        ({"device": "x" * 33}, 400),
        ({"content": []}, 400),
        ({"content": {"a": "\0"}}, 400),
        ({"seat": "0" * 32}, 404),
        ({"seat": None}, 400),
        ({"user": 0}, 409),
    ],
)
def test_a_draft_that_cannot_be_kept_is_refused_with_a_sentence(as_bob, bob, page, fields, status):
    response = save(as_bob, bob, page["seats"][0]["seat"])
    Draft.objects.all().delete()
    body = {"user": bob.pk, "seat": page["seats"][0]["seat"], "content": {}, "base": 0}

    response = post(as_bob, "label_draft", body | fields)

    assert response.status_code == status
    assert response.json()["message"].endswith(".")
    assert not Draft.objects.exists()


def test_a_body_beyond_all_measure_is_refused_before_it_is_read(as_bob, bob, page):
    content = {"corners": [[0.1, 0.2]] * 200_000}

    response = save(as_bob, bob, page["seats"][0]["seat"], content)

    assert response.status_code == 413
    assert "corners" in response.json()["message"]


def test_nobody_saves_on_anothers_seat(as_bob, bob, page, campaign):
    charlie = factories.make_user("charlie")
    factories.join(charlie, campaign)
    client = Client()
    nobody = save(client, charlie, page["seats"][0]["seat"])
    client.force_login(charlie)

    assert nobody.status_code == 401
    assert save(client, charlie, page["seats"][0]["seat"]).status_code == 404
    assert not Draft.objects.exists()


def test_one_drawing_is_held_beside_the_one_on_the_screen(as_bob, bob, campaign):
    first = post(as_bob, "label_page", {"user": bob.pk, "held": []}).json()["seats"]
    held = [row["seat"] for row in first]
    again = post(as_bob, "label_page", {"user": bob.pk, "held": held[:1]}).json()["seats"]

    assert len(held) == 2
    assert [row["seat"] for row in again] == held[1:]


@pytest.mark.parametrize("stage", ["paused", "blocked"])
def test_drafts_of_stopped_people_are_kept(as_bob, bob, page, campaign, stage):
    campaign.memberships.filter(user=bob).update(stage=stage)
    claiming.return_seats_of(bob, campaign)

    assert save(as_bob, bob, page["seats"][0]["seat"]).status_code == 200
    assert save(as_bob, bob, "0" * 32).status_code == 404
    assert Draft.objects.count() == 1


def test_a_large_drawing_is_taken_as_an_answer(as_bob, bob, page):
    seat = page["seats"][0]["seat"]
    edge = [[round(8 + index / 250, 1), 10 + (index % 2)] for index in range(0, 10_000, 25)]
    corners = [*edge, [50, 40], [8, 40]]
    value = {"parts": {"torso": {"state": "drawn", "polygons": [[corners]]}}, "half": True}
    padding = " " * (bodies.MAX_BODY_BYTES + 1)
    body = {
        "user": bob.pk,
        "answers": [{"id": str(uuid.uuid4()), "seat": seat, "value": value, "duration_ms": 9}],
    }

    url = reverse("label_answers", args=["cats"])
    response = as_bob.post(url, json.dumps(body) + padding, content_type="application/json")

    assert response.json()["results"][0]["message"] == ""
    assert Answer.objects.count() == 1


def test_the_answer_takes_the_draft_with_it(as_bob, bob, page):
    seat = page["seats"][0]["seat"]
    save(as_bob, bob, seat)
    save(as_bob, bob, page["seats"][1]["seat"])
    answer = {"id": str(uuid.uuid4()), "seat": seat, "value": {"skip": "no_part"}}

    post(as_bob, "label_answers", {"user": bob.pk, "answers": [answer]})

    assert [draft.assignment.token for draft in Draft.objects.all()] == [page["seats"][1]["seat"]]


def test_what_was_sent_back_comes_first_with_its_note_and_answer(alice, bob, campaign, as_bob):
    open_seats = claiming.next_page(bob, campaign).seats
    sent_back(alice, bob, campaign, open_seats[-1].token)

    rows = post(as_bob, "label_page", {"user": bob.pk, "held": []}).json()["seats"]

    assert [row["sent_back"] is None for row in rows] == [False, True, True]
    assert rows[0]["sent_back"]["note"] == "Mind the tail."
    assert rows[0]["answer"]["parts"]["leg"] == {"state": "occluded"}


def test_a_note_is_over_once_something_newer_was_sent(alice, bob, campaign):
    seat = sent_back(alice, bob, campaign, claiming.next_page(bob, campaign).seats[0].token)
    answer(bob, campaign, seat.token)

    [row] = page_of(campaign).describe_seats(
        [{"seat": seat.token, "topic": parted.CAT}], bob, campaign
    )

    assert row["sent_back"] is None


def test_a_note_stays_with_who_changed_the_drawing_while_it_was_read(alice, bob, campaign):
    """A reviewer sends back what counted; a later revision did not, and is mended from."""
    token = claiming.next_page(bob, campaign).seats[0].token
    for _ in range(2):
        answer(bob, campaign, token)
    seat = Seat.objects.get(token=token)
    reviewing.send_back(campaign, seat.question_id, alice, "Mind the tail.")

    [row] = page_of(campaign).describe_seats([{"seat": token, "topic": parted.CAT}], bob, campaign)

    assert row["sent_back"]["note"] == "Mind the tail."


def answer(user, campaign, token):
    value = parted.drawn(leg="occluded", torso="not_visible")
    [result] = submitting.submit(
        user, campaign, [submitting.SubmittedAnswer(uuid.uuid4(), token, value, 900)]
    )
    assert result.status == submitting.ACCEPTED, result.message


def sent_back(reviewer, user, campaign, token) -> Seat:
    answer(user, campaign, token)
    seat = Seat.objects.get(token=token)
    SentBack.objects.create(
        assignment=seat, answer=seat.answers.get(), note="Mind the tail.", reviewer=reviewer
    )
    until = timezone.now() + timezone.timedelta(hours=48)
    Seat.objects.filter(pk=seat.pk).update(state="leased", leased_until=until)
    return seat


def drawn(user, campaign) -> Seat:
    """A seat that the user has answered."""
    token = claiming.next_page(user, campaign).seats[0].token
    answer(user, campaign, token)
    return Seat.objects.get(token=token)


def send(user, campaign, seat) -> submitting.Result:
    value = parted.drawn(leg="occluded", torso="not_visible")
    sent = submitting.SubmittedAnswer(uuid.uuid4(), seat.token, value, 900)
    return submitting.submit(user, campaign, [sent])[0]


def is_seat_open(client, user, campaign, seat) -> bool:
    """Whether the image, and the page of this seat alone, may be seen: both or neither."""
    campaign.refresh_from_db()
    image = client.get(seats.image_url(seat, user)).status_code
    assert [context.pk for context, _ in seats.seats_of(user, campaign, [seat.token])] == (
        [seat.pk] if image == 200 else []
    )
    return image == 200


def test_what_was_mended_late_is_shown_just_as_long_as_it_may_be_changed(
    alice, bob, campaign, as_bob
):
    seat = drawn(bob, campaign)
    Answer.objects.update(created_at=timezone.now() - timedelta(days=9))
    campaign.memberships.filter(user=bob).update(answered=500)
    assert not is_seat_open(as_bob, bob, campaign, seat)

    reviewing.send_back(campaign, seat.question_id, alice, "The tail.")
    assert is_seat_open(as_bob, bob, campaign, seat)
    assert send(bob, campaign, seat).status == "accepted"

    # Ten minutes from the mended drawing, not from the one that was sent back.
    assert is_seat_open(as_bob, bob, campaign, seat)
    assert send(bob, campaign, seat).status == "accepted"
    Answer.objects.update(created_at=timezone.now() - timedelta(days=9))
    assert not is_seat_open(as_bob, bob, campaign, seat)
    assert send(bob, campaign, seat).code == "revision_closed"


def test_the_window_of_what_was_mended_begins_after_it_was_sent_back(alice, bob, campaign):
    """A revision too late to count lies between what was sent back and what was mended."""
    seat = drawn(bob, campaign)
    send(bob, campaign, seat)
    Answer.objects.update(created_at=timezone.now() - timedelta(days=9))
    campaign.memberships.filter(user=bob).update(answered=500)

    reviewing.send_back(campaign, seat.question_id, alice, "The tail.")

    assert window.answered_on([seat.pk])[seat.pk].first_at is None
    assert send(bob, campaign, seat).status == "accepted"
    assert send(bob, campaign, seat).status == "accepted"


def test_what_may_not_be_revised_again_is_not_shown(bob, campaign, as_bob, monkeypatch):
    seat = drawn(bob, campaign)
    monkeypatch.setattr(window, "MAX_REVISIONS", 1)

    assert send(bob, campaign, seat).code == "revision_closed"
    assert not is_seat_open(as_bob, bob, campaign, seat)


def test_a_drawing_opened_again_is_in_its_row_alone(as_bob, bob, campaign):
    seat = drawn(bob, campaign)

    setup = as_bob.get(f"/campaigns/cats/label/?seat={seat.token}").context["setup"]

    assert setup["given"] == {seat.token: True}
    assert setup["seats"][0]["answer"] is not None


def test_answered_images_are_shown_no_more_once_the_campaign_is_closed(
    alice, bob, campaign, as_bob
):
    seat = drawn(bob, campaign)
    assert is_seat_open(as_bob, bob, campaign, seat)

    lifecycle.change_state(campaign, alice, "close")

    assert send(bob, campaign, seat).code == "campaign_closed"
    assert not is_seat_open(as_bob, bob, campaign, seat)


def test_one_seat_is_told_with_its_latest_answer(as_bob, bob, page, campaign):
    token = page["seats"][0]["seat"]
    answer(bob, campaign, token)

    seat = post(as_bob, "label_seat", {"user": bob.pk, "seat": token}).json()

    assert seat["seats"][0]["answer"]["parts"]["leg"] == {"state": "occluded"}
    assert parted.CAT in seat["topics"]


def test_without_scripts_the_page_shows_what_is_given_and_takes_a_reason(as_bob):
    response = as_bob.get(reverse("label", args=["cats"]))
    first = response.context["first"]

    assert b"Drawing needs JavaScript" in response.content
    assert b'd="M10 8 22 8 22 20 10 20Z"' in response.content
    sent = {"id": str(uuid.uuid4()), "seat": first["seat"], "value": '{"skip": "too_small"}'}
    assert as_bob.post(reverse("label", args=["cats"]), sent).status_code == 302
    assert Answer.objects.get().value == {"skip": "too_small"}


def test_drafts_are_the_same_for_gold(as_bob, bob, campaign, page):
    """What is told of a seat, and of its draft, has the same form whatever stands behind it."""
    golden, plain = page["seats"][:2]
    Question.objects.filter(seats__token=golden["seat"]).update(state="gold", seats_free=1)

    replies = [save(as_bob, bob, row["seat"]) for row in (golden, plain)]
    drafts = [
        post(as_bob, "label_seat", {"user": bob.pk, "seat": row["seat"]}).json()["seats"][0]
        for row in (golden, plain)
    ]

    assert [set(reply.json()) for reply in replies] == [{"version"}] * 2
    assert set(drafts[0]) == set(drafts[1])
    assert set(drafts[0]["draft"]) == set(drafts[1]["draft"])


def test_last_answers_say_why_an_object_was_not_drawn(bob, campaign, page):
    held = [row["seat"] for row in page["seats"][:2]]
    values = [{"skip": "too_small"}, parted.drawn(tail="occluded")]
    sent = [
        submitting.SubmittedAnswer(uuid.uuid4(), seat, value, 900)
        for seat, value in zip(held, values, strict=True)
    ]
    assert {result.message for result in submitting.submit(bob, campaign, sent)} == {""}

    words = [row.words for row in last.last_answers(bob, campaign)]

    assert words == ["Drawn", "Too small or blurry"]
