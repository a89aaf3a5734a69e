"""Dawid–Skene on a real crowd and on a million answers, with crowd-kit beside it.

`python -m benchmarks aggregation [--size ANSWERS]`. Bluebirds: 39 people, 108 images, 4,212
answers, truth. The million: 10,000 people, 200,000 questions; people are right with probabilities
of 0.6 to 0.95, one for each class. crowd-kit runs until its own rule stops it; ours makes as many
iterations, without priors, and the log-likelihoods of both are computed by the same function.
Machine code is compiled before the clock starts; ours is the median of three runs, crowd-kit runs
once. One thread.
"""

import csv
import math
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Row, row, sized
from labeling.estimators.aggregation import AnswerTable, majority
from labeling.estimators.agreement import calibration_bins
from labeling.estimators.dawid_skene import dawid_skene, fit

BLUEBIRDS = Path(__file__).resolve().parents[2] / "shared" / "data" / "bluebirds"
PEOPLE, QUESTIONS = sized(10_000, 50), sized(200_000, 400)
DRAWS = sized(100, 2)
VOTES = 5


def main(answers: int = sized(1_000_000, 2_000)) -> list[Row]:
    return [*on_bluebirds(), *on_many(answers)]


def on_bluebirds() -> list[Row]:
    if not BLUEBIRDS.is_dir():
        return [row("Bluebirds", "the data is not here")]
    answers, truth = answers_of(BLUEBIRDS)
    right = int((fit(answers).labels == truth).sum())
    plain = int((majority(answers)[0] == truth).sum())
    exact = exactly(answers.annotators, answers.items, answers.labels, sizes_of(answers), 100)
    theirs, _ = crowd_kit(answers.annotators, answers.items, answers.labels, 100, -math.inf)
    apart = float(np.abs(theirs["posteriors"] - exact.posteriors).max())
    return [
        row("Bluebirds, Dawid–Skene", f"{right} (majority {plain})", "≥ 96 of 108", right >= 96),
        row("… posteriors from crowd-kit's", f"{apart:.1e}, 100 turns", "≤ 1e-6", apart <= 1e-6),
        *on_few_votes(answers, truth),
    ]


def answers_of(folder: Path) -> tuple[AnswerTable, Any]:
    """Return the answers of a crowd and the right label of each image."""
    with open(folder / "answers.csv", newline="") as file:
        answers = AnswerTable.from_rows(
            (row["annotator"], row["image"], row["answer"]) for row in csv.DictReader(file)
        )
    with open(folder / "truth.csv", newline="") as file:
        known = {row["image"]: row["answer"] for row in csv.DictReader(file)}
    return answers, np.array([answers.classes.index(known[name]) for name in answers.item_names])


def few_votes(answers: AnswerTable, seed: int) -> AnswerTable:
    """Return VOTES random votes of each image."""
    order = np.lexsort((np.random.default_rng(seed).random(len(answers)), answers.items))
    items = answers.items[order]
    rows = np.sort(order[np.arange(len(items)) - np.searchsorted(items, items) < VOTES])
    return AnswerTable(
        answers.annotators[rows],
        answers.items[rows],
        answers.labels[rows],
        answers.annotator_names,
        answers.item_names,
        answers.classes,
    )


def on_few_votes(answers: AnswerTable, truth: Any) -> list[Row]:
    draws = [few_votes(answers, seed) for seed in range(DRAWS)]
    fits = [fit(few) for few in draws]
    right = np.concatenate([fitted.labels == truth for fitted in fits])
    stated = np.concatenate([fitted.posteriors.max(axis=1) for fitted in fits])
    ours = right.mean()
    others = np.mean([(majority(few)[0] == truth).mean() for few in draws])
    off = calibration_bins(stated, right)["error"]
    return [
        row(f"… {VOTES} votes, mean of {DRAWS} draws", f"{ours:.4f}", "≥ 0.75", ours >= 0.75),
        row("… above majority", f"{ours - others:.4f}", "≥ 0.03", ours - others >= 0.03),
        row("… what the posteriors state", f"{stated.mean():.3f} (calibration error {off:.3f})"),
    ]


