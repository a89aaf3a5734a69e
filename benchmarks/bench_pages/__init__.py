"""Pages of 8 kB that PostgreSQL reads for what researchers and jobs look at, at 100,000 questions
and at 1,000,000.

`python -m benchmarks.bench_pages [--questions SMALL LARGE]`. Every SELECT of a page is run once
more under EXPLAIN (ANALYZE, BUFFERS); the number is the sum over its statements of shared buffers
hit or read, sessions and rights included. Each size has a throwaway database: a quarter of the
questions are open, two thirds are settled by one answer each, all from one person; 200 are gold.
"""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from benchmarks.bench_assigning import POSTGRES

ROOT = Path(__file__).resolve().parents[2]
MOST_PAGES = 200
MOST_RATIO = 1.2


def main(sizes: tuple[int, int] = (100_000, 1_000_000)) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}; none without a server."""
    import psycopg

    try:
        server = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        print(f"no PostgreSQL server: {error}", file=sys.stderr)
        return []
    with server:
        small, large = (_in_own_database(server, size) for size in sizes)
    return [_row(name, small[name], large[name]) for name in small]


def _in_own_database(server: Any, questions: int) -> dict[str, Any]:
    """What `measure` returns, from a process whose settings name a new database."""
    name = f"assay_bench_{uuid.uuid4().hex[:12]}"
    server.execute(f'CREATE DATABASE "{name}"')
    try:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_pages", "--measure", str(questions)],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": f"{POSTGRES.rsplit('/', 1)[0]}/{name}"},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return json.loads(done.stdout.splitlines()[-1])
    finally:
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _row(name: str, small: dict[str, Any], large: dict[str, Any]) -> dict[str, Any]:
    ratio = large["pages"] / small["pages"]
    scanned = f"; reads whole: {', '.join(large['scanned'])}" if large["scanned"] else ""
    is_few = large["pages"] <= MOST_PAGES and ratio <= MOST_RATIO and not large["scanned"]
    target = f"≤ {MOST_PAGES} pages, ≤ {MOST_RATIO} times, no table whole"
    return {
        "name": name,
        "target": target if large["held"] else "none",
        "measured": (
            f"{small['pages']:,} and {large['pages']:,} pages, {ratio:.2f} times, "
            f"{large['ms']:.1f} ms{scanned}"
        ),
        "ok": is_few if large["held"] else None,
    }
