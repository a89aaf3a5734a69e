"""From an empty site to a first answer by the links of home."""

import pytest

from labeling.models import Answer
from tests.browser.labeling.test_labeling import press, wait_for_chip

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAIRS = "chelsea.png,n02121808\ncoffee.png,n02121808"
MOST_CLICKS = 25


class Mouse:
    """A page whose clicks are counted."""

    def __init__(self, page):
        self.page, self.clicks = page, 0

    def click(self, selector):
        self.page.click(selector)
        self.clicks += 1


def test_home_leads_from_an_empty_site_to_the_first_answer(browser_as, alice, bob, site, looked_at):
    page = browser_as(alice)
    mouse = Mouse(page)
    page.goto(site("/"))
    looked_at(page, "first-steps")

    mouse.click("text=Try the demonstration data")
    page.wait_for_selector("text=19 photographs were added")
    mouse.click(".site-header a[href='/']")
    page.wait_for_selector(".first-steps li.done")
    mouse.click(".first-steps a:has-text('Campaign')")
    page.fill("#id_title", "Cats")
    page.select_option("#id_dataset", index=1)
    mouse.click("text=Yes/no question")
    page.fill("#id_questions", PAIRS)
    mouse.click("text=Create draft")
    mouse.click("button:has-text('Open campaign')")
    page.wait_for_selector(".badge.open")
    mouse.click(".site-header a[href='/']")
    looked_at(page, "first-steps-campaign")
    mouse.click(".first-steps a:has-text('People')")
    mouse.click("text=Create invitation")
    link = page.input_value("[data-copy] input")
    helper = browser_as(bob)
    helper.goto(link)
    helper.click("button:has-text('Join')")
    helper.click("a:has-text('Start')")
    press(helper, "y")
    wait_for_chip(helper, "All saved")

    assert Answer.objects.count() == 1
    assert mouse.clicks + len(("Join", "Start", "y")) <= MOST_CLICKS
    page.goto(site("/"))
    assert page.locator(".first-steps li.done").count() == 4
