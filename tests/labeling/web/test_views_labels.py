"""Labels in and out as pages: faults at the file's field, counts by source, a file that waits."""

import io
import zipfile

import pytest

from labeling.exchange import export_files, label_files
from labeling.models import GivenLabel, Job
from tests.clients import logged_in, text_of
from tests.labeling import label_files as files
from tests.labeling.label_files import CUP, DOG, kept

LABELS = "/datasets/elsewhere/labels/"


@pytest.fixture
def pond(alice):
    return files.elsewhere(alice)


def test_a_file_is_brought_in_and_told_by_source(desk, pond):
    sent = {"file": files.rows(f"0.png,{DOG},yes", f"1.png,{CUP},no"), "source": "pilot 7"}

    page = text_of(desk.post(LABELS, sent, follow=True))

    assert "Imported: 2 labels of 2 images." in page
    assert "pilot 7" in page
    assert len(kept(pond)) == 2


def test_a_fault_stands_at_the_file_with_its_line_and_its_cure(desk, pond):
    page = text_of(desk.post(LABELS, {"file": files.rows("0.png,x,yes", "9.png,x,yes")}))

    assert "Line 3: 9.png is not in elsewhere. Add the image first" in page
    assert 'id="id_file_error"' in page or 'aria-invalid="true"' in page
    assert not GivenLabel.objects.exists()


def test_no_file_and_an_empty_one_say_so(desk, pond):
    assert "Choose a file." in text_of(desk.post(LABELS, {}))
    assert "The file is empty. Choose another." in text_of(
        desk.post(LABELS, {"file": files.upload("")})
    )


def test_a_zip_is_told_while_it_waits_and_when_it_is_done_or_failed(desk, pond, run_jobs):
    good = files.zipped({"0.xml": files.voc_xml("0.png")}, "good.zip")
    bad = files.zipped({"0.xml": "<a"}, "bad.zip")
    for sent in (good, bad):
        page = text_of(desk.post(LABELS, {"file": sent}, follow=True))
        assert "being imported" in page
        assert "data-refresh" in page
    run_jobs()

    page = text_of(desk.get(LABELS))
    fragment = text_of(desk.get(LABELS + "?fragment=1"))

    for text in (page, fragment):
        assert "Imported: 1 label of 1 image." in text
        assert "0.xml, line 1: is not XML. Export it again." in text
    assert "data-refresh" not in page
    assert "<html" not in fragment


def test_the_campaigns_offered_are_those_that_ask_by_a_graph(desk, alice, dataset, coots, pond):
    files.home_release(alice, dataset)

    page = text_of(desk.get(f"/datasets/{dataset.name}/labels/"))
    assert '<option value="home">Home (home)</option>' in page
    assert "Coots" not in page
    assert "question graph of" not in text_of(desk.get(LABELS))

    sent = {"file": files.rows("0.png,n99999999,yes"), "campaign": "home"}
    page = text_of(desk.post(f"/datasets/{dataset.name}/labels/", sent))
    assert "Line 2: class &#x27;n99999999&#x27; is not in the graph" in page


def test_who_does_not_own_the_dataset_sees_counts_and_no_form(bob, alice, dataset, coots):
    coots.memberships.filter(user=bob).update(role="researcher")
    desk = logged_in(bob)
    url = f"/datasets/{dataset.name}/labels/"

    assert "<h2>Import labels</h2>" not in text_of(desk.get(url))
    sent = {"file": files.rows("coots/000.png,x,yes")}
    assert desk.post(url, sent).status_code == 403
    assert not GivenLabel.objects.exists()


def test_the_page_asks_few_queries_however_much_is_known(desk, pond, django_assert_num_queries):
    def ask():
        with django_assert_num_queries(6):
            desk.get(LABELS)

    ask()
    for source in "abcdefgh":
        label_files.import_upload(pond, pond.owner, files.rows(f"0.png,{DOG},yes"), source=source)
        label_files.import_upload(pond, pond.owner, files.zipped({"a.csv": "image,class\n"}))
    ask()


def test_the_dataset_says_how_much_is_known_and_leads_there(desk, pond):
    label_files.import_upload(pond, pond.owner, files.rows(f"0.png,{DOG},yes", f"1.png,{CUP},no"))

    page = text_of(desk.get("/datasets/elsewhere/"))

    assert "<dt>known labels</dt><dd>2</dd>" in page
    assert f'href="{LABELS}"' in page


def test_each_release_offers_its_labels_in_every_format(desk, alice, dataset):
    files.home_release(alice, dataset)
    page = text_of(desk.get("/campaigns/home/releases/"))

    for name, words in label_files.formats():
        url = f"/campaigns/home/releases/1/labels?format={name}"
        assert f'href="{url}"' in page
        assert f">{words}<span" in page
        response = desk.get(url)
        assert response["Content-Disposition"] == f'attachment; filename="home-1-{name}.zip"'
        assert zipfile.ZipFile(io.BytesIO(b"".join(response))).testzip() is None


def test_a_large_release_is_waited_for_on_a_page(desk, alice, dataset, run_jobs, monkeypatch):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    files.home_release(alice, dataset)
    url = "/campaigns/home/releases/1/labels?format=coco"

    page = text_of(desk.get(url))
    assert "Labels of release 1 as COCO JSON" in page
    assert "Waiting for a worker" in page
    run_jobs()

    assert "The file is ready." in text_of(desk.get(url + "&fragment=1"))
    assert zipfile.ZipFile(io.BytesIO(b"".join(desk.get(url)))).testzip() is None


def test_a_large_release_with_options_is_waited_for_and_fetched_with_them(
    desk, alice, dataset, run_jobs, monkeypatch
):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    files.home_release(alice, dataset)
    url = "/campaigns/home/releases/1/labels?format=coco&names=plain"

    page = text_of(desk.get(url))
    run_jobs()
    ready = text_of(desk.get(url + "&fragment=1"))

    assert 'hx-get="?format=coco&amp;names=plain&amp;fragment=1"' in page
    assert f'href="{url.replace("&", "&amp;")}"' in ready


def test_a_large_release_that_failed_says_why_and_can_be_tried_again(
    desk, alice, dataset, monkeypatch
):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    files.home_release(alice, dataset)
    url = "/campaigns/home/releases/1/labels?format=coco"
    desk.get(url)
    job = Job.objects.get(kind=export_files.KIND)
    Job.objects.filter(pk=job.pk).update(state="failed", error="The disk is full.")

    page = text_of(desk.get(url))

    assert "The disk is full." in page
    assert f'action="/campaigns/home/jobs/{job.pk}/retry/"' in page


def test_an_unknown_format_and_an_unknown_release_are_pages_that_say_so(desk, alice, dataset):
    files.home_release(alice, dataset)

    response = desk.get("/campaigns/home/releases/1/labels?format=tsv")

    assert response.status_code == 400
    assert "Choose one of: csv, label-studio, jsonl, coco, voc" in response.content.decode()
    assert desk.get("/campaigns/home/releases/9/labels").status_code == 404
