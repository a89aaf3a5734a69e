import pytest
from django.db import connection
from django.utils import timezone

from evaluation.benchmarks.undo import BenchmarkUndo
from evaluation.models import Benchmark, MistakeReview, ModelRun, ReleaseSplit, Run, Submission
from labeling.errors import Conflict
from labeling.models import Campaign
from labeling.removal.undo import CampaignUndo


def test_a_campaign_of_a_benchmark_is_kept_and_the_benchmark_is_named(world):
    undo = CampaignUndo(world.campaign, world.alice)
    undo.archive()

    assert any("Coots" in phrase for phrase in undo.dependents().prevents)
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
