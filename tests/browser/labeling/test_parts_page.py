"""Drawing the parts of an object in a real browser: by pointer, by keys alone, sent, sent back."""

import copy
import uuid

import pytest
from django.utils import timezone

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.datasets import vocabulary_store
from labeling.models import Answer, Draft, Seat, SentBack
from tests import factories
from tests.browser import drawing_hands as hands
from tests.browser.conftest import expect, let_pass
from tests.labeling import parted

OVERLAP = "[data-do=overlap]"
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def campaign(alice, bob, dataset):
    """Three cats of which the import knows the heads."""
    campaign = parted.parts_campaign(alice, dataset)
    factories.join(bob, campaign)
    return campaign


def values():
    return [answer.value for answer in Answer.objects.order_by("created_at", "pk")]


@pytest.fixture
def page(browser_as, bob, campaign, site):
    """Bob's page, ready for his first answer."""
    page = browser_as(bob)
    hands.open_page(page, site)
    return page


def test_parts_are_drawn_with_the_mouse(page):
    page.click("[data-do=half-yes]")
    hands.draw(page, (24, 10), (50, 10), (50, 30), (24, 30))
    hands.draw(page, (26, 32), (30, 32), (30, 40))
    page.click("[data-choose=tail]")
    page.click("[data-state=occluded]")
    assert page.inner_text("[data-missing-count]") == "0"
    with page.expect_response(hands.ANSWERS):
        page.click("[data-do=submit]")

    [value] = values()
    assert value["half"] is True
    assert set(value["parts"]) == {"torso", "leg", "tail"}
    assert value["parts"]["tail"] == {"state": "occluded"}
    [[ring]] = value["parts"]["torso"]["polygons"]
    assert hands.near(ring, [(24, 10), (50, 10), (50, 30), (24, 30)])
    assert not Draft.objects.filter(assignment__state="answered").exists()


@pytest.mark.ci
def test_the_first_photograph_is_sent_once(images_sent, page):
    hands.settle(page)

    assert set(images_sent.values()) == {1}


def test_the_same_with_the_keyboard_alone(page):
    hands.press(page, "y", "Enter", "ArrowRight", "ArrowRight", "Enter", "ArrowDown", "Enter", "c")
    assert hands.chosen(page) == "leg"
    hands.press(page, "2", "j", "3")
    assert page.inner_text("[data-missing-count]") == "0"
    hands.send(page, "Shift+Enter")

    [value] = values()
    [[ring]] = value["parts"]["torso"]["polygons"]
    assert len(ring) == 3
    assert value["parts"]["leg"] == {"state": "not_visible"}
    assert value["parts"]["tail"] == {"state": "occluded"}


@pytest.mark.ci
def test_keys_that_move_the_view_are_harmless_at_the_end(page, campaign):
    campaign.questions.update(state="settled", seats_free=0)
    Seat.objects.update(state="closed")
    page.reload()
    page.locator("[data-finished]").wait_for()

    hands.press(page, "Shift+ArrowLeft", "+", "-", "0")

    assert page.locator("[data-finished]").is_visible()


def test_undo_and_redo_go_corner_by_corner(page):
    hands.press(page, "y")
    hands.draw(page, (24, 10), (50, 10), (50, 30))
    hands.expect_state(page, "torso", "drawn")

    hands.press(page, "Control+z")
    hands.expect_state(page, "torso", "missing")
    hands.press(page, "Control+y")

    hands.expect_state(page, "torso", "drawn")


@pytest.mark.ci
def test_a_state_takes_the_outline_away_and_undo_brings_it_back(page):
    hands.press(page, "y")
    hands.draw(page, (24, 10), (50, 10), (50, 30))

    page.click("[data-choose=torso]")
    hands.press(page, "2")
    hands.expect_state(page, "torso", "not visible")
    hands.press(page, "Control+z")
    hands.expect_state(page, "torso", "drawn")
    hands.press(page, "Control+y", "2")

    hands.expect_state(page, "torso", "missing")


@pytest.mark.ci
def test_given_parts_stand_until_they_are_mended(page):
    hands.press(page, "y", "PageUp")
    hands.expect_state(page, "head", "imported")
    assert page.inner_text("[data-state=drawn]").startswith("Correct")

    hands.press(page, "1", "x")
    hands.drag(page, (10, 8), (10, 12))
    hands.send(page, "j", "2", "j", "2", "j", "2", "Shift+Enter")

    [value] = values()
    assert value["parts"]["head"]["state"] == "drawn"
    assert value["parts"]["head"]["polygons"] != [[[10, 8], [22, 8], [22, 20], [10, 20]]]


@pytest.mark.ci
def test_what_nobody_said_is_named_before_it_is_sent(page):
    hands.press(page, "y", "Shift+Enter")
    assert "torso, leg and tail" in page.inner_text("[data-announce]")
    hands.press(page, "2", "Shift+Enter")

    page.wait_for_selector("#incomplete[open]")
    assert page.inner_text("[data-unlabeled-names]") == "leg and tail"
    expect(page.locator("p[data-few]")).to_be_visible()
    hands.send(page, "Shift+Enter")

    assert values() == [
        {"parts": {"torso": {"state": "not_visible"}}, "half": True, "outline": None}
    ]


