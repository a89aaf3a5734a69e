"""Labels in and out by programs: zips with a cure for every fault, never a path or a URL."""

import io
import zipfile

import pytest

from labeling.exchange import export_files
from labeling.models import GivenLabel
from tests.cases import for_each
from tests.clients import API, program
from tests.labeling import label_files as files
from tests.labeling.label_files import CUP, DOG

NOTHING_ELSE = {"unknown": 0, "skipped": [], "mended": []}


@pytest.fixture
def pond(alice):
    return files.elsewhere(alice)


def send(client, name="elsewhere", **body):
    return client.post(f"{API}datasets/{name}/labels/", body, format="multipart")


def test_a_file_of_labels_is_brought_in_and_counted_by_source(alices, pond):
    response = send(alices, file=files.rows(f"0.png,{DOG},yes", f"1.png,{CUP},no"), source="pilot")

    assert response.status_code == 201
    assert response.json() == {"images": 2, "labels": 2, "sources": ["pilot"], **NOTHING_ELSE}
    assert alices.get(f"{API}datasets/elsewhere/labels/").json() == {
        "sources": [{"source": "pilot", "labels": 2, "images": 2, "yes": 1, "no": 1}]
    }


def test_a_zip_becomes_a_job_that_tells_its_end(alices, pond, run_jobs):
    response = send(alices, file=files.zipped({"0.xml": files.voc_xml("0.png")}), format="voc")
    url = f"{API}datasets/elsewhere/labels/{response.json()['id']}/"

    assert response.status_code == 202
    assert alices.get(url).json()["result"] is None
    run_jobs()

    body = alices.get(url).json()
    assert (body["state"], body["file"]) == ("done", "voc.zip")
    assert body["result"] == {"images": 1, "labels": 1, "sources": ["voc.zip"], **NOTHING_ELSE}
    assert "stored" not in body


def test_a_fault_is_a_problem_with_its_place_and_its_cure(alices, pond):
    response = send(alices, file=files.rows(f"0.png,{DOG},yes", "1.png,x,maybe"))

    problem = response.json()
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    assert problem["code"] == "bad_input"
    assert problem["errors"] == [
        {
            "field": "file",
            "message": "Line 3: has the value 'maybe'.",
            "cure": "Use yes, no, unknown.",
        }
    ]
    assert not GivenLabel.objects.exists()


@for_each(
    ("body", "field"),
    [
        ({}, "file"),
        ({"file": "/etc/passwd"}, "file"),
        ({"file": "https://example.org/labels.csv"}, "file"),
        ({"path": "labels.csv"}, "path"),
        ({"url": "https://example.org/labels.csv"}, "url"),
        ({"file": files.rows("0.png,x,yes"), "format": "mat"}, "format"),
        ({"file": files.rows("0.png,x,yes"), "source": "x" * 201}, "source"),
        ({"file": files.rows("0.png,x,yes"), "campaign": "none"}, "campaign"),
    ],
)
def test_only_an_uploaded_file_in_a_known_format_is_taken(alices, pond, body, field):
    response = send(alices, **body)

    assert response.status_code == 400
    assert field in [error["field"] for error in response.json()["errors"]]
    assert all(error["cure"] for error in response.json()["errors"])
    assert not GivenLabel.objects.exists()


def test_a_body_that_is_no_form_is_not_read(alices, pond):
    response = alices.post(f"{API}datasets/elsewhere/labels/", {"file": "x"}, format="json")

    assert response.status_code == 415


def test_what_is_too_large_is_refused_by_its_stated_length(alices, pond, monkeypatch):
    from labeling.web.api.labels import GivenLabelViewSet

    monkeypatch.setattr(GivenLabelViewSet, "max_upload_bytes", 100)

    response = send(alices, file=files.rows(*[f"0.png,{DOG},yes"] * 20))

    assert response.status_code == 413


def test_who_researches_on_anothers_dataset_sees_what_is_known_and_brings_nothing_in(
    alice, bob, dataset, coots
):
    coots.memberships.filter(user=bob).update(role="researcher")
    bobs = program(bob)

    assert bobs.get(f"{API}datasets/{dataset.name}/labels/").status_code == 200
    response = send(bobs, dataset.name, file=files.rows("coots/000.png,x,yes"))
    assert response.status_code == 403
    assert "owner" in response.json()["detail"]


@pytest.mark.parametrize("name", ["csv", "jsonl", "coco", "voc", "label-studio"])
def test_labels_of_a_release_come_as_a_zip(alices, alice, dataset, name):
    files.home_release(alice, dataset)

    response = alices.get(f"{API}campaigns/home/releases/1/labels/?format={name}")

    assert response.status_code == 200
    assert response["Content-Type"] == "application/zip"
    assert response["Content-Disposition"] == f'attachment; filename="home-1-{name}.zip"'
    archive = zipfile.ZipFile(io.BytesIO(response.getvalue()))
    assert "home-1/release.json" in archive.namelist()


def test_without_a_format_it_is_csv_and_an_unknown_one_is_refused(alices, alice, dataset):
    files.home_release(alice, dataset)
    url = f"{API}campaigns/home/releases/1/labels/"

    response = alices.get(url)
    assert "home-1-csv.zip" in response["Content-Disposition"]
    assert zipfile.ZipFile(io.BytesIO(response.getvalue())).testzip() is None
    for query, field in (("format=tsv", "format"), ("form=csv", "form")):
        response = alices.get(f"{url}?{query}")
        assert response.status_code == 400
        assert [error["field"] for error in response.json()["errors"]] == [field]
    assert alices.get(f"{API}campaigns/home/releases/9/labels/").status_code == 404


def test_many_labels_are_made_by_a_job_and_fetched_later(
    alices, alice, dataset, run_jobs, monkeypatch
):
    monkeypatch.setattr(export_files, "MAX_WORK_IN_REQUEST", 0)
    files.home_release(alice, dataset)
    url = f"{API}campaigns/home/releases/1/labels/?format=jsonl"

    waiting = alices.get(url)
    run_jobs()
    ready = alices.get(url)

    assert (waiting.status_code, waiting["Retry-After"]) == (202, "2")
    assert waiting.json()["state"] == "queued"
    assert ready["Content-Type"] == "application/zip"
    assert zipfile.ZipFile(io.BytesIO(ready.getvalue())).testzip() is None
