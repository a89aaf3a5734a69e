"""Selection over 11 classifiers (55 pairs) and 10,000,000 images, memory-mapped.

`python -m benchmarks selection [--size IMAGES]`. Two made pools: a realistic one (classifiers of 70
to 85 % accuracy that err on the same hard images, wrong ones less sure) and the worst (random
labels, all with high confidence). Each runs in a process of its own, whose private memory is
sampled; the machine code is compiled before the clock starts. Two threads. Then the ranks of 11
classifiers with their intervals are timed, beside a loop that draws the images of each pair and
computes the eigenvector in each round.
"""

import tempfile
import threading
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Row, own_process, row, sized
from benchmarks.thousand_classes import thousand_classes
from evaluation.metrics.mad import ranking
from evaluation.metrics.mad.selection import SelectionRule
from evaluation.metrics.wordnet import nouns as wn
from evaluation.metrics.wordnet.distances import distance_matrix
from evaluation.readers.pools import read_pool
from evaluation.selection import selecting

CLASSIFIERS = 11
THREADS = 2
SMALL = sized(168_000, 2_000)
# Rows that the pandas loop is timed on; its time grows with the rows, and the whole is hours.
LOOP_SIZE = sized(8_000, 500)
TOP_K = 30
ROUNDS = sized(2_000, 20)
# Rounds of the plain loop.
PLAIN_ROUNDS = sized(40, 2)


def main(images: int = sized(10_000_000, 4_000)) -> list[Row]:
    rows = []
    for kind in ("realistic", "worst"):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            make_pool(Path(folder), images, kind)
            rows += table(kind, own_process.run("bench_selection", folder, "measure", folder))
    return rows + ranks_table()


def table(kind: str, got: dict[str, float]) -> list[Row]:
    speed = got["images"] / got["select_s"] / 1e6
    checked = got["images"] / (got["select_s"] + got["open_s"]) / 1e6
    growth, memory = got["select_s"] / got["half_s"], got["private_mib"]
    measured = f"{speed:.1f} M/s; with checks and SHA-256 {checked:.1f} M/s"
    rows = [
        row(f"selection, {kind} pool", measured, "≥ 5 M images/s", speed >= 5),
        row(f"… private memory ({kind})", f"{memory:.0f} MiB", "< 1024 MiB", memory < 1024),
        row(f"… twice the images ({kind})", f"{growth:.2f} times", "< 2.3 times", growth < 2.3),
    ]
    if kind == "realistic":
        ratio = got["loop_s"] / got["small_s"]
        measured = f"{ratio:,.0f} times (loop extrapolated from {LOOP_SIZE:,} rows)"
        name = f"… against a pandas loop at {SMALL:,}"
        rows.append(row(name, measured, "≥ 1000 times", ratio >= 1000))
    return rows


