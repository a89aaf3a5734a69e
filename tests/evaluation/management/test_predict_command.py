"""`manage.py predict`: photographs become a pool that `mad select` and `score` read."""

import csv
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evaluation.classifiers import opening
from evaluation.classifiers.predicting import pool_files
from tests.evaluation.classifiers import networks
from tests.evaluation.classifiers.networks import CLASSES
from tests.evaluation.classifiers.predicting import pictures
from tests.evaluation.commands import files_in, outcome

ROOT = Path(__file__).resolve().parents[3]
COUNT = 12

pytestmark = pytest.mark.usefixtures("wordnet")


@pytest.fixture
def folder(tmp_path) -> Path:
    """images/ of twelve photographs, two networks and their classes."""
    pictures.folder(tmp_path / "images", COUNT)
    networks.with_classes(tmp_path)
    networks.onnx(tmp_path / "more.onnx")
    return tmp_path


@pytest.fixture
def predict(folder, shell):
    """Runs the command: (exit status, result or error, the last line of a usage error)."""

    def run(*options: object, images: str = "images", out: str = "pool", **paths: object):
        stated = {"model": folder / "colours.pt", "classes": folder / "wnids.txt"} | paths
        flags = [part for key, value in stated.items() for part in (f"--{key}", value)]
        arguments = ("predict", folder / images, *flags, "--out", folder / out)
        return outcome(shell(*arguments, "--size", 8, "--device", "cpu", *options, "--json"))

    return run


def test_photographs_become_a_pool_that_mad_select_reads(folder, predict, shell):
    status, result = predict("--model", f"More={folder / 'more.onnx'}", "--batch", 5)

    assert status == 0
    assert result["classifiers"].keys() == {"colours", "More"}
    for name, classifier in result["classifiers"].items():
        assert classifier.pop("images_per_second") > 0
        assert classifier["model"].pop("sha256")
        assert classifier == {
            "model": {"model": {"colours": "colours.pt", "More": "more.onnx"}[name],
                      "gives": "logits"},
            "preparation": {"size": [8, 8], "fit": "crop", "mean": [0.0] * 3, "std": [1.0] * 3,
                            "interpolation": "bilinear", "crop_share": 1.0, "antialias": True},
        }  # fmt: skip
    assert result["versions"].keys() >= {"python", "torch"}
    assert {key: result[key] for key in ("images", "skipped", "resumed", "device", "out")} == {
        "images": COUNT,
        "skipped": 0,
        "resumed": 0,
        "device": "cpu",
        "out": str(folder / "pool"),
    }
    assert (folder / "pool" / "classes.txt").read_bytes() == (folder / "wnids.txt").read_bytes()
    status, printed, warning = shell(
        *("mad", "select", "--predictions", folder / "pool", "--min-confidence", 0.1),
        *("--out", folder / "selection.jsonl", "--json"),
    )
    # Both networks name the commonest colour.
    assert (status, warning[:19]) == (0, "no image is chosen:")
    made = json.loads(printed)
    assert made["classifiers"] == ["More", "colours"]
    assert made["inputs"].keys() >= {"images.txt", "More.labels.npy", "colours.confidences.npy"}


def test_the_likeliest_classes_are_predictions_that_score_classification_reads(
    folder, predict, shell
):
    predict("--top", 2)
    with open(folder / "truth.csv", "w", newline="") as file:
        truth = csv.writer(file)
        truth.writerow(("image", "wnid"))
        for number in range(COUNT):
            truth.writerow((f"{number // 10}/{number:03}.jpg", CLASSES[number % 3]))

    scored = shell.result(
        *("score", "classification", "--truth", folder / "truth.csv"),
        *("--predictions", folder / "pool" / "colours.csv"),
    )

    assert scored["top1_error"]["value"] == 0
    with open(folder / "pool" / "colours.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["rank"] for row in rows[:4]] == ["1", "2", "1", "2"]
    confidences = np.load(folder / "pool" / "colours.confidences.npy")
    assert [float(row["confidence"]) for row in rows[::2]] == pytest.approx(confidences, abs=1e-6)


def test_a_zip_and_a_manifest_give_the_pool_of_their_folder(folder, predict):
    predict()
    files = {f"{n // 10}/{n:03}.jpg": pictures.of(n) for n in range(COUNT)}
    pictures.zipped(folder / "images.zip", files)
    pictures.manifest(folder / "images" / "all.csv", reversed(files))

    for number, images in enumerate(("images.zip", "images/all.csv")):
        status, result = predict(images=images, out=f"pool{number}")
        assert (status, result["images"]) == (0, COUNT)
        files_of_source, whole = files_in(folder / f"pool{number}"), files_in(folder / "pool")
        del files_of_source["predict.json"], whole["predict.json"]
        assert files_of_source == whole


def test_what_cannot_be_read_is_skipped_and_told(folder, shell):
    pictures.write(folder / "images", {"0/cut.jpg": pictures.of(0)[:300], "z.txt": b"hello"})

    status, out, err = shell(
        *("predict", folder / "images", "--model", folder / "colours.pt", "--out", folder / "pool"),
        *("--classes", folder / "wnids.txt"),
    )

    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line)
    assert (status, lines["images"], lines["skipped"]) == (0, "12", "2")
    assert err == "2 files skipped: see skipped.csv for the reasons\n"
    with open(folder / "pool" / "skipped.csv", newline="") as file:
        assert [row["image"] for row in csv.DictReader(file)] == ["0/cut.jpg", "z.txt"]


