"""Dawid–Skene on a real crowd and on a million answers, with crowd-kit beside it.

`python -m benchmarks.bench_aggregation [--answers N]`. Bluebirds: 39 people, 108 images, 4,212
answers, truth. The million: 10,000 people, 200,000 questions, two-coin people of 0.6 to 0.95.
crowd-kit runs until its own rule stops it; ours makes as many iterations, without priors, and the
log-likelihoods of both are computed by the same function. Machine code is compiled before the
clock starts; ours is the median of three runs, crowd-kit runs once. One thread.
"""

import argparse
import csv
import math
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import sized
from labeling.estimators.aggregation import Answers, majority
from labeling.estimators.agreement import calibration_bins
from labeling.estimators.dawid_skene import dawid_skene, fit, pooled_prior
from labeling.estimators.vote_tables import learn_vote_tables

BLUEBIRDS = Path(__file__).resolve().parents[2] / "shared" / "data" / "bluebirds"
PEOPLE, QUESTIONS = sized(10_000, 50), sized(200_000, 400)
DRAWS = sized(100, 2)
VOTES = 5


def main(answers: int = sized(1_000_000, 2_000)) -> list[dict[str, Any]]:
    rows = [*on_bluebirds(), *on_many(answers), *on_tables()]
    return [dict(zip(("name", "target", "measured", "ok"), row, strict=True)) for row in rows]


def on_bluebirds() -> list[tuple[str, str, str, bool | None]]:
    if not BLUEBIRDS.is_dir():
        return [("Bluebirds", "", "the data is not here", None)]
    answers, truth = bluebirds()
    right = int((fit(answers).labels == truth).sum())
    plain = int((majority(answers)[0] == truth).sum())
    exact = exactly(answers.annotators, answers.items, answers.labels, sizes_of(answers), 100)
    theirs, _ = crowd_kit(answers.annotators, answers.items, answers.labels, 100, -math.inf)
    apart = float(np.abs(theirs["posteriors"] - exact.posteriors).max())
    return [
        ("Bluebirds, Dawid–Skene", "≥ 96 of 108", f"{right} (majority {plain})", right >= 96),
        ("… posteriors from crowd-kit's", "≤ 1e-6", f"{apart:.1e}, 100 iterations", apart <= 1e-6),
        *on_few_votes(answers, truth),
    ]


def bluebirds() -> tuple[Answers, Any]:
    with open(BLUEBIRDS / "answers.csv", newline="") as file:
        answers = Answers.from_rows(
            (row["annotator"], row["image"], row["answer"]) for row in csv.DictReader(file)
        )
    with open(BLUEBIRDS / "truth.csv", newline="") as file:
        known = {row["image"]: row["answer"] for row in csv.DictReader(file)}
    return answers, np.array([answers.classes.index(known[name]) for name in answers.item_names])


def few_votes(answers: Answers, seed: int) -> Answers:
    """So many random votes of each image."""
    order = np.lexsort((np.random.default_rng(seed).random(len(answers)), answers.items))
    items = answers.items[order]
    rows = np.sort(order[np.arange(len(items)) - np.searchsorted(items, items) < VOTES])
    return Answers(
        answers.annotators[rows],
        answers.items[rows],
        answers.labels[rows],
        answers.annotator_names,
        answers.item_names,
        answers.classes,
    )


# Dirichlet pseudo-counts beside the default: flat, like the crowd, better than chance.
PRIORS: dict[str, Callable[[Answers], Any]] = {
    "0.001": lambda few: 0.001,
    "1": lambda few: 1.0,
    "the crowd's, 2": lambda few: pooled_prior(few, 2.0),
    "2 on, 1 off the diagonal": lambda few: np.array([[2.0, 1.0], [1.0, 2.0]]),
}


