"""The methods of `aggregate`: answers, optionally gold, to labels and accuracies of people.

Pure, no Django.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeling.estimators import aggregation, dawid_skene, stated_error, vote_tables
from labeling.estimators.aggregation import AnswerTable, Floats
from labeling.estimators.agreement import krippendorff_alpha
from labeling.files import BadInput

# With more classes than this, probabilities below NEGLIGIBLE are left out of the result.
MANY_CLASSES = 20
NEGLIGIBLE = 1e-6
# A table's cells grow with the square of the votes.
MAX_VOTES = 100
# When Dawid–Skene stops.
LIMITS: dict[str, Any] = {"max_iterations": 1_000, "tolerance": 1e-6}
# Folds of the gold, to measure methods that learn from gold.
FOLDS = 5
# Code of a gold label that nobody gives: all answers to the image are wrong.
UNANSWERED = -2


@dataclass(frozen=True)
class Blind:
    """Labels (I,) and scores (I, K) of a run without gold, or without the gold of each image."""

    labels: NDArray[np.int32]
    scores: Floats


@dataclass(frozen=True)
class AggregationOutcome:
    """The result of a method. labels: (I,), -1 unanswered. accuracies: (A,), NaN unknown.

    blind: None where the method learns from gold and cannot work without.
    """

    labels: NDArray[np.int32]
    probabilities: Floats
    ties: NDArray[np.bool_]
    accuracies: Floats
    settings: dict[str, Any] = field(default_factory=dict)
    confusions: Floats | None = None
    blind: Blind | None = None


@dataclass(frozen=True)
class AggregationTask:
    """The validated input. known: from known_labels."""

    path: Path
    answers: AnswerTable
    topics: dict[str, str]
    gold_path: Path | None
    known: NDArray[np.int32]
    options: dict[str, Any]

    @property
    def teaching(self) -> NDArray[np.bool_]:
        """Return (N,), False for answers to images with a known label that nobody gives."""
        return self.known[self.answers.items] != UNANSWERED


def known_labels(
    answers: AnswerTable, gold: dict[str, str], path: Path | None
) -> NDArray[np.int32]:
    """Return (I,) the gold labels: -1 without one, UNANSWERED if nobody gives that answer.

    Raises BadInput if no image with gold has answers.
    """
    index_of_class = {name: at for at, name in enumerate(answers.classes)}
    known = [
        index_of_class.get(gold[name], UNANSWERED) if name in gold else -1
        for name in answers.item_names
    ]
    if gold and set(known) == {-1}:
        raise BadInput("none of its images has answers", path, None, "check the names of images")
    return np.array(known, np.int32)


def by_majority(task: AggregationTask) -> AggregationOutcome:
    labels, shares, ties = aggregation.majority(task.answers)
    blind = Blind(labels, task.answers.counts.astype(float))
    return AggregationOutcome(labels, shares, ties, _agreeing(task, labels, ties), blind=blind)


def by_dawid_skene(task: AggregationTask) -> AggregationOutcome:
    answers, options, teaching = task.answers, task.options, task.teaching
    settings = {"prior": options["prior"], **LIMITS}
    known = np.maximum(task.known, -1)
    taught = replace(
        answers,
        annotators=answers.annotators[teaching],
        items=answers.items[teaching],
        labels=answers.labels[teaching],
    )
    try:
        fitted = _fitted(taught, options["prior"], known)
        blind = fitted if task.gold_path is None else _fitted(answers, options["prior"], None)
    except dawid_skene.MatricesTooLarge as error:
        raise BadInput(str(error), task.path, None, "use --method majority") from error
    settings |= {
        "start": "majority",
        "iterations": fitted.iterations,
        "converged": fitted.converged,
        "log_likelihood": fitted.log_likelihood,
        "class_prior": dict(zip(answers.classes, fitted.priors.tolist(), strict=True)),
    }
    posteriors, unanswered = fitted.posteriors, task.known == UNANSWERED
    if unanswered.any():
        posteriors[unanswered] = _posterior(task, fitted.confusions, fitted.priors)[unanswered]
    return AggregationOutcome(
        *_of_answered(answers, posteriors, fitted.priors),
        fitted.accuracies * _shares(answers, teaching),
        settings,
        fitted.confusions,
        Blind(blind.labels, stated_error.class_scores(answers, blind)),
    )


def _fitted(
    answers: AnswerTable, prior: float, known: NDArray[np.int32] | None
) -> dawid_skene.DawidSkene:
    """Return Dawid–Skene with the same pseudo-counts for classes and confusions."""
    return dawid_skene.fit(answers, class_prior=prior, confusion_prior=prior, known=known, **LIMITS)


def by_posterior(task: AggregationTask) -> AggregationOutcome:
    """Apply Bayes' rule with the people's confusions on gold.

    A row of a person's confusions is (count + prior) / (total + K × prior); a person without gold
    of that class gets the whole crowd's row. The class prior is the gold's shares.
    """
    answers, prior = task.answers, task.options["prior"]
    n_classes, n_people = len(answers.classes), len(answers.annotator_names)
    met = task.known[answers.items] >= 0
    if not met.any():
        raise BadInput(
            "no annotator gave one of its answers to its images",
            task.gold_path,
            None,
            "give other gold",
        )
    people, labels = answers.annotators[met], answers.labels[met]
    truth = task.known[answers.items[met]]
    cells = (people.astype(np.int64) * n_classes + truth) * n_classes + labels
    counts = np.bincount(cells, minlength=n_people * n_classes**2).reshape(
        n_people, n_classes, n_classes
    )
    crowd = _rates(counts.sum(axis=0), prior, np.full((n_classes, n_classes), 1 / n_classes))
    confusions = _rates(counts, prior, crowd)
    shares = np.bincount(task.known[task.known >= 0], minlength=n_classes) + prior
    shares = shares / shares.sum()
    probabilities = _posterior(task, confusions, shares)
    # Divide by the answers to all gold images, also those with a label that nobody gives.
    judged = task.known[answers.items] != -1
    with np.errstate(invalid="ignore"):
        accuracies = np.einsum("akk->a", counts) / np.bincount(
            answers.annotators[judged], minlength=n_people
        )
    settings = {
        "prior": prior,
        "gold_images": int((task.known != -1).sum()),
        "class_prior": dict(zip(answers.classes, shares.tolist(), strict=True)),
    }
    return AggregationOutcome(
        *_of_answered(answers, probabilities, shares), accuracies, settings, confusions
    )


def by_vote_table(task: AggregationTask) -> AggregationOutcome:
    """Apply P(yes | votes), learned on gold images, or without gold on the majorities of
    all votes.
    """
    answers = task.answers
    yes = _yes_class(task)
    votes = answers.counts.sum(axis=1)
    up = answers.counts[:, yes] if len(answers.classes) else votes
    if votes.max() > MAX_VOTES:
        name = answers.item_names[int(votes.argmax())]
        raise BadInput(
            f"image {name!r} has {votes.max()} votes, tables go to {MAX_VOTES}",
            task.path,
            None,
            "use --method dawid-skene, which gains from every vote",
        )
    good = np.where(task.known < 0, np.nan, task.known == yes) if task.gold_path else None
    topics = [task.topics.get(name, "") for name in answers.item_names]
    try:
        tables = vote_tables.learn_vote_tables(up, votes - up, good, topics, size=int(votes.max()))
    except ValueError as error:
        raise BadInput(
            str(error), task.gold_path or task.path, None, "collect 10 votes on a random sample"
        ) from error
    chance = np.array(
        [
            tables.get(topic, tables[""]).probability(int(y), int(n))
            for topic, y, n in zip(topics, up, votes - up, strict=True)
        ]
    )
    probabilities = np.stack([1 - chance, chance], axis=1)[:, :: 1 if yes else -1]
    probabilities = probabilities[:, : len(answers.classes)]
    labels, probabilities, ties = _of_answered(answers, probabilities, answers.counts.sum(axis=0))
    settings = {
        "yes": answers.classes[yes],
        "calibration_votes": vote_tables.CALIBRATION_VOTES,
        "calibration_images": tables[""].images,
        "learned_from": "gold" if task.gold_path else "majorities",
        "strength": vote_tables.STRENGTH,
        "topics": len(tables) - 1,
    }
    return AggregationOutcome(labels, probabilities, ties, _agreeing(task, labels, ties), settings)


METHODS: dict[str, Callable[[AggregationTask], AggregationOutcome]] = {
    "majority": by_majority,
    "dawid-skene": by_dawid_skene,
    "posterior": by_posterior,
    "vote-table": by_vote_table,
}


def errors_of(
    task: AggregationTask, outcome: AggregationOutcome, method: str
) -> tuple[stated_error.StatedError, dict[str, float]]:
    """Return the stated error of the labels outside the gold, and the error of each of them."""
    votes = task.answers.counts.sum(axis=1).astype(float)
    gold = (votes > 0) & (task.known != -1)
    rest = (votes > 0) & (task.known == -1)
    blind = outcome.blind or _cross_fitted(task, outcome, METHODS[method])
    if blind is None:
        blind, gold = _of_probabilities(outcome.labels, outcome.probabilities), np.zeros_like(gold)
    margins = stated_error.margins_of(blind.scores, outcome.labels)[rest]
    evidence = stated_error.Evidence(
        stated_error.margins_of(blind.scores, blind.labels)[gold],
        votes[gold],
        blind.labels[gold] != task.known[gold],
        "gold",
    )
    stated, model = stated_error.measure(margins, votes[rest], evidence)
    if model is None:
        return stated, {}
    names = (task.answers.item_names[item] for item in np.flatnonzero(rest))
    return stated, dict(zip(names, model.error(margins, votes[rest]).tolist(), strict=True))


def _cross_fitted(
    task: AggregationTask,
    outcome: AggregationOutcome,
    method: Callable[[AggregationTask], AggregationOutcome],
) -> Blind | None:
    """Return labels and scores of a method that learns from gold; those of gold images are learned
    without their fifth of the gold. None if the rest of the gold teaches nothing.
    """
    labels, probabilities = outcome.labels.copy(), outcome.probabilities.copy()
    gold = np.flatnonzero(task.known != -1)
    for first in range(min(FOLDS, len(gold))):
        fold, known = gold[first::FOLDS], task.known.copy()
        known[fold] = -1
        try:
            without = method(replace(task, known=known))
        except BadInput:
            return None
        labels[fold], probabilities[fold] = without.labels[fold], without.probabilities[fold]
    return _of_probabilities(labels, probabilities)


def _of_probabilities(labels: NDArray[np.int32], probabilities: Floats) -> Blind:
    return Blind(labels, np.log(np.maximum(probabilities, 1e-300)))


def report(task: AggregationTask, outcome: AggregationOutcome, method: str) -> dict[str, Any]:
    """Return the result without the accuracy."""
    answers = task.answers
    stated, errors = errors_of(task, outcome, method)
    classes, counts = answers.classes, answers.counts
    answers_by_person = np.bincount(answers.annotators, minlength=len(answers.annotator_names))
    labels = {
        name: classes[label] if label >= 0 else None
        for name, label in zip(answers.item_names, outcome.labels.tolist(), strict=True)
    }
    annotators: dict[str, dict[str, Any]] = {
        name: {"accuracy": None if math.isnan(accuracy) else accuracy, "answers": n}
        for name, accuracy, n in zip(
            answers.annotator_names,
            outcome.accuracies.tolist(),
            answers_by_person.tolist(),
            strict=True,
        )
    }
    if outcome.confusions is not None and len(classes) <= MANY_CLASSES:
        for row, confusion in zip(annotators.values(), outcome.confusions, strict=True):
            row["confusion"] = confusion.tolist()
    return {
        "method": method,
        "settings": outcome.settings,
        "classes": list(classes),
        "images": len(labels),
        "answers": len(answers),
        "ties": int(outcome.ties.sum()),
        "tied": [answers.item_names[item] for item in np.flatnonzero(outcome.ties)],
        "alpha": krippendorff_alpha(counts),
        "labels": labels,
        "probabilities": {
            name: _distribution(classes, row) if label is not None else {}
            for (name, label), row in zip(labels.items(), outcome.probabilities, strict=True)
        },
        "annotators": annotators,
        "stated_error": stated.to_json(),
        **({"error": errors} if errors else {}),
    }


def _distribution(classes: tuple[str, ...], row: Floats) -> dict[str, float]:
    pairs = zip(classes, row.tolist(), strict=True)
    if len(classes) <= MANY_CLASSES:
        return dict(pairs)
    return {name: share for name, share in pairs if share >= NEGLIGIBLE}


def _of_answered(
    answers: AnswerTable, probabilities: Floats, commonness: Any
) -> tuple[NDArray[np.int32], Floats, NDArray[np.bool_]]:
    """Return labels, probabilities and ties; images without answers have none."""
    answered = np.bincount(answers.items, minlength=len(answers.item_names)) > 0
    probabilities = np.where(answered[:, None], probabilities, np.nan)
    labels, ties = aggregation.pick(probabilities, commonness)
    return labels, probabilities, ties


def _posterior(task: AggregationTask, confusions: Floats, prior: Floats) -> Floats:
    answers = task.answers
    return aggregation.posterior(
        answers.annotators,
        answers.items,
        answers.labels,
        n_items=len(answers.item_names),
        confusions=confusions,
        prior=prior,
    )


def _agreeing(task: AggregationTask, labels: NDArray[np.int32], ties: NDArray[np.bool_]) -> Floats:
    """Return (A,) the share of each annotator's answers to untied images that equal the label."""
    answers = task.answers
    right = task.teaching & (answers.labels == labels[answers.items])
    return _shares(answers, right, ~ties[answers.items])


