"""`mad select|add --on … --work …`: the same lines as without, and nothing made twice."""

from pathlib import Path

import pytest

from tests.evaluation.commands import made_in, result_of
from tests.evaluation.pool import mad, make_pool, read_lines

pytestmark = pytest.mark.usefixtures("wordnet")


def run(*arguments: object) -> dict:
    return result_of("mad", *arguments)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    # Four tasks of a folder.
    monkeypatch.setattr("evaluation.selection.pool_tasks.MAX_IMAGES", 125)
    return make_pool(tmp_path / "pool")


@pytest.fixture
def pool(tmp_path, folder) -> Path:
    run("pool", folder, "--shards", 3, "--out", tmp_path / "pool.jsonl")
    return tmp_path / "pool.jsonl"


def test_tasks_of_a_folder_choose_what_one_run_does(tmp_path, folder):
    run("select", "--predictions", folder, "--out", tmp_path / "one.jsonl")
    work = tmp_path / "work"

    run(
        *("select", "--predictions", folder, "--out", tmp_path / "four.jsonl"),
        *("--on", "local:2", "--work", work),
    )

    assert read_lines(tmp_path / "four.jsonl")[1:] == read_lines(tmp_path / "one.jsonl")[1:]
    assert len(made_in(work)) == 4


def test_shares_of_the_tasks_are_all_that_the_selection_needs(tmp_path, pool):
    run("select", "--pool", pool, "--out", tmp_path / "one.jsonl")
    work = tmp_path / "work"
    for index in (1, 2):
        share = run("select", "--pool", pool, "--shard", f"{index}/2", "--work", work)
        assert share["shard"] == [index, 2]
    before = made_in(work)

    run("select", "--pool", pool, "--work", work, "--out", tmp_path / "joined.jsonl")

    assert read_lines(tmp_path / "joined.jsonl")[1:] == read_lines(tmp_path / "one.jsonl")[1:]
    assert made_in(work) == before
    assert len(before) == 3


@pytest.mark.parametrize("source", ["folder", "pool"])
def test_a_classifier_joins_by_tasks(tmp_path, folder, pool, source):
    source_options = ("--predictions", folder) if source == "folder" else ("--pool", pool)
    run(
        "select", *source_options, "--classifiers", "alpha,beta", "--out", tmp_path / "before.jsonl"
    )
    joins = ("add", *source_options, "--into", tmp_path / "before.jsonl", "--classifier", "gamma")
    run(*joins, "--out", tmp_path / "one.jsonl")

    run(*joins, "--out", tmp_path / "tasks.jsonl", "--on", "local:1")

    assert read_lines(tmp_path / "tasks.jsonl")[1:] == read_lines(tmp_path / "one.jsonl")[1:]


def test_another_setting_makes_other_objects(tmp_path, folder):
    work = tmp_path / "work"
    for top_k in (3, 4):
        run(
            *("select", "--predictions", folder, "--out", tmp_path / f"{top_k}.jsonl"),
            *("--top-k", top_k, "--work", work),
        )

    assert len(made_in(work)) == 8


def test_options_that_do_not_go_together_are_refused(folder):
    for options, sentence in [
        ([], "give --out; only --shard I/N with --work needs none"),
        (["--shard", "1/2", "--on", "local"], "--shard I/N of tasks needs --work"),
        (
            ["--on", "slurm:4", "--out", "s.jsonl"],
            "is not local, local:N, ray:auto or ray:HOST:PORT",
        ),
        (["--on", "ray:auto", "--out", "s.jsonl"], "--on ray:… needs --work"),
    ]:
        code, out, err = mad("select", "--predictions", folder, *options)

        assert (code, out) == (2, ""), options
        assert sentence in err, options
