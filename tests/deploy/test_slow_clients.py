"""Clients that send a byte a second keep nobody from the site, alone or behind the proxy."""

import socket
import time

import psycopg
import pytest

from benchmarks import bench_slow_clients
from deploy import web_server
from tests.conftest import skip_or_fail


@pytest.mark.timeout(400)
@pytest.mark.parametrize("server", ["waitress", "nginx, gunicorn"])
def test_two_hundred_slow_clients_keep_nobody_from_the_site(server):
    if not bench_slow_clients.is_here(server):
        skip_or_fail("no nginx")

    # Patient, since the machine may be busy: a thread that is held stays held for two minutes.
    [outcome] = bench_slow_clients.measure(server, (200,), patience=40)

    assert outcome.answered == bench_slow_clients.VISITS


def test_a_web_process_holds_as_many_connections_as_it_may_open_files(monkeypatch):
    limits = [(1024, 4096)]
    monkeypatch.setattr(web_server.resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(web_server.resource, "setrlimit", lambda _, new: limits.append(new))

    assert web_server.connections() == (4096 - 200) // 2
    assert limits[-1] == (4096, 4096)

    limits.append((1024, web_server.resource.RLIM_INFINITY))
    assert web_server.connections() == web_server.CONNECTIONS


def test_a_database_that_accepts_and_is_silent_is_given_up(fresh_settings):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        url = f"postgres://assay@127.0.0.1:{port}/assay"
        options = fresh_settings({"DATABASE_URL": url}).DATABASES["default"]["OPTIONS"]

        start = time.monotonic()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(f"host=127.0.0.1 port={port} user=assay", **options)

    assert time.monotonic() - start < 20


def test_the_address_of_the_database_may_name_another_timeout(fresh_settings):
    url = "postgres://assay@127.0.0.1/assay?connect_timeout=2"

    options = fresh_settings({"DATABASE_URL": url}).DATABASES["default"]["OPTIONS"]

    assert int(options["connect_timeout"]) == 2


def test_the_mail_server_has_a_timeout(fresh_settings):
    found = fresh_settings({"EMAIL_URL": "smtp://user:password@mail.example.org:587"})

    assert found.EMAIL_TIMEOUT == 10
