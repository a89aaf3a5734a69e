"""The labeling page's doors: what is taken, what is refused, and that nothing tells gold."""

import io
import json
import re
import uuid
from datetime import timedelta

import pytest
from django.core.files.base import ContentFile
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from PIL import Image as Pillow

from annotator.pages import seats
from labeling.campaigns import lifecycle
from labeling.datasets import images
from labeling.models import Answer, Example, Flag, Image, Membership, Seat, User
from labeling.quality.gold import add_gold
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in
from tests.labeling import samples

pytestmark = pytest.mark.django_db

PAGE, ANSWERS, SKIP, LABEL = "label_page", "label_answers", "label_skip", "label"
LEAVE = "label_leave"


def url(name, campaign="coots"):
    return reverse(name, args=[campaign])


def post(client, name, body, campaign="coots"):
    return client.post(url(name, campaign), body, content_type="application/json")


@pytest.fixture
def as_bob(bob, coots):
    return logged_in(bob)


@pytest.fixture
def page(as_bob, bob):
    return post(as_bob, PAGE, {"user": bob.pk, "held": []}).json()


def answer(seat, value="yes", **fields):
    return {"id": str(uuid.uuid4()), "seat": seat, "value": value, "duration_ms": 900, **fields}


def test_page_tells_tokens_and_topics_and_nothing_else(page):
    assert len(page["seats"]) == 6
    assert {frozenset(seat) for seat in page["seats"]} == {frozenset({"seat", "topic", "image"})}
    assert page["topics"]["n02018207"]["article"] == "an"
    assert page["left"] == 6


def leased(bob):
    return Seat.objects.filter(annotator=bob, state="leased").count()


@pytest.fixture
def lake(alice, bob, coots):
    """Sixty questions in pages of six."""
    campaign = factories.make_campaign(
        alice, coots.dataset, "lake", images=60, policy={"page_size": 6, "gold_share": 0}
    )
    factories.join(bob, campaign)
    return campaign


def test_invented_held_seats_lease_nothing_more(as_bob, bob, lake):
    invented = [uuid.uuid4().hex for _ in range(190)]

    rows = post(as_bob, PAGE, {"user": bob.pk, "held": invented}, "lake").json()["seats"]

    assert leased(bob) == len(rows) == 6


def test_nobody_holds_more_than_forty_seats(as_bob, bob, lake):
    held = []
    for _ in range(9):
        rows = post(as_bob, PAGE, {"user": bob.pk, "held": held}, "lake").json()["seats"]
        held += [row["seat"] for row in rows]

    assert leased(bob) == len(set(held)) == 40
    body = {"size": 100}
    as_bob.post("/api/v1/campaigns/lake/seats/", body, content_type="application/json")
    assert leased(bob) == 40


def test_page_leaves_out_seats_that_are_held_already(as_bob, bob, page):
    held = [seat["seat"] for seat in page["seats"][:4]]

    again = post(as_bob, PAGE, {"user": bob.pk, "held": held, "known": ["n02018207"]}).json()

    assert [seat["seat"] for seat in again["seats"]] == [s["seat"] for s in page["seats"][4:]]
    assert again["topics"] == {}


def test_labeling_page_carries_its_seats(as_bob, bob):
    response = as_bob.get(url(LABEL))

    assert response.context["setup"]["user"] == bob.pk
    assert len(response.context["setup"]["seats"]) == 6
    assert b"American coot" in response.content
    assert "no-store" in response["Cache-Control"]


def test_an_answer_that_is_opened_again_comes_with_its_value(as_bob, bob, page):
    seat, second = (row["seat"] for row in page["seats"][:2])
    post(as_bob, "label_answers", {"user": bob.pk, "answers": [answer(seat, "hard")]})

    setup = as_bob.get(url(LABEL), {"seat": seat}).context["setup"]
    held = as_bob.get(url(LABEL), {"seat": second}).context["setup"]

    assert (setup["given"], [row["seat"] for row in setup["seats"]]) == ({seat: "hard"}, [seat])
    assert (held["given"], as_bob.get(url(LABEL)).context["setup"]["given"]) == ({}, None)


