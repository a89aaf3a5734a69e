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
from tests.evaluation.engines import ray_cluster, toys

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
