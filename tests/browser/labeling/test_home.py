"""From a card at home to the thanks, back to an answer, and on to the next campaign."""

import pytest

from labeling.assignment import counters
from labeling.models import Answer
from tests import factories
from tests.browser.conftest import expect
from tests.browser.labeling.test_labeling import ANSWERS, press, wait_for_chip

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_person_ends_a_campaign_changes_an_answer_and_goes_on(
    browser_as, alice, bob, coots, dataset, site, looked_at
):
    factories.join(bob, factories.make_campaign(alice, dataset, "ducks", images=2))
    counters.recount(coots.pk)
    page = browser_as(bob)
    page.goto(site("/"))
    looked_at(page, "home-cards")
    page.get_by_role("button", name="Start with Coots").click()
    press(page, "y", "y", "y", "y", "y", "n")
    wait_for_chip(page, "All saved")
    expect(page.get_by_role("heading", name="Nothing left for you here")).to_be_visible()
    looked_at(page, "finished")

    page.get_by_role("button", name="Your last answers").click()
    looked_at(page, "last-answers")
    page.get_by_role("link", name="change answer 6").click()
    with page.expect_response(ANSWERS):
        press(page, "y")
    assert Answer.objects.filter(revision=1).get().value == "yes"

    page.get_by_role("button", name="Next campaign").click()
    expect(page).to_have_url(site("/campaigns/ducks/label/"))