def _shares(
    answers: AnswerTable, hits: NDArray[np.bool_], judged: NDArray[np.bool_] | None = None
) -> Floats:
    """Return (A,) the share of hits among each annotator's judged answers; NaN without any."""
    judged = np.ones(len(answers), bool) if judged is None else judged
    n_people = len(answers.annotator_names)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            np.bincount(answers.annotators[hits & judged], minlength=n_people)
            / np.bincount(answers.annotators[judged], minlength=n_people)
        )


def _rates(counts: NDArray[Any], prior: float, instead: Floats) -> Floats:
    """Return rows of counts with pseudo-counts as shares; an empty row becomes that of
    `instead`.
    """
    total = counts.sum(axis=-1, keepdims=True)
    n_classes = counts.shape[-1]
    seen = (counts + prior) / np.maximum(total + n_classes * prior, 1e-300)
    return np.where(total > 0, seen, instead)


def _yes_class(task: AggregationTask) -> int:
    classes, chosen_class = task.answers.classes, task.options["yes"]
    if len(classes) > 2:
        raise BadInput(
            f"there are {len(classes)} different answers; a vote table needs exactly yes and no",
            task.path,
            None,
            "use --method dawid-skene",
        )
    if chosen_class is None:
        # "yes" > "no", "1" > "0", "true" > "false".
        return len(classes) - 1
    if chosen_class not in classes:
        raise BadInput(
            f"nobody answers {chosen_class!r}", task.path, None, f"--yes is one of {classes}"
        )
    return classes.index(chosen_class)
