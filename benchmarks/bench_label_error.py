"""The error that methods state for their labels, and the real one, on two crowds with known truth.

`python -m benchmarks label_error`. Bluebirds (39 people, 108 images) and Dogs (807 images, four
classes). crowd-kit's methods state the mean of 1 − p over their labels, p the probability they give
the label; they get all answers and no gold, with their own settings (MACE with the seed 0). Ours,
with a fifth of the images as gold, is the mean over draws of the labels outside the gold.
"""

import warnings
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import Row, row, sized
from benchmarks.bench_aggregation import BLUEBIRDS, answers_of
from labeling.simulation.aggregate_methods import METHODS, AggregationTask, errors_of

CROWDS = {"Bluebirds": BLUEBIRDS, "Dogs": BLUEBIRDS.parent / "crowds" / "dogs"}
DRAWS = sized(40, 1)
ROUNDS = sized(None, 1)


def main() -> list[Row]:
    return [line for name, folder in CROWDS.items() for line in on_crowd(name, folder)]


def on_crowd(name: str, folder: Path) -> list[Row]:
    if not folder.is_dir():
        return [row(name, "the data is not here")]
    answers, truth = answers_of(folder)
    rows = [
        row(f"{name}, crowd-kit's {method}", words(np.mean(labels == truth), 1 - mean))
        for method, labels, mean in crowd_kit(answers)
    ]
    for method in ("majority", "dawid-skene"):
        outcome = METHODS[method](task(answers, np.full(len(truth), -1)))
        sure = np.nanmax(outcome.probabilities, axis=1).mean()
        stated = words(np.mean(outcome.labels == truth), 1 - sure)
        rows.append(row(f"{name}, our {method}, its own probabilities", stated))
        stated, real = np.mean([with_gold(answers, truth, method, s) for s in range(DRAWS)], axis=0)
        rows.append(
            row(
                f"{name}, our {method}, error measured on 20 % gold",
                words(1 - real, stated),
                "stated within 25 % of real",
                0.8 <= stated / real <= 1.25,
            )
        )
    return rows


def words(accuracy: float, stated: float) -> str:
    return f"{accuracy:.3f} right; error {stated:.4f} stated, {1 - accuracy:.3f} real"


def task(answers: Any, known: Any) -> AggregationTask:
    gold = Path("gold.csv") if (known >= 0).any() else None
    known = known.astype(np.int32)
    return AggregationTask(Path(), answers, {}, gold, known, {"prior": 0.01, "yes": None})


def with_gold(answers: Any, truth: Any, method: str, seed: int) -> tuple[float, float]:
    """Return the stated and the real error of the labels outside a fifth drawn as gold."""
    drawn = np.random.default_rng(seed).choice(len(truth), len(truth) // 5, replace=False)
    known = np.full(len(truth), -1)
    known[drawn] = truth[drawn]
    outcome = METHODS[method](task(answers, known))
    stated, _ = errors_of(task(answers, known), outcome, method)
    assert stated.value is not None
    return stated.value, float((outcome.labels != truth)[known < 0].mean())


def crowd_kit(answers: Any) -> list[tuple[str, Any, float]]:
    """Return each method with its labels and the mean probability that it gives them."""
    import pandas as pd
    from crowdkit.aggregation import GLAD, MACE, OneCoinDawidSkene, Wawa

    data = pd.DataFrame(
        {"worker": answers.annotators, "task": answers.items, "label": answers.labels}
    )
    rows = []
    # crowd-kit 1.4.2 asks scikit-learn 1.9 whether Wawa is fitted, in a way that fails.
    with patch("crowdkit.aggregation.classification.wawa.check_is_fitted"):
        for method in (OneCoinDawidSkene(), GLAD(), MACE(random_state=0), Wawa()):
            if ROUNDS is not None and hasattr(method, "n_iter"):
                method.n_iter = ROUNDS
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table = method.fit_predict_proba(data).sort_index()
            labels = table.idxmax(axis=1).to_numpy()
            rows.append((type(method).__name__, labels, float(table.max(axis=1).mean())))
    return rows
