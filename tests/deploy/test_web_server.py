"""The web process of deploy/serve.py: clients that do not read, and answers to HEAD."""

import contextlib
import http.client
import socket
from collections.abc import Iterator

import pytest

from benchmarks import bench_slow_clients

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with bench_slow_clients.serving("waitress") as port:
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
