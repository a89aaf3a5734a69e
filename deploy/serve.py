#!/usr/bin/env python
"""Serves Assay from one terminal: web, worker and beat, kept alive and ended together.

    python deploy/serve.py [--demo] [--host 127.0.0.1] [--port 8000] [--data var]

Migrates the database, collects static files that changed, loads the demonstration with `--demo`,
starts web processes, a Celery worker and Celery beat, and prints the address once the site answers.
A process that dies is restarted; if it keeps dying, all of them end. Ctrl-C, SIGTERM and SIGHUP end
all processes; on Linux, so does `kill -9` of this process. Needs only the standard library.
"""

import argparse
import contextlib
import ctypes
import fcntl
import http.client
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import IO, TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 90
END_SECONDS = 10
# A process that died is restarted, unless it has died MAX_DEATHS times within this many seconds.
MAX_DEATHS = 3
DEATHS_WITHIN_SECONDS = 60
PR_SET_PDEATHSIG = 1
# Settings that the demonstration must not inherit from a shell or a .env of a real site.
DEMO_SETTINGS = {
    "CELERY_BROKER_URL": "filesystem://",
    "DEBUG": "0",
    "ASSAY_HTTPS": "0",
    "ALLOWED_HOSTS": "127.0.0.1,localhost,[::1]",
}


class Stop(Exception):
    """The end of serving. The message is for the user; it is empty if the user asked for it."""

    def __init__(self, message: str = "", code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Supervisor:
    """The processes that were started. end() ends all of them."""

    def __init__(self, logs: Path, env: dict[str, str]) -> None:
        self.logs = logs
        self.env = env
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        self.staying: dict[str, tuple[tuple[str, ...], tuple[int, ...]]] = {}
        self.deaths: dict[str, list[float]] = {}
        self.asked: str | None = None

    def listen_to_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = signal.Signals(number).name

    def run(self, *command: str) -> None:
        """Run a setup command until it ends. Raises Stop with its output if it fails."""
        with open(self.logs / "setup.log", "ab") as log:
            start = log.tell()
            self._start("setup", command, log)
            code = self._wait_for(lambda: self.children["setup"].poll())
        del self.children["setup"]
        if code:
            output = _tail(self.logs / "setup.log", start)
            raise Stop(f"`{' '.join(command)}` failed:\n{output}")

    def start(self, name: str, *command: str, pass_fds: tuple[int, ...] = ()) -> None:
        """Start a process that must keep running; its output goes to NAME.log in the log folder."""
        self.staying[name] = (command, pass_fds)
        with open(self.logs / f"{name}.log", "ab") as log:
            self._start(name, command, log, pass_fds)

    def _start(
        self, name: str, command: tuple[str, ...], log: IO[bytes], pass_fds: tuple[int, ...] = ()
    ) -> None:
        # Each child has its own session. So Ctrl-C reaches only this process, which then ends the
        # children in order, and a child can be killed together with all processes that it forked.
        self.children[name] = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=pass_fds,
            preexec_fn=die_with_parent(),
        )

    def watch(self) -> None:
        """Watch the processes until Stop is raised: after a signal, or if a process keeps dying."""
        self._wait_for(lambda: None)

    def until_answers(self, host: str, port: int, path: str) -> None:
        """Wait until the page answers 200. Raises Stop after START_SECONDS."""
        end = time.monotonic() + START_SECONDS

        def answers() -> bool | None:
            if time.monotonic() > end:
                raise Stop(f"{path} did not answer 200 within {START_SECONDS} s; see {self.logs}")
            return True if _status(host, port, path) == 200 else None

        self._wait_for(answers)

    def _wait_for(self, look: Callable[[], T | None]) -> T:
        while True:
            if self.asked:
                raise Stop(code=0)
            result = look()
            if result is not None:
                return result
            for name in self.staying:
                if self.children[name].poll() is not None:
                    self._start_again(name)
            time.sleep(0.1)

    def _start_again(self, name: str) -> None:
        """Restart a process that died. Raises Stop with its output if it has died too often."""
        child = self.children[name]
        # Processes that it forked may still be running.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        now = time.monotonic()
        recent = [at for at in self.deaths.get(name, []) if now - at < DEATHS_WITHIN_SECONDS]
        self.deaths[name] = [*recent, now]
        if len(self.deaths[name]) >= MAX_DEATHS:
            output = _tail(self.logs / f"{name}.log")
            raise Stop(f"{name} keeps dying (exit {child.returncode}). It said:\n{output}")
        say(f"{name} died (exit {child.returncode}); starting it again.")
        command, pass_fds = self.staying[name]
        self.start(name, *command, pass_fds=pass_fds)

    def end(self) -> None:
        """End every process that was started here, and all processes that they forked."""
        for child in self.children.values():
            # SIGTERM goes only to the leader, so that web processes and Celery shut down in order.
            child.terminate()
        deadline = time.monotonic() + END_SECONDS
        for child in self.children.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(max(0.0, deadline - time.monotonic()))
        for child in self.children.values():
            # The child's id is also the id of its group (start_new_session), which may outlive the
            # child.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _status(host: str, port: int, path: str) -> int | None:
    """Return the HTTP status of a page of the site; None if nothing answers."""
    connection = http.client.HTTPConnection(host, port, timeout=2)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def die_with_parent() -> Callable[[], None] | None:
    """Return a function for a child to call before exec; None if the system is not Linux.

    The child then gets SIGTERM when this process dies.
    """
    if not sys.platform.startswith("linux"):
        return None
    # Loaded before the fork: between fork and exec little is safe.
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_the_kernel() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return ask_the_kernel


