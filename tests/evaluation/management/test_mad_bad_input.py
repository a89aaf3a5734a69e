"""Each bad input gets one line that names the file, the line and the cure, and writes nothing."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.evaluation import commands
from tests.evaluation.pool import CLASSES, mad, make_pool, read_lines, refused

pytestmark = pytest.mark.usefixtures("wordnet")


def spoil_array(name: str, change):
    def spoil(folder: Path) -> None:
        path = folder / name
        np.save(path, change(np.load(path)))

    return spoil


def put(index: int, value: float):
    def change(array: np.ndarray) -> np.ndarray:
        array[index] = value
        return array

    return change


def spoil_text(name: str, change):
    def spoil(folder: Path) -> None:
        path = folder / name
        path.write_bytes(change(path.read_bytes()))

    return spoil


def cut(name: str, size: int):
    return spoil_text(name, lambda data: data[:size])


def put_archive(folder: Path) -> None:
    with open(folder / LABELS, "wb") as file:
        np.savez(file, x=np.zeros(3))


LABELS, SURE = "beta.labels.npy", "beta.confidences.npy"
SPOILED = {
    "labels of another length": (spoil_array(LABELS, lambda x: x[:-1]), LABELS, "499", None),
    "labels of another dtype": (
        spoil_array(LABELS, lambda x: x.astype("int64")), LABELS, "int64", None),
    "labels of another byte order": (
        spoil_array(LABELS, lambda x: x.astype(">i2")), LABELS, ">i2", None),
    "labels of another shape": (
        spoil_array(LABELS, lambda x: x[:, None]), LABELS, "(500, 1)", None),
    "a label outside classes.txt": (
        spoil_array(LABELS, put(7, len(CLASSES))), LABELS, "index 7", None),
    "a negative label": (spoil_array(LABELS, put(8, -1)), LABELS, "index 8", None),
    "confidences of another dtype": (
        spoil_array(SURE, lambda x: x.astype("float64")), SURE, "float64", None),
    "a NaN": (
        spoil_array(SURE, put(3, np.nan)), SURE, "index 3 (line 4 of images.txt) is nan", None),
    "an infinite confidence": (spoil_array(SURE, put(3, np.inf)), SURE, "inf", None),
    "a confidence above 1": (spoil_array(SURE, put(499, 1.5)), SURE, "1.5", None),
    "a confidence under 0": (spoil_array(SURE, put(0, -0.25)), SURE, "-0.25", None),
    "an array cut short": (cut(SURE, 300), SURE, "whole", None),
    "an array cut in its head": (cut(SURE, 30), SURE, "whole", None),
    "an array that is text": (spoil_text(LABELS, lambda _: b"1 2 3"), LABELS, "whole", None),
    "pickled objects": (
        spoil_array(LABELS, lambda x: np.array([{}] * 500, object)), LABELS, "whole", None),
    "an archive": (
        put_archive, LABELS, "one .npy", None),
    "no labels": (lambda folder: (folder / LABELS).unlink(), LABELS, "missing", None),
    "no images": (lambda folder: (folder / "images.txt").unlink(), "images.txt", "missing", None),
    "no classes": (
        lambda folder: (folder / "classes.txt").unlink(), "classes.txt", "missing", None),
    "an empty list of images": (cut("images.txt", 0), "images.txt", "no images", None),
    "an empty list of classes": (cut("classes.txt", 0), "classes.txt", "no classes", None),
    "a wnid not in WordNet": (
        spoil_text("classes.txt", lambda x: x.replace(b"n01443537", b"n01443538")),
        "classes.txt", "n01443538", 2),
    "a class twice": (
        spoil_text("classes.txt", lambda x: x.replace(b"n01443537", b"n01440764")),
        "classes.txt", "already in line 1", 2),
    "a blank line of classes": (
        spoil_text("classes.txt", lambda x: x.replace(b"n01443537", b"")), "classes.txt", "''", 2),
    "an image twice, in order": (
        spoil_text("images.txt", lambda x: x.replace(b"000003", b"000002")),
        "images.txt", "already in line 3", 4),
    "an image twice, far apart": (
        spoil_text("images.txt", lambda x: x.replace(b"000400", b"000002")),
        "images.txt", "already in line 3", 401),
    "a blank line of images": (
        spoil_text("images.txt", lambda x: x.replace(b"pool/000003.jpg", b"")),
        "images.txt", "empty", 4),
    "a NUL": (
        spoil_text("images.txt", lambda x: x.replace(b"000003", b"0\x00")), "images.txt", "NUL", 4),
    "a byte order mark": (
        spoil_text("images.txt", lambda x: b"\xef\xbb\xbf" + x),
        "images.txt", "byte order mark", 1),
    "Windows line ends": (
        spoil_text("images.txt", lambda x: x.replace(b"\n", b"\r\n")), "images.txt", "return", 1),
    "an id that is not UTF-8": (
        spoil_text("images.txt", lambda x: x.replace(b"000003", b"\xff")),
        "images.txt", "UTF-8", 4),
}  # fmt: skip


@pytest.mark.parametrize("case", SPOILED)
def test_a_spoiled_pool_is_refused_by_file_line_and_cure(tmp_path, case):
    spoil, file, words, line = SPOILED[case]
    folder = make_pool(tmp_path / "pool", images=500)
    spoil(folder)
    out = tmp_path / "out" / "s.jsonl"
    out.parent.mkdir()

    refusal = refused("select", "--predictions", folder, "--out", out)

    assert set(refusal) == {"error", "file", "line", "cure"}
    assert (refusal["file"], refusal["line"]) == (str(folder / file), line)
    assert words in refusal["error"]
    assert refusal["cure"]
    assert list(out.parent.iterdir()) == []


def test_without_json_a_refusal_is_one_line(tmp_path):
    folder = make_pool(tmp_path / "pool")
    np.save(folder / LABELS, np.zeros(3, np.int16))

    code, printed, err = mad("select", "--predictions", folder, "--out", tmp_path / "s.jsonl")

    assert (code, printed) == (1, "")
    assert err.count("\n") == 1
    assert err.startswith(f"{folder / LABELS}: has 3 values")


def test_an_old_selection_stays_when_a_new_one_fails(tmp_path):
    folder = make_pool(tmp_path / "pool")
    (tmp_path / "s.jsonl").write_text("old")
    np.save(folder / LABELS, np.zeros(3, np.int16))

    mad("select", "--predictions", folder, "--out", tmp_path / "s.jsonl")

    assert (tmp_path / "s.jsonl").read_text() == "old"


@pytest.mark.parametrize("names", ["alpha,delta", "alpha,../beta"])
def test_a_classifier_without_files_is_refused(tmp_path, names):
    select = ("select", "--predictions", make_pool(tmp_path / "pool"), "--out", tmp_path / "s")

    assert "missing" in refused(*select, "--classifiers", names)["error"]
    assert not (tmp_path / "s").exists()


def test_a_folder_or_a_goal_that_is_not_there_is_refused(tmp_path):
    folder = make_pool(tmp_path / "pool")

    for predictions, out in ((tmp_path / "no", tmp_path / "s"), (folder, tmp_path / "no" / "s")):
        refusal = refused("select", "--predictions", predictions, "--out", out)
        assert "does not exist" in refusal["error"]


def test_a_missing_wordnet_is_refused_with_make_setup(tmp_path, monkeypatch):
    select = ("select", "--predictions", make_pool(tmp_path / "pool"), "--out", tmp_path / "s")
    monkeypatch.setenv("ASSAY_WORDNET", str(tmp_path))

    assert "make setup" in refused(*select)["cure"]


def shards(tmp_path: Path, count: int = 3) -> list[Path]:
    folder = make_pool(tmp_path / "pool")
    files = [tmp_path / f"{n}.npz" for n in range(1, count + 1)]
    for n, file in enumerate(files, start=1):
        mad("select", "--predictions", folder, "--out", file, "--shard", f"{n}/{count}")
    return files


def test_parts_that_leave_a_gap_overlap_or_lack_the_end_are_refused(tmp_path):
    first, second, third = shards(tmp_path)

    for parts, words in (
        ((first, third), "leaves out images 167 to 333"),
        ((first, second, second, third), "repeats images 167 to 333"),
        ((first, second), "images 334 to 500"),
    ):
        assert words in refused("merge", *parts, "--out", tmp_path / "s")["error"]
        assert not (tmp_path / "s").exists()


def test_parts_of_other_settings_or_inputs_are_refused(tmp_path):
    first, second = shards(tmp_path, 2)
    folder = tmp_path / "pool"
    mad("select", "--predictions", folder, "--out", second, "--shard", "2/2", "--top-k", 9)

    code, _, err = mad("merge", first, second, "--out", tmp_path / "s")

    assert code == 1
    assert f"{second}: was made with another top_k" in err


@pytest.mark.parametrize("size", [0, 100, 4000])
def test_a_part_that_is_cut_short_is_refused(tmp_path, size):
    (part,) = shards(tmp_path, 1)
    part.write_bytes(part.read_bytes()[:size])

    refusal = refused("merge", part, "--out", tmp_path / "s")

    assert (refusal["file"], refusal["error"][:19]) == (str(part), "is not a whole part")


def added(tmp_path: Path, change) -> tuple[int, str]:
    folder = make_pool(tmp_path / "pool")
    mad("select", "--predictions", folder, "--classifiers", "alpha,beta", "--out", tmp_path / "s")
    change(folder, tmp_path / "s")
    code, _, err = mad(
        "add", "--predictions", folder, "--into", tmp_path / "s",
        "--classifier", "gamma", "--out", tmp_path / "more",
    )  # fmt: skip
    assert code == 0 or not (tmp_path / "more").exists()
    return code, err


def test_add_refuses_another_pool(tmp_path):
    def shuffle(folder: Path, _: Path) -> None:
        lines = (folder / "images.txt").read_text().splitlines(keepends=True)
        (folder / "images.txt").write_text("".join(reversed(lines)))

    code, err = added(tmp_path, shuffle)

    assert code == 1
    assert "images.txt: is not the file that" in err


def test_add_refuses_who_is_in_already(tmp_path):
    added(tmp_path, lambda folder, out: None)
    code, _, err = mad(
        "add", "--predictions", tmp_path / "pool", "--into", tmp_path / "s",
        "--classifier", "beta", "--out", tmp_path / "again",
    )  # fmt: skip

    assert code == 1
    assert "in the competition already" in err


def test_add_refuses_a_meta_line_without_settings(tmp_path):
    def forget(_: Path, out: Path) -> None:
        meta, lines, _ = read_lines(out)
        del meta["max_per_label"], meta["distance"]
        out.write_text("".join(json.dumps(x) + "\n" for x in ({"meta": meta}, *lines)))

    code, err = added(tmp_path, forget)

    assert code == 1
    assert "(max_per_label, distance)" in err


META = {"meta": {"classifiers": ["a", "b"], "top_k": 1}}
LINE = {"pair": ["a", "b"], "rank": 1, "image": "x", "labels": ["n1", "n2"]}
ANSWERS = [
    {"image": "x", "wnid": "n1", "contains": True},
    {"image": "x", "wnid": "n2", "contains": False},
]
RANKS = {
    "no meta": ([LINE], ANSWERS, "s.jsonl", 1, "meta"),
    "nothing": ([], ANSWERS, "s.jsonl", None, "empty"),
    "no classifiers": ([{"meta": {"top_k": 1}}], ANSWERS, "s.jsonl", 1, "classifiers"),
    "no top_k": ([{"meta": {"classifiers": ["a", "b"]}}], ANSWERS, "s.jsonl", 1, "top_k"),
    "not JSON": ([META, "{"], ANSWERS, "s.jsonl", 2, "not JSON"),
    "endless digits": ([META, '{"rank": ' + "1" * 5000 + "}"], ANSWERS, "s.jsonl", 2, "not JSON"),
    "a bottomless list": ([META, "[" * 100_000], ANSWERS, "s.jsonl", 2, "not JSON"),
    "a list": ([META, []], ANSWERS, "s.jsonl", 2, "object"),
    "a stranger": ([META, LINE | {"pair": ["a", "z"]}], ANSWERS, "s.jsonl", 2, "'z'"),
    "rank 0": ([META, LINE | {"rank": 0}], ANSWERS, "s.jsonl", 2, "rank"),
    "a rank twice": ([META, LINE, LINE | {"image": "y"}], ANSWERS, "s.jsonl", 3, "in line 2"),
    "one label twice": ([META, LINE | {"labels": ["n1", "n1"]}], ANSWERS, "s.jsonl", 2, "labels"),
    "an answer missing": ([META, LINE], ANSWERS[:1], "a.jsonl", None, "x n2"),
    "an answer twice": ([META, LINE], [*ANSWERS, ANSWERS[0]], "a.jsonl", 3, "already"),
    "an answer of another kind": (
        [META, LINE], [ANSWERS[0] | {"contains": "yes"}], "a.jsonl", 1, "'yes'"),
    "an answer left out": ([META, LINE], [{"image": "x", "wnid": "n1"}], "a.jsonl", 1, "contains"),
    "all dropped": (
        [META, LINE], [a | {"contains": None} for a in ANSWERS], "a.jsonl", None, "groups ("),
}  # fmt: skip


def write(folder: Path, selection, answers) -> None:
    for name, values in (("s.jsonl", selection), ("a.jsonl", answers)):
        lines = (v if isinstance(v, str) else json.dumps(v) for v in values)
        (folder / name).write_text("".join(f"{line}\n" for line in lines))


def ranking(folder: Path) -> tuple:
    return ("rank", "--selection", folder / "s.jsonl", "--answers", folder / "a.jsonl")


@pytest.mark.parametrize("case", RANKS)
def test_rank_refuses_by_file_line_and_cure(tmp_path, case):
    selection, answers, file, line, words = RANKS[case]
    write(tmp_path, selection, answers)

    refusal = refused(*ranking(tmp_path))

    assert (refusal["file"], refusal["line"]) == (str(tmp_path / file), line)
    assert words in refusal["error"]
    assert refusal["cure"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,value\na,1\n", "no classifier"),
        ("classifier,accuracy\na,1\n", "no accuracy for b"),
        ("classifier,accuracy\na,1\nb,high\n", "'high'"),
        ("classifier,accuracy\na,1\nb,nan\n", "'nan'"),
        ("classifier,accuracy\na,1\na,2\nb,3\n", "twice"),
        ("classifier,accuracy\n" + "a" * 200_000 + ",1\n", "line 2: is not CSV"),
    ],
)
def test_a_broken_accuracy_list_is_refused(tmp_path, text, words):
    write(tmp_path, [META, LINE], ANSWERS)
    (tmp_path / "accuracy.csv").write_text(text)

    refusal = refused(*ranking(tmp_path), "--accuracy", tmp_path / "accuracy.csv")

    assert words in f"line {refusal['line']}: {refusal['error']}"


def test_rank_gives_the_keys_of_the_contract(tmp_path):
    write(tmp_path, [META, LINE], ANSWERS)
    (tmp_path / "accuracy.csv").write_text("classifier,accuracy\nb,0.8\na,0.9\nz,0\n")

    options = ("--accuracy", tmp_path / "accuracy.csv", "--ablation", "--bootstrap", 20)
    result = commands.result_of("mad", *ranking(tmp_path), *options)

    assert result.keys() >= {
        "classifiers", "accuracy", "dominance", "scores", "ranks", "rank_intervals", "beats",
        "hodge", "cases", "pairs", "accuracy_ranks", "rank_changes", "spearman", "kendall",
        "ablation",
    }  # fmt: skip
    assert result["classifiers"] == ["a", "b"]
    assert result["accuracy_ranks"] == [1, 2]
    assert result["ablation"] == [{"k": 1, "spearman": 1.0}]


def test_a_part_is_no_selection_and_says_how_parts_are_joined(tmp_path):
    folder = make_pool(tmp_path)
    part = tmp_path / "part.npz"
    mad("select", "--predictions", folder, "--shard", "1/2", "--out", part)
    (tmp_path / "answers.jsonl").write_text("")

    for words in (
        ("rank", "--selection", part, "--answers", tmp_path / "answers.jsonl"),
        ("add", "--predictions", folder, "--into", part, "--classifier", "x", "--out", "y"),
    ):
        status, _, error = mad(*words)

        assert status == 1
        assert f"{part}: is a part of a selection" in error
        assert "mad merge PART … --out selection.jsonl" in error
        assert error.count("\n") == 1


def spoil_part(part: Path, name: str, change) -> None:
    with zipfile.ZipFile(part) as archive:
        arrays = {file: archive.read(file) for file in archive.namelist()}
    spoiled = io.BytesIO()
    np.save(spoiled, change(np.load(io.BytesIO(arrays[name]))))
    with zipfile.ZipFile(part, "w") as archive:
        for file, content in (arrays | {name: spoiled.getvalue()}).items():
            archive.writestr(file, content)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("0.labels.npy", lambda labels: labels + len(CLASSES)),
        ("0.labels.npy", lambda labels: labels[:, :1]),
        ("0.confidences.npy", lambda confidences: confidences.astype(np.float64)),
    ],
)
def test_a_part_whose_arrays_are_others_is_refused(tmp_path, name, change):
    (part,) = shards(tmp_path, 1)
    spoil_part(part, name, change)

    refusal = refused("merge", part, "--out", tmp_path / "s")

    assert (refusal["file"], refusal["error"][:19]) == (str(part), "is not a whole part")


def test_an_input_is_never_overwritten(tmp_path):
    folder = make_pool(tmp_path / "pool")
    parts = shards(tmp_path, 2)
    chosen = tmp_path / "s.jsonl"
    mad("select", "--predictions", folder, "--classifiers", "alpha,beta", "--out", chosen)
    pool = ("--predictions", folder)
    for command in (
        ("select", *pool, "--out", folder / "images.txt"),
        ("select", *pool, "--on", "local:2", "--out", folder / "images.txt"),
        ("select", *pool, "--shard", "1/2", "--out", folder / "alpha.labels.npy"),
        ("pool", folder, "--shards", 2, "--out", folder / "classes.txt"),
        ("merge", *parts, "--out", parts[1]),
        ("add", *pool, "--into", chosen, "--classifier", "gamma", "--out", chosen),
    ):
        before = command[-1].read_bytes()

        refusal = refused(*command)

        assert (refusal["file"], refusal["cure"]) == (str(command[-1]), "give another --out")
        assert command[-1].read_bytes() == before
