"""/healthz: what a load balancer asks, by plain HTTP and by address."""

import pytest
from django.db import DatabaseError, InterfaceError

from annotator import health

pytestmark = pytest.mark.django_db


def test_health_answers_without_a_login(client):
    response = client.get("/healthz")

    assert response.json() == {"status": "ok"}
    assert "no-store" in response["Cache-Control"]


def test_health_answers_by_plain_http_where_all_else_is_sent_to_https(client, settings):
    settings.SECURE_SSL_REDIRECT = True

    assert client.get("/accounts/login/").status_code == 301
    assert client.get("/healthz").status_code == 200


def test_health_answers_under_a_host_that_the_site_does_not_have(client, settings):
    settings.ALLOWED_HOSTS = ["assay.example.org"]

    assert client.get("/accounts/login/", headers={"host": "10.0.0.7:8000"}).status_code == 400
    assert client.get("/healthz", headers={"host": "10.0.0.7:8000"}).status_code == 200


def test_health_is_only_read(client):
    assert client.head("/healthz").status_code == 200
    assert client.post("/healthz").status_code == 405


@pytest.mark.parametrize("error", [DatabaseError("gone"), InterfaceError("already closed")])
def test_health_says_when_the_database_is_gone(client, monkeypatch, error):
    class Broken:
        def cursor(self):
            raise error

    monkeypatch.setattr(health, "connection", Broken())

    assert client.get("/healthz").status_code == 503
