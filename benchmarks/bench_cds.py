"""CDS of a whole benchmark: time and memory to read it, score it and draw 1,000 rounds of
intervals.

`python -m benchmarks cds [--size N]`: N objects of twelve categories, each by 5 part and 4 content
schemes in 11 frames, named by 4 classifiers at random; Sarvadevabhatla et al. (2016) have 1,850.
Files are made once. Every step runs in a new process, so that its memory can be measured. Some
rounds are timed beside a plain loop with numpy's median of every drawn cell.
"""

import itertools
import json
import random
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Row, own_process, row, sized
from benchmarks.thousand_classes import thousand_classes
from evaluation.metrics.cds import arrays as cs
from evaluation.metrics.cds.arrays import Counts, Floats, ScoreArrays
from evaluation.metrics.wordnet import nouns as wn
from evaluation.readers.frame_predictions import read_predictions
from evaluation.readers.sequences import SequenceLine, read_sequences
from evaluation.scoring.cds import arrays, scoring
from evaluation.scoring.cds.result import CdsScoringOptions

PARTS = ("E_U", "E_US", "E_A", "E_AS", "random")
CONTENTS = ("intra-object", "intra-object-and-neighbourhood", "low", "higher")
CLASSIFIERS = ("AlexNet", "GoogLeNet", "NiN", "VGG-19")
FRAMES, CATEGORIES = 11, 12
ROUNDS, PLAIN_ROUNDS = sized(1000, 20), sized(5, 1)
TARGET_TIMES = 50
TARGET_MIB = 200


def main(objects: int = sized(370, 24)) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        made = _child(folder, "make", {"folder": folder, "objects": objects})
        read = _child(folder, "read", {"folder": folder})
        bare = _child(folder, "score", {"folder": folder, "rounds": 0})
        drawn = _child(folder, "score", {"folder": folder, "rounds": ROUNDS})
        raced = _child(folder, "race", {"folder": folder})
    times = raced["plain"] / raced["ours"]
    more = drawn["grown"] - bare["grown"]
    return [
        row(
            f"CDS of {objects:,} objects ({made['predictions']:,} predictions): reading",
            f"{read['seconds']:.1f} s ({read['cpu']:.1f} s of processor), {read['grown']} MiB",
        ),
        row(
            f"… every score and table, and {ROUNDS:,} rounds of intervals",
            f"{bare['seconds']:.1f} s and {drawn['seconds'] - bare['seconds']:.1f} s "
            f"({bare['cpu']:.1f} s and {drawn['cpu'] - bare['cpu']:.1f} s of processor)",
        ),
        row(
            "… memory of the rounds",
            f"{more} MiB over {bare['grown']} without",
            f"< {TARGET_MIB} MiB",
            more < TARGET_MIB,
        ),
        row(
            "… a round of Table 2 against the plain loop",
            f"{times:.0f} times ({1000 * raced['plain']:.0f} and "
            f"{1000 * raced['ours']:.2f} ms of processor)",
            f"≥ {TARGET_TIMES} times",
            times >= TARGET_TIMES,
        ),
    ]


_child = partial(own_process.run, "bench_cds")

# In processes of their own.


def make(settings: dict[str, Any]) -> dict[str, int]:
    """Write sequences.jsonl and predictions.csv; later frames are more often right."""
    rng, wordnet = random.Random(0), wn.load()
    classes = [wordnet.wnid(i) for i in thousand_classes(wordnet)]
    categories, count = classes[:CATEGORIES], 0
    folder = Path(settings["folder"])
    with (
        open(folder / "sequences.jsonl", "w") as sequences,
        open(folder / "predictions.csv", "w") as predictions,
    ):
        predictions.write("frame,classifier,wnid\n")
        schemes = itertools.product(range(settings["objects"]), PARTS, CONTENTS)
        for number, part, content in schemes:
            category, image = categories[number % CATEGORIES], f"{number:06}.jpg"
            ids = tuple(f"{image}/1/{part}/{content}/{i:02}" for i in range(1, FRAMES + 1))
            line = SequenceLine(image, category, part, content, ids, "1", number % 10, FRAMES - 1)
            sequences.write(json.dumps(line.as_dict()) + "\n")
            for index, (name, frame) in enumerate(itertools.product(CLASSIFIERS, ids)):
                right = rng.random() < (index % FRAMES) / 16
                predictions.write(f"{frame},{name},{category if right else rng.choice(classes)}\n")
                count += 1
    return {"predictions": count}


def _read(folder: str) -> tuple[list[SequenceLine], Any, dict[str, list[str]]]:
    lines = read_sequences(Path(folder) / "sequences.jsonl")
    predictions = read_predictions(Path(folder) / "predictions.csv", lines)
    return lines, predictions, {line.category: [line.category] for line in lines}


def read(settings: dict[str, Any]) -> dict[str, float]:
    before = own_process.peak_mib()
    start, cpu = time.perf_counter(), time.process_time()
    _read(settings["folder"])
    return _spent(start, cpu, before)


def score(settings: dict[str, Any]) -> dict[str, float]:
    """Return seconds and memory of scoring, without reading; machine code is compiled before."""
    wordnet, inputs = wn.load(), _read(settings["folder"])
    lines, predictions, mapping = inputs
    scoring.score(lines[:20], predictions, wordnet, CdsScoringOptions(bootstrap=1), mapping)
    before = own_process.peak_mib()
    start, cpu = time.perf_counter(), time.process_time()
    scoring.score(
        lines, predictions, wordnet, CdsScoringOptions(bootstrap=settings["rounds"]), mapping
    )
    return _spent(start, cpu, before)


def _spent(start: float, cpu: float, before: int) -> dict[str, float]:
    return {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "grown": own_process.peak_mib() - before,
    }


def race(settings: dict[str, Any]) -> dict[str, float]:
    """Return processor seconds of a round of Table 2, ours and a plain loop's; both must agree."""
    lines, predictions, mapping = _read(settings["folder"])
    scored = scoring.score(
        lines, predictions, wn.load(), CdsScoringOptions(bootstrap=0, captchas=0), mapping
    )
    places = arrays.places(lines)
    scores = arrays.scores(places, scored.starts, scored.cds, None, None, ())
    weights = next(cs.draws(scores, 200, 0, batch=200))
    start = time.process_time()
    ours = cs.mean(cs.mean(cs.cells(scores, scores.cds, weights), 2), 1)
    taken = (time.process_time() - start) / len(weights)
    start = time.process_time()
    for times, means in zip(weights[:PLAIN_ROUNDS], ours, strict=False):
        assert np.allclose(plain_round(scores, times), means, atol=1e-12)
    return {"ours": taken, "plain": (time.process_time() - start) / PLAIN_ROUNDS}


def plain_round(scores: ScoreArrays, times: Counts) -> Floats:
    """Return (K, C): Table 2 of one resample, by the paper's rule, one median at a time."""
    _, parts, contents, classifiers = scores.cds.shape
    table = np.empty((contents, classifiers))
    drawn = [
        np.repeat(np.arange(drawn_objects.start, drawn_objects.stop), times[drawn_objects])
        for drawn_objects in scores.members()
    ]
    for k, c in itertools.product(range(contents), range(classifiers)):
        by_category = [
            np.mean([np.median(scores.cds[drawn_objects, p, k, c]) for p in range(parts)])
            for drawn_objects in drawn
        ]
        table[k, c] = np.mean(by_category)
    return table
