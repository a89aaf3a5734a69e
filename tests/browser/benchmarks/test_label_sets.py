"""A review of mistakes by pages alone: opened, answered by key, applied, and read by version."""

import pytest

from labeling.jobs import queue
from labeling.models import Campaign, Job
from tests import factories
from tests.browser.conftest import expect
from tests.browser.labeling.test_labeling import open_label, press, wait_for_chip
from tests.evaluation.benchmarks.kinds.labeled.label_sets import ducks

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_mistakes_are_reviewed_and_every_number_says_its_version(
    wordnet, browser_as, alice, bob, dataset, tmp_path, site, looked_at
):
    ducks.scored(ducks.make(alice, bob, dataset, tmp_path), alice)
    page = browser_as(alice)
    page.goto(site("/benchmarks/ducks/"))
    page.get_by_role("link", name="Label sets").first.click()
    page.get_by_label("Title").fill("Second look")
    page.get_by_label("Name", exact=True).fill("looks")
    page.get_by_label("Answers for each pair of image and class").fill("1")
    page.get_by_role("button", name="Create draft campaign").click()
    page.get_by_role("button", name="Open campaign").click()
    campaign = Campaign.objects.get(name="looks")
    factories.join(bob, campaign)
    judge(browser_as(bob), site, campaign)

    page.goto(site("/benchmarks/ducks/label-sets/"))
    expect(page.get_by_text("9 of 9 questions are finished")).to_be_visible()
    looked_at(page, "label-sets")
    page.get_by_role("button", name="Apply the answers as version 2").click()
    queue.run(Job.objects.filter(kind="score").latest("pk").pk)
    page.goto(site("/benchmarks/ducks/"))

    section = page.get_by_role("region", name="Table of accuracy by version of label sets")
    expect(section.get_by_role("row").nth(1)).to_contain_text("alpha")
    expect(section.get_by_role("row").nth(1)).to_contain_text("1.0000")
    looked_at(page, "label-sets-result")


def judge(page, site, campaign: Campaign) -> None:
    """Every coot is right and so is every drake; the first coot is tagged."""
    open_label(page, site, "looks")
    press(page, "g", *"r" * campaign.questions.count())
    page.wait_for_selector("[data-finished]:not([hidden])")
    wait_for_chip(page, "All saved")
    assert campaign.questions.filter(topic=ducks.COOT).exists()
