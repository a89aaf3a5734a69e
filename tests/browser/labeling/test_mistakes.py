"""A review of mistakes in a real browser: one image, one class, four answers by key, and tags."""

from collections import Counter

import pytest

from labeling.models import Answer
from tests import factories
from tests.browser.conftest import expect, let_pass
from tests.browser.labeling.test_labeling import count_answers, open_label, press, wait_for_chip

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


PAGES = "**/label/page/"


@pytest.fixture
def looks(alice, bob, dataset):
    """A campaign that asks about a coot on four images."""
    policy = {"gold_share": 0, "votes": 1}
    made = factories.make_campaign(alice, dataset, "looks", kind="mistake", images=4, policy=policy)
    factories.join(bob, made)
    return made


def values() -> list[object]:
    """What was answered, seat by seat, the latest of each."""
    rows = Answer.objects.order_by("assignment__ordinal", "revision")
    return list({row.assignment_id: row.value for row in rows}.values())


def test_a_key_for_each_answer(browser_as, bob, looks, site):
    page = browser_as(bob)
    open_label(page, site, "looks")
    assert page.inner_text("h1") == "Is this class right for the image?"
    assert page.inner_text("[data-class]") == "American coot"

    press(page, "r", "m", "j", "c")

    page.wait_for_selector("[data-finished]:not([hidden])")
    wait_for_chip(page, "All saved")
    assert count_answers() == Counter(valid=1, minor=1, major=1, cannot=1)
    assert Answer.objects.count() == 4


@pytest.mark.ci
def test_tags_go_with_the_next_answer_and_only_with_it(browser_as, bob, looks, site):
    page = browser_as(bob)
    open_label(page, site, "looks")

    press(page, "g", "o", "f", "f", "m")
    page.locator("label", has_text="Hidden").click()
    let_pass(page)
    page.get_by_role("button", name="Major mistake").click()
    press(page, "r")

    wait_for_chip(page, "All saved")
    assert values() == [
        {"answer": "minor", "tags": ["multiple_objects", "collage"]},
        {"answer": "major", "tags": ["occlusion"]},
        "valid",
    ]


def test_going_back_shows_the_tags_and_changes_them(browser_as, bob, looks, site):
    page = browser_as(bob)
    open_label(page, site, "looks")
    press(page, "g", "m")

    page.keyboard.press("u")
    expect(page.get_by_role("checkbox", name="Collage")).to_be_checked()
    expect(page.locator("[data-tagged]")).to_have_text("Collage")
    press(page, "g", "x", "m")

    expect(page.get_by_role("checkbox", name="Needs text")).not_to_be_checked()
    wait_for_chip(page, "All saved")
    assert values()[0] == {"answer": "minor", "tags": ["text"]}


@pytest.mark.ci
def test_a_tag_that_is_ticked_stays_while_more_seats_come(browser_as, bob, looks, site):
    page = browser_as(bob)
    page.route(PAGES, lambda route: route.abort())
    open_label(page, site, "looks")
    press(page, "r", "r", "g", "x")

    # On line again the page asks for more seats, and draws itself anew.
    page.unroute(PAGES)
    with page.expect_response(PAGES):
        page.evaluate("dispatchEvent(new Event('online'))")

    page.keyboard.press("t")
    expect(page.locator("[data-tagged]")).to_have_text("Small or thin, Needs text, Collage")


@pytest.mark.ci
def test_the_panel_is_opened_and_closed_by_its_key(browser_as, bob, looks, site):
    page = browser_as(bob)
    open_label(page, site, "looks")
    box = page.get_by_role("checkbox", name="Collage")
    expect(box).to_be_visible()

    page.keyboard.press("q")

    expect(box).to_be_hidden()
    page.reload()
    expect(page.get_by_role("checkbox", name="Collage")).to_be_hidden()


@pytest.mark.ci
def test_without_scripts_the_form_sends_the_tags(browser_as, bob, looks, site):
    page = browser_as(bob, java_script_enabled=False)
    page.goto(site("/campaigns/looks/label/"))

    page.get_by_role("checkbox", name="Close-up").check()
    page.get_by_role("button", name="Minor mistake").click()

    expect(page.get_by_role("checkbox", name="Close-up")).not_to_be_checked()
    assert values() == [{"answer": "minor", "tags": ["closeup"]}]


def test_the_page_is_looked_at(browser_as, bob, looks, site, looked_at):
    page = browser_as(bob)
    open_label(page, site, "looks")
    press(page, "g")

    looked_at(page, "mistakes")
