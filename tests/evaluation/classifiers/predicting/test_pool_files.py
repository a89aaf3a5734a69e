"""A pool that is stopped anywhere ends as if it had not been, and appears only when it is whole."""

import fcntl
import os

import numpy as np
import pytest

from evaluation.classifiers.predicting import pool_files
from evaluation.classifiers.predicting.pool_files import ClassifierPredictions, opened, working
from labeling.files import BadInput
from tests.evaluation.classifiers.networks import CLASSES

SETTINGS = {"batch": 2, "top": 2}


@pytest.fixture(autouse=True)
def _keep_each_batch(monkeypatch):
    monkeypatch.setattr(pool_files, "KEPT_SECONDS", 0)


def add(pool, number):
    """A batch of two images, of which the second was skipped where the number is odd."""
    images = [f"{number}a", f"{number}b"][: 2 - number % 2]
    skipped = [(f"{number}b", "no, it is not")] * (number % 2)
    labels = np.array([[number % 3, (number + 1) % 3]] * len(images))
    confidences = np.array([[0.75, 0.25]] * len(images), np.float32)
    pool.add(
        images, skipped, {"net": ClassifierPredictions(labels, confidences)}, 10 * (number + 1)
    )


def make(out, numbers=range(5), finish=True, settings=SETTINGS, **options):
    with working(out, **options), opened(out, settings, CLASSES, ["net"], 2) as pool:
        before = pool.state.start // 10
        for number in numbers:
            if number >= before:
                add(pool, number)
        if finish:
            pool.finish()
        return pool.state


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_pool_has_what_was_added_as_numpy_and_csv_write_it(tmp_path):
    make(tmp_path / "pool")

    files = content(tmp_path / "pool")
    labels, confidences = (np.load(tmp_path / f"pool/net.{name}.npy") for name in
                           ("labels", "confidences"))  # fmt: skip
    assert files["images.txt"] == b"0a\n0b\n1a\n2a\n2b\n3a\n4a\n4b\n"
    assert labels.tolist() == [0, 0, 1, 2, 2, 0, 1, 1]
    assert (labels.dtype, confidences.dtype) == (np.int16, np.float32)
    assert files["skipped.csv"] == b'image,reason\n1b,"no, it is not"\n3b,"no, it is not"\n'
    assert files["net.csv"].splitlines()[:3] == [
        b"image,rank,wnid,confidence",
        f"0a,1,{CLASSES[0]},0.75".encode(),
        f"0a,2,{CLASSES[1]},0.25".encode(),
    ]
    assert files["classes.txt"].decode().split() == CLASSES
    np.save(tmp_path / "same.npy", labels)
    assert files["net.labels.npy"] == (tmp_path / "same.npy").read_bytes()
    assert sorted(files) == sorted(
        ["images.txt", "classes.txt", "skipped.csv", "predict.json",
         "net.labels.npy", "net.confidences.npy", "net.csv"]
    )  # fmt: skip


@pytest.mark.parametrize("done", range(5))
def test_a_stopped_pool_goes_on_to_the_same_bytes(tmp_path, done):
    make(tmp_path / "whole")

    make(tmp_path / "pool", range(done), finish=False)
    assert list(content_names(tmp_path / "pool")) == ([".predict"] if done else [])
    state = make(tmp_path / "pool")

    assert (state.images, state.skipped) == (8, 2)
    assert content(tmp_path / "pool") == content(tmp_path / "whole")


