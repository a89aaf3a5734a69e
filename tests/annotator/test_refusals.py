"""Lost races and a database that does not answer: 503 with Retry-After for everybody."""

import pytest
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import DatabaseError, OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from rest_framework.test import APIClient

from labeling.db.sql import LostRace
from labeling.web import problems, tokens

JSON, PROBLEM = "application/json", "application/problem+json"


@pytest.fixture
def clients(alice):
    """A session and a token; neither re-raises what its server answers with 500."""
    session = Client(raise_request_exception=False)
    session.force_login(alice)
    api = APIClient(raise_request_exception=False)
    _, secret = tokens.create_token(alice)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return session, api


@pytest.fixture
def unreachable(clients):
    def refuse(*_):
        raise OperationalError("connection refused")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseWrapper, "_cursor", refuse)
        yield


def check(response, media_type):
    assert response.status_code == 503
    assert response["Content-Type"].startswith(media_type)
    assert int(response["Retry-After"]) > 0


@pytest.mark.parametrize("address", ["/api/v1/me/", "/api/v1/campaigns/", "/api/v1/seats/x/image/"])
def test_an_unreachable_database_is_a_problem_for_programs(clients, unreachable, address):
    for client in clients:
        response = client.get(address)

        check(response, PROBLEM)
        assert response.json()["code"] == "unavailable"


@pytest.mark.parametrize("address", ["/", "/campaigns/", "/campaigns/coots/label/", "/admin/"])
def test_an_unreachable_database_is_a_page_for_people(clients, unreachable, address):
    session, _ = clients

    page = session.get(address)
    script = session.get(address, headers={"Accept": JSON})

    check(page, "text/html")
    assert b"The database does not answer." in page.content
    check(script, JSON)


def test_logging_in_without_a_database_is_a_page_too(db, unreachable):
    response = Client(raise_request_exception=False).post(
        "/accounts/login/", {"login": "alice", "password": "x"}
    )

    check(response, "text/html")


@pytest.mark.parametrize(("address", "media_type"), [("/", "text/html"), ("/api/v1/me/", PROBLEM)])
def test_a_fault_in_a_middleware_is_answered_too(clients, monkeypatch, address, media_type):
    def refuse(*_):
        raise OperationalError("connection lost")

    monkeypatch.setattr(SessionMiddleware, "process_response", refuse)

    check(clients[0].get(address), media_type)


def test_a_lost_race_is_answered_as_a_wait(bob, coots, monkeypatch):
    def lose(*_, **__):
        raise LostRace

    client = APIClient()
    client.force_authenticate(bob)
    client.force_login(bob)
    monkeypatch.setattr("labeling.quality.qualifying.next_page", lose)

    api = client.post("/api/v1/campaigns/coots/seats/", {})
    script = client.post("/campaigns/coots/label/page/", {"user": bob.pk, "held": [], "known": []})

    check(api, PROBLEM)
    check(script, JSON)
    assert api.json()["code"] == script.json()["code"] == "busy"


def test_a_statement_of_ours_that_is_wrong_is_no_wait(db):
    with pytest.raises(DatabaseError) as caught, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM no_such_table")

    assert problems.as_unavailable(caught.value) is None
