"""Whether a site answers while clients send slowly, by itself or behind deploy/nginx.conf.

Each server runs the site on loopback with 2 processes and a throwaway SQLite database. N sockets
are opened to it; half send a header and half a body, a byte a second each. Meanwhile somebody asks
for a page 20 times, each time on a new connection, and gives up after 3 failures.
"""

import contextlib
import http.client
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PROCESSES, VISITS = 2, 20
FAILURES = 3
PATIENCE_SECONDS = 5.0
START_SECONDS = 90.0
# No socket is held longer, whatever happens.
HELD_SECONDS = 120.0
PAGE = "/accounts/login/"
HEADER = b"POST /accounts/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n"


class Outcome(NamedTuple):
    """Answers to somebody who asks while others are slow.

    open: the slow sockets that the server had not closed by then.
    """

    answered: int
    requests: int
    median_ms: float
    worst_ms: float
    open: int


class Site:
    """A folder, its processes, and the port that people come to."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self.stack = stack
        self.bound = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024))
        self.port: int = self.bound.getsockname()[1]
        self.environment = os.environ | {
            "ASSAY_DATA": str(folder),
            "DATABASE_URL": f"sqlite:///{folder / 'bench.sqlite3'}",
            "CELERY_BROKER_URL": "filesystem://",
            "SECRET_KEY": "of the benchmark alone",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "PYTHONWARNINGS": "ignore:No directory at:UserWarning",
            "LOG_LEVEL": "ERROR",
            "OMP_NUM_THREADS": "1",
        }

    def run(self, *command: str) -> None:
        """Starts a process that ends with the site; it inherits the socket."""
        with open(self.folder / "log.txt", "ab") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                pass_fds=(self.bound.fileno(),),
            )
        self.stack.callback(_end, process)

    def migrate(self) -> None:
        command = [sys.executable, "manage.py", "migrate", "--no-input", "-v0"]
        subprocess.run(command, cwd=ROOT, env=self.environment, check=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def gunicorn(site: Site) -> None:
    where = ("--bind", f"fd://{site.bound.fileno()}", "--workers", str(PROCESSES))
    command = (sys.executable, "-m", "gunicorn", "annotator.wsgi", "--no-control-socket", *where)
    site.run(*command, "--timeout", "60", "--graceful-timeout", "5", "--threads", "4")


def waitress(site: Site) -> None:
    for _ in range(PROCESSES):
        site.run(sys.executable, "deploy/web_server.py", str(site.bound.fileno()))


def nginx(site: Site) -> None:
    gunicorn(site)
    with socket.create_server(("127.0.0.1", 0)) as spare:
        front = int(spare.getsockname()[1])
    path = site.folder / "nginx.conf"
    path.write_text(nginx_configuration(site.folder, front, site.port))
    site.run("nginx", "-c", str(path), "-e", str(site.folder / "log.txt"))
    site.port = front


def nginx_configuration(folder: Path, port: int, upstream: int) -> str:
    """deploy/nginx.conf as a whole configuration for this folder: without TLS, on other ports."""
    site = (ROOT / "deploy" / "nginx.conf").read_text()
    for pattern, text in [
        (r"listen 80;", "listen 127.0.0.1:1;"),
        (r"listen 443 ssl;", f"listen 127.0.0.1:{port};"),
        (r"\n *ssl_certificate[^\n]*", ""),
        (r"client_body_temp_path [^;]*;", f"client_body_temp_path {folder}/body;"),
        (r"proxy_pass [^;]*;", f"proxy_pass http://127.0.0.1:{upstream};"),
    ]:
        site, count = re.subn(pattern, text, site)
        assert count, f"deploy/nginx.conf has no {pattern}"
    # The server that only sends people to TLS.
    site = site[site.index("server {", site.index("server {") + 1) :]
    folders = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("proxy", "fastcgi", "uwsgi", "scgi")
    )
    return (
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/log.txt;"
        + ("user root;" if os.getuid() == 0 else "")
        + "events { worker_connections 2048; }"
        + f"http {{ access_log off; {folders}\n{site}\n}}"
    )


SERVERS: dict[str, Callable[[Site], None]] = {"waitress": waitress, "nginx, gunicorn": nginx}


def is_here(server: str) -> bool:
    return server != "nginx, gunicorn" or shutil.which("nginx") is not None


@contextlib.contextmanager
def serving(server: str) -> Iterator[int]:
    """The port of a site that answers."""
    # nginx's own user, where it changes to one, must reach its folders.
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-"))
    try:
        with contextlib.ExitStack() as stack:
            site = Site(folder, stack)
            site.migrate()
            SERVERS[server](site)
            end = time.monotonic() + START_SECONDS
            while _ask(site.port, "/healthz") is None:
                if time.monotonic() > end:
                    raise TimeoutError((folder / "log.txt").read_text()[-2000:])
                time.sleep(0.2)
            yield site.port
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def slow_clients(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Sockets on loopback that send a byte a second each, half of them headers and half bodies."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count + 200:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, count + 200), hard))
    clients: list[socket.socket] = []
    over = threading.Event()

    def drip() -> None:
        end = time.monotonic() + HELD_SECONDS
        while not over.wait(1) and time.monotonic() < end:
            for client in clients:
                with contextlib.suppress(OSError):
                    client.send(b"x")

    thread = threading.Thread(target=drip, daemon=True)
    try:
        for number in range(count):
            client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
            client.setblocking(False)
            client.send(HEADER + (b"\r\n" if number % 2 else b"X-Slow: "))
            clients.append(client)
        thread.start()
        # Time for the server to take them all up.
        time.sleep(2)
        yield clients
    finally:
        over.set()
        if thread.ident:
            thread.join()
        for client in clients:
            client.close()


def measure(port: int, count: int, patience: float) -> Outcome:
    with slow_clients(port, count) as clients:
        times = _visit(port, patience)
        still = sum(_is_open(client) for client in clients)
    answered = [seconds * 1000 for seconds in times if seconds is not None]
    median = statistics.median(answered) if answered else float("nan")
    return Outcome(len(answered), VISITS, median, max(answered, default=float("nan")), still)


def _visit(port: int, patience: float) -> list[float | None]:
    times: list[float | None] = []
    while len(times) < VISITS and times.count(None) < FAILURES:
        times.append(_ask(port, PAGE, patience))
    return times


def _ask(port: int, path: str, patience: float = PATIENCE_SECONDS) -> float | None:
    """Seconds until the page was there, or None."""
    start = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return time.monotonic() - start if response.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _is_open(client: socket.socket) -> bool:
    try:
        return client.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False
