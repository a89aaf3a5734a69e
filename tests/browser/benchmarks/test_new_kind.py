"""The pages of a kind of benchmark without templates of its own, in a real browser."""

import pytest

from evaluation.models import Benchmark
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.test_kinds import toy

__all__ = ["toy"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.usefixtures("toy")
def test_a_benchmark_is_made_with_the_mouse(browser_as, site, alice, bob, dataset):
    campaign = world.campaign_of(alice, bob, dataset)
    page = browser_as(alice)
    page.goto(site("/benchmarks/new/toy/"))
    page.fill("[name=title]", "Sizes")
    page.fill("[name=name]", "sizes")
    page.select_option("[name=campaign]", campaign.name)

    page.locator("main button").last.click()

    page.wait_for_url("**/benchmarks/sizes/submissions/")
    assert Benchmark.objects.get().kind == "toy"
