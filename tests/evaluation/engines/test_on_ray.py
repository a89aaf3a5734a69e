"""Tasks on a Ray cluster of two nodes, with a bucket as the store."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from evaluation.engines.running import Engine, run
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from tests import object_store
from tests.conftest import skip_or_fail
from tests.evaluation.engines import commands_in_tasks, ray_cluster, toys
from tests.evaluation.engines.commands_in_tasks import COMMANDS, Command

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def cluster(s3_server: object_store.Server) -> Iterator[ray_cluster.Cluster]:
    if find_spec("ray") is None or sys.platform != "linux":
        skip_or_fail("Ray (requirements-cluster.txt) on Linux is not here")
    of_any = object_store.Bucket(s3_server, "", 0)
    with ray_cluster.running(of_any.tasks) as cluster:
        yield cluster


@pytest.fixture
def enter(bucket, monkeypatch):
    """Lets this process into the cluster and the bucket, and returns the engine and its store."""

    def enter(cluster: ray_cluster.Cluster) -> tuple[Engine, Store]:
        for name, value in {**bucket.tasks, **cluster.environment}.items():
            monkeypatch.setenv(name, value)
        return Engine.named(f"ray:{cluster.address}"), Store.at(f"s3://{bucket.name}/work")

    return enter


def squares(count: int, **locations: str) -> list[Task]:
    return [Task.of(toys.square, {"number": n}, **locations) for n in range(count)]


def test_a_killed_process_costs_only_its_own_task(cluster, enter, bucket, tmp_path):
    engine, store = enter(cluster)
    log, die_at = tmp_path / "log", tmp_path / "die"
    die_at.touch()

    keys = run(squares(6, log=str(log), die_at=str(die_at)), store, engine)

    assert [store.get(key) for key in keys] == [b"0", b"1", b"4", b"9", b"16", b"25"]
    assert not die_at.exists()
    assert len(log.read_text().split()) == 7
    assert len(bucket.objects) == 6


def puts(bucket: object_store.Bucket) -> list[str]:
    """The keys of what was put, in order; twice where it was put twice."""
    head = f"/{bucket.name}/work/"
    asked = [one for one in bucket.requests if one.method == "PUT" and one.path.startswith(head)]
    return [one.path.removeprefix(head) for one in asked]


@pytest.mark.usefixtures("wordnet")
def test_the_tasks_of_every_command_are_made_once_and_give_what_one_run_does(
    cluster, enter, bucket, tmp_path, monkeypatch
):
    engine, store = enter(cluster)
    commands_in_tasks.cut_small(monkeypatch)
    commands = built(tmp_path)
    plain = {name: own.result(tmp_path / f"{name}.plain") for name, own in commands.items()}
    on = ("--on", f"ray:{engine.address}", "--work", store.address)

    # All at once: to start the cluster's processes for each command takes the most of its time.
    tasks: list[Task] = []
    with monkeypatch.context() as collecting:
        collecting.setattr("evaluation.engines.on_ray.run", lambda these, *_: tasks.extend(these))
        for name, own in commands.items():
            with pytest.raises(AssertionError, match="results are not in the store"):
                own.result(tmp_path / f"{name}.tasks", *on)
    run(tasks, store, engine)
    made = {name: own.result(tmp_path / f"{name}.tasks", *on) for name, own in commands.items()}

    assert made == plain
    keys = [task.key for task in tasks]
    assert sorted(puts(bucket)) == sorted(keys)
    assert len(keys) >= 2 * len(commands)
    assert all(store.get(key) for key in keys)


@pytest.mark.slow
@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize("build", COMMANDS, ids=lambda build: build.__name__)
def test_a_command_on_ray_gives_what_one_run_does(
    build, cluster, enter, bucket, tmp_path, monkeypatch
):
    engine, store = enter(cluster)
    commands_in_tasks.cut_small(monkeypatch)
    command = build(tmp_path)
    plain = command.result(tmp_path / "plain")

    made = command.result(
        tmp_path / "tasks", "--on", f"ray:{engine.address}", "--work", store.address
    )

    assert made == plain
    keys = [key.removeprefix("work/") for key in bucket.objects]
    assert sorted(puts(bucket)) == sorted(keys)
    assert all(store.get(key) for key in keys)
    assert len(keys) > 1


def built(folder: Path) -> dict[str, Command]:
    found = {}
    for build in COMMANDS:
        (folder / build.__name__).mkdir()
        found[build.__name__] = build(folder / build.__name__)
    return found