def test_batch_is_accepted_and_a_repeat_gives_the_same(as_bob, bob, page):
    body = {
        "user": bob.pk,
        "answers": [answer(page["seats"][0]["seat"]), answer(page["seats"][1]["seat"], "no")],
    }

    first = post(as_bob, ANSWERS, body).json()
    second = post(as_bob, ANSWERS, body).json()

    assert [result["status"] for result in first["results"]] == ["accepted", "accepted"]
    assert first == second
    assert Answer.objects.count() == 2


def test_malformed_answer_names_its_field(as_bob, bob, page):
    sent = answer(page["seats"][0]["seat"], duration_ms=-1)

    response = post(as_bob, ANSWERS, {"user": bob.pk, "answers": [sent]})

    assert response.status_code == 400
    assert response.json()["code"] == "malformed"
    assert response.json()["field"] == "answers.0.duration_ms"
    assert not Answer.objects.exists()


def test_how_an_answer_was_given_is_kept_and_told_to_nobody_who_labels(as_bob, bob, page):
    methods = ["key", "tap", "swipe", "done", None]
    sent = [
        answer(row["seat"], input_method=method)
        for row, method in zip(page["seats"], methods, strict=False)
    ]
    old = answer(page["seats"][5]["seat"])

    results = post(as_bob, ANSWERS, {"user": bob.pk, "answers": [*sent, old]}).json()["results"]
    pages = {
        # But for what is drawn for each request and seat.
        re.sub(
            r"(?<=\?s=)[\w:.-]+|\b[0-9a-f]{32}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
            r'|(?<=csrfmiddlewaretoken" value=")\w+',
            "",
            as_bob.get(f"{url(LABEL)}?seat={row['seat']}").content.decode(),
        )
        for row in sent
    }

    kept = {str(row.pk): row.input_method for row in Answer.objects.all()}
    assert kept == {row["id"]: row.get("input_method") for row in [*sent, old]}
    assert len({json.dumps({**result, "id": ""}) for result in results}) == 1
    assert len(pages) == 1


def test_an_answer_keeps_the_language_of_its_page(as_bob, bob, page):
    by_script, plain = (
        answer(page["seats"][0]["seat"], language="zh-hans"),
        page["seats"][1]["seat"],
    )

    post(as_bob, ANSWERS, {"user": bob.pk, "answers": [by_script]})
    # Without scripts the page is asked for, and sent, in the language of the browser.
    form = {"id": str(uuid.uuid4()), "seat": plain, "value": "yes"}
    as_bob.post(url(LABEL), form, headers={"Accept-Language": "de"})

    kept = Answer.objects.values_list("assignment__token", "language")
    assert dict(kept) == {by_script["seat"]: "zh-hans", plain: "de"}


@for_each(
    "body",
    [
        *("", "nonsense", "[]", "null", '{"user": NaN}', "[" * 50_000, '"\\ud800"', "{}"),
        # Half a surrogate pair in bytes, and UTF-16.
        *(b'{"user": "\xed\xa0\x80"}', '{"user": "\0"}'.encode("utf-16")),
    ],
)
@for_each("name", [PAGE, ANSWERS, SKIP])
def test_body_that_is_no_request_is_refused(as_bob, name, body):
    response = as_bob.post(url(name), body, content_type="application/json")

    assert response.status_code in (400, 409)
    assert set(response.json()) == {"code", "message", "field"}
    assert isinstance(body, str) or response.json()["code"] == "malformed"


@for_each("answers", [None, [], {}, "x", [None], [[]]])
def test_answers_must_be_a_list_of_objects(as_bob, bob, answers):
    response = post(as_bob, ANSWERS, {"user": bob.pk, "answers": answers})

    assert response.status_code == 400


def test_oversized_body_is_refused_unread(as_bob, bob):
    body = {"user": bob.pk, "answers": [], "padding": "x" * 300_000}

    response = post(as_bob, ANSWERS, body)

    assert response.status_code == 413
    assert response.json()["code"] == "too_large"


def test_answers_of_another_person_in_the_same_browser_wait(as_bob, alice, page):
    sent = {"user": alice.pk, "answers": [answer(page["seats"][0]["seat"])]}

    response = post(as_bob, ANSWERS, sent)

    assert (response.status_code, response.json()["code"]) == (409, "other_user")
    assert not Answer.objects.exists()


