"""The web process of deploy/serve.py: clients that read nothing or send slowly, HEAD, timeouts."""

import contextlib
import http.client
import socket
import time
from collections.abc import Iterator

import psycopg
import pytest

from deploy import web_server
from tests.conftest import skip_or_fail
from tests.deploy import slow_clients

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with slow_clients.serving("waitress") as port:
        yield port


def ask(port: int, path: str) -> int:
    """The status of a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status


def test_clients_that_read_nothing_keep_nobody_from_the_site(port):
    # A large answer that each process has at hand.
    for _ in range(6):
        assert ask(port, "/api/schema/") == 200
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", port))
            client.sendall(b"GET /api/schema/ HTTP/1.1\r\nHost:[::1]\r\n\r\n" * 190)
        for _ in range(40):
            assert ask(port, "/accounts/login/") == 200


@pytest.mark.parametrize("server", ["waitress", "nginx, gunicorn"])
def test_two_hundred_slow_clients_keep_nobody_from_the_site(server, request):
    """A byte a second each, to the site alone or behind the proxy."""
    if not slow_clients.is_here(server):
        skip_or_fail("no nginx")
    with contextlib.ExitStack() as stack:
        if server == "waitress":
            port = request.getfixturevalue("port")
        else:
            port = stack.enter_context(slow_clients.serving(server))
        # Each process loads half the site at its first page.
        for _ in range(6):
            assert ask(port, slow_clients.PAGE) == 200

        # Patient, since the machine may be busy: a thread that is held stays held for two minutes.
        outcome = slow_clients.measure(port, 200, patience=40)

    assert outcome.answered == slow_clients.VISITS


def test_of_requests_sent_ahead_one_is_answered_and_the_connection_closed(port):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"GET /accounts/login/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        answered = b"".join(iter(lambda: client.recv(65536), b""))

    assert answered.count(b"HTTP/1.1 200 OK") == 1
    assert b"Connection: close" in answered


@pytest.mark.parametrize("path", ["/healthz", "/accounts/login/", "/static/css/assay.css"])
def test_head_has_the_headers_alone(port, path):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(
            f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        answered = b"".join(iter(lambda: client.recv(65536), b""))

    head, _, body = answered.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert b"Content-Length" in head
    assert body == b""


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
    settings = fresh_settings({"EMAIL_URL": "smtp://user:password@mail.example.org:587"})

    assert settings.EMAIL_TIMEOUT == 10


def test_the_pages_are_loaded_before_the_process_accepts(monkeypatch):
    done: list[str] = []
    monkeypatch.setattr("sys.argv", ["web_server.py", "0"])
    monkeypatch.setattr(web_server.signal, "signal", lambda *_: None)
    monkeypatch.setattr(web_server.socket, "socket", lambda **_: None)
    monkeypatch.setattr("annotator.checks.refuse_insecure_key", lambda: None)
    monkeypatch.setattr("annotator.health.load_pages", lambda: done.append("load"))

    class Server:
        def run(self):
            done.append("accept")

    monkeypatch.setattr(web_server, "create_server", lambda *_, **__: Server())
    with contextlib.suppress(AttributeError):
        web_server.main()

    assert done[:2] == ["load", "accept"]
