"""How costs grow from 10⁴ to 10⁶: answers, people, images and classifiers.

`python -m benchmarks scaling`. Each row has what was measured at each size and the slope between
the last two in log-log (1: twice as much takes twice as long). Seconds are those of one process;
docs/reference/benchmarks.md computes costs from them.
"""

import math
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks import Row, own_process, row, sized
from benchmarks.bench_freeze import VOTES
from benchmarks.bench_selection import make_pool

SIZES = sized((10_000, 100_000, 1_000_000), (1_000, 2_000, 4_000))
PEOPLE = sized((100, 1_000, 10_000), (10, 20, 40))
CLASSIFIERS = sized((5, 10, 20, 40), (2, 3, 4, 5))
TEN = 10


def main() -> list[Row]:
    return [*of_answers(), *of_people(), *of_images()]


def of_answers() -> list[Row]:
    """Return rows of freezing, with five votes a question, on PostgreSQL; none without a server."""
    releases = [_frozen(answers // VOTES) for answers in SIZES]
    if not all(releases):
        return []
    return [
        _row("database, bytes", SIZES, [release["database"] for release in releases]),
        _row("release, bytes", SIZES, [release["release"] for release in releases]),
        _row("freezing, s", SIZES, [release["seconds"] for release in releases]),
        _row("… its snapshot, s", SIZES, [release["snapshot"] for release in releases]),
        _row("… its memory, MiB", SIZES, [release["mib"] for release in releases]),
    ]


def _frozen(questions: int) -> dict[str, float]:
    """Return the costs of freezing, and bytes of database and release; nothing without a server."""
    import psycopg

    with own_process.postgres() as url, tempfile.TemporaryDirectory() as folder:
        if url is None:
            return {}
        own_process.run("bench_freeze", folder, "prepare", questions, url)
        with psycopg.connect(url) as connection:
            size = connection.execute("SELECT pg_database_size(current_database())").fetchone()[0]
        frozen = own_process.run("bench_freeze", folder, "freeze", None, url)
        files = Path(folder, "releases").rglob("*")
        released = sum(file.stat().st_size for file in files if file.is_file())
        return frozen | {"database": size, "release": released}


def of_people() -> list[Row]:
    """Return rows of Dawid–Skene with two classes: by answers of 1,000 people, and by people."""
    from labeling.estimators.aggregation import AnswerTable
    from labeling.estimators.dawid_skene import fit

    def seconds(answers: int, people: int) -> float:
        rng = np.random.default_rng(0)
        questions = np.repeat(np.arange(answers // VOTES), VOTES)
        truth = rng.integers(0, 2, answers // VOTES)[questions]
        labels = np.where(rng.random(answers) < 0.8, truth, 1 - truth)
        # Each question has five different people: a random one and the next four.
        first = rng.integers(0, people, answers // VOTES)[questions]
        people_of = (first + np.tile(np.arange(VOTES), answers // VOTES)) % people
        rows = AnswerTable.from_rows(
            zip(map(str, people_of), map(str, questions), map(str, labels), strict=True)
        )
        begun = time.process_time()
        fit(rows)
        return time.process_time() - begun

    seconds(1_000, 10)
    return [
        _row("Dawid–Skene, answers, s", SIZES, [seconds(size, 1_000) for size in SIZES]),
        _row("… people of 1,000,000 answers, s", PEOPLE, [seconds(SIZES[-1], n) for n in PEOPLE]),
    ]


def of_images() -> list[Row]:
    """Return rows of `mad select` on a realistic pool, without its start: by images, by models."""
    by_images = [_selected(size, TEN) for size in SIZES]
    by_classifiers = [_selected(SIZES[1], count) for count in CLASSIFIERS]
    return [
        _row(f"pool of {TEN} classifiers, bytes", SIZES, [pool for pool, _ in by_images]),
        _row(f"selection of {TEN} classifiers, s", SIZES, [took for _, took in by_images]),
        _row("… classifiers, 100,000 images, s", CLASSIFIERS, [took for _, took in by_classifiers]),
    ]


def _selected(images: int, classifiers: int) -> tuple[int, float]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        make_pool(Path(folder), images, "realistic", classifiers)
        size = sum(file.stat().st_size for file in Path(folder).iterdir())
        return size, own_process.run("bench_scaling", folder, "select", folder)


def select(pool_folder: str) -> float:
    """Return processor time of reading, checking and choosing; machine code is compiled before."""
    from benchmarks.bench_selection import run
    from evaluation.metrics.wordnet import nouns as wn
    from evaluation.readers.pools import read_pool

    folder, wordnet = Path(pool_folder), wn.load()
    run(read_pool(folder, None, wordnet), wordnet, 5_000)
    begun = time.process_time()
    pool = read_pool(folder, None, wordnet)
    run(pool, wordnet, len(pool.images))
    return time.process_time() - begun


def _row(name: str, sizes: Sequence[int], values: Sequence[float]) -> Row:
    slope = math.log(values[-1] / values[-2]) / math.log(sizes[-1] / sizes[-2])
    points = "; ".join(
        f"{size:,}: {value:,.0f}" if value >= 100 else f"{size:,}: {value:.3g}"
        for size, value in zip(sizes, values, strict=True)
    )
    return row(name, f"{points}; slope {slope:.2f}")
