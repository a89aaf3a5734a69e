"""Labels in and out as a researcher sees them: brought in from a file, taken out of a release."""

import zipfile

import pytest
from django.utils.formats import date_format

from labeling.exchange import export_files
from tests import factories
from tests.labeling import label_files as files
from tests.labeling.publishing import releases

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def home(alice, dataset):
    return files.home_release(alice, dataset)


def choose(page, name, content):
    page.set_input_files(
        "#id_file", {"name": name, "mimeType": "text/csv", "buffer": content.encode()}
    )


def test_known_labels_come_in_from_a_file_and_faults_name_their_line(page, home, site, looked_at):
    page.goto(site("/datasets/pond/"))
    page.keyboard.press("l")
    page.wait_for_selector("text=a list of cups")
    page.click("summary:has-text('CSV format')")
    looked_at(page, "labels-known")

    choose(page, "pilot.csv", f"image,class,value\n2.png,{files.DOG},yes\n9.png,{files.CUP},no\n")
    page.click("button:has-text('Import')")
    page.wait_for_selector("text=Line 3: 9.png is not in pond.")
    looked_at(page, "labels-fault")

    choose(page, "pilot.csv", f"image,class,value\n2.png,{files.DOG},yes\n")
    page.click("button:has-text('Import')")
    page.wait_for_selector("text=Imported: 1 label of 1 image.")
    assert page.inner_text("th:has-text('pilot.csv')") == "pilot.csv"


def test_a_large_release_is_waited_for_and_then_downloaded(
    browser_as, alice, home, site, looked_at, run_jobs, monkeypatch
):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    page = browser_as(alice, accept_downloads=True)
    page.goto(site("/campaigns/home/releases/1/labels?format=voc"))
    page.wait_for_selector("text=Waiting for a worker")
    looked_at(page, "labels-wait")

    run_jobs()

    page.wait_for_selector("text=The file is ready.")
    looked_at(page, "labels-ready")
    with page.expect_download() as waiting:
        page.click("text=Download PASCAL VOC")
    assert waiting.value.suggested_filename == "home-1-voc.zip"


def test_a_release_is_reported_and_published(browser_as, alice, home, site, looked_at, run_jobs):
    page = browser_as(alice, accept_downloads=True)
    page.goto(site("/campaigns/home/releases/"))
    page.click("a:has-text('Publish')")
    page.wait_for_selector("text=Waiting for a worker")
    looked_at(page, "release-waits")
    run_jobs()
    page.wait_for_selector("h3:has-text('Scale')")
    page.check("#id_huggingface_with_images")
    looked_at(page, "release")

    with page.expect_download() as waiting:
        page.click("button:has-text('Download folder to publish')")

    assert waiting.value.suggested_filename == "home-1-huggingface.zip"
    with zipfile.ZipFile(waiting.value.path()) as archive:
        assert "home-1/croissant.json" in archive.namelist()
        assert "home-1/data/images.parquet" in archive.namelist()


def test_two_releases_are_compared(browser_as, alice, dataset, home, site, looked_at, run_jobs):
    boxes = releases.boxes(alice, alice, factories.make_dataset(alice, "boxes"))
    page = browser_as(alice)
    page.goto(site("/campaigns/boxes/releases/1/"))
    page.select_option(
        "#id_beside", label=f"Home (home release 1, {date_format(home.created_at, 'j M Y')})"
    )
    with page.expect_navigation():
        page.click("button:has-text('Compare')")
    run_jobs()

    page.wait_for_selector("text=Boxes, release 1: mean")
    page.wait_for_selector("text=Home, release 1: mean")
    content = "image,rank,x0,y0,x1,y1\n0.png,1,0,0,9,9\n0.png,2,2,2,22,20\n"
    windows = {"name": "windows.csv", "mimeType": "text/csv", "buffer": content.encode()}
    page.set_input_files("#id_windows", windows)
    page.set_input_files("#id_beside_windows", windows)
    page.click("button:has-text('Upload windows')")
    page.wait_for_url("**&beside_windows=**")
    run_jobs()
    page.wait_for_selector("h3:has-text('Clutter')")
    looked_at(page, "releases-compared")
    assert boxes.campaign.jobs.filter(kind="report release", state="done").count() == 2


def test_an_empty_dataset_and_a_zip_on_its_way_look_right(page, alice, site, looked_at, run_jobs):
    factories.make_image(files.elsewhere(alice), "more.png")
    page.goto(site("/datasets/elsewhere/labels/"))
    looked_at(page, "labels-none")

    page.set_input_files(
        "#id_file",
        {
            "name": "VOC2012_annotations.zip",
            "mimeType": "application/zip",
            "buffer": files.zipped({"0.xml": files.voc_xml("0.png"), "1.xml": "<a"}).read(),
        },
    )
    page.click("button:has-text('Import')")
    page.wait_for_selector("text=Waiting for a worker")
    looked_at(page, "labels-coming")
    run_jobs()

    page.wait_for_selector("text=1.xml, line 1: is not XML.")