def on_many(count: int) -> list[Row]:
    people, items, labels, truth = made_crowd(count)
    sizes = {"n_annotators": PEOPLE, "n_items": QUESTIONS, "n_classes": 2}
    exactly(people[:100], items[:100], labels[:100], sizes, 1)
    start = time.perf_counter()
    theirs, iterations = crowd_kit(people, items, labels, 100, 1e-5)
    slow = time.perf_counter() - start
    took = []
    for _ in range(3):
        start = time.perf_counter()
        ours = exactly(people, items, labels, sizes, iterations)
        took.append(time.perf_counter() - start)
    fast = sorted(took)[1]
    mine = likelihood(people, items, labels, ours.priors, ours.confusions)
    theirs_likelihood = likelihood(people, items, labels, theirs["priors"], theirs["confusions"])
    same = mine >= theirs_likelihood - 1e-6 * abs(theirs_likelihood)
    ratio = slow / fast
    start = time.perf_counter()
    whole = dawid_skene(people, items, labels, **sizes)
    until = time.perf_counter() - start
    tracemalloc.start()
    exactly(people, items, labels, sizes, 3)
    memory = tracemalloc.get_traced_memory()[1] / count
    tracemalloc.stop()
    right = float((whole.labels == truth).mean())
    return [
        row(
            f"Dawid–Skene, {count:,} answers, crowd-kit's {iterations} iterations",
            f"{ratio:.0f} times ({slow:.2f} s and {fast:.3f} s)",
            "≥ 10 times",
            ratio >= 10 and same,
        ),
        row(
            "… log-likelihood, ours less theirs",
            f"{mine - theirs_likelihood:+.2e} of {theirs_likelihood:.0f}",
            "≥ 0",
            same,
        ),
        row(
            "… until it gains less than 1e-6",
            f"{until:.1f} s, {whole.iterations} iterations, {right:.1%} right",
        ),
        row("… memory for an answer", f"{memory:.0f} B beyond the input"),
    ]


def made_crowd(count: int) -> tuple[Any, Any, Any, Any]:
    """Return people, items, labels and truth of a made crowd.

    Each question has as many votes as the next, all from different people.
    """
    rng = np.random.default_rng(0)
    items = np.sort(np.arange(count) % QUESTIONS).astype(np.int32)
    # A question's people are a step apart, never 0 modulo PEOPLE, so nobody votes twice on it.
    rank = np.arange(count) - np.searchsorted(items, items)
    first = rng.integers(0, PEOPLE, QUESTIONS)
    step = rng.integers(1, PEOPLE // (count // QUESTIONS + 1), QUESTIONS)
    people = ((first[items] + rank * step[items]) % PEOPLE).astype(np.int32)
    truth = (rng.random(QUESTIONS) < 0.3).astype(np.int32)
    accuracy = rng.uniform(0.6, 0.95, (PEOPLE, 2))[people, truth[items]]
    labels = np.where(rng.random(count) < accuracy, truth[items], 1 - truth[items])
    order = rng.permutation(count)
    return people[order], items[order], labels[order].astype(np.int32), truth


def exactly(people: Any, items: Any, labels: Any, sizes: dict[str, int], iterations: int) -> Any:
    return dawid_skene(
        people,
        items,
        labels,
        **sizes,
        class_prior=0.0,
        confusion_prior=0.0,
        max_iterations=iterations,
        tolerance=-math.inf,
    )


def sizes_of(answers: AnswerTable) -> dict[str, int]:
    return {
        "n_annotators": len(answers.annotator_names),
        "n_items": len(answers.item_names),
        "n_classes": len(answers.classes),
    }


def crowd_kit(
    people: Any, items: Any, labels: Any, iterations: int, tolerance: float
) -> tuple[dict[str, Any], int]:
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    data = pd.DataFrame({"worker": people, "task": items, "label": labels})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = DawidSkene(n_iter=iterations, tol=tolerance).fit(data)
    errors = fitted.errors_.sort_index(axis=1)
    confusions = np.full((int(people.max()) + 1, 2, 2), 1e-10)
    workers, answers = (errors.index.get_level_values(name) for name in ("worker", "label"))
    confusions[workers, :, answers] = errors.to_numpy()
    return {
        "posteriors": fitted.probas_.sort_index().sort_index(axis=1).to_numpy(),
        "priors": fitted.priors_.sort_index().to_numpy(),
        "confusions": confusions,
    }, len(fitted.loss_history_)


def likelihood(people: Any, items: Any, labels: Any, priors: Any, confusions: Any) -> float:
    joint = np.log(priors) + np.zeros((int(items.max()) + 1, 1))
    for truth in (0, 1):
        logs = np.log(confusions[people, truth, labels])
        joint[:, truth] += np.bincount(items, weights=logs)
    return float(np.logaddexp(joint[:, 0], joint[:, 1]).sum())