def content_names(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_what_was_written_after_the_last_kept_batch_is_cut_off(tmp_path, monkeypatch):
    make(tmp_path / "whole")
    make(tmp_path / "pool", range(3), finish=False)
    for path in (tmp_path / "pool" / ".predict").iterdir():
        if path.suffix in (".npy", ".csv", ".txt"):
            with open(path, "ab") as file:
                file.write(b"half a batch")

    make(tmp_path / "pool")

    assert content(tmp_path / "pool") == content(tmp_path / "whole")


def test_what_was_lost_of_kept_batches_is_refused_and_restart_begins_again(tmp_path):
    make(tmp_path / "pool", range(3), finish=False)
    os.truncate(tmp_path / "pool" / ".predict" / "images.txt", 2)

    with pytest.raises(BadInput, match=r"is shorter than when the run was stopped; .*--restart"):
        make(tmp_path / "pool")

    make(tmp_path / "pool", restart=True)
    make(tmp_path / "whole")
    assert content(tmp_path / "pool") == content(tmp_path / "whole")


@pytest.mark.parametrize("moved", range(8))
def test_a_pool_killed_while_its_files_are_moved_is_moved_on(tmp_path, monkeypatch, moved):
    make(tmp_path / "whole")
    replace, count = os.replace, []

    def failing(source, goal):
        if os.path.dirname(goal) == os.fspath(tmp_path / "pool"):
            count.append(goal)
            if len(count) > moved:
                raise OSError(5, "Input/output error")
        replace(source, goal)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing)
        if moved < 7:
            with pytest.raises(OSError, match="Input"):
                make(tmp_path / "pool")
            assert (tmp_path / "pool" / "images.txt").exists() == (moved == 6)
        else:
            make(tmp_path / "pool")

    state = make(tmp_path / "pool")

    assert state.images == 8
    assert content(tmp_path / "pool") == content(tmp_path / "whole")


def test_a_whole_pool_stays_and_other_settings_are_refused_by_name(tmp_path):
    make(tmp_path / "pool")
    (tmp_path / "pool" / "selection.jsonl").write_text("made of it")
    before = content(tmp_path / "pool")

    for restart in (False, True):
        assert make(tmp_path / "pool", restart=restart).whole
    with pytest.raises(BadInput, match=r"begun with another batch; .* give a new or an empty"):
        make(tmp_path / "pool", settings=SETTINGS | {"batch": 3})

    assert content(tmp_path / "pool") == before


def test_a_stopped_pool_of_other_settings_is_refused_and_stays(tmp_path):
    make(tmp_path / "pool", range(2), finish=False)
    before = content(tmp_path / "pool" / ".predict")

    with pytest.raises(BadInput, match=r"begun with another top; .* --restart to begin again"):
        make(tmp_path / "pool", settings=SETTINGS | {"top": None})

    assert content(tmp_path / "pool" / ".predict") == before
    make(tmp_path / "pool", settings=SETTINGS | {"top": None}, restart=True)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path):
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "thesis.tex").write_text("years")

    for restart in (False, True):
        with pytest.raises(BadInput, match=r"has other files \(thesis\.tex\); give a new"):
            make(tmp_path / "pool", restart=restart)

    assert content(tmp_path / "pool") == {"thesis.tex": b"years"}
    with pytest.raises(BadInput, match="is a file, expected a folder"):
        make(tmp_path / "pool" / "thesis.tex")


def test_two_runs_do_not_make_one_pool(tmp_path):
    make(tmp_path / "pool", range(2), finish=False)
    with open(tmp_path / "pool" / ".predict" / "lock", "a+b") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        with pytest.raises(BadInput, match="another run is at it"):
            make(tmp_path / "pool")


def test_a_broken_state_is_named_and_restart_begins_again(tmp_path):
    make(tmp_path / "pool", range(2), finish=False)
    (tmp_path / "pool" / ".predict" / "predict.json").write_text("{")

    with pytest.raises(BadInput, match="is not a state of a run; begin again with --restart"):
        make(tmp_path / "pool")
    assert make(tmp_path / "pool", restart=True).images == 8


def test_nothing_done_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="stop"), working(tmp_path / "a" / "pool"):
        raise ValueError("stop")

    assert not (tmp_path / "a" / "pool").exists()


def test_many_classes_take_wider_labels(tmp_path):
    classes = [f"n{number:08}" for number in range((1 << 15) + 1)]
    with working(tmp_path / "pool"), opened(tmp_path / "pool", {}, classes, ["net"]) as pool:
        predicted = ClassifierPredictions(np.array([[1 << 15]]), np.array([[0.5]], np.float32))
        pool.add(["a"], [], {"net": predicted}, 1)
        pool.finish()

    labels = np.load(tmp_path / "pool" / "net.labels.npy")
    assert (labels.dtype, labels.tolist()) == (np.int32, [1 << 15])
