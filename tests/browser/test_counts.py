"""What labeling pages say of how much is done and left, and that nothing is dropped in silence."""

import re

import pytest
from django.contrib.sessions.models import Session

from labeling.models import Answer
from tests import factories
from tests.browser.conftest import WIDE, expect, let_pass
from tests.browser.labeling.test_labeling import SHOWN, open_label, press

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FINISHED = "[data-finished]:not([hidden])"
CARD = "[data-finished] .card"


def box(page, selector):
    rectangle = page.locator(selector).bounding_box()
    return (
        rectangle["x"],
        rectangle["y"],
        rectangle["x"] + rectangle["width"],
        rectangle["y"] + rectangle["height"],
    )


def test_forward_lies_clear_of_every_answer(browser_as, bob, coots, site, screenshots):
    page = browser_as(bob, viewport=WIDE)
    open_label(page, site)

    press(page, "y", "y", "ArrowLeft", "ArrowLeft", "ArrowRight")
    page.locator("[data-do=forward]").wait_for()
    for width in (1440, 1300, 1100, 800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        screenshots(page, f"forward-{width}")
        moves = [box(page, f".work [data-do={name}]") for name in ("back", "forward")]
        answers = [box(page, f"[data-answer={name}]") for name in ("yes", "no", "hard")]
        for left, top, right, bottom in moves:
            assert left >= 0
            for x0, y0, x1, y1 in answers:
                apart = right <= x0 or x1 <= left or bottom <= y0 or y1 <= top
                assert apart, f"an answer lies over a move at {width}"


def test_a_key_that_comes_too_soon_is_said_not_dropped(browser_as, bob, coots, site):
    page = browser_as(bob)
    open_label(page, site)
    press(page, "y")
    page.wait_for_selector(SHOWN)
    let_pass(page)

    page.evaluate(
        "for (const key of ['n', 'h'])"
        " document.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
    )

    expect(page.locator("[data-announce]")).to_contain_text("not counted")
    expect(page.locator(".label-bar [data-done]")).to_have_text("2")
    page.wait_for_selector("[data-saved]:has-text('All saved')")
    assert sorted(Answer.objects.values_list("value", flat=True)) == ["no", "yes"]


def test_the_card_at_the_end_agrees_with_the_bar(browser_as, bob, coots, site, looked_at):
    page = browser_as(bob)
    open_label(page, site)

    press(page, *"ynynyn")

    page.wait_for_selector(FINISHED)
    expect(page.locator(CARD)).to_contain_text("You have answered 6. Thank you.")
    # Nothing is asked any more: no class is explained, no image can be flagged.
    expect(page.locator("[data-about]")).to_be_hidden()
    expect(page.locator("[data-do=flag]")).to_be_hidden()
    expect(page.locator(".label-bar [data-done]")).to_have_text("6")
    expect(page.locator("[data-left]")).to_have_text("0")
    looked_at(page, "finished")


def test_a_second_tab_says_that_the_rest_is_open_in_the_first(
    new_context, alice, bob, dataset, site, screenshots
):
    campaign = factories.make_campaign(alice, dataset, "tabs", images=1)
    factories.join(bob, campaign)
    context = new_context(bob)
    first, second = context.new_page(), context.new_page()
    open_label(first, site, "tabs")

    second.goto(site("/campaigns/tabs/label/"))
    expect(second.locator("[data-finished-title]")).to_have_text("Continue in the other tab")
    expect(second.locator("[data-left]")).to_have_text("1")
    screenshots(second, "elsewhere")
    first.bring_to_front()
    press(first, "y")
    first.wait_for_selector("[data-saved]:has-text('All saved')")
    second.bring_to_front()
    second.get_by_role("button", name="Check again").click()

    expect(second.locator("[data-finished-title]")).to_have_text("Nothing left for you here")
    expect(second.locator("[data-left]")).to_have_text("0")
    expect(second.locator(".label-bar [data-done]")).to_have_text("1")


def test_who_is_logged_out_finds_a_button_to_log_in(
    browser_as, alice, bob, dataset, site, looked_at
):
    campaign = factories.make_campaign(alice, dataset, "one", images=1)
    factories.join(bob, campaign)
    page = browser_as(bob)
    open_label(page, site, "one")
    Session.objects.all().delete()

    press(page, "y")

    expect(page.locator("[data-finished-title]")).to_have_text("You are logged out")
    looked_at(page, "logged-out")
    page.locator(CARD).get_by_role("button", name="Log in again").click()
    expect(page).to_have_url(re.compile(r"/accounts/login/\?next=/campaigns/one/label/"))
