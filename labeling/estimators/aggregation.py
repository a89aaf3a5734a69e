"""Aggregating answers to a question: majority, and Bayes' rule with known skills.

Pure: numpy, no Django. Dawid–Skene is in dawid_skene.py, vote tables in vote_tables.py, agreement
and calibration in agreement.py. Everywhere A annotators, I items, K classes. Classes are sorted
strings, so "the smaller string" is the smaller number; an abstention is not an answer.
"""

import math
from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]

# Probabilities this close are a tie: sums of logs depend on the order in their last digits.
TIE = 1e-9


@dataclass(frozen=True)
class AnswerTable:
    """Answers as numbers, sorted by item, then annotator, with the names of the numbers.

    annotators, items, labels: (N,) int32. Names are sorted strings; an item or annotator with
    abstentions only has a name but no answer.
    """

    annotators: NDArray[np.int32]
    items: NDArray[np.int32]
    labels: NDArray[np.int32]
    annotator_names: tuple[str, ...] = ()
    item_names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return (I, K): how often each item got each label."""
        return vote_counts(self.items, self.labels, len(self.item_names), len(self.classes))

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str, str | None]]) -> "AnswerTable":
        """Return the answers of (annotator, item, answer); an empty answer or None is an
        abstention.

        Raises ValueError where an annotator answers an item twice.

        >>> got = AnswerTable.from_rows([("ann", "b", "yes"), ("bob", "a", "no"), ("ann", "a", "")])
        >>> got.items, got.labels, got.classes
        (array([0, 1], dtype=int32), array([0, 1], dtype=int32), ('no', 'yes'))
        """
        people, items, classes = Numbers(), Numbers(), Numbers()
        codes = array("i")
        for annotator, item, answer in rows:
            codes.extend((people(annotator), items(item), classes(answer) if answer else -1))
        return cls.from_codes(np.array(codes, np.int32).reshape(-1, 3), people, items, classes)

    @classmethod
    def from_codes(
        cls,
        codes: NDArray[np.int32],
        people: "Numbers",
        items: "Numbers",
        classes: "Numbers",
        repeated: bool = False,
    ) -> "AnswerTable":
        """Return the answers of (N, 3) numbers that `Numbers` gave out; label -1 is an abstention.

        Raises AnsweredTwice, unless `repeated` lets an annotator answer an item more than once.
        """
        annotator_names, new_annotators = people.sorted()
        item_names, new_items = items.sorted()
        class_names, new_classes = classes.sorted()
        annotators, places = new_annotators[codes[:, 0]], new_items[codes[:, 1]]
        order = np.lexsort((annotators, places))
        annotators, places, labels = annotators[order], places[order], codes[order, 2]
        twice = (annotators[1:] == annotators[:-1]) & (places[1:] == places[:-1])
        if not repeated and twice.any():
            row = int(order[1:][twice].min())
            raise AnsweredTwice(
                row,
                int(order[:-1][twice & (order[1:] == row)][0]),
                annotator_names[new_annotators[codes[row, 0]]],
                item_names[new_items[codes[row, 1]]],
            )
        is_answered = labels >= 0
        return cls(
            annotators[is_answered],
            places[is_answered],
            new_classes[labels[is_answered]],
            annotator_names,
            item_names,
            class_names,
        )


class AnsweredTwice(ValueError):
    """An annotator answers an item in two rows (0-based): `row` and, before it, `first`."""

    def __init__(self, row: int, first: int, annotator: str, item: str) -> None:
        super().__init__(f"annotator {annotator!r} answers {item!r} twice (rows {first} and {row})")
        self.row, self.first, self.annotator, self.item = row, first, annotator, item


class Numbers:
    """Mapping that gives each new string the next number."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, name: str) -> int:
        return self.known.setdefault(name, len(self.known))

    def sorted(self) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """Return the strings sorted, and for each assigned number its string's index among them."""
        names = sorted(self.known)
        places = np.empty(len(names), np.int32)
        places[[self.known[name] for name in names]] = np.arange(len(names), dtype=np.int32)
        return tuple(names), places


