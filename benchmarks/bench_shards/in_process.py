"""Processor time of stretches and shards of a pool, in one process that has started up.

`python -m benchmarks.bench_shards.in_process FOLDER` prints a JSON object.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench_shards import SHARDS, STRETCHES
from evaluation.metrics.mad.selection import Levels, Rule
from evaluation.metrics.wordnet import nouns as wn
from evaluation.readers.pools import Pool, read_pool
from evaluation.selection import selecting, shards


def measure(folder: Path) -> dict[str, float]:
    """Processor seconds of one run, of its stretches, and of shards and their merge; reading,
    checks and SHA-256 included, programs, WordNet and distances not.
    """
    wordnet = wn.load()
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
        "choosing": cut / whole,
        "shards_s": shards_s,
    }


def seconds(work: Callable[[], object]) -> float:
    """The least processor time of five."""
    times = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def choose_in_shards(folder: Path, wordnet: wn.WordNet, levels: Levels, out: Path) -> list[Any]:
    rule, parts = Rule(), []
    for index in range(1, SHARDS + 1):
        pool = read_pool(folder, None, wordnet, (index, SHARDS))
        names = list(pool.predictions)
        settings = selecting.Settings(rule, "weighted")
        meta = selecting.meta_of(pool, settings, names, "sorted", wordnet)
        reduced = selecting.reduce_pairs(pool, selecting.pairs_of(names), levels, rule)
        with open(out / f"{index}.npz", "wb") as file:
            shards.write_part(file, pool, meta, (index, SHARDS), reduced)
        parts.append(shards.Part(out / f"{index}.npz"))
    return list(shards.merged(parts, parts[0].meta, rule, levels))


def choose(pool: Pool, levels: Levels, stretch: int) -> Sequence[Any]:
    rule = Rule()
    pairs = selecting.pairs_of(list(pool.predictions))
    reduced = selecting.reduce_pairs(pool, pairs, levels, rule, stretch=stretch)
    return list(selecting.chosen_of(pool, pairs, levels, rule, reduced))


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
