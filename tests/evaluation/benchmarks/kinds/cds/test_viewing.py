"""Frames to look at: drawn by a job when asked for, kept while they are looked at."""

import io
import json
import os
import time
from pathlib import Path

import numpy as np
import pytest
from django.urls import reverse
from PIL import Image

from evaluation.benchmarks import folders
from evaluation.benchmarks.kinds.cds import benchmarks, viewing
from evaluation.models import Benchmark, Run
from evaluation.sequences import sequencing
from labeling.errors import NotYours
from labeling.exchange import export_files
from labeling.jobs import queue
from labeling.models import Job
from labeling.releases import freezing
from tests import factories
from tests.evaluation.cds import world

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(reveal, alice) -> Run:
    return Run.objects.create(benchmark=reveal, release=reveal.release, state=Run.State.DONE)


def folder(benchmark: Benchmark, number: int = 0) -> Path:
    return folders.folder_of(benchmark) / "frames" / str(number)


def draw(benchmark: Benchmark, number: int) -> Job:
    viewing.ask(benchmark, number, benchmark.created_by)
    job = Job.objects.get(kind="frames", state="queued")
    queue.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    return job


def pixels(benchmark: Benchmark, number: int, frame: int) -> np.ndarray:
    with viewing.open_frame(benchmark, number, frame) as file:
        return np.asarray(Image.open(file).convert("RGB"))


def expected_frames(benchmark: Benchmark) -> dict[str, np.ndarray]:
    """Every frame as `sequences` writes it."""
    frames = sequencing.frames_of(
        freezing.read(benchmark.release),
        benchmark.settings["orders"],
        benchmark.settings["content_schemes"],
        export_files.originals_of(benchmark.release),
        include_empty=benchmark.settings["include_empty"],
    )
    return {name: frame.numpy() for name, frame in frames}


@pytest.mark.parametrize("include_empty", [False, True])
def test_every_frame_of_every_sequence_is_what_a_classifier_sees(
    alice, bob, dataset, include_empty
):
    campaign = world.campaign_of(alice, bob, dataset)
    reveal = world.make(alice, campaign, include_empty=include_empty)
    known = expected_frames(reveal)

    for number, line in enumerate(benchmarks.lines_of(reveal)):
        draw(reveal, number)
        for at, name in enumerate(line.frames, 1):
            assert np.array_equal(pixels(reveal, number, at), known[name])


def test_frames_are_asked_for_once_and_told_as_they_come(reveal):
    total = len(benchmarks.lines_of(reveal)[0].frames)

    assert viewing.state(reveal, 0) == viewing.FramesState("missing", 0, total)
    for _ in range(2):
        assert viewing.ask(reveal, 0, reveal.created_by) == viewing.FramesState("queued", 0, total)
    job = Job.objects.get(kind="frames")
    assert queue.claim(job.pk) is not None
    assert viewing.ask(reveal, 0, reveal.created_by) == viewing.FramesState("running", 0, total)
    Job.objects.update(state="queued", claim="")
    queue.run(job.pk)

    assert viewing.state(reveal, 0) == viewing.FramesState("done", total, total)
    assert viewing.ask(reveal, 0, reveal.created_by).is_done
    assert Job.objects.filter(kind="frames").count() == 1
    job.refresh_from_db()
    assert (job.progress_done, job.progress_total) == (total, total)


def test_half_of_the_frames_count_as_half(reveal):
    draw(reveal, 0)
    total = len(benchmarks.lines_of(reveal)[0].frames)
    (folder(reveal) / "2.webp").unlink()

    assert viewing.state(reveal, 0) == viewing.FramesState("missing", total - 1, total)
    draw(reveal, 0)
    assert viewing.state(reveal, 0).is_done


def test_a_job_that_runs_again_draws_nothing_again(reveal, monkeypatch):
    job = draw(reveal, 0)
    before = {path.name: path.stat().st_mtime_ns for path in folder(reveal).iterdir()}
    monkeypatch.setattr(sequencing, "render", None)

    viewing.execute(job)

    assert {path.name: path.stat().st_mtime_ns for path in folder(reveal).iterdir()} == before


def test_a_worker_that_lost_its_job_stops_between_two_frames(reveal, monkeypatch):
    viewing.ask(reveal, 0, reveal.created_by)
    job = queue.claim(Job.objects.get(kind="frames").pk)
    Job.objects.update(claim="of another")

    with pytest.raises(queue.LeaseLost):
        viewing.execute(job)

    assert list(folder(reveal).iterdir()) == []


def test_a_failure_is_told_and_asking_again_is_trying_again(reveal, dataset):
    image = dataset.images.get(name=benchmarks.lines_of(reveal)[0].image)
    path = Path(image.file.path)
    good = path.read_bytes()
    path.write_bytes(factories.picture(size=(10, 10)))
    viewing.ask(reveal, 0, reveal.created_by)
    queue.run(Job.objects.get(kind="frames").pk)

    state = viewing.state(reveal, 0)
    assert state.state == "failed"
    assert "10 × 10 pixels, the release says 64 × 48" in state.error
    path.write_bytes(good)
    draw(reveal, 0)
    assert viewing.state(reveal, 0).is_done


def test_a_benchmark_that_is_gone_needs_no_frames(reveal):
    viewing.ask(reveal, 0, reveal.created_by)
    reveal.delete()

    queue.run(Job.objects.get(kind="frames").pk)

    assert Job.objects.get(kind="frames").state == "done"


