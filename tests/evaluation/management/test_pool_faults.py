"""What is wrong with a pool in shards ends with place, cause and cure, and leaves nothing behind.

In a folder, and in a bucket, which may refuse or break off."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluation.pool import CLASSES, mad, make_pool, refused
from tests.object_store import Bucket

pytestmark = pytest.mark.usefixtures("wordnet")
SHARD = "pool.shards/2-of-4"
LABELS = f"{SHARD}/beta.labels.npy"
BROUGHT_BACK = "bring it back, or write the pool again with mad pool"
ORDERED = "order the ids by their UTF-8 bytes"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with pool.jsonl and its four shards."""
    folder: Path = tmp_path_factory.mktemp("built")
    predictions = make_pool(folder / "predictions", images=300)
    assert mad("pool", predictions, "--shards", 4, "--out", folder / "pool.jsonl")[0] == 0
    return folder


@dataclass
class CopiedPool:
    """A copy of the pool. address: of its folder, here or in a bucket."""

    folder: Path
    address: str
    bucket: Bucket | None = None

    @property
    def pool(self) -> str:
        return f"{self.address}/pool.jsonl"

    def change(self, change: Callable[[Path, Rows], None]) -> None:
        rows = [json.loads(line) for line in (self.folder / "pool.jsonl").read_text().splitlines()]
        change(self.folder, rows)
        lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        (self.folder / "pool.jsonl").write_text("".join(f"{line}\n" for line in lines))
        self.send()

    def send(self) -> None:
        if self.bucket:
            for key in self.bucket.objects:
                self.bucket.delete(key)
            for file in [self.folder / "pool.jsonl", *self.folder.glob("pool.shards/*/*")]:
                self.bucket.put(f"at/{file.relative_to(self.folder)}", file.read_bytes())


@pytest.fixture
def local_pool(built, tmp_path) -> CopiedPool:
    for name in ("pool.jsonl", "pool.shards"):
        copy = shutil.copytree if (built / name).is_dir() else shutil.copyfile
        copy(built / name, tmp_path / name)
    return CopiedPool(tmp_path, str(tmp_path))


@pytest.fixture
def bucket_pool(local_pool, bucket, monkeypatch) -> CopiedPool:
    for name, value in bucket.tasks.items():
        monkeypatch.setenv(name, value)
    copied_pool = CopiedPool(local_pool.folder, f"s3://{bucket.name}/at", bucket)
    copied_pool.send()
    return copied_pool


@pytest.fixture(params=["local_pool", "bucket_pool"])
def copied_pool(request) -> CopiedPool:
    return request.getfixturevalue(request.param)


def refusal_of(copied_pool: CopiedPool, *options: object) -> dict[str, Any]:
    """What `mad select` refuses; it leaves no file, and names none of its own."""
    before = set(copied_pool.folder.iterdir())

    refusal = refused(
        "select", "--pool", copied_pool.pool, "--out", copied_pool.folder / "s.jsonl", *options
    )

    assert set(copied_pool.folder.iterdir()) == before
    assert f"{tempfile.gettempdir()}/assay-" not in str(refusal)
    assert "s3:/b" not in str(refusal)
    assert refusal["cure"]
    return refusal


def lose_shard(folder: Path, rows: Rows) -> None:
    shutil.rmtree(folder / SHARD)


def lose_file(folder: Path, rows: Rows) -> None:
    (folder / LABELS).unlink()


def shorten(folder: Path, rows: Rows) -> None:
    for file in (folder / SHARD).glob("*.npy"):
        np.save(file, np.load(file)[:-1])
    lines = (folder / SHARD / "images.txt").read_text().splitlines(keepends=True)
    (folder / SHARD / "images.txt").write_text("".join(lines[:-1]))


def spoil(folder: Path, rows: Rows) -> None:
    np.save(folder / LABELS, np.zeros_like(np.load(folder / LABELS)))


def cut(name: str) -> Callable[[Path, Rows], None]:
    def change(folder: Path, rows: Rows) -> None:
        file = folder / SHARD / name
        file.write_bytes(file.read_bytes()[:-3])

    return change


