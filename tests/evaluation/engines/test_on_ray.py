"""Tasks on a Ray cluster of two nodes, with a bucket as the store."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from evaluation.engines import on_ray
from evaluation.engines.running import Engine, run
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling.files import BadInput
from tests import object_store
from tests.conftest import skip_or_fail
from tests.evaluation.engines import commands_in_tasks, ray_cluster, toys
from tests.evaluation.engines.commands_in_tasks import COMMANDS, Command
from tests.evaluation.engines.ray_cluster import until

pytestmark = [pytest.mark.ray]


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
        return Engine.from_name(f"ray:{cluster.address}"), Store.at(f"s3://{bucket.name}/work")

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
    requests = [
        request
        for request in bucket.requests
        if request.method == "PUT" and request.path.startswith(head)
    ]
    return [request.path.removeprefix(head) for request in requests]


@pytest.mark.usefixtures("wordnet")
def test_an_address_where_no_cluster_is_is_said_in_time(monkeypatch, tmp_path):
    if find_spec("ray") is None:
        skip_or_fail("Ray (requirements-cluster.txt) is not here")
    monkeypatch.setattr(on_ray, "CONNECT_SECONDS", 1.0)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "a" * 32)
    with socket.socket() as bound:
        # Bound and not listening: nobody else takes the port.
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"

        with pytest.raises(BadInput, match=f"no Ray cluster at {address} .no answer in 1 s"):
            run(squares(1), Store.at(str(tmp_path)), Engine.from_name(f"ray:{address}"))


def test_the_tasks_of_every_command_are_made_once_and_give_what_one_run_does(
    cluster, enter, bucket, tmp_path, monkeypatch
):
    engine, store = enter(cluster)
    commands_in_tasks.cut_small(monkeypatch)
    commands = built(tmp_path)
    plain = {name: command.result(tmp_path / f"{name}.plain") for name, command in commands.items()}
    on = ("--on", f"ray:{engine.address}", "--work", store.address)

    # All at once: to start the cluster's processes for each command takes the most of its time.
    tasks: list[Task] = []
    with monkeypatch.context() as collecting:
        collecting.setattr("evaluation.engines.on_ray.run", lambda these, *_: tasks.extend(these))
        for name, command in commands.items():
            with pytest.raises(AssertionError, match="results are not in the store"):
                command.result(tmp_path / f"{name}.tasks", *on)
    run(tasks, store, engine)
    made = {
        name: command.result(tmp_path / f"{name}.tasks", *on) for name, command in commands.items()
    }

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


def begun(log: Path) -> list[list[str]]:
    """The number and the raylet's process of each task that began; nothing before the first."""
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def waits(count: int, folder: Path) -> list[Task]:
    places = {"log": str(folder / "log"), "gate": str(folder / "gate")}
    return [Task.of(toys.wait, {"number": n}, **places) for n in range(count)]


@pytest.mark.slow
def test_a_killed_node_costs_only_the_tasks_that_ran_on_it(s3_server, enter, tmp_path):
    log, gate = tmp_path / "log", tmp_path / "gate"
    with (
        ray_cluster.running(object_store.Bucket(s3_server, "", 0).tasks) as cluster,
        ThreadPoolExecutor(1) as pool,
    ):
        engine, store = enter(cluster)
        making = pool.submit(run, waits(6, tmp_path), store, engine)
        mine = cluster.second.processes
        until(lambda: any(int(raylet) in mine for _, raylet in begun(log)), "a task there")
        cluster.second.kill()
        lost = [number for number, raylet in begun(log) if int(raylet) in mine]
        gate.touch()
        keys = making.result()

        assert [store.get(key) for key in keys] == [b"%d" % n for n in range(6)]
        assert len(begun(log)) == 6 + len(lost)


COMMAND = """
import sys
from evaluation.engines import on_ray
from evaluation.engines.running import Engine, run
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from tests.evaluation.engines import toys

if __name__ == "__main__":
    engine, store, folder = sys.argv[1:]
    places = {"log": folder + "/log", "gate": folder + "/gate"}
    tasks = [Task.of(toys.wait, {"number": n}, **places) for n in range(6)]
    run(tasks, Store.at(store), Engine.from_name(engine))
"""


@pytest.mark.slow
def test_a_killed_command_takes_its_tasks_along_and_a_rerun_makes_what_is_missing(
    cluster, enter, tmp_path
):
    engine, store = enter(cluster)
    log = tmp_path / "log"
    run(waits_open(tmp_path, 2), store, engine)
    (tmp_path / "gate").unlink()
    (tmp_path / "command.py").write_text(COMMAND)
    command = subprocess.Popen(
        [sys.executable, tmp_path / "command.py", f"ray:{engine.address}", store.address, tmp_path],
        env={**os.environ, "PYTHONPATH": str(ray_cluster.ROOT)},
        cwd=ray_cluster.ROOT,
    )
    until(lambda: len(begun(log)) > 2, "a third task")
    assert ray_cluster.tasks_of(cluster)
    command.kill()
    command.wait()
    until(lambda: not ray_cluster.tasks_of(cluster), "the end of its tasks")
    before = len(begun(log))
    (tmp_path / "gate").touch()

    keys = run(waits(6, tmp_path), store, engine)

    assert [store.get(key) for key in keys] == [b"%d" % n for n in range(6)]
    assert sorted(number for number, _ in begun(log)[before:]) == ["2", "3", "4", "5"]


@pytest.mark.slow
@pytest.mark.parametrize("dies", ["gcs_server", ""], ids=["server", "machine"])
def test_a_dead_head_is_said_and_a_rerun_makes_what_is_missing(
    s3_server, enter, tmp_path, dies, capsys
):
    of_any = object_store.Bucket(s3_server, "", 0).tasks
    with ray_cluster.running(of_any) as cluster, ThreadPoolExecutor(1) as pool:
        engine, store = enter(cluster)
        run(waits_open(tmp_path, 2), store, engine)
        (tmp_path / "gate").unlink()
        making = pool.submit(run, waits(6, tmp_path), store, engine)
        until(lambda: len(begun(tmp_path / "log")) > 2, "a third task")
        cluster.head.kill(dies)
        killed = time.monotonic()
        with pytest.raises(BadInput, match="went away; start it and run the same command again"):
            making.result()
        with capsys.disabled():
            print(f"said after {time.monotonic() - killed:.1f} s")
    before = len(begun(tmp_path / "log"))
    (tmp_path / "gate").touch()

    with ray_cluster.running(of_any) as cluster:
        engine, store = enter(cluster)
        keys = run(waits(6, tmp_path), store, engine)

    assert [store.get(key) for key in keys] == [b"%d" % n for n in range(6)]
    assert sorted(number for number, _ in begun(tmp_path / "log")[before:]) == ["2", "3", "4", "5"]


def waits_open(folder: Path, count: int) -> list[Task]:
    (folder / "gate").touch()
    return waits(count, folder)


def built(folder: Path) -> dict[str, Command]:
    built_commands = {}
    for build in COMMANDS:
        (folder / build.__name__).mkdir()
        built_commands[build.__name__] = build(folder / build.__name__)
    return built_commands
