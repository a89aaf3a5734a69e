"""A review of mistakes on 50,000 images: its queue, and every submission scored again after it."""

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import own_process, sized
from benchmarks.bench_wordnet import thousand_classes
from evaluation.metrics.wordnet import nouns as wn

IMAGES = sized(50_000, 300)
ROOT = Path(__file__).resolve().parents[2]
# Submission → the share of images on which its first class is the truth's.
RIGHT = {"A": 0.8, "B": 0.75, "C": 0.7}
SECONDS = 10


def main() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        named = write(folder)
        queue = ("--queue", folder / "queue.jsonl")
        queued = command("mistakes", "queue", *named, "--models", "A,B", "--out", queue[1])
        answers = ("--answers", answer(folder))
        version = folder / "v2"
        applied = command("mistakes", "apply", *named, *queue, *answers, "--out", version)
        scored = command("score", "classification", *named[:4], "--valid-sets", version)
        site = folder / "site"
        site.mkdir()
        on_site = partial(own_process.run, "bench_mistakes.on_a_site", str(site))
        prepared = on_site("prepare", str(folder))
        frozen = on_site("freeze", None)
        again = on_site("apply", None)
        pairs = json.loads(queue[1].read_text().splitlines()[0])["meta"]["counts"]["pairs"]
    words = f"{IMAGES:,} images, {pairs:,} pairs"
    return [
        row(f"queue of a review of mistakes, {words}", None, queued),
        row("… answers applied, three submissions scored by both label sets", SECONDS, applied),
        row("… score classification by the new label sets, a submission", SECONDS, scored),
        row("on a site: three submissions scored for the first time", None, prepared["first"]),
        row("… the review opened as a campaign", None, prepared["opened"]),
        row("… its answers frozen as a release", None, frozen),
        row("… the release applied as a version", None, again["applied"]),
        row(
            "… applied, and three submissions scored by both versions",
            SECONDS,
            again["applied"] + again["scored"],
        ),
    ]


def write(folder: Path) -> tuple[object, ...]:
    """The options that name a truth and three submissions of five classes an image."""
    wordnet = wn.load()
    wnids = [wordnet.wnid(synset) for synset in thousand_classes(wordnet)]
    rng = np.random.default_rng(0)
    truth = rng.integers(0, len(wnids), IMAGES)
    names = [f"val/ILSVRC2012_val_{at:08}.JPEG" for at in range(IMAGES)]
    true = ((names[at], wnids[truth[at]]) for at in range(IMAGES))
    named: tuple[object, ...] = ("--truth", rows(folder / "truth.csv", ("image", "wnid"), true))
    for name, right in RIGHT.items():
        five = rng.integers(0, len(wnids), (IMAGES, 5))
        five[:, 0] = np.where(rng.random(IMAGES) < right, truth, five[:, 0])
        found = (
            (names[at], rank, wnids[own])
            for at, classes in enumerate(five.tolist())
            for rank, own in enumerate(classes, 1)
        )
        path = rows(folder / f"{name}.csv", ("image", "rank", "wnid"), found)
        named += ("--predictions", path)
    return named


def answer(folder: Path) -> Path:
    """Answers by chance to every pair of the queue."""
    rng = np.random.default_rng(0)
    lines = (folder / "queue.jsonl").read_text().splitlines()[1:]
    words = rng.choice(["valid", "minor", "major", "cannot"], len(lines), p=[0.5, 0.2, 0.2, 0.1])
    pairs = (json.loads(line) for line in lines)
    answers = ((pair["image"], pair["wnid"], word) for pair, word in zip(pairs, words, strict=True))
    return rows(folder / "answers.csv", ("image", "wnid", "answer"), answers)


def rows(path: Path, head: tuple[str, ...], lines: Iterable[tuple[object, ...]]) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(lines)
    return path


def command(*words: object) -> float:
    """Seconds of a whole process."""
    start = time.perf_counter()
    line = [sys.executable, "manage.py", *map(str, words), "--json"]
    subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def row(name: str, target: float | None, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "target": f"≤ {target} s" if target else "none",
        "measured": f"{seconds:.1f} s",
        "ok": None if target is None else seconds <= target,
    }
