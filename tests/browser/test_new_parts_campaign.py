"""The form of a new campaign that draws parts."""

import pytest

from labeling.kinds import policies
from labeling.models import Campaign
from tests import factories
from tests.labeling import parted

pytestmark = pytest.mark.browser


def test_a_kind_fills_in_the_rules_it_starts_from(page, dataset, site, looked_at):
    parted.objects_in(dataset)
    page.goto(site(f"/campaigns/new/?dataset={dataset.pk}"))
    page.fill("#id_title", "Cats by part")

    page.click("text=Part polygons")
    assert page.input_value("#id_votes") == "1"
    assert page.is_visible("#id_categories")
    page.click("text=Yes/no question (MAD)")
    assert page.input_value("#id_votes") == "5"
    page.click("summary:has-text('More rules')")
    page.fill("#id_votes", "3")
    page.click("text=Part polygons")
    assert page.input_value("#id_votes") == "3"
    looked_at(page, "r-new-parts")
    page.click("text=Create draft")
    page.wait_for_selector("text=Cats by part")

    policy = policies.for_campaign(Campaign.objects.get(name="cats-by-part"))
    assert (policy["votes"], policy["review"], policy["max_votes"]) == (3, "all", 3)


def test_the_settings_name_the_vocabulary(page, alice, dataset, site, looked_at):
    parted.parts_campaign(alice, dataset)

    page.goto(site("/campaigns/cats/edit/"))

    assert page.is_visible("text=version 1 of the vocabulary of pond")
    looked_at(page, "r-edit-parts")


def test_quotas_are_set_on_a_persons_page(page, alice, bob, dataset, site, looked_at):
    campaign = parted.parts_campaign(alice, dataset)
    factories.join(bob, campaign)
    member = campaign.memberships.get(user=bob)
    page.goto(site(f"/campaigns/cats/people/{member.pk}/"))

    page.click("text=No quotas: all classes")
    page.fill("#id_quota-n02121620", "150")
    page.click("text=Save quotas")
    page.wait_for_selector("text=150 images are left to")
    looked_at(page, "r-person-quota")

    assert member.quotas.get().images == 150