@for_each("name", [PAGE, ANSWERS, SKIP])
def test_scripts_hear_that_nobody_is_logged_in(client, coots, name):
    response = post(client, name, {})

    assert (response.status_code, response.json()["code"]) == (401, "logged_out")


@pytest.mark.parametrize("name", [PAGE, ANSWERS, SKIP])
def test_strangers_and_annotators_of_another_campaign_find_nothing(
    client, name, alice, charlie, coots, dataset
):
    other_campaign = factories.make_campaign(alice, dataset, "other", images=1)
    client.force_login(charlie)
    as_stranger = post(client, name, {"user": charlie.pk})
    factories.join(charlie, other_campaign)
    as_member_elsewhere = post(client, name, {"user": charlie.pk})

    assert as_stranger.status_code == as_member_elsewhere.status_code == 404
    assert as_stranger.json()["code"] == "not_found"


@for_each("name", [PAGE, ANSWERS, SKIP])
def test_request_from_another_site_is_refused_in_json(bob, coots, name):
    client = Client(enforce_csrf_checks=True)
    client.force_login(bob)

    response = client.post(
        url(name), "{}", content_type="application/json", headers={"Accept": "application/json"}
    )

    assert (response.status_code, response.json()["code"]) == (403, "csrf_failed")
    assert "csrftoken" in response.cookies


def test_skipping_returns_the_seat_and_twice_is_no_error(as_bob, bob, page):
    body = {"user": bob.pk, "seat": page["seats"][0]["seat"]}

    first, second = post(as_bob, SKIP, body), post(as_bob, SKIP, body)

    assert first.status_code == second.status_code == 200
    assert Seat.objects.get(token=body["seat"]).state == Seat.State.RETURNED


def until(token):
    return Seat.objects.get(token=token).leased_until - timezone.now()


def test_a_closed_page_keeps_its_seats_for_a_minute_and_a_reload_renews_them(as_bob, bob, page):
    held = [row["seat"] for row in page["seats"]]

    left = post(as_bob, LEAVE, {"user": bob.pk, "held": held[1:], "at": page["at"]})

    assert left.status_code == 200
    assert max(until(token) for token in held[1:]) <= timedelta(minutes=1) < until(held[0])
    again = as_bob.get(url(LABEL)).context["setup"]
    assert [row["seat"] for row in again["seats"]] == held
    assert min(until(token) for token in held) > timedelta(minutes=1)
    # Sent before the reload, and late: the reload has renewed the leases.
    post(as_bob, LEAVE, {"user": bob.pk, "held": held, "at": page["at"]})
    assert min(until(token) for token in held) > timedelta(minutes=1)


def test_leaving_touches_no_lease_of_others(bob, charlie, coots, page):
    factories.join(charlie, coots)
    held = [row["seat"] for row in page["seats"]]

    post(logged_in(charlie), LEAVE, {"user": charlie.pk, "held": held, "at": page["at"]})

    assert min(until(token) for token in held) > timedelta(minutes=1)


@for_each("at", [None, True, -1, 1e3, 10**13, "1"])
def test_leaving_needs_the_time_that_the_server_gave(as_bob, bob, page, at):
    response = post(as_bob, LEAVE, {"user": bob.pk, "held": [], "at": at})

    assert (response.status_code, response.json()["field"]) == (400, "at")


def test_form_answers_without_scripts_and_offers_a_way_back(as_bob, bob):
    seat = as_bob.get(url(LABEL)).context["first"]["seat"]

    response = as_bob.post(
        url(LABEL), {"id": str(uuid.uuid4()), "seat": seat, "value": "no"}, follow=True
    )
    back = as_bob.get(url(LABEL), {"seat": seat})

    assert Answer.objects.get().value == "no"
    assert f"?seat={seat}".encode() in response.content
    assert back.context["first"]["seat"] == seat


def test_form_without_an_answer_says_what_is_missing(as_bob):
    seat = as_bob.get(url(LABEL)).context["first"]["seat"]

    response = as_bob.post(url(LABEL), {"id": str(uuid.uuid4()), "seat": seat})

    assert response.status_code == 400
    assert b"Choose one of the answers" in response.content


