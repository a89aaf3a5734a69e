"""Three worked questions come before the first real one of each kind."""

import pytest

from labeling.models import Answer, User
from tests.browser.conftest import expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_three_questions_come_before_the_first_real_one(browser_as, bob, coots, site, looked_at):
    User.objects.update(tutorials=[])
    page = browser_as(bob)
    page.goto(site("/campaigns/coots/label/"))
    expect(page.get_by_role("heading", name="Does this image contain a cat?")).to_be_visible()
    looked_at(page, "tutorial")
    page.get_by_role("button", name="Yes").click()
    expect(page.get_by_role("status")).to_contain_text("Right")
    expect(page.get_by_role("button", name="Next")).to_be_focused()
    page.keyboard.press("n")
    expect(page.get_by_role("status")).to_contain_text("Right")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Yes")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_role("status")).to_contain_text("Not right")
    looked_at(page, "tutorial-wrong")
    page.get_by_role("status").click()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Too hard to tell").click()
    page.get_by_role("button", name="Start labeling").click()
    expect(page).to_have_url(site("/campaigns/coots/label/"))

    page.goto(site("/"))
    page.get_by_role("button", name="Start with Coots").click()
    expect(page).to_have_url(site("/campaigns/coots/label/"))
    assert not Answer.objects.exists()
