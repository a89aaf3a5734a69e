"""A release's labels as a zip: at once or by a job, the same bytes each time."""

import csv
import errno
import io
import json
import os
import shutil
import time
import zipfile
from xml.etree import ElementTree

import pytest

from labeling.disk_full import StorageFull
from labeling.errors import Refusal
from labeling.exchange import export_files
from labeling.follow_ups import asking
from labeling.formats import FORMATS
from labeling.models import Job
from labeling.release_files import exporting
from labeling.releases import freezing
from tests import factories
from tests.cases import for_each
from tests.labeling import label_files as files


@pytest.fixture
def release(alice, dataset):
    return files.home_release(alice, dataset)


def opened(release, name):
    with export_files.fetch(release, name) as file:
        return zipfile.ZipFile(io.BytesIO(file.read()))


@for_each("name", FORMATS)
def test_a_small_release_is_zipped_at_once_and_always_the_same(name, release):
    with export_files.fetch(release, name) as first, export_files.fetch(release, name) as second:
        assert first.read() == second.read()

    assert opened(release, name).testzip() is None
    assert not Job.objects.filter(kind=export_files.KIND).exists()


def test_parsers_of_others_read_what_is_in_the_zips(release):
    table = io.StringIO(opened(release, "csv").read("home-1/labels.csv").decode())
    rows = list(csv.DictReader(table))
    lines = opened(release, "jsonl").read("home-1/labels.jsonl").decode().splitlines()
    coco = json.loads(opened(release, "coco").read("home-1/labels.json"))
    tasks = json.loads(opened(release, "label-studio").read("home-1/tasks.json"))
    voc = opened(release, "voc")
    xml = ElementTree.fromstring(voc.read("home-1/Annotations/1.xml"))

    assert len(rows) == len([json.loads(line) for line in lines]) == 18
    assert [image["file_name"] for image in coco["images"]] == ["0.png", "1.png", "2.png"]
    assert [row["bbox"] for row in coco["annotations"]] == [[1.0, 2.0, 4.0, 5.5]]
    assert tasks[0]["annotations"][0]["result"][0]["value"] == {"choices": [files.DOG]}
    assert [node.text for node in xml.findall("object/wnid")] == [files.CUP]
    assert [node.text for node in xml.findall("object/name")] == ["a cup"]
    assert len(voc.read("home-1/ImageSets/Main/a dog_trainval.txt").splitlines()) == 3


def test_what_a_spreadsheet_would_run_is_quoted(alice, dataset):
    coots = factories.make_campaign(alice, dataset, launch=False)
    factories.make_image(dataset, "=cmd|' !A0.png")
    asking.add_questions(coots, [("=cmd|' !A0.png", "n02018207")])
    coots.questions.update(state="dropped", seats_free=0)

    table = opened(freezing.freeze(coots, alice), "csv").read("coots-1/labels.csv").decode()

    assert next(csv.DictReader(io.StringIO(table)))["image"] == "'=cmd|' !A0.png"


def test_many_labels_are_zipped_by_one_job_however_often_somebody_asks(
    release, run_jobs, monkeypatch
):
    with export_files.fetch(release, "csv") as file:
        small = file.read()
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 17)

    job = export_files.fetch(release, "csv")
    assert export_files.fetch(release, "csv") == job
    Job.objects.filter(pk=job.pk).update(state="running", claim="x")
    assert export_files.fetch(release, "csv") == job
    Job.objects.filter(pk=job.pk).update(state="queued", claim="")
    run_jobs()

    with export_files.fetch(release, "csv") as file:
        assert file.read() == small
    assert Job.objects.filter(kind=export_files.KIND).count() == 1
    assert job.campaign == release.campaign


def test_every_choice_of_options_has_a_job_and_a_zip_of_its_own(release, run_jobs, monkeypatch):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    plain = exporting.FormatOptions(names="plain")

    jobs = [export_files.fetch(release, "coco", each) for each in (exporting.DEFAULT, plain)]
    run_jobs()

    assert jobs[0] != jobs[1]
    for options, names in ((exporting.DEFAULT, "unique"), (plain, "plain")):
        with export_files.fetch(release, "coco", options) as file:
            head = json.loads(zipfile.ZipFile(file).read("home-1/release.json"))
        assert head["export"]["names"] == names


def test_a_zip_in_the_layout_of_an_earlier_version_is_made_again(release, run_jobs, monkeypatch):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    export_files.fetch(release, "voc")
    run_jobs()
    export_files.fetch(release, "voc").close()

    monkeypatch.setattr(export_files, "LAYOUT", export_files.LAYOUT + 1)

    assert export_files.fetch(release, "voc").state == "queued"


def test_an_option_that_a_format_does_not_have_is_refused_with_what_it_is_for(release):
    with pytest.raises(Refusal, match=r"not an option of coco for this campaign. Leave it out"):
        export_files.fetch(release, "coco", exporting.FormatOptions(rest=True))


def test_a_failed_job_is_told_and_not_started_over(release, run_jobs, monkeypatch):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    job = export_files.fetch(release, "csv")
    path = freezing.folder_of(release) / "answers.jsonl"
    path.write_text(path.read_text() + "\n")
    run_jobs()

    outcome = export_files.fetch(release, "csv")

    assert (outcome, outcome.state) == (job, "failed")
    assert "changed after it was frozen. Freeze it again." in outcome.error


def test_what_a_job_made_is_made_again_once_it_was_forgotten(release, run_jobs, monkeypatch):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    export_files.fetch(release, "csv")
    run_jobs()
    export_files.fetch(release, "csv").close()
    [made] = export_files._folder().iterdir()
    old = time.time() - export_files.ZIP_LIFETIME.total_seconds() - 60
    os.utime(made, (old, old))

    assert export_files.forget_old() == 1
    again = export_files.fetch(release, "csv")

    assert (again.state, Job.objects.filter(kind=export_files.KIND).count()) == ("queued", 2)


def test_a_release_whose_files_are_gone_or_an_unknown_format_says_what_to_do(release):
    with pytest.raises(Refusal, match=r"no format 'tsv'. Choose one of: csv"):
        export_files.fetch(release, "tsv")

    shutil.rmtree(freezing.folder_of(release))
    with pytest.raises(Refusal, match=r"not on this server. Freeze it again"):
        export_files.fetch(release, "csv")


def test_nothing_is_left_behind_when_zipping_fails(release, monkeypatch):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    job = export_files.fetch(release, "csv")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export_files, "write", full)
    with pytest.raises(OSError, match="No space"):
        export_files.execute(job)

    assert list(export_files._folder().iterdir()) == []


def test_a_full_disk_is_said_and_nothing_is_left_open(release, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export_files.exporting, "export", full)

    with pytest.raises(StorageFull, match="The disk is full"):
        export_files.fetch(release, "csv")

    monkeypatch.undo()
    assert opened(release, "csv").testzip() is None
