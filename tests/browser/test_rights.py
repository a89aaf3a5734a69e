"""From the administrator who grants a right to the researcher who works by invitation."""

import pytest

from labeling.quality import memberships
from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_an_administrator_grants_a_right_by_mouse(browser_as, alice, bob, site, looked_at):
    root = factories.make_user("root", is_staff=True, is_superuser=True)
    page = browser_as(root)

    page.goto(site("/"))
    page.locator(".user-menu summary").click()
    page.get_by_role("link", name="Who may open campaigns").click()
    looked_at(page, "rights")
    page.get_by_label("Username").fill("bob")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("button", name="Grant the right to bob").click()
    page.get_by_text("bob can now open campaigns.").wait_for()
    page.get_by_role("button", name="Revoke the right of bob").wait_for()
    looked_at(page, "rights-found")

    bob.refresh_from_db()
    assert bob.may_open_campaigns


def test_an_invited_researcher_reaches_everything_by_mouse(
    browser_as, alice, coots, site, looked_at
):
    _, secret = memberships.invite(coots, alice, "researcher")
    page = browser_as(factories.make_user("nora"))

    page.goto(site(f"/join/{secret}/"))
    page.get_by_role("button", name="Join").click()
    looked_at(page, "home-invited-researcher")
    for name in ("Campaigns", "Datasets", "Benchmarks"):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()
        page.get_by_role("heading", level=1, name=name).wait_for()
        looked_at(page, f"invited-{name.lower()}")
    page.goto(site("/campaigns/"))
    page.get_by_role("link", name="Coots").click()
    page.get_by_role("link", name="People").click()
    assert page.get_by_role("heading", name="Members").is_visible()
