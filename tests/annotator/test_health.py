"""/livez, /healthz and /readyz: what load balancers and monitoring ask, by plain HTTP."""

import json
import threading
from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.storage import default_storage
from django.db import DatabaseError, InterfaceError
from django.db.migrations.recorder import MigrationRecorder
from django.urls.resolvers import RegexPattern, URLResolver
from django.utils import timezone

from annotator import health
from evaluation.benchmarks import runs
from labeling import tasks
from labeling.jobs import rounds
from tests.cases import for_each

pytestmark = pytest.mark.django_db
TOKEN = "a token of monitoring alone"
PATHS = ("/livez", "/healthz", "/readyz")


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch):
    health.load_pages()
    monkeypatch.setattr(health, "_last", None)
    monkeypatch.setattr(health, "KEPT_SECONDS", -1)


def test_health_answers_without_a_login(client):
    response = client.get("/healthz")

    assert response.json() == {"status": "ok"}
    assert "no-store" in response["Cache-Control"]


@for_each("path", PATHS)
def test_it_answers_by_plain_http_where_all_else_is_sent_to_https(client, settings, path):
    settings.SECURE_SSL_REDIRECT = True

    assert client.get("/accounts/login/").status_code == 301
    assert client.get(path).status_code == 200


@for_each("path", PATHS)
def test_it_answers_under_a_host_that_the_site_does_not_have(client, settings, path):
    settings.ALLOWED_HOSTS = ["assay.example.org"]

    assert client.get("/accounts/login/", headers={"host": "10.0.0.7:8000"}).status_code == 400
    assert client.get(path, headers={"host": "10.0.0.7:8000"}).status_code == 200


@for_each("path", PATHS)
def test_it_is_only_read_and_kept_by_nobody(client, path):
    response = client.head(path)

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert client.post(path).status_code == 405


@pytest.mark.parametrize("error", [DatabaseError("gone"), InterfaceError("already closed")])
def test_health_says_when_the_database_is_gone(client, monkeypatch, error):
    class Broken:
        def cursor(self):
            raise error

    monkeypatch.setattr(health, "connection", Broken())

    assert client.get("/healthz").status_code == 503


def test_a_process_is_live_without_a_database(client, django_assert_num_queries):
    with django_assert_num_queries(0):
        response = client.get("/livez")

    assert response.json() == {"status": "ok"}


def test_a_site_whose_dependencies_work_is_ready(client):
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {
        "status": "ready",
        "dependencies": {
            "pages": True,
            "database": True,
            "migrations": True,
            "broker": True,
            "cache": True,
            "image store": True,
        },
        "failing": [],
        "age_seconds": {"sweep": None, "nightly": None},
    }


def test_the_ages_of_the_rounds_are_those_of_their_last_beginning(client, monkeypatch):
    hour_ago = timezone.now() - timedelta(hours=1)
    monkeypatch.setattr(rounds.time, "time", hour_ago.timestamp)
    runs.start_night()
    monkeypatch.setattr(rounds.time, "time", (hour_ago + timedelta(minutes=59)).timestamp)
    tasks.sweep()
    monkeypatch.setattr(rounds.time, "time", (hour_ago + timedelta(minutes=60)).timestamp)

    ages = client.get("/readyz").json()["age_seconds"]

    assert ages == {"sweep": 60, "nightly": 3600}


def raises(error):
    def fail(*args, **kwargs):
        raise error

    return fail


def break_database(monkeypatch, settings):
    class Broken:
        vendor = "postgresql"
        cursor = raises(DatabaseError("no route to db-17.internal"))

    monkeypatch.setattr(health, "connection", Broken())
    # Where it has a database, the recorder asks by itself.
    monkeypatch.setattr(MigrationRecorder, "has_table", raises(DatabaseError("db-17.internal")))


def break_migrations(monkeypatch, settings):
    applied = {("labeling", "0001_initial"): None}
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda self: applied)


def break_broker(monkeypatch, settings):
    # Port 1 refuses.
    monkeypatch.setattr(health.current_app.conf, "broker_url", "redis://127.0.0.1:1/0")


def break_cache(monkeypatch, settings):
    url = "redis://127.0.0.1:1/0"
    redis = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": url}
    settings.CACHES = settings.CACHES | {"default": redis}