def swap_ids(folder: Path, rows: Rows) -> None:
    file = folder / SHARD / "images.txt"
    lines = file.read_text().splitlines(keepends=True)
    lines[3], lines[4] = lines[4], lines[3]
    file.write_text("".join(lines))
    rows[1]["sha256"]["images.txt"] = hashlib.sha256(file.read_bytes()).hexdigest()


def swap_lines(folder: Path, rows: Rows) -> None:
    rows[1], rows[2] = rows[2], rows[1]


def overlap(folder: Path, rows: Rows) -> None:
    rows[1]["first"] = rows[0]["last"]


def turn(folder: Path, rows: Rows) -> None:
    rows[1]["first"], rows[1]["last"] = rows[1]["last"], rows[1]["first"]


def drop_file(folder: Path, rows: Rows) -> None:
    del rows[1]["sha256"]["beta.labels.npy"]


def other_classes(folder: Path, rows: Rows) -> None:
    rows[1]["sha256"]["classes.txt"] = "0" * 64


def rename_last(folder: Path, rows: Rows) -> None:
    rows[1]["last"] += "x"


def without(key: str) -> Callable[[Path, Rows], None]:
    return lambda folder, rows: rows[1].pop(key)


def line(value: object) -> Callable[[Path, Rows], None]:
    return lambda folder, rows: rows.__setitem__(1, value)  # type: ignore[call-overload]


def update(**values: object) -> Callable[[Path, Rows], None]:
    return lambda folder, rows: rows[1].update(values)


FAULTS: dict[str, tuple[Callable[[Path, Rows], None], str, int | None, str, str]] = {
    "fewer images than the count": (
        shorten, "pool.jsonl", 2, "says 75 images, and", BROUGHT_BACK),
    "more images than there are": (
        update(images=76), "pool.jsonl", 2, "says 76 images, and", BROUGHT_BACK),
    "another SHA-256": (spoil, "pool.jsonl", 2, "has another SHA-256", BROUGHT_BACK),
    "half an array": (cut("beta.labels.npy"), LABELS, None, "is not a whole .npy", BROUGHT_BACK),
    "half a list of images": (
        cut("images.txt"), "pool.jsonl", 2, "images.txt has another SHA-256", BROUGHT_BACK),
    "half a list of classes": (
        cut("classes.txt"), f"{SHARD}/classes.txt", 14, "is not a wnid", BROUGHT_BACK),
    "ids that do not ascend in a shard": (
        swap_ids, f"{SHARD}/images.txt", 5, "does not come after", ORDERED),
    "ids that do not ascend from one shard to the next": (
        swap_lines, "pool.jsonl", 3, "does not come after", "order the lines by their ids"),
    "an id in two shards": (
        overlap, "pool.jsonl", 2, "does not come after", "have each image in one shard"),
    "a last id before the first": (
        turn, "pool.jsonl", 2, "comes before the first", "mad pool"),
    "another last id": (rename_last, "pool.jsonl", 2, "to 'pool/000149.jpg'", BROUGHT_BACK),
    "a classifier in some shards only": (
        drop_file, "pool.jsonl", 2, "beta.labels.npy is in one of lines 1 and 2", "mad pool"),
    "other classes": (
        other_classes, "pool.jsonl", 2, "another classes.txt than line 1", "use one classes.txt"),
    "no images": (update(images=0), "pool.jsonl", 2, "is not a line of a shard", "mad pool"),
    "a count that is a truth value": (
        update(images=True), "pool.jsonl", 2, "is not a line of a shard", "mad pool"),
    "no path": (without("path"), "pool.jsonl", 2, "lacks path", "mad pool"),
    "a path of another type": (
        update(path=["a"]), "pool.jsonl", 2, "is not a line of a shard", "mad pool"),
    "a NUL in the path": (
        update(path="a\0b"), "pool.jsonl", 2, "is not a line of a shard", "mad pool"),
    "hashes in a list": (
        update(sha256=[1]), "pool.jsonl", 2, "is not a line of a shard", "mad pool"),
    "hashes in a list of pairs": (
        update(sha256=[["a", "b"]]), "pool.jsonl", 2, "is not a line of a shard", "mad pool"),
    "a number for a hash": (
        update(sha256={"classes.txt": 1, "images.txt": 2}), "pool.jsonl", 2,
        "is not a line of a shard", "mad pool"),
    "no hashes": (update(sha256=None), "pool.jsonl", 2, "is not a line of a shard", "mad pool"),
    "a line that is no JSON": (line("{no"), "pool.jsonl", 2, "is not JSON", "one JSON object"),
    "a line that is a list": (line([1]), "pool.jsonl", 2, "is not a JSON object", "one JSON"),
}  # fmt: skip


