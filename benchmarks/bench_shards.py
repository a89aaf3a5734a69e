"""Stretches and shards of a pool of 4,000,000 images and 6 classifiers (15 pairs, 196 MB).

What a shard of 1/1000 reads, what shards hold of a pair, and the processor time of the same work in
stretches, beside one run. Pools as in bench_selection. Bytes read are the pages of the pool's files
in the system's cache after a shard; before it, they are removed from the cache. So they count
reads, memory maps and read-ahead (Linux; `mincore`).
"""

import ctypes
import json
import mmap
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Row, own_process, row, sized
from benchmarks.bench_selection import make_pool
from evaluation.metrics.mad.selection import Levels, SelectionRule
from evaluation.metrics.wordnet import nouns as wn
from evaluation.readers.pools import PredictionPool, read_pool
from evaluation.selection import selecting, shards

CLASSIFIERS, SHARDS, STRETCHES = 6, 4, 16


def main(images: int = sized(4_000_000, 4_000)) -> list[Row]:
    rows = []
    for kind in ("realistic", "worst"):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            pool = Path(folder, "pool")
            pool.mkdir()
            make_pool(pool, images, kind, CLASSIFIERS)
            rows += measured(kind, pool, Path(folder))
    return rows


def measured(kind: str, pool: Path, out: Path) -> list[Row]:
    size = sum(file.stat().st_size for file in pool.iterdir())
    rows = []
    if kind == "realistic":
        rows.append(bytes_row("one shard of 1,000 reads", pool, out, size))
        write_ids_of_several_lengths(pool / "images.txt")
        select(pool, out / "index.npz", "--shard", "1/1000")
        rows.append(bytes_row("… ids of several lengths, with the index", pool, out, size))
    select(pool, out / "whole.jsonl")
    parts = [out / f"{index}.npz" for index in range(1, SHARDS + 1)]
    held = [
        select(pool, file, "--shard", f"{index}/{SHARDS}")
        for index, file in enumerate(parts, start=1)
    ]
    command("merge", *parts, "--out", out / "merged.jsonl")
    same = body(out / "whole.jsonl") == body(out / "merged.jsonl")
    pairs = CLASSIFIERS * (CLASSIFIERS - 1) // 2
    most = max(held) / pairs
    state = max(file.stat().st_size for file in parts) / 1000
    got = own_process.run("bench_shards", str(out), "measure", str(pool))
    ratio = got["stretches_s"] / got["whole_s"]
    return [
        *rows,
        row(
            f"candidates a pair of one of {SHARDS} shards, {kind} pool",
            f"{most:.0f}, {state:,.0f} kB of {pairs} pairs; merged "
            + ("the same bytes as one run" if same else "OTHER BYTES than one run"),
            "≤ 150" if kind == "realistic" else "none",
            False if not same else most <= 150 if kind == "realistic" else None,
        ),
        row(
            f"… {SHARDS} shards and a merge, processor time",
            f"{got['shards_s'] / got['whole_s']:.2f} times one run ({got['shards_s']:.2f} s and "
            f"{got['whole_s']:.2f} s)",
        ),
        row(
            f"… {STRETCHES} stretches in one process, processor time",
            f"{ratio:.2f} times one run ({got['stretches_s']:.2f} s and {got['whole_s']:.2f} s)",
            "≤ 1.3 times one run",
            ratio <= 1.3,
        ),
    ]


def bytes_row(name: str, pool: Path, out: Path, size: int) -> Row:
    files = list(pool.iterdir())
    for file in files:
        drop(file)
    before = sum(map(cached, files))
    select(pool, out / "one.npz", "--shard", "500/1000")
    read = sum(map(cached, pool.iterdir())) - before
    share = read / size
    text = f"{share:.2%} ({read / 1e6:.2f} of {size / 1e6:.0f} MB)"
    return row(name, text, "≤ 2.1 % of the pool", share <= 1 / 1000 + 0.02)


def select(pool: Path, out: Path, *options: str) -> int:
    return command("select", "--predictions", pool, "--threads", 1, "--out", out, *options)


def command(verb: str, *options: object) -> int:
    """Run a mad command; return how many candidates it says it holds."""
    words = [sys.executable, "manage.py", "mad", verb, *map(str, options), "--json"]
    root = own_process.ROOT
    done = subprocess.run(words, cwd=root, check=True, text=True, stdout=subprocess.PIPE)
    return int(json.loads(done.stdout).get("held") or 0)


def body(selection: Path) -> bytes:
    return selection.read_bytes().split(b"\n", 1)[1]


def write_ids_of_several_lengths(path: Path) -> None:
    count = path.read_bytes().count(b"\n")
    with open(path, "w") as file:
        for start in range(0, count, 100_000):
            numbers = range(start, min(start + 100_000, count))
            file.write("".join(f"pool/images/{n * 7919 % count}.jpg\n" for n in numbers))


def drop(path: Path) -> None:
    """Remove a file from the system's cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached(path: Path) -> int:
    """Return how many bytes of a file are in the system's cache."""
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


def measure(pool_folder: str) -> dict[str, float]:
    """Return processor seconds of one run, of its stretches, and of shards and their merge.

    They include reading, checks and SHA-256, but not WordNet and distances.
    """
    folder, wordnet = Path(pool_folder), wn.load()
    pool = read_pool(folder, None, wordnet)
    levels = selecting.levels_of(pool.classes, wordnet, "weighted", folder)
    choose(pool, levels, 20_000)
    opening = seconds(lambda: read_pool(folder, None, wordnet))
    whole = seconds(lambda: choose(pool, levels, len(pool.images)))
    cut = seconds(lambda: choose(pool, levels, -(-len(pool.images) // STRETCHES)))
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as out:
        shards_s = seconds(lambda: choose_in_shards(folder, wordnet, levels, Path(out)))
    return {
        "whole_s": opening + whole,
        "stretches_s": opening + cut,
        "shards_s": shards_s,
    }


def seconds(work: Callable[[], object]) -> float:
    """Return the shortest processor time of five runs."""
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def choose_in_shards(folder: Path, wordnet: wn.WordNet, levels: Levels, out: Path) -> list[Any]:
    rule, parts = SelectionRule(), []
    for index in range(1, SHARDS + 1):
        pool = read_pool(folder, None, wordnet, (index, SHARDS))
        names = list(pool.predictions)
        settings = selecting.SelectionSettings(rule, "weighted")
        meta = selecting.meta_of(pool, settings, names, "sorted", wordnet)
        reduced = selecting.reduce_pairs(pool, selecting.pairs_of(names), levels, rule)
        with open(out / f"{index}.npz", "wb") as file:
            shards.write_part(file, pool, meta, (index, SHARDS), reduced)
        parts.append(shards.PoolPart(out / f"{index}.npz"))
    return list(shards.merged(parts, parts[0].meta, rule, levels))


def choose(pool: PredictionPool, levels: Levels, stretch: int) -> Sequence[Any]:
    rule = SelectionRule()
    pairs = selecting.pairs_of(list(pool.predictions))
    reduced = selecting.reduce_pairs(pool, pairs, levels, rule, stretch=stretch)
    return list(selecting.chosen_of(pool, pairs, levels, rule, reduced))
