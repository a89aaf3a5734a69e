"""Many people at once, from threads and from processes, on both databases."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import environ
import pytest
from django.core.management import call_command
from django.db import connections

from tests.conftest import skip_or_fail
from tests.labeling import hammer

ROOT = Path(__file__).resolve().parents[2]
POSTGRES = os.environ.get("ASSAY_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")


def _postgres():
    psycopg = pytest.importorskip("psycopg")
    try:
        return psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        return skip_or_fail(f"no PostgreSQL server at {POSTGRES}: {error}".strip())


def _point_to(url: str) -> None:
    """Makes this process use the database, as annotator/settings.py would."""
    wanted = environ.Env.db_url_config(url)
    if url.startswith("sqlite"):
        wanted["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
        }
    connections.settings["default"] = {**connections.settings["default"], "OPTIONS": {}, **wanted}
    del connections["default"]


@contextmanager
def _away_from_the_test_database(blocker):
    original, kept = connections.settings["default"], connections["default"]
    with blocker.unblock():
        try:
            yield
        finally:
            connections["default"].close()
            connections.settings["default"] = original
            connections["default"] = kept


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def template(request, tmp_path_factory, django_db_blocker):
    """The name of an empty migrated database, made once, of which every test gets a copy."""
    if request.param == "sqlite":
        name = str(tmp_path_factory.mktemp("template") / "template.sqlite3")
        url = f"sqlite:///{name}"
    else:
        name = f"assay_template_{uuid.uuid4().hex[:12]}"
        url = f"{POSTGRES.rsplit('/', 1)[0]}/{name}"
        with _postgres() as server:
            server.execute(f'CREATE DATABASE "{name}"')
    with _away_from_the_test_database(django_db_blocker):
        _point_to(url)
        call_command("migrate", verbosity=0)
        if request.param == "sqlite":
            with connections["default"].cursor() as cursor:
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    yield name
    if request.param == "postgres":
        with _postgres() as server:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def throwaway(template, tmp_path, django_db_blocker):
    """The DATABASE_URL of a database of this test alone, also used in this process."""
    postgres = template.startswith("assay_template_")
    name = f"assay_hammer_{uuid.uuid4().hex[:12]}"
    if postgres:
        url = f"{POSTGRES.rsplit('/', 1)[0]}/{name}"
        with _postgres() as server:
            server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    else:
        url = f"sqlite:///{shutil.copy(template, tmp_path / 'hammer.sqlite3')}"
    with _away_from_the_test_database(django_db_blocker):
        _point_to(url)
        yield url
    if postgres:
        with _postgres() as server:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _worker(url: str, person: int, seed: int, seconds: float) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.labeling.hammer", str(person), str(seed), str(seconds)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": url, "CELERY_BROKER_URL": "memory://"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(people: int, seconds: float = 60) -> None:
    """One after the other, until nobody finds anything: what is open then has no voter left."""
    from labeling.models import Assignment

    Assignment.objects.filter(state="leased").update(leased_until="2020-01-01T00:00:00Z")
    for person in [*range(people), *range(people)]:
        hammer.label(person, 1000 + person, seconds)
    from labeling import assigning

    Assignment.objects.filter(state="leased").update(leased_until="2020-01-01T00:00:00Z")
    assigning.return_expired()


@pytest.mark.slow
def test_threads_lose_nothing_and_give_no_vote_too_many(throwaway):
    hammer.build(questions=80, people=6)

    def work(person: int) -> dict[str, int]:
        try:
            return hammer.label(person, person, 20)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        counts = list(pool.map(work, range(6)))
    _finish(6)

    states = hammer.check(6)
    assert sum(states.values()) == 80
    assert sum(count.get("accepted", 0) for count in counts) >= 80 * 3


@pytest.mark.slow
def test_processes_killed_at_any_moment_lose_nothing(throwaway):
    hammer.build(questions=80, people=6)
    workers = [_worker(throwaway, person, person, 20) for person in range(6)]
    # The first two are killed while they work, wherever they are.
    time.sleep(2.5)
    for victim in workers[:2]:
        victim.send_signal(signal.SIGKILL)
    for worker in workers[2:]:
        out, err = worker.communicate(timeout=90)
        assert worker.returncode == 0, err
        assert "accepted" in out
    for victim in workers[:2]:
        victim.communicate()
    _finish(6)

    assert sum(hammer.check(6).values()) == 80


def test_the_last_seat_goes_to_one_annotator(throwaway):
    from labeling import assigning
    from labeling.models import Assignment, Campaign, Question, User

    hammer.build(questions=1, people=8)
    Question.objects.filter(state="open").update(seats_free=1)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    barrier = threading.Barrier(8)

    def claim(person: int) -> int:
        try:
            user = User.objects.get(username=f"person{person}")
            barrier.wait()
            return len(assigning.next_page(user, campaign).seats)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(claim, range(8)))

    assert Assignment.objects.filter(question__state="open").count() == 1
    assert Question.objects.get(state="open").seats_free == 0


def test_two_tabs_of_one_person_share_a_page(throwaway):
    from labeling import assigning
    from labeling.models import Assignment, Campaign, User

    hammer.build(questions=60, people=1)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    user = User.objects.get(username="person0")
    barrier = threading.Barrier(4)

    def claim(_: int) -> set[str]:
        try:
            barrier.wait()
            return {seat.token for seat in assigning.next_page(user, campaign).seats}
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(claim, range(4)))

    assert all(page == pages[0] for page in pages)
    assert Assignment.objects.filter(state="leased").count() == 8


def test_the_same_answer_from_many_sides_is_kept_once(throwaway):
    from labeling import answering, assigning
    from labeling.models import Answer, Campaign, User

    hammer.build(questions=8, people=1)
    campaign = Campaign.objects.get(name=hammer.CAMPAIGN)
    user = User.objects.get(username="person0")
    seats = assigning.next_page(user, campaign).seats
    sent = [answering.Sent(uuid.uuid4(), seat.token, "yes", 10) for seat in seats]
    barrier = threading.Barrier(6)

    def send(_: int) -> list[answering.Result]:
        try:
            barrier.wait()
            return answering.submit(user, campaign, sent)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(send, range(6)))

    assert all(result == results[0] for result in results)
    assert {result.status for result in results[0]} == {"accepted"}
    assert Answer.objects.count() == len(sent)
    assert campaign.memberships.get(user=user).answered == len(sent)