def end_with_parent() -> None:
    """Request SIGTERM for this process when its parent (make) dies; only on Linux."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _tail(path: Path, start: int = 0, lines: int = 20) -> str:
    with open(path, "rb") as file:
        file.seek(max(start, path.stat().st_size - 16_384))
        return "\n".join(file.read().decode("utf-8", "replace").splitlines()[-lines:])


@contextlib.contextmanager
def only_one(data: Path) -> Iterator[None]:
    """Lock the folder for this process. Raises Stop if another process serves from it."""
    with open(data / "serve.lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Stop(
                f"Assay is already being served from {data}. Use that one, end it, or give this "
                "one another folder (ASSAY_DATA=…)."
            ) from None
        yield


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket that web processes inherit, so that nobody takes the port meanwhile."""
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        # Until one of them listens, two sockets that reuse the address could both be bound.
        bound.listen(1024)
    except OSError as error:
        bound.close()
        raise Stop(
            f"Port {port} of {host} cannot be used ({error.strerror}): something else may be "
            f"listening there. Try another one: make demo PORT={port + 1}"
        ) from None
    return bound


def secret_key(data: Path) -> str:
    """Return the folder's secret key: random, made once, readable only by its owner."""
    path = data / "secret-key"
    with contextlib.suppress(FileExistsError):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_urlsafe(48))
    key = path.read_text().strip()
    if not key:
        raise Stop(f"{path} is empty: delete it and start again.")
    return key


def environment(data: Path, demo: bool) -> dict[str, str]:
    """Return the environment of the processes."""
    env = dict(os.environ)
    if demo:
        env.update(DEMO_SETTINGS, DATABASE_URL=f"sqlite:///{data / 'assay.sqlite3'}")
        env["SECRET_KEY"] = secret_key(data)
    env.update(ASSAY_DATA=str(data), DJANGO_SETTINGS_MODULE="annotator.settings")
    # If the code's folder is read-only, whitenoise warns that there are no collected files.
    env.update(PYTHONUNBUFFERED="1", PYTHONWARNINGS="ignore:No directory at:UserWarning")
    # Several processes share few cores: more BLAS threads would slow them down.
    env.setdefault("OMP_NUM_THREADS", "1")
    # The folder in which web processes add up their metrics (annotator/metrics.py).
    env["PROMETHEUS_MULTIPROC_DIR"] = str(data / "metrics")
    return env


