"""Uploads of known labels: at once or by a job, all or nothing, faults with their place."""

import errno
import re
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from labeling.disk_full import StorageFull
from labeling.errors import NotAllowed, NotYours, Refusal, TooLarge
from labeling.exchange import export_files, label_files
from labeling.jobs import uploads
from labeling.models import GivenLabel, Job
from tests.cases import for_each
from tests.labeling import label_files as files
from tests.labeling.hierarchies import make
from tests.labeling.label_files import CUP, DOG, kept


@pytest.fixture
def pond(alice):
    return files.elsewhere(alice)


def waiting_uploads():
    return default_storage.listdir(label_files.FOLDER)[1]


def test_a_small_file_is_known_at_once(alice, pond):
    result = label_files.import_upload(
        pond, alice, files.rows(f"0.png,{DOG},yes", f"1.png,{CUP},no")
    )

    assert result == {
        "images": 2,
        "labels": 2,
        "unknown": 0,
        "sources": ["labels.csv"],
        "skipped": [],
        "mended": [],
    }
    assert kept(pond) == [("0.png", DOG, "yes", "labels.csv"), ("1.png", CUP, "no", "labels.csv")]
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    "sent",
    [
        files.upload(f'{{"image": "0.png", "class": "{DOG}"}}\n', "l.jsonl"),
        files.upload(files.coco("0.png"), "instances.json"),
        files.upload(files.tasks("0.png"), "tasks.json"),
        files.upload(files.voc_xml("0.png"), "0.xml"),
    ],
    ids=["jsonl", "coco", "label-studio", "voc"],
)
def test_the_name_and_the_content_say_the_format(alice, pond, sent):
    label_files.import_upload(pond, alice, sent, source="by hand")

    assert kept(pond) == [("0.png", DOG, "yes", "by hand")]


def test_the_format_can_be_said(alice, pond):
    sent = files.upload(f"image,class\n0.png,{DOG}\n", "labels.txt")

    with pytest.raises(Refusal, match=r"The file does not show its format. Choose one of"):
        label_files.import_upload(pond, alice, sent)
    sent.seek(0)
    label_files.import_upload(pond, alice, sent, format_name="csv")

    assert len(kept(pond)) == 1


@for_each(
    ("sent", "message"),
    [
        (files.rows(f"0.png,{DOG},yes", "9.png,x,yes"), "Line 3: 9.png is not in elsewhere. Add"),
        (files.rows(f"0.png,{DOG},yes", "", "1.png,x,maybe"), "Line 4: has the value 'maybe'. Use"),
        (files.rows(f"0.png,{DOG},yes", f"0.png,{DOG},no"), "Line 3: .* was yes in line 2; keep"),
        (files.rows(f"0.png,{'x' * 65},yes"), "Line 2: .*64 characters"),
        (files.rows("0.png,x", head="image,label"), "Line 1: unknown column 'label'. The header"),
        (files.upload("{}", "a.json"), "The file is not a COCO file. It needs images"),
        (files.upload(files.coco("0.png", "9.png"), "a.json"), "Image 2: 9.png is not in"),
        (files.upload(files.tasks("0.png", "9.png"), "a.json"), "Task 2: 9.png is not in"),
        (files.upload("<a", "a.xml"), "Line 1: is not XML. Export"),
        (files.upload("<!DOCTYPE a><a/>", "a.xml"), "The file declares entities"),
        (files.upload(b"image,class\n\xff,x\n"), "Line 2: is not UTF-8. Save"),
    ],
)
def test_a_fault_anywhere_says_where_it_is_and_brings_nothing_in(alice, pond, sent, message):
    sent.seek(0)
    with pytest.raises(Refusal, match=message) as refused:
        label_files.import_upload(pond, alice, sent)

    assert refused.value.field == "file"
    assert "/" not in refused.value.message.replace(" / ", "")
    assert not GivenLabel.objects.exists()


def test_unknown_labels_are_counted_and_lines_stay_those_of_the_file(alice, pond):
    sent = files.rows(f"0.png,{DOG},unknown", f"1.png,{DOG},unknown", "9.png,x,yes")

    with pytest.raises(Refusal, match=r"Line 4: 9.png"):
        label_files.import_upload(pond, alice, sent)


