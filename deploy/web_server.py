#!/usr/bin/env python
"""Serves the pages: one web process of deploy/serve.py, by waitress.

    python deploy/web_server.py SOCKET [--threads 4]

SOCKET is the number of a listening socket that this process inherits and may share with others like
it. waitress reads a whole request, header and body, before a thread takes it up, and sends what a
view answered while that thread works on: a slow client holds a connection and no thread. A body of
more than 512 KiB waits in an unnamed file of the folder for temporary files (TMPDIR).
"""

import argparse
import logging
import resource
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

# The program stands in deploy/, the project above it.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# Each may need a file beside its socket; the process needs some for itself.
CONNECTIONS = 2000
FILES = 2 * CONNECTIONS + 200
# Without a byte for so long a connection is closed.
IDLE_SECONDS = 60
MAX_HEADER_BYTES = 64 * 1024
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


def end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


def main() -> None:
    parser = argparse.ArgumentParser(description="One web process on an inherited socket.")
    parser.add_argument("socket", type=int, help="number of a listening socket")
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, end)

    from django.conf import settings
    from waitress import serve

    from annotator.wsgi import application

    # It warns whenever a request waits for a thread, as those of one page do.
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    serve(
        application,
        sockets=[socket.socket(fileno=options.socket)],
        threads=options.threads,
        connection_limit=connections(),
        channel_timeout=IDLE_SECONDS,
        max_request_header_size=MAX_HEADER_BYTES,
        max_request_body_size=settings.ASSAY_MAX_UPLOAD_BYTES + FORM_BYTES,
        # select() ends at 1,024 files.
        asyncore_use_poll=True,
        # The settings say which proxies are believed.
        clear_untrusted_proxy_headers=False,
        ident="",
    )


if __name__ == "__main__":
    main()
