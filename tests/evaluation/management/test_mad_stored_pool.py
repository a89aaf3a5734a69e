"""`mad select|add --pool s3://…`: as from a folder, and each shard fetched once."""

from pathlib import Path

import pytest

from tests.evaluation.pool import mad, make_pool, read_lines

pytestmark = pytest.mark.usefixtures("wordnet")


@pytest.fixture
def pool(tmp_path, bucket, monkeypatch) -> str:
    """The address of a pool of four shards, which lie in tmp_path too."""
    for name, value in bucket.tasks.items():
        monkeypatch.setenv(name, value)
    folder = make_pool(tmp_path / "predictions", images=20_000)
    run("pool", folder, "--shards", 4, "--out", tmp_path / "pool.jsonl")
    for file in [tmp_path / "pool.jsonl", *(tmp_path / "pool.shards").rglob("*.*")]:
        bucket.put(f"at/{file.relative_to(tmp_path)}", file.read_bytes())
    return f"s3://{bucket.name}/at/pool.jsonl"


def run(*arguments: object) -> None:
    code, _, err = mad(*arguments, "--json")
    assert (code, err) == (0, "")


def sent(bucket) -> int:
    return sum(request.bytes_sent for request in bucket.requests if request.method == "GET")


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*.*"))


def test_a_task_fetches_its_shard_and_chooses_as_from_a_folder(tmp_path, bucket, pool):
    run("select", "--pool", tmp_path / "pool.jsonl", "--out", tmp_path / "here.jsonl")
    run("select", "--pool", pool, "--out", tmp_path / "there.jsonl")
    work, before = tmp_path / "work", sent(bucket)
    run("select", "--pool", pool, "--shard", "1/4", "--work", work)
    assert sent(bucket) - before <= (1 / 4 + 0.02) * size(tmp_path / "pool.shards")
    run("select", "--pool", pool, "--work", work, "--out", tmp_path / "tasks.jsonl")

    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
    assert read_lines(tmp_path / "tasks.jsonl")[2] == read_lines(tmp_path / "here.jsonl")[2]


def test_a_classifier_joins_from_a_bucket(tmp_path, pool):
    run("select", "--pool", pool, "--classifiers", "alpha,beta", "--out", tmp_path / "two.jsonl")
    joins = ("--into", tmp_path / "two.jsonl", "--classifier", "gamma", "--out")
    run("add", "--pool", tmp_path / "pool.jsonl", *joins, tmp_path / "here.jsonl")
    run("add", "--pool", pool, *joins, tmp_path / "there.jsonl")

    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