def test_a_zip_of_voc_becomes_a_job_that_tells_what_came_of_it(alice, pond, run_jobs):
    sent = files.zipped(
        {
            "VOC2012/Annotations/0.xml": files.voc_xml("0.png"),
            "VOC2012/Annotations/1.xml": files.voc_xml("1.png", CUP),
            "VOC2012/JPEGImages/0.jpg": b"\xff\xd8 no label",
            "__MACOSX/VOC2012/Annotations/._0.xml": "not XML",
        }
    )

    job = label_files.import_upload(pond, alice, sent)
    assert [job.state, kept(pond), len(waiting_uploads())] == ["queued", [], 1]
    run_jobs()

    job.refresh_from_db()
    assert job.state == "done", job.error
    assert job.payload["result"]["labels"] == 2
    assert kept(pond) == [("0.png", DOG, "yes", "voc.zip"), ("1.png", CUP, "yes", "voc.zip")]
    assert waiting_uploads() == []


def test_a_large_file_becomes_a_job(alice, pond, run_jobs, monkeypatch):
    monkeypatch.setattr(label_files, "SMALL_BYTES", 10)

    job = label_files.import_upload(pond, alice, files.rows(f"0.png,{DOG},yes"), source="a list")
    run_jobs()

    assert kept(pond) == [("0.png", DOG, "yes", "a list")]
    assert list(label_files.jobs_of(pond)) == [job]


def test_a_job_cut_off_after_its_work_does_no_harm_when_it_runs_again(alice, pond, run_jobs):
    job = label_files.import_upload(pond, alice, files.zipped({"0.xml": files.voc_xml("0.png")}))
    run_jobs()
    before = kept(pond)
    Job.objects.filter(pk=job.pk).update(state="queued")

    run_jobs()

    job.refresh_from_db()
    assert (job.state, kept(pond)) == ("done", before)


# Heads of a release: one that has all it needs but another hash, and one that has not.
CHANGED = {
    "home-1/release.json": '{"format": "assay-release", "sha256": "0", "files": {}, '
    '"campaign": {"name": "home", "kind": "contains", "settings": {}}}',
    "home-1/labels.csv": "image,class\n",
}
FORGED = {
    "home-1/release.json": '{"format": "assay-release", "sha256": "0", "files": {}}',
    "home-1/labels.csv": "image,class\n",
}
BROKEN = {"a/1.xml": files.voc_xml("1.png"), "a/b/2.xml": "<a>\n<b>"}


@for_each(
    ("sent", "message"),
    [
        (files.zipped(BROKEN), r"^a/b/2\.xml, line 2: is not XML\. Export it again\.$"),
        (files.zipped(CHANGED), r"^home-1/release\.json: was changed after it was frozen\."),
        (files.zipped(FORGED), r"^home-1/release\.json: is not the header of an assay-release\."),
        (files.zipped({"a.csv": "image,class\n" + " " * 9000}), "unpacks to over"),
        (files.zipped({"a.jpg": b"x"}), "has no label files"),
        (files.upload(b"no zip", "voc.zip"), "not a zip"),
        (files.upload(b"", "voc.zip"), "not a zip"),
        *(
            (files.zipped({name: files.voc_xml("0.png")}), "name")
            for name in ("../../evil.xml", "/etc/evil.xml", "a\\b.xml", "x" * 300 + ".xml")
        ),
    ],
)
def test_a_zip_that_cannot_be_read_fails_its_job_and_leaves_nothing(
    alice, pond, run_jobs, monkeypatch, tmp_path, sent, message
):
    monkeypatch.setattr(label_files, "MAX_UNPACKED", 5000)
    sent.seek(0)

    job = label_files.import_upload(pond, alice, sent)
    run_jobs()

    job.refresh_from_db()
    assert (job.state, job.attempts) == ("failed", 1)
    # With no path of the server.
    assert re.search(message, job.error)
    assert not list(tmp_path.rglob("evil.xml"))
    assert not GivenLabel.objects.exists()


def test_too_many_labels_and_too_many_bytes_name_the_way_out(alice, pond, monkeypatch):
    monkeypatch.setattr(label_files, "MAX_LABELS", 1)
    with pytest.raises(TooLarge, match=r"more than 1 labels.*labels import"):
        label_files.import_upload(pond, alice, files.rows(f"0.png,{DOG},yes", f"1.png,{DOG},yes"))

    monkeypatch.setattr(label_files, "MAX_BYTES", 5)
    with pytest.raises(TooLarge, match="labels import"):
        label_files.import_upload(pond, alice, files.rows(f"0.png,{DOG},yes"))
    assert not GivenLabel.objects.exists()