def test_there_is_no_sequence_past_the_last(reveal):
    count = len(benchmarks.lines_of(reveal))

    assert viewing.line_of(reveal, count - 1) == benchmarks.lines_of(reveal)[-1]
    for number in (count, 10**300):
        with pytest.raises(NotYours):
            viewing.ask(reveal, number, reveal.created_by)
    assert not Job.objects.filter(kind="frames").exists()


def test_what_nobody_looked_at_for_longest_leaves_the_cache(reveal, settings):
    settings.ASSAY_FRAME_SEQUENCES = 2
    for number, age in ((0, 300), (1, 200)):
        draw(reveal, number)
        moment = time.time() - age
        os.utime(folder(reveal, number), (moment, moment))
    viewing.open_frame(reveal, 0, 1).close()

    draw(reveal, 2)

    assert sorted(path.name for path in folder(reveal).parent.iterdir()) == ["0", "2"]
    assert viewing.state(reveal, 1).state == "missing"


def test_the_cache_is_one_for_all_benchmarks_and_never_takes_what_was_just_drawn(
    reveal, alice, settings
):
    settings.ASSAY_FRAME_SEQUENCES = 1
    benchmark = world.make(alice, reveal.campaign, name="other", seed=1)
    draw(reveal, 0)
    left = folder(reveal).parent / ".gone-7-abcd"
    left.mkdir()

    draw(benchmark, 0)

    assert folder(benchmark).is_dir()
    assert list(folder(reveal).parent.iterdir()) == []


def test_queries_of_a_state_do_not_grow(reveal, django_assert_num_queries):
    draw(reveal, 0)

    with django_assert_num_queries(0):
        viewing.state(reveal, 0)
    with django_assert_num_queries(1):
        viewing.state(reveal, 1)


def address(name: str, run: Run, *args: int) -> str:
    return reverse(f"evaluation:{name}", args=[run.benchmark.name, run.pk, *args])


def test_the_viewer_asks_polls_and_shows(run, as_alice, run_jobs):
    total = len(benchmarks.lines_of(run.benchmark)[0].frames)
    frames, first = address("cds_frames", run, 0), address("cds_frame", run, 0, 1)

    assert as_alice.get(first).status_code == 404
    before = as_alice.get(frames)
    assert (before.status_code, before.json()["state"]) == (202, "missing")
    response = as_alice.post(frames, headers={"accept": "application/json"})
    assert response.json() == {"state": "queued", "ready": 0, "total": total}
    run_jobs()

    after = as_alice.get(frames)
    assert (after.status_code, after.json()) == (
        200,
        {"state": "done", "ready": total, "total": total},
    )
    frame_response = as_alice.get(first)
    content = b"".join(frame_response.streaming_content)
    assert frame_response["Content-Type"] == "image/webp"
    assert frame_response["Cache-Control"] == "private, max-age=3600"
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), pixels(run.benchmark, 0, 1))


def test_without_its_script_the_form_comes_back_to_the_viewer(run, as_alice):
    answer = as_alice.post(address("cds_frames", run, 0), headers={"accept": "text/html,*/*;q=0.8"})

    assert answer.status_code == 302
    assert answer["Location"] == address("cds_viewer", run, 0)


def test_a_frame_that_cannot_be_is_not_found(run, as_alice):
    draw(run.benchmark, 0)
    for frame in [0, 99, 10**300]:
        assert as_alice.get(address("cds_frame", run, 0, frame)).status_code == 404, frame


def test_a_sequence_or_a_run_that_is_not_the_benchmarks_is_not_found(run, alice, as_alice):
    benchmark = world.make(alice, run.benchmark.campaign, name="other", seed=1)
    elsewhere = Run.objects.create(benchmark=benchmark, release=benchmark.release)
    draw(run.benchmark, 0)
    name = run.benchmark.name

    assert as_alice.get(address("cds_frames", run, 999)).status_code == 404
    assert as_alice.post(address("cds_frames", run, 999)).status_code == 404
    path = reverse("evaluation:cds_frame", args=[name, elsewhere.pk, 0, 1])
    assert as_alice.get(path).status_code == 404


def test_a_line_is_read_as_it_was_written(reveal):
    path = benchmarks.lines_path(reveal)
    rows = [json.loads(line) for line in path.read_text().splitlines()]

    assert [viewing.line_of(reveal, at).as_dict() for at in range(len(rows))] == rows


def test_a_person_waits_for_a_few_sequences_at_a_time(reveal, run, alice, as_alice, monkeypatch):
    monkeypatch.setattr(viewing, "MAX_WAITING", 2)
    dana = factories.make_user("dana", is_researcher=True)
    for number in (0, 1):
        viewing.ask(reveal, number, alice)

    with pytest.raises(viewing.TooManyWaiting, match="The frames of 2 objects that you opened"):
        viewing.ask(reveal, 2, alice)
    refused = as_alice.post(
        reverse("evaluation:cds_frames", args=["reveal", run.pk, 2]),
        headers={"Accept": "application/json"},
    )

    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_waiting")
    assert Job.objects.filter(kind="frames").count() == 2
    # Looking again at what waits is no new request, and others are not held up.
    assert viewing.ask(reveal, 1, alice).state == "queued"
    assert viewing.ask(reveal, 2, dana).state == "queued"
    queue.run(Job.objects.filter(kind="frames").earliest("pk").pk)
    assert viewing.ask(reveal, 3, alice).state == "queued"
