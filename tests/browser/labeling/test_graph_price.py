"""A campaign whose questions have a price, in a real browser: made, looked at, and changed."""

import pytest

from labeling.models import Campaign
from tests import factories
from tests.browser.conftest import expect
from tests.labeling.hierarchies import make, teach

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_campaign_with_a_price_is_made_by_mouse(browser_as, alice, dataset, site):
    factories.make_image(dataset, "0.png")
    page = browser_as(alice)
    page.goto(site("/campaigns/new/"))
    page.fill("#id_title", "Everything in it")
    page.select_option("#id_dataset", label=dataset.name)
    page.click("text=Question graph (ILSVRC)")
    page.select_option("#id_order", "learned")
    page.fill("#id_price", "0.006")
    page.click("text=Create draft")
    page.wait_for_url("**/campaigns/everything-in-it/")

    page.click("nav.tabs a:has-text('Price')")

    expect(page.locator("main")).to_contain_text("Until 200 images are finished")
    made = Campaign.objects.get(name="everything-in-it")
    assert made.settings == {"mode": "safe", "order": "learned", "price": 0.006}


def test_a_price_without_the_learned_order_is_refused_at_its_field(
    browser_as, alice, dataset, site
):
    page = browser_as(alice)
    page.goto(site("/campaigns/new/"))
    page.fill("#id_title", "Everything in it")
    page.select_option("#id_dataset", label=dataset.name)
    page.click("text=Question graph (ILSVRC)")
    page.fill("#id_price", "0.006")
    page.click("text=Create draft")

    expect(page.locator("#id_price")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("main")).to_contain_text("requires the learned order and the safe mode")
    assert not Campaign.objects.exists()


def test_the_curve_is_looked_at_and_the_price_changed(browser_as, alice, dataset, site, looked_at):
    campaign = make(alice, dataset, order="learned", price=0.006)
    teach(campaign)
    page = browser_as(alice)
    page.goto(site("/campaigns/home/graph/price/"))
    looked_at(page, "graph-price")

    expect(page.locator("figure.curve svg polyline")).to_have_count(2)
    expect(page.locator("tr.own")).to_contain_text("0.006")
    page.fill("#id_price", "0.01")
    page.click("text=Save price")
    expect(page.locator("main")).to_contain_text("All images are being re-evaluated.")
    campaign.refresh_from_db()
    assert campaign.settings["price"] == 0.01
