"""Training on a drawing in a real browser, and the preview for researchers."""

import pytest

from labeling.datasets import objects
from labeling.models import Answer
from labeling.quality.gold import add_gold
from tests import factories
from tests.browser import drawing_hands as hands
from tests.labeling import parted

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
GOLD = parted.drawn(torso=parted.square(24, 10, 44, 30), leg="occluded", tail="not_visible")


@pytest.fixture
def campaign(alice, bob, dataset):
    policy = {"training_questions": 1, "gold_share": 0.1}
    campaign = parted.parts_campaign(alice, dataset, policy=policy)
    factories.make_image(dataset, "gold/7.png")
    objects.put(dataset, [parted.cat("gold/7.png", name="cat-1")], "the importer")
    row = {"image": "gold/7.png", "object": "cat-1", "topic": parted.CAT, "answer": GOLD}
    add_gold(campaign, alice, [row | {"explanation": "The legs are behind it."}])
    factories.join(bob, campaign)
    return campaign


def test_training_shows_the_known_drawing_over_ones_own(browser_as, bob, campaign, site, looked_at):
    page = browser_as(bob)
    hands.open_page(page, site)
    assert page.url.endswith("/training/")
    looked_at(page, "parts-training")
    hands.press(page, "y")
    hands.draw(page, (24, 10), (44, 10), (44, 40), (24, 40))
    hands.press(page, "j", "3", "j", "2", "Shift+Enter")

    page.wait_for_selector(".parts-compared")
    assert "0.67" in page.inner_text(".parts-compared")
    assert "The legs are behind it." in page.inner_text(".feedback")
    assert Answer.objects.get().duration_ms > 0
    looked_at(page, "parts-training-feedback")


def test_the_preview_shows_the_object(page, campaign, site, looked_at):
    page.goto(site("/campaigns/cats/preview/"))

    page.wait_for_selector(".parts-picture .drawing-part")
    assert page.is_visible("[data-half]")
    looked_at(page, "parts-preview")