@pytest.mark.parametrize("action", ["pause", "close"])
def test_closed_campaign_says_so_on_a_page_of_its_own(as_bob, alice, coots, action):
    lifecycle.change_state(coots, alice, action)

    response = as_bob.get(url(LABEL))

    assert response.status_code == 409
    assert b"This campaign is" in response.content


def test_image_comes_to_its_annotator_alone(as_bob, page, charlie, coots):
    address = page["seats"][0]["image"]
    factories.join(charlie, coots)
    as_charlie = logged_in(charlie)

    assert as_bob.get(address).status_code == 200
    assert as_charlie.get(address).status_code == 403
    assert Client().get(address).status_code == 302


def test_image_needs_an_unexpired_signature(as_bob, page, monkeypatch):
    address = page["seats"][0]["image"]
    bare = address.split("?")[0]
    assert as_bob.get(bare).status_code == 403
    assert as_bob.get(address[:-2] + "xx").json()["code"] == "forged"

    monkeypatch.setattr(seats, "MAX_AGE", timedelta(seconds=-1))

    assert as_bob.get(address).json()["code"] == "expired"


def test_signature_of_one_seat_opens_no_other(as_bob, page):
    first, two = page["seats"][0]["image"], page["seats"][1]["image"]

    response = as_bob.get(two.split("?")[0] + "?" + first.split("?")[1])

    assert response.json()["code"] == "forged"


@pytest.mark.parametrize("state", [Seat.State.RETURNED, Seat.State.CLOSED])
def test_image_of_a_seat_that_left_is_gone(as_bob, page, state):
    Seat.objects.update(state=state)

    assert as_bob.get(page["seats"][0]["image"]).status_code == 404


def test_answered_image_is_shown_while_the_answer_may_change(as_bob, bob, coots, page):
    seat = page["seats"][0]
    post(as_bob, ANSWERS, {"user": bob.pk, "answers": [answer(seat["seat"])]})
    assert as_bob.get(seat["image"]).status_code == 200

    Membership.objects.filter(user=bob).update(answered=100)
    assert as_bob.get(seat["image"]).status_code == 200
    Answer.objects.update(created_at=timezone.now() - timedelta(minutes=11))

    assert as_bob.get(seat["image"]).status_code == 404


def test_image_is_gone_for_who_left_the_campaign(as_bob, bob, page):
    Membership.objects.filter(user=bob).update(left_at=timezone.now())

    assert as_bob.get(page["seats"][0]["image"]).status_code == 404


def test_image_response_tells_no_name_and_no_date(as_bob, page):
    response = as_bob.get(page["seats"][0]["image"])

    assert response["Content-Disposition"] == "inline"
    assert not {"ETag", "Last-Modified"} & set(response.headers)
    assert b"coots" not in str(response.headers).encode()


@pytest.mark.parametrize(
    ("setting", "lease_minutes", "expected"),
    [
        (1200, 20, "max-age=1200"),
        (1200, 60, "max-age=1200"),
        (1200, 5, "max-age=300"),
        (90, 20, "max-age=90"),
        (0, 20, "no-store"),
    ],
)
def test_every_image_of_a_campaign_is_kept_equally_long(
    as_bob, alice, bob, coots, settings, setting, lease_minutes, expected
):
    settings.ASSAY_PHOTOGRAPH_CACHE_SECONDS = setting
    factories.make_image(coots.dataset, "known.png")
    add_gold(coots, alice, [{"image": "known.png", "topic": "n02018207", "answer": "yes"}])
    policy = {"gold_share": 0.5, "page_size": 20, "lease_minutes": lease_minutes}
    lifecycle.change_policy(coots, alice, policy)
    page = post(as_bob, PAGE, {"user": bob.pk}).json()["seats"]
    post(as_bob, ANSWERS, {"user": bob.pk, "answers": [answer(page[0]["seat"])]})
    Seat.objects.filter(token=page[1]["seat"]).update(
        leased_until=timezone.now() + timedelta(minutes=1)
    )

    addresses = [row["image"] + size for row in page for size in ("", "&tile=1")]

    assert Seat.objects.filter(question__state="gold").exists()
    controls = {as_bob.get(address)["Cache-Control"] for address in addresses}
    assert controls == {f"private, {expected}"}