def on_few_votes(answers: Answers, truth: Any) -> list[tuple[str, str, str, bool | None]]:
    draws = [few_votes(answers, seed) for seed in range(DRAWS)]
    found = [fit(few) for few in draws]
    right = np.concatenate([one.labels == truth for one in found])
    stated = np.concatenate([one.posteriors.max(axis=1) for one in found])
    ours = right.mean()
    others = np.mean([(majority(few)[0] == truth).mean() for few in draws])
    off = calibration_bins(stated, right)["error"]
    with_priors = []
    for name, prior in PRIORS.items():
        shares = [(fit(few, confusion_prior=prior(few)).labels == truth).mean() for few in draws]
        with_priors.append(f"{name}: {np.mean(shares):.3f}")
    return [
        (f"… {VOTES} votes, mean of {DRAWS} draws", "≥ 0.75", f"{ours:.4f}", ours >= 0.75),
        ("… above majority", "≥ 0.03", f"{ours - others:.4f}", ours - others >= 0.03),
        ("… with other priors", "none", "; ".join(with_priors), None),
        (
            "… what the posteriors state",
            "none",
            f"{stated.mean():.3f} (calibration error {off:.3f})",
            None,
        ),
    ]


def on_many(count: int) -> list[tuple[str, str, str, bool | None]]:
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
    other = likelihood(people, items, labels, theirs["priors"], theirs["confusions"])
    same = mine >= other - 1e-6 * abs(other)
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
        (
            f"Dawid–Skene, {count:,} answers, crowd-kit's {iterations} iterations",
            "≥ 10 times",
            f"{ratio:.0f} times ({slow:.2f} s and {fast:.3f} s)",
            ratio >= 10 and same,
        ),
        ("… log-likelihood, ours less theirs", "≥ 0", f"{mine - other:+.2e} of {other:.0f}", same),
        (
            "… until it gains less than 1e-6",
            "none",
            f"{until:.1f} s, {whole.iterations} iterations, {right:.1%} right",
            None,
        ),
        ("… memory for an answer", "none", f"{memory:.0f} B beyond the input", None),
    ]


def made_crowd(count: int) -> tuple[Any, Any, Any, Any]:
    """Each question gets as many votes as the next, all from different people."""
    rng = np.random.default_rng(0)
    items = np.sort(np.arange(count) % QUESTIONS).astype(np.int32)
    # People in steps that are never 0 modulo their number: nobody twice on a question.
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


def sizes_of(answers: Answers) -> dict[str, int]:
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
        found = DawidSkene(n_iter=iterations, tol=tolerance).fit(data)
    errors = found.errors_.sort_index(axis=1)
    confusions = np.full((int(people.max()) + 1, 2, 2), 1e-10)
    workers, answers = (errors.index.get_level_values(name) for name in ("worker", "label"))
    confusions[workers, :, answers] = errors.to_numpy()
    return {
        "posteriors": found.probas_.sort_index().sort_index(axis=1).to_numpy(),
        "priors": found.priors_.sort_index().to_numpy(),
        "confusions": confusions,
    }, len(found.loss_history_)


def likelihood(people: Any, items: Any, labels: Any, priors: Any, confusions: Any) -> float:
    joint = np.log(priors) + np.zeros((int(items.max()) + 1, 1))
    for truth in (0, 1):
        logs = np.log(confusions[people, truth, labels])
        joint[:, truth] += np.bincount(items, weights=logs)
    return float(np.logaddexp(joint[:, 0], joint[:, 1]).sum())


def on_tables() -> list[tuple[str, str, str, bool | None]]:
    rng = np.random.default_rng(0)
    good = rng.random(30_000) < 0.5
    yes = rng.binomial(10, np.where(good, 0.9, 0.1))
    topics = [f"c{at % 1000}" for at in range(30_000)]
    start = time.perf_counter()
    learn_vote_tables(yes, 10 - yes, good, topics, size=9)
    took = time.perf_counter() - start
    return [("vote tables of 1,000 classes, 30 images each", "none", f"{took:.2f} s", None)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, default=1_000_000)
    options = parser.parse_args()
    from benchmarks.__main__ import render

    print(render(main(options.answers)))