def test_an_export_comes_back_through_an_upload_with_its_provenance(
    alice, dataset, run_jobs, django_assert_max_num_queries
):
    release = files.home_release(alice, dataset)
    pond = files.elsewhere(alice)
    with export_files.fetch(release, "coco") as made:
        sent = files.upload(made.read(), "home-1-coco.zip")

    job = label_files.import_upload(pond, alice, sent, source="home")
    run_jobs()

    job.refresh_from_db()
    assert job.state == "done", job.error
    assert ("0.png", DOG, "yes", "home: explicit") in kept(pond)
    assert ("0.png", CUP, "no", "home: inherited") in kept(pond)
    assert ("1.png", CUP, "yes", "a list of cups") in kept(pond)
    assert GivenLabel.objects.get(item__image__dataset=pond, source="a list of cups").geometry == (
        files.BOX
    )


def test_classes_can_be_held_to_a_graph(alice, dataset):
    home = make(alice, dataset, images=1)
    sent = files.rows(f"0.png,{DOG},yes", "0.png,n99999999,yes")

    with pytest.raises(Refusal, match="Line 3: class 'n99999999' is not in the graph"):
        label_files.import_upload(dataset, alice, sent, campaign=home)

    assert not GivenLabel.objects.exists()


def test_only_a_researcher_of_a_graph_campaign_on_the_dataset_may_name_it(
    alice, bob, dataset, coots
):
    home = make(alice, dataset, images=1)

    assert label_files.campaign_of(dataset, alice, "home") == home
    assert label_files.campaign_of(dataset, alice, "") is None
    for user, name in ((alice, "coots"), (bob, "home"), (alice, "none")):
        with pytest.raises(Refusal, match="question graph"):
            label_files.campaign_of(dataset, user, name)


def test_only_the_owner_brings_labels_in(pond, bob):
    with pytest.raises(NotAllowed, match="Only the dataset's owner"):
        label_files.import_upload(pond, bob, files.rows(f"0.png,{DOG},yes"))


def test_jobs_are_those_of_the_dataset_alone(alice, pond, dataset):
    job = label_files.import_upload(pond, alice, files.zipped({"a.jpg": b"x"}))

    assert label_files.job_for(pond, job.pk) == job
    with pytest.raises(NotYours):
        label_files.job_for(dataset, job.pk)


def test_what_is_known_is_counted_by_source_in_one_query(alice, pond, django_assert_num_queries):
    label_files.import_upload(
        pond, alice, files.rows(f"0.png,{DOG},yes", f"0.png,{CUP},no", f"1.png,{DOG},no")
    )
    label_files.import_upload(pond, alice, files.rows(f"2.png,{DOG},yes"), source="more")

    with django_assert_num_queries(1):
        counts = label_files.by_source(pond)

    assert [row._asdict() for row in counts] == [
        {"source": "labels.csv", "labels": 3, "images": 2, "yes": 1, "no": 2},
        {"source": "more", "labels": 1, "images": 1, "yes": 1, "no": 0},
    ]


def test_uploads_that_nobody_waits_for_go_after_a_week(alice, pond, monkeypatch):
    waiting = label_files.import_upload(pond, alice, files.zipped({"a.jpg": b"x"}))
    failed = label_files.import_upload(pond, alice, files.zipped({"b.jpg": b"x"}))
    Job.objects.filter(pk=failed.pk).update(state="failed")
    later = timezone.now() + uploads.FAILED_UPLOAD_LIFETIME + timedelta(minutes=1)
    monkeypatch.setattr(uploads.timezone, "now", lambda: later)

    assert label_files.forget_old() == 1

    assert [label_files.FOLDER + name for name in waiting_uploads()] == [waiting.payload["stored"]]


def test_a_full_disk_is_said_and_no_label_is_kept(alice, dataset, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(label_files, "_lay_out", full)

    with pytest.raises(StorageFull, match="The disk is full"):
        label_files.import_upload(dataset, alice, files.rows(f"0.png,{files.DOG},yes"))

    assert not GivenLabel.objects.exists()