def test_an_images_address_stays_equal_while_the_seat_is_held(as_bob, bob, page):
    def address(row):
        setup = as_bob.get(url(LABEL), {"seat": row["seat"]}).context["setup"]
        return setup["seats"][0]["image"]

    row = page["seats"][0]
    Seat.objects.update(created_at=F("created_at") - timedelta(hours=11, minutes=59))
    began = [row["image"] for row in post(as_bob, PAGE, {"user": bob.pk}).json()["seats"]]

    assert began == [row["image"] for row in post(as_bob, PAGE, {"user": bob.pk}).json()["seats"]]
    assert address(row) == next(
        address_before for address_before in began if row["seat"] in address_before
    )
    assert as_bob.get(address(row)).status_code == 200
    assert address(row) != row["image"], "the lease began earlier"

    Seat.objects.update(created_at=F("created_at") - timedelta(minutes=2))

    assert address(row) not in began, "it is for half a day"
    assert as_bob.get(address(row)).status_code == 200
    post(as_bob, ANSWERS, {"user": bob.pk, "answers": [answer(row["seat"])]})
    assert as_bob.get(address(row)).status_code == 200


@pytest.fixture
def large(coots, run_jobs):
    """Gives every image of the campaign a large file, its tiles made."""
    for number, image in enumerate(Image.objects.all()):
        content = samples.jpeg((4100, 10 + number))
        image.file.save("wide.jpg", ContentFile(content), save=False)
        image.width, image.height = 4100, 10 + number
        image.display = image.thumbnail = ""
        image.save()
        images._enqueue_derivatives(image)
    run_jobs()


def test_tiles_of_an_image_come_to_its_annotator_alone(as_bob, alice, charlie, coots, large, bob):
    row, second = post(as_bob, PAGE, {"user": bob.pk}).json()["seats"][:2]
    tile = row["image"] + "&detail=0,4,0"
    factories.join(charlie, coots)
    as_charlie = logged_in(charlie)
    other_seat = post(as_charlie, PAGE, {"user": charlie.pk}).json()["seats"][0]["image"]

    assert as_bob.get(tile).status_code == 200
    assert as_bob.get(row["image"] + "&detail=0,5,0").status_code == 404
    assert as_bob.get(row["image"] + "&detail=../../x").status_code == 404
    assert Client().get(tile).status_code == 302
    assert as_charlie.get(tile).status_code == 403, "an annotator of another seat"
    assert logged_in(alice).get(tile).status_code == 403, "the campaign's researcher"
    stranger = User.objects.create_user("dora", "dora@example.org", "secret of dora")
    assert logged_in(stranger).get(tile).status_code == 403
    signature = other_seat.partition("?")[2]
    forged = row["image"].partition("?")[0] + f"?{signature}&detail=0,4,0"
    assert as_bob.get(forged).status_code == 403
    assert as_bob.get(second["image"] + "&detail=0,4,0").status_code == 200
    Seat.objects.update(state=Seat.State.RETURNED)
    assert as_bob.get(tile).status_code == 404


def test_who_does_not_draw_gets_the_display_image_of_a_large_one(as_bob, bob, coots, large):
    row = post(as_bob, PAGE, {"user": bob.pk}).json()["seats"][0]

    with Pillow.open(io.BytesIO(as_bob.get(row["image"]).content)) as image:
        assert image.width == 4096


def test_tiles_have_the_headers_of_every_image(as_bob, alice, bob, coots, large):
    known = factories.make_image(coots.dataset, "known.png")
    add_gold(coots, alice, [{"image": known.name, "topic": "n02018207", "answer": "yes"}])
    lifecycle.change_policy(coots, alice, {"gold_share": 0.5, "page_size": 20})

    page = post(as_bob, PAGE, {"user": bob.pk}).json()["seats"]
    answers = [as_bob.get(row["image"] + "&detail=0,0,0") for row in page]
    tiles = [response for response in answers if response.status_code == 200]
    whole = as_bob.get(page[0]["image"])

    assert len(tiles) == len(page) - 1
    controls = {response["Cache-Control"] for response in [*tiles, whole]}
    assert controls == {"private, max-age=1200"}
    assert not any({"ETag", "Last-Modified"} & set(response.headers) for response in tiles)
    assert {response["Content-Disposition"] for response in tiles} == {"inline"}


