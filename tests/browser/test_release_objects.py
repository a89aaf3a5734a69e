"""A researcher looks at a release's objects with their parts, and takes them out for others."""

import io
import json
import zipfile

import pytest
from PIL import Image
from pycocotools.coco import COCO

from labeling.datasets import objects, vocabulary_store
from labeling.exchange import export_files, part_campaigns
from labeling.geometry.polygons import Polygons
from labeling.models import Dataset, Release, User
from labeling.parts.model import Part, PartedObject
from labeling.releases import freezing
from tests import factories
from tests.browser.conftest import add_photographs, expect, settled
from tests.labeling import part_releases
from tests.labeling.parted import drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CAT, TRAIN = "n02121620", "n04468005"
# On scikit-image's Chelsea, 451 x 300 pixels.
FACE = [(34, 40), (60, 0), (400, 0), (372, 62), (362, 160), (330, 240), (270, 286), (180, 290)]
EYES = [
    [(137, 104), (150, 88), (180, 86), (204, 106), (206, 134), (186, 146), (152, 134)],
    [(296, 134), (304, 116), (324, 110), (341, 118), (338, 146), (318, 162), (298, 154)],
]
NOSE = [(238, 234), (262, 228), (292, 236), (260, 264)]
EARS = [[(40, 24), (44, 0), (96, 0), (70, 26)], [(324, 0), (400, 0), (384, 44), (358, 70)]]
TORSO = [(0, 120), (34, 130), (100, 260), (180, 291), (230, 300), (0, 300)]


def polygons(*rings: list[tuple[float, float]]) -> Polygons:
    return tuple((tuple((float(x), float(y)) for x, y in ring),) for ring in rings)


@pytest.fixture
def release(alice: User, bob: User, dataset: Dataset) -> Release:
    """A cat on a photograph, of which the import knew the eyes, and a second that was cut off."""
    add_photographs(dataset, "chelsea.png")
    vocabulary_store.start(dataset, alice)
    eyes = Part("eye", polygons(*EYES))
    outline = polygons([(0, 110), (44, 0), (400, 0), (372, 62), (340, 300), (0, 300)])
    objects_of_cat = [
        PartedObject("chelsea.png", CAT, (0, 0, 400, 300), (eyes,), outline, name="cat-1"),
        PartedObject("chelsea.png", CAT, (224, 216, 310, 280), (), name="cat-2"),
    ]
    objects.put(dataset, objects_of_cat, "eyes.csv", words={CAT: "cat"})
    campaign = part_campaigns.draft(
        alice, dataset, name="cats", title="Parts of cats", policy=part_releases.POLICY
    )
    factories.join(bob, campaign)
    whole = drawn(
        head=polygons(FACE),
        ear=polygons(*EARS),
        nose=polygons(NOSE),
        torso=polygons(TORSO),
        tail="not_visible",
        leg="occluded",
        paw="occluded",
    )
    for question in campaign.questions.select_related("item", "policy"):
        drawing = whole if question.item.name == "cat-1" else drawn(nose=polygons(NOSE))
        part_releases.settle(question, bob, drawing)
    return freezing.freeze(campaign, alice)


def test_every_object_is_looked_at_and_one_category_chosen(page, release, site, looked_at):
    page.goto(site("/campaigns/cats/releases/"))
    looked_at(page, "release-parts")

    page.click("a:has-text('Objects')")
    page.wait_for_selector("svg.object")
    settled(page)
    looked_at(page, "release-objects")
    page.click("summary:has-text('Counts')")
    row = page.inner_text("tr:has-text('head')").split()
    assert row == ["head", "1", "0", "0", "1", "0"]
    page.locator(".objects").scroll_into_view_if_needed()
    looked_at(page, "release-objects-tiles")

    assert page.locator(".objects > li").count() == 2
    assert page.locator(".objects > li:first-child svg.object path").count() == 6
    page.click(".objects a:has-text('cat-1')")
    page.wait_for_url("**/questions/*/")


def test_a_release_is_taken_out_as_coco_and_read_by_pycocotools(
    browser_as, alice, release, site, tmp_path, capsys
):
    page = browser_as(alice, accept_downloads=True)
    page.goto(site("/campaigns/cats/releases/"))

    with page.expect_download() as waiting:
        page.click("a:has-text('COCO JSON')")
    path = tmp_path / "coco.zip"
    waiting.value.save_as(str(path))

    with zipfile.ZipFile(path) as archive:
        archive.extract("cats-1/parts.json", tmp_path)
    coco = COCO(str(tmp_path / "cats-1" / "parts.json"))
    capsys.readouterr()
    [nose] = coco.getCatIds(catNms=["cat nose"])
    assert len(coco.loadAnns(coco.getAnnIds(catIds=[nose]))) == 2
    assert json.loads((tmp_path / "cats-1" / "parts.json").read_text())["images"][0]["width"] == 451


def test_pictures_are_readable_on_a_phone(browser_as, alice, release, site, tmp_path, screenshots):
    with export_files.fetch(release, "pictures") as file, zipfile.ZipFile(file) as archive:
        content = archive.read("cats-1/pictures/chelsea.png/cat-1.png")
    with Image.open(io.BytesIO(content)) as picture:
        assert picture.width == 2 * 390
    (tmp_path / "cat-1.png").write_bytes(content)

    page = browser_as(alice, viewport={"width": 390, "height": 844})
    page.goto((tmp_path / "cat-1.png").as_uri())

    screenshots(page, "release-picture-390")


def test_a_release_is_taken_out_with_options(browser_as, alice, release, site, looked_at, tmp_path):
    page = browser_as(alice, accept_downloads=True)
    page.goto(site("/campaigns/cats/releases/"))
    page.get_by_role("link", name="options of the formats of release 1").click()
    page.get_by_label("Where the images are").fill("here")
    looked_at(page, "label-options")
    page.get_by_role("button", name="Download Label Studio JSON").click()
    expect(page.get_by_text("This is not an address; use an address such as")).to_be_visible()
    looked_at(page, "label-options-fault")

    page.get_by_label("Names of categories").select_option("plain")
    page.get_by_label("Include areas that no part covers").check()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download COCO JSON").click()

    path = tmp_path / "coco.zip"
    waiting.value.save_as(str(path))
    with zipfile.ZipFile(path) as archive:
        categories = json.loads(archive.read("cats-1/parts.json"))["categories"]
    assert {"head", "unlabeled-rest-object"} <= {row["name"] for row in categories}
