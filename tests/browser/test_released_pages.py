"""The pages of benchmarks on released labels in a real browser, wide and narrow, light and dark."""

import pytest

from tests.evaluation.released import shown

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def animals(alice, bob, dataset):
    return shown.campaign_of(alice, bob, dataset)


def settled(page) -> None:
    """Pictures that come late would shift what is looked at."""
    page.wait_for_load_state("networkidle")
    page.evaluate("Promise.all([...document.images].map(i => (i.loading = 'eager', i.decode())))")


@pytest.mark.parametrize("kind", ["classification", "localization", "detection", "wsol"])
def test_result_and_images_look_right(
    kind, browser_as, site, alice, animals, tmp_path, wordnet, looked_at
):
    row = shown.make(alice, animals, kind)
    run = shown.scored(row, alice, tmp_path, alpha=0.95, beta=0.4)
    page = browser_as(alice)
    page.goto(site(f"/benchmarks/{kind}/"))
    settled(page)
    page.screenshot(path=f"/tmp/h/shots/full-{kind}.png", full_page=True)
    looked_at(page, f"released-{kind}")

    page.goto(site(f"/benchmarks/{kind}/runs/{run.pk}/images/"))
    settled(page)
    page.screenshot(path=f"/tmp/h/shots/images-{kind}.png", full_page=True)
    looked_at(page, f"released-{kind}-images")
    page.locator("[data-images] a").first.click()
    settled(page)
    looked_at(page, f"released-{kind}-image")
