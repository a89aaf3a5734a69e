"""Objects with their parts as a researcher sees them: imported, merged, another radius chosen."""

import pytest

from labeling.datasets import objects, vocabulary_store
from labeling.models import GivenLabel
from labeling.parts.model import Part, PartedObject
from tests.browser.conftest import add_photographs
from tests.labeling import part_files as files

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def region(*corners):
    return ((tuple((float(x), float(y)) for x, y in corners),),)


# The astronaut of scikit-image, outlined by eye; the upper arm and the lower one lie apart.
PARTS = (
    Part("head", region((176, 60), (190, 30), (232, 20), (262, 44), (262, 110), (236, 156))),
    Part("torso", region((128, 220), (200, 190), (300, 186), (360, 230), (384, 430), (110, 440))),
    Part("luarm", region((344, 226), (388, 236), (420, 330), (380, 336))),
    Part("llarm", region((384, 352), (424, 346), (436, 440), (388, 452))),
    Part("visor", region((20, 330), (90, 330), (90, 420), (20, 420))),
)  # fmt: skip
ASTRONAUT = PartedObject("astronaut.png", "person", (60, 18, 450, 460), PARTS)


@pytest.fixture
def crew(alice, dataset):
    """A dataset with one real photograph and no vocabulary yet."""
    add_photographs(dataset, "astronaut.png")
    return dataset


def choose(page, name, content):
    page.set_input_files(
        "#id_file", {"name": name, "mimeType": "application/json", "buffer": content.encode()}
    )


def alpha(page) -> str:
    return page.get_attribute("path.alpha", "d")


def test_parts_come_in_their_pieces_are_merged_and_another_radius_is_chosen(
    page, crew, site, looked_at, run_jobs
):
    page.goto(site("/datasets/pond/"))
    page.keyboard.press("o")
    page.wait_for_selector("text=No objects yet")
    page.keyboard.press("a")
    page.wait_for_selector("text=has no vocabulary yet")
    looked_at(page, "parts-no-vocabulary")
    page.click("text=Use the built-in vocabulary")
    page.wait_for_url("**/vocabulary/**")
    page.goto(site("/datasets/pond/objects/import/"))
    page.click("summary:has-text('CSV format')")
    looked_at(page, "parts-import")

    choose(page, "crew.json", files.coco(ASTRONAUT, size=(512, 512), categories=("person",)))
    page.click("button:has-text('Import')")
    page.wait_for_selector("text=Importing objects")
    looked_at(page, "parts-coming")
    run_jobs()
    page.wait_for_selector("h1:has-text('1 object imported')")
    assert page.inner_text("table[aria-label], [aria-label='Unknown parts'] tbody th") == "visor"
    looked_at(page, "parts-report")

    page.click("text=See the objects")
    page.wait_for_selector("text=person-1")
    looked_at(page, "objects")
    page.click(".object-tiles a")
    page.wait_for_selector("h1:has-text('person-1')")
    looked_at(page, "object")

    _look_at_layers(page)
    _choose_a_radius(page, looked_at)


def _look_at_layers(page):
    """Every layer goes and comes by its key."""
    for key, layer in (("2", "pieces"), ("3", "hull"), ("4", "alpha")):
        layer_shapes = page.locator(f".layer-{layer}")
        assert layer_shapes.is_visible()
        page.keyboard.press(key)
        assert not layer_shapes.is_visible()
        page.keyboard.press(key)
        assert layer_shapes.is_visible()
    page.keyboard.press("1")
    assert page.locator(".layer-parts").is_visible()
    page.keyboard.press("1")


def _choose_a_radius(page, looked_at):
    before = GivenLabel.objects.get(key="arm").geometry
    automatic = alpha(page)

    # The slider by keys: what it makes is seen, and nothing is kept.
    page.focus("#radius-slider")
    for _ in range(5):
        page.keyboard.press("PageUp")
    page.wait_for_selector("text=Preview, not saved")
    page.wait_for_selector(f"path.alpha:not([d='{automatic}'])", state="attached")
    looked_at(page, "object-tried")
    assert GivenLabel.objects.get(key="arm").geometry == before

    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("r")
    page.keyboard.type("60")
    page.wait_for_selector("td:has-text('60 px')")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Radius chosen by a person")
    kept = GivenLabel.objects.get(key="arm").geometry
    assert (kept["merges"][0]["radius"], kept["merges"][0]["chosen"]) == (60, True)
    assert kept["merges"][0]["pieces"] == before["merges"][0]["pieces"]

    # The other method by its key: seen at once.
    page.keyboard.press("m")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("text=alphashape, alpha 0.0167")
    looked_at(page, "object-package")

    page.click("button:has-text('Automatic')")
    page.wait_for_selector("text=Smallest radius that joins the pieces")
    assert GivenLabel.objects.get(key="arm").geometry == before
    assert alpha(page) == automatic


def test_the_crop_is_chosen_by_key(page, alice, crew, site):
    vocabulary_store.start(crew, alice)
    objects.put(crew, [PartedObject("astronaut.png", "n00007846", (60, 18, 450, 460))], "by hand")
    item = objects.in_dataset(crew).get()
    page.goto(site(f"/datasets/pond/objects/{item.pk}/"))

    for key, box in (("t", "60 18 390 442"), ("i", "0 0 512 512"), ("w", "24 0 462 500")):
        page.keyboard.press(key)
        page.wait_for_selector(f'svg.object-picture[viewBox="{box}"]')


def test_without_scripts_a_radius_is_tried_and_kept(browser_as, alice, crew, site, run_jobs):
    vocabulary_store.start(crew, alice)
    files.brought(crew, run_jobs, files.upload(
        files.coco(ASTRONAUT, size=(512, 512), categories=("person",)), "crew.json"
    ))  # fmt: skip
    page = browser_as(alice, java_script_enabled=False)
    page.goto(site(f"/datasets/pond/objects/{objects.in_dataset(crew).get().pk}/"))

    page.fill("#radius", "60")
    page.click("button:has-text('Preview')")
    page.wait_for_selector("text=Preview, not saved")
    assert page.input_value("#radius") == "60"
    page.click("button:has-text('Keep this radius')")
    page.wait_for_selector("text=Radius chosen by a person")
