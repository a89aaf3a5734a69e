"""Runs of benchmarks on released labels: what they keep, when they fail and come again."""

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from evaluation import devices
from evaluation.benchmarks import folders, runs
from evaluation.benchmarks.kind import kind_of
from evaluation.benchmarks.kinds.labeled import benchmarks, paths, running
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.devices import versions
from evaluation.models import Run
from evaluation.scoring.wsol import scoring as wsol_scoring
from labeling.campaigns import lifecycle
from labeling.models import Campaign
from labeling.releases import freezing
from tests.evaluation.benchmarks.kinds.labeled import results, world
from tests.evaluation.benchmarks.kinds.labeled.world import CAT, DOG

KINDS = ("classification", "localization", "detection", "wsol")
OPTIONS = {"classification": (), "localization": (), "detection": (), "wsol": ("--thresholds", 50)}


@pytest.fixture
def scored(request, wordnet, alice, cats, tmp_path):
    """A benchmark in which two take part: alpha and, a little worse, beta. Of classification, or
    of the kind that the test's parameter says."""
    kind = getattr(request, "param", "classification")
    few = {"thresholds": 50} if kind == "wsol" else {}
    benchmark = world.make(alice, cats, kind, split="test", **few)
    world.submit(benchmark, alice, tmp_path)
    world.submit(benchmark, alice, tmp_path, "beta", worse(benchmark))
    return benchmark


def worse(benchmark):
    return {
        "wsol": world.maps_of(benchmark, lambda _: np.zeros((4, 4), np.float32))
        if benchmark.kind == "wsol"
        else b"",
        "classification": [("cats/1.png", 1, DOG)],
        "localization": [("cats/1.png", CAT, 0.9, 0, 0, 9, 9)],
        "detection": [("cats/1.png", CAT, 0.9, 0, 0, 9, 9)],
    }[benchmark.kind]


def finished(benchmark, run_jobs, actor=None, **options):
    run = runs.request(benchmark, actor, **options)
    run_jobs()
    run.refresh_from_db()
    return run


def lines(benchmark, run):
    text = running.images_path(benchmark, run.pk).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


of_every_kind = pytest.mark.parametrize("scored", KINDS, indirect=True)


@of_every_kind
def test_a_run_says_what_score_says_of_the_downloaded_truth(
    scored, alice, run_jobs, shell, tmp_path
):
    run = finished(scored, run_jobs, alice)

    assert (run.state, run.error) == (Run.State.DONE, "")
    folder = taken_away(scored, tmp_path / "away")
    row = scored.submissions.get(name="alpha")
    sent = paths.submission_path(row)
    for part in parts_of(scored.kind, folder, sent):
        status, out, err = shell("score", scored.kind, *part, *OPTIONS[scored.kind], "--json")
        assert (status, err) == (0, "")
        printed = json.loads(out)
        mine = run.result["submissions"][0]["result"]
        # A benchmark has these in its settings, for each classifier and once for the run.
        apart = ("split", "test_scorings", "device", "versions")
        printed = {key: value for key, value in printed.items() if key not in apart}
        assert {key: mine[key] for key in printed} == printed


def taken_away(benchmark, folder):
    with (
        kind_of(benchmark).open_file(benchmark, "truth.zip") as file,
        zipfile.ZipFile(file) as archive,
    ):
        archive.extractall(folder)
    return folder / benchmark.name


def parts_of(kind, folder, sent):
    """The options of `score` for each part of a result."""
    if kind == "wsol":
        yield "--metadata", folder, "--scoremaps", sent
        masks = folder / "masks"
        yield "--metadata", masks, "--masks", masks, "--scoremaps", sent
        return
    options = ["--truth", folder / "truth.csv", "--predictions", sent]
    if kind != "classification":
        options += ["--images", folder / "images.csv"]
    if kind == "detection":
        options += ["--exclude", folder / "excluded.csv"]
    yield options


@of_every_kind
def test_a_result_says_what_it_stands_on_and_has_a_line_for_every_image(scored, run_jobs):
    run = finished(scored, run_jobs)
    result = run.result

    assert result["kind"] == scored.kind
    assert result["release"] == {"number": 1, "sha256": scored.release.sha256}
    assert result["truth"] == scored.settings["truth"]
    assert result["settings"] == {
        key: value for key, value in scored.settings.items() if key != "truth"
    }
    assert [(row["name"], row["attempts"]) for row in result["submissions"]] == [
        ("alpha", 1),
        ("beta", 1),
    ]
    assert result["code_version"]
    assert (result["device"], result["versions"]) == ("cpu", versions())
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert_compared(scored.kind, result["comparison"])
    outcome_lines = lines(scored, run)
    assert [line["image"] for line in outcome_lines] == (
        [f"cats/{n}.png" for n in range(3)] if scored.kind == "detection" else ["cats/1.png"]
    )
    line = next(line for line in outcome_lines if line["image"] == "cats/1.png")
    assert set(line) == {"image", "classes", "truth", "outcomes"}
    assert line["classes"] == [CAT]
    assert list(line["outcomes"]) == ["alpha", "beta"]
    curves = {"curves.json"} if scored.kind == "wsol" else set()
    assert {path.name for path in folders.run_folder(scored, run.pk).iterdir()} == {
        "images.jsonl",
        "images.index.npz",
        "images.predictions.bin",
        "errors.npz",
        *curves,
    }