# One of each way that a bucket's files are read.
FETCHED = ("another SHA-256", "half an array", "half a list of images", "no path")


@pytest.mark.parametrize(
    ("copied_pool", "fault"),
    [*(("local_pool", fault) for fault in FAULTS), *(("bucket_pool", fault) for fault in FETCHED)],
    indirect=["copied_pool"],
)
def test_a_pool_that_is_not_as_its_lines_say_is_refused(copied_pool, fault):
    change, file, number, words, cure = FAULTS[fault]
    copied_pool.change(change)

    refusal = refusal_of(copied_pool)

    assert (refusal["file"], refusal["line"]) == (f"{copied_pool.address}/{file}", number)
    assert words in refusal["error"]
    assert cure in refusal["cure"]


def test_a_shard_that_is_missing_is_refused(copied_pool):
    copied_pool.change(lose_shard)

    refusal = refusal_of(copied_pool)

    assert SHARD in f"{refusal['file']} {refusal['error']}"
    assert BROUGHT_BACK in refusal["cure"]


def test_a_file_that_is_missing_is_refused(copied_pool):
    copied_pool.change(lose_file)

    refusal = refusal_of(copied_pool)

    assert refusal["file"] == f"{copied_pool.address}/{LABELS}"
    assert BROUGHT_BACK in refusal["cure"]


def test_a_pool_that_lists_no_such_classifier_is_named_as_it_was_given(copied_pool):
    refusal = refusal_of(copied_pool, "--classifiers", "alpha,omega")

    assert refusal["file"] == copied_pool.pool
    assert "lists no omega.labels.npy" in refusal["error"]


@pytest.mark.parametrize("options", [(), ("--work", "work")])
def test_a_class_without_a_place_is_named_in_the_file_that_was_given(
    copied_pool, wordnet, monkeypatch, tmp_path_factory, options
):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    paris = wordnet.wnid(wordnet.find("Paris.n.01"))
    make_pool(copied_pool.folder / "p", images=40, classes=[*CLASSES[:4], paris])
    for name in ("pool.jsonl", "pool.shards"):
        (copied_pool.folder / name).rename(copied_pool.folder / f"before.{name}")
    assert (
        mad(
            "pool",
            copied_pool.folder / "p",
            "--shards",
            2,
            "--out",
            copied_pool.folder / "pool.jsonl",
        )[0]
        == 0
    )
    copied_pool.send()

    refusal = refusal_of(copied_pool, *options)

    assert refusal["file"] == f"{copied_pool.address}/pool.shards/1-of-2/classes.txt"
    assert (refusal["line"], "instance" in refusal["error"]) == (5, True)


def test_a_shard_beside_pool_jsonl_is_read(copied_pool):
    make_pool(copied_pool.folder / "pool.shards" / "alone", images=40)
    pool = copied_pool.folder / "pool.shards" / "alone" / "pool.jsonl"
    assert mad("pool", pool.parent, "--shards", 1, "--out", pool)[0] == 0
    row = json.loads(pool.read_text()) | {"path": "."}
    pool.write_text(json.dumps(row) + "\n")
    copied_pool.send()

    source = f"{copied_pool.address}/pool.shards/alone/pool.jsonl"
    code, _, err = mad("select", "--pool", source, "--out", copied_pool.folder / "s.jsonl")

    assert (code, err) == (0, "")


@pytest.mark.parametrize("path", ["../2", "/shards/2"])
def test_a_shard_that_is_not_below_pool_jsonl_is_not_fetched(bucket_pool, path):
    bucket_pool.change(update(path=path))

    refusal = refusal_of(bucket_pool)

    assert (refusal["file"], refusal["line"]) == (bucket_pool.pool, 2)
    assert f"{path} is not below pool.jsonl" in refusal["error"]
    assert "copy the shard there" in refusal["cure"]


