"""Runs of a CDS benchmark: what they keep, when they fail, and when they are made again."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from evaluation.benchmarks import folders, runs
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.cds import benchmarks
from evaluation.devices import versions
from evaluation.models import Benchmark, Run
from labeling.campaigns import lifecycle
from labeling.jobs import queue
from labeling.models import Job, User
from labeling.releases import freezing
from tests import factories
from tests.evaluation.benchmarks.kinds.cds.test_people import name_all, opened
from tests.evaluation.cds import world
from tests.labeling.parted import CAT


@pytest.fixture
def scored(reveal, alice, tmp_path, wordnet) -> Benchmark:
    """Alpha is right from the first frame on, beta at the last."""
    world.add(reveal, alice, tmp_path, alpha=world.always_right, beta=world.right_at_last)
    return reveal


def finished(benchmark, run_jobs, actor=None, **options) -> Run:
    run = runs.request(benchmark, actor, **options)
    run_jobs()
    run.refresh_from_db()
    return run


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_run_keeps_the_tables_and_writes_the_sequences(scored, alice, run_jobs):
    run = finished(scored, run_jobs, alice)

    assert (run.state, run.error) == (Run.State.DONE, "")
    assert run.release == scored.release
    assert run.result["release"] == {"number": 1, "sha256": scored.release.sha256}
    assert run.result["classifiers"] == ["alpha", "beta"]
    assert run.result["code_version"]
    assert (run.result["device"], run.result["versions"]) == ("cpu", versions())
    assert "sequences" not in run.result["tables"]
    error = {row["classifier"]: row["error"] for row in run.result["tables"]["error"]}
    assert error == {"alpha": 0, "beta": 0}
    folder = folders.run_folder(scored, run.pk)
    assert sorted(path.name for path in folder.iterdir()) == ["answers.jsonl", "sequences.jsonl"]


def test_sequences_and_answers_tell_every_line(scored, run_jobs):
    run = finished(scored, run_jobs)

    folder = folders.run_folder(scored, run.pk)
    sequences = lines(folder / "sequences.jsonl")
    assert len(sequences) == 6 * 2
    # Right from the first frame on: nothing is dissimilar.
    assert {row["cds"] for row in sequences if row["classifier"] == "alpha"} == {0}
    assert all(row["b_cds"] > 0 for row in sequences if row["classifier"] == "beta")
    answers = lines(folder / "answers.jsonl")
    assert [row["frames"] for row in answers] == [
        list(line.frames) for line in benchmarks.lines_of(scored)
    ]
    answered = answers[0]["answers"]["beta"]
    assert [frame["right"] for frame in answered] == [False] * (len(answered) - 1) + [True]
    assert answered[-1]["wnid"] == CAT


def test_the_result_is_strict_json(reveal, scored, run_jobs):
    reveal.settings["bootstrap"] = 0
    reveal.save(update_fields=["settings"])

    run = finished(reveal, run_jobs)

    json.dumps(run.result, allow_nan=False)
    assert run.result["tables"]["error"][0]["low"] is None


def test_without_a_mapping_there_is_no_b_cds(alice, bob, dataset, wordnet, tmp_path, run_jobs):
    reveal = world.make(alice, world.campaign_of(alice, bob, dataset), mapping=None)
    world.add(reveal, alice, tmp_path, alpha=world.always_right)

    run = finished(reveal, run_jobs)

    assert run.result["mapping"] is None
    assert run.result["tables"]["error"] == []
    assert "b_cds" not in lines(folders.run_folder(reveal, run.pk) / "sequences.jsonl")[0]


def test_no_classifier_fails_the_run_with_its_reason_and_not_the_job(reveal, run_jobs):
    run = finished(reveal, run_jobs)

    assert run.state == Run.State.FAILED
    assert run.error == "There are no predictions yet. Add those of a classifier, then score."
    assert Job.objects.get(kind="score").state == Job.State.DONE


def test_bad_input_fails_the_run_with_its_place_and_cure(scored, run_jobs):
    path = benchmarks.predictions_path(scored.submissions.get(name="beta"))
    path.write_text(path.read_text().replace("cats/0.png", "dogs/0.png"))

    run = finished(scored, run_jobs)

    assert run.state == Run.State.FAILED
    assert f"{path.name}, line 2: no sequence has the frame" in run.error
    assert run.error.endswith("that the predictions were made for.")
    assert Job.objects.get(kind="score").state == Job.State.DONE


def test_a_run_twice_says_the_same(scored, run_jobs):
    first = finished(scored, run_jobs)
    second = finished(scored, run_jobs)

    assert first.pk != second.pk
    assert first.result == second.result
    first_folder, second_folder = (folders.run_folder(scored, run.pk) for run in (first, second))
    for name in ("sequences.jsonl", "answers.jsonl"):
        assert (first_folder / name).read_bytes() == (second_folder / name).read_bytes()


def test_nothing_is_scored_before_there_is_a_classifier(reveal):
    assert not runs.has_changed(reveal)
    assert runs.rescore_changed() == []
    assert runs.nightly()["runs"] == 0
    assert not Run.objects.exists()


def test_a_classifier_that_comes_changes_or_goes_changes_the_benchmark(
    scored, alice, tmp_path, run_jobs
):
    assert runs.has_changed(scored)
    finished(scored, run_jobs)
    assert not runs.has_changed(scored)
    world.add(scored, alice, tmp_path, beta=world.always_right)
    assert runs.has_changed(scored)
    finished(scored, run_jobs)
    kind_of(scored).remove(scored, 0)
    assert runs.has_changed(scored)
    kind_of(scored).remove(scored, 1)
    assert not runs.has_changed(scored)


def test_another_way_to_score_changes_the_benchmark(scored, run_jobs):
    finished(scored, run_jobs)
    scored.settings["measure"] = "path"

    assert runs.has_changed(scored)


def test_what_the_parts_campaign_says_later_changes_nothing(scored, alice, run_jobs):
    finished(scored, run_jobs)
    lifecycle.change(scored.campaign, alice, title="Cats again")
    freezing.freeze(scored.campaign, alice)

    assert not runs.has_changed(scored)


def test_the_night_scores_what_changed_once(scored):
    assert runs.nightly()["runs"] == 1
    assert runs.nightly()["runs"] == 0
    run = Run.objects.get()
    assert (run.state, run.release) == (Run.State.DONE, scored.release)


def test_the_clock_scores_what_changed_and_forgets_what_it_made_before(
    scored, alice, tmp_path, run_jobs
):
    [first] = runs.rescore_changed()
    run_jobs()
    Run.objects.update(created_at=timezone.now() - timedelta(hours=1))
    world.add(scored, alice, tmp_path, beta=world.always_right)
    [second] = runs.rescore_changed()
    run_jobs()

    assert list(scored.runs.all()) == [second]
    assert not folders.run_folder(scored, first.pk).exists()
    assert folders.run_folder(scored, second.pk).is_dir()
    assert scored.campaign.releases.get() == scored.release


def test_what_people_name_is_frozen_and_scored_as_it_comes(scored, alice, run_jobs):
    finished(scored, run_jobs, alice)
    campaign = opened(scored, alice)
    name_all(campaign, 1, lambda _image: {"key": CAT})
    assert runs.has_changed(scored)
    first = finished(scored, run_jobs, interim=True)
    early = campaign.releases.get()
    User.objects.filter(username__startswith="namer").update(username="gone", username_key="gone")
    name_all(campaign, 1, lambda _image: {"key": CAT})
    assert runs.has_changed(scored)

    second = finished(scored, run_jobs, interim=True)

    assert (
        first.result["classifiers"] == second.result["classifiers"] == ["alpha", "beta", "people"]
    )
    assert second.release == scored.release
    late = campaign.releases.get()
    assert late.counts["interim"]
    assert late != early
    assert not runs.has_changed(scored)


def test_people_who_named_nothing_yet_are_nothing_to_score(reveal, alice):
    campaign = opened(reveal, alice)

    assert not runs.has_changed(reveal)
    assert runs.nightly()["runs"] == 0
    assert not campaign.releases.exists()


def test_runs_that_people_asked_for_stay(scored, alice, run_jobs):
    first = finished(scored, run_jobs, alice)
    finished(scored, run_jobs, interim=True)
    finished(scored, run_jobs, alice)

    assert list(scored.runs.values_list("settings__interim", flat=True)) == [False, False]
    assert folders.run_folder(scored, first.pk).is_dir()


def test_a_drop_in_the_parts_campaign_is_nothing_to_replace(reveal):
    question = reveal.campaign.questions.get(state="dropped")
    job = queue.enqueue("question dropped", str(question.pk), {"question": question.pk})

    queue.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error) == (Job.State.DONE, "")


def test_a_competition_cannot_take_the_name(reveal, alice, dataset, wordnet):
    from labeling.errors import Conflict
    from tests.evaluation import crowd

    with pytest.raises(Conflict, match="A benchmark is already called 'reveal'"):
        crowd.make(alice, factories.make_dataset(alice, "lake"), wordnet, name="reveal")
