"""Dawid–Skene: each annotator's confusion matrix and each item's label from answers only.

Source: A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the
EM algorithm (1979). With two classes it is the two-coin model. Pure: numpy and numba.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labeling.estimators.aggregation import AnswerTable, Floats, Ints, pick, vote_counts

# Lowest value before a log: log 0 would exclude a class for ever.
FLOOR = 1e-10
# Most numbers in the confusion matrices, with 8 bytes each in three arrays.
MAX_MATRIX_ENTRIES = 2**27


class MatricesTooLarge(ValueError):
    """The confusion matrices would not fit into memory."""


@dataclass(frozen=True)
class DawidSkene:
    """The result of EM. A annotators, I items, K classes.

    posteriors: (I, K); an item without answers has the priors. priors: (K,). confusions: (A, K, K),
    row the truth, column the answer, rows sum to 1. log_likelihood: of the answers, at the
    parameters that gave the posteriors. iterations: number of E-steps. converged: whether it
    stopped by the tolerance. labels: (I,), ties: (I,) which items were tied.
    """

    posteriors: Floats
    priors: Floats
    confusions: Floats
    log_likelihood: float
    iterations: int
    converged: bool
    labels: NDArray[np.int32]
    ties: NDArray[np.bool_]

    @property
    def accuracies(self) -> Floats:
        """Return (A,): each annotator's expected accuracy on questions like these."""
        right = np.diagonal(self.confusions, axis1=1, axis2=2)
        return np.asarray((right * self.priors).sum(axis=1))


def dawid_skene(
    annotators: Ints,
    items: Ints,
    labels: Ints,
    *,
    n_annotators: int,
    n_items: int,
    n_classes: int,
    class_prior: ArrayLike = 0.0,
    confusion_prior: ArrayLike = 0.01,
    known: Ints | None = None,
    known_in_prior: bool = True,
    start: str | Floats = "majority",
    max_iterations: int = 1000,
    tolerance: float = 1e-6,
) -> DawidSkene:
    """Return posteriors, priors and confusion matrices by expectation maximisation.

    annotators, items, labels: (N,) whole numbers; the result does not depend on their order, to the
    bit. class_prior: pseudo-counts, one or (K,). confusion_prior: pseudo-counts in every cell of
    everyone's matrix: one, (K, K) or (A, K, K), row the truth; a heavier diagonal assumes that
    people are better than chance. known: (I,) labels known
    beforehand (gold), else -1; known_in_prior=False keeps them out of the class prior (for balanced
    gold). start: "majority", the shares of the votes, or posteriors (I, K). It stops when the
    log-likelihood (plus the log of the priors, which are maximised with it) gains less than
    `tolerance`, or after max_iterations. Without priors it agrees with crowd-kit's DawidSkene,
    iteration by iteration.
    """
    if n_annotators * n_classes**2 > MAX_MATRIX_ENTRIES:
        raise MatricesTooLarge(
            f"{n_annotators} annotators with {n_classes} classes need "
            f"{n_annotators * n_classes**2 * 8 / 2**30:.0f} GiB for their confusion matrices"
        )
    if max_iterations < 1:
        raise ValueError(f"max_iterations is {max_iterations}, expected 1 or more")
    state = _State(
        annotators, items, labels, n_annotators, n_items, n_classes, known, known_in_prior
    )
    state.class_prior = np.broadcast_to(np.asarray(class_prior, float), (n_classes,))
    # Kernels index the answer before the truth.
    prior = np.asarray(confusion_prior, float)
    state.confusion_prior = prior.swapaxes(-1, -2) if prior.ndim else prior
    return state.run(start, max_iterations, tolerance)


