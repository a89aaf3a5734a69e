import json
import os
import sys
from pathlib import Path

import pytest

from evaluation.engines.running import Engine, run, share
from evaluation.engines.store import Store
from evaluation.engines.tasks import Task
from labeling.files import BadInput
from tests.evaluation.engines import toys


class Deadly(Store):
    """A store that ends the process which it is sent to."""

    def __reduce__(self):
        return os._exit, (1,)


TWO = Engine.from_name("local:2")


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.at(str(tmp_path / "work"))


def squares(count: int, **locations: str) -> list[Task]:
    return [Task.of(toys.square, {"number": n}, **locations) for n in range(count)]


def test_each_task_runs_once_and_its_object_is_in_the_store(store, tmp_path):
    log, seen = tmp_path / "log", []

    keys = run(squares(5, log=str(log)), store, TWO, watch=seen.append)

    assert [store.get(key) for key in keys] == [b"0", b"1", b"4", b"9", b"16"]
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3", "4"]
    assert sum(seen) == 5


def test_what_is_in_the_store_is_not_made_again(store, tmp_path):
    log = tmp_path / "log"
    run(squares(3), store, TWO)

    run(squares(4, log=str(log)), store, TWO)

    assert log.read_text().split() == ["3"]


def test_a_killed_process_costs_only_its_own_task(store, tmp_path):
    log, mine = tmp_path / "log", tmp_path / "die"
    mine.touch()

    keys = run(squares(6, log=str(log), die_at=str(mine)), store, TWO)

    assert [store.get(key) for key in keys] == [b"0", b"1", b"4", b"9", b"16", b"25"]
    assert len(log.read_text().split()) == 7


def test_a_task_whose_process_always_dies_is_given_up(store):
    with pytest.raises(BadInput, match="its process died 2 times; free some memory"):
        run([Task.of(toys.die, {})], store, TWO, retries=1)


def test_the_refusal_of_a_task_arrives_with_its_place_and_cure(store):
    with pytest.raises(BadInput) as caught:
        run([Task.of(toys.refuse, {"number": 7})], store, TWO)

    assert str(caught.value) == "pool.jsonl, line 7: is no pool; make it again"


def test_the_shares_of_an_array_are_all_tasks_once():
    tasks = squares(7)
    shares = [share(tasks, index, 3) for index in (1, 2, 3)]

    assert [len(each) for each in shares] == [2, 2, 3]
    assert sorted(task.arguments["number"] for each in shares for task in each) == list(range(7))


def test_a_key_depends_on_arguments_and_version_and_on_no_location(monkeypatch):
    plain = Task.of(toys.square, {"number": 2})

    assert Task.of(toys.square, {"number": 2}, gpus=1, log="x").key == plain.key
    assert Task.of(toys.square, {"number": 3}).key != plain.key
    monkeypatch.setattr(toys.square, "version", 2)
    assert Task.of(toys.square, {"number": 2}).key != plain.key


def test_a_key_depends_on_the_version_of_a_library_that_changes_results(monkeypatch):
    monkeypatch.setattr(toys.square, "libraries", ("numpy",))
    before = Task.of(toys.square, {"number": 2}).key
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0")

    assert Task.of(toys.square, {"number": 2}).key != before


def test_another_engine_is_refused():
    for name in ["local:0", "local:x", "ray", "ray:host", "slurm:4", ""]:
        with pytest.raises(ValueError, match="is not local, local:N, ray:auto or ray:HOST:PORT"):
            Engine.from_name(name)


def test_results_that_another_machine_kept_to_itself_are_missed(store, monkeypatch):
    monkeypatch.setattr("evaluation.engines.local.run", lambda *work: None)

    with pytest.raises(BadInput, match="2 of 2 results are not in the store; give --work a folder"):
        run(squares(2), store, TWO)


def test_without_ray_the_error_says_what_to_install(store, tmp_path, monkeypatch):
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError(name='ray')")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(BadInput, match=r"Ray is not installed; pip install -r requirements"):
        run(squares(1), store, Engine.from_name("ray:auto"))


def test_a_cluster_that_goes_away_is_said_in_one_sentence(store):
    with pytest.raises(BadInput, match="the cluster at auto went away; start it and run the same"):
        run(squares(1), Deadly(store.address), Engine.from_name("ray:auto"))


FAKE = """
import json, os, sys, pathlib
def init(**options):
    found = {"environment": dict(os.environ), "options": options}
    pathlib.Path(__file__).with_name("seen.json").write_text(json.dumps(found))
    raise ConnectionError("nobody answers")
"""


@pytest.fixture
def ray(tmp_path, monkeypatch) -> Path:
    """What a Ray that finds no cluster saw: a file of JSON."""
    (tmp_path / "ray.py").write_text(FAKE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "known")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "seen.json"


def test_no_secret_reaches_what_speaks_to_a_cluster(store, ray, monkeypatch):
    for name in ("SECRET_KEY", "DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "CELERY_BROKER_URL"):
        monkeypatch.setenv(name, "hidden")

    with pytest.raises(BadInput, match=r"no Ray cluster at 127.0.0.1:7 \(nobody answers\)"):
        run(squares(1), store, Engine.from_name("ray:127.0.0.1:7"))

    seen = json.loads(ray.read_text())["environment"]
    assert "hidden" not in seen.values()
    assert (seen["RAY_AUTH_MODE"], seen["RAY_AUTH_TOKEN"]) == ("token", "known")
    assert seen["RAY_USAGE_STATS_ENABLED"] == "0"


def test_a_cluster_at_a_public_address_is_refused_before_it_is_asked(store, ray):
    with pytest.raises(BadInput, match=r"has the public address 8\.8\.8\.8, where strangers"):
        run(squares(1), store, Engine.from_name("ray:8.8.8.8:6379"))

    assert not ray.exists()


def test_a_cluster_for_which_there_is_no_token_is_refused_before_it_is_asked(
    store, ray, monkeypatch
):
    monkeypatch.delenv("RAY_AUTH_TOKEN")

    with pytest.raises(BadInput, match=r"no token for the cluster.* give it as RAY_AUTH"):
        run(squares(1), store, Engine.from_name("ray:127.0.0.1:7"))

    assert not ray.exists()


def test_authentication_that_is_off_is_refused(store, ray, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")

    with pytest.raises(BadInput, match=r"RAY_AUTH_MODE is disabled.*; set it to token"):
        run(squares(1), store, Engine.from_name("ray:127.0.0.1:7"))

    assert not ray.exists()


@pytest.mark.parametrize("token_path", [".ray/auth_token", "token"])
def test_a_token_may_lie_in_a_file(store, ray, tmp_path, monkeypatch, token_path):
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    (tmp_path / token_path).parent.mkdir(exist_ok=True)
    (tmp_path / token_path).write_text("known\n")
    if token_path == "token":
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / token_path))

    with pytest.raises(BadInput, match="no Ray cluster"):
        run(squares(1), store, Engine.from_name("ray:127.0.0.1:7"))

    assert ray.exists()
