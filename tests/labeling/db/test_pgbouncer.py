"""PgBouncer in transaction mode: two connections to the server for eight who work at once.

ASSAY_POOL_SECONDS says for how long, 2 unless set; docs/reference/benchmarks.md has five minutes.
"""

import os
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import connections

from benchmarks.worlds import add_images
from labeling.answers import submitting
from labeling.answers.submitted_answers import uuid7
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.db import batch
from labeling.follow_ups import asking
from labeling.jobs import queue
from labeling.models import Campaign, Job, Question, User
from labeling.releases import freezing, snapshots
from tests import factories
from tests.conftest import skip_or_fail
from tests.deploy.test_compose import spare_port
from tests.labeling.conftest import POSTGRES
from tests.labeling.crowd import at_once

SECONDS = float(os.environ.get("ASSAY_POOL_SECONDS", "2"))
ANNOTATORS = 5
CONFIG = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
unix_socket_dir =
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
auth_type = trust
auth_file = {users}
ignore_startup_parameters = extra_float_digits
"""

pytestmark = [
    pytest.mark.pgbouncer,
    pytest.mark.postgres,
    pytest.mark.parametrize("template", ["postgres"], indirect=True),
]


@pytest.fixture(params=["batch", "default alone"])
def pooled(request, throwaway, tmp_path_factory) -> Iterator[None]:
    """The process reaches its database by way of PgBouncer, and past it where there is a batch."""
    program = shutil.which("pgbouncer") or shutil.which("/usr/sbin/pgbouncer")
    if program is None:
        skip_or_fail("pgbouncer is not installed here")
        return
    server, parts = urlsplit(POSTGRES), spare_port()
    config = tmp_path_factory.mktemp("pgbouncer") / "pgbouncer.ini"
    users = config.with_name("users.txt")
    users.write_text(f'"{server.username}" "{server.password or ""}"\n')
    config.write_text(
        CONFIG.format(host=server.hostname, port=server.port or 5432, users=users, own=parts)
    )
    straight = connections.settings["default"]
    with closing(_Process(program, config)) as process:
        process.wait_for(parts)
        pool = {"HOST": "127.0.0.1", "PORT": parts, "DISABLE_SERVER_SIDE_CURSORS": True}
        connections["default"].close()
        connections.settings["default"] = straight | pool
        if request.param == "batch":
            connections.settings["batch"] = straight
        del connections["default"]
        try:
            yield
        finally:
            connections.close_all()
            connections.settings.pop("batch", None)
            connections.settings["default"] = straight
            del connections["default"]
    if hasattr(connections._connections, "batch"):
        del connections["batch"]


class _Process:
    def __init__(self, program: str, config: Path) -> None:
        as_user = []
        if os.getuid() == 0:
            # It refuses to run as root; what it reads, it reads before.
            as_user = ["-u", "nobody"]
        self.process = subprocess.Popen(
            [program, "-q", *as_user, str(config)], stderr=subprocess.DEVNULL
        )

    def wait_for(self, port: int) -> None:
        for _ in range(500):
            assert self.process.poll() is None, "pgbouncer ended"
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("pgbouncer does not listen")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def campaign(pooled, monkeypatch) -> Campaign:
    """Open questions for as long as the load lasts, frozen in ranges of a few."""
    monkeypatch.setattr(snapshots, "CHUNK", 50)
    monkeypatch.setattr(snapshots, "FEW_CHUNKS", 0)
    monkeypatch.setattr(snapshots, "BATCH", 100)
    alice = factories.make_user("alice", is_researcher=True)
    pond = factories.make_dataset(alice)
    names = add_images(pond, int(100 + 200 * SECONDS), (64, 48))
    campaign = factories.make_campaign(
        alice, pond, policy={"votes": 2, "gold_share": 0}, launch=False
    )
    asking.add_questions(campaign, [(name, "n02018207") for name in names])
    lifecycle.launch(campaign, alice)
    for number in range(ANNOTATORS):
        factories.join(User.objects.create(username=f"person{number}"), campaign)
    return campaign


def annotate(campaign: Campaign, name: str, end: float) -> Counter[str]:
    user, done = User.objects.get(username=name), Counter[str]()
    while time.monotonic() < end:
        seats = claiming.next_page(user, campaign).seats
        sent = [submitting.SubmittedAnswer(uuid7(), seat.token, "yes", 900) for seat in seats]
        statuses = {result.status for result in submitting.submit(user, campaign, sent)}
        assert statuses <= {"accepted"}
        done["answers"] += len(sent)
        if not seats:
            time.sleep(0.05)
    return done


def export(campaign: Campaign, end: float) -> Counter[str]:
    done = Counter[str]()
    while time.monotonic() < end:
        with batch.reading():
            rows = Question.objects.filter(campaign=campaign).order_by("pk")
            assert len(list(rows.iterator(chunk_size=20))) == campaign.questions.count()
        done["lists"] += 1
    return done


def freeze(campaign: Campaign, end: float) -> Counter[str]:
    done = Counter[str]()
    while time.monotonic() < end:
        release = freezing.freeze(campaign, interim=True)
        freezing.read(release)
        freezing.prune(campaign, release)
        done["releases"] += 1
    return done


def work(end: float) -> Counter[str]:
    while time.monotonic() < end:
        queue.run_all()
        time.sleep(0.02)
    return Counter[str]()


def test_eight_work_through_a_pool_of_two_without_an_error(campaign):
    end = time.monotonic() + SECONDS
    actions = [partial(annotate, campaign, f"person{n}", end) for n in range(ANNOTATORS)]
    actions += [partial(export, campaign, end), partial(freeze, campaign, end), partial(work, end)]

    results = at_once(*actions)

    assert [result for result in results if isinstance(result, Exception)] == []
    done = sum(results, Counter[str]())
    print(f"{SECONDS:g} s: {dict(done)}, errors 0")
    assert min(done["answers"], done["lists"], done["releases"]) > 0
    assert not Job.objects.filter(state=Job.State.FAILED).exists()
    assert campaign.questions.filter(state=Question.State.SETTLED).exists()