def break_image_store(monkeypatch, settings):
    monkeypatch.setattr(default_storage, "save", raises(PermissionError("/srv/media")))


BREAKS = {
    "database": break_database,
    "migrations": break_migrations,
    "broker": break_broker,
    "cache": break_cache,
    "image store": break_image_store,
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_dependency_that_fails_is_named_and_strangers_read_no_more(
    client, as_alice, monkeypatch, settings, caplog, name
):
    settings.ASSAY_MONITORING_TOKEN = TOKEN
    BREAKS[name](monkeypatch, settings)
    # One look for all five.
    monkeypatch.setattr(health, "KEPT_SECONDS", 60)
    strangers = [
        client.get("/readyz"),
        as_alice.get("/readyz"),
        client.get("/readyz", headers={"authorization": "Bearer another"}),
        client.get("/readyz", headers={"authorization": "Bearer "}),
    ]

    monitoring = client.get("/readyz", headers={"authorization": f"Bearer {TOKEN}"}).json()

    for response in strangers:
        assert response.status_code == 503
        body = response.json()
        assert set(body) == {"status", "dependencies", "failing", "age_seconds"}
        assert body["status"] == "not ready"
        assert name in body["failing"]
        assert body["dependencies"][name] is False
        assert not any(word in json.dumps(body) for word in ("internal", "127.0.0.1", "/srv"))
    assert len(monitoring["errors"][name]) > 10
    assert f"not ready: {name} does not work" in caplog.text


def test_without_a_token_in_the_settings_none_opens_the_reasons(client, settings):
    settings.ASSAY_MONITORING_TOKEN = ""

    for sent in ("Bearer ", "Bearer", ""):
        assert "errors" not in client.get("/readyz", headers={"authorization": sent}).json()


def test_dependencies_are_asked_once_in_five_seconds_however_often_strangers_ask(
    client, monkeypatch
):
    monkeypatch.setattr(health, "KEPT_SECONDS", 5)
    calls = []
    monkeypatch.setattr(health, "DEPENDENCIES", {"database": lambda: calls.append(1)})

    for _ in range(20):
        assert client.get("/readyz").status_code == 200

    assert calls == [1]


def test_one_thread_alone_waits_for_a_silent_dependency(client, monkeypatch):
    started, over = threading.Event(), threading.Event()

    def silent():
        started.set()
        assert over.wait(20)

    monkeypatch.setattr(health, "DEPENDENCIES", {"broker": lambda: None})
    assert client.get("/readyz").status_code == 200
    monkeypatch.setattr(health, "DEPENDENCIES", {"broker": silent})
    first = threading.Thread(target=health._looked_up)
    first.start()
    assert started.wait(20)

    assert client.get("/readyz").json()["failing"] == []

    over.set()
    first.join()


def test_a_broker_that_accepts_and_is_silent_is_given_up(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(health, "BROKER_SECONDS", 0.01)
    monkeypatch.setattr(
        health.current_app, "connection_for_write", lambda: over.wait(20) and raises(OSError())
    )

    with pytest.raises(TimeoutError, match=r"no answer within 0\.01 s"):
        health._ask_broker()

    over.set()


def test_nothing_is_left_in_the_image_store(client, tmp_path):
    client.get("/readyz")

    assert [file for file in (tmp_path / "media").rglob("*") if file.is_file()] == []


def test_a_sweep_goes_on_without_the_cache(db, monkeypatch, settings):
    break_cache(monkeypatch, settings)

    assert tasks.sweep()["sent"] == 0


def test_a_short_token_is_refused_at_the_start(fresh_settings):
    with pytest.raises(ImproperlyConfigured, match="7 characters, expected at least 20"):
        fresh_settings({"ASSAY_MONITORING_TOKEN": "letmein"})


def test_a_process_is_ready_once_its_pages_are_loaded(client, monkeypatch):
    resolver, started = URLResolver(RegexPattern(r"^/"), "annotator.urls"), []
    monkeypatch.setattr(health, "get_resolver", lambda: resolver)
    monkeypatch.setattr(health, "_start_loading", lambda: started.append(True))

    early = client.get("/readyz")
    health.load_pages()
    late = client.get("/readyz")

    assert (early.status_code, early.json()["failing"], started) == (503, ["pages"], [True])
    assert (late.status_code, late.json()["failing"]) == (200, [])
