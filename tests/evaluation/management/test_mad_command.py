"""`manage.py mad select|merge|add` against plain loops, and its promises."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from evaluation.metrics.mad.sorting import SortingReducer
from evaluation.metrics.wordnet.distances import DISTANCES, distance_matrix
from tests.evaluation.pool import CLASSES, mad, make_pool, plain_selection, read_lines

pytestmark = pytest.mark.usefixtures("wordnet")
NAMES = ("alpha", "beta", "gamma")


def select(folder: Path, out: Path, *options: object) -> tuple[dict, list[dict], bytes]:
    code, _, err = mad("select", "--predictions", folder, "--out", out, *options)
    assert (code, err) == (0, "")
    return read_lines(out)


@pytest.mark.parametrize("distance", DISTANCES)
def test_selection_is_that_of_plain_loops(tmp_path, wordnet, distance):
    folder = make_pool(tmp_path / "pool")
    matrix = distance_matrix(wordnet, [wordnet.index(c) for c in CLASSES], distance).tolist()

    _, lines, _ = select(folder, tmp_path / "s.jsonl", "--distance", distance)

    assert lines == plain_selection(folder, NAMES, matrix)
    assert any(line.get("reserve") for line in lines)


# Every pair of two settings comes once.
@pytest.mark.parametrize(
    ("kinds", "order", "unique", "device"),
    [
        pytest.param(("float16",), "ascending", False, "cpu", marks=pytest.mark.ci),
        (("float16",), "shuffled", True, "sorted"),
        (("float32",), "ascending", True, "sorted"),
        pytest.param(("float32",), "shuffled", False, "cpu", marks=pytest.mark.ci),
        (("float16", "float32"), "ascending", False, "sorted"),
        (("float16", "float32"), "shuffled", True, "cpu"),
    ],
)
def test_ties_fall_by_id_for_every_dtype_order_and_device(
    tmp_path, wordnet, monkeypatch, kinds, order, unique, device
):
    ids = [f"ü{n}" if n % 7 == 0 else f"image {n}" for n in range(3000)]
    ids.sort(key=str.encode)
    if order == "shuffled":
        random.Random(5).shuffle(ids)
    folder = make_pool(
        tmp_path / "pool",
        ids=ids,
        confidence_types=kinds,
        label_types=("int32", "int16"),
        coarse=True,
        seed=3,
    )
    matrix = distance_matrix(wordnet, [wordnet.index(c) for c in CLASSES], "hops").tolist()
    rule = {"top_k": 7, "reserve": 4, "max_per_label": 2, "min_confidence": 0.75}
    if device == "sorted":
        monkeypatch.setattr("evaluation.management.commands.mad._sorting_on", lambda name: "cpu")
    # The bound must be drawn, and not only at the end.
    monkeypatch.setattr("evaluation.metrics.mad.selection._FIRST_BOUNDS", (64, 256, 1024))
    monkeypatch.setattr("evaluation.metrics.mad.selection._WORTH_A_BOUND", 1)
    monkeypatch.setattr("evaluation.metrics.mad.selection.CHUNK", 700)
    monkeypatch.setattr("evaluation.metrics.mad.sorting.CHUNK", 700)

    options = [f"--{key.replace('_', '-')}={value}" for key, value in rule.items()]
    options += ["--unique-pairs"] if unique else []
    _, lines, _ = select(folder, tmp_path / "s.jsonl", "--distance", "hops", *options)

    assert lines == plain_selection(folder, NAMES, matrix, unique_pairs=unique, **rule)


@pytest.mark.usefixtures("wordnet")
def test_a_gpu_that_holds_fewer_images_at_once_chooses_the_same(tmp_path, monkeypatch, caplog):
    folder = make_pool(tmp_path / "pool", coarse=True, seed=3)
    _, _, whole = select(folder, tmp_path / "whole.jsonl")
    passing = SortingReducer._passing

    def small(self, a, b, piece, least):
        if piece.stop - piece.start > 50:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return passing(self, a, b, piece, least)

    monkeypatch.setattr("evaluation.management.commands.mad._sorting_on", lambda name: "cpu")
    monkeypatch.setattr(SortingReducer, "_passing", small)
    _, _, halved = select(folder, tmp_path / "halved.jsonl")

    assert halved == whole
    assert [row.message.split("; ")[0] for row in caplog.records] == ["the GPU ran out of memory"]


@pytest.mark.parametrize(("parts", "shuffled"), [(1, True), (7, False), (16, True)])
def test_any_cut_in_any_order_gives_the_same_bytes(tmp_path, parts, shuffled):
    ids = [f"{n:05d}" for n in range(600)]
    if shuffled:
        random.Random(1).shuffle(ids)
    folder = make_pool(tmp_path / "pool", ids=ids, coarse=True, confidence_types=("float32",))
    _, _, whole = select(folder, tmp_path / "whole.jsonl", "--top-k", 10, "--reserve", 5)
    files = []
    for index in range(1, parts + 1):
        files.append(tmp_path / f"part-{index}.npz")
        code, _, err = mad(
            "select", "--predictions", folder, "--out", files[-1],
            "--shard", f"{index}/{parts}", "--top-k", 10, "--reserve", 5,
        )  # fmt: skip
        assert (code, err) == (0, "")
    random.Random(parts).shuffle(files)

    code, _, err = mad("merge", *files, "--out", tmp_path / "merged.jsonl")

    assert (code, err) == (0, "")
    assert read_lines(tmp_path / "merged.jsonl")[2] == whole


def test_the_whole_and_its_parts_have_the_same_meta_but_for_the_number_of_parts(tmp_path):
    folder = make_pool(tmp_path / "pool")
    meta, _, _ = select(folder, tmp_path / "whole.jsonl")
    mad("select", "--predictions", folder, "--out", tmp_path / "p.npz", "--shard", "1/1")
    mad("merge", tmp_path / "p.npz", "--out", tmp_path / "merged.jsonl")

    assert read_lines(tmp_path / "merged.jsonl")[0] == {**meta, "parts": 1}


def test_meta_names_every_setting_and_hashes_every_input(tmp_path):
    import hashlib

    folder = make_pool(tmp_path / "pool")

    meta, lines, _ = select(folder, tmp_path / "s.jsonl", "--top-k", 5, "--reserve", 2)

    assert {key: meta[key] for key in ("top_k", "reserve", "min_confidence", "max_per_label")} == {
        "top_k": 5, "reserve": 2, "min_confidence": 0.8, "max_per_label": 3,
    }  # fmt: skip
    assert (meta["distance"], meta["unique_pairs"]) == ("weighted", False)
    assert meta["classifiers"] == list(NAMES)
    assert meta["inputs"] == {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()
    }
    assert meta["counts"]["images"] == 500
    assert meta["counts"]["selected"] == sum(line["rank"] <= 5 for line in lines) == 15


def test_pairs_follow_the_classifiers_given(tmp_path):
    folder = make_pool(tmp_path / "pool")

    meta, lines, _ = select(folder, tmp_path / "s.jsonl", "--classifiers", "gamma,alpha")

    assert meta["classifiers"] == ["gamma", "alpha"]
    assert {tuple(line["pair"]) for line in lines} == {("gamma", "alpha")}


def test_a_pair_that_never_differs_has_no_lines(tmp_path):
    folder = make_pool(tmp_path / "pool")
    for kind in ("labels", "confidences"):
        (folder / f"beta.{kind}.npy").write_bytes((folder / f"alpha.{kind}.npy").read_bytes())

    meta, lines, _ = select(folder, tmp_path / "s.jsonl")

    assert ["alpha", "beta"] not in [line["pair"] for line in lines]
    assert meta["counts"]["short_pairs"] == 1


def test_a_selection_without_an_image_says_why(tmp_path):
    folder = make_pool(tmp_path / "pool", ids=["a", "b"])
    for name in NAMES:
        np.save(folder / f"{name}.confidences.npy", np.array([0.75, 0.75], np.float32))
    out = tmp_path / "s.jsonl"

    code, _, err = mad("select", "--predictions", folder, "--out", out)

    meta, lines, _ = read_lines(out)
    assert (code, lines, meta["counts"]["selected"]) == (0, [], 0)
    assert err.startswith("no image is chosen: ")
    assert "at least 0.8; mad select --min-confidence lowers that" in err


def test_negative_zero_is_zero(tmp_path):
    folder = make_pool(tmp_path / "pool", names=("alpha", "beta"), ids=["a", "b"])
    for name, labels in (("alpha", [0, 0]), ("beta", [5, 5])):
        np.save(folder / f"{name}.labels.npy", np.array(labels, np.int16))
        np.save(folder / f"{name}.confidences.npy", np.array([-0.0, 0.5], np.float16))

    _, lines, body = select(folder, tmp_path / "s.jsonl", "--min-confidence", 0)

    assert [line["image"] for line in lines] == ["b", "a"]
    assert b"-0.0" not in body


@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_confidences_widen_before_they_meet_the_threshold(tmp_path, kind):
    folder = make_pool(tmp_path / "pool", names=("alpha", "beta"), ids=["a", "b"])
    nearest = np.array(0.8, kind)
    under, over = (np.nextafter(nearest, np.array(goal, kind)) for goal in (0, 1))
    below, above = (under, nearest) if float(nearest) >= 0.8 else (nearest, over)
    for name, label in (("alpha", 0), ("beta", 5)):
        np.save(folder / f"{name}.labels.npy", np.array([label, label], np.int16))
        np.save(folder / f"{name}.confidences.npy", np.array([below, above], kind))

    _, lines, _ = select(folder, tmp_path / "s.jsonl")

    assert [line["image"] for line in lines] == ["b"]


@pytest.mark.parametrize("classifiers", [(), ("--classifiers", "alpha,gamma")])
def test_the_union_after_add_ranks_as_a_full_run(tmp_path, classifiers):
    folder = make_pool(tmp_path / "pool", images=800)
    options = ("--top-k", 8, "--reserve", 4, "--distance", "hops", "--max-per-label", 2)
    everyone = ("--classifiers", "alpha,gamma,beta") if classifiers else ()
    _, full, _ = select(folder, tmp_path / "full.jsonl", *options, *everyone)
    for kind in ("labels", "confidences"):
        (folder / f"beta.{kind}.npy").rename(tmp_path / f"beta.{kind}.npy")
    select(folder, tmp_path / "old.jsonl", *options, *classifiers)
    for kind in ("labels", "confidences"):
        (tmp_path / f"beta.{kind}.npy").rename(folder / f"beta.{kind}.npy")

    code, _, err = mad(
        "add", "--predictions", folder, "--into", tmp_path / "old.jsonl",
        "--classifier", "beta", "--out", tmp_path / "more.jsonl",
    )  # fmt: skip

    assert (code, err) == (0, "")
    assert all("beta" in line["pair"] for line in read_lines(tmp_path / "more.jsonl")[1])
    rng = random.Random(0)
    questions = {
        (line["image"], label): rng.random() < 0.6 for line in full for label in line["labels"]
    }
    answers = tmp_path / "answers.jsonl"
    answers.write_text(
        "".join(
            json.dumps({"image": i, "wnid": w, "contains": c}) + "\n"
            for (i, w), c in questions.items()
        )
    )
    union = tmp_path / "union.jsonl"
    union.write_bytes(
        (tmp_path / "old.jsonl").read_bytes() + (tmp_path / "more.jsonl").read_bytes()
    )
    results = [
        mad("rank", "--selection", *files, "--answers", answers, "--bootstrap", 50, "--json")
        for files in (
            [tmp_path / "full.jsonl"],
            [union],
            [tmp_path / "old.jsonl", tmp_path / "more.jsonl"],
        )
    ]
    assert results[0][0] == 0
    assert results[0] == results[1] == results[2]


def test_json_is_one_object_and_nothing_else(tmp_path):
    folder = make_pool(tmp_path / "pool")

    code, out, err = mad("select", "--predictions", folder, "--out", tmp_path / "s", "--json")

    assert (code, err) == (0, "")
    assert json.loads(out)["out"] == str(tmp_path / "s")


def test_wrong_usage_exits_2():
    select = ("select", "--predictions", "x", "--out", "y")
    for arguments in (
        (),
        ("select",),
        (*select, "--shard", "0/3"),
        (*select, "--classifiers", "a"),
        (*select, "--top-k", "0"),
        (*select, "--min-confidence", "1.5"),
        (*select, "--distance", "cosine"),
        ("choose",),
    ):
        code, out, _ = mad(*arguments)

        assert (code, out) == (2, ""), arguments