def test_the_same_command_on_a_whole_pool_does_nothing_again(folder, predict, monkeypatch):
    predict()
    before = files_in(folder / "pool")
    monkeypatch.setattr(opening.Classifier, "__call__", None)

    status, result = predict()

    assert (status, result["images"], result["resumed"]) == (0, COUNT, COUNT)
    assert result["classifiers"]["colours"]["images_per_second"] is None
    assert files_in(folder / "pool") == before


def test_several_processes_make_the_same_pool(folder, predict):
    predict("--processes", 0)
    predict("--processes", 2, out="other")

    assert files_in(folder / "other") == files_in(folder / "pool")


def test_ilsvrc_names_its_thousand_classes(folder, predict):
    status, result = predict(classes="ilsvrc")

    assert status == 1
    assert result["error"].endswith("for two images, the classes are 1000")


MODEL = """
import os, signal
import torch
from evaluation.classifiers.predicting import pool_files

pool_files.KEPT_SECONDS = 0
STOP = os.environ.get("STOP_AT")

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.given = 0

    def forward(self, images):
        if len(images) == 3 and STOP:
            self.given += 1
            print("batch", self.given, flush=True)
            if self.given == int(STOP):
                signal.pause()
        return self.linear(images.mean((2, 3)) * 9 + images.std() * 3)
"""


