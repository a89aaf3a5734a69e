"""Stretches of a pool: what each reads and holds, and that they join into what one run chooses."""

import json
import random
import zipfile

import numpy as np
import pytest

from evaluation.metrics.mad.selection import PoolPredictions, SelectionRule
from evaluation.readers.pools import read_pool
from evaluation.selection import selecting, shards
from tests.evaluation.pool import mad, make_pool, read_lines, refused

NAMES = ("alpha", "beta", "gamma")


def chosen(pool, levels, rule, **options) -> list:
    pairs = selecting.pairs_of(list(pool.predictions))
    reduced = selecting.reduce_pairs(pool, pairs, levels, rule, **options)
    return list(selecting.chosen_of(pool, pairs, levels, rule, reduced))


def part_of(folder, wordnet, levels, rule, shard, out) -> shards.PoolPart:
    pool = read_pool(folder, None, wordnet, shard)
    settings = selecting.SelectionSettings(rule, "hops")
    meta = selecting.meta_of(pool, settings, list(pool.predictions), "sorted", wordnet)
    pairs = selecting.pairs_of(list(pool.predictions))
    reduced = selecting.reduce_pairs(pool, pairs, levels, rule)
    with open(out, "wb") as file:
        shards.write_part(file, pool, meta, shard, reduced)
    return shards.PoolPart(out)


@pytest.mark.parametrize(
    "seeds", [range(20), pytest.param(range(20, 200), marks=pytest.mark.slow)], ids=["20", "200"]
)
def test_a_chance_pool_in_chance_parts_gives_the_lists_of_one_run(tmp_path, wordnet, seeds):
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        assert_parts_give_one_run(folder, wordnet, seed)


def assert_parts_give_one_run(tmp_path, wordnet, seed):
    rng = random.Random(seed)
    ids = [f"{n * 37 % 1000}" for n in range(rng.randint(5, 400))]
    if rng.random() < 0.5:
        ids.sort()
    folder = make_pool(
        tmp_path / "pool",
        names=NAMES[: rng.choice([2, 3])],
        ids=ids,
        seed=seed,
        coarse=rng.random() < 0.7,
        confidence_types=rng.choice([("float16",), ("float32",), ("float32", "float16")]),
    )
    rule = SelectionRule(
        top_k=rng.randint(1, 30),
        reserve=rng.randint(0, 30),
        min_confidence=rng.choice([0, 0.5, 0.8]),
        max_per_label=rng.choice([1, 2, 3, 10]),
        unique_pairs=rng.random() < 0.3,
    )
    whole = read_pool(folder, None, wordnet)
    levels = selecting.levels_of(whole.classes, wordnet, "hops", folder)
    parts = rng.choice([1, 2, 3, 5])

    opened = [
        part_of(folder, wordnet, levels, rule, (index, parts), tmp_path / f"{index}.npz")
        for index in range(1, parts + 1)
    ]
    rng.shuffle(opened)
    meta, joined_rule, joined_levels = shards.join_parts(opened, wordnet)
    merged = list(shards.merged(opened, meta, joined_rule, joined_levels))

    one_run = chosen(whole, levels, rule)
    assert merged == one_run
    assert chosen(whole, levels, rule, stretch=rng.randint(1, len(ids))) == one_run


@pytest.mark.parametrize("device", ["cpu", None])
def test_candidates_depend_neither_on_threads_nor_on_the_pairs_before(tmp_path, wordnet, device):
    pool = read_pool(make_pool(tmp_path, images=3000, coarse=True), None, wordnet)
    levels = selecting.levels_of(pool.classes, wordnet, "weighted", tmp_path)
    pairs, rule = selecting.pairs_of(NAMES), SelectionRule(top_k=6, reserve=2)

    def candidates(pairs, threads) -> list:
        reduced = selecting.reduce_pairs(
            pool, pairs, levels, rule, stretch=700, threads=threads, device=device
        )
        return [images.images.tolist() for images in reduced]

    alone = [candidates([pair], 1)[0] for pair in pairs]

    assert candidates(pairs, 1) == candidates(pairs, 3) == alone
    assert all(len(images) < 200 for images in alone)


