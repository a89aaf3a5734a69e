"""A question graph of 1,000 classes: opened and followed up on many images, and replayed.

`python -m benchmarks hierarchy [--size IMAGES]`. On a throwaway database two steps are timed and
their queries counted: opening the first questions of all images, and following up a consensus on
one question of every image (three in ten yes, which opens ten questions each). Beside them the
plain way, which takes one image after the other, on a sample. Then answers are replayed beside
Algorithm 1 line by line (Russakovsky et al. 2015), run from the start for every image with dicts
and sets, and in safe mode the same with "closed when all parents are no". Both must agree.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import Row, own_process, row, sized
from labeling.question_graph import replaying
from labeling.question_graph.replaying import QuestionGraph
from labeling.simulation import simulating_queries

# 9 roots, 90 questions below them, 1,000 classes below those.
ROOTS, BELOW, LEAVES = 9, 10, sized(1_000, 100)
SAMPLE = sized(200, 20)
# At least this many images for each query.
TARGET = 10
REPLAYED, PLAIN, ROUNDS = sized(2_000, 20), sized(200, 10), sized(5, 1)
TARGET_TIMES = 5.0
PRESENT = 2.8
Answers = Sequence[tuple[str, str]]


def main(
    images: int = sized(100_000, 500), databases: tuple[str, ...] = ("sqlite", "postgres")
) -> list[Row]:
    """Return the rows; without a PostgreSQL server, its rows are missing."""

    def opened(folder: str, url: str | None) -> list[Row]:
        return own_process.run("bench_hierarchy", folder, "measure", images, url)

    replayed = [replay_row(replaying.build(graph()), mode) for mode in replaying.MODES]
    return [*own_process.on_each(databases, opened), *replayed]


def graph() -> dict[str, Any]:
    """Return the raw graph: three levels, every class below one question, some below two."""
    roots = [{"id": f"r{root}", "question": f"something of group {root}"} for root in range(ROOTS)]
    inner = [
        {"id": f"r{root}-{i}", "question": f"part {i} of group {root}", "parents": [f"r{root}"]}
        for root in range(ROOTS)
        for i in range(BELOW)
    ]
    leaves = [
        {
            "id": f"leaf-{leaf}",
            "question": f"a thing of sort {leaf}",
            "class": f"n{leaf:08}",
            "parents": [
                inner[at % len(inner)]["id"] for at in ((leaf,) if leaf % 10 else (leaf, leaf + 7))
            ],
        }
        for leaf in range(LEAVES)
    ]
    return {"nodes": [*roots, *inner, *leaves]}


@dataclass
class Spent:
    """What an action took."""

    seconds: float
    queries: int


def measure(images: int) -> list[Row]:
    """Open and follow up, in a process with Django set up."""
    from benchmarks import worlds
    from labeling.follow_ups import following
    from labeling.graphs import store

    owner, pond = worlds.begin()
    campaign = worlds.campaign(owner, pond, "bench", "hierarchy")
    store.define(campaign, owner, graph())
    worlds.add_images(pond, images)
    opened, opening = _timed(lambda: following.open_images(campaign))
    assert opened == ROOTS * images
    _settle(campaign)
    done, advancing = _timed(lambda: following.advance(campaign))
    assert done.images == images

    sample = worlds.add_images(pond, SAMPLE, first=images)
    plain_opening = _timed(lambda: [following.open_images(campaign, [name]) for name in sample])[1]
    ids = _settle(campaign)
    assert len(ids) == SAMPLE
    plain = _timed(lambda: [following._advance_chunk(campaign.pk, {pk}) for pk in ids])[1]
    size_text = f"{images:,} images, {LEAVES:,} classes"
    return [
        _row(f"open {size_text}", images, opened, opening, plain_opening),
        _row(f"follow up {size_text}", images, done.opened, advancing, plain),
    ]


def _row(name: str, images: int, questions: int, spent: Spent, plain: Spent) -> Row:
    from django.db import connection

    each, plain_each = spent.seconds / images, plain.seconds / SAMPLE
    return row(
        f"{name}, {connection.vendor}",
        f"{questions:,} questions in {spent.seconds:.1f} s, {spent.queries:,} queries (one for "
        f"{images / spent.queries:.0f} images); image by image {plain.queries / SAMPLE:.1f} "
        f"queries an image, {plain_each / each:.0f}× the time",
        f"a query for {TARGET} images or more",
        spent.queries * TARGET <= images,
    )


def _timed(action: Callable[[], Any]) -> tuple[Any, Spent]:
    from django.db import connection

    count = 0

    def counting(execute: Any, *arguments: Any) -> Any:
        nonlocal count
        count += 1
        return execute(*arguments)

    start = time.perf_counter()
    with connection.execute_wrapper(counting):
        result = action()
    return result, Spent(time.perf_counter() - start, count)


def _settle(campaign: Any) -> list[int]:
    """Return the open questions of the first root, settled now: yes on three in ten."""
    from benchmarks import worlds

    questions = list(campaign.questions.filter(topic="r0", state="open").order_by("pk"))
    for value, places in (("yes", range(3)), ("no", range(3, 10))):
        worlds.settle(
            ((question, []) for n, question in enumerate(questions) if n % 10 in places), value
        )
    settled = campaign.questions.filter(topic="r0", state="open")
    settled.update(state="settled", seats_free=0, follow_up=True)
    worlds.end()
    return [question.pk for question in questions]


def replay_row(of: QuestionGraph, mode: str) -> Row:
    answered = _answers(of, mode)
    for answers in answered[:50]:
        state = replaying.replay(of, answers, mode)
        labels, candidates = plain(of, mode, answers)
        assert {n: v for n, (v, _) in state.settled.items()} == labels
        assert state.candidates == candidates
    runs = []
    # Take turns, so that other load affects both.
    for _ in range(ROUNDS):
        ours = _seconds(lambda answers: replaying.replay(of, answers, mode), answered)
        runs.append((ours, _seconds(partial(plain, of, mode), answered[:PLAIN])))
    ours, theirs = (statistics.median(side) for side in zip(*runs, strict=True))
    return row(
        f"replay of an image, {LEAVES:,} leaves, {mode}, against Algorithm 1 in a plain loop",
        f"{theirs / ours:.1f} times; {ours * 1e3:.3f} ms",
        f"≥ {TARGET_TIMES:.0f} times",
        theirs >= TARGET_TIMES * ours,
    )


def _answers(of: QuestionGraph, mode: str) -> list[Answers]:
    """Return truthful answers of images at random stages: each has a part of those it needs."""
    chance = np.random.default_rng(0)
    setting = simulating_queries.Setting(PRESENT, 0, mode, "breadth", REPLAYED)
    answers: list[Answers] = []
    for truth, replies in simulating_queries.draw(of, setting):
        is_asked, _ = simulating_queries.scan(of, replies, mode)
        for image in range(len(truth)):
            places = np.flatnonzero(is_asked[image])[
                : chance.integers(1, is_asked[image].sum() + 1)
            ]
            answers.append([(of.names[p], "yes" if truth[image, p] else "no") for p in places])
    return answers


def plain(of: QuestionGraph, mode: str, answers: Answers) -> tuple[dict[str, str], list[str]]:
    """Return (labels, candidates) by Algorithm 1 with dicts and sets."""
    labels: dict[str, str] = {}
    candidates = set(of.roots)
    for name, value in answers:
        labels[name] = value
        candidates.discard(name)
        if value == "yes":
            candidates.update(c for c in of.node(name).children if c not in labels)
            continue
        todo = list(of.node(name).children)
        while todo:
            node = of.node(todo.pop())
            if node.id in labels:
                continue
            if mode == "safe" and any(labels.get(parent) != "no" for parent in node.parents):
                continue
            labels[node.id] = "no"
            candidates.discard(node.id)
            todo += node.children
    return labels, sorted(candidates, key=of.index.__getitem__)


def _seconds(run: Callable[[Answers], Any], answered: Sequence[Answers]) -> float:
    """Return the time of an image."""
    start = time.perf_counter()
    for answers in answered:
        run(answers)
    return (time.perf_counter() - start) / len(answered)