@pytest.mark.parametrize(
    ("key", "dialog", "last", "reason"),
    [("", "", "n", "under_half"), ("q", "#cannot[open]", "1", "too_small")],
)
def test_what_cannot_be_drawn_is_skipped_with_a_reason(page, key, dialog, last, reason):
    if key:
        hands.press(page, key)
        page.wait_for_selector(dialog)
    hands.send(page, last)

    assert values() == [{"skip": reason}]


@pytest.mark.ci
def test_an_image_given_back_is_no_answer(page):
    seat = hands.seat_of(page)

    with page.expect_response("**/label/skip/") as response:
        page.keyboard.press("s")

    hands.wait_for_another(page, seat)
    assert response.value.json() == {"status": "returned"}
    assert not Answer.objects.exists()


@pytest.mark.ci
def test_an_image_given_back_is_taken_again_with_its_draft(page):
    seat = hands.seat_of(page)
    hands.press(page, "y")
    # The draft reaches the server as the image is left, and before the skip, which is lost here.
    page.route(hands.DRAFT, lambda route: route.abort())
    with page.expect_event("requestfailed"):
        hands.draw(page, (24, 10), (50, 10), (50, 30))
    page.unroute(hands.DRAFT)
    page.route("**/label/skip/", lambda route: route.abort())
    with page.expect_response(hands.DRAFT) as draft:
        page.keyboard.press("s")
    assert draft.value.status == 200
    hands.wait_for_another(page, seat)

    page.keyboard.press("u")

    hands.wait_for_seat(page, seat)
    hands.expect_state(page, "torso", "drawn")
    hands.send(page, "j", "2", "j", "2", "Shift+Enter")
    assert Answer.objects.get().assignment.token == seat


def test_an_earlier_drawing_can_be_gone_back_to_and_changed(page):
    first = hands.seat_of(page)
    hands.press(page, "y")
    hands.draw(page, (24, 10), (50, 10), (50, 30))
    hands.send(page, "j", "2", "j", "2", "Shift+Enter")
    hands.wait_for_another(page, first)

    page.reload()
    page.wait_for_selector("[data-drawing] .drawing")
    hands.press(page, "u")
    hands.wait_for_seat(page, first)
    hands.expect_state(page, "torso", "drawn")
    page.click("[data-choose=leg]")
    hands.send(page, "3", "Shift+Enter")

    before, after = values()
    assert before["parts"]["leg"] == {"state": "not_visible"}
    assert after["parts"] == before["parts"] | {"leg": {"state": "occluded"}}
    assert Seat.objects.get(token=first).answers.count() == 2


@pytest.mark.ci
def test_what_was_sent_back_comes_first_with_its_note_and_the_drawing(
    browser_as, alice, bob, campaign, site
):
    seats = claiming.next_page(bob, campaign).seats
    drawn = parted.drawn(torso=parted.square(24, 10, 50, 30), leg="occluded", tail="occluded")
    submitting.submit(
        bob, campaign, [submitting.SubmittedAnswer(uuid.uuid4(), seats[-1].token, drawn, 9000)]
    )
    seat = Seat.objects.get(token=seats[-1].token)
    SentBack.objects.create(
        assignment=seat, answer=seat.answers.get(), note="The tail is there.", reviewer=alice
    )
    until = timezone.now() + timezone.timedelta(hours=48)
    Seat.objects.filter(pk=seat.pk).update(state="leased", leased_until=until)

    page = browser_as(bob)
    hands.open_page(page, site)

    assert hands.seat_of(page) == seat.token
    assert page.inner_text("[data-sent-back-note]") == "The tail is there."
    hands.expect_state(page, "torso", "drawn")
    page.click("[data-choose=tail]")
    hands.draw(page, (52, 32), (56, 32), (56, 40))
    hands.send(page, "Shift+Enter")
    assert seat.answers.latest("revision").value["parts"]["tail"]["state"] == "drawn"


def test_a_refusal_of_the_server_is_shown_at_the_part_and_the_drawing_stays(page):
    seat = hands.seat_of(page)
    hands.press(page, "y")
    hands.draw(page, (24, 10), (50, 10), (50, 30))
    hands.press(page, "j", "2", "j", "2")
    message = "The part 'torso' crosses itself at 3, 4."
    hands.refuse_answers(page, message)

    page.keyboard.press("Shift+Enter")

    page.wait_for_selector("[data-fault]:not([hidden])")
    assert page.inner_text("[data-fault]") == message
    assert hands.seat_of(page) == seat
    hands.expect_state(page, "torso", "rejected")
    page.unroute(hands.ANSWERS)
    hands.send(page, "Shift+Enter")
    assert values()[0]["parts"]["torso"]["state"] == "drawn"


