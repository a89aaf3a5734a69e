"""Several processes and machines, as the tests try them: kills, a pool of connections, two sites.

`python -m benchmarks machines`. Each row is a run of tests, the long forms too; a row is missed
where one fails or cannot run here. The load through PgBouncer lasts five minutes.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks import sized

ROOT = Path(__file__).resolve().parents[1]
LOAD_SECONDS = sized(300, 10)
ROWS = (
    (
        "kill -9 of a worker, a node, the head and the command, on Ray of two nodes",
        "same bytes, what died again, a sentence in 90 s",
        ("tests/evaluation/engines/test_on_ray.py",),
    ),
    (
        "seven commands in tasks on two processes",
        "files of one run, each task once",
        (
            "tests/evaluation/engines/test_running.py",
            "tests/evaluation/classifiers/scoremaps/test_scoremap_tasks.py",
            *(
                f"tests/evaluation/management/test_{name}_tasks.py"
                for name in ("mad", "predict", "sequence", "wsol")
            ),
        ),
    ),
    (
        "200 chance pools in chance parts",
        "the lists of one run",
        ("tests/evaluation/selection/test_shards.py", "-k", "chance_pool"),
    ),
    (
        f"eight who work through PgBouncer, pool of 2, {LOAD_SECONDS} s",
        "0 errors",
        ("tests/labeling/db/test_pgbouncer.py", "-k", "not alone"),
    ),
    (
        "two machines, one database, one bucket: upload, freeze, score, download",
        "works",
        ("tests/deploy/test_two_machines.py",),
    ),
)


def main() -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}."""
    return [_row(*row) for row in ROWS]


def _row(name: str, target: str, options: tuple[str, ...]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *options],
        cwd=ROOT,
        env={**os.environ, "ASSAY_REQUIRE_ALL": "1", "ASSAY_POOL_SECONDS": str(LOAD_SECONDS)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    last = done.stdout.strip().rpartition("\n")[2].strip("= ")
    said = re.findall(r"\d[\d.]* s(?:: \{.*|$)|said after [\d.]+ s", done.stdout, re.MULTILINE)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
    return {
        "name": name,
        "target": target,
        "measured": "; ".join([last, *said]),
        "ok": done.returncode == 0,
    }
