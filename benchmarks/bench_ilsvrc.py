"""hCorrectSets of 1000 classes, hp@k of 50,000 images, and bootstrap rounds, beside plain ways."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import Row, row, sized
from benchmarks.thousand_classes import thousand_classes
from evaluation.metrics.ilsvrc import errors, hpk
from evaluation.metrics.significance import ROUNDS, mean_interval
from evaluation.metrics.wordnet import nouns as wn

IMAGES = sized(50_000, 2_000)
PLAIN = sized(20, 2)


def main() -> list[Row]:
    wordnet = wn.load()
    classes = thousand_classes(wordnet)
    # The compiled loops are read from their cache, or made, before they are timed.
    few = hpk.correct_sets(wordnet, classes[:30])
    hpk.hits_in_sets(few, np.zeros(1, np.int64), np.zeros((1, 1), np.int32))
    sets, rows = correct_sets(wordnet, classes)
    return [*rows, *precision(wordnet, classes, sets), *bootstrap()]


def correct_sets(wordnet: wn.WordNet, classes: list[int]) -> tuple[hpk.CorrectSets, list[Row]]:
    """Return all sets of all classes, and a row that compares a breadth-first search per set."""
    seconds, sets = timed(lambda: hpk.correct_sets(wordnet, classes))
    start = time.perf_counter()
    valid = set(classes)
    for number, true in enumerate(classes[:PLAIN]):
        for k in hpk.KS:
            members = {classes[i] for i in sets.members_at(number, k)}
            assert plain_set(wordnet, true, valid, k) == members
    plain = (time.perf_counter() - start) * len(classes) / PLAIN
    return sets, [beside("all hCorrectSets of 1000 classes, k to 20", 1, seconds, plain)]


def precision(wordnet: wn.WordNet, classes: list[int], sets: hpk.CorrectSets) -> list[Row]:
    """Time hp@k of many images, beside looking up each prediction; and hierarchical errors."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, len(classes), IMAGES)
    predicted = np.stack([rng.permutation(len(classes))[:20] for _ in range(2000)])
    predicted = np.tile(predicted, (IMAGES // 2000, 1)).astype(np.int32)
    right = rng.random(IMAGES) < 0.7
    predicted[right, 0] = truth[right]
    seconds, hits = timed(lambda: hpk.hits_in_sets(sets, truth, predicted))
    members = [[set(sets.members_at(t, k).tolist()) for k in hpk.KS] for t in range(len(classes))]
    start = time.perf_counter()
    for i in range(100 * PLAIN):
        sets_of_class = members[truth[i]]
        for index, k in enumerate(hpk.KS):
            assert (
                sum(p in sets_of_class[index] for p in predicted[i, :k].tolist()) == hits[i, index]
            )
    plain = (time.perf_counter() - start) * IMAGES / (100 * PLAIN)
    rows = [beside(f"hp@k of {IMAGES:,} images", 0.02, seconds, plain)]
    seconds, _ = timed(lambda: errors.hierarchical_errors(wordnet, classes, truth, predicted))
    return [
        *rows,
        row(f"… their hierarchical error over {len(classes)} classes", f"{1000 * seconds:.0f} ms"),
    ]


def bootstrap() -> list[Row]:
    """Time bootstrap rounds of an error rate, beside drawing the images of each round."""
    rng = np.random.default_rng(0)
    wrong = np.arange(100_000) < 6660

    def rounds(most: int) -> Callable[[], Any]:
        return lambda: mean_interval(wrong, 0.999, rng, most_rounds=most)

    seconds, _ = timed(rounds(ROUNDS))
    start = time.perf_counter()
    for _ in range(PLAIN):
        wrong[rng.integers(0, len(wrong), len(wrong))].mean()
    plain = (time.perf_counter() - start) * ROUNDS / PLAIN
    rows = [beside(f"{ROUNDS:,} bootstrap rounds of 100,000 images", 0.01, seconds, plain)]
    seconds, interval = timed(rounds(2**7 * ROUNDS))
    return [
        *rows,
        row(
            f"… until both bounds are stable, {interval.rounds:,} rounds",
            f"{1000 * seconds:.0f} ms",
        ),
    ]


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of the shortest of five runs, and the last result."""
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        result = action()
        best = min(best, time.perf_counter() - start)
    return best, result


def plain_set(wordnet: wn.WordNet, true: int, valid: set[int], k: int) -> set[int]:
    """Return an hCorrectSet by the loop of the paper's appendix over the whole graph."""
    members: set[int] = set()
    reached, ring = {true}, {true}
    while len(members) < k and ring:
        members |= ring & valid
        near = {j for i in ring for j in (*wordnet.hypernyms(i), *wordnet.hyponyms(i))}
        ring = near - reached
        reached |= ring
    return members


def beside(name: str, target_s: float, seconds: float, plain: float) -> Row:
    measured = f"{1000 * seconds:.1f} ms; plain way {plain:.1f} s, {plain / seconds:,.0f}×"
    return row(name, measured, f"< {1000 * target_s:g} ms", seconds < target_s)