def assert_compared(kind, comparison):
    """Two classifiers are compared where the kind compares."""
    if kind == "wsol":
        assert comparison is None
    elif kind == "detection":
        assert comparison == {"classes_won": {"alpha": 1, "beta": 0}}
    else:
        [pair] = comparison["pairs"]
        assert (pair["first"], pair["second"], pair["errors"]) == ("alpha", "beta", [0, 1])


@pytest.fixture
def maps(alice, cats, tmp_path):
    benchmark = world.make(alice, cats, "wsol", thresholds=50)
    world.submit(benchmark, alice, tmp_path)
    return benchmark


def test_score_maps_are_scored_on_the_device_of_the_settings_which_is_in_no_fingerprint(
    maps, run_jobs, monkeypatch, settings
):
    score, devices_of_calls = wsol_scoring.Scoring.score, []

    def on_gpu(scoring, scoremaps, device):
        devices_of_calls.append(device)
        result = score(scoring, scoremaps)
        if isinstance(scoring, wsol_scoring.BoxScoring):
            result.device = device
        return result

    before = finished(maps, run_jobs)
    settings.ASSAY_SCORING_DEVICE = "cuda:1"
    monkeypatch.setattr(devices, "check_device", lambda name: name)
    monkeypatch.setattr(devices, "versions", lambda device: {"gpu": device})
    monkeypatch.setattr(wsol_scoring.Scoring, "score", on_gpu)

    assert not runs.has_changed(maps)
    run = finished(maps, run_jobs)

    assert (before.result["device"], run.result["device"]) == ("cpu", "cuda:1")
    assert devices_of_calls == ["cuda:1", "cuda:1"]
    assert run.result["versions"] == {"gpu": "cuda:1"}
    assert run.settings["signature"] == before.settings["signature"]
    assert LabeledResult.from_json(run.result).device == "cuda:1"


def test_a_gpu_that_is_not_here_fails_the_run_which_is_scored_once_it_is(
    maps, run_jobs, monkeypatch, settings
):
    settings.ASSAY_SCORING_DEVICE = "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)

    run = finished(maps, run_jobs)

    assert run.state == Run.State.FAILED
    assert "ASSAY_SCORING_DEVICE: the device cuda is not usable (" in run.error
    assert "give ASSAY_SCORING_DEVICE=cpu" in run.error
    assert runs.has_changed(maps)


@pytest.mark.parametrize("scored", ["classification", "detection"], indirect=True)
def test_one_alone_is_compared_with_nobody(scored, run_jobs):
    kind_of(scored).remove(scored, 1)

    assert finished(scored, run_jobs).result["comparison"] is None


def test_wsol_of_parts_tells_boxes_and_pixels_together(wordnet, alice, cats, tmp_path, run_jobs):
    benchmark = world.make(alice, cats, thresholds=50)
    world.submit(benchmark, alice, tmp_path)

    run = finished(benchmark, run_jobs)

    [line] = lines(benchmark, run)
    assert line["truth"] == [[8, 6, 56, 42]]
    assert {"max_box_acc", "0.3", "px_acc"} <= set(line["outcomes"]["alpha"])
    assert {"max_box_acc_v2", "pxap", "mpxap"} <= set(run.result["submissions"][0]["result"])
    curves = running.curves_of(benchmark, run.pk)
    assert curves["alpha"].masks
    assert len(curves["alpha"].boxes.thresholds) == 50


def test_a_test_split_that_was_scored_again_says_so(scored, alice, tmp_path, run_jobs):
    world.submit(scored, alice, tmp_path, "alpha", worse(scored))

    notes = finished(scored, run_jobs).result["notes"]

    [again_note] = [note for note in notes if "test split" in note]
    assert again_note.startswith("this is a test split, and alpha was scored on it 2 times")


def test_another_split_may_be_scored_as_often_as_one_likes(
    wordnet, alice, cats, tmp_path, run_jobs
):
    benchmark = world.make(alice, cats, "classification")
    world.submit(benchmark, alice, tmp_path)
    world.submit(benchmark, alice, tmp_path, content=worse(benchmark))

    notes = finished(benchmark, run_jobs).result["notes"]

    assert not any("split" in note for note in notes)


