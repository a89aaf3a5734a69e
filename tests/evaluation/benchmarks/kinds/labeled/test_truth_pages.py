"""The versions of a truth on pages, in the API and by command, and the report of the night."""

import io
import re
import zipfile

import pytest
from django.test.client import encode_multipart

from evaluation.benchmarks import runs, truth_versions
from evaluation.benchmarks.kinds.labeled.truth.image_rows import RowsByImage
from evaluation.benchmarks.kinds.labeled.versions import TruthHistory
from evaluation.models import Benchmark
from labeling.models import Job
from tests import factories
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.test_versions import (
    LATE,
    answer_late,
    growing_campaign,
    night_of,
    opened,
)

pytestmark = pytest.mark.usefixtures("afresh")


@pytest.fixture(scope="module")
def built(once, wordnet):
    """A detection benchmark whose truth has two versions."""
    with once():
        alice, bob, dataset = factories.cast()
        campaign = growing_campaign(alice, bob, dataset)
        benchmark = opened(alice, campaign, "detection")
        world.submit(benchmark, alice, once.folder)
        night_of(benchmark)
        answer_late(campaign, bob)
        night_of(benchmark)
    return benchmark.pk


@pytest.fixture
def followed(built, afresh):
    return Benchmark.objects.get(pk=built)


def text_of(page):
    return " ".join(page.content.decode().split())


def files_of(page):
    with zipfile.ZipFile(io.BytesIO(b"".join(page.streaming_content))) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist()}


def test_the_page_lists_every_version(followed, as_alice):
    text = text_of(as_alice.get(f"/benchmarks/{followed.name}/truth/"))

    assert "takes newer labels" in text
    assert "every night" in text
    assert "release 1" in text
    assert "release 2" in text


def test_a_pinned_truth_is_called_so(followed, as_alice):
    Benchmark.objects.update(is_pinned=True)

    text = text_of(as_alice.get(f"/benchmarks/{followed.name}/truth/"))

    assert "keeps the labels of release 2" in text


def test_the_benchmark_shows_the_scores_by_both_truths(followed, as_alice):
    text = text_of(as_alice.get(f"/benchmarks/{followed.name}/"))
    run = runs.latest(followed)

    assert "First and newest labels" in text
    assert "Newest labels, same images" in text
    figure = as_alice.get(f"/benchmarks/{followed.name}/runs/{run.pk}/truth-versions.svg")
    assert figure.status_code == 200
    table = as_alice.get(f"/benchmarks/{followed.name}/runs/{run.pk}/truth-versions.csv")
    assert "alpha,opening images," in table.content.decode()


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    "address", ["/benchmarks/{}/truth/{}.zip", "/api/v1/benchmarks/{}/truth-versions/{}.zip"]
)
def test_the_files_of_a_version_are_what_it_is(address, number, followed, as_alice, tmp_path):
    goal = tmp_path / "away"
    goal.mkdir()
    page = as_alice.get(address.format(followed.name, number))

    for name, content in files_of(page).items():
        (goal / name).write_bytes(content)

    images = RowsByImage.read("detection", goal).images
    assert images == TruthHistory.of(followed).at(number).images


def test_a_version_that_does_not_exist_is_not_found(followed, as_alice):
    assert as_alice.get(f"/benchmarks/{followed.name}/truth/9.zip").status_code == 404


def test_the_api_and_the_command_state_the_same(followed, as_alice, shell):
    first, second = shell.result("benchmark", "versions", followed.name)

    rows = as_alice.get(f"/api/v1/benchmarks/{followed.name}/truth-versions/").json()["results"]

    assert [row["sha256"] for row in rows] == [first["sha256"], second["sha256"]]
    assert [*first] == [
        "version",
        "release",
        "sha256",
        "made_at",
        "added",
        "removed",
        "changed",
        "reviews",
        "report",
    ]
    assert rows[1]["report"] == second["report"]
    assert {*rows[0]} == {*first}
    assert (second["version"], second["release"], second["reviews"]) == (2, 2, [])


def test_the_command_prints_a_row_for_each_version(followed, shell):
    version = truth_versions.newest(followed)
    version.report["left_out"] = [LATE]
    version.save()

    status, out, _ = shell("benchmark", "versions", followed.name)

    head, *rows, note = out.splitlines()
    assert (status, head.split()[:2], head.split()[-1]) == (0, ["version", "release"], "reviews")
    assert [row.split()[:2] for row in rows] == [["1", "1"], ["2", "2"]]
    assert note == f"version 2, left out: {LATE}"


def test_the_page_changes_how_the_truth_follows(followed, as_alice):
    address = f"/benchmarks/{followed.name}/truth/"
    Benchmark.objects.update(compared_with="3 open")

    wrong = as_alice.post(address, {"every": "week", "min_images": "0"})
    page = as_alice.post(address, {"every": "week", "min_images": "7", "pinned": "on"}, follow=True)

    assert (wrong.status_code, page.status_code) == (422, 200)
    assert "greater than or equal to 1" in text_of(wrong)
    # The newest version stays what it is.
    assert "keeps the labels of release 2 and never takes newer ones" in text_of(page)
    row = Benchmark.objects.get(pk=followed.pk)
    assert (row.is_pinned, row.every, row.min_images, row.compared_with) == (True, "week", 7, "")


def test_a_field_that_a_form_of_the_api_lacks_stays(followed, as_alice):
    Benchmark.objects.update(is_pinned=True)
    body, kind = encode_multipart("x", {"every": "week"}), "multipart/form-data; boundary=x"

    answer = as_alice.patch(f"/api/v1/benchmarks/{followed.name}/", body, kind).json()

    assert (answer["pinned"], answer["every"]) == (True, "week")


def test_the_night_is_reported(followed, as_alice):
    text = text_of(as_alice.get("/nightly/"))

    assert followed.title in text
    assert "version 2" in text
    Job.objects.filter(kind="nightly", payload__step="settle").update(error="The disk is full.")
    assert "The disk is full." in text_of(as_alice.get("/nightly/"))


def test_the_night_belongs_to_benchmarks_in_the_menu(followed, as_alice):
    page = as_alice.get("/nightly/").content.decode()

    assert re.search('href="/benchmarks/"[^>]*aria-current="page"', page)


def test_the_night_counts_in_the_unit_of_the_truth(followed, as_alice):
    assert "1 image" in text_of(as_alice.get("/nightly/"))


def test_another_researcher_sees_nothing_of_the_night(followed, client):
    client.force_login(factories.make_user("rita", is_researcher=True))
    Job.objects.filter(kind="nightly", payload__step="settle").update(error="The disk is full.")

    text = text_of(client.get("/nightly/"))

    assert followed.title not in text
    assert "The disk is full." not in text


def test_a_label_is_in_the_newest_files_only(followed):
    history = TruthHistory.of(followed)

    assert LATE not in history.at(1).images
    assert LATE in history.at(2).images
    assert truth_versions.newest_number(followed) == 2
