"""Crowds for the tests of aggregation: Bluebirds, and made ones."""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from labeling.estimators.aggregation import AnswerTable
from tests.conftest import skip_or_fail

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
BLUEBIRDS = DATA / "bluebirds"


def bluebirds() -> tuple[AnswerTable, NDArray[np.int32]]:
    """Return 39 people's 4,212 answers to 108 images, and the right label of each image."""
    return real_crowd("bluebirds")


def real_crowd(folder: str) -> tuple[AnswerTable, NDArray[np.int32]]:
    """Return the answers in a folder of the data, and the right label of each image, or skip."""
    if not (DATA / folder).is_dir():
        skip_or_fail(f"the answers of {folder} are not in {DATA}")
    with open(DATA / folder / "answers.csv", newline="") as file:
        answers = AnswerTable.from_rows(
            (row["annotator"], row["image"], row["answer"]) for row in csv.DictReader(file)
        )
    with open(DATA / folder / "truth.csv", newline="") as file:
        known = {row["image"]: row["answer"] for row in csv.DictReader(file)}
    truth = [answers.classes.index(known[name]) for name in answers.item_names]
    return answers, np.array(truth, np.int32)


def votes_of_each(answers: AnswerTable, votes: int, seed: int) -> AnswerTable:
    """So many random answers of each item."""
    draw = np.random.default_rng(seed).random(len(answers))
    order = np.lexsort((draw, answers.items))
    items = answers.items[order]
    rank = np.arange(len(items)) - np.searchsorted(items, items)
    return part(answers, np.sort(order[rank < votes]))


def part(answers: AnswerTable, rows: NDArray[np.integer]) -> AnswerTable:
    return AnswerTable(
        answers.annotators[rows],
        answers.items[rows],
        answers.labels[rows],
        answers.annotator_names,
        answers.item_names,
        answers.classes,
    )


@dataclass(frozen=True)
class Crowd:
    """A made crowd, as arrays for dawid_skene (`sizes` are its keywords)."""

    annotators: NDArray[np.int32]
    items: NDArray[np.int32]
    labels: NDArray[np.int32]
    sizes: dict[str, int]
    truth: NDArray[np.int32]
    confusions: NDArray[np.float64]


def crowd(
    seed: int, people: int = 12, items: int = 60, classes: int = 3, share: float = 0.5
) -> Crowd:
    """Random people, who answer a random share of the items each once, rows in random order."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items).astype(np.int32)
    alphas = np.ones((classes, classes)) + 5 * np.eye(classes)
    confusions = np.stack([[rng.dirichlet(row) for row in alphas] for _ in range(people)])
    who, chosen = np.nonzero(rng.random((people, items)) < share)
    order = rng.permutation(len(who))
    who, chosen = who[order].astype(np.int32), chosen[order].astype(np.int32)
    cumulated = confusions[who, truth[chosen]].cumsum(axis=1)
    answers = (rng.random(len(who))[:, None] > cumulated[:, :-1]).sum(axis=1).astype(np.int32)
    sizes = {"n_annotators": people, "n_items": items, "n_classes": classes}
    return Crowd(who, chosen, answers, sizes, truth, confusions)
