"""The Python client against a live server: from photographs to labels, and to a score."""

import io
import json
import math
import uuid
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pyarrow.parquet as parquet
import pytest
from assay_client import AssayClient, JobFailed, Problem, transport
from assay_client import client as client_module

from labeling.datasets import imports
from labeling.models import Answer, Image
from labeling.web import tokens
from tests import factories
from tests.clients import program
from tests.evaluation import crowd, real_networks
from tests.evaluation.pools import test_real_networks_api as by_api
from tests.evaluation.pools.pool_rows import zipped
from tests.evaluation.release_reports.test_release_page import known
from tests.labeling.publishing import releases

pytestmark = pytest.mark.django_db(transaction=True)
COOT = "n02018207"


@pytest.fixture
def assay(alice, live_server, run_jobs):
    """A client of Alice's; jobs run while it waits."""
    _, secret = tokens.create_token(alice, scope="write")
    with AssayClient(live_server.url, secret, sleep=lambda _: run_jobs()) as client:
        yield client


@pytest.fixture
def photographs(tmp_path) -> Path:
    folder = tmp_path / "photographs"
    (folder / "a").mkdir(parents=True)
    for number in range(25):
        (folder / "a" / f"{number:02}.png").write_bytes(factories.picture(number))
    (folder / "notes.txt").write_text("no photograph")
    return folder


def test_photographs_become_answers_in_a_frame(assay, photographs, tmp_path):
    assert assay.me()["username"] == "alice"
    assay.create_dataset("pond")
    assert assay.add_images("pond", photographs, licence="CC0") == 25
    policy = {"votes": 1, "gold_share": 0.0}
    assert assay.create_campaign("coots", dataset="pond", policy=policy)["state"] == "draft"
    assay.add_topics("coots", [{"key": COOT, "name": "American coot"}])
    names = [f"a/{number:02}.png" for number in range(25)]
    frame = pd.DataFrame({"image": names, "topic": COOT, "query": [math.nan] * 25})
    assert [assay.add_questions("coots", frame) for _ in range(2)] == [25, 0]
    assay.launch("coots")
    secret = assay.invite("coots", people=1)
    bob = program(factories.make_user("bob"))
    by_api.posted(bob, "invitations/accept/", {"secret": secret})
    while seats := by_api.posted(bob, "campaigns/coots/seats/")["seats"]:
        answers = [
            {"id": str(uuid.uuid4()), "seat": seat["seat"], "value": "yes"} for seat in seats
        ]
        by_api.posted(bob, "campaigns/coots/answers/", {"answers": answers})

    rows = assay.frame("campaigns/coots/answers/", page_size=10)
    assert len(rows) == Answer.objects.count() == 25
    assert sorted(rows["image"]) == names
    assert {*rows["value"]} == {"yes"}
    assert [row["id"] for row in assay.answers("coots", topic=COOT)] == list(rows["id"])
    assert assay.progress("coots")["finished"] == 25
    release = assay.freeze("coots")
    path = assay.release_file("coots", release["number"], "answers.jsonl", tmp_path / "a.jsonl")
    assert {json.loads(line)["contains"] for line in path.read_text().splitlines()} == {True}
    assert assay.close_campaign("coots")["state"] == "closed"


@pytest.mark.parametrize("files_at_once", [20, 0], ids=["at once", "by a job"])
def test_a_photograph_that_the_site_refuses_is_told(assay, photographs, monkeypatch, files_at_once):
    monkeypatch.setattr(imports, "SMALL_FILES", files_at_once)
    assay.create_dataset("pond")
    (photographs / "a" / "03.png").write_bytes(b"no image")

    with pytest.warns(UserWarning, match=r"1 of 25 files were refused, first a/03\.png: "):
        assert assay.add_images("pond", photographs) == 24


