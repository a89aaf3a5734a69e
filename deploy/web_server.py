#!/usr/bin/env python
"""Serves the pages: one web process of deploy/serve.py, by waitress.

    python deploy/web_server.py SOCKET

SOCKET is the number of a listening socket that this process inherits and may share with others like
it. waitress reads a whole request, header and body, before a thread takes it up, and sends what a
view answered while that thread works on: a client that sends or reads slowly holds a connection and
no thread. A body of more than 512 KiB, and what waits to be read of more than 1 MiB, lie in unnamed
files of the folder for temporary files (TMPDIR).
"""

import argparse
import logging
import resource
import signal
import socket
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from waitress import create_server
from waitress.channel import HTTPChannel

# The program stands in deploy/, the project above it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

THREADS = 4
# Each may need a file beside its socket; the process needs some for itself.
CONNECTIONS = 2000
FILES = 2 * CONNECTIONS + 200
# Without a byte for so long a connection is closed.
IDLE_SECONDS = 60
MAX_HEADER_BYTES = 64 * 1024
# Of answers that wait to be read, before the thread that made them waits, too: never.
UNREAD_BYTES = 2**62
# What a form adds around a file.
FORM_BYTES = 1024 * 1024


def connections() -> int:
    """How many connections the limit on open files allows, after raising it as far as allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    available = FILES if soft == resource.RLIM_INFINITY else min(FILES, soft)
    return max(50, (available - 200) // 2)


class Channel(HTTPChannel):
    """A connection that answers one request at a time: of several that were sent ahead, which
    browsers and proxies do not do, the first alone, or their answers would fill the disk."""

    def service(self) -> None:
        with self.requests_lock:
            ahead = self.requests[1:]
            for request in ahead:
                request.close()
            del self.requests[1:]
            if ahead:
                self.requests[0].headers["CONNECTION"] = "close"
        super().service()


def head_without_body(application: Any) -> Any:
    """The WSGI application with answers to HEAD that have the length of the body and no body, which
    waitress leaves to it."""

    def answer(environ: dict[str, Any], start_response: Any) -> Any:
        if environ["REQUEST_METHOD"] != "HEAD":
            return application(environ, start_response)
        started: list[Any] = []
        body = application(environ, lambda *arguments: started.append(arguments))
        try:
            status, headers, *_ = started[0]
            if not any(name.lower() == "content-length" for name, _ in headers):
                headers = [*headers, ("Content-Length", str(sum(map(len, body))))]
        finally:
            if hasattr(body, "close"):
                body.close()
        start_response(status, headers)
        return []

    return answer


def end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description="One web process on an inherited socket.")
    parser.add_argument("socket", type=int, help="number of a listening socket")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, end)

    from django.conf import settings

    from annotator.health import load_pages
    from annotator.wsgi import application

    load_pages()
    # It warns whenever a request waits for a thread, as those of one page do.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    server = create_server(
        head_without_body(application),
        sockets=[socket.socket(fileno=options.socket)],
        threads=THREADS,
        connection_limit=connections(),
        channel_timeout=IDLE_SECONDS,
        outbuf_high_watermark=UNREAD_BYTES,
        max_request_header_size=MAX_HEADER_BYTES,
        max_request_body_size=settings.ASSAY_MAX_UPLOAD_BYTES + FORM_BYTES,
        # select() ends at 1,024 files.
        asyncore_use_poll=True,
        # The settings say which proxies are believed.
        clear_untrusted_proxy_headers=False,
        ident="",
    )
    server.channel_class = Channel
    server.run()


if __name__ == "__main__":
    main()
