"""WordNet 3.0 loads in under 1 s; distances of 1000 classes take under 0.5 s, similarities 0.3 s.

The similarities must equal a plain loop's. nltk is timed on a sample of the pairs and extrapolated;
its values are not compared, because its wup chooses another ancestor for some pairs.
"""

import itertools
import random
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import Row, row, sized
from benchmarks.thousand_classes import thousand_classes
from evaluation.metrics.wordnet import nouns as wn
from evaluation.metrics.wordnet.distances import DISTANCES, distance_matrix
from evaluation.metrics.wordnet.similarity import CONVENTIONS, similarity_matrix

ROUNDS = sized(5, 1)
NLTK_PAIRS = sized(2_000, 20)
TARGET_TIMES = 1_000


def main() -> list[Row]:
    folder = wn.load().folder
    start = time.perf_counter()
    wordnet = wn.WordNet(folder)
    rows = [seconds_row("WordNet loads", 1, [time.perf_counter() - start])]
    classes = thousand_classes(wordnet)
    for distance in DISTANCES:
        took, _ = timed(lambda name=distance: distance_matrix(wordnet, classes, name))
        rows.append(seconds_row(f"{distance} distances of 1000 classes", 0.5, took))
    pairs = random.Random(0).sample(list(itertools.product(range(len(classes)), repeat=2)), 20_000)
    for convention in CONVENTIONS:
        took, matrix = timed(
            lambda name=convention: similarity_matrix(wordnet, classes, None, "wup", name)
        )
        rows.append(seconds_row(f"wup of 1000 × 1000 classes, {convention}", 0.3, took))
        if convention == "clean":
            ours = statistics.median(took)
            for i, j in pairs:
                assert matrix[i, j] == plain_wup(wordnet, classes[i], classes[j])
    with tempfile.TemporaryDirectory() as scratch:
        theirs = nltk_seconds(wordnet, Path(scratch), classes, pairs[:NLTK_PAIRS])
    times = theirs * len(classes) ** 2 / NLTK_PAIRS / ours
    measured = f"{times:,.0f} times (loop extrapolated from {NLTK_PAIRS:,} pairs)"
    name, target = "… against nltk's loop over all pairs", f"≥ {TARGET_TIMES:,} times"
    return [*rows, row(name, measured, target, times >= TARGET_TIMES)]


def timed(action: Callable[[], Any]) -> tuple[list[float], Any]:
    """Return the seconds of each round, and the last result."""
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        result = action()
        taken.append(time.perf_counter() - start)
    return taken, result


def seconds_row(name: str, most: float, taken: list[float]) -> Row:
    seconds = statistics.median(taken)
    return row(name, f"{seconds:.3f} s", f"< {most:g} s", seconds < most)


def plain_wup(wordnet: wn.WordNet, a: int, b: int) -> float:
    """Return wup of a pair by its definition over root paths."""
    above, beside = wordnet.root_paths(a), wordnet.root_paths(b)
    best = (0, 0.0)
    for node in {i for path in above for i in path} & {i for path in beside for i in path}:
        depth = max(map(len, wordnet.root_paths(node)))
        edges = sum(
            min(len(path) - 1 - path.index(node) for path in paths if node in path)
            for paths in (above, beside)
        )
        best = max(best, (depth, 2 * depth / (2 * depth + edges)))
    return best[1]


def nltk_seconds(
    wordnet: wn.WordNet, folder: Path, classes: list[int], pairs: list[tuple[int, int]]
) -> float:
    reader = nltk_reader(wordnet, folder)
    synsets = [reader.synset_from_pos_and_offset("n", int(wordnet.offsets[i])) for i in classes]
    start = time.perf_counter()
    for i, j in pairs:
        synsets[i].wup_similarity(synsets[j])
    return time.perf_counter() - start


def nltk_reader(wordnet: wn.WordNet, folder: Path) -> Any:
    """Return nltk's WordNet on a copy of our files, which lack a list of lexicographer files."""
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    for file in wordnet.folder.iterdir():
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
    if not (folder / "lexnames").exists():
        (folder / "lexnames").write_text("".join(f"{i}\tnoun.{i}\t1\n" for i in range(45)))

    class Reader(WordNetCorpusReader):
        """A reader that maps to no other WordNet: Debian's files do not state their version."""

        def map_wn(self, version: str = "wordnet") -> None:
            return None

    # nltk reads only below these folders.
    nltk.data.path.append(str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Reader(str(folder), None)