@pytest.mark.ci
def test_a_run_that_was_killed_goes_on_to_the_same_bytes_without_a_database(
    folder, predict, monkeypatch
):
    (folder / "own_model.py").write_text(MODEL)
    monkeypatch.syspath_prepend(folder)
    status, _ = predict("--batch", 3, "--top", 2, "--processes", 0, model="own_model:Net")
    assert status == 0
    command = [
        *(sys.executable, "manage.py", "predict", folder / "images", "--model", "own_model:Net"),
        *("--classes", folder / "wnids.txt", "--out", folder / "killed", "--size", "8"),
        *("--device", "cpu", "--batch", "3", "--top", "2", "--json"),
    ]
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "ASSAY_DATA": str(folder / "data"),
        "DATABASE_URL": "postgres://nobody@127.0.0.1:1/none",
        "SECRET_KEY": "of this test",
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    with subprocess.Popen(
        [*command, "--processes", "2"], cwd=ROOT, env=environment | {"STOP_AT": "3"}, **pipes
    ) as process:
        assert [process.stdout.readline() for _ in range(3)] == [
            f"batch {number}\n" for number in (1, 2, 3)
        ]
        process.send_signal(signal.SIGKILL)
        # It ends when the last process that decodes has gone too.
        assert process.stderr.read() == ""
    assert [path.name for path in (folder / "killed").iterdir()] == [".predict"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment | {"STOP_AT": "9"},
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )

    *batches, result = done.stdout.splitlines()
    assert batches == ["batch 1", "batch 2"]
    assert (json.loads(result)["images"], json.loads(result)["resumed"]) == (COUNT, 6)
    assert files_in(folder / "killed") == files_in(folder / "pool")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (("--batch", 5), "batch"),
        (("--top", 2), "top"),
        (("--fit", "pad"), "preparation"),
        (("--model", "More=more.onnx"), "models, preparation"),
    ],
)
def test_a_stopped_run_of_other_settings_is_refused_until_restart(
    folder, predict, monkeypatch, change, name
):
    calls = []
    run = opening.Classifier.__call__

    def failing(self, batch):
        calls.append(len(batch))
        if len(calls) == 3:
            raise OSError(5, "Input/output error")
        return run(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(opening.Classifier, "__call__", failing)
        assert predict("--batch", 4)[0] == 1
    monkeypatch.chdir(folder)

    status, result = predict("--batch", 4, *change)

    assert (status, result["error"]) == (1, f"was begun with another {name}")
    assert result["cure"] == "give the same as before to go on, or --restart to begin again"
    status, result = predict("--batch", 4, *change, "--restart")
    assert (status, result["resumed"]) == (0, 0)


def test_photographs_that_changed_since_are_other_images(folder, predict):
    predict()
    pictures.write(folder / "images", {"new.jpg": pictures.of(1)})

    status, result = predict()

    assert (status, result["error"]) == (1, "was begun with another images")
    assert result["cure"].endswith("or give a new or an empty folder")


@pytest.mark.parametrize(
    ("changes", "error", "file"),
    [
        ({"images": "nowhere"}, "there are no photographs", "nowhere"),
        ({"images": "notes"}, "none of 2 files can be read as a photograph", "notes"),
        ({"images": "twice.csv"}, "the image '0/000.jpg' is repeated", "twice.csv"),
        ({"classes": "few.txt"}, "gives 2 × 3 for two images, the classes are 2", None),
        ({"model": "none.pt"}, "the file is missing", "none.pt"),
        ({"out": "images/pool"}, "is inside the folder of photographs", "images/pool"),
        ({"out": "full"}, "has other files (thesis.tex)", "full"),
    ],
)
def test_bad_input_is_named_and_leaves_nothing(folder, predict, changes, error, file):
    pictures.write(
        folder,
        {"notes/a.txt": b"a", "notes/b.txt": b"b", "full/thesis.tex": b"",
         "twice.csv": b"image\n0/000.jpg\n./0/000.jpg\n",
         "few.txt": "\n".join(CLASSES[:2]).encode()},
    )  # fmt: skip
    pictures.folder(folder, 1)
    there = set(folder.rglob("*"))
    arguments = {
        key: folder / name if key in ("classes", "model") else name for key, name in changes.items()
    }

    status, result = predict(**arguments)

    assert status == 1
    assert error in result["error"]
    assert result["cure"]
    assert result["file"] == (str(folder / file) if file else None)
    assert set(folder.rglob("*")) == there


def test_a_full_disk_is_named_with_the_pool_and_the_cure(folder, predict, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pool_files.PoolInProgress, "add", full)

    status, result = predict()

    assert (status, result["error"], result["file"]) == (
        1,
        "the disk is full",
        str(folder / "pool"),
    )
    assert "goes on where this one stopped" in result["cure"]


def test_an_onnx_file_is_looked_at_before_it_is_opened(folder, predict, monkeypatch):
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *_, **__: pytest.fail("was opened"))

    status, result = predict(model=networks.onnx_outside(folder / "outside.onnx"))

    assert (status, result["error"]) == (1, "has tensors in other files")


def test_names_of_classifiers_are_checked_before_anything_is_done(folder, predict):
    status, result = predict("--model", f"colours={folder / 'more.onnx'}")
    assert (status, result["error"]) == (1, "two classifiers are called 'colours'")
    (folder / "a,b.pt").write_bytes((folder / "colours.pt").read_bytes())

    status, result = predict(model=folder / "a,b.pt")

    assert (status, result["error"]) == (1, "files cannot be named after the classifier 'a,b'")
    assert result["cure"] == "give it another name, as NAME=MODEL"
    assert predict(model=f"ab={folder / 'a,b.pt'}")[0] == 0


def test_a_device_that_is_not_here_is_refused_before_any_file_is_read(folder, shell):
    refusal = shell.refusal(
        *("predict", folder / "nowhere", "--model", "none.pt", "--classes", "none.txt"),
        *("--out", folder / "pool", "--device", "cuda:99"),
    )

    assert "cuda:99 is not usable" in refusal["error"]


def test_weights_of_one_of_several_models_are_wrong_usage(folder, predict):
    status, error = predict("--model", "own:Net", "--weights", folder / "colours.pt")

    assert status == 2
    assert "--weights goes with one --model" in error
