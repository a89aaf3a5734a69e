"""`manage.py classify`: from a release or from frames in a folder to a file of predictions."""

import hashlib
import re
from pathlib import Path

import pytest

from evaluation.classifiers import opening
from evaluation.devices import versions
from evaluation.metrics.wordnet import nouns
from evaluation.readers.frame_predictions import read_predictions
from evaluation.readers.sequences import plain_id, read_sequences, with_masks, write_sequences
from tests.evaluation.cds import scenes
from tests.evaluation.classifiers import networks
from tests.evaluation.commands import outcome, rows_of

SHOWN = ("--content-scheme", "intra-object", "--content-scheme", "low")

pytestmark = pytest.mark.usefixtures("wordnet")


@pytest.fixture
def folder(tmp_path) -> Path:
    """release/ and images/ of three cats and a cow, a network and its classes."""
    scenes.cats_and_cow(tmp_path)
    networks.with_classes(tmp_path)
    return tmp_path


@pytest.fixture
def classify(folder, shell):
    """Runs the command: (exit status, result or error, the last line of a usage error)."""

    def run(*options: object, out: str = "predictions.csv", release: bool = True, **paths: object):
        where = (folder / "release", "--images", folder / "images", *SHOWN) if release else ()
        stated = {"model": folder / "colours.pt", "classes": folder / "wnids.txt"} | paths
        flags = [part for key, value in stated.items() for part in (f"--{key}", value)]
        return outcome(
            shell(
                "classify", *where, *flags, "--out", folder / out, "--size", 8, *options, "--json"
            )
        )

    return run


def test_every_frame_of_a_release_gets_its_names(folder, classify, shell):
    status, result = classify("--device", "cpu", "--batch", 4)

    assert status == 0
    shell("sequences", folder / "release", "--lines-only", "--out", folder / "lines", *SHOWN)
    lines = read_sequences(folder / "lines" / "sequences.jsonl")
    count = len({frame for line in lines for frame in line.frames})
    predictions = read_predictions(folder / "predictions.csv", lines)
    assert predictions.classifiers == ("colours",)
    assert result["model"].pop("sha256")
    assert result == {
        "classifier": "colours",
        "frames": count,
        "classified": count,
        "resumed": 0,
        "classes": 3,
        "model": {"model": "colours.pt", "gives": "logits"},
        "preparation": {
            "size": [8, 8],
            "fit": "squash",
            "mean": [0.0] * 3,
            "std": [1.0] * 3,
            "interpolation": "bilinear",
            "antialias": True,
        },
        "device": "cpu",
        "out": str(folder / "predictions.csv"),
        "versions": versions(),
    }


def test_a_person_reads_a_table_with_a_short_hash_of_the_model(folder, shell):
    status, out, _ = shell(
        "classify", folder / "release", "--images", folder / "images", *SHOWN,
        "--model", f"Mine={folder / 'colours.pt'}", "--classes", folder / "wnids.txt",
        "--size", 8, "--out", folder / "p.csv",
    )  # fmt: skip

    lines = dict(re.split(" {2,}", line, maxsplit=1) for line in out.splitlines() if "  " in line)
    sha256 = hashlib.sha256((folder / "colours.pt").read_bytes()).hexdigest()
    assert (status, lines["classifier"]) == (0, "Mine")
    assert lines["fit"] == "squash"
    assert lines["model sha256"] == f"{sha256[:12]}…"
    assert sha256 not in out
    assert {row["classifier"] for row in rows_of(folder / "p.csv")} == {"Mine"}


def test_frames_in_a_folder_get_the_same_names_as_those_of_their_release(folder, classify, shell):
    shell(
        "sequences", folder / "release", "--images", folder / "images", *SHOWN,
        "--out", folder / "frames",
    )  # fmt: skip
    classify(out="release.csv")

    status, result = classify("--frames", folder / "frames", out="folder.csv", release=False)

    assert (status, result["resumed"]) == (0, 0)
    assert (folder / "folder.csv").read_bytes() == (folder / "release.csv").read_bytes()


def test_sequences_of_a_benchmark_choose_frames_and_give_their_ids(folder, classify, shell):
    shell("sequences", folder / "release", "--lines-only", "--out", folder / "lines", *SHOWN)
    first, second, *_ = read_sequences(folder / "lines" / "sequences.jsonl")
    # The object of these two lines was drawn again.
    lines = [first, *with_masks([second], "0123abcd4567")]
    write_sequences(folder / "sequences.jsonl", lines)
    classify(out="all.csv")

    status, result = classify("--sequences", folder / "sequences.jsonl")

    assert (status, result["frames"]) == (0, len({*first.frames, *second.frames}))
    expected = {row["frame"]: row["wnid"] for row in rows_of(folder / "all.csv")}
    rows = rows_of(folder / "predictions.csv")
    assert {row["frame"] for row in rows} == {name for line in lines for name in line.frames}
    assert all(row["wnid"] == expected[plain_id(row["frame"])] for row in rows)
    assert read_predictions(folder / "predictions.csv", lines).classifiers == ("colours",)


