"""The demonstration's benchmarks on released labels: made-up detectors and score maps."""

import pytest

from annotator.demo import cds, labeled, parts
from evaluation.models import Benchmark, Run
from labeling.jobs import queue
from labeling.models import Job
from tests.annotator.pieces import ground


@pytest.fixture(scope="module")
def names(once) -> list[str]:
    with once():
        parts.load(*ground())
        cds.load(*ground())
        return [row.name for row in labeled.load(*ground())]


@pytest.fixture
def loaded(names, afresh) -> dict[str, Benchmark]:
    return {name: Benchmark.objects.get(name=name) for name in names}


def scored(benchmark: Benchmark) -> dict[str, dict]:
    run = benchmark.runs.get()
    queue.run(Job.objects.get(kind="score", key=f"run {run.pk}").pk)
    run.refresh_from_db()
    assert run.state == Run.State.DONE, run.error
    return {row["name"]: row["result"] for row in run.result["submissions"]}


def test_the_detector_that_is_least_off_finds_most(loaded):
    scores = scored(loaded[labeled.BOXES])

    values = [scores[name]["mean_ap"]["value"] for name in labeled.BOX_SHIFTS]
    assert 1 == values[0] > values[1] > values[2] > 0


def test_who_lights_the_whole_object_beats_who_glances_at_its_head(loaded):
    scores = scored(loaded[labeled.MAPS])

    means = {name: result["max_box_acc_v2"]["mean"] for name, result in scores.items()}
    assert means["stare"] > means["glance"]


def test_loading_twice_makes_nothing_new(loaded):
    before = {name: row.runs.count() for name, row in loaded.items()}

    again = labeled.load(*ground())

    assert before == {row.name: row.runs.count() for row in again}
    assert all(row.submissions.count() == 3 for row in again)
