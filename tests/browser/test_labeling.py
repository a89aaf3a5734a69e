"""Labeling in a real browser: keys, touch, changes of mind, and every way to lose an answer."""

import pytest

from labeling.models import Answer
from tests.browser.conftest import NARROW, looks

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def open_label(page, site, name="coots"):
    page.goto(site(f"/campaigns/{name}/label/"))
    page.wait_for_selector("[data-stage] img:not([data-first])")


def press(page, key):
    """Presses a key once the present image has been there long enough to be seen."""
    page.wait_for_selector("[data-stage] img:not([data-first])")
    page.wait_for_timeout(170)
    page.keyboard.press(key)


def test_keys_answer_a_whole_page(browser_as, bob, coots, site):
    page = browser_as(bob)
    open_label(page, site)

    for key in ["y", "n", "h", "p", "1", "2"]:
        press(page, key)

    page.wait_for_selector("[data-finished]:not([hidden])")
    page.wait_for_selector("[data-saved][data-tone=good]")
    values = sorted(Answer.objects.values_list("value", flat=True))
    assert values == ["hard", "no", "no", "not_photo", "yes", "yes"]


@looks("look")
def test_axe_finds_nothing_on_the_labeling_page(
    browser_as, bob, coots, site, axe, screenshots, look
):
    page = browser_as(bob, **look)
    open_label(page, site)

    screenshots(page, f"label-{look['viewport']['width']}-{look['color_scheme']}")
    axe(page)