def ranks_table() -> list[Row]:
    """Time ranks with intervals in one thread; a tenth of the images belong to several pairs."""
    random = np.random.default_rng(0)
    names = [f"model{number:02d}" for number in range(CLASSIFIERS)]
    lines, answers = [], {}
    for first, second in combinations(range(CLASSIFIERS), 2):
        for rank in range(1, TOP_K + 1):
            shared = random.random() < 0.1
            image = f"{random.integers(100)}" if shared else f"{first} {second} {rank}"
            pair, labels = (names[first], names[second]), (f"n{first}", f"n{second}")
            line = ranking.SelectedImage(pair, rank, image, labels)
            lines.append(line)
            for number, question in zip((first, second), line.questions, strict=True):
                answers[question] = bool(random.random() < 0.8 - 0.03 * number)
    ranking.rank(lines, answers, names, TOP_K, bootstrap=2)
    start = time.process_time()
    ranking.rank(lines, answers, names, TOP_K, bootstrap=ROUNDS)
    taken = time.process_time() - start
    right = np.array([[answers[question] for question in line.questions] for line in lines])
    start = time.process_time()
    for _ in range(2 * PLAIN_ROUNDS):
        drawn = random.integers(TOP_K, size=(len(lines) // TOP_K, TOP_K))
        counts = np.take_along_axis(right.reshape(-1, TOP_K, 2), drawn[..., None], 1).sum(axis=1)
        ratios = np.eye(CLASSIFIERS)
        i, j = np.triu_indices(CLASSIFIERS, 1)
        ratios[i, j] = (counts[:, 0] + 1) / (counts[:, 1] + 1)
        ratios[j, i] = 1 / ratios[i, j]
        np.linalg.eig(ratios)
    ratio = (time.process_time() - start) * ROUNDS / PLAIN_ROUNDS / taken
    name = f"ranks of {CLASSIFIERS} classifiers, {ROUNDS:,} rounds"
    return [row(name, f"{taken:.2f} s; plain loop {ratio:.1f} times", "≤ 0.3 s", taken <= 0.3)]


def make_pool(folder: Path, images: int, kind: str, classifiers: int = CLASSIFIERS) -> None:
    rng = np.random.default_rng(0)
    wordnet = wn.load()
    classes = [wordnet.wnid(index) for index in thousand_classes(wordnet)]
    (folder / "classes.txt").write_text("".join(f"{wnid}\n" for wnid in classes))
    with open(folder / "images.txt", "w") as file:
        for start in range(0, images, 100_000):
            numbers = range(start, min(start + 100_000, images))
            file.write("".join(f"pool/{n // 10_000:05d}/{n:09d}.jpg\n" for n in numbers))
    truth = rng.integers(0, 1000, images, dtype=np.int16)
    hard = rng.random(images, np.float32)
    for number in range(classifiers):
        labels, confidences = truth, rng.random(images, np.float32)
        if kind == "realistic":
            wrong = 0.6 * hard + 0.4 * rng.random(images, np.float32) > 0.7 + 0.015 * number
            shift = rng.integers(1, 1000, images, dtype=np.int16) * wrong
            labels = ((truth + shift) % 1000).astype(np.int16)
            confidences = np.where(wrong, 1 - 0.9 * np.sqrt(confidences), 1 - 0.6 * confidences**2)
        else:
            labels = rng.integers(0, 1000, images, dtype=np.int16)
            confidences = 1 - confidences / 5
        np.save(folder / f"model{number:02d}.labels.npy", labels)
        np.save(folder / f"model{number:02d}.confidences.npy", confidences.astype(np.float16))


def measure(pool_folder: str) -> dict[str, float]:
    folder = Path(pool_folder)
    wordnet = wn.load()
    pool = read_pool(folder, None, wordnet, threads=THREADS)
    run(pool, wordnet, 20_000)
    stop, peak = threading.Event(), [0.0]
    sampler = threading.Thread(target=sample, args=(stop, peak))
    sampler.start()
    start = time.perf_counter()
    pool = read_pool(folder, None, wordnet, threads=THREADS)
    opened = time.perf_counter() - start
    images = len(pool.images)
    got = {"images": images, "open_s": opened, "half_s": run(pool, wordnet, images // 2)}
    got["select_s"] = run(pool, wordnet, images)
    stop.set()
    sampler.join()
    small = min(SMALL, images)
    got |= {"private_mib": peak[0], "small_s": min(run(pool, wordnet, small) for _ in range(3))}
    got["loop_s"] = pandas_loop(folder, wordnet, pool.classes) * 55 * small / LOOP_SIZE
    return got


def run(pool: Any, wordnet: wn.WordNet, images: int) -> float:
    """Return the seconds to choose for all pairs from the first images, with distances."""
    rule = SelectionRule()
    start = time.perf_counter()
    levels = selecting.levels_of(pool.classes, wordnet, "weighted", Path("classes.txt"))
    pairs = selecting.pairs_of(list(pool.predictions))
    reduced = selecting.reduce_pairs(pool, pairs, levels, rule, images=images, threads=THREADS)
    lists = selecting.chosen_of(pool, pairs, levels, rule, reduced)
    assert sum(len(chosen) for chosen in lists) > 0
    return time.perf_counter() - start


def sample(stop: threading.Event, peak: list[float]) -> None:
    """Keep the highest private memory in peak, in MiB; Linux reports it in smaps_rollup."""
    while not stop.wait(0.02):
        text = Path("/proc/self/smaps_rollup").read_text()
        private = sum(int(line.split()[1]) for line in text.splitlines() if "Private_D" in line)
        peak[0] = max(peak[0], private / 1024)


def pandas_loop(folder: Path, wordnet: wn.WordNet, classes: list[str]) -> float:
    """Return the seconds of the plain way on LOOP_SIZE rows of one pair: row by row, then sort."""
    import pandas as pd

    places = [wordnet.index(wnid) for wnid in classes]
    distances = distance_matrix(wordnet, places, "weighted")
    columns = {}
    for name in ("model00", "model01"):
        for kind in ("labels", "confidences"):
            array = np.load(folder / f"{name}.{kind}.npy", mmap_mode="r")
            columns[f"{name}.{kind}"] = array[:LOOP_SIZE].astype(float)
    frame = pd.DataFrame(columns)
    start = time.perf_counter()
    ranked = []
    for image, line in frame.iterrows():
        a, b = int(line["model00.labels"]), int(line["model01.labels"])
        sure = min(line["model00.confidences"], line["model01.confidences"])
        if a != b and sure >= 0.8:
            ranked.append((-distances[a, b], -sure, image, a, b))
    ranked.sort()
    return time.perf_counter() - start
