"""Vote tables as for ImageNet: P(good | number of yes and no votes), learned for each topic.

Source: Deng et al. 2009 and Russakovsky et al. 2015, section 3.1.3: at least 10 votes on each of a
random sample of a class's images give a table; other images get votes until the table is confident.
The papers leave the estimate open; ours is in `learn_vote_tables`. Pure: numpy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labeling.estimators.aggregation import Floats, posterior_binary, vote_gains

# Votes that a calibration image needs, as in the papers.
CALIBRATION_VOTES = 10
# Pseudo-images of the Beta prior of each cell.
STRENGTH = 2.0


@dataclass(frozen=True)
class VoteTable:
    """P(good | y yes, n no) for up to `size` votes, monotone: never falling in y, never rising in
    n.

    cells[y][n] for y + n <= size. images: number of calibration images.
    """

    cells: tuple[tuple[float, ...], ...]
    images: int

    @property
    def size(self) -> int:
        return len(self.cells) - 1

    def probability(self, yes: int, no: int) -> float:
        """Return P(good); cell (0, 0) is the prevalence.

        Raises ValueError beyond the table's size.
        """
        if yes < 0 or no < 0 or yes + no > self.size:
            raise ValueError(
                f"{yes} yes and {no} no are not in a table for up to {self.size} votes; "
                "learn it with a larger size"
            )
        return self.cells[yes][no]

    def expected(self, yes: int, no: int) -> float:
        """Return P(good), also for more votes than the table's size: the mean over all subsets of
        the votes of that size, which is what the table was learned from.
        """
        if yes + no <= self.size:
            return self.probability(yes, no)
        shares = _subsets(yes, no, self.size)
        return math.fsum(
            shares[y, self.size - y] * self.cells[y][self.size - y] for y in range(self.size + 1)
        )

    def as_dict(self) -> "TableContent":
        """Return a JSON object that `from_dict` restores, to the bit."""
        return {"cells": [list(row) for row in self.cells], "images": self.images}

    @classmethod
    def from_dict(cls, content: "TableContent") -> "VoteTable":
        """Return the table of as_dict.

        Raises ValueError for another shape or invalid probabilities.
        """
        try:
            cells = tuple(tuple(float(p) for p in row) for row in content["cells"])
            images = int(content["images"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not a vote table: {error}") from error
        if [len(row) for row in cells] != list(range(len(cells), 0, -1)) or not cells:
            raise ValueError("row y of a vote table for V votes has V + 1 - y cells")
        if not all(0 <= p <= 1 for row in cells for p in row):
            raise ValueError("a cell of a vote table is outside [0, 1]")
        return cls(cells, images)


class TableContent(TypedDict):
    cells: list[list[float]]
    images: int


def learn_vote_tables(
    yes: ArrayLike,
    no: ArrayLike,
    good: ArrayLike | None = None,
    topic: Sequence[str] | None = None,
    *,
    size: int = 25,
    strength: float = STRENGTH,
    calibration_votes: int = CALIBRATION_VOTES,
) -> dict[str, VoteTable]:
    """Return a table for every topic, and one under "" learned from all, for topics without a
    pilot.

    yes, no: (N,) votes on each image. good: (N,) whether the image shows the topic, a probability
    if uncertain, NaN if unknown; without `good`, the convincing majority of the image's own votes
    (ties are not used). topic: (N,) names. Only images with calibration_votes votes are used;
    ValueError if there are none.

    Each image counts with all subsets of its votes: for m votes, the share of its m-subsets with y
    yes (exact, not sampled). A cell is (good weight + strength × prior) / (weight + strength). The
    prior of a topic's cell is the cell of the table of all topics; the prior of that one is the
    value for independent voters with the crowd's two rates. The result is the weighted
    least-squares monotone table.
    """
    up, down = np.asarray(yes, np.int64), np.asarray(no, np.int64)
    majority = np.where(up == down, np.nan, (up > down).astype(float))
    truth = majority if good is None else np.asarray(good, float)
    used = (up + down >= calibration_votes) & ~np.isnan(truth)
    if not used.any():
        raise ValueError(
            f"no image has a known answer and {calibration_votes} votes or more, "
            "from which vote tables are learned"
        )
    names = np.full(len(up), "", object) if topic is None else np.asarray(topic, object)
    up, down, truth, names = up[used], down[used], truth[used], names[used]
    weights = sub_votes(up, down, truth, size)
    prior = independent(up, down, truth, size)
    everything = _table(*weights, prior, strength, len(up))
    tables = {"": everything}
    pooled = np.array([row + (0.0,) * (size + 1 - len(row)) for row in everything.cells])
    for name in sorted(set(names) - {""}):
        in_topic = names == name
        weights = sub_votes(up[in_topic], down[in_topic], truth[in_topic], size)
        tables[name] = _table(*weights, pooled, strength, int(in_topic.sum()))
    return tables


def sub_votes(
    yes: NDArray[np.int64], no: NDArray[np.int64], good: Floats, size: int
) -> tuple[Floats, Floats]:
    """Return the weight of good images, and of all images, in cell (y, n); each (size + 1, size +
    1).

    An image has weight 1 over the cells of each number of votes m <= min(size, its own).
    """
    weight_good, weight = np.zeros((size + 1, size + 1)), np.zeros((size + 1, size + 1))
    # Images with the same votes are equivalent: one step per distinct pair.
    pairs, pair_index = np.unique(np.stack([yes, no], axis=1), axis=0, return_inverse=True)
    pair_index = pair_index.reshape(-1)
    images = np.bincount(pair_index)
    goods = np.bincount(pair_index, weights=good)
    for (some_yes, some_no), n_good, n in zip(pairs.tolist(), goods, images, strict=True):
        shares = _subsets(some_yes, some_no, size)
        weight_good += n_good * shares
        weight += n * shares
    return weight_good, weight


@lru_cache(maxsize=1024)
def _subsets(yes: int, no: int, size: int) -> Floats:
    """Return the probability of each cell (y, n): that y + n of these votes, drawn without
    replacement, are y yes and n no.
    """
    from scipy.special import gammaln

    def log_choose(n: int) -> Floats:
        k = np.arange(min(n, size) + 1)
        return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))

    a, b, both = log_choose(yes), log_choose(no), log_choose(yes + no)
    y, n = np.meshgrid(np.arange(len(a)), np.arange(len(b)), indexing="ij")
    shares = np.zeros((size + 1, size + 1))
    inside = y + n <= size
    y, n = y[inside], n[inside]
    shares[y, n] = np.exp(a[y] + b[n] - both[y + n])
    return shares


def independent(yes: NDArray[np.int64], no: NDArray[np.int64], good: Floats, size: int) -> Floats:
    """Return (size + 1, size + 1): P(good | y, n) for independent voters with the crowd's rates.

    Half a vote and half an image are added to every count, so that no rate is 0 or 1.
    """
    prevalence = float((good.sum() + 0.5) / (len(good) + 1))
    hit = float((yes @ good + 0.5) / ((yes + no) @ good + 1))
    alarm = float((yes @ (1 - good) + 0.5) / ((yes + no) @ (1 - good) + 1))
    # A crowd worse than chance would invert the table; treat its votes as uninformative.
    up, down = vote_gains(hit, alarm) if hit > alarm else (0.0, 0.0)
    cells = np.zeros((size + 1, size + 1))
    for y in range(size + 1):
        for n in range(size + 1 - y):
            cells[y, n] = posterior_binary(prevalence, [y * up, n * down])
    return cells


def _table(
    weight_good: Floats, weight: Floats, prior: Floats, strength: float, images: int
) -> VoteTable:
    cells = (weight_good + strength * prior) / (weight + strength)
    fitted = monotone(cells, weight + strength)
    size = len(cells) - 1
    rows = tuple(tuple(fitted[y, : size + 1 - y].tolist()) for y in range(size + 1))
    return VoteTable(rows, images)


def monotone(cells: Floats, weights: Floats, tolerance: float = 1e-9) -> Floats:
    """Return the nearest table (weighted least squares) that rises with y and falls with n.

    cells, weights: (V + 1, V + 1); cells with y + n <= V count. Source: Dykstra and Robertson, An
    algorithm for isotonic regression for two or more independent variables (1982).
    """
    size = len(cells)
    triangle = np.add.outer(np.arange(size), np.arange(size)) < size
    fitted = np.where(triangle, cells, 0.0)
    by_no, by_yes = np.zeros_like(fitted), np.zeros_like(fitted)
    for _ in range(1000):
        before = fitted.copy()
        raw = fitted - by_no
        for y in range(size):
            line = slice(0, size - y)
            # Falling with n is rising from the other end.
            fitted[y, line] = pool(raw[y, line][::-1], weights[y, line][::-1])[::-1]
        by_no = fitted - raw
        raw = fitted - by_yes
        for n in range(size):
            line = slice(0, size - n)
            fitted[line, n] = pool(raw[line, n], weights[line, n])
        by_yes = fitted - raw
        if np.abs(fitted - before).max() < tolerance:
            break
    # Remove what the tolerance left: make it exactly monotone.
    fitted = np.maximum.accumulate(fitted, axis=0)
    for n in range(size - 2, -1, -1):
        line = slice(0, size - 1 - n)
        fitted[line, n] = np.maximum(fitted[line, n], fitted[line, n + 1])
    return np.clip(np.maximum.accumulate(fitted, axis=0), 0.0, 1.0)


def pool(values: Floats, weights: Floats) -> Floats:
    """Return the nearest rising sequence in weighted least squares: pool adjacent violators.

    >>> pool(np.array([1.0, 3.0, 2.0]), np.array([1.0, 1.0, 1.0])).tolist()
    [1.0, 2.5, 2.5]
    """
    means: list[float] = []
    masses: list[float] = []
    lengths: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, mass, length = value, weight, 1
        while means and means[-1] > mean:
            mean = (masses[-1] * means[-1] + mass * mean) / (masses[-1] + mass)
            mass += masses.pop()
            length += lengths.pop()
            means.pop()
        means.append(mean)
        masses.append(mass)
        lengths.append(length)
    return np.repeat(means, lengths)
