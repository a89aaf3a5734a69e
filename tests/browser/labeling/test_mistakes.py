"""A review of mistakes in a real browser: one image, one class, four answers by key."""

from collections import Counter

import pytest

from labeling.models import Answer
from tests import factories
from tests.browser.labeling.test_labeling import given, open_label, press, wait_for_chip

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def looks(alice, bob, dataset):
    """A campaign that asks about a coot on four images."""
    policy = {"gold_share": 0, "votes": 1}
    made = factories.make_campaign(alice, dataset, "looks", kind="mistake", images=4, policy=policy)
    factories.join(bob, made)
    return made


def test_a_key_for_each_answer(browser_as, bob, looks, site):
    page = browser_as(bob)
    open_label(page, site, "looks")
    assert page.inner_text("h1") == "Is this class right for the image?"
    assert page.inner_text("[data-class]") == "American coot"

    press(page, "r", "m", "j", "c")

    page.wait_for_selector("[data-finished]:not([hidden])")
    wait_for_chip(page, "All saved")
    assert given() == Counter(valid=1, minor=1, major=1, cannot=1)
    assert Answer.objects.count() == 4


def test_the_page_is_looked_at(browser_as, bob, looks, site, looked_at):
    page = browser_as(bob)
    open_label(page, site, "looks")

    looked_at(page, "mistakes")
