"""A question graph of 1,000 leaves replayed over images, against a plain loop in the same run.

`python -m benchmarks.bench_questions [--images N]`. The plain loop is Algorithm 1 line by line
(Russakovsky et al. 2015), run from the start for every image with dicts and sets, and in safe mode
the same with "closed when all parents are no". Both replay the same answers and must agree.
"""

import argparse
import functools
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks import sized
from labeling.question_graph import replaying
from labeling.question_graph.replaying import Graph
from labeling.simulation import simulating_queries

Answers = Sequence[tuple[str, str]]

LEAVES = 1_000
PRESENT = 2.8
ROUNDS = sized(5, 1)
PLAIN = sized(200, 10)
# A campaign looks at an image again after each of its answers.
IMAGES = sized(100_000, 100)
TARGET_TIMES = 5.0


def main(images: int = sized(2_000, 20)) -> list[dict[str, Any]]:
    """Rows {"name", "target", "measured", "ok"}."""
    graph = thousand_leaves()
    rows = []
    for mode in replaying.MODES:
        answered = _answers(graph, images, mode)
        for answers in answered[:50]:
            state = replaying.replay(graph, answers, mode)
            labels, candidates = plain(graph, mode, answers)
            assert {n: v for n, (v, _) in state.settled.items()} == labels
            assert state.candidates == candidates
        ours, theirs = _race(
            functools.partial(_ours, graph, mode), functools.partial(plain, graph, mode), answered
        )
        name = f"replay of an image, 1,000 leaves, {mode}"
        times = theirs / ours
        rows += [
            (
                f"{name}, against Algorithm 1 in a plain loop",
                "≥ 5 times",
                f"{times:.1f} times",
                times >= TARGET_TIMES,
            ),
            ("… an image", "none", f"{ours * 1e3:.3f} ms", None),
            (f"… of {IMAGES:,} images", "none", f"{ours * IMAGES:.1f} s", None),
        ]
    return [dict(zip(("name", "target", "measured", "ok"), row, strict=True)) for row in rows]


def thousand_leaves(seed: int = 0) -> Graph:
    """20 roots, 180 questions below them, 1,000 classes; a tenth of them have two parents."""
    chance = np.random.default_rng(seed)
    nodes: list[dict[str, Any]] = [{"id": f"r{i}", "question": f"r{i}"} for i in range(20)]
    for i in range(180):
        nodes.append({"id": f"m{i}", "question": f"m{i}", "parents": [f"r{i % 20}"]})
    for i in range(LEAVES):
        parents = [f"m{i % 180}"] + ([f"m{(i + 7) % 180}"] if chance.random() < 0.1 else [])
        nodes.append({"id": f"l{i}", "question": f"l{i}", "parents": parents, "class": f"c{i}"})
    return replaying.build({"nodes": nodes})


def _answers(graph: Graph, images: int, mode: str) -> list[Answers]:
    """The answers of images at whatever stage: a part of those that it takes, truthful."""
    chance = np.random.default_rng(0)
    setting = simulating_queries.Setting(PRESENT, 0, mode, "breadth", images)
    found: list[Answers] = []
    for truth, said in simulating_queries.draw(graph, setting):
        asked, _ = simulating_queries.scan(graph, said, mode)
        for row in range(len(truth)):
            places = np.flatnonzero(asked[row])[: chance.integers(1, int(asked[row].sum()) + 1)]
            found.append([(graph.names[p], "yes" if truth[row, p] else "no") for p in places])
    return found


def _ours(graph: Graph, mode: str, answers: Answers) -> list[str]:
    return replaying.replay(graph, answers, mode).candidates


def plain(graph: Graph, mode: str, answers: Answers) -> tuple[dict[str, str], list[str]]:
    """(labels, candidates) by Algorithm 1 with dicts and sets."""
    labels: dict[str, str] = {}
    candidates = set(graph.roots)
    for name, value in answers:
        labels[name] = value
        candidates.discard(name)
        if value == "yes":
            candidates.update(c for c in graph.node(name).children if c not in labels)
            continue
        todo = list(graph.node(name).children)
        while todo:
            node = graph.node(todo.pop())
            if node.id in labels:
                continue
            if mode == "safe" and any(labels.get(parent) != "no" for parent in node.parents):
                continue
            labels[node.id] = "no"
            candidates.discard(node.id)
            todo += node.children
    return labels, sorted(candidates, key=graph.index.__getitem__)


def _race(
    ours: Callable[[Answers], Any], theirs: Callable[[Answers], Any], answered: Sequence[Answers]
) -> tuple[float, float]:
    """Seconds an image, each the median of rounds that alternate."""
    taken: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(ROUNDS):
        for side, run, some in ((0, ours, answered), (1, theirs, answered[:PLAIN])):
            taken[side].append(_seconds(run, some) / len(some))
    return statistics.median(taken[0]), statistics.median(taken[1])


def _seconds(run: Callable[[Answers], Any], answered: Iterable[Answers]) -> float:
    start = time.perf_counter()
    for answers in answered:
        run(answers)
    return time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2_000)
    for line in main(parser.parse_args().images):
        print(line)
