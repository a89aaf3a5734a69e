"""Questions taken along: answered without a connection, sent once, and erased when they must be."""

import pytest

from labeling.assignment import taking_along
from labeling.models import Answer, Assignment, TakenAlong
from tests import factories
from tests.browser.conftest import expect, let_pass

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SHOWN = "[data-stage] img:not([data-first])"
PAGE = "/campaigns/coots/label/along/"
KEPT = "caches.keys().then((names) => names.filter((name) => name.startsWith('assay-along:')))"
IMAGES = """caches.keys().then(async (names) => {
  let count = 0;
  for (const name of names) {
    const keys = await (await caches.open(name)).keys();
    count += keys.filter((request) => request.url.includes("/image?")).length;
  }
  return count;
})"""


@pytest.fixture(autouse=True)
def _small_campaigns(monkeypatch):
    """Five images are enough to take along what a campaign of thousands would let."""
    monkeypatch.setattr(taking_along, "ONE_IN", 1)


@pytest.fixture
def coots(alice, bob, dataset):
    campaign = factories.make_campaign(alice, dataset, images=40, policy={"votes": 1})
    campaign.take_along = True
    campaign.save()
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def page(browser_as, bob, coots, site):
    page = browser_as(bob)
    page.goto(site(PAGE))
    return page


def take(page, count=20, hours="2"):
    page.get_by_label("Number of questions").fill(str(count))
    page.get_by_label("For how long").select_option(hours)
    page.get_by_role("button", name="Take them along").click()
    page.wait_for_selector(SHOWN)


def press(page, *keys):
    for key in keys:
        page.wait_for_selector(SHOWN)
        let_pass(page)
        page.keyboard.press(key)


def strip(page):
    return page.locator("[data-strip]")


def test_questions_are_taken_along_answered_offline_and_sent_once(page, site, coots, bob):
    take(page, 20)
    expect(strip(page)).to_contain_text("0 of 20 answered")
    assert Assignment.objects.filter(annotator=bob, state="leased").count() == 20

    page.context.set_offline(True)
    press(page, "y", "n")
    expect(strip(page)).to_contain_text("2 of 20 answered")
    page.reload()
    page.wait_for_selector(SHOWN)
    expect(strip(page)).to_contain_text("2 of 20 answered")
    page.close()
    page = page.context.new_page()
    page.goto(site(PAGE))
    press(page, *["y"] * 18)
    expect(page.locator("[data-finished]")).to_be_visible()
    expect(page.locator("[data-why]")).to_contain_text("sent when there is a connection")

    page.context.set_offline(False)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("[data-why]")).to_have_text("All of it is received. Thank you.")
    assert page.evaluate(KEPT) == []
    assert Answer.objects.count() == 20
    assert not Assignment.objects.filter(annotator=bob, state="leased").exists()
    assert TakenAlong.objects.get().ended_at is not None
