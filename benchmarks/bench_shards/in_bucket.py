"""A pool of 1,000,000 images and 6 classifiers in a bucket, in 16 shards: what each task reads.

The S3 server counts what it sends. `mad select` runs its tasks in two processes, each of which asks
for one shard; the lines are those of one run from the folder.
"""

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.bench_selection import ROOT, make_pool
from tests.object_store import Bucket, new_bucket, serving

CLASSIFIERS = 6
SHARDS = 16
MORE = 0.02


def measured(images: int = 1_000_000) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch, serving() as server:
        folder, bucket = Path(scratch), new_bucket(server)
        (folder / "pool").mkdir()
        make_pool(folder / "pool", images, "realistic", CLASSIFIERS)
        mad("pool", folder / "pool", "--shards", SHARDS, "--out", folder / "pool.jsonl")
        put_all(folder, bucket)
        begun = len(server.requests)
        selected = ("select", "--pool", f"s3://{bucket.name}/pool.jsonl")
        work = ("--on", "local:2", "--work", f"s3://{bucket.name}/work")
        mad(*selected, *work, "--out", folder / "stored.jsonl", env=bucket.tasks)
        asked = server.requests[begun:]
        mad("select", "--predictions", folder / "pool", "--out", folder / "plain.jsonl")
        same = body(folder / "stored.jsonl") == body(folder / "plain.jsonl")
        whole = sum(file.stat().st_size for file in (folder / "pool").iterdir())
    prefix = f"/{bucket.name}/pool.shards/"
    read: Counter[str] = Counter()
    for one in asked:
        if one.method == "GET" and one.path.startswith(prefix):
            read[one.path.removeprefix(prefix).partition("/")[0]] += one.bytes_sent
    puts = [
        one for one in asked if one.method == "PUT" and one.path.startswith(f"/{bucket.name}/work/")
    ]
    most = max(read.values()) / whole
    is_once = len(puts) == len({one.path for one in puts}) == SHARDS
    return [
        {
            "name": f"bytes that a task of 1/{SHARDS} reads, by the S3 server",
            "target": f"≤ 1/{SHARDS} + {MORE:.0%}",
            "measured": f"{most:.2%} of {whole / 1e6:.0f} MB at most, {len(read)} shards",
            "ok": len(read) == SHARDS and most <= 1 / SHARDS + MORE,
        },
        {
            "name": "… its tasks in two processes",
            "target": "the lines of one run, each task once",
            "measured": f"{len(puts)} objects put; "
            + ("the same bytes" if same else "OTHER BYTES"),
            "ok": same and is_once,
        },
    ]


def mad(*words: object, env: dict[str, str] | None = None) -> None:
    subprocess.run(
        [sys.executable, "manage.py", "mad", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdout=subprocess.DEVNULL,
        check=True,
    )


def put_all(folder: Path, bucket: Bucket) -> None:
    shards = folder / "pool.shards"
    for path in (folder / "pool.jsonl", *(file for file in shards.rglob("*") if file.is_file())):
        bucket.put(str(path.relative_to(folder)), path.read_bytes())


def body(selection: Path) -> bytes:
    return selection.read_bytes().split(b"\n", 1)[1]
