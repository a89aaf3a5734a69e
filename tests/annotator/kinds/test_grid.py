"""A page of images under one question, as the server sees it: forms, tiles, previews, words."""

import uuid

import pytest
from django.urls import reverse

from annotator.kinds.grid import Grid
from annotator.pages import seats
from labeling.campaigns import lifecycle
from labeling.follow_ups import following
from labeling.graphs import store
from labeling.kinds import KINDS
from labeling.models import Answer, Campaign, Image, Question, Seat
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in

pytestmark = pytest.mark.django_db

GRAPH = {
    "nodes": [
        {"id": "animal", "question": "living organism (other than people): dogs, snakes, etc."},
        {"id": "cat", "question": "domestic cat", "parents": ["animal"], "class": "n02121808"},
    ]
}
APPLE = {"id": "apple", "question": "apple", "class": "n07739125"}


@pytest.fixture
def campaign(alice, bob, dataset) -> Campaign:
    """Seven images under one question, five on a page."""
    names = [f"{index}.png" for index in range(7)]
    for name in names:
        factories.make_image(dataset, name)
    campaign = lifecycle.create(
        alice, name="grid", title="Grid", kind="hierarchy", dataset=dataset, policy={"page_size": 5}
    )
    store.define(campaign, alice, GRAPH)
    following.open_images(campaign)
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def as_bob(bob, campaign):
    return logged_in(bob)


LABEL = "/campaigns/grid/label/"


def seats_on_page(response):
    return [tile["seat"] for tile in response.context["tiles"]]


def form(tokens, **ticked):
    return {"seat": tokens, **{f"id-{token}": str(uuid.uuid4()) for token in tokens}, **ticked}


def values():
    return dict(Answer.objects.order_by("revision").values_list("assignment__token", "value"))


def test_the_page_is_one_question_and_its_images(as_bob):
    response = as_bob.get(LABEL)

    assert len(seats_on_page(response)) == 5
    assert response.context["setup"]["page_size"] == 5
    assert b"Which of these contain" in response.content
    assert response.context["topic"]["name"] == "living organism (other than people)"
    assert response.context["topic"]["definition"] == "dogs, snakes, etc."


def test_a_form_of_ticks_answers_every_image_of_the_page(as_bob):
    tokens = seats_on_page(as_bob.get(LABEL))

    response = as_bob.post(LABEL, form(tokens, yes=tokens[:2], hard=[tokens[1], tokens[2]]))

    assert response.status_code == 302
    assert values() == dict(zip(tokens, ["yes", "hard", "hard", "no", "no"], strict=True))


def test_a_form_sent_twice_counts_once(as_bob):
    tokens = seats_on_page(as_bob.get(LABEL))
    sent = form(tokens, yes=tokens[:1])

    as_bob.post(LABEL, sent)
    as_bob.post(LABEL, sent)

    assert Answer.objects.count() == 5


def test_the_page_before_comes_back_with_what_was_answered(as_bob):
    tokens = seats_on_page(as_bob.get(LABEL))
    as_bob.post(LABEL, form(tokens, yes=tokens[:1]))

    back = as_bob.get(LABEL, {"last": "1"})
    as_bob.post(LABEL, form(tokens, yes=tokens[1:2]))

    answers = {tile["seat"]: tile["given"] for tile in back.context["tiles"]}
    assert answers == {token: "yes" if token == tokens[0] else "no" for token in tokens}
    assert values() == {token: "yes" if token == tokens[1] else "no" for token in tokens}


def test_a_page_too_long_ago_comes_back_no_more(as_bob, bob):
    tokens = seats_on_page(as_bob.get(LABEL))
    as_bob.post(LABEL, form(tokens))
    Answer.objects.update(created_at="2020-01-01T00:00:00Z")
    bob.memberships.update(answered=100)

    response = as_bob.get(LABEL, {"last": "1"})

    assert response.status_code == 404
    assert b"can no longer be changed" in response.content


