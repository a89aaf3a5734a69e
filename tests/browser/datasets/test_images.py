"""A dataset's images as a researcher sees them: filtered, saved as a view, one after another."""

import pytest

from labeling.datasets import objects
from labeling.parts.model import PartedObject
from tests import factories
from tests.browser.conftest import add_photographs
from tests.labeling import crowd

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def pond(alice, bob, dataset):
    add_photographs(dataset, "chelsea.png", "coffee.png", "astronaut.png")
    campaign = factories.make_campaign(alice, dataset, images=4, policy={"votes": 3})
    crowd.crowd(campaign, ["yes", "no", "yes"])
    objects.put(dataset, [PartedObject("astronaut.png", "person", (60, 18, 450, 460), name="ana")])
    return dataset


def test_images_are_browsed_saved_and_opened_by_keys(page, pond, site, looked_at):
    page.goto(site("/datasets/pond/"))
    page.keyboard.press("b")
    page.wait_for_selector("h1:has-text('Images')")
    looked_at(page, "images")

    page.fill("input[name=label]", "American coot")
    page.select_option("select[name=state]", "disputed")
    page.click("button:has-text('Filter')")
    page.wait_for_url("**/images/?**")
    page.wait_for_selector("img[alt='coots/000.png']")
    page.fill("input[name=name]", "Coots in dispute")
    page.click("button:has-text('Save view')")
    page.wait_for_selector("text=Saved as “Coots in dispute”.")

    page.goto(site("/datasets/pond/images/"))
    page.wait_for_selector("img[alt='chelsea.png']")
    page.keyboard.press("1")
    page.wait_for_url("**state=disputed**")
    page.wait_for_selector("img[alt='coots/000.png']")
    page.click("a:has(img[alt='coots/000.png'])")
    page.wait_for_selector("h1:has-text('coots/000.png')")
    page.click("summary:has-text('American coot')")
    page.wait_for_selector("text=annotator-1no")
    looked_at(page, "image")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("h1:has-text('coots/001.png')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector("h1:has-text('coots/000.png')")
    page.keyboard.press("u")
    page.wait_for_url("**/images/?**state=disputed**")
    page.click("button:has-text('Remove')")
    page.wait_for_selector("text=“Coots in dispute” is removed.")


def test_objects_are_drawn_over_their_image_and_hidden_by_a_key(page, pond, site, looked_at):
    image = pond.images.get(name="astronaut.png")
    page.goto(site(f"/datasets/pond/images/{image.pk}/"))
    page.wait_for_selector("path.shape.object")
    looked_at(page, "image-objects")
    page.keyboard.press("b")
    page.wait_for_selector("path.shape.object", state="hidden")
    page.click("a:has-text('ana')")
    page.wait_for_selector("h1:has-text('ana')")
    page.keyboard.press("o")
    page.wait_for_selector("h1:has-text('astronaut.png')")