def vote_counts(items: Ints, labels: Ints, n_items: int, n_classes: int) -> NDArray[np.int64]:
    """Return (I, K): how often each item got each label."""
    cells = items.astype(np.int64) * n_classes + labels
    return np.bincount(cells, minlength=n_items * n_classes).reshape(n_items, n_classes)


def majority(
    answers: AnswerTable,
    n_items: int | None = None,
    n_classes: int | None = None,
    prior: ArrayLike | None = None,
) -> tuple[NDArray[np.int32], Floats, NDArray[np.bool_]]:
    """Return labels (I,), the shares of the votes (I, K), and which items were tied (I,).

    A tie goes to the class with the larger prior, by default the class with more answers over all
    items; then to the smaller string. An item without answers has label -1, shares NaN.
    """
    n_items = len(answers.item_names) if n_items is None else n_items
    n_classes = len(answers.classes) if n_classes is None else n_classes
    counts = vote_counts(answers.items, answers.labels, n_items, n_classes)
    with np.errstate(invalid="ignore"):
        shares = counts / counts.sum(axis=1, keepdims=True)
    commonness = counts.sum(axis=0) if prior is None else np.asarray(prior, float)
    labels, ties = pick(shares, commonness)
    return labels, shares, ties


def pick(
    probabilities: Floats, commonness: ArrayLike
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the most probable class of each item (I,) and whether it was tied (I,).

    Ties go to the commoner class, then to the smaller string. -1 where the row is NaN.
    """
    n_items, n_classes = probabilities.shape
    if not n_classes:
        return np.full(n_items, -1, np.int32), np.zeros(n_items, bool)
    # Rank of each class among ties, lowest first. Frequencies are rounded as probabilities are.
    weight = np.asarray(commonness, float)
    weight = np.round(weight / max(float(weight.sum()), 1e-300), 9)
    rank = np.empty(n_classes)
    rank[np.lexsort((np.arange(n_classes), -weight))] = np.arange(n_classes)
    best = probabilities >= probabilities.max(axis=1, keepdims=True) - TIE
    labels = np.where(best, rank, np.inf).argmin(axis=1).astype(np.int32)
    labels[np.isnan(probabilities).any(axis=1)] = -1
    return labels, best.sum(axis=1) > 1


def vote_gains(hit: float, false_alarm: float) -> tuple[float, float]:
    """Return what a yes and what a no adds to the log odds of "present".

    hit: P(yes | present), false_alarm: P(yes | absent), both strictly between 0 and 1.
    """
    return math.log(hit / false_alarm), math.log((1 - hit) / (1 - false_alarm))


def posterior_binary(prior: float, gains: Iterable[float]) -> float:
    """Return P(present | votes): the prior plus each vote's gain; exact in any order.

    >>> yes, no = vote_gains(0.8, 0.1)
    >>> round(posterior_binary(0.3, [yes, yes]), 4)
    0.9648
    """
    odds = math.fsum([math.log(prior / (1 - prior)), *gains])
    # Either branch keeps exp from overflowing.
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))


def posterior(
    annotators: Ints, items: Ints, labels: Ints, *, n_items: int, confusions: Floats, prior: Floats
) -> Floats:
    """Return (I, K): P(class | the item's votes) by Bayes' rule with known skills.

    confusions: (A, K, K), row the truth, column the answer. prior: (K,), or (I, K) by item. An item
    without votes has the prior, as has one whose votes make every class impossible.
    """
    n_classes = confusions.shape[-1]
    with np.errstate(divide="ignore"):
        logs, log_prior = np.log(confusions), np.log(np.asarray(prior, float))
    # One class at a time, so that memory stays at one number per vote.
    scores = np.column_stack(
        [
            np.bincount(items, weights=logs[annotators, truth, labels], minlength=n_items)
            for truth in range(n_classes)
        ]
    )
    return softmax(scores + log_prior, prior)


def softmax(scores: Floats, instead: ArrayLike) -> Floats:
    """Return rows of exp(scores) that sum to 1; `instead` for rows that are all -inf."""
    top = scores.max(axis=1, keepdims=True)
    hopeless = np.isneginf(top)
    weights = np.exp(scores - np.where(hopeless, 0.0, top))
    total = weights.sum(axis=1, keepdims=True)
    return np.where(hopeless, np.asarray(instead, float), weights / np.where(hopeless, 1.0, total))