def test_one_image_of_a_page_is_skipped(as_bob):
    tokens = seats_on_page(as_bob.get(LABEL))

    as_bob.post(LABEL, form(tokens) | {"skip": tokens[0]})

    assert not Answer.objects.exists()
    assert Seat.objects.get(token=tokens[0]).state == Seat.State.RETURNED


@for_each(
    "wrong",
    [
        {},
        {"seat": "../etc"},
        {"seat": "a" * 32},
        {"seat": ["a" * 32] * 101},
        {"seat": "a" * 32, f"id-{'a' * 32}": "17"},
    ],
)
def test_a_form_that_is_no_page_is_refused(as_bob, wrong):
    response = as_bob.post(LABEL, wrong)

    assert response.status_code in (400, 413)
    assert not Answer.objects.exists()


def test_time_is_shared_among_the_images(rf):
    token = "a" * 32
    grid, campaign = Grid(KINDS["hierarchy"]), Campaign()
    form_of_two = form([token, "b" * 32]) | {"duration_ms": "9001"}
    sent = grid.read(rf.post("/", form_of_two).POST, campaign)
    silent = grid.read(rf.post("/", form([token]) | {"duration_ms": "-1"}).POST, campaign)

    assert [answer.duration_ms for answer in sent] == [4500, 4500]
    assert silent[0].duration_ms is None


def test_a_page_asks_the_same_of_the_database_for_five_images_and_for_one(
    as_bob, alice, campaign, django_assert_max_num_queries
):
    with django_assert_max_num_queries(40) as many:
        tokens = seats_on_page(as_bob.get(LABEL))
    as_bob.post(LABEL, form(tokens))
    Question.objects.filter(seats=None).exclude(
        pk=Question.objects.filter(seats=None).first().pk
    ).update(state=Question.State.WITHDRAWN, seats_free=0)

    with django_assert_max_num_queries(40) as few:
        left = seats_on_page(as_bob.get(LABEL))

    assert (len(tokens), len(left)) == (5, 1)
    assert len(many) <= len(few) + 1


def test_large_images_come_to_a_tile_as_thumbnails(as_bob):
    small, large = as_bob.get(LABEL).context["setup"]["seats"][:2]
    row = Image.objects.get(items__questions__seats__token=large["seat"])
    Image.objects.filter(pk=row.pk).update(width=4000, height=3000)

    responses = [as_bob.get(seat["image"] + "&tile=1") for seat in (small, large)]
    whole = as_bob.get(large["image"])

    assert [response.status_code for response in responses] == [200, 200]
    assert responses[0].content != responses[1].content
    assert responses[1]["Content-Type"] == "image/webp"
    headers = [
        {key: value for key, value in response.headers.items() if key != "Content-Length"}
        for response in (*responses, whole)
    ]
    assert {frozenset(header) for header in headers} == {frozenset(headers[0])}


def test_a_preview_shows_a_page_and_then_another_question(client, alice, campaign):
    store.define(campaign, alice, {"nodes": [*GRAPH["nodes"], APPLE]})
    following.open_images(campaign, [f"{index}.png" for index in range(3)])
    client.force_login(alice)
    address = reverse("preview", args=["grid"])

    first = client.get(address)
    second = client.get(address, {"after": first.context["question"].pk})
    third = client.get(address, {"after": second.context["question"].pk})

    assert [len(response.context["tiles"]) for response in (first, second)] == [5, 3]
    assert first.context["first"]["topic"] == third.context["first"]["topic"] == "animal"
    assert second.context["first"]["topic"] == "apple"
    assert not Seat.objects.exists()


@for_each(
    ("name", "article"),
    [
        ("mammals (but please do not include humans)", ""),
        ("first aid/ medical items", ""),
        ("swimming trunks", ""),
        ("furniture (including benches)", ""),
        ("a vehicle with wheels", ""),
        ("items that run on electricity", ""),
        ("stringed instrument", "a"),
        ("bus", "a"),
        ("electric fan", "an"),
        ("hat with a wide brim", "a"),
        ("living organism without legs", "a"),
        ("triceratops", "a"),
        ("hen-of-the-woods", "a"),
    ],
)
def test_what_is_many_takes_no_article(name, article):
    assert seats.article_for(name) == article
