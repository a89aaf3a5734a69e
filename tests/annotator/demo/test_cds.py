"""The demonstration's benchmark of parts: drawn objects, made-up classifiers, a score."""

import pytest

from annotator.demo import cds, parts
from evaluation.models import Benchmark, Run
from labeling.jobs import queue
from labeling.models import Campaign, Job
from labeling.releases import freezing
from tests.annotator.pieces import ground


@pytest.fixture(scope="module")
def loaded(once) -> int:
    with once():
        parts.load(*ground())
        return cds.load(*ground()).pk


@pytest.fixture
def benchmark(loaded, afresh) -> Benchmark:
    return Benchmark.objects.get(pk=loaded)


def test_every_object_is_drawn_and_the_third_campaign_stays_as_it_was(benchmark):
    frozen = freezing.read(benchmark.release)
    drawn = {
        photo.name: {part.key for part in thing.parts if part.polygons}
        for photo, objects in frozen.objects(rest=False)
        for thing in objects
    }

    assert set(drawn) == {"astronaut.png", "camera.png", "chelsea.png", "horse.png"}
    # What the import knew and what carol drew.
    assert {"eye", "nose", "head", "whiskers"} <= drawn["chelsea.png"]
    questions = Campaign.objects.get(name=parts.NAME).questions
    assert questions.count() == 3


def test_its_first_score_says_who_needs_least_of_an_object(benchmark):
    job = Job.objects.get(kind="score")
    queue.run(job.pk)

    run = benchmark.runs.get()
    assert run.state == Run.State.DONE, run.error
    needs = [
        row
        for row in run.result["tables"]["by_content_scheme"]
        if (row["measure"], row["averaging"]) == ("cds", "text")
    ]
    scores = {(row["classifier"], row["content_scheme"]): row["value"] for row in needs}
    assert len(scores) == len(cds.NEEDED_SHARES) * len(cds.CONTENT_SCHEMES)
    for scheme in cds.CONTENT_SCHEMES:
        assert scores["aurora", scheme] < scores["cirrus", scheme]


def test_loading_twice_makes_nothing_new(benchmark):
    before = benchmark.submissions.count(), benchmark.runs.count()

    cds.load(*ground())

    assert before == (benchmark.submissions.count(), benchmark.runs.count())
    assert Benchmark.objects.count() == 1
