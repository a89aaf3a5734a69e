"""Benchmarks on released labels for programs."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from evaluation.benchmarks import folders, runs
from evaluation.benchmarks.kinds.labeled import benchmarks
from evaluation.models import Benchmark, Run
from labeling.releases import freezing
from tests.clients import API, program
from tests.evaluation.benchmarks.kinds.labeled import world

NEW = API + "released-benchmarks/"
PLANS = API + "released-benchmark-plans/"
ONE = API + "benchmarks/wsol/"
BODY = {"kind": "wsol", "name": "wsol", "title": "Where cats are", "campaign": "cats"}


@pytest.fixture
def client(alice):
    return program(alice)


@pytest.fixture
def maps(alice, cats) -> Benchmark:
    return world.make(alice, cats, thresholds=20)


def put(client, name="alpha", content=None, benchmark=None):
    content = world.usual(benchmark) if content is None else content
    file = SimpleUploadedFile("maps.zip", content)
    return client.put(f"{ONE}submissions/{name}/", {"file": file}, format="multipart")


def test_a_benchmark_is_made_once(client, cats):
    body = BODY | {"protocol": "reference", "split": "test"}

    made, again = (client.post(NEW, body, format="json") for _ in range(2))

    assert (made.status_code, again.status_code) == (201, 201)
    document = made.json()
    assert (document["kind"], document["campaign"], document["release"]) == ("wsol", "cats", 1)
    assert document["settings"]["protocol"] == "reference"
    assert document["settings"]["truth"]["images"] == 1
    assert Benchmark.objects.count() == 1
    assert client.get(ONE).json() == document


def test_a_plan_counts_and_makes_nothing(client, alice, cats):
    body = {"kind": "wsol", "campaign": "cats"}

    without = client.post(PLANS, body, format="json")
    freezing.freeze(cats, alice)
    plan = client.post(PLANS, body, format="json")

    assert (without.status_code, without.json()["errors"][0]["field"]) == (400, "campaign")
    assert plan.json()["truth"]["images"] == 1
    assert plan.json()["truth"]["masks"] is True
    assert not Benchmark.objects.exists()


def test_what_cannot_be_is_refused_by_its_field(client, cats):
    for changes, status, field in [
        ({"campaign": "nowhere"}, 404, None),
        ({"release": 7}, 404, None),
        ({"seed": 1}, 400, "seed"),
        ({"kind": "detection", "confidence": 1.5}, 400, "confidence"),
        ({"colour": "red"}, 400, "colour"),
    ]:
        answer = client.post(NEW, BODY | changes, format="json")

        assert answer.status_code == status, changes
        assert answer["Content-Type"] == "application/problem+json", changes
        assert answer.json()["errors"][0]["field"] == field, changes
        assert not Benchmark.objects.exists(), changes


def test_a_submission_asks_for_one_run(client, maps, monkeypatch):
    requests = []
    monkeypatch.setattr(runs, "request", lambda *args: requests.append(args))

    assert put(client, benchmark=maps).status_code == 200

    assert len(requests) == 1


def test_a_classifier_comes_is_scored_and_leaves(client, maps, run_jobs):
    first = put(client, benchmark=maps)
    run_jobs()
    again = put(client, benchmark=maps)

    assert (first.status_code, first.json()) == (200, again.json())
    assert first.json()["attempts"] == 1
    assert [row["name"] for row in client.get(f"{ONE}submissions/").json()["results"]] == ["alpha"]
    [run] = client.get(f"{ONE}runs/").json()["results"]
    result = client.get(f"{ONE}runs/{run['id']}/").json()["result"]
    # At the threshold of 0 the box is the whole image: an IoU of 0.5625.
    assert result["submissions"][0]["result"]["max_box_acc"]["accuracy"] == 1

    gone = client.delete(f"{ONE}submissions/alpha/")

    assert gone.status_code == 204
    assert client.get(f"{ONE}submissions/").json()["results"] == []
    assert client.delete(f"{ONE}submissions/alpha/").status_code == 404


def test_a_map_at_fault_is_named(client, maps):
    answer = put(client, content=world.packed({"cats/1.png.npy": b"no array"}))

    assert answer.status_code == 400
    assert answer.json()["errors"][0] == {
        "field": "file",
        "message": "maps.zip: cats/1.png.npy: is not a NumPy array; save it by numpy.save, as "
        "2-D floats.",
        "cure": answer.json()["errors"][0]["cure"],
    }
    assert not maps.submissions.exists()


def test_a_file_larger_than_its_kind_takes_is_refused_unread(client, maps, monkeypatch):
    monkeypatch.setattr(benchmarks, "MAX_ZIP_BYTES", 1024**2)
    monkeypatch.setattr(runs, "submit", lambda *_: pytest.fail("the file was submitted"))

    answer = put(client, content=b"0" * (1024**2 + 1))

    assert answer.status_code == 413
    [error] = answer.json()["errors"]
    assert (error["field"], error["message"]) == ("file", "The file is larger than 1 MiB.")
    assert not maps.submissions.exists()


def test_files_that_went_are_told(client, maps, run_jobs):
    put(client, benchmark=maps)
    run_jobs()
    run = Run.objects.get()
    (folders.run_folder(maps, run.pk) / "images.jsonl").unlink()
    (folders.folder_of(maps) / "truth.zip").unlink()

    assert client.get(f"{ONE}runs/{run.pk}/images.jsonl").status_code == 404
    assert client.get(f"{ONE}truth.zip").status_code == 400