def test_a_tile_that_is_being_made_says_when_to_come_again(as_bob, page):
    Image.objects.update(width=5000, height=4000)

    response = as_bob.get(page["seats"][0]["image"] + "&detail=0,0,0")

    assert response.status_code == 503
    assert response["Retry-After"]
    assert as_bob.get(page["seats"][0]["image"]).status_code == 200


def test_nothing_tells_gold_from_the_rest(as_bob, alice, bob, coots):
    names = list(Image.objects.values_list("name", flat=True))
    factories.make_image(coots.dataset, "known.png")
    add_gold(coots, alice, [{"image": "known.png", "topic": "n02018207", "answer": "yes"}])
    lifecycle.change_policy(coots, alice, {"gold_share": 0.5, "page_size": 20})

    page = post(as_bob, PAGE, {"user": bob.pk}).json()
    tokens = [seat["seat"] for seat in page["seats"]]
    golden = set(Seat.objects.filter(question__state="gold").values_list("token", flat=True))
    headers = {
        frozenset(
            (key, value)
            for key, value in as_bob.get(seat["image"]).headers.items()
            # Of the image, and drawn by chance for each request.
            if key not in ("Content-Length", "X-Request-ID")
        )
        for seat in page["seats"]
    }
    results = post(
        as_bob, ANSWERS, {"user": bob.pk, "answers": [answer(token) for token in tokens]}
    ).json()["results"]

    assert len(golden) == 1
    assert len(tokens) == len(names) + 1
    assert len(headers) == 1
    assert len({json.dumps({**result, "id": ""}) for result in results}) == 1
    assert len({len(json.dumps(seat)) for seat in page["seats"]}) == 1


def test_example_is_for_the_members_of_its_campaign(as_bob, client, charlie, coots):
    image = coots.dataset.images.first()
    lifecycle.add_example(coots, "n02018207", image, "yes", "a fine one")
    address = reverse("example_image", args=[Example.objects.get().token])
    client.force_login(charlie)

    assert as_bob.get(address).status_code == 200
    assert client.get(address).status_code == 404
    assert as_bob.get(reverse("example_image", args=["nonsense"])).status_code == 404
    assert address.encode() in as_bob.get(url(LABEL)).content


def test_what_researchers_write_is_text(as_bob, alice, coots):
    lifecycle.change(coots, alice, instructions="<script>alert(1)</script>")
    lifecycle.change_topic(coots, "n02018207", alice, guidance="</script><b>bold</b>")

    content = as_bob.get(url(LABEL)).content

    assert b"<script>alert" not in content
    assert b"<b>bold" not in content


@pytest.mark.parametrize(
    ("article", "names"),
    [
        ("an", ["American coot", "umbrella", "hourglass", "ear", "X-ray", "oneiric", "urn"]),
        ("a", ["drake", "unicycle", "ukulele", "European fire salamander", "uakari", "U-boat", ""]),
        ("a", ["one-armed bandit", "ewer"]),
    ],
)
def test_article_follows_the_sound(article, names):
    assert {seats.article_for(name) for name in names} == {article}


@pytest.mark.parametrize("text", ["\ud800", "a\0b"])
def test_what_no_text_can_be_is_refused_and_nothing_is_kept(as_bob, bob, page, text):
    seat = page["seats"][0]["seat"]
    look = {"did": "search", "what": text, "at": 1}
    flag = {"user": bob.pk, "id": str(uuid.uuid4()), "seat": seat, "note": text}
    answers = {"user": bob.pk, "answers": [answer(seat, looks=[look])]}

    for response in (post(as_bob, "label_flag", flag), post(as_bob, ANSWERS, answers)):
        assert response.status_code == 400
        assert "a NUL or a lone surrogate" in response.json()["message"]
    form = answer(seat) | {"looks": json.dumps([look])}
    assert as_bob.post(url(LABEL), form).status_code == 302

    assert not Flag.objects.exists()
    # Sent by pages of the second edition, and ignored.
    assert Answer.objects.get().looks is None
