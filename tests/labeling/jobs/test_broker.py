"""Real workers on every broker we promise: killed with kill -9 in the middle, nothing is lost."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings as django_settings
from kombu import Connection

from annotator.broker import Channel, Transport
from tests.conftest import skip_or_fail

pytestmark = pytest.mark.ci

REDIS = os.environ.get("ASSAY_TEST_REDIS", "redis://127.0.0.1:6379/11")
RABBITMQ = os.environ.get("ASSAY_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672//")
BROKERS = [
    pytest.param("filesystem://", id="filesystem"),
    pytest.param(REDIS, id="redis", marks=pytest.mark.broker),
    pytest.param(RABBITMQ, id="rabbitmq", marks=pytest.mark.broker),
]
PATIENCE_SECONDS = 60


class Site:
    """A site of its own (database, broker, data folder) and the processes that work for it."""

    def __init__(self, folder: Path, broker: str) -> None:
        self.folder = folder
        self.broker = broker
        self.queue = f"assay-test-{uuid.uuid4().hex}"
        self.database = folder / "site.sqlite3"
        self.workers: list[subprocess.Popen[bytes]] = []
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.labeling.broker_settings",
            "DATABASE_URL": f"sqlite:///{self.database}",
            "ASSAY_DATA": str(folder),
            "CELERY_BROKER_URL": broker,
            "ASSAY_JOB_LEASE_SECONDS": "1",
            "ASSAY_SWEEP_SECONDS": "1",
            "TEST_QUEUE": self.queue,
        }

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=django_settings.BASE_DIR,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def enqueue(self, key: str, kind: str = "slow") -> None:
        action = (
            "from django.db import transaction\n"
            "from labeling.jobs import queue\n"
            "with transaction.atomic():\n"
            f"    queue.enqueue({kind!r}, {key!r}, {{'folder': {str(self.folder)!r}}})\n"
        )
        self.manage("shell", "--no-imports", "-c", action)

    def start_worker(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"worker-{len(self.workers)}.txt").open("wb")
        worker = subprocess.Popen(
            [
                *(sys.executable, "-m", "celery", "-A", "annotator", "worker"),
                *("--loglevel=INFO", "--without-gossip", "--without-mingle"),
                *(arguments or ("--pool=solo",)),
            ],
            cwd=django_settings.BASE_DIR,
            env=self.environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Its children (the pool) are in its group: kill -9 reaches them all, and only them.
            start_new_session=True,
        )
        log.close()
        self.workers.append(worker)
        return worker

    def kill(self, worker: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def log(self, key: str) -> list[str]:
        path = self.folder / f"{key}.log"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def row(self, key: str) -> tuple[str, int]:
        with closing(sqlite3.connect(self.database, timeout=20)) as database:
            return database.execute(
                "select state, attempts from labeling_job where key = ?", [key]
            ).fetchone()

    def go(self) -> None:
        (self.folder / "go").touch()

    def wait_for(self, condition: Callable[[], object], purpose: str) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            alive = self.workers[-1].poll() is None
            if not alive or time.monotonic() > end:
                log = (self.folder / f"worker-{len(self.workers) - 1}.txt").read_text()
                pytest.fail(f"{purpose}: no. The worker {'lives' if alive else 'died'}:\n{log}")
            time.sleep(0.02)

    def close(self) -> None:
        for worker in self.workers:
            self.kill(worker)
        if self.broker.startswith("redis"):
            import redis

            with redis.Redis.from_url(self.broker) as server:
                for key in server.scan_iter(f"{self.queue}*"):
                    server.delete(key)
        elif self.broker != "filesystem://":
            from kombu import Connection

            with Connection(self.broker) as broker, suppress(Exception):
                broker.default_channel.queue_delete(self.queue)


@pytest.fixture
def site(request, tmp_path, sqlite_tables) -> Iterator[Site]:
    broker = request.param
    if broker != "filesystem://":
        _need(broker)
    made = Site(tmp_path, broker)
    shutil.copy(sqlite_tables, made.database)
    yield made
    made.close()


def _need(broker: str) -> None:
    from kombu import Connection

    try:
        with Connection(broker, connect_timeout=2) as connection:
            connection.ensure_connection(max_retries=1, timeout=2)
    except Exception as error:
        skip_or_fail(f"no broker at {broker.partition('@')[2] or broker}: {error}")


@pytest.mark.parametrize("site", BROKERS[1:], indirect=True)
def test_a_job_is_taken_from_every_broker(site: Site):
    """Of the filesystem the pool of processes, below, shows more."""
    site.go()
    site.enqueue("teal")
    site.start_worker()

    site.wait_for(lambda: site.row("teal") == ("done", 1), "the worker finishes")


@pytest.mark.parametrize("site", BROKERS[:1], indirect=True)
def test_a_scoring_queue_has_workers_of_its_own(site: Site):
    site.environment["ASSAY_SCORING_QUEUE"] = "gpu"
    site.go()
    # Before any worker is there: the message waits in its queue.
    site.enqueue("swan", "score")
    site.enqueue("teal")

    site.start_worker("--pool=solo", "--hostname=other@%h")
    site.wait_for(lambda: site.row("teal")[0] == "done", "the other worker finishes")
    assert site.row("swan") == ("queued", 0)

    site.start_worker("--pool=solo", "--hostname=gpu@%h", "-Q", "gpu")
    site.wait_for(lambda: site.row("swan") == ("done", 1), "the worker of the queue finishes")


@pytest.mark.slow
@pytest.mark.parametrize("site", BROKERS, indirect=True)
def test_a_job_whose_worker_is_killed_is_finished_by_another(site: Site):
    first = site.start_worker()
    site.enqueue("coot")
    site.wait_for(lambda: site.log("coot") == ["started"], "the first worker starts")
    site.kill(first)
    site.go()

    site.start_worker()

    def is_done() -> bool:
        # A broker that gives the message of a dead worker away at once may be too early for the
        # lease, or just late enough to need no sweep.
        site.manage("jobs", "sweep")
        return site.row("coot") == ("done", 2)

    site.wait_for(is_done, "the second worker finishes")
    assert site.log("coot") == ["started", "started", "ended"]


@pytest.mark.parametrize("site", BROKERS[:1], indirect=True)
def test_beat_beside_a_pool_of_processes_sends_what_a_killed_worker_held(site: Site):
    pool = ("--pool=prefork", "--concurrency=2", "--beat")
    first = site.start_worker(*pool)
    site.enqueue("drake")
    site.wait_for(lambda: site.log("drake") == ["started"], "the first worker starts")
    site.kill(first)
    site.go()

    site.start_worker(*pool)

    site.wait_for(lambda: site.row("drake") == ("done", 2), "beat and the second worker finish")
    assert (site.folder / "celerybeat-schedule").exists() or list(
        site.folder.glob("celerybeat-schedule.*")
    )


# The filesystem transport


@pytest.fixture
def channel(tmp_path) -> Iterator[Channel]:
    from kombu import Connection

    import annotator.celery  # noqa: F401  (registers the transport)

    options = {
        "data_folder_in": str(tmp_path / "deep" / "queue"),
        "data_folder_out": str(tmp_path / "deep" / "queue"),
        "control_folder": str(tmp_path / "deep" / "control"),
    }
    with Connection("filesystem://", transport_options=options) as broker:
        yield broker.default_channel


def test_messages_come_out_in_the_order_they_went_in(channel: Channel):
    for number in range(20):
        channel._put("q", {"n": number})

    assert channel._size("q") == 20
    assert [channel._get("q")["n"] for _ in range(20)] == list(range(20))


def test_a_message_is_seen_only_when_it_is_whole(channel: Channel, monkeypatch):
    seen = []

    def look(path: Path, *_: object) -> None:
        write(path, *_)
        seen.append(channel._size("q"))

    write = Path.write_text
    monkeypatch.setattr(Path, "write_text", look)

    channel._put("q", {"n": 1})

    assert seen == [0]
    assert channel._size("q") == 1


def test_a_damaged_message_is_dropped_and_the_next_one_comes(channel: Channel, caplog):
    (channel.folder / f"{0:020}_a.q.msg").write_text("")
    channel._put("q", {"n": 1})

    assert channel._get("q") == {"n": 1}
    assert "damaged" in caplog.text


def test_a_message_taken_by_another_worker_is_passed_over(channel: Channel, monkeypatch):
    channel._put("q", {"n": 1})
    names = channel._waiting("q")
    monkeypatch.setattr(channel, "_waiting", lambda queue: [f"{0:020}_gone.q.msg", *names])

    assert channel._get("q") == {"n": 1}


def test_what_a_killed_worker_held_is_swept_away_in_time(channel: Channel):
    held = channel.folder / ".0_a.q.msg.x.taken"
    held.write_text("{}")
    os.utime(held, (0, 0))
    fresh = channel.folder / ".0_b.q.msg.y.taken"
    fresh.write_text("{}")

    channel._remove_stale()

    assert not held.exists()
    assert fresh.exists()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port where connections are accepted and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        yield listener.getsockname()[1]


def seconds_to_send(broker: str, tmp_path: Path) -> float:
    """How long a request waits for a broker that does not take its job."""
    environment = {
        **os.environ,
        "ASSAY_DATA": str(tmp_path),
        "CELERY_BROKER_URL": broker,
        "DATABASE_URL": f"sqlite:///{tmp_path / 'site.sqlite3'}",
    }
    action = (
        "import time; from labeling.jobs import queue; start = time.monotonic();"
        "print(queue._send(1, 'slow'), time.monotonic() - start)"
    )
    done = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", action],
        cwd=django_settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    taken, seconds = done.stdout.split()
    assert taken == "False", done.stderr
    return float(seconds)


def test_a_broker_that_does_not_answer_is_given_up_at_once(tmp_path):
    """An unreachable broker costs a request a moment, not half a minute."""
    assert seconds_to_send("redis://127.0.0.1:1/0", tmp_path) < 20


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_broker_that_accepts_and_is_silent_is_given_up_by_requests(scheme, tmp_path, silent_port):
    assert seconds_to_send(f"{scheme}://127.0.0.1:{silent_port}//", tmp_path) < 20


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_a_silent_broker_is_given_up_by_beat_and_workers_too(scheme, fresh_settings, silent_port):
    settings = fresh_settings({"CELERY_BROKER_URL": f"{scheme}://127.0.0.1:{silent_port}//"})
    broker = Connection(
        settings.CELERY_BROKER_URL,
        connect_timeout=settings.CELERY_BROKER_CONNECTION_TIMEOUT,
        transport_options=settings.CELERY_BROKER_TRANSPORT_OPTIONS,
    )

    start = time.monotonic()
    with pytest.raises(Exception, match=r"(?i)time"):
        # Of Redis the channel connects, of RabbitMQ the connection does.
        broker.channel()

    assert time.monotonic() - start < 30


def test_an_idle_worker_looks_seldom_and_a_message_makes_it_look_often(monkeypatch):
    transport = Transport(SimpleNamespace(transport_options={"polling_interval": 0.05}))
    monkeypatch.setattr("kombu.transport.virtual.Transport.drain_events", lambda *_: None)

    def interval(seconds: float) -> float:
        monkeypatch.setattr("annotator.broker.time.monotonic", lambda: seconds)
        transport.drain_events(None, 1)
        return transport.polling_interval

    start = transport._worked
    assert [interval(start + second) for second in (1, 50, 120, 121)] == [0.05, 0.05, 0.25, 0.05]