@pytest.mark.ci
def test_an_unfinished_outline_waits_at_its_part_and_is_named_before_it_is_sent(page):
    hands.press(page, "y")
    hands.click(page, (24, 10), (50, 10))
    page.click("[data-choose=leg]")
    hands.draw(page, (26, 32), (30, 32), (30, 40))
    assert (hands.state_of(page, "torso"), hands.state_of(page, "leg")) == (
        "outline not finished",
        "drawn",
    )
    hands.press(page, "j", "3", "Shift+Enter")

    assert "The outline of the torso is not finished" in page.inner_text("[data-announce]")
    assert hands.chosen(page) == "torso"
    hands.click(page, (50, 30), (24, 10))
    hands.send(page, "Shift+Enter")
    [value] = values()
    [[torso]] = value["parts"]["torso"]["polygons"]
    assert hands.near(torso, [(24, 10), (50, 10), (50, 30)])
    assert len(value["parts"]["leg"]["polygons"][0][0]) == 3


@pytest.mark.ci
def test_an_object_with_more_than_half_undecided_can_be_skipped_there(page, looked_at):
    hands.press(page, "y", "2", "Shift+Enter")
    page.wait_for_selector("#incomplete[open]")
    looked_at(page, "parts-few")
    let_pass(page)

    with page.expect_response(hands.ANSWERS):
        page.click("[data-skip-half]")

    assert values() == [{"skip": "under_half"}]


@pytest.mark.ci
def test_with_less_than_half_undecided_nothing_is_said_of_skipping(page):
    hands.press(page, "y", "2", "j", "2", "Shift+Enter")

    page.wait_for_selector("#incomplete[open]")
    assert page.inner_text("[data-unlabeled-names]") == "tail"
    expect(page.locator("[data-few]:visible")).to_have_count(0)


def test_forbidden_overlaps_are_named_before_a_drawing_is_sent(page, looked_at):
    hands.press(page, "y")
    hands.draw(page, (24, 10), (50, 10), (50, 30), (24, 30))
    assert page.get_attribute(OVERLAP, "aria-disabled") == "true"
    page.keyboard.down("Control")
    hands.draw(page, (30, 25), (40, 25), (40, 40))
    page.keyboard.up("Control")
    assert page.get_attribute(OVERLAP, "aria-disabled") == "false"
    hands.press(page, "j", "2", "Shift+Enter")

    page.wait_for_selector("#incomplete[open]")
    assert page.inner_text("[data-overlap-pairs]") == "torso and leg"
    assert not page.is_visible("[data-unlabeled-some]")
    looked_at(page, "parts-overlap")
    page.click("#incomplete [autofocus]")
    page.click(OVERLAP)
    assert page.get_attribute(OVERLAP, "aria-disabled") == "true"
    hands.send(page, "Shift+Enter")
    assert set(values()[0]["parts"]) == {"torso", "leg", "tail"}


@pytest.mark.ci
def test_an_eye_is_drawn_on_the_head_without_a_word(browser_as, alice, bob, dataset, site):
    raw = copy.deepcopy(parted.VOCABULARY)
    raw["categories"][0]["parts"][0]["holds"] = ["tail"]
    vocabulary_store.add_version(dataset, raw, alice)
    factories.join(bob, parted.parts_campaign(alice, dataset, ask_half=False))
    page = browser_as(bob)
    hands.open_page(page, site)
    page.click("[data-choose=tail]")
    page.keyboard.down("Control")
    hands.draw(page, (13, 11), (18, 11), (18, 16))
    page.keyboard.up("Control")

    assert page.get_attribute(OVERLAP, "aria-disabled") == "true"
    hands.send(page, "j", "2", "j", "2", "Shift+Enter")
    assert values()[0]["parts"]["tail"]["state"] == "drawn"


@pytest.mark.ci
def test_the_sheet_tells_the_keys_of_the_page_and_of_the_drawing(page):
    page.keyboard.press("?")

    words = page.inner_text("#keys")
    assert "Not visible" in words or "not visible" in words
    assert "minimize overlap" in words.lower()


def test_the_page_looks_right(page, looked_at):
    looked_at(page, "parts-half")
    hands.press(page, "y")
    hands.draw(page, (24, 10), (50, 10), (50, 30))
    hands.press(page, "j")
    looked_at(page, "parts-draw")
    page.keyboard.press("q")
    looked_at(page, "parts-cannot")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    looked_at(page, "parts-keys")


@pytest.mark.ci
def test_a_button_can_be_read_while_it_has_the_focus(browser_as, bob, campaign, site, axe):
    page = browser_as(bob, reduced_motion="reduce")
    hands.open_page(page, site)
    hands.press(page, "y")

    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for button in ("[data-choose=tail]", "[data-hide=tail]", "[data-do=tool-lasso]"):
            page.click(button)
            axe(page)
            page.mouse.move(0, 0)
            axe(page)