def test_a_run_without_its_truth_fails_with_its_sentence(scored, run_jobs):
    shutil.rmtree(paths.truth_folder(scored))

    run = finished(scored, run_jobs)

    assert run.state == Run.State.FAILED
    assert "ground truth of this benchmark is not on this server" in run.error


def test_a_run_without_a_file_names_the_classifier(scored, run_jobs):
    benchmarks._remove(paths.submission_path(scored.submissions.get(name="beta")))

    run = finished(scored, run_jobs)

    assert run.state == Run.State.FAILED
    assert run.error == "beta: the file is missing; send it in again."
    folder = folders.run_folder(scored, run.pk)
    assert not folder.exists()


def test_a_run_fails_where_everybody_left_before_it_began(scored, run_jobs):
    run = runs.request(scored, None)
    scored.submissions.all().delete()
    run_jobs()

    run.refresh_from_db()
    assert (run.state, run.error) == (Run.State.FAILED, running.NO_SUBMISSIONS)


@pytest.mark.parametrize("scored", ["detection", "wsol"], indirect=True)
def test_a_damaged_truth_fails_with_its_place(scored, run_jobs):
    name = "image_ids.txt" if scored.kind == "wsol" else "truth.csv"
    (paths.truth_folder(scored) / name).write_bytes(b"\xff\n")

    run = finished(scored, run_jobs)

    assert run.state == Run.State.FAILED
    assert name in run.error
    assert "/" not in run.error


def test_without_wordnet_a_run_fails_with_its_sentence(scored, run_jobs, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_WORDNET", str(tmp_path))

    run = finished(scored, run_jobs)

    assert run.state == Run.State.FAILED
    assert "WordNet" in run.error


def test_a_file_that_is_replaced_while_it_is_read_is_read_again(
    wordnet, alice, cats, tmp_path, run_jobs, monkeypatch, django_capture_on_commit_callbacks
):
    benchmark = world.make(alice, cats, "classification")
    world.submit(benchmark, alice, tmp_path)
    score = running.scoring.score
    paths_read = []

    def slow(kind, truth, path, *how):
        paths_read.append(path)
        if len(paths_read) == 1:
            with django_capture_on_commit_callbacks(execute=True):
                world.submit(benchmark, alice, tmp_path, content=worse(benchmark))
        return score(kind, truth, path, *how)

    monkeypatch.setattr(running.scoring, "score", slow)

    run = finished(benchmark, run_jobs)

    assert run.state == Run.State.DONE, run.error
    assert run.result["submissions"][0]["attempts"] == 2
    assert len(paths_read) == 2


def test_the_clock_scores_what_changed_once(scored, alice, tmp_path, run_jobs, settings):
    settings.ASSAY_RESCORE_SECONDS = 0
    lifecycle.change(scored.campaign, alice, title="Still cats")

    [first] = runs.rescore_changed()
    run_jobs()
    assert runs.rescore_changed() == []
    world.submit(scored, alice, tmp_path, "gamma", worse(scored))
    [second] = runs.rescore_changed()
    run_jobs()

    # The interim run before it went, with its folder.
    assert list(scored.runs.values_list("pk", flat=True)) == [second.pk]
    assert not folders.run_folder(scored, first.pk).exists()
    assert running.images_path(scored, second.pk).exists()


def test_the_night_scores_benchmarks_of_draft_campaigns_too(scored):
    Campaign.objects.update(state=Campaign.State.DRAFT)

    assert runs.nightly()["runs"] == 1


def test_the_night_scores_what_changed(scored, run_jobs):
    assert runs.nightly()["runs"] == 1
    assert runs.nightly()["runs"] == 0
    run = scored.runs.get()
    assert run.state == Run.State.DONE
    assert [row["name"] for row in run.result["submissions"]] == ["alpha", "beta"]


def test_a_newer_release_changes_nothing(scored, alice, run_jobs):
    first = finished(scored, run_jobs)
    lifecycle.change(scored.campaign, alice, title="Cats again")
    freezing.freeze(scored.campaign, alice)

    assert not runs.has_changed(scored)
    assert finished(scored, run_jobs).result == first.result


def test_a_class_without_objects_is_in_no_analysis(monkeypatch):
    monkeypatch.setattr(running.Analyst, "objects", None)
    scored = running.scoring.SubmissionScores(results.detection(0.5), iter, having={CAT: 7})

    analysis = running.Analyst("detection", Path("truth"), results.SETTINGS["detection"]).of(scored)

    assert analysis is not None
    assert [(row.wnid, row.images) for row in analysis.per_class.rows] == [(CAT, 7)]