def test_a_frame_that_is_missing_or_broken_is_named(folder, classify, shell):
    shell(
        "sequences", folder / "release", "--images", folder / "images", *SHOWN,
        "--out", folder / "frames",
    )  # fmt: skip
    lost = sorted((folder / "frames").rglob("01.png"))[0]
    lost.unlink()

    status, result = classify("--frames", folder / "frames", release=False)
    assert (status, result["error"], result["file"]) == (1, "the frame is missing", str(lost))
    lost.write_bytes(b"hello")
    status, result = classify("--frames", folder / "frames", release=False)
    assert (status, result["error"], result["file"]) == (1, "the frame cannot be read", str(lost))
    assert not (folder / "predictions.csv").exists()


def test_a_stopped_command_goes_on_where_it_was(folder, classify, monkeypatch):
    classify("--batch", 4, out="whole.csv")
    seen = []
    prepare = opening.Classifier.prepare

    def failing(self, frame):
        if len(seen) == 10:
            stopped()
        seen.append(frame)
        return prepare(self, frame)

    monkeypatch.setattr(opening.Classifier, "prepare", failing)
    status, result = classify("--batch", 4)
    assert (status, result["error"]) == (1, "input/output error")
    monkeypatch.setattr(opening.Classifier, "prepare", prepare)

    status, result = classify("--batch", 4)

    assert status == 0
    assert result["resumed"] == 8
    assert result["classified"] == result["frames"] - 8
    assert (folder / "predictions.csv").read_bytes() == (folder / "whole.csv").read_bytes()


def stopped(*_: object) -> None:
    raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (("--seed", 9), "part orders"),
        (("--include-empty",), "include empty"),
        (("--content-scheme", "higher"), "content schemes"),
        (("--fit", "pad"), "preparation"),
        (("--name", "other"), "name"),
    ],
)
def test_a_run_of_other_settings_is_not_gone_on_with(folder, classify, change, name):
    left = folder / ".predictions.csv.work"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opening.Classifier, "__call__", stopped)
        assert classify("--name", "mine")[0] == 1
    before = left.read_bytes()

    naming = () if name == "name" else ("--name", "mine")
    status, result = classify(*naming, *change)

    assert (status, result["error"]) == (1, f"was begun with another {name}")
    assert result["cure"] == "give the same as before to go on, or --restart to begin again"
    assert left.read_bytes() == before
    assert classify(*naming, *change, "--restart")[0] == 0


def test_what_the_classifier_is_given_can_be_said(classify):
    status, result = classify(
        "--fit", "crop", "--mean", "0.485,0.456,0.406", "--std", "0.2,0.2,0.2", "--size", "6x10"
    )

    assert status == 0
    assert result["preparation"]["size"] == [6, 10]
    assert result["preparation"]["fit"] == "crop"
    assert result["preparation"]["mean"] == [0.485, 0.456, 0.406]
    assert result["preparation"]["std"] == [0.2, 0.2, 0.2]


def test_wrong_values_are_wrong_usage(classify):
    for options, error in [
        (("--mean", "1,2"), "'1,2' is not three numbers"),
        (("--std", "1,x,2"), "'1,x,2' is not three numbers"),
        (("--size", "0"), "'0' is not a whole number from 1"),
        (("--size", "8x"), "'' is not a whole number from 1"),
        (("--batch", "0"), "'0' is not a whole number from 1"),
        (("--fit", "stretch"), "invalid choice: 'stretch'"),
    ]:
        status, result = classify(*options)

        assert status == 2, options
        assert error in result, options


def test_one_source_of_frames_is_needed_and_one_is_enough(folder, classify):
    assert classify(release=False)[1].endswith("give a campaign or a release, or --frames DIR")
    status, result = classify("--frames", folder / "frames")
    assert status == 2
    assert "a release does not go with --frames, which states what is shown" in result
    result = classify("--frames", folder, "--part-scheme", "random", release=False)[1]
    assert "--part-scheme does not go with --frames" in result


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"classes": "wrong.txt"}, "'n00000000' is not a wnid of a noun of WordNet 3.0"),
        ({"model": "none.pt"}, "the file is missing"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_written(folder, classify, files, error):
    (folder / "wrong.txt").write_text("n00000000\n")
    paths = {key: folder / name for key, name in files.items()}

    status, result = classify(**paths)

    assert status == 1
    assert error in result["error"]
    assert not list(folder.glob("*predictions.csv*"))


def test_an_onnx_file_is_looked_at_before_it_is_opened(folder, classify, monkeypatch):
    monkeypatch.setattr("onnxruntime.InferenceSession", lambda *_, **__: pytest.fail("was opened"))

    status, result = classify(model=networks.onnx_outside(folder / "outside.onnx"))

    assert (status, result["error"]) == (1, "has tensors in other files")


def test_a_release_without_photographs_says_where_they_go(folder, shell):
    status, _, err = shell(
        "classify", folder / "release", "--model", folder / "colours.pt",
        "--classes", folder / "wnids.txt", "--out", folder / "p.csv",
    )  # fmt: skip

    assert status == 1
    assert "say where they are: --images DIR" in err


def test_without_wordnet_the_cure_is_told(classify, monkeypatch):
    monkeypatch.setattr(nouns, "load", missing)

    status, result = classify()

    assert (status, result["error"], result["cure"]) == (1, "there is none", nouns.CURE)


def missing() -> None:
    raise nouns.WordNetMissing("there is none")
