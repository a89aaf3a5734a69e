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
from pathlib import Path
from typing import Any

from benchmarks import own_process, sized

ROOT = Path(__file__).resolve().parents[2]
MOST_PAGES = 200
MOST_RATIO = 1.2


def main(
    sizes: tuple[int, int] = sized((100_000, 1_000_000), (3_000, 6_000)),
) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}; none without a server."""
    small, large = map(_in_own_process, sizes)
    return [_row(name, small[name], large[name]) for name in small]


def _in_own_process(questions: int) -> dict[str, Any]:
    """What `measure` returns, from a process whose settings name a new database; else nothing."""
    with own_process.postgres() as url:
        if url is None:
            return {}
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.bench_pages", "--measure", str(questions)],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": url},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
        return json.loads(done.stdout.splitlines()[-1])


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
