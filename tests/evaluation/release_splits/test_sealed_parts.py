"""Benchmarks on a sealed part: who sealed it sees images and labels, others counts and scores."""

import csv
import re

import pytest

from evaluation.benchmarks import runs
from evaluation.benchmarks.kinds.labeled import paths
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.metrics.wordnet.nouns import load
from evaluation.models import Benchmark, Run
from evaluation.release_splits import making, parts
from labeling.jobs import queue
from labeling.models import Job, Question
from tests import factories
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.world import CAT, DOG

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wordnet")]
SITE, API = "/benchmarks/hidden/", "/api/v1/benchmarks/hidden/"
# An image of the campaign; figures are PNG files too.
NAME = re.compile(r"\d\d\.png")
# Every address that has images or labels: of the site, of the API.
HIDDEN = [
    f"{SITE}truth.zip",
    f"{SITE}runs/{{run}}/images.jsonl",
    f"{SITE}runs/{{run}}/newest.jsonl",
    f"{SITE}runs/{{run}}/images/",
    f"{SITE}runs/{{run}}/images/0/",
    f"{SITE}runs/{{run}}/images/0/photo",
    f"{SITE}label-sets/2.zip",
    f"{API}truth.zip",
    f"{API}runs/{{run}}/images.jsonl",
    f"{API}runs/{{run}}/newest.jsonl",
    f"{API}label-sets/2.zip",
]
SHOWN = [
    SITE,
    f"{SITE}images.txt",
    f"{SITE}submissions/",
    f"{SITE}label-sets/",
    f"{SITE}runs/{{run}}/",
    f"{SITE}runs/{{run}}/result.json",
    f"{SITE}runs/{{run}}/summary.csv",
    API,
    f"{API}images.txt",
    f"{API}submissions/",
    f"{API}reviews/",
    f"{API}label-sets/",
    f"{API}runs/{{run}}/",
]


@pytest.fixture
def hidden(alice, rita, zoo, first) -> Benchmark:
    """Rita's benchmark on the part that Alice sealed."""
    row = making.make(making.request(first, alice, by="50/50", seal=True))
    return world.make(rita, zoo, "classification", name="hidden", part=f"{row.pk}:test")


@pytest.fixture
def run(alice, hidden, tmp_path) -> Run:
    """A finished run, after a review."""
    images = paths.truth_folder(hidden) / "truth.csv"
    with open(images, newline="") as file:
        rows = [(line["image"], 1, CAT) for line in csv.DictReader(file)]
    world.submit(hidden, alice, tmp_path, content=rows)
    fields = {"name": "looks", "title": "Looks", "agreements": 0.5}
    review = reviews.open_review(hidden, alice, wordnet=load(), **fields)
    questions = review.campaign.questions.values_list("pk", flat=True)
    factories.put(review.campaign, questions, state=Question.State.DROPPED, seats_free=0)
    reviews.apply(review, alice, load())
    made = runs.request(hidden, alice)
    queue.run(Job.objects.get(kind="score", key=f"run {made.pk}").pk)
    made.refresh_from_db()
    assert made.state == Run.State.DONE, made.error
    return made


def content_of(response) -> bytes:
    return b"".join(response) if response.streaming else response.content


@pytest.mark.parametrize("address", HIDDEN)
def test_only_who_sealed_the_part_sees_images_and_labels(client, alice, rita, run, address):
    address = address.format(run=run.pk)
    for user, status in ((alice, 200), (rita, 403)):
        client.force_login(user)
        response = client.get(address)
        text = content_of(response).decode(errors="replace")
        assert response.status_code == status, user
    assert not NAME.search(text)
    assert "sealed" in text


@pytest.mark.parametrize("address", SHOWN)
def test_others_see_counts_and_scores_without_labels(client, rita, hidden, run, address):
    client.force_login(rita)

    response = client.get(address.format(run=run.pk))

    text = content_of(response).decode()
    assert response.status_code == 200
    # images.txt is what a classifier must predict: names, and nothing else.
    if address.endswith("images.txt"):
        row, part = parts.part_for(hidden.campaign, hidden.settings["part"])
        assert set(text.split()) == parts.images_of(row, part)
    else:
        assert not NAME.search(text)
    for link in ("truth.zip", "images.jsonl", "label-sets/2.zip"):
        assert link not in text


