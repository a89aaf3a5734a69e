"""Images that look like others are left out of an upload, on the pages, in a real browser."""

import io

import PIL.Image
import pytest

from annotator.demo.pools import photograph
from tests import factories
from tests.browser.conftest import expect
from tests.browser.researcher_hands import make_dataset

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def copied(name: str, as_name: str, width: int) -> dict[str, object]:
    """A photograph of scikit-image, smaller and compressed."""
    image = PIL.Image.open(photograph("skimage", name)).convert("RGB")
    image = image.resize((width, round(image.height * width / image.width)))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=70)
    return {"name": as_name, "mimeType": "image/jpeg", "buffer": buffer.getvalue()}


def test_what_looks_like_an_image_of_this_or_of_another_split_is_left_out(
    browser_as, alice, site, run_jobs, looked_at
):
    page = browser_as(alice)
    make_dataset(page, site, ["coffee.png", "camera.png"])
    factories.make_dataset(alice, "hidden-test")
    page.goto(site("/datasets/hidden-test/upload/"))
    page.set_input_files("#id_files", [copied("chelsea.png", "cat.jpg", 451)])
    page.click("button:has-text('Upload')")
    page.wait_for_selector("text=1 image added")

    page.goto(site("/datasets/photographs/upload/"))
    page.check("#id_near")
    page.check("label:has-text('hidden-test')")
    looked_at(page, "near-upload")
    page.set_input_files(
        "#id_files",
        [
            copied("coffee.png", "small-coffee.jpg", 300),
            copied("chelsea.png", "small-cat.jpg", 300),
            copied("rocket.jpg", "rocket.jpg", 400),
        ],
    )
    page.click("button:has-text('Upload')")
    page.wait_for_url("**/imports/**")
    run_jobs()
    page.reload()

    rows = page.locator("[aria-label='Near-duplicates'] tbody tr")
    expect(rows).to_have_count(2)
    assert "coffee.png" in rows.filter(has_text="small-coffee.jpg").inner_text()
    assert "hidden-test" in rows.filter(has_text="small-cat.jpg").inner_text()
    looked_at(page, "near-report")
    page.goto(site("/datasets/photographs/"))
    expect(page.locator("body")).to_contain_text("2 near-duplicates")
