"""WordNet 3.0 loads in under a second; distances of 1000 classes take under half a second."""

import time
from typing import Any

import numpy as np

from evaluation.metrics.wordnet import nouns as wn
from evaluation.metrics.wordnet.distances import DISTANCES, distance_matrix


def main() -> list[dict[str, Any]]:
    folder = wn.load().folder
    start = time.perf_counter()
    wordnet = wn.WordNet(folder)
    rows = [row("WordNet loads", 1.0, time.perf_counter() - start)]
    classes = thousand_classes(wordnet)
    for distance in DISTANCES:
        start = time.perf_counter()
        distance_matrix(wordnet, classes, distance)
        rows.append(row(f"{distance} distances of 1000 classes", 0.5, time.perf_counter() - start))
    return rows


def row(name: str, target_s: float, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "target": f"< {target_s:g} s",
        "measured": f"{seconds:.3f} s",
        "ok": seconds < target_s,
    }


def thousand_classes(wordnet: wn.WordNet) -> list[int]:
    """Seeded leaves of the hierarchy, as most classes of ILSVRC are."""
    leaves = np.flatnonzero((wordnet.depth >= 0) & (np.diff(wordnet.down_start) == 0))
    chosen = np.random.default_rng(0).choice(leaves, 1000, replace=False)
    return sorted(chosen.tolist())