class _State:
    """The arrays of EM, allocated once."""

    class_prior: Floats
    confusion_prior: Floats

    def __init__(
        self,
        annotators: Ints,
        items: Ints,
        labels: Ints,
        n_annotators: int,
        n_items: int,
        n_classes: int,
        known: Ints | None,
        known_in_prior: bool,
    ) -> None:
        key = items.astype(np.int64) * max(n_annotators, 1) + annotators
        if (key[1:] < key[:-1]).any():
            order = np.argsort(key, kind="stable")
            annotators, items, labels = annotators[order], items[order], labels[order]
        # Annotator and answer in one number for the kernels.
        self.codes = (annotators.astype(np.int64) * n_classes + labels).astype(np.uint32)
        self.totals = np.bincount(self.codes, minlength=n_annotators * n_classes)
        self.votes = vote_counts(items, labels, n_items, n_classes)
        answered = self.votes.sum(axis=1)
        self.starts = np.concatenate([[0], answered.cumsum()]).astype(np.int64)
        self.answered = answered > 0
        self.known = np.full(n_items, -1, np.int32) if known is None else known.astype(np.int32)
        # Items without answers would only slow EM down.
        self.counted = self.answered if known_in_prior else self.answered & (self.known < 0)
        if not self.counted.any():
            self.counted = self.answered
        self.sums = np.zeros(n_classes)
        self.counts = np.zeros((n_annotators, n_classes, n_classes))
        self.posteriors = np.zeros((n_items, n_classes))
        self.priors = np.full(n_classes, 1 / max(n_classes, 1))
        self.logs = np.zeros_like(self.counts)

    def run(self, start: str | Floats, max_iterations: int, tolerance: float) -> DawidSkene:
        from labeling.estimators import kernels

        self.begin(start)
        data = (self.starts, self.codes, self.counted)
        kernels.tally(*data, self.posteriors, self.rows_of(self.counts), self.sums)
        self.maximise()
        before, iterations, converged = -np.inf, 0, not len(self.codes)
        likelihood = 0.0
        while not converged and iterations < max_iterations:
            iterations += 1
            # Before maximise() changes the parameters, so that both terms use the same ones.
            objective = self.log_prior_density()
            likelihood = self.expect()
            objective += likelihood
            converged = objective - before < tolerance
            before = objective
            self.maximise()
        return self.result(likelihood, iterations, converged)

    def expect(self) -> float:
        """Fill posteriors, counts and sums; return the log-likelihood."""
        from labeling.estimators import kernels

        log_prior = np.log(np.maximum(self.priors, FLOOR))
        logs, counts = self.rows_of(self.logs), self.rows_of(self.counts)
        counts[:] = 0
        self.sums[:] = 0
        data = (self.starts, self.codes, self.known, self.counted)
        buffers = (self.posteriors, counts, self.sums)
        if len(log_prior) != 2:
            return float(kernels.expect(*data, log_prior, logs, *buffers))
        log_odds, gains = log_prior[1] - log_prior[0], logs[:, 1] - logs[:, 0]
        gained = kernels.expect_binary(*data, log_odds, gains, *buffers)
        under_zero = self.answered.sum() * log_prior[0] + (self.totals * logs[:, 0]).sum()
        return float(gained + under_zero)

    def rows_of(self, array: Floats) -> Floats:
        """Return (A × K, K), a view: the row of each annotator and answer, by truth."""
        people, n_classes, _ = array.shape
        return array.reshape(people * n_classes, n_classes)

    def begin(self, start: str | Floats) -> None:
        if isinstance(start, str):
            if start != "majority":
                raise ValueError(f"start is {start!r}, expected 'majority' or posteriors (I, K)")
            self.posteriors[:] = self.votes / np.maximum(self.votes.sum(axis=1, keepdims=True), 1)
        else:
            self.posteriors[:] = start
        known_items = np.flatnonzero(self.known >= 0)
        self.posteriors[known_items] = 0
        self.posteriors[known_items, self.known[known_items]] = 1

    def maximise(self) -> None:
        """Run the M-step: set priors and log confusions from sums and counts."""
        sums = self.sums + self.class_prior
        if sums.sum() > 0:
            self.priors = sums / sums.sum()
        self.logs[:] = self.counts
        self.logs += self.confusion_prior
        np.maximum(self.logs, FLOOR, out=self.logs)
        self.logs /= self.logs.sum(axis=1, keepdims=True)
        np.log(self.logs, out=self.logs)

    def log_prior_density(self) -> float:
        """Return the log of the Dirichlet densities at the current parameters, without
        constants.
        """
        density = float((self.class_prior * np.log(np.maximum(self.priors, FLOOR))).sum())
        if self.confusion_prior.any():
            density += float((self.confusion_prior * self.logs).sum())
        return density

    def result(self, likelihood: float, iterations: int, converged: bool) -> DawidSkene:
        self.posteriors[~self.answered & (self.known < 0)] = self.priors
        labels, ties = pick(self.posteriors, self.priors)
        return DawidSkene(
            self.posteriors,
            self.priors,
            np.ascontiguousarray(np.exp(self.logs).swapaxes(1, 2)),
            likelihood,
            iterations,
            converged,
            labels,
            ties,
        )


def fit(answers: AnswerTable, **options: object) -> DawidSkene:
    """Run dawid_skene on an AnswerTable, with its options; return the result."""
    return dawid_skene(
        answers.annotators,
        answers.items,
        answers.labels,
        n_annotators=len(answers.annotator_names),
        n_items=len(answers.item_names),
        n_classes=len(answers.classes),
        **options,  # type: ignore[arg-type]
    )