def serve(options: argparse.Namespace) -> None:
    data: Path = options.data.resolve()
    logs = data / "log"
    logs.mkdir(parents=True, exist_ok=True)
    with only_one(data), listen(options.host, options.port) as bound:
        # Remove the metrics of earlier processes; they would be added to the new ones.
        shutil.rmtree(data / "metrics", ignore_errors=True)
        (data / "metrics").mkdir()
        site = Supervisor(logs, environment(data, options.demo))
        site.listen_to_signals()
        try:
            prepare(site, options.demo)
            start(site, bound, options.workers)
            host, port = bound.getsockname()[:2]
            url = f"http://{host}:{port}"
            site.until_answers(host, port, "/healthz")
            announce(data, url, options.demo)
            site.watch()
        finally:
            if site.asked:
                say("\nEnding …")
            site.end()


def prepare(site: Supervisor, demo: bool) -> None:
    say("Bringing the database up to date …")
    site.run(sys.executable, "manage.py", "migrate", "--no-input")
    collect(site)
    if demo:
        say("Loading the demonstration …")
        site.run(sys.executable, "manage.py", "demo")


def collect(site: Supervisor) -> None:
    """Run collectstatic if static/ is newer than the collected files, as at the first start.

    Without collected files the site works, but browsers request each file again after a minute.
    """
    if not os.access(ROOT, os.W_OK):
        return
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        # Another site may be started from the same code.
        fcntl.flock(folder, fcntl.LOCK_EX)
        if not is_collected(ROOT):
            say("Collecting static files …")
            site.run(sys.executable, "manage.py", "collectstatic", "--no-input")
    finally:
        os.close(folder)


def is_collected(root: Path) -> bool:
    manifest = root / "staticfiles" / "staticfiles.json"
    files = [root / "requirements.lock", *(root / "static").rglob("*")]
    changed = max(file.stat().st_mtime for file in files)
    return manifest.exists() and manifest.stat().st_mtime >= changed


def start(site: Supervisor, bound: socket.socket, workers: int) -> None:
    celery = (sys.executable, "-m", "celery", "-A", "annotator")
    # A single worker has no other workers to talk to.
    alone = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    for number in range(1, workers + 1):
        web = (sys.executable, "deploy/web_server.py", str(bound.fileno()))
        site.start(f"web-{number}", *web, pass_fds=(bound.fileno(),))
    site.start("worker", *celery, "worker", "--concurrency", "1", "--loglevel", "INFO", *alone)
    site.start("beat", *celery, "beat", "--loglevel", "WARNING", "--pidfile=")


def announce(data: Path, url: str, demo: bool) -> None:
    accounts = data / "demo-accounts.txt"
    say("")
    if demo and accounts.exists():
        say(accounts.read_text())
    say(f"Assay is at {url}")
    say(f"Logs are in {data / 'log'}. Ctrl-C ends everything.")


def say(line: str) -> None:
    # The terminal may be closed (SIGHUP); the processes must still be ended in order.
    with contextlib.suppress(OSError):
        print(line, flush=True)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Web, worker and beat in one terminal.")
    parser.add_argument("--demo", action="store_true", help="load the demonstration first")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="%(default)s; 0 takes a free one")
    parser.add_argument("--workers", type=int, default=2, help="web processes (%(default)s)")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("ASSAY_DATA") or ROOT / "var"),
        help="folder of the database and all files (ASSAY_DATA, else var/)",
    )
    parser.add_argument("--end-with-parent", action="store_true", help="end when make ends")
    options = parser.parse_args(arguments)
    if not 0 <= options.port <= 65535:
        parser.error(f"port is {options.port}, expected 0 to 65535")
    if options.demo and options.host not in {"127.0.0.1", "localhost"}:
        parser.error("the demonstration is served on this machine alone (127.0.0.1)")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    # Only this user may read what is written below the data folder.
    os.umask(0o077)
    if options.end_with_parent:
        end_with_parent()
    try:
        serve(options)
    except Stop as stop:
        if str(stop):
            print(f"\n{stop}", file=sys.stderr)
        else:
            say("Ended: web, worker and beat are gone; what was answered is kept.")
        return stop.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
