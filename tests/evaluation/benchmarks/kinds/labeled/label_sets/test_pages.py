"""Label sets on the site, in the API and from the shell."""

import csv
import html
import io
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from evaluation.benchmarks import runs, truth_versions
from evaluation.benchmarks.kinds.labeled import paths
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.benchmarks.kinds.labeled.label_sets.applying import apply_answers
from evaluation.models import Run
from labeling.models import Campaign
from labeling.releases import freezing
from tests.clients import html_of
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.label_sets.ducks import (
    COOT,
    DRAKE,
    IMAGES,
    answered,
    opened,
    scored,
)

pytestmark = pytest.mark.django_db
PAGE = "/benchmarks/ducks/label-sets/"
API = "/api/v1/benchmarks/ducks/"


def text_of(page) -> str:
    """What a person reads, whatever the status."""
    return html.unescape(re.sub(r"<[^>]+>", "", html_of(page)))


@pytest.fixture
def applied(drakes, alice, bob):
    """Version 2, scored."""
    apply_answers(drakes, alice, answered(opened(drakes, alice), bob).campaign)
    return scored(drakes, alice)


def test_a_review_is_opened_and_applied_on_the_page(drakes, alice, bob, as_alice):
    assert "class of the ground truth" in text_of(as_alice.get(PAGE))
    fields = {"title": "Second look", "name": "looks", "models": ["alpha", "beta"], "votes": 1}

    made = as_alice.post(PAGE, fields | {"agreements": 0.25, "seed": 0, "open": "1"})

    assert made.headers["Location"] == "/campaigns/looks/"
    review = answered(drakes.reviews.get(), bob)
    page = as_alice.get(PAGE)
    assert "10 of 10 questions are finished" in text_of(page)
    done = as_alice.post(PAGE, {"campaign": "looks", "apply": "1"})
    assert done.headers["Location"] == "/benchmarks/ducks/"
    review.refresh_from_db()
    assert review.version == 2
    assert Run.objects.filter(benchmark=drakes, state="queued").exists()
    assert "6 of 12" in text_of(as_alice.get(PAGE))


def test_forms_that_cannot_be_taken_come_back_with_the_reason(drakes, alice, as_alice):
    opened(drakes, alice)
    for fields, words in [
        (
            {"open": "1", "title": "x", "name": "x", "agreements": 3, "seed": 0, "votes": 1},
            "less than",
        ),
        ({"open": "1", "title": "x", "name": "drakes"}, "This field is required"),
        ({"apply": "1", "campaign": "drakes"}, "Select a valid choice"),
        ({"apply": "1", "campaign": "second-look", "release": 7}, "has no release 7"),
    ]:
        page = as_alice.post(PAGE, fields)

        assert page.status_code in (404, 422), fields
        assert words in text_of(page), fields
        assert truth_versions.newest_number(drakes) == 1, fields


def test_a_name_that_is_taken_is_said_at_its_field(drakes, as_alice):
    fields = {"title": "x", "name": "drakes", "models": ["alpha"], "agreements": 0.1}

    page = as_alice.post(PAGE, fields | {"seed": 0, "votes": 1, "open": "1"})

    assert page.status_code == 422
    assert "already called" in text_of(page)


def test_the_benchmark_shows_which_version_each_number_is_by(applied, drakes, as_alice):
    page = as_alice.get("/benchmarks/ducks/")
    text = text_of(page)

    for words in (
        *("By version of the label sets", "Version 1", "Version 2", "alpha, beta"),
        *("0.7500", "0.9167", "0.8333", "reviewed", "label not valid", "tag: fine grained"),
    ):
        assert words in text
    svg = as_alice.get(f"/benchmarks/ducks/runs/{applied.pk}/label-sets.svg")
    assert b"version 2" in svg.content
    assert "alpha 0.750 by version 1, 0.917 by version 2" in html_of(page)


def test_csv_files_have_every_version_with_its_images(applied, as_alice):
    def rows(name: str) -> list[dict[str, str]]:
        content = html_of(as_alice.get(f"/benchmarks/ducks/runs/{applied.pk}/{name}.csv"))
        return list(csv.DictReader(io.StringIO(content)))

    rows_by_key = {
        (row["submission"], row["version"], row["by"]): row for row in rows("label-sets")
    }
    assert len(rows_by_key) == 2 * 3
    assert rows_by_key["beta", "2", "label sets"]["images"] == "12"
    assert rows_by_key["beta", "2", "reviewed images"]["images"] == "6"
    assert {row["rate"] for row in rows("label-rates")} >= {"label_not_valid", "tag_fine_grained"}


def test_the_page_takes_as_many_queries_for_two_reviews_as_for_one(
    applied, drakes, alice, as_alice, django_assert_num_queries
):
    for name in ("third-look", "fourth-look"):
        opened(drakes, alice, name=name, agreements=0)
        as_alice.get(PAGE)
        with django_assert_num_queries(9):
            as_alice.get(PAGE)