def test_an_interrupted_upload_goes_on_where_it_stopped(assay, photographs, monkeypatch):
    assay.create_dataset("pond")
    sent, post = [], assay.post

    def break_off(path: str, body: Any = None, **more: Any) -> Any:
        if sent:
            raise httpx.ReadError("the line broke")
        sent.append(body["names"])
        return post(path, body, **more)

    monkeypatch.setattr(assay, "post", break_off)
    with pytest.raises(httpx.ReadError):
        assay.add_images("pond", photographs)
    monkeypatch.undo()
    assert Image.objects.count() == client_module.BATCH

    assert assay.add_images("pond", photographs) == 5
    assert Image.objects.count() == 25


@pytest.mark.usefixtures("wordnet")
def test_predictions_become_a_competition_with_the_ranks_of_the_pages(assay, tmp_path, run_jobs):
    """As tests/browser/benchmarks/test_real_networks.py by mouse, but for the answers."""
    assay.create_dataset("photographs")
    packed = {"all.zip": real_networks.photographs()}
    packed["p.zip"] = zipped(real_networks.predictions(tmp_path / "predictions"))
    for name, content in packed.items():
        (tmp_path / name).write_bytes(content)
    added = assay.post("datasets/photographs/images/", files={"zip": tmp_path / "all.zip"})
    assert assay.wait(f"datasets/photographs/imports/{added['id']}/")["added"] == 46
    pools = "datasets/photographs/pools/"
    pool = assay.post(f"{pools}upload/", files={"file": tmp_path / "p.zip"})
    selections = f"{pools}{pool['id']}/selections/"
    row = assay.wait(f"{selections}{assay.post(selections, real_networks.SETTINGS)['id']}/")
    assert row["summary"]["images"] == len({*_images(assay, f"{selections}{row['id']}/", tmp_path)})
    body = {"name": "networks", "title": "Networks"}
    assay.post(f"{selections}{row['id']}/competition/", body)
    assay.launch("networks")
    secret = assay.invite("networks", people=5)
    people = [program(factories.make_user(f"person{number}")) for number in range(5)]
    for person in people:
        by_api.posted(person, "invitations/accept/", {"secret": secret})
        by_api.answer_all(person, "networks")
    run_jobs()
    assay.close_campaign("networks")

    result = assay.score("networks")

    assert (result["ranks"], result["images"]) == (real_networks.RANKS, real_networks.IMAGES)
    packed_release = assay.publish("networks", 1, tmp_path / "published.zip")
    with zipfile.ZipFile(packed_release) as archive:
        table = parquet.read_table(io.BytesIO(archive.read("networks-1/data/labels.parquet")))
    assert table.num_rows == real_networks.LABELS


@pytest.mark.usefixtures("wordnet")
def test_a_competition_from_a_file_takes_a_policy(assay, alice, dataset, tmp_path):
    crowd.add_images(dataset, crowd.lines())
    path = tmp_path / "selection.jsonl"
    path.write_bytes(crowd.file_of(crowd.lines()).read())
    fields = {"dataset": dataset.name, "name": "birds", "title": "Birds", "policy": {"votes": 3}}

    assay.create_benchmark("mad", files={"selection": path}, **fields)

    assert assay.get("campaigns/birds/")["policy"]["votes"] == 3
    assay.submit("birds", "", path)
    rows = assay.pages("benchmarks/birds/submissions/")
    assert [row["name"] for row in rows] == ["alpha", "beta", "gamma"]