def test_a_bucket_without_pool_jsonl_is_refused(bucket_pool):
    refusal = refused("select", "--pool", f"{bucket_pool.address}/no.jsonl", "--out", "s.jsonl")

    assert refusal["file"] == f"{bucket_pool.address}/no.jsonl"
    assert "is not in the bucket" in refusal["error"]


def test_an_address_that_names_no_pool_is_refused(tmp_path):
    for address in ["s3://bucket", "s3://", "s3:///pool.jsonl", "s3://b/"]:
        refusal = refused("select", "--pool", address, "--out", tmp_path / "s.jsonl")

        assert refusal["file"] == address, address
        assert "s3://BUCKET/PREFIX/pool.jsonl" in refusal["cure"], address


STORE_FAULTS: dict[str, tuple[Callable[[Bucket], AbstractContextManager[None]], str, str]] = {
    "403": (lambda bucket: bucket.refusing(403), "may not be read or written", "check the rights"),
    "503": (lambda bucket: bucket.refusing(503), "(503 Service Unavailable)", "run again"),
    "half an object": (lambda bucket: bucket.halving(), "broke off", "run again"),
}


@pytest.mark.parametrize("objects_of", ["pool", "work"])
@pytest.mark.parametrize("fault", STORE_FAULTS)
def test_a_store_that_refuses_or_breaks_off_is_named(bucket_pool, monkeypatch, fault, objects_of):
    """objects_of: where the objects lie that are asked for, the pool or the results of tasks."""
    monkeypatch.setattr("evaluation.engines.store.RETRIES", 0)
    begin, words, cure = STORE_FAULTS[fault]
    work = f"{bucket_pool.address}/work"
    copied_pool = (
        bucket_pool
        if objects_of == "pool"
        else CopiedPool(bucket_pool.folder, str(bucket_pool.folder), bucket_pool.bucket)
    )
    objects = bucket_pool.bucket.objects

    with begin(bucket_pool.bucket):
        refusal = refusal_of(copied_pool, *(("--work", work) if objects_of == "work" else ()))

    assert refusal["file"].startswith(bucket_pool.address)
    assert words in refusal["error"]
    assert cure in refusal["cure"]
    assert bucket_pool.bucket.objects == objects


@pytest.mark.parametrize(("status", "words"), [(403, "may not be"), (503, "does not answer")])
def test_a_store_that_takes_no_results_is_named_and_then_gone_on_with(
    bucket_pool, monkeypatch, status, words
):
    monkeypatch.setattr("evaluation.engines.store.RETRIES", 0)
    results = f"{bucket_pool.address}/results"
    work = ("--work", results)

    with bucket_pool.bucket.refusing(status, "PUT"):
        refusal = refusal_of(bucket_pool, *work)

    assert refusal["file"].startswith(f"{results}/reduced_part/")
    assert words in refusal["error"]
    assert not [key for key in bucket_pool.bucket.objects if key.startswith("at/results/")]
    code, _, err = mad(
        "select", "--pool", bucket_pool.pool, "--out", bucket_pool.folder / "s.jsonl", *work
    )
    assert (code, err) == (0, "")


def test_half_a_result_is_refused_and_made_again_once_it_is_deleted(bucket_pool):
    select = ("select", "--pool", bucket_pool.pool, "--work", f"{bucket_pool.address}/work")
    whole, again = bucket_pool.folder / "whole.jsonl", bucket_pool.folder / "again.jsonl"
    assert mad(*select, "--out", whole)[0] == 0
    key = next(key for key in bucket_pool.bucket.objects if key.startswith("at/work/"))
    bucket_pool.bucket.put(key, bucket_pool.bucket.get(key)[:1000])

    refusal = refusal_of(bucket_pool, "--work", f"{bucket_pool.address}/work")

    assert refusal["file"] == f"s3://{bucket_pool.bucket.name}/{key}"
    assert refusal["cure"] == "delete it and run the command again"
    bucket_pool.bucket.delete(key)
    assert mad(*select, "--out", again)[0] == 0
    assert again.read_bytes() == whole.read_bytes()