def test_the_zip_of_a_version_scores_the_same_by_command(
    applied, drakes, as_alice, tmp_path, shell
):
    zipped = as_alice.get(f"{PAGE}2.zip")
    assert zipped.headers["Content-Disposition"].endswith('"ducks-label-sets-2.zip"')
    with zipfile.ZipFile(io.BytesIO(zipped.getvalue())) as archive:
        archive.extractall(tmp_path)
    truth = world.paths.truth_folder(drakes) / "truth.csv"
    rows = [(image, 1, COOT if image in IMAGES[:3] else DRAKE) for image in IMAGES]
    path = world.predictions(tmp_path / "alpha.csv", "classification", *rows)

    by_command = shell.result(
        *("score", "classification", "--truth", truth, "--predictions", path),
        *("--valid-sets", tmp_path / "ducks-label-sets-2"),
    )

    submission = applied.result["label_sets"][1]["submissions"][0]["accuracy"]
    assert by_command["multi_label_accuracy"]["value"] == submission["value"]
    assert by_command["multi_label_accuracy"]["interval"] == pytest.approx(
        submission["interval"], abs=0.05
    )
    assert by_command["label_set"]["version"] == 2
    assert as_alice.get(f"{PAGE}3.zip").status_code == 404


def test_label_sets_are_of_classifications_alone(alice, bob, dataset, as_alice):
    cats = world.campaign_of(alice, bob, dataset)
    world.make(alice, cats, "detection", name="boxes")

    page = as_alice.get("/benchmarks/boxes/label-sets/")

    assert page.status_code == 400
    assert "this one is about detection" in text_of(page)


def test_a_review_is_opened_and_applied_by_the_api(drakes, alice, bob, as_alice):
    made = as_alice.post(
        f"{API}reviews/",
        {"name": "looks", "title": "Looks", "agreements": 0.25, "policy": {"votes": 1}},
        content_type="application/json",
    )
    assert made.status_code == 201
    assert made.json()["meta"]["counts"]["pairs"] == 10
    answered(drakes.reviews.get(), bob)

    response = as_alice.post(f"{API}label-sets/", {"campaign": "looks"}, "application/json")

    assert (response.status_code, response.json()["version"], response.json()["release"]) == (
        201,
        2,
        1,
    )
    [row] = as_alice.get(f"{API}label-sets/").json()["results"]
    assert row["result"]["counts"]["changed"] == 2
    assert len(as_alice.get(f"{API}reviews/").json()["results"]) == 1
    archive = as_alice.get(f"{API}label-sets/2.zip")
    assert "ducks-label-sets-2.zip" in archive.headers["Content-Disposition"]
    assert archive.getvalue()


def test_the_api_takes_the_queue_of_a_campaign_opened_by_command(drakes, alice, as_alice, shell):
    made = opened(drakes, alice)
    path = paths.review_folder(made, paths.ASKED) / reviews.QUEUE
    arguments = ("--name", "by-command", "--dataset", made.campaign.dataset.name)
    shell.result("campaign", "open", "mistake", *arguments, "--selection", path)
    body = {"campaign": "by-command", "release": 1}
    freezing.freeze(Campaign.objects.get(name="by-command"), alice)

    without = as_alice.post(f"{API}label-sets/", body, "application/json")
    queue = SimpleUploadedFile("mine.jsonl", path.read_bytes())
    refused = as_alice.post(f"{API}label-sets/", body | {"queue": queue})
    lines = path.read_text().splitlines()
    shortened = SimpleUploadedFile("mine.jsonl", "\n".join([lines[0], *lines[2:]]).encode())
    fewer = as_alice.post(f"{API}label-sets/", body | {"queue": shortened})

    assert (without.status_code, without.json()["errors"][0]["field"]) == (400, "queue")
    assert "10 pairs of the queue without an answer" in refused.json()["detail"]
    assert fewer.status_code == 400


def test_a_review_is_opened_and_applied_by_command(drakes, alice, bob, shell, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text("votes: 1\ngold_share: 0\nstop_early: never\n")
    arguments = ("--campaign", "looks", "--models", "alpha,beta", "--agreements", 0.25)
    made = shell.result("benchmark", "review", "ducks", *arguments, "--policy", policy)
    assert made["counts"]["pairs"] == 10
    answered(drakes.reviews.get(), bob)

    version = shell.result("benchmark", "apply", "ducks", "--campaign", "looks")
    result = shell.result("benchmark", "score", "ducks")

    assert (version["version"], version["release"], version["counts"]["changed"]) == (2, 1, 2)
    assert [label_set["version"] for label_set in result["label_sets"]] == [1, 2]
    status, out, _ = shell("benchmark", "score", "ducks")
    assert "label sets" in out
    assert status == 0
    assert runs.latest(drakes).result["label_sets"][1]["version"] == 2
    refusal = shell.refusal("benchmark", "review", "ducks", "--campaign", "y", "--models", "x")
    assert refusal["error"] == "'x' does not take part"
