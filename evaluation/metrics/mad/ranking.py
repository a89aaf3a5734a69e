"""Ranks from people's answers: accuracies in pairs, dominance, Perron and Hodge scores.

Sources: Wang et al. 2020 (MAD); Saaty and Vargas 1984 (Perron); Harker 1987 (pairs that were never
compared); Jiang et al. 2011 (HodgeRank). Needs only numpy.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics import bands
from evaluation.metrics.mad.bootstrap import joint_counts
from evaluation.metrics.mad.results import (
    LEVEL,
    MIN_ROUND_SHARE,
    AblationRow,
    DifferentImages,
    Hodge,
    PairCounts,
    Ranking,
    RankingBootstrap,
    SureOrder,
)
from evaluation.metrics.statistics import kendall, ranks, spearman

Smoothing = Literal["laplace", "none"]
SMOOTHINGS: tuple[Smoothing, ...] = ("laplace", "none")
Answers = Mapping[tuple[str, str], bool | None]
# Round scores to this many digits before ranking: the eigenvector's last digits are noise.
_DIGITS = 12
_STEPS = 60
# Power iteration ends when no score moves by more than this.
_CONVERGED = 1e-14
# Agresti and Coull (1998) add two successes and two failures. Without them, a few images with the
# same result would look certain.
_PSEUDO_COUNT = 2


class RankingError(ValueError):
    """Error if no ranking exists; `cure` says what to do."""

    def __init__(self, message: str, cure: str) -> None:
        super().__init__(message)
        self.cure = cure


# Maximum number of unanswered questions in the message.
MAX_LISTED = 10


class MissingAnswers(ValueError):
    """Questions of the selection without an answer: `questions` lists (image, wnid)."""

    cure = (
        "freeze again once people answered them, or add a line for each, with null for contains"
        " where they could not settle it"
    )

    def __init__(self, questions: list[tuple[str, str]]) -> None:
        self.questions = questions
        examples = ", ".join(f"{image} {wnid}" for image, wnid in questions[:MAX_LISTED])
        more = f", and {len(questions) - MAX_LISTED} more" if len(questions) > MAX_LISTED else ""
        super().__init__(f"questions without an answer: {len(questions)} ({examples}{more})")


@dataclass(frozen=True)
class SelectedImage:
    """One line of a selection: the image at one rank of a pair, and both labels (wnids)."""

    pair: tuple[str, str]
    rank: int
    image: str
    labels: tuple[str, str]

    @property
    def questions(self) -> list[tuple[str, str]]:
        return [(self.image, label) for label in self.labels]


@dataclass
class PairImages:
    """The images of a pair.

    images: the images that count, by rank, including `pending`. pending: those with an unanswered
    question. dropped: those with an answer of null. reserve: the next image, if any.
    """

    pair: tuple[str, str]
    images: list[SelectedImage] = field(default_factory=list)
    pending: list[SelectedImage] = field(default_factory=list)
    dropped: list[SelectedImage] = field(default_factory=list)
    reserve: SelectedImage | None = None


def images_in_place(
    lines: Iterable[SelectedImage], answers: Answers, top_k: int
) -> list[PairImages]:
    """Return the images of each pair, in order of first mention.

    An image with an answer of null to either question is dropped; the pair's next reserve (ranks
    above top_k) replaces it, and is dropped in turn if its answer is null. A reserve only replaces
    a dropped image: a pair that had fewer than top_k keeps fewer.
    """
    pairs: dict[frozenset[str], list[SelectedImage]] = {}
    for line in lines:
        pairs.setdefault(frozenset(line.pair), []).append(line)
    pair_images = []
    for chosen in pairs.values():
        current = PairImages(chosen[0].pair)
        needed = sum(line.rank <= top_k for line in chosen)
        for line in sorted(chosen, key=lambda line: line.rank):
            if len(current.images) == needed:
                current.reserve = line
                break
            line_answers = [answers.get(question, "none yet") for question in line.questions]
            if None in line_answers:
                current.dropped.append(line)
                continue
            current.images.append(line)
            if "none yet" in line_answers:
                current.pending.append(line)
        pair_images.append(current)
    return pair_images


@dataclass(frozen=True)
class Outcomes:
    """The input of a ranking, pair by pair in the order of the classifiers.

    pairs: indices of the two classifiers. right: (n, 2) bool for each pair, by rank. images: (n,)
    ids for each pair; an image has the same id in all pairs.
    """

    classifiers: list[str]
    pairs: list[tuple[int, int]]
    right: list[NDArray[np.bool_]]
    images: list[NDArray[np.int64]]

    def tally(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return correct[i, j], the number of images of pair {i, j} on which i is right, and
        images[i, j], the number of its images.
        """
        correct = self.matrices(np.array([r.sum(axis=0) for r in self.right]).reshape(-1, 2))
        counts = [len(pair_images) for pair_images in self.images]
        return correct, self.matrices(np.column_stack([counts, counts]))

    def matrices(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (…, m, m) matrices of (…, pairs, 2) counts: the first of pair (i, j) at [i, j],
        the second at [j, i].
        """
        size = len(self.classifiers)
        i, j = np.array(self.pairs, np.int64).reshape(-1, 2).T
        whole = np.zeros((*counts.shape[:-2], size, size), np.int64)
        whole[..., i, j], whole[..., j, i] = counts[..., 0], counts[..., 1]
        return whole

    def first(self, k: int) -> "Outcomes":
        """Return the outcomes of only the first k images of each pair."""
        return Outcomes(
            self.classifiers, self.pairs, [r[:k] for r in self.right], [i[:k] for i in self.images]
        )


def rank(
    lines: Sequence[SelectedImage],
    answers: Answers,
    classifiers: Sequence[str],
    top_k: int,
    *,
    smoothing: Smoothing = "laplace",
    bootstrap: int = 2000,
    seed: int = 0,
    missing: Literal["error", "exclude"] = "error",
    accuracy: Mapping[str, float] | None = None,
    ablation: bool = False,
) -> Ranking:
    """Return the result of a MAD competition.

    The order of the lines, and of the classifiers in a pair, does not matter. missing: with
    "error", an unanswered question raises MissingAnswers; with "exclude", its image is left out and
    counted under `pending`. accuracy: accuracy per classifier, to compare the ranks with. Raises
    RankingError if no ranking exists: the comparisons are not connected, or, without smoothing, a
    classifier was never right in a pair.
    """
    placed_pairs = images_in_place(lines, answers, top_k)
    pending = [line for current in placed_pairs for line in current.pending]
    if pending and missing == "error":
        unanswered = {q: None for line in pending for q in line.questions if q not in answers}
        raise MissingAnswers(list(unanswered))
    outcomes = _outcomes(placed_pairs, answers, list(classifiers))
    correct, images = outcomes.tally()
    _refuse_parts(outcomes.classifiers, images)
    a = accuracy_matrix(correct, images, smoothing)
    _refuse_zeros(outcomes.classifiers, a)
    dominances = dominance(a)
    scores = perron(dominances)
    placed = ranks(scores.round(_DIGITS)).tolist()
    order = _order(outcomes, placed, smoothing, bootstrap, seed)
    places_by_name = dict(zip(order.names, order.places, strict=True))
    drawn = _drawn_scores(outcomes, images, smoothing, bootstrap, seed)
    intervals = _rank_intervals(drawn)
    places = [list(places_by_name[name]) for name in classifiers]
    result = Ranking(
        classifiers=list(classifiers),
        accuracy=a.tolist(),
        dominance=dominances.tolist(),
        scores=scores.tolist(),
        ranks=placed,
        rank_intervals=intervals.tolist(),
        rank_intervals_wide=_widened(intervals, np.array(places, np.float64)),
        beats=_beats(drawn).tolist(),
        bootstrap=RankingBootstrap(rounds=bootstrap, seed=seed, left_out=bootstrap - len(drawn)),
        sure=SureOrder(
            level=order.level,
            bands=order.bands,
            apart=[list(pair) for pair in order.apart],
            words=order.words,
            places=places,
        ),
        images=images.sum(axis=1).tolist(),
        hodge=hodge(a, images),
        cases=cases(outcomes),
        pairs=_pair_counts(outcomes, placed_pairs),
        smoothing=smoothing,
        top_k=top_k,
        pending=len(pending),
        different_images=DifferentImages(
            ranked=len({name for pair_images in outcomes.images for name in pair_images.tolist()}),
            pending=len({line.image for line in pending}),
        ),
        ablation=_ablation(outcomes, top_k, smoothing) if ablation else None,
    )
    if accuracy is not None:
        compared = against_accuracy(placed, [accuracy[name] for name in classifiers])
        result = replace(result, **compared._asdict())
    return result


def _outcomes(
    placed_pairs: Sequence[PairImages], answers: Answers, classifiers: list[str]
) -> Outcomes:
    index_of = {name: i for i, name in enumerate(classifiers)}
    by_pair = {frozenset(current.pair): current for current in placed_pairs}
    pairs, right, ids = [], [], []
    for i, j in combinations(range(len(classifiers)), 2):
        current = by_pair.get(frozenset((classifiers[i], classifiers[j])))
        waiting = set(current.pending) if current else set()
        rows, names = [], []
        for line in current.images if current else ():
            if line in waiting:
                continue
            correct = [bool(answers[question]) for question in line.questions]
            rows.append(correct if index_of[line.pair[0]] == i else correct[::-1])
            names.append(line.image)
        pairs.append((i, j))
        right.append(np.array(rows, bool).reshape(-1, 2))
        ids.append(names)
    # Number images in the order of their ids: the bootstrap must not depend on the file's order.
    number = {name: n for n, name in enumerate(sorted({name for names in ids for name in names}))}
    images = [np.array([number[name] for name in names], np.int64) for names in ids]
    return Outcomes(classifiers, pairs, right, images)


def accuracy_matrix(
    correct: NDArray[Any], images: NDArray[Any], smoothing: Smoothing
) -> NDArray[np.float64]:
    """Return a[…, i, j], the accuracy of i on the images of {i, j}: 1 on the diagonal, NaN without
    images.

    laplace: (correct + 1) / (images + 2).

    >>> accuracy_matrix(np.array([[0, 3], [1, 0]]), np.array([[0, 4], [4, 0]]), "none").tolist()
    [[1.0, 0.75], [0.25, 1.0]]
    """
    if smoothing not in SMOOTHINGS:
        raise ValueError(f"smoothing is {smoothing!r}, expected one of {', '.join(SMOOTHINGS)}")
    extra = 1 if smoothing == "laplace" else 0
    a = (correct + extra) / np.where(images > 0, images + 2 * extra, np.nan)
    diagonal = np.arange(a.shape[-1])
    a[..., diagonal, diagonal] = 1
    return a


def dominance(accuracy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return b[…, i, j] = a[i, j] / a[j, i]; NaN if either is NaN. The caller rejects zeros."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return accuracy / accuracy.swapaxes(-1, -2)


def perron(dominance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the principal eigenvector of (…, m, m) matrices, positive, with sum 1.

    A pair that was never compared (NaN in both entries) counts as 0 and adds 1 to the diagonal
    entries of both classifiers (Harker 1987). Consistent comparisons then give the exact weights,
    even if some pairs are missing. The paper takes a Cesàro mean, which has the same limit and
    converges like 1/t.

    >>> w = np.array([0.5, 0.3, 0.2])
    >>> perron(w[:, None] / w).round(12).tolist()
    [0.5, 0.3, 0.2]
    """
    never = np.isnan(dominance)
    b = np.where(never, 0.0, dominance)
    diagonal = np.arange(b.shape[-1])
    b[..., diagonal, diagonal] += never.sum(axis=-1)
    if b.ndim == 2:
        values, vectors = np.linalg.eig(b)
        scores = np.abs(vectors[:, np.argmax(values.real)].real)
        return scores / scores.sum()
    # One eigenvalue of a matrix of ratios is far above the rest, so a few steps are enough.
    scores = np.full((len(b), b.shape[-1]), 1 / b.shape[-1])
    for _ in range(_STEPS):
        before = scores
        scores = (b @ before[..., None])[..., 0]
        scores /= scores.sum(axis=-1, keepdims=True)
        moving = np.abs(scores - before).max(axis=-1) > _CONVERGED
        if not moving.any():
            break
    for row in np.flatnonzero(moving):
        scores[row] = perron(dominance[row])
    return scores


def hodge(accuracy: NDArray[np.float64], images: NDArray[Any]) -> Hodge:
    """Return HodgeRank's scores s, with sum 0 and s_i − s_j closest to ln(a_ij / a_ji).

    Least squares weighted by the images of each pair. cyclicity: the share of the weighted sum of
    squares that no scores explain, 0 for consistent comparisons and 1 for a pure cycle.
    Source: Jiang et al. 2011.
    """
    i, j = np.nonzero(np.triu(images, 1))
    flow = np.log(accuracy[i, j] / accuracy[j, i])
    root = np.sqrt(images[i, j])
    rows = np.zeros((len(i), len(images)))
    edge = np.arange(len(i))
    rows[edge, i], rows[edge, j] = root, -root
    scores = np.linalg.lstsq(rows, root * flow, rcond=None)[0]
    scores -= scores.mean()
    total = float(((root * flow) ** 2).sum())
    residual = float(((rows @ scores - root * flow) ** 2).sum())
    return Hodge(
        scores=scores.tolist(),
        ranks=ranks(scores.round(_DIGITS)).tolist(),
        # If all accuracies are equal, there is nothing to explain.
        cyclicity=residual / total if total > 0 else 0.0,
    )


def cases(outcomes: Outcomes) -> dict[str, int]:
    """Return the number of images over all pairs: both classifiers right (I), one (II), neither
    (III).
    """
    right = np.concatenate([np.zeros((0, 2), bool), *outcomes.right]).sum(axis=1)
    return {case: int((right == count).sum()) for case, count in (("I", 2), ("II", 1), ("III", 0))}


class AgainstAccuracy(NamedTuple):
    """The fields of Ranking that compare the ranks with given accuracies."""

    accuracy_ranks: list[float]
    rank_changes: list[float]
    spearman: float
    kendall: float


def against_accuracy(mad_ranks: Sequence[float], accuracies: Sequence[float]) -> AgainstAccuracy:
    """Return the ranks by accuracy, how far up MAD moves each classifier, and the correlations.

    The paper's Table 1: Spearman 0.8727 (its 0.89 comes from correlating lists of positions),
    Kendall 0.7091.
    """
    accuracy_ranks = ranks(accuracies)
    return AgainstAccuracy(
        accuracy_ranks=accuracy_ranks.tolist(),
        rank_changes=(accuracy_ranks - np.asarray(mad_ranks)).tolist(),
        spearman=spearman(accuracy_ranks, mad_ranks),
        kendall=kendall(accuracy_ranks, mad_ranks),
    )


def _rank_intervals(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (m, 2) 95 % percentiles of the ranks of (rounds, m) scores; NaN without rounds."""
    if len(scores) == 0:
        return np.full((scores.shape[1], 2), np.nan)
    return np.percentile(ranks(scores), (2.5, 97.5), axis=0).T


def _widened(intervals: NDArray[np.float64], places: NDArray[np.float64]) -> list[list[float]]:
    """Return (m, 2) intervals that contain the interval and the confirmed ranks, `places`.

    Without rounds, the confirmed ranks alone.
    """
    low = np.fmin(intervals[:, 0], places[:, 0])
    high = np.fmax(intervals[:, 1], places[:, 1])
    widened: list[list[float]] = np.stack([low, high], axis=1).tolist()
    return widened


def _drawn_scores(
    outcomes: Outcomes, images: NDArray[Any], smoothing: Smoothing, rounds: int, seed: int
) -> NDArray[np.float64]:
    """Return (rounds, m) scores of the rounds that have a ranking.

    Without smoothing, a round has no ranking if a classifier is wrong on all images of a pair.
    """
    generator = np.random.default_rng(seed)
    kept = []
    for counts in joint_counts(outcomes.right, outcomes.images, rounds, generator):
        a = accuracy_matrix(outcomes.matrices(counts), images, smoothing)
        whole = ~(a == 0).any(axis=(-1, -2))
        kept.append(perron(dominance(a[whole])).round(_DIGITS))
    return np.concatenate([np.zeros((0, len(outcomes.classifiers))), *kept])


def _beats(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (m, m) the share of rounds in which i is above j, a tie counting half; NaN without
    rounds.
    """
    if len(scores) == 0:
        return np.full((scores.shape[1], scores.shape[1]), np.nan)
    above = (scores[:, :, None] > scores[:, None, :]).mean(axis=0)
    equal = (scores[:, :, None] == scores[:, None, :]).mean(axis=0)
    return above + equal / 2


def _order(
    outcomes: Outcomes, placed: Sequence[float], smoothing: Smoothing, rounds: int, seed: int
) -> bands.ConfirmedOrder:
    """Return the confirmed order: two classifiers are apart if one is above in at least 97.5 % of
    the rounds.

    Every compared pair gets 2 · _PSEUDO_COUNT added images: on half of them only the first
    classifier is right, on the other half only the second. Without them, 4 images
    that all agree would separate a pair.
    """
    more = np.repeat([[True, False], [False, True]], _PSEUDO_COUNT, axis=0)
    number = max(
        (int(pair_images.max()) + 1 for pair_images in outcomes.images if len(pair_images)),
        default=0,
    )
    right, ids = [], []
    for pair_right, images in zip(outcomes.right, outcomes.images, strict=True):
        added = len(more) if len(pair_right) else 0
        right.append(np.concatenate([pair_right, more[:added]]))
        ids.append(np.concatenate([images, np.arange(number, number + added)]))
        number += added
    padded = Outcomes(outcomes.classifiers, outcomes.pairs, right, ids)
    counts = padded.tally()[1]
    names = outcomes.classifiers
    index_of = {name: i for i, name in enumerate(names)}
    beats = _beats(_drawn_scores(padded, counts, smoothing, rounds, seed))
    ranked = sorted(names, key=lambda name: (placed[index_of[name]], name))
    return bands.order(
        ranked, lambda a, b: bool(beats[index_of[a], index_of[b]] >= MIN_ROUND_SHARE), LEVEL
    )


def _pair_counts(outcomes: Outcomes, placed_pairs: Sequence[PairImages]) -> list[PairCounts]:
    names = outcomes.classifiers
    by_pair = {frozenset(current.pair): current for current in placed_pairs}
    rows = []
    for (i, j), right in zip(outcomes.pairs, outcomes.right, strict=True):
        pair = (names[i], names[j])
        current = by_pair.get(frozenset(pair), PairImages(pair))
        dropped, pending = len(current.dropped), len(current.pending)
        rows.append(
            PairCounts(pair=list(pair), images=len(right), dropped=dropped, pending=pending)
        )
    return rows


def _ablation(outcomes: Outcomes, top_k: int, smoothing: Smoothing) -> list[AblationRow]:
    """Return for each k Spearman's correlation of the ranks from the first k images of each pair
    with those from all images; NaN if either ranking does not exist.
    """

    def ranked(part: Outcomes) -> NDArray[np.float64] | None:
        a = accuracy_matrix(*part.tally(), smoothing)
        return None if (a == 0).any() else ranks(perron(dominance(a)).round(_DIGITS))

    whole = ranked(outcomes)
    rows = []
    for k in range(1, top_k + 1):
        part = ranked(outcomes.first(k))
        value = float("nan") if part is None or whole is None else spearman(part, whole)
        rows.append(AblationRow(k=k, spearman=value))
    return rows


def compared_parts(classifiers: Sequence[str], images: NDArray[Any]) -> list[list[str]]:
    """Return the connected groups of classifiers: no comparison joins two groups.

    images: (C, C), more than 0 where a pair was compared.
    """
    rest, parts = set(range(len(classifiers))), []
    while rest:
        part, new = set(), {min(rest)}
        while new:
            part |= new
            new = {int(j) for i in new for j in np.flatnonzero(images[i])} - part
        parts.append([classifiers[i] for i in sorted(part)])
        rest -= part
    return parts


def _refuse_parts(classifiers: Sequence[str], images: NDArray[Any]) -> None:
    """Raise RankingError if some classifiers were never compared with the rest."""
    parts = compared_parts(classifiers, images)
    if len(parts) > 1:
        *groups, last = (f"({', '.join(part)})" for part in parts)
        raise RankingError(
            f"no comparison joins the groups {', '.join(groups)} and {last}",
            "answer images of a pair that joins them, or rank each group alone",
        )


def _refuse_zeros(classifiers: Sequence[str], accuracy: NDArray[np.float64]) -> None:
    wrong = [f"{classifiers[i]} against {classifiers[j]}" for i, j in np.argwhere(accuracy == 0)]
    if wrong:
        raise RankingError(f"never right: {', '.join(wrong)}", "use --smoothing laplace")
