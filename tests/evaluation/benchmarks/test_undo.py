import pytest
from django.db import connection
from django.utils import timezone

from evaluation.benchmarks import folders, removed_images
from evaluation.benchmarks.undo import BenchmarkUndo
from evaluation.models import Benchmark, MistakeReview, ModelRun, ReleaseSplit, Run, Submission
from labeling.errors import Conflict
from labeling.jobs import queue
from labeling.models import Campaign, Image, Job
from labeling.removal import privacy
from labeling.removal.undo import CampaignUndo
from tests.clients import logged_in


def test_a_campaign_of_a_benchmark_is_kept_and_the_benchmark_is_named(world):
    Benchmark.objects.filter(campaign=world.campaign).update(title="Ranks of networks")
    undo = CampaignUndo(world.campaign, world.alice)
    undo.archive()

    [phrase] = [phrase for phrase in undo.dependents().prevents if "benchmark" in phrase]
    assert phrase == "2 benchmarks (Ranks of networks)"
    with pytest.raises(Conflict, match=r"in use by .*benchmark"):
        undo.delete(world.campaign.name)
    assert Campaign.objects.filter(pk=world.campaign.pk).exists()


def test_a_benchmark_is_archived_then_deleted_and_its_campaign_stays(world):
    undo = BenchmarkUndo(world.benchmark, world.alice)

    with pytest.raises(Conflict, match="Archive"):
        undo.delete("coots")
    undo.archive()
    undo.delete("coots")

    assert not Benchmark.objects.filter(name="coots").exists()
    assert not Submission.objects.filter(benchmark=world.benchmark.pk).exists()
    assert not Run.objects.filter(benchmark=world.benchmark.pk).exists()
    assert Campaign.objects.filter(pk=world.campaign.pk).exists()
    connection.check_constraints()


def test_an_archived_campaign_opens_no_benchmark(world):
    CampaignUndo(world.campaign, world.alice).archive()
    body = {"campaign": world.campaign.name, "kind": "classification", "release": 1}

    response = logged_in(world.alice).post(
        "/api/v1/released-benchmark-plans/", body, "application/json"
    )

    assert (response.status_code, "archived" in response.json()["detail"]) == (409, True)


def test_every_campaign_of_the_world_is_deleted_once_nothing_uses_it(world):
    """Whatever tables its kind fills."""
    ModelRun.objects.all().delete()
    for row in ReleaseSplit.objects.all():
        row.delete()
    Benchmark.objects.update(archived_at=timezone.now())
    for benchmark in Benchmark.objects.all():
        BenchmarkUndo(benchmark, benchmark.created_by).delete(benchmark.name)
    assert not MistakeReview.objects.exists()
    for campaign in Campaign.objects.all():
        undo = CampaignUndo(campaign, campaign.created_by)
        undo.archive()
        undo.delete(campaign.name)

    assert not Campaign.objects.exists()
    connection.check_constraints()


def test_the_newest_truth_drops_an_image_that_was_removed(world):
    """Even where the truth is pinned; scores so far stay and say so."""
    species = Benchmark.objects.get(name="species")
    Benchmark.objects.filter(pk=species.pk).update(is_pinned=True)
    before = species.truth_versions.latest("number").number
    image = Image.objects.get(name="coots/001.png")
    score = world.run.result
    frames = folders.folder_of(Benchmark.objects.get(name="reveal")) / "frames" / "0"
    frames.mkdir(parents=True, exist_ok=True)
    (frames / "1.webp").write_bytes(b"pixels")

    privacy.remove(image, world.alice, image.name)
    for job in Job.objects.filter(kind=removed_images.KIND):
        queue.run(job.pk)
        job.refresh_from_db()
        assert job.state == Job.State.DONE, job.error

    version = species.truth_versions.latest("number")
    assert (version.number, version.removed) == (before + 1, 1)
    assert frames.exists(), "of another dataset"
    privacy.remove(Image.objects.get(name="cats/0.png"), world.alice, "cats/0.png")
    assert not frames.exists()
    reveal = Benchmark.objects.get(name="reveal")
    queue.run(Job.objects.get(kind=removed_images.KIND, payload__benchmark=reveal.pk).pk)
    assert reveal.truth_versions.latest("number").removed == 2
    world.run.refresh_from_db()
    assert world.run.result == score
    page = logged_in(world.alice).get("/benchmarks/coots/").content.decode()
    assert "cannot be computed from pixels again" in page
