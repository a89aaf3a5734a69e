"""Unsent drawings come back: after a crash, on another machine, without a connection."""

import pytest
from django.contrib.sessions.models import Session

from labeling.answers import drafts
from labeling.models import Answer, Draft, Seat
from tests import factories
from tests.browser import drawing_hands as hands
from tests.browser.conftest import log_in
from tests.browser.labeling.test_labeling import left_behind
from tests.labeling import parted

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TORSO = ((24, 10), (50, 10), (50, 30), (24, 30))
LEG = ((26, 32), (30, 32), (30, 40))
STORED = "Object.keys(localStorage).filter((key) => key.startsWith('assay:drawing:')).length"


@pytest.fixture
def campaign(alice, bob, dataset):
    campaign = parted.parts_campaign(alice, dataset, count=2, policy={"page_size": 1})
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def page(browser_as, bob, campaign, site):
    """Bob's page, ready for his first answer."""
    page = browser_as(bob)
    hands.open_page(page, site)
    return page


def begin(page, site):
    """The page with a torso drawn and two corners of a leg."""
    hands.open_page(page, site)
    hands.press(page, "y")
    hands.draw(page, *TORSO)
    hands.click(page, *LEG[:2])


def test_a_drawing_comes_back_on_another_machine_with_its_unfinished_stroke(
    browser_as, new_context, bob, campaign, site
):
    context = new_context(bob)
    page = context.new_page()
    begin(page, site)
    hands.wait_for_draft(page)
    seat = hands.seat_of(page)
    context.close()

    page = browser_as(bob)
    hands.open_page(page, site)

    assert hands.seat_of(page) == seat
    assert not page.is_visible("[data-half]")
    hands.expect_state(page, "torso", "drawn")
    assert hands.chosen(page) == "leg"
    hands.click(page, LEG[2], LEG[0])
    hands.expect_state(page, "leg", "drawn")
    hands.send(page, "j", "2", "Shift+Enter")
    [[ring]] = Answer.objects.get().value["parts"]["leg"]["polygons"]
    assert hands.near(ring, LEG)


def test_what_is_drawn_after_an_answer_on_its_way_stays(page):
    first = hands.seat_of(page)
    hands.press(page, "y")
    hands.draw(page, *TORSO)
    hands.wait_for_draft(page)
    page.route(hands.ANSWERS, lambda route: route.abort())
    hands.press(page, "j", "2", "j", "2", "Shift+Enter")
    hands.wait_for_another(page, first)
    page.keyboard.press("u")
    hands.wait_for_seat(page, first)
    page.click("[data-choose=leg]")
    with page.expect_response(hands.DRAFT):
        page.keyboard.press("3")
    hands.wait_for_draft(page)

    page.unroute(hands.ANSWERS)
    with page.expect_response(hands.DRAFT):
        page.evaluate("dispatchEvent(new Event('online'))")

    hands.wait_for_draft(page)
    assert Answer.objects.get().value["parts"]["leg"]["state"] == "not_visible"
    assert Draft.objects.get().content["states"]["leg"] == "occluded"


STORED_AT_ONCE = """async () => {
  const store = await import("/static/js/parts/store.js");
  const large = store.put("key", { at: 1, text: "x".repeat(300_000) });
  await store.put("key", { at: 2, text: "small" });
  await large;
  return (await store.get("key")).text;
}"""


def test_of_two_records_stored_at_once_the_newer_is_kept(page):
    assert page.evaluate(STORED_AT_ONCE) == "small"


def test_a_closed_page_keeps_the_lease_of_a_drawing_that_the_server_lacks(page, site):
    page.route(hands.DRAFT, lambda route: route.abort())
    begin(page, site)
    hands.wait_for_draft(page, "not on the server yet")

    held = left_behind(page)

    assert len(held) == 1
    assert hands.seat_of(page) not in held


def test_a_tab_that_dies_without_a_connection_loses_no_stroke(new_context, bob, campaign, site):
    context = new_context(bob)
    page = context.new_page()
    page.route(hands.DRAFT, lambda route: route.abort())
    begin(page, site)
    hands.wait_for_draft(page, "not on the server yet")
    page.close()

    page = context.new_page()
    hands.open_page(page, site)

    hands.expect_state(page, "torso", "drawn")
    hands.wait_for_draft(page)
    assert len(Draft.objects.get().content["drawing"]["stroke"]) == 2


def test_the_draft_goes_with_the_answer_here_and_there(browser_as, bob, campaign, site):
    page = browser_as(bob)
    begin(page, site)
    hands.press(page, "Escape")
    hands.wait_for_draft(page)
    seat = hands.seat_of(page)
    assert Draft.objects.count() == 1

    hands.send(page, "2", "j", "2", "Shift+Enter")

    hands.wait_for_another(page, seat)
    assert page.evaluate(STORED) == 0
    assert not Draft.objects.exists()


