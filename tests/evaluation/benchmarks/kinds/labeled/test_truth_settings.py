"""How a truth follows new labels: opened and changed on pages, in the API and by command."""

import pytest

from evaluation.models import Benchmark
from tests import factories
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.test_versions import (
    LATE,
    answer_late,
    growing,
    night_of,
    of_every_kind,
    opened,
)
from tests.labeling import part_releases

__all__ = ["growing"]
pytestmark = pytest.mark.django_db


def text_of(page):
    return " ".join(page.content.decode().split())


def test_the_command_tells_that_a_competition_has_no_versions(birds, shell):
    status, _, err = shell("benchmark", "versions", birds.name)

    assert (status, "no versions of its truth" in err) == (1, True)


def test_a_benchmark_is_opened_pinned(growing, shell, wordnet):
    options = ("--campaign", growing.name, "--name", "fixed", "--pinned", "--min-images", 7)
    shell.result("benchmark", "open", "detection", *options, "--every", "week")

    row = Benchmark.objects.get(name="fixed")
    assert (row.is_pinned, row.every, row.min_images) == (True, "week", 7)


def test_the_api_opens_a_benchmark_that_waits(growing, as_alice, wordnet):
    body = {
        "kind": "detection",
        "campaign": growing.name,
        "name": "slow",
        "title": "Slow",
        "every": "manual",
        "min_images": 9,
    }
    made = as_alice.post("/api/v1/benchmark-kinds/labeled/benchmarks/", body, "application/json")

    assert made.status_code == 201
    assert (made.json()["every"], made.json()["min_images"], made.json()["pinned"]) == (
        "manual",
        9,
        False,
    )


def test_the_form_opens_a_benchmark_that_never_changes(growing, as_alice, wordnet):
    fields = {"kind": "classification", "campaign": growing.name, "name": "fixed", "title": "Fixed"}
    fields |= {"split": "test", "confidence": 0.9, "seed": 0}

    page = as_alice.post(
        "/benchmarks/new/labeled/", fields | {"every": "week", "min_images": 7, "pinned": "on"}
    )

    assert page.status_code == 302
    row = Benchmark.objects.get(name="fixed")
    assert (row.is_pinned, row.every, row.min_images) == (True, "week", 7)


def test_a_truth_that_is_pinned_later_keeps_its_newest_version(
    alice, bob, dataset, as_alice, wordnet, tmp_path
):
    campaign = part_releases.campaign_of(alice, dataset)
    factories.join(bob, campaign)
    answer_late(campaign, bob, "cats/0.png")
    benchmark = opened(alice, campaign, "detection")
    answer_late(campaign, bob, "cats/1.png")
    assert night_of(benchmark)[0]["version"] == 2
    world.submit(benchmark, alice, tmp_path)
    address = f"/api/v1/benchmarks/{benchmark.name}/"

    pinned = as_alice.patch(address, {"pinned": True}, "application/json").json()
    answer_late(campaign, bob)
    row, run = night_of(benchmark)

    assert (pinned["pinned"], pinned["every"], pinned["min_images"]) == (True, "night", 1)
    assert (row["version"], row["changed"], run.result["truth_versions"]) == (2, 0, [1, 2])
    # Unpinned, it takes what came meanwhile.
    as_alice.patch(address, {"pinned": False}, "application/json")
    row, run = night_of(benchmark)
    assert (row["version"], row["changed"], run.result["truth_versions"]) == (3, 1, [1, 3])


def test_fewer_images_needed_let_a_waiting_release_count(growing, alice, bob, as_alice, tmp_path):
    benchmark = opened(alice, growing, "detection", min_images=4)
    world.submit(benchmark, alice, tmp_path)
    answer_late(growing, bob)
    assert night_of(benchmark)[0]["version"] == 1

    address = f"/api/v1/benchmarks/{benchmark.name}/"
    as_alice.patch(address, {"min_images": 3}, "application/json")

    assert night_of(benchmark)[0]["version"] == 2


def test_a_competition_has_no_truth_that_follows(birds, as_alice):
    answer = as_alice.patch(
        f"/api/v1/benchmarks/{birds.name}/", {"every": "week"}, "application/json"
    )

    assert answer.status_code == 400
    assert answer.json()["detail"] == "This benchmark has no versions of its truth."


@of_every_kind
def test_a_participant_learns_of_the_newest_images(kind, growing, alice, bob, as_alice, wordnet):
    benchmark = opened(alice, growing, kind)
    first = as_alice.get(f"/benchmarks/{kind}/images.txt")
    answer_late(growing, bob)
    night_of(benchmark)

    names = b"".join(as_alice.get(f"/benchmarks/{kind}/images.txt").streaming_content).decode()
    text = text_of(as_alice.get(f"/benchmarks/{kind}/submissions/"))

    assert names.split() == [*b"".join(first.streaming_content).decode().split(), LATE]
    assert f"{len(names.split())} images" in text
    assert "this is version 2" in text
