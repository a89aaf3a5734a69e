"""Campaigns, datasets, images and benchmarks are renamed, archived, cloned and deleted."""

import pytest

from evaluation.models import Benchmark
from labeling.models import Campaign, Dataset, Image
from labeling.quality import memberships
from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_campaign_is_renamed_cloned_archived_and_deleted(
    browser_as, alice, coots, site, looked_at
):
    memberships.invite(coots, alice, note="for Bob")
    page = browser_as(alice)
    page.goto(site("/campaigns/coots/people/"))
    page.get_by_role("button", name="Delete the invitation for Bob").click()
    page.get_by_text("The invitation is deleted.").wait_for()

    page.goto(site("/campaigns/coots/edit/"))
    page.get_by_role("link", name="Rename, archive, clone or delete").click()
    looked_at(page, "undo-campaign")
    page.get_by_label("Title").fill("Mud hens")
    page.get_by_role("button", name="Rename", exact=True).click()
    page.get_by_text("Renamed.").wait_for()
    page.goto(site("/campaigns/coots/undo/"))
    page.get_by_label("Name", exact=True).fill("again")
    page.get_by_role("button", name="Clone under this name").click()
    page.get_by_text("Cloned: a draft").wait_for()
    page.goto(site("/campaigns/coots/undo/"))
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_text("Archived on").wait_for()
    page.goto(site("/campaigns/"))
    page.get_by_role("link", name="Archived (1)").click()
    looked_at(page, "campaigns-archived")
    page.get_by_role("link", name="Mud hens").wait_for()
    page.goto(site("/campaigns/coots/undo/"))
    page.get_by_label("Its name, to confirm").fill("coot")
    page.get_by_role("button", name="Delete the campaign").click()
    page.get_by_text("Type coots to delete").wait_for()
    looked_at(page, "undo-campaign-refused")
    page.get_by_label("Its name, to confirm").fill("coots")
    page.get_by_role("button", name="Delete the campaign").click()
    page.get_by_text("The campaign is deleted.").wait_for()

    assert [row.name for row in Campaign.objects.all()] == ["again"]


def test_a_dataset_and_its_image_are_deleted(browser_as, alice, site, looked_at):
    lake = factories.make_dataset(alice, "lake")
    for name in ("a.png", "b.png"):
        factories.make_image(lake, name)
    page = browser_as(alice)
    page.goto(site(f"/datasets/lake/images/{lake.images.get(name='a.png').pk}/"))
    page.get_by_role("link", name="Delete, or remove for privacy").click()
    looked_at(page, "undo-image")
    page.locator("#id_typed").fill("a.png")
    page.get_by_role("button", name="Delete the image").click()
    page.get_by_text("a.png is deleted.").wait_for()
    page.get_by_role("link", name="Rename, archive or delete").click()
    looked_at(page, "undo-dataset")
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_text("Archived on").wait_for()
    page.get_by_role("button", name="Take out of the archive").click()
    page.get_by_text("Back in the lists.").wait_for()
    page.get_by_label("Its name, to confirm").fill("lake")
    page.get_by_role("button", name="Delete the dataset").click()
    page.get_by_text("The dataset is deleted.").wait_for()

    assert not Dataset.objects.filter(name="lake").exists()


def test_an_image_is_removed_for_privacy(browser_as, alice, coots, site, looked_at):
    image = coots.questions.first().item.image
    page = browser_as(alice)
    page.goto(site(f"/datasets/{coots.dataset.name}/images/{image.pk}/undo/"))
    page.locator("#id_private-typed").fill(image.name)
    page.get_by_role("button", name="Remove for privacy").click()
    page.get_by_text("Its pixels are removed").wait_for()
    page.get_by_role("heading", name="Images removed for privacy").wait_for()
    looked_at(page, "undo-dataset-tombstone")

    assert not Image.objects.filter(pk=image.pk).exists()


def test_a_benchmark_is_deleted(browser_as, alice, coots, site, looked_at):
    Benchmark.objects.create(
        name="species", title="Species", campaign=coots, created_by=alice, settings={"meta": {}}
    )
    page = browser_as(alice)
    page.goto(site("/benchmarks/species/undo/"))
    looked_at(page, "undo-benchmark")
    page.get_by_label("Its name, to confirm").fill("species")
    page.get_by_role("button", name="Delete the benchmark").click()
    page.get_by_text("The benchmark is deleted.").wait_for()

    assert not Benchmark.objects.exists()
