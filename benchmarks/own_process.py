"""The steps of a benchmark, each in a process of its own, with memory and database of its own."""

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
POSTGRES = os.environ.get("ASSAY_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")
Action = Callable[[Any], Any]


def run(module: str, folder: str, action: str, about: Any) -> Any:
    """What an action of benchmarks/<module>.py returns. Settings name the folder's database."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", "--action", action, json.dumps(about)],
        cwd=ROOT,
        env={
            **os.environ,
            "DATABASE_URL": f"sqlite:///{folder}/bench.sqlite3",
            "ASSAY_DATA": folder,
            "LOG_LEVEL": "ERROR",
        },
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@contextlib.contextmanager
def postgres() -> Iterator[str | None]:
    """The URL of a new database, dropped in the end; None, with a line on stderr, without a
    server."""
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


def peak_mib() -> int:
    """The most memory this process has held so far. What getrusage says begins with the memory of
    whoever started the process."""
    with contextlib.suppress(OSError), open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def add_images(dataset: Any, count: int, size: tuple[int, int]) -> None:
    """Rows of images 00000.jpg, 00001.jpg, …, without files, in a process with Django set up."""
    from labeling.models import Image

    width, height = size
    Image.objects.bulk_create(
        (
            Image(
                dataset=dataset,
                name=f"{n:05}.jpg",
                sha256=f"{n:064x}",
                file=f"images/{n}.jpg",
                media_type="image/jpeg",
                bytes=1,
                width=width,
                height=height,
            )
            for n in range(count)
        ),
        batch_size=500,
    )


def main(
    description: str | None,
    actions: Mapping[str, Action],
    rows: Callable[[int], list[dict[str, Any]]],
    objects: int,
) -> None:
    """The rows as a table; with --action, what that action returns as a line of JSON.

    objects: how many, unless --objects says so.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--objects", type=int, default=objects)
    parser.add_argument("--action", nargs=2, metavar=("ACTION", "ABOUT"))
    options = parser.parse_args()
    if options.action is None:
        from benchmarks.__main__ import render

        print(render(rows(options.objects)))
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotator.settings")
    import django

    django.setup()
    action, about = options.action
    print(json.dumps(actions[action](json.loads(about))))