def _images(assay, selection: str, folder: Path) -> list[str]:
    path = assay.download(f"{selection}selection.jsonl", folder / "selection.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [row["image"] for row in rows]


def test_refusals_have_a_code_and_a_cure(assay):
    assay.create_dataset("pond")

    with pytest.raises(Problem, match="Choose another name") as refused:
        assay.create_dataset("pond")

    assert (refused.value.status, refused.value.code) == (409, "conflict")
    assert refused.value.errors[0]["field"] == "name"
    with pytest.raises(Problem) as missing:
        assay.get("datasets/lake/")
    assert missing.value.status == 404


def test_a_row_is_deleted_once_the_name_is_repeated(assay, tmp_path):
    assay.create_dataset("pond")
    (tmp_path / "a.png").write_bytes(factories.picture(1))
    assay.add_images("pond", tmp_path)
    [image] = assay.pages("datasets/pond/images/")

    names = {f"datasets/pond/images/{image['id']}/": "a.png", "datasets/pond/": "pond"}
    for path, name in names.items():
        with pytest.raises(Problem, match=f"confirm={name}") as refused:
            assay.delete(path)
        assert refused.value.errors[0]["field"] == "confirm"
        assay.delete(path, confirm=name)

    assert list(assay.pages("datasets/")) == []


def test_a_damaged_file_is_refused_and_a_failed_job_raised_with_its_reason(
    assay, tmp_path, monkeypatch
):
    assay.create_dataset("pond")
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04 no zip")

    with pytest.raises(Problem, match="Create the zip again"):
        assay.post("datasets/pond/images/", files={"zip": tmp_path / "broken.zip"})
    rows = [{"state": "running"}, {"state": "failed", "error": "The disk is full."}]
    monkeypatch.setattr(assay, "get", lambda path: rows.pop(0))
    with pytest.raises(JobFailed, match="disk is full"):
        assay.wait("datasets/pond/imports/1/")


def test_a_job_that_stays_queued_is_warned_about(assay, monkeypatch):
    monkeypatch.setattr(transport, "QUEUED_LONG", 0)
    rows = [{"state": state} for state in ("queued", "running", "done")]
    monkeypatch.setattr(assay, "get", lambda path: rows.pop(0))

    with pytest.warns(UserWarning, match="does a worker run") as warned:
        assert assay.wait("datasets/pond/imports/1/") == {"state": "done"}
    assert [len(warned), warned[0].filename] == [1, __file__]


def answering(*statuses: int) -> tuple[AssayClient, list[float], list[str]]:
    """A client whose site answers so in turn; its pauses, and the requests that came."""
    pauses: list[float] = []
    requests: list[str] = []
    left = list(statuses)

    def handle(request: httpx.Request) -> httpx.Response:
        requests.append(request.method)
        status = left.pop(0)
        if status == 0:
            raise httpx.ConnectError("nobody listens")
        return httpx.Response(status, json={}, headers={"Retry-After": "7"})

    client = AssayClient("http://site", "secret", sleep=pauses.append, retries=2)
    client._http = httpx.Client(base_url="http://site", transport=httpx.MockTransport(handle))
    return client, pauses, requests


def test_what_the_site_could_not_take_is_repeated_when_it_says():
    client, pauses, requests = answering(503, 429, 200)

    assert client.get("me/") == {}
    assert (pauses, len(requests)) == ([7, 7], 3)


def test_requests_that_may_have_been_carried_out_are_not_repeated():
    client, pauses, requests = answering(0, 200)

    with pytest.raises(httpx.ConnectError):
        client.post("tokens/", {})
    assert (pauses, requests) == ([], ["POST"])
    client, pauses, requests = answering(0, 200)
    assert client.get("me/") == {}
    assert requests == ["GET", "GET"]


def test_retries_end_with_the_last_refusal():
    client, pauses, _ = answering(503, 503, 503)

    with pytest.raises(Problem) as refused:
        client.post("tokens/", {})

    assert (refused.value.status, len(pauses)) == (503, 2)


def test_reports_of_two_releases_are_those_of_the_command(
    assay, alice, bob, dataset, tmp_path, shell
):
    releases.boxes(alice, bob, dataset)
    releases.yes_or_no(alice, bob, factories.make_dataset(alice, "meadow"))
    windows = tmp_path / "windows.csv"
    windows.write_text("image,rank,x0,y0,x1,y1\n0.png,1,0,0,9,9\n0.png,2,2,2,22,20\n")
    expected = shell.result("labels", "report", "boxes", "labels", "--windows", windows)

    made = assay.report("boxes", 1, windows=windows, second=("labels", 1))

    assert known({"release": made["release"], "other": made["other"]}) == known(expected)
    assert assay.report("labels", 1)["other"] is None
