"""Steps of a benchmark, each in a new process, with its own memory and database.

`python -m benchmarks.own_process MODULE ACTION ABOUT`: set up Django, call a function of
benchmarks/MODULE.py with what is read from ABOUT, and print what it returns; both are JSON.
"""

import contextlib
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
POSTGRES = os.environ.get("ASSAY_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")


def environment(folder: str, url: str | None = None) -> dict[str, str]:
    """Return the variables of a site with this data folder and database."""
    known = {"ASSAY_DATA": folder, "LOG_LEVEL": "ERROR"}
    return {**os.environ, **known, "DATABASE_URL": url or f"sqlite:///{folder}/bench.sqlite3"}


def start(
    module: str, folder: str, action: str, argument: Any = None, url: str | None = None, **more: str
) -> subprocess.Popen[str]:
    """Start an action of benchmarks/<module>.py.

    url: its database; None: one in the folder. more: variables of its environment.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.own_process", module, action, json.dumps(argument)],
        cwd=ROOT,
        env=environment(folder, url) | more,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def result(process: subprocess.Popen[str]) -> Any:
    """Wait until an action ends; return its result."""
    out, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{process.args} ended with {process.returncode}")
    return json.loads(out.splitlines()[-1])


def run(module: str, folder: str, action: str, argument: Any = None, url: str | None = None) -> Any:
    """Run an action of benchmarks/<module>.py; return its result."""
    return result(start(module, folder, action, argument, url))


def on_each(
    databases: tuple[str, ...], rows: Callable[[str, str | None], list[Any]]
) -> list[dict[str, Any]]:
    """Return the rows for "sqlite" and "postgres". Each gets a folder and a URL (None: SQLite)."""
    results = []
    for name in databases:
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            if name == "sqlite":
                results += rows(folder, None)
                continue
            with postgres() as url:
                results += rows(folder, url) if url else []
    return results


@contextlib.contextmanager
def postgres() -> Iterator[str | None]:
    """Yield the URL of a new database; None, with a line on stderr, without a server."""
    import psycopg

    try:
        server = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        print(f"no PostgreSQL server: {error}", file=sys.stderr)
        yield None
        return
    name = f"assay_bench_{uuid.uuid4().hex[:12]}"
    with server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            yield f"{POSTGRES.rsplit('/', 1)[0]}/{name}"
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def find_chromium() -> str | None:
    """Return a Chromium's path; None, with a line on stderr, without one."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if path is None:
        print("no Chromium: pages are not measured", file=sys.stderr)
    return path


def peak_mib() -> int:
    """Return the most memory that this process has held so far.

    getrusage's value would start with the memory of the parent process.
    """
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    import django

    django.setup()
    module, action, argument_json = sys.argv[1:]
    called = getattr(importlib.import_module(f"benchmarks.{module}"), action)
    print(json.dumps(called(json.loads(argument_json))))
