"""`mad pool`, and `--pool` in place of `--predictions`: the same lines, and what is refused."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from tests.evaluation.pool import mad, make_pool, read_lines, refused

pytestmark = pytest.mark.usefixtures("wordnet")
OPTIONS = ("--top-k", 10, "--reserve", 5)


@pytest.fixture
def folder(tmp_path):
    ids = sorted([f"{n}-ü.jpg" for n in range(300)], key=str.encode)
    return make_pool(
        tmp_path / "predictions", ids=ids, coarse=True, confidence_types=("float16", "float32")
    )


@pytest.fixture
def pool(folder, tmp_path):
    """pool.jsonl of four shards."""
    return cut(folder, tmp_path / "pool.jsonl", 4)


def cut(folder, out, shards):
    code, out_text, err = mad("pool", folder, "--shards", shards, "--out", out, "--json")
    assert (code, err) == (0, "")
    assert json.loads(out_text) == {"out": str(out), "shards": shards, "images": 300}
    return out


def rows_of(pool):
    return [json.loads(line) for line in pool.read_text().splitlines()]


def write(pool, rows):
    pool.write_text("".join(json.dumps(row) + "\n" for row in rows))


def select(source, where, out, *options):
    code, _, err = mad("select", source, where, "--out", out, *OPTIONS, *options)
    assert (code, err) == (0, "")
    return read_lines(out)


def test_a_line_a_shard_says_what_lies_in_it(folder, pool):
    ids = (folder / "images.txt").read_text().split()
    rows = rows_of(pool)

    assert [row["images"] for row in rows] == [75] * 4
    assert [(row["first"], row["last"]) for row in rows] == [
        (ids[75 * n], ids[75 * n + 74]) for n in range(4)
    ]
    for row in rows:
        shard = pool.parent / row["path"]
        assert {file.name for file in shard.iterdir()} == set(row["sha256"])
        for file, digest in row["sha256"].items():
            assert hashlib.sha256((shard / file).read_bytes()).hexdigest() == digest
    whole = np.concatenate(
        [np.load(pool.parent / row["path"] / "beta.confidences.npy") for row in rows]
    )
    assert (whole == np.load(folder / "beta.confidences.npy")).all()


@pytest.mark.parametrize("shards", [1, 2, 7, 300])
def test_shards_choose_what_the_whole_chooses(folder, tmp_path, shards):
    pool = cut(folder, tmp_path / "pool.jsonl", shards)

    whole = select("--predictions", folder, tmp_path / "whole.jsonl")
    sharded = select("--pool", pool, tmp_path / "found.jsonl")

    assert sharded[2] == whole[2]
    assert {key: value for key, value in sharded[0].items() if key != "inputs"} == {
        key: value for key, value in whole[0].items() if key != "inputs"
    }
    assert sharded[0]["inputs"].keys() == whole[0]["inputs"].keys()
    if shards == 1:
        assert rows_of(pool)[0]["path"] == str(folder)
        assert sharded[0] == whole[0]


def test_a_pool_that_moves_with_its_shards_is_the_same(folder, pool, tmp_path):
    whole = select("--pool", pool, tmp_path / "whole.jsonl")
    shutil.rmtree(folder)
    (tmp_path / "elsewhere").mkdir()
    pool.rename(tmp_path / "elsewhere" / "pool.jsonl")
    (tmp_path / "pool.shards").rename(tmp_path / "elsewhere" / "pool.shards")

    moved = select("--pool", tmp_path / "elsewhere" / "pool.jsonl", tmp_path / "moved.jsonl")

    assert moved == whole


def test_each_shard_reduced_alone_joins_to_the_same(folder, pool, tmp_path):
    whole = select("--pool", pool, tmp_path / "whole.jsonl")
    parts = [tmp_path / f"{number}.npz" for number in (1, 2, 3, 4)]
    for number, part in enumerate(parts, 1):
        # The others need not be there.
        for row in rows_of(pool):
            (pool.parent / row["path"]).rename(pool.parent / f"{row['path']}.away")
        shard = pool.parent / rows_of(pool)[number - 1]["path"]
        (shard.parent / f"{shard.name}.away").rename(shard)
        code, _, err = mad(
            "select", "--pool", pool, "--shard", f"{number}/4", "--out", part, *OPTIONS
        )
        assert (code, err) == (0, "")
        for row in rows_of(pool):
            moved = pool.parent / f"{row['path']}.away"
            if moved.exists():
                moved.rename(pool.parent / row["path"])

    code, _, err = mad("merge", *reversed(parts), "--out", tmp_path / "merged.jsonl")

    assert (code, err) == (0, "")
    merged = read_lines(tmp_path / "merged.jsonl")
    assert merged[2] == whole[2]
    assert merged[0] == {**whole[0], "parts": 4}
    code, _, err = mad("select", "--pool", pool, "--shard", "1/3", "--out", parts[0])
    assert code == 2
    assert "give --shard I/4" in err


def test_a_classifier_joins_by_the_pool_that_the_others_were_chosen_from(folder, pool, tmp_path):
    two = tmp_path / "two.jsonl"
    select("--pool", pool, two, "--classifiers", "alpha,gamma")
    whole = select("--pool", pool, tmp_path / "whole.jsonl", "--classifiers", "alpha,gamma,beta")

    out = tmp_path / "more.jsonl"
    code, _, err = mad("add", "--pool", pool, "--into", two, "--classifier", "beta", "--out", out)

    assert (code, err) == (0, "")
    added = read_lines(out)[1]
    assert added == [line for line in whole[1] if "beta" in line["pair"]]
    # Another pool is refused.
    second_pool = cut(folder, tmp_path / "other.jsonl", 3)
    refusal = refused(
        "add",
        "--pool",
        second_pool,
        "--into",
        two,
        "--classifier",
        "beta",
        "--out",
        tmp_path / "n.jsonl",
    )
    assert refusal["file"] == str(second_pool)
    assert "has another images.txt in its shards" in refusal["error"]


def test_ids_that_do_not_ascend_are_no_pool(folder, tmp_path):
    lines = (folder / "images.txt").read_text().splitlines()
    lines[4], lines[5] = lines[5], lines[4]
    (folder / "images.txt").write_text("\n".join(lines) + "\n")

    refusal = refused("pool", folder, "--shards", 2, "--out", tmp_path / "pool.jsonl")

    assert (refusal["file"], refusal["line"]) == (str(folder / "images.txt"), 6)
    assert "does not come after" in refusal["error"]
    assert "order the ids" in refusal["cure"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["predictions"]


def test_what_cannot_be_cut_is_refused_and_nothing_is_left(folder, pool, tmp_path):
    before = sorted(tmp_path.rglob("*"))

    many = refused("pool", folder, "--shards", 301, "--out", tmp_path / "many.jsonl")
    again = refused("pool", folder, "--shards", 2, "--out", pool)
    nowhere = refused("pool", folder, "--shards", 2, "--out", tmp_path / "no" / "pool.jsonl")
    (tmp_path / "a.jsonl").mkdir()
    taken = refused("pool", folder, "--shards", 2, "--out", tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").rmdir()

    assert "300 images for 301 shards" in many["error"]
    assert again["file"] == str(tmp_path / "pool.shards")
    assert "create" in nowhere["cure"]
    assert "is a folder" in taken["error"]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_pool_of_nothing_and_a_missing_one_are_named(pool, tmp_path):
    pool.write_text("\n")
    empty = refused("select", "--pool", pool, "--out", tmp_path / "s.jsonl")
    pool.unlink()
    missing = refused("select", "--pool", pool, "--out", tmp_path / "s.jsonl")

    assert "no shards" in empty["error"]
    assert "mad pool DIR" in missing["cure"]


@pytest.mark.parametrize("sources", [(), ("--pool", "p.jsonl", "--predictions", "d")])
def test_one_source_is_given(tmp_path, sources):
    assert mad("select", *sources, "--out", tmp_path / "s.jsonl")[0] == 2
