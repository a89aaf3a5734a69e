"""/metrics: who reads it, what is in it, and that nothing a person sends becomes a label."""

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import DatabaseError
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from annotator import health, metrics
from labeling import tasks
from labeling.models import Job
from tests import factories
from tests.labeling import crowd

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a token of monitoring alone"

pytestmark = pytest.mark.django_db


@pytest.fixture
def read(client, settings):
    """Samples as Prometheus reads them: (name, labels in the order of their names) → value."""
    settings.ASSAY_MONITORING_TOKEN = TOKEN

    def read():
        response = client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"})
        assert response.status_code == 200
        return samples(response.content.decode())

    return read


def samples(text):
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.parametrize("person", ["client", "as_charlie", "as_bob", "as_alice"])
def test_no_login_opens_the_figures(request, settings, coots, person):
    visitor = request.getfixturevalue(person)
    settings.ASSAY_MONITORING_TOKEN = ""
    assert visitor.get("/metrics").status_code == 404
    settings.ASSAY_MONITORING_TOKEN = TOKEN

    for sent in ("", "Bearer", "Bearer ", "Bearer wrong", f"Token {TOKEN}", TOKEN):
        response = visitor.get("/metrics", headers={"authorization": sent})

        assert response.status_code == 401
        assert b"assay" not in response.content
        assert response["WWW-Authenticate"] == "Bearer"


def test_no_token_is_no_token_even_where_none_is_set(client, settings):
    settings.ASSAY_MONITORING_TOKEN = ""

    assert client.get("/metrics", headers={"authorization": "Bearer "}).status_code == 404


def test_requests_are_counted_by_view_method_and_status(client, read):
    key = ("assay_requests_total", "GET", "200", "account_login")
    timed = ("assay_request_seconds_count", "GET", "account_login")
    before = read()

    for _ in range(3):
        client.get("/accounts/login/")

    after = read()
    assert after[key] - before.get(key, 0) == 3
    assert after[timed] - before.get(timed, 0) == 3


def test_nothing_that_a_person_sends_becomes_a_label(client, read, settings):
    settings.ASSAY_MONITORING_TOKEN = TOKEN
    before = read()

    client.get("/join/of-alice-alone/")
    client.get("/no/such/page/of-bob/")
    client.generic("BREW", "/accounts/login/?of-charlie")

    after = read()
    fresh = {key for key in after if key not in before}
    assert {key[1] for key in fresh if key[0] == "assay_requests_total"} <= {
        *metrics.METHODS,
        "other",
    }
    assert not any("of-" in part or "BREW" in part for key in after for part in key)
    assert any(key[:2] == ("assay_requests_total", "other") for key in after)
    assert any(key[0] == "assay_requests_total" and key[-1] == "none" for key in after)


def test_monitoring_itself_is_not_counted(client, read):
    before = read()

    after = read()

    requests = [key for key in after if key[0] == "assay_requests_total"]
    assert [after[key] - before.get(key, 0) for key in requests] == [0] * len(requests)


def test_jobs_are_counted_by_kind_and_state(read):
    now = timezone.now()
    Job.objects.create(kind="score", key="run 1", created_at=now - timedelta(minutes=10))
    Job.objects.create(kind="score", key="run 2", created_at=now - timedelta(minutes=5))
    Job.objects.create(
        kind="score", key="run 3", state="failed", created_at=now - timedelta(days=9)
    )
    Job.objects.create(kind="of a plugin that is gone", key="x", state="done")

    figures = read()

    assert figures["assay_jobs", "score", "queued"] == 2
    assert figures["assay_jobs", "score", "failed"] == 1
    assert figures["assay_jobs", "nightly", "queued"] == 0
    assert figures["assay_jobs", "other", "done"] == 1
    assert 600 <= figures["assay_oldest_waiting_job_seconds",] < 660


def test_where_nothing_waits_the_oldest_job_is_of_no_age(read):
    assert read()["assay_oldest_waiting_job_seconds",] == 0


def test_answers_accepted_are_counted(read, bob, coots):
    crowd.answer_all(bob, coots, "yes")
    before = read()["assay_answers_total",]
    questions = len(factories.questions_of(coots))
    vera = factories.person("vera")
    factories.join(vera, coots)

    crowd.answer_all(vera, coots, "yes")

    assert read()["assay_answers_total",] == before + questions


def test_the_age_of_a_round_is_there_once_it_began(read):
    assert ("assay_round_age_seconds", "sweep") not in read()

    tasks.sweep()

    assert 0 <= read()["assay_round_age_seconds", "sweep"] < 60
    assert ("assay_round_age_seconds", "nightly") not in read()


def test_without_a_database_the_other_figures_stay(client, read, monkeypatch):
    client.get("/accounts/login/")
    assert read()["assay_database_up",] == 1

    def gone():
        raise DatabaseError("gone")

    monkeypatch.setattr(metrics, "_jobs", gone)

    figures = read()
    assert figures["assay_database_up",] == 0
    assert ("assay_requests_total", "GET", "200", "account_login") in figures
    assert not any(key[0] == "assay_jobs" for key in figures)


TWO_PROCESSES = """
import os
import django
django.setup()
from django.test import Client
from annotator import metrics
for _ in range(2):
    child = os.fork()
    if not child:
        Client().get("/no/such/page", headers={"host": "localhost"})
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print(metrics.page().content.decode())
"""


def test_requests_of_several_processes_are_added_up(tmp_path):
    figures = tmp_path / "figures"
    figures.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", TWO_PROCESSES],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "annotator.settings",
            "ASSAY_DATA": str(tmp_path),
            "DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}",
            "ASSAY_MONITORING_TOKEN": TOKEN,
            "PROMETHEUS_MULTIPROC_DIR": str(figures),
            "LOG_LEVEL": "CRITICAL",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    summed = samples(done.stdout)
    assert summed["assay_requests_total", "GET", "404", "none"] == 2
    # An empty database has no tables: nothing of it, and no failure.
    assert summed["assay_database_up",] == 0


def test_a_request_is_answered_where_it_cannot_be_counted(
    client, db, settings, monkeypatch, caplog
):
    settings.ASSAY_MONITORING_TOKEN = TOKEN

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(metrics, "count_request", full)

    assert client.get("/accounts/login/").status_code == 200
    assert "a request was not counted: [Errno 28] No space left on device" in caplog.messages


def test_a_site_without_monitoring_loads_nothing_of_it(tmp_path):
    code = (
        "import sys, django; django.setup(); from django.test import Client; "
        "Client().get('/no/such/page'); print('prometheus_client' in sys.modules)"
    )
    env = {"DJANGO_SETTINGS_MODULE": "annotator.settings", "ASSAY_DATA": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **env, "LOG_LEVEL": "CRITICAL", "ASSAY_MONITORING_TOKEN": ""},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.stdout.strip() == "False", done.stderr


def test_the_address_is_only_read(client, read):
    assert client.post("/metrics").status_code == 405
    assert "/metrics" in health.VIEWS