def other_device_draws(browser_as, bob, site):
    second_page = browser_as(bob)
    hands.open_page(second_page, site)
    second_page.click("[data-choose=tail]")
    hands.press(second_page, "3")
    hands.wait_for_draft(second_page)
    return second_page


def test_of_two_drawings_the_person_chooses_and_keeps_both(page, browser_as, bob, site):
    hands.press(page, "y")
    hands.wait_for_draft(page)
    other_device_draws(browser_as, bob, site)
    hands.draw(page, *TORSO)

    page.wait_for_selector("#two-drafts[open]")
    hands.wait_for_draft(page, "another device saved one, too")
    page.keyboard.press("2")

    hands.expect_state(page, "torso", "missing")
    hands.expect_state(page, "tail", "occluded")
    hands.wait_for_draft(page)
    with page.expect_response(hands.DRAFT):
        page.keyboard.press("z")
        state = hands.state_of(page, "torso"), hands.state_of(page, "tail")
    assert state == ("drawn", "missing")
    hands.wait_for_draft(page)
    assert set(Draft.objects.get().content["drawing"]["shapes"]) == {"torso"}


def test_keeping_ones_own_drawing_overrides_the_other_device(
    page, browser_as, bob, site, looked_at
):
    hands.press(page, "y")
    hands.wait_for_draft(page)
    second_page = other_device_draws(browser_as, bob, site)
    hands.draw(page, *TORSO)
    page.wait_for_selector("#two-drafts[open]")
    looked_at(page, "parts-two-drafts")

    page.keyboard.press("1")

    hands.wait_for_draft(page)
    assert Draft.objects.get().content["states"] == {}
    second_page.reload()
    second_page.wait_for_selector("[data-drawing][data-seat]")
    hands.expect_state(second_page, "torso", "drawn")


def test_an_answer_given_without_a_connection_arrives_later(browser_as, bob, campaign, site):
    page = browser_as(bob)
    begin(page, site)
    hands.press(page, "c", "Escape", "2", "j", "2")
    hands.break_network(page)
    page.keyboard.press("Shift+Enter")
    hands.wait_for_chip(page, "1 unsent")
    assert not Answer.objects.exists()

    hands.mend_network(page)

    hands.wait_for_chip(page, "All saved")
    assert Answer.objects.get().value["parts"]["torso"]["state"] == "drawn"


def test_the_chip_tells_of_a_drawing_that_is_not_saved_without_a_connection(page):
    hands.break_network(page)
    hands.press(page, "y")

    hands.wait_for_chip(page, "Not saved")
    page.click("[data-saved]")
    assert "No connection. The drawing is kept in this browser" in page.inner_text("#unsent")
    page.click("#unsent [data-close]")
    hands.mend_network(page)
    hands.wait_for_chip(page, "Draft saved")
    assert Draft.objects.get().content["half"] is True


def test_the_chip_tells_of_a_drawing_that_is_not_saved_while_logged_out(
    new_context, bob, campaign, live_server, site
):
    context = new_context(bob)
    page = context.new_page()
    hands.open_page(page, site)
    Session.objects.all().delete()
    hands.press(page, "y")

    hands.wait_for_chip(page, "Not saved")
    hands.wait_for_draft(page, "log in again to save it")
    page.click("[data-saved]")
    assert "You are logged out. The drawing is kept" in page.inner_text("#unsent")
    assert page.is_visible("[data-login]")
    page.click("#unsent [data-close]")
    log_in(context, bob, live_server.url)
    page.evaluate("dispatchEvent(new Event('focus'))")
    hands.wait_for_chip(page, "Draft saved")
    assert Draft.objects.get().content["half"] is True


def test_a_seat_that_went_to_somebody_else_keeps_the_drawing_and_says_so(page):
    Seat.objects.update(state="returned")

    hands.press(page, "y")

    hands.wait_for_draft(page, "Your drawing is kept on this device.")
    assert page.evaluate(STORED) == 1


def test_a_large_drawing_is_kept_where_there_is_room_for_it(new_context, bob, campaign, site):
    context = new_context(bob)
    page = context.new_page()
    hands.open_page(page, site)
    hands.press(page, "y")
    hands.wait_for_draft(page)
    draft = Draft.objects.get()
    steps = [round(8 + index / 1000, 1) for index in range(26_000)]
    comb = [[x, 10.0 + 10 * (index % 2)] for index, x in enumerate(steps)]
    drawing = draft.content["drawing"] | {"shapes": {"torso": [[[*comb, [50, 40], [8, 40]]]]}}
    drafts.save(draft.assignment, draft.content | {"drawing": drawing}, draft.version)
    page.reload()
    page.wait_for_selector("[data-drawing][data-seat]")
    page.route(hands.DRAFT, lambda route: route.abort())
    page.click("[data-choose=leg]")
    hands.press(page, "2")
    hands.wait_for_draft(page, "not on the server yet")

    assert page.evaluate(STORED) == 0
    page.reload()
    page.wait_for_selector("[data-drawing][data-seat]")
    hands.expect_state(page, "torso", "drawn")
    hands.expect_state(page, "leg", "not visible")
