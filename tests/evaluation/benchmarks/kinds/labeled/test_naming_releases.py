"""Releases of naming campaigns as submissions to a benchmark."""

import pytest
from django.urls import reverse

from evaluation.benchmarks.kinds.labeled import benchmarks
from evaluation.benchmarks.kinds.labeled.label_sets import reviews
from evaluation.metrics.wordnet.nouns import load
from labeling.campaigns import lifecycle
from labeling.follow_ups import opening
from labeling.releases import freezing
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.label_sets import ducks
from tests.evaluation.benchmarks.kinds.labeled.test_running import finished, lines
from tests.evaluation.crowd import COOT, DRAKE, GOLDFISH, TENCH
from tests.labeling.web.test_api_campaigns import program

IMAGES = [f"{name}.png" for name in "abcd"]
TRUTH = dict(zip(IMAGES, (COOT, COOT, DRAKE, TENCH), strict=True))
# People were not asked about "d.png".
SAID = {"a.png": [COOT], "b.png": [DRAKE, COOT], "c.png": [TENCH, GOLDFISH]}
MACHINE = [("a.png", 1, COOT), ("b.png", 1, GOLDFISH), ("c.png", 1, DRAKE), ("d.png", 1, COOT)]


def named(alice, bob, dataset, name, answers, **settings):
    """A naming campaign with these answers of one person each."""
    campaign = opening.draft(
        alice,
        name=name,
        title=name.title(),
        kind="naming",
        dataset=dataset,
        policy={"votes": 1, "max_votes": 1, "gold_share": 0},
        settings=settings,
        vocabulary=[{"key": key, "name": key} for key in (COOT, DRAKE, TENCH, GOLDFISH)],
        pairs=opening.naming_pairs(dataset, list(answers)),
    )
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], lambda image, _: answers[image])
    return campaign


@pytest.fixture
def benchmark(wordnet, alice, bob, dataset, tmp_path):
    """A classification on four images in which a machine takes part, and a release of "names"."""
    for image in IMAGES:
        factories.make_image(dataset, image)
    truth = named(alice, bob, dataset, "truth", {k: {"key": v} for k, v in TRUTH.items()})
    made = world.make(alice, truth, "classification")
    world.submit(made, alice, tmp_path, "machine", MACHINE)
    people = named(alice, bob, dataset, "names", {k: {"keys": v} for k, v in SAID.items()}, most=5)
    freezing.freeze(people, alice)
    return made


def release_of(benchmark):
    return benchmark.campaign.dataset.campaigns.get(name="names").releases.get()


def test_people_are_scored_on_their_images_and_compared_on_them(
    benchmark, alice, run_jobs, as_alice
):
    url = reverse("evaluation:submissions", args=["classification"])
    page = as_alice.post(url, {"name": "people", "release": release_of(benchmark).pk})

    assert page.status_code == 302
    run = finished(benchmark, run_jobs)
    machine, people = run.result["submissions"]
    assert (machine["result"]["images"], people["result"]["images"]) == (4, 3)
    assert people["result"]["people"]["campaign"] == "names"
    assert people["result"]["top1_error"]["value"] == pytest.approx(2 / 3)
    assert people["result"]["top5_error"]["value"] == pytest.approx(1 / 3)
    comparison = run.result["comparison"]
    [pair] = comparison["pairs"]
    assert comparison["images"] == 3
    assert comparison["holm"] == {"over": "pairs of people and a classifier", "tests": 1}
    assert pair["errors"] == [1, 1]
    assert (pair["only_first_wrong"], pair["only_second_wrong"]) == (1, 1)
    assert pair["either_right"]["value"] == 1.0
    assert (pair["mcnemar_holm_p"], pair["z"]) == (1.0, 0.0)
    outcomes = {line["image"]: line["outcomes"]["people"] for line in lines(benchmark, run)}
    assert outcomes["d.png"] is None
    assert outcomes["b.png"]["rank"] == 2
    shown = as_alice.get(reverse("evaluation:benchmark", args=["classification"]))
    assert "Either right" in shown.content.decode()
    assert "people settled 3 of the 4 images" in shown.content.decode()
    images = as_alice.get(
        reverse("evaluation:labeled_images", args=["classification", run.pk]),
        {"classifier": "people"},
    )
    assert images.status_code == 200


def test_a_release_says_the_same_by_command_by_file_and_by_the_api(benchmark, alice, shell):
    folder = freezing.folder_of(release_of(benchmark))
    by_command = shell.result("benchmark", "submit", "classification", "people", folder)
    url = "/api/v1/benchmarks/classification/submissions/people/"

    answer = program(alice).put(url, {"campaign": "names"}, format="json")

    assert answer.status_code == 200, answer.content
    row = benchmark.submissions.get(name="people")
    # The release itself is what counts, not how it was packed.
    assert (row.attempts, row.sha256) == (1, release_of(benchmark).sha256)
    assert by_command["sha256"] == row.sha256


@pytest.mark.parametrize(
    "body", [{}, {"campaign": "nobodys"}, {"campaign": "names", "number": 9}, {"number": 1}]
)
def test_what_is_no_release_is_refused(benchmark, alice, body):
    url = "/api/v1/benchmarks/classification/submissions/people/"

    answer = program(alice).put(url, body, format="json")

    assert answer.status_code in (400, 403, 404)
    assert not benchmark.submissions.filter(name="people").exists()


def test_every_version_of_the_label_sets_scores_people_on_their_images(benchmark, alice, bob):
    folder = freezing.folder_of(release_of(benchmark))
    benchmarks.add_submission(benchmark, alice, "people", folder, "names")
    review = ducks.opened(benchmark, alice)
    ducks.answered(review, bob)
    reviews.apply(review, alice, load())

    first, second = ducks.scored(benchmark, alice).result["label_sets"]

    images = {row["name"]: row["accuracy"]["images"] for row in first["submissions"]}
    assert images == {"machine": 4, "people": 3}
    assert second["comparison"]["holm"]["over"] == "pairs of people and a classifier"
    assert "mcnemar_holm_p" in second["comparison"]["pairs"][0]


def test_a_file_and_a_release_at_once_are_refused(benchmark, as_alice):
    url = reverse("evaluation:submissions", args=["classification"])

    page = as_alice.post(url, {"name": "people"})

    assert "Choose a file, or a release of what people named." in page.content.decode()
