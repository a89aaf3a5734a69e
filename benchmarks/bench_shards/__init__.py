"""Stretches of a pool of 4,000,000 images and 6 classifiers (15 pairs, 196 MB).

What a shard of 1/1000 reads, what shards hold of a pair, and the processor time of the same work in
stretches. Pools as in bench_selection. Bytes read are the pages of the pool's files that are in the
system's cache after the shard, emptied of them before: reads and memory maps alike, and what the
system read ahead (Linux; `mincore`). At last the same of tasks in a bucket (in_bucket.py).
"""

import ctypes
import json
import mmap
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import sized
from benchmarks.bench_selection import ROOT, make_pool
from benchmarks.bench_shards import in_bucket

CLASSIFIERS = 6
SHARDS = 4
STRETCHES = 16


def main(images: int = sized(4_000_000, 4_000)) -> list[dict[str, Any]]:
    rows: list[tuple[str, str, str, bool | None]] = []
    for kind in ("realistic", "worst"):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            pool = Path(folder, "pool")
            pool.mkdir()
            make_pool(pool, images, kind, CLASSIFIERS)
            rows += measured(kind, pool, Path(folder))
    here = [dict(zip(("name", "target", "measured", "ok"), row, strict=True)) for row in rows]
    return [*here, *in_bucket.measured()]


def measured(kind: str, pool: Path, out: Path) -> list[tuple[str, str, str, bool | None]]:
    size = sum(file.stat().st_size for file in pool.iterdir())
    rows: list[tuple[str, str, str, bool | None]] = []
    if kind == "realistic":
        rows.append(bytes_row("one shard of 1,000 reads", pool, out, size))
        write_ids_of_several_lengths(pool / "images.txt")
        run(pool, out / "index.npz", "--shard", "1/1000")
        rows.append(bytes_row("… ids of several lengths, with the index", pool, out, size))
    whole_cpu, _ = run(pool, out / "whole.jsonl")
    parts = [out / f"{index}.npz" for index in range(1, SHARDS + 1)]
    runs = [
        run(pool, file, "--shard", f"{index}/{SHARDS}") for index, file in enumerate(parts, start=1)
    ]
    merge_cpu, _ = command("merge", *parts, "--out", out / "merged.jsonl")
    same = body(out / "whole.jsonl") == body(out / "merged.jsonl")
    pairs = CLASSIFIERS * (CLASSIFIERS - 1) // 2
    most = max(held for _, held in runs) / pairs
    target, ok = ("≤ 150", most <= 150) if kind == "realistic" else ("none", None)
    state = max(file.stat().st_size for file in parts) / 1000
    rows.append(
        (
            f"candidates a pair of one of {SHARDS} shards, {kind} pool",
            target,
            f"{most:.0f}, {state:,.0f} kB of {pairs} pairs; merged "
            + ("the same bytes as one run" if same else "OTHER BYTES than one run"),
            ok if same else False,
        )
    )
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_shards.in_process", pool],
        cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    got = json.loads(done.stdout)
    shards_cpu = sum(cpu for cpu, _ in runs) + merge_cpu
    rows.append(
        (
            f"… {SHARDS} shards and a merge, processor time",
            "none",
            f"{got['shards_s'] / got['whole_s']:.2f} times one run ({got['shards_s']:.2f} s and "
            f"{got['whole_s']:.2f} s); as commands, start-up included, "
            f"{shards_cpu / whole_cpu:.1f} times",
            None,
        )
    )
    ratio = got["stretches_s"] / got["whole_s"]
    rows.append(
        (
            f"… {STRETCHES} stretches in one process, processor time",
            "≤ 1.3 times one run",
            f"{ratio:.2f} times ({got['stretches_s']:.2f} s and {got['whole_s']:.2f} s); choosing "
            f"alone {got['choosing']:.2f} times",
            ratio <= 1.3,
        )
    )
    return rows


def bytes_row(name: str, pool: Path, out: Path, size: int) -> tuple[str, str, str, bool]:
    files = list(pool.iterdir())
    for file in files:
        drop(file)
    before = sum(map(cached, files))
    run(pool, out / "one.npz", "--shard", "500/1000")
    read = sum(map(cached, pool.iterdir())) - before
    share = read / size
    text = f"{share:.2%} ({read / 1e6:.2f} of {size / 1e6:.0f} MB)"
    return name, "≤ 2.1 % of the pool", text, share <= 1 / 1000 + 0.02


def run(pool: Path, out: Path, *options: str) -> tuple[float, int]:
    return command("select", "--predictions", pool, "--threads", 1, "--out", out, *options)


def command(verb: str, *options: object) -> tuple[float, int]:
    """Processor time of a mad command, in s, and how many candidates it says it holds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "manage.py", "mad", verb, *map(str, options), "--json"]
    done = subprocess.run(words, cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, json.loads(done.stdout).get("held") or 0


def body(selection: Path) -> bytes:
    return selection.read_bytes().split(b"\n", 1)[1]


def write_ids_of_several_lengths(path: Path) -> None:
    count = path.read_bytes().count(b"\n")
    with open(path, "w") as file:
        for start in range(0, count, 100_000):
            numbers = range(start, min(start + 100_000, count))
            file.write("".join(f"pool/images/{n * 7919 % count}.jpg\n" for n in numbers))


def drop(path: Path) -> None:
    """Takes a file out of the system's cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached(path: Path) -> int:
    """Bytes of a file that are in the system's cache."""
    if path.stat().st_size == 0:
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE)
    pages = -(-len(data) // mmap.PAGESIZE)
    flags = np.zeros(pages, np.uint8)
    address = ctypes.addressof(ctypes.c_char.from_buffer(data))
    size, places = ctypes.c_size_t(len(data)), flags.ctypes.data_as(ctypes.c_void_p)
    if libc.mincore(ctypes.c_void_p(address), size, places):
        raise OSError(ctypes.get_errno(), "mincore", str(path))
    return int(np.count_nonzero(flags & 1)) * mmap.PAGESIZE
