"""Share of wrong labels among those that the label audit sends to people again.

`python -m benchmarks label_audit`. A simulated release: 2,000 images of 50 classes, 5 % of the
labels flipped at random, three classifiers that are right on 75 % and err together on hard images.
Bluebirds and Dogs: five votes of each image, their majority as the label, no classifier; the
interval is of 200 resamples of the images.
"""

import numpy as np
from numpy.typing import NDArray

from benchmarks import Row, row, sized
from benchmarks.bench_aggregation import answers_of
from benchmarks.bench_label_error import CROWDS
from evaluation.scoring.label_audit import doubts

SEEDS, RESAMPLES, DRAWS = sized(20, 1), sized(200, 2), sized(10, 1)
IMAGES, CLASSES, VOTES, SHARE = 2_000, 50, 5, 10


def main() -> list[Row]:
    shares = [flipped_found(seed) for seed in range(SEEDS)]
    words = f"{np.mean(shares):.3f}, least {min(shares):.3f} of {SEEDS} seeds"
    rows = [row("5 % flipped, 3 classifiers: found by re-asking 10 %", words, "≥ 0.60")]
    rows[0]["ok"] = bool(np.mean(shares) >= 0.6)
    for name, folder in CROWDS.items():
        if not folder.is_dir():
            rows.append(row(name, "the data is not here"))
            continue
        answers, truth = answers_of(folder)
        size, classes = len(truth), len(answers.classes)
        votes = np.full((size, answers.annotators.max() + 1), -1)
        votes[answers.items, answers.annotators] = answers.labels
        whole = np.arange(size)
        precision, chance = _mean([on_votes(votes, truth, classes, whole, s) for s in range(SEEDS)])
        ratios = [
            np.divide(*_mean([_resampled(votes, truth, classes, n, s) for s in range(DRAWS)]))
            for n in range(RESAMPLES)
        ]
        low, high = np.percentile(ratios, [2.5, 97.5])
        ratio = precision / chance
        measured = f"{precision:.2f} wrong of those, {chance:.2f} of all: {ratio:.2f} × "
        measured += f"({low:.2f} to {high:.2f})"
        rows.append(row(f"{name}, votes only: 10 % re-asked", measured, "≥ 2 ×", ratio >= 2))
    return rows


def flipped_found(seed: int) -> float:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, CLASSES, IMAGES)
    flipped = rng.permutation(IMAGES) < IMAGES // 20
    labels = np.where(flipped, (truth + rng.integers(1, CLASSES, IMAGES)) % CLASSES, truth)
    hardness = rng.beta(1.2, 3, IMAGES)
    parts = []
    for rater in range(3):
        wrong = rng.random(IMAGES) < hardness * 0.25 / hardness.mean()
        # Most errors are with one lookalike of each class.
        alike = (truth + 1 + truth * 7 % (CLASSES - 1)) % CLASSES
        answer = np.where(rng.random(IMAGES) < 0.6, alike, rng.integers(0, CLASSES, IMAGES))
        answer = np.where(wrong, answer, truth)
        parts.append((np.full(IMAGES, rater), np.arange(IMAGES), answer))
    raters, items, answers = (np.concatenate(part) for part in zip(*parts, strict=True))
    first = doubts(labels, raters, items, answers, CLASSES).ranked()[: IMAGES // SHARE]
    return float(flipped[first].sum() / flipped.sum())


def on_votes(
    votes: NDArray[np.int64],
    truth: NDArray[np.int32],
    classes: int,
    rows: NDArray[np.int64],
    seed: int,
) -> tuple[float, float]:
    """Return the share of wrong labels in the most doubtful tenth, and in all.

    votes: (I, A) the answer of each person, -1 for none. rows: the images, perhaps repeatedly.
    """
    rng = np.random.default_rng(seed)
    answers, right = votes[rows], truth[rows]
    order = np.argsort(np.where(answers >= 0, rng.random(answers.shape), 2), axis=1)[:, :VOTES]
    items = np.repeat(np.arange(len(rows)), order.shape[1])
    raters, values = order.ravel(), np.take_along_axis(answers, order, axis=1).ravel()
    there = values >= 0
    items, raters, values = items[there], raters[there], values[there]
    counts = np.zeros((len(rows), classes))
    np.add.at(counts, (items, values), 1)
    labels = (counts + 0.5 * rng.random(counts.shape)).argmax(axis=1)
    first = doubts(labels, raters, items, values, classes).ranked()[: max(1, len(rows) // SHARE)]
    wrong = labels != right
    return float(wrong[first].mean()), float(wrong.mean())


def _resampled(
    votes: NDArray[np.int64], truth: NDArray[np.int32], classes: int, number: int, seed: int
) -> tuple[float, float]:
    rows = np.random.default_rng(number).integers(0, len(truth), len(truth))
    return on_votes(votes, truth, classes, rows, 1_000 * number + seed)


def _mean(pairs: list[tuple[float, float]]) -> NDArray[np.float64]:
    return np.mean(pairs, axis=0)