def test_a_result_names_no_image_whose_outcome_a_newer_truth_changed(client, alice, rita, run):
    newest = {
        "version": 2,
        "sha256": "0" * 64,
        "release": run.result["release"],
        "images": 10,
        "classes": 2,
        "objects": 0,
        "opening_images": {"images": 10, "submissions": []},
        "all_images": {"images": 10, "submissions": []},
        "effects": [
            {
                "name": "alpha",
                "version": 2,
                "images": 10,
                "ignored": 0,
                "outcomes_changed": 1,
                "changed_images": ["04.png"],
                "ranks": [1, 1, 1],
                "difference": {"value": 0.1, "interval": None},
            }
        ],
    }
    Run.objects.filter(pk=run.pk).update(result=run.result | {"newest": newest})
    addresses = (SITE, f"{SITE}runs/{run.pk}/result.json", f"{API}runs/{run.pk}/")
    for user, is_named in ((alice, True), (rita, False)):
        client.force_login(user)
        for address in addresses:
            text = content_of(client.get(address)).decode()
            if address != SITE:
                assert '"outcomes_changed"' in text
            assert ("04.png" in text) <= is_named
        assert ("04.png" in text) == is_named


def test_who_sealed_the_part_finds_the_links(client, alice, run):
    client.force_login(alice)

    page = client.get(SITE).content.decode()

    for link in ("truth.zip", "images.jsonl", f"runs/{run.pk}/images/"):
        assert link in page


def test_an_administrator_is_not_who_sealed_the_part(client, run):
    client.force_login(factories.person("root", is_staff=True))

    assert client.get(f"{SITE}truth.zip").status_code == 403


def test_others_open_no_review(client, rita, run):
    client.force_login(rita)
    body = {"name": "again", "title": "Again", "agreements": 1}

    response = client.post(f"{API}reviews/", body, content_type="application/json")

    assert (response.status_code, response.json()["code"]) == (403, "sealed")
    form = body | {"open": "1", "models": "alpha", "seed": 0, "votes": 1}
    assert client.post(f"{SITE}label-sets/", form).status_code == 422


@pytest.mark.parametrize(
    "rows",
    [
        [("elsewhere.png", 1, CAT)],
        [("{image}", 1, "no class")],
        [("{image}", 1, CAT), ("{image}", 1, DOG)],
        [("{image}", 0, CAT)],
    ],
)
def test_no_error_of_a_submission_tells_a_label(client, rita, hidden, tmp_path, rows):
    client.force_login(rita)
    with open(paths.truth_folder(hidden) / "truth.csv", newline="") as file:
        truth = next(csv.DictReader(file))
    rows = [(image.format(image=truth["image"]), *rest) for image, *rest in rows]
    path = world.predictions(tmp_path / "found.csv", "classification", *rows)

    with path.open("rb") as file:
        response = client.post(f"{SITE}submissions/", {"name": "beta", "file": file})

    # The cure of an unknown class has the same example for everybody.
    errors = str(response.context["form"].errors).replace("give a wnid: n02084071", "")
    assert response.status_code == 422
    assert errors
    for key in (CAT, DOG):
        assert key not in errors


def test_the_other_part_is_open_to_all(client, alice, rita, zoo, hidden):
    row, _ = parts.part_for(zoo, hidden.settings["part"])
    world.make(alice, zoo, "classification", name="open", part=f"{row.pk}:val")
    client.force_login(rita)

    response = client.get("/benchmarks/open/truth.zip")

    assert response.status_code == 200
    assert content_of(response)


def test_the_part_is_chosen_in_the_form_and_in_the_api(client, alice, zoo, first):
    row = making.make(making.request(first, alice, by="50/50"))
    client.force_login(alice)
    page = client.get(f"/benchmarks/new/labeled/?campaign=labels&part={row.pk}:val")
    text = page.content.decode()
    assert f'<option value="{row.pk}:val" selected>val of split {row.pk} of release 1' in text

    form = {"campaign": "labels", "kind": "classification", "name": "dev", "title": "Dev"}
    more = {
        "split": "test",
        "confidence": 0.95,
        "seed": 0,
        "every": "night",
        "min_images": 50,
        "part": f"{row.pk}:val",
    }
    assert client.post("/benchmarks/new/labeled/", form | more).status_code == 302
    kinds = "/api/v1/benchmark-kinds/labeled/"
    body = {"campaign": "labels", "kind": "classification", "part": f"{row.pk}:test"}
    plan = client.post(f"{kinds}plans/", body, content_type="application/json").json()
    entire = body | {"name": "final", "title": "Final"}
    made = client.post(f"{kinds}benchmarks/", entire, content_type="application/json").json()

    assert made["settings"]["part"] == f"{row.pk}:test"
    assert plan["truth"]["images"] == made["settings"]["truth"]["images"] == 10
    assert f"{row.pk}:val" in client.get("/benchmarks/dev/").content.decode()


def test_the_notes_on_a_version_name_no_image_to_others(client, alice, rita, run):
    run.benchmark.truth_versions.update(report={"left_out": ["zoo/1.png"]})
    lists = []
    for user in (alice, rita):
        client.force_login(user)
        answer = client.get(f"/api/v1/benchmarks/{run.benchmark.name}/truth-versions/").json()
        lists.append(answer["results"][0]["report"]["left_out"])

    assert lists == [["zoo/1.png"], []]
