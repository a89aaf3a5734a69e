"""`mad select` over classes that are not WordNet's: zero-one, a tree, a matrix."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluation.metrics.wordnet import nouns
from labeling.models import Topic
from tests import factories
from tests.evaluation.pool import mad, make_pool, plain_selection, read_lines

CLASSES = ["benign", "malignant", "normal", "naïve"]
NAMES = ("alpha", "beta", "gamma")
MATRIX = (
    ",benign,malignant,normal,naïve\n"
    "malignant,2,0,3,1\nbenign,0,2,.5,1\nnormal,.5,3,0,1\nnaïve,1,1,1,0\n"
)
TREE = "child,parent\nbenign,tumour\nmalignant,tumour\ntumour,tissue\nnormal,tissue\nnaïve,tissue\n"


@pytest.fixture(autouse=True)
def no_wordnet(monkeypatch):
    monkeypatch.setattr(nouns, "folders", list)


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    return make_pool(tmp_path / "pool", classes=CLASSES)


def selected(pool: Path, out: Path, *options: object) -> list[dict]:
    code, _, err = mad("select", "--predictions", pool, "--out", out, *options)
    assert (code, err) == (0, "")
    return read_lines(out)[1]


def refused(pool: Path, text: str) -> str:
    file = pool.parent / "own.csv"
    file.write_text(text)
    code, _, err = mad(
        *("select", "--predictions", pool, "--out", pool.parent / "s.jsonl", "--distance", file)
    )
    assert code == 1
    return err


def test_zero_one_takes_any_class_names(pool, tmp_path):
    lines = selected(pool, tmp_path / "s.jsonl", "--distance", "zero-one")

    assert lines == plain_selection(pool, NAMES, (1 - np.eye(4)).tolist())
    assert lines


@pytest.mark.parametrize(
    ("text", "distances"),
    [
        (MATRIX, [[0, 2, 0.5, 1], [2, 0, 3, 1], [0.5, 3, 0, 1], [1, 1, 1, 0]]),
        # The edges from the root weigh 1, those below it a half.
        (
            MATRIX.replace("3", "1.7e308"),
            [[0, 2, 0.5, 1], [2, 0, 1.7e308, 1], [0.5, 1.7e308, 0, 1], [1, 1, 1, 0]],
        ),
        (TREE, [[0, 1, 2.5, 2.5], [1, 0, 2.5, 2.5], [2.5, 2.5, 0, 2], [2.5, 2.5, 2, 0]]),
    ],
)
def test_a_users_distances_however_the_pool_is_cut(pool, tmp_path, text, distances):
    file = tmp_path / "own.csv"
    file.write_text(text)

    lines = selected(pool, tmp_path / "s.jsonl", "--distance", file)

    assert lines == plain_selection(pool, NAMES, distances)
    for number in (1, 2):
        selected_part = tmp_path / f"{number}.npz"
        code, _, err = mad(
            *("select", "--predictions", pool, "--distance", file),
            *("--shard", f"{number}/2", "--out", selected_part),
        )
        assert (code, err) == (0, "")
    assert (
        mad("merge", tmp_path / "1.npz", tmp_path / "2.npz", "--out", tmp_path / "m.jsonl")[0] == 0
    )
    assert read_lines(tmp_path / "m.jsonl")[1] == lines
    tasks = ("--on", "local:1", "--work", tmp_path / "work")
    assert selected(pool, tmp_path / "t.jsonl", "--distance", file, *tasks) == lines


def test_a_classifier_joins_by_the_same_file_alone(pool, tmp_path):
    file, tree = tmp_path / "own.csv", tmp_path / "other.csv"
    file.write_text(MATRIX)
    tree.write_text(TREE)
    whole = selected(pool, tmp_path / "w.jsonl", "--distance", file)
    selected(pool, tmp_path / "s.jsonl", "--distance", file, "--classifiers", "alpha,beta")

    def joined(*distance: object) -> tuple[int, object, str]:
        return mad(
            *("add", "--predictions", pool, "--into", tmp_path / "s.jsonl"),
            *("--classifier", "gamma", "--out", tmp_path / "more.jsonl", *distance),
        )

    assert joined()[0] == joined("--distance", tree)[0] == 1
    assert joined("--distance", file)[0] == 0
    assert read_lines(tmp_path / "more.jsonl")[1] == [x for x in whole if "gamma" in x["pair"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("child,parent\nbenign,a\nbenign,b\n", "two parents"),
        ("child,parent\na,b\nb,a\n", "its own ancestor"),
        ("child,parent\nbenign,a\nnormal,b\n", "several roots"),
        # Hours, if each name is looked for among all above it.
        (
            "child,parent\nn0,\n" + "".join(f"n{i + 1},n{i}\n" for i in range(30_000)),
            "'n101' is 101 levels below the root",
        ),
        ("child,parent\nbenign,a\n", "'malignant' is not in"),
        (MATRIX.replace("malignant,2,0", "malignant,4,0"), "back it is"),
        (MATRIX.replace("naïve,1,1,1,0", "naïve,1,1,1,1"), "distance to itself"),
        (MATRIX.replace("naïve,1,1,1,0", "naïve,1,1,-1,0"), "finite"),
        (MATRIX.replace("naïve,1,1,1,0", "naïve,1,1,x,0"), "not a number"),
        (MATRIX.replace("naïve,1,1,1,0\n", ""), "3 rows and 4 columns"),
        (MATRIX.replace("naïve,1,1,1,0", "naïve,1,1,1"), "expected 4"),
        # An array of 80 GB.
        ("".join(f",n{i}" for i in range(100_000)), "0 rows and 100000 columns"),
        ("".join(f",n{i}" for i in range(100_000)) + "\nn0", "0 numbers, expected 100000"),
        (MATRIX.replace(",", ";"), "has ;"),
        ("", "empty"),
    ],
)
def test_a_file_of_distances_at_fault_is_refused(pool, text, words):
    assert words in refused(pool, text)


def test_such_a_selection_is_ranked(pool, tmp_path):
    lines = selected(pool, tmp_path / "s.jsonl", "--distance", "zero-one", "--top-k", 3)
    keys = {(line["image"], label) for line in lines for label in line["labels"]}
    (tmp_path / "a.jsonl").write_text(
        "".join(
            json.dumps({"image": image, "wnid": label, "contains": label == "normal"}) + "\n"
            for image, label in keys
        )
    )

    files = ("--selection", tmp_path / "s.jsonl", "--answers", tmp_path / "a.jsonl")
    assert mad("rank", *files, "--bootstrap", 10)[0] == 0


def test_such_a_selection_opens_a_campaign(shell, pool, tmp_path, alice):
    out = tmp_path / "s.jsonl"
    shell.result("mad", "select", "--predictions", pool, "--out", out, "--distance", "zero-one")
    dataset = factories.make_dataset(alice, "pond")
    for name in {line["image"] for line in read_lines(out)[1]}:
        factories.make_image(dataset, name)

    shell.result(
        *("campaign", "open", "contains", "--name", "cells", "--dataset", "pond"),
        *("--selection", out),
    )

    topics = set(Topic.objects.values_list("key", "name"))
    assert topics == {(name, name) for name in CLASSES}


def test_confidences_that_float16_put_just_below_the_threshold_are_counted(pool, tmp_path):
    for name in NAMES:
        confidences = np.full(500, 0.9, np.float16)
        confidences[: {"alpha": 3, "beta": 2}.get(name, 0)] = 0.8
        np.save(pool / f"{name}.confidences.npy", confidences)
    np.save(pool / "gamma.confidences.npy", np.full(500, 0.8, np.float32))
    arguments = ("--predictions", pool, "--distance", "zero-one")

    def just_below(*arguments: object) -> int:
        code, out, _ = mad(*arguments, "--json")
        assert code == 0
        return out["just_below"] if isinstance(out, dict) else json.loads(out)["just_below"]

    assert just_below("select", *arguments, "--out", tmp_path / "s.jsonl") == 5
    tasks = ("--on", "local:1", "--work", tmp_path / "work")
    assert just_below("select", *arguments, "--out", tmp_path / "t.jsonl", *tasks) == 5
    parts = [tmp_path / "1.npz", tmp_path / "2.npz"]
    for number, part in enumerate(parts, 1):
        just_below("select", *arguments, "--shard", f"{number}/2", "--out", part)
    assert just_below("merge", *parts, "--out", tmp_path / "m.jsonl") == 5
