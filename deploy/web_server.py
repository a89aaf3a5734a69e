#!/usr/bin/env python
"""Serves the pages: one web process of deploy/serve.py, by waitress.

    python deploy/web_server.py SOCKET

SOCKET is the number of a listening socket that this process inherits and may share with others like
it. waitress reads a whole request, header and body, before a thread handles it, and sends the
answer without waiting for that thread. So a slow client holds a connection but no thread. Bodies
over 512 KiB and unread answers over 1 MiB are kept in unnamed files in the folder for temporary
files (TMPDIR).
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

# This program is in deploy/; the project is the folder above.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

THREADS = 4
# A connection may need a file besides its socket; the process needs some files itself.
CONNECTIONS = 2000
FILES = 2 * CONNECTIONS + 200
# A connection without any traffic for this long is closed.
IDLE_SECONDS = 60
MAX_HEADER_BYTES = 64 * 1024
# Unread bytes of an answer at which the thread that makes it must wait: in effect never.
UNREAD_BYTES = 2**62
# Limit on what a form adds around a file.
FORM_BYTES = 1024 * 1024


def connections() -> int:
    """Raise the limit on open files as far as allowed; return how many connections it permits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    available = FILES if soft == resource.RLIM_INFINITY else min(FILES, soft)
    return max(50, (available - 200) // 2)


class Channel(HTTPChannel):
    """A connection that drops requests sent ahead: it answers the first one and is then closed.

    Browsers and proxies do not send requests ahead. The answers to many would fill the disk.
    """

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
    """Return the WSGI application, changed to answer HEAD with the body's length but no body.

    waitress leaves this to the application.
    """

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
    # waitress warns whenever a request waits for a thread, as the requests of one page do.
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
        # select() handles at most 1,024 files.
        asyncore_use_poll=True,
        # The settings say which proxies are trusted.
        clear_untrusted_proxy_headers=False,
        ident="",
    )
    server.channel_class = Channel
    server.run()


if __name__ == "__main__":
    main()