def test_all_pairs_look_at_a_stretch_before_any_looks_at_the_next(tmp_path, wordnet, monkeypatch):
    pool = read_pool(make_pool(tmp_path, images=1000), None, wordnet)
    levels = selecting.levels_of(pool.classes, wordnet, "hops", tmp_path)
    looked, plain = [], PoolPredictions.keys

    def keys(self, part, wide):
        looked.append(part.start // 250)
        return plain(self, part, wide)

    monkeypatch.setattr(PoolPredictions, "keys", keys)

    chosen(pool, levels, SelectionRule(), stretch=250)

    assert looked == sorted(looked)
    assert set(looked) == {0, 1, 2, 3}


def test_progress_reaches_the_number_of_pairs(tmp_path, wordnet):
    pool = read_pool(make_pool(tmp_path, images=100), None, wordnet)
    levels = selecting.levels_of(pool.classes, wordnet, "hops", tmp_path)
    steps = []

    chosen(pool, levels, SelectionRule(), stretch=30, progress=steps.append)

    assert len(steps) == 12
    assert sum(steps) == pytest.approx(3)


def test_parts_without_images_join_with_the_others(tmp_path, wordnet):
    folder = make_pool(tmp_path / "pool", images=3)
    mad("select", "--predictions", folder, "--out", tmp_path / "whole", "--min-confidence", 0)
    files = write_shards(folder, tmp_path, 7, "--min-confidence", 0)

    code, _, err = mad("merge", *files, "--out", tmp_path / "merged")

    assert (code, err) == (0, "")
    assert read_lines(tmp_path / "merged")[2] == read_lines(tmp_path / "whole")[2] != b""


def spoil_values(folder, others) -> None:
    for name in NAMES:
        array = np.load(folder / f"{name}.labels.npy")
        array[others] = -1
        np.save(folder / f"{name}.labels.npy", array)


def spoil_lines(folder, others) -> None:
    lines = (folder / "images.txt").read_bytes().splitlines(keepends=True)
    for line_number in others:
        lines[line_number] = lines[line_number].replace(b"p", b"\0")
    (folder / "images.txt").write_bytes(b"".join(lines))


@pytest.mark.parametrize("spoil", [spoil_values, spoil_lines])
def test_a_shard_reads_its_own_stretch_alone(tmp_path, wordnet, spoil):
    folder = make_pool(tmp_path / "pool", images=300)
    spoil(folder, [*range(100), *range(200, 300)])
    shard = ("select", "--predictions", folder, "--out", tmp_path / "p.npz", "--shard")

    assert mad(*shard, "2/3")[0] == 0
    for part, line in (("1/3", 1), ("3/3", 201)):
        refusal = refused(*shard, part)
        assert refusal["line"] == line or f"line {line} of images.txt" in refusal["error"]


def write_shards(folder, out, count: int, *options) -> list:
    files = [out / f"{index}of{count}.npz" for index in range(1, count + 1)]
    for index, file in enumerate(files, start=1):
        shard = ("--shard", f"{index}/{count}")
        code, _, err = mad("select", "--predictions", folder, "--out", file, *shard, *options)
        assert (code, err) == (0, "")
    return files


def test_the_merged_meta_tells_a_changed_input_from_the_same_one(tmp_path, wordnet):
    folder = make_pool(tmp_path / "pool", images=300)
    options = ("--classifiers", "alpha,beta")
    files = write_shards(folder, tmp_path, 3, *options)
    merged = tmp_path / "merged.jsonl"
    assert mad("merge", *files, "--out", merged)[0] == 0
    add = ("add", "--predictions", folder, "--into", merged, "--classifier", "gamma", "--out")

    meta = read_lines(merged)[0]

    assert (meta["parts"], meta["stretches"]) == (3, [100, 200, 300])
    assert mad(*add, tmp_path / "more.jsonl")[0] == 0
    confidences = np.load(folder / "beta.confidences.npy")
    confidences[250] = 0.5
    np.save(folder / "beta.confidences.npy", confidences)
    refusal = refused(*add, tmp_path / "again.jsonl")
    assert refusal["file"] == str(folder / "beta.confidences.npy")
    assert "is not the file that" in refusal["error"]


def test_stretches_of_another_pool_are_refused_when_a_classifier_joins(tmp_path, wordnet):
    folder = make_pool(tmp_path / "pool", images=300)
    files = write_shards(folder, tmp_path, 2, "--classifiers", "alpha,beta")
    merged = tmp_path / "merged.jsonl"
    mad("merge", *files, "--out", merged)
    meta, _, body = read_lines(merged)
    for stretches in [7, [], [100], [200, 100, 300], ["a"], [-5, 300], [100, 301]]:
        head = json.dumps({"meta": {**meta, "stretches": stretches}}).encode()
        merged.write_bytes(head + b"\n" + body)

        refusal = refused(
            "add", "--predictions", folder, "--into", merged,
            "--classifier", "gamma", "--out", tmp_path / "more",
        )  # fmt: skip

        assert (refusal["file"], refusal["line"]) == (str(merged), 1), stretches
        assert "stretches" in refusal["error"], stretches


def test_an_image_chosen_from_two_stretches_is_refused(tmp_path, wordnet):
    ids = [f"{n:03d}" for n in range(100)] * 2
    folder = make_pool(tmp_path / "pool", ids=ids)
    for name in NAMES:
        for kind in ("labels", "confidences"):
            array = np.load(folder / f"{name}.{kind}.npy")
            np.save(folder / f"{name}.{kind}.npy", np.tile(array[:100], 2))
    first, two = write_shards(folder, tmp_path, 2)

    refusal = refused("merge", first, two, "--out", tmp_path / "s")

    assert refusal["file"] == str(two)
    assert f"is in {first} too" in refusal["error"]
    assert not (tmp_path / "s").exists()


def test_parts_whose_lines_do_not_meet_are_refused(tmp_path, wordnet):
    folder = make_pool(tmp_path / "pool", images=300)
    first, two = write_shards(folder, tmp_path, 2)
    rewrite_meta(two, lambda meta: {**meta, "lines": [meta["lines"][0] + 1, meta["lines"][1]]})

    refusal = refused("merge", first, two, "--out", tmp_path / "s")

    assert refusal["file"] == str(two)
    assert "images.txt.index.npy" in refusal["cure"]


def test_parts_of_files_of_other_sizes_are_refused(tmp_path, wordnet):
    folder = make_pool(tmp_path / "pool", images=300)
    first_part, _ = write_shards(folder, tmp_path, 2)
    first = first_part.read_bytes()
    np.save(folder / "beta.labels.npy", np.load(folder / "beta.labels.npy").astype(np.int32))
    first_part, two = write_shards(folder, tmp_path, 2)
    first_part.write_bytes(first)

    refusal = refused("merge", first_part, two, "--out", tmp_path / "s")

    assert f"was made with another beta.labels.npy than {first_part}" in refusal["error"]


def rewrite_meta(path, change) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            if name == "meta.npy":
                with archive.open(name, "w") as file:
                    head = 10 + int.from_bytes(data[8:10], "little")
                    meta = json.dumps(change(json.loads(data[head:]))).encode()
                    np.lib.format.write_array(file, np.frombuffer(meta, np.uint8))
            else:
                archive.writestr(name, data)


def earlier(path, folder, part) -> None:
    """Writes a part as 0.1 wrote it: SHA-256 of whole files, and candidates that are not pruned."""
    from labeling.files import file_sha256

    def meta_of(meta: dict) -> dict:
        inputs = {file: file_sha256(folder / file) for file in meta["inputs"]}
        kept = {key: value for key, value in meta.items() if key not in ("lines", "sizes")}
        return {**kept, "inputs": inputs}

    rewrite_meta(path, meta_of)
    ids = (folder / "images.txt").read_bytes().split(b"\n")
    columns = {
        name: [np.load(folder / f"{name}.{kind}.npy") for kind in ("labels", "confidences")]
        for name in NAMES
    }
    arrays = {}
    for number, pair in enumerate(selecting.pairs_of(NAMES)):
        (labels_a, sure_a), (labels_b, sure_b) = (columns[name] for name in pair)
        places = np.arange(*part)
        smaller = np.minimum(sure_a, sure_b)[places].astype(np.float64)
        places = places[(smaller >= 0.8) & (labels_a != labels_b)[places]]
        names = [ids[line_number] for line_number in places]
        arrays[f"{number}.labels"] = np.stack([labels_a, labels_b], 1)[places].astype(np.int32)
        arrays[f"{number}.confidences"] = np.stack([sure_a, sure_b], 1)[places].astype(np.float32)
        arrays[f"{number}.ids"] = np.frombuffer(b"".join(names), np.uint8)
        arrays[f"{number}.ends"] = np.cumsum([len(name) for name in names], dtype=np.int64)
    with zipfile.ZipFile(path) as archive:
        meta = archive.read("meta.npy")
    np.savez(path, **arrays)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("meta.npy", meta)


def test_parts_of_earlier_versions_are_merged(tmp_path, wordnet):
    folder = make_pool(tmp_path / "pool", images=300, coarse=True)
    mad("select", "--predictions", folder, "--out", tmp_path / "whole.jsonl")
    first, two = write_shards(folder, tmp_path, 2)
    earlier(first, folder, (0, 150))
    assert "another version" in refused("merge", first, two, "--out", tmp_path / "s")["error"]
    earlier(two, folder, (150, 300))

    code, _, err = mad("merge", two, first, "--out", tmp_path / "merged.jsonl")

    assert (code, err) == (0, "")
    meta, _, body = read_lines(tmp_path / "merged.jsonl")
    whole_meta, _, whole = read_lines(tmp_path / "whole.jsonl")
    assert body == whole
    assert meta == {**whole_meta, "parts": 2}
