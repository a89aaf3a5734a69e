"""`manage.py score KIND` with a release as its truth."""

import json

import numpy as np
import pytest

from labeling.releases import freezing
from tests import factories
from tests.evaluation import crowd
from tests.evaluation.benchmarks.kinds.labeled import world
from tests.evaluation.benchmarks.kinds.labeled.world import CAT, DOG
from tests.labeling import label_files


@pytest.fixture
def release(alice, cats):
    return freezing.folder_of(freezing.freeze(cats, alice))


@pytest.fixture
def maps(tmp_path):
    (tmp_path / "maps" / "cats").mkdir(parents=True)
    np.save(tmp_path / "maps" / "cats" / "1.png.npy", world.ramp())
    return tmp_path / "maps"


@pytest.mark.parametrize(
    ("kind", "row", "number"),
    [
        ("classification", ("cats/1.png", 1, CAT), ("top1_error", 0)),
        ("localization", ("cats/1.png", CAT, 0.9, 8, 6, 56, 42), ("error", 0)),
        # cats/0.png has a cat and a cow that nobody found.
        ("detection", ("cats/1.png", CAT, 0.9, 8, 6, 56, 42), ("mean_ap", 0.25)),
    ],
)
def test_a_release_is_scored_without_a_file_in_between(
    wordnet, shell, release, tmp_path, kind, row, number
):
    path = world.predictions(tmp_path / "p.csv", kind, row)

    status, out, err = shell("score", kind, "--truth", release, "--predictions", path, "--json")

    assert status == 0, err
    result = json.loads(out)
    assert result[number[0]]["value"] == number[1]
    assert result["truth"]["release"]["campaign"] == "cats"
    assert result["truth"]["images"] == (3 if kind == "detection" else 1)


def test_the_truth_is_said_once_of_several_submissions(wordnet, shell, release, tmp_path):
    path = world.predictions(tmp_path / "p.csv", "classification", ("cats/1.png", 1, CAT))
    both = ("--predictions", f"a={path}", "--predictions", f"b={path}")

    status, out, err = shell("score", "classification", "--truth", release, *both, "--json")

    assert status == 0, err
    result = json.loads(out)
    assert "truth" in result
    assert [
        submission["name"] for submission in result["submissions"] if "truth" not in submission
    ] == ["a", "b"]


def test_inclusive_pixels_hold_for_a_release_too(wordnet, shell, release, tmp_path):
    # Of IoU 1 with the last pixels of 8 6 56 42.
    row = ("cats/1.png", CAT, 0.9, 8, 6, 55, 41)
    path = world.predictions(tmp_path / "p.csv", "localization", row)
    command = ("score", "localization", "--truth", release, "--predictions", path, "--strict")

    status, out, _ = shell(*command, "--inclusive", "--json")

    assert status == 0
    assert json.loads(out)["error"]["value"] == 0


def test_a_release_of_parts_has_boxes_and_masks(shell, release, maps):
    command = ("score", "wsol", "--metadata", release, "--scoremaps", maps, "--thresholds", 20)

    boxes = shell(*command, "--json")
    masks = shell(*command, "--masks", release, "--json")

    assert (boxes[0], masks[0]) == (0, 0), boxes[2] + masks[2]
    assert json.loads(boxes[1])["boxes"] == 1
    assert json.loads(masks[1])["masks"] == 1
    assert json.loads(masks[1])["truth"]["masks"] is True


def test_masks_of_a_release_go_to_machines_that_do_not_have_them(
    shell, release, maps, tmp_path, monkeypatch
):
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))

    def elsewhere(tasks, store, *_):
        hidden = scratch.rename(tmp_path / "hidden")
        scratch.mkdir()
        for each in tasks:
            each.make(store)
        # Empty again: tasks leave nothing behind.
        scratch.rmdir()
        hidden.rename(scratch)

    monkeypatch.setattr("evaluation.engines.on_ray.run", elsewhere)
    command = ("score", "wsol", "--metadata", release, "--scoremaps", maps, "--masks", release)
    cluster = ("--on", "ray:10.0.0.1:6379", "--work", tmp_path / "work")

    assert shell(*command, *cluster, "--json") == shell(*command, "--json")


def test_what_must_be_known_of_the_truth_is_said_beside_it(wordnet, shell, release, tmp_path):
    path = world.predictions(tmp_path / "p.csv", "detection", ("cats/1.png", CAT, 1, 8, 6, 56, 42))

    status, _, err = shell("score", "detection", "--truth", release, "--predictions", path)

    assert status == 0
    assert "3 pairs of image and class are left out" in err


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("cats/9.png", 1, DOG), "p.csv, line 2: the truth lacks the image 'cats/9.png'"),
        (("cats/1.png", "x", DOG), "p.csv, line 2: the rank is 'x'"),
    ],
)
def test_a_fault_names_no_folder_that_nobody_sees(wordnet, shell, release, tmp_path, row, message):
    path = world.predictions(tmp_path / "p.csv", "classification", row)

    status, out, err = shell("score", "classification", "--truth", release, "--predictions", path)

    assert (status, out) == (1, "")
    assert message in err
    assert "truth-" not in err


def test_what_a_release_cannot_be_is_refused(alice, dataset, shell, tmp_path, maps):
    home = freezing.folder_of(label_files.home_release(alice, dataset))
    options = ("--scoremaps", maps, "--thresholds", 20)

    status, _, err = shell("score", "wsol", "--metadata", home, "--masks", home, *options)
    assert status == 1
    assert "nobody drew parts in this release; leave --masks out" in err
    status, _, err = shell("score", "wsol", "--metadata", home, "--masks", tmp_path, *options)
    assert status == 2

    (home / "answers.jsonl").write_text("")
    status, _, err = shell("score", "wsol", "--metadata", home, *options)
    assert status == 1
    assert "answers.jsonl: differs from what was frozen" in err


def test_labels_without_a_box_are_refused_for_boxes(alice, bob, dataset, shell, tmp_path, wordnet):
    campaign = factories.make_campaign(alice, dataset, images=1, policy={"votes": 1})
    factories.join(bob, campaign)
    crowd.answer(campaign, [bob], crowd.right_is(crowd.COOT))
    folder = freezing.folder_of(freezing.freeze(campaign, alice))
    path = world.predictions(tmp_path / "p.csv", "detection")

    status, _, err = shell("score", "detection", "--truth", folder, "--predictions", path)

    assert status == 1
    assert "can be the truth of a classification only" in err
