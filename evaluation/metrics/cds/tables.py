"""The tables of a CDS benchmark as rows of plain numbers and names, with bootstrap intervals.

Source: Sarvadevabhatla et al. (2016), Tables 1 to 3 and Supplements C to E.
docs/explanation/cds.md explains each table.
"""

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.cds.arrays import AVERAGINGS, Floats, ScoreArrays
from evaluation.metrics.cds.rows import CdsRow
from evaluation.metrics.cds.statistics import ERRORS, TOLERANCE, Found, interval, plain, spearman

# Content scheme → the scheme over which its improvement is computed.
BASE_SCHEMES = {"intra-object-and-neighbourhood": "intra-object", "higher": "low"}
# With fewer points a correlation is meaningless.
MIN_SCHEMES = 3
# Up to this many points the p-value is exact: all orders are tried, 7! = 5040.
_EXACT = 7


@dataclass(kw_only=True)
class ErrorRow(CdsRow):
    """Table 1: the share of sequences wrong at the last frame, median and mean over categories."""

    classifier: str
    error: float | None
    low: float | None
    high: float | None
    mean: float | None
    categories: int


@dataclass(kw_only=True)
class ContentSchemeRow(CdsRow):
    """Table 2: a classifier's average at a content scheme. improvement: (old − new) / old over the
    scheme `against`, negative if it got worse. best: no machine is lower.
    """

    classifier: str
    content_scheme: str
    measure: str
    averaging: str
    value: float | None
    low: float | None
    high: float | None
    improvement: float | None
    improvement_low: float | None
    improvement_high: float | None
    against: str | None
    best: bool


@dataclass(kw_only=True)
class PartSchemeRow(CdsRow):
    """A classifier's average at a part scheme."""

    classifier: str
    part_scheme: str
    measure: str
    averaging: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(kw_only=True)
class WinnersRow(CdsRow):
    """Table 3: the classifiers that are most often lowest and highest, over part × content schemes.

    lowest_share, highest_share: the share of rounds with the same winner. ties: the number of
    schemes at which several classifiers share the lowest or the highest value.
    """

    category: str
    measure: str
    lowest: str
    lowest_wins: int
    lowest_share: float | None
    highest: str
    highest_wins: int
    highest_share: float | None
    combinations: int
    ties: int


@dataclass(kw_only=True)
class CorrelationRow(CdsRow):
    """Correlation of scores and errors: one point per content scheme, averaged over machines.

    error: "frames", the share of wrong frames, or "whole", the share wrong at the last frame.
    """

    LATE_COLUMNS = ("spearman_low", "spearman_high")

    measure: str
    averaging: str
    error: str
    pearson: float | None
    pearson_p: float | None
    pearson_low: float | None
    pearson_high: float | None
    spearman: float | None
    spearman_p: float | None
    spearman_low: float | None
    spearman_high: float | None
    content_schemes: list[str]
    errors: list[float]
    scores: list[float]


class Tables:
    """The rows of every table.

    point: `statistics` of the round that draws every object once. rounds: `statistics` of the
    bootstrap rounds, or None.
    """

    def __init__(
        self, scores: ScoreArrays, point: Found, rounds: Found | None, level: float
    ) -> None:
        self.scores, self.point, self.rounds, self.level = scores, point, rounds, level

    def values(self, key: Hashable) -> tuple[Floats, Floats, Floats]:
        """Return a statistic's value and both ends of its interval."""
        value = self.point[key][0]
        if self.rounds is None:
            return value, np.full_like(value, np.nan), np.full_like(value, np.nan)
        return value, *interval(self.rounds[key], self.level)

    def error(self) -> Iterator[ErrorRow]:
        """Return the rows of Table 1; none without a mapping."""
        if "error" not in self.point:
            return
        value, low, high = self.values("error")
        for number, name in enumerate(self.scores.classifiers):
            yield ErrorRow(
                classifier=name,
                error=plain(value[number]),
                low=plain(low[number]),
                high=plain(high[number]),
                mean=plain(self.point["mean_error"][0, number]),
                categories=len(self.scores.categories),
            )

    def by_content_scheme(self) -> Iterator[ContentSchemeRow]:
        """Return each classifier's average at each content scheme, and the improvement by
        context.
        """
        for measure in self.scores.measures:
            for averaging in AVERAGINGS:
                yield from self._by_content_scheme(measure, averaging)

    def _by_content_scheme(self, measure: str, averaging: str) -> Iterator[ContentSchemeRow]:
        key = (measure, "content", averaging)
        value, low, high = self.values(key)
        schemes = self.scores.content_schemes
        for k, scheme in enumerate(schemes):
            against = BASE_SCHEMES.get(scheme)
            gain = [np.full(len(self.scores.classifiers), np.nan)] * 3
            if against in schemes:
                gain = self._improvements(key, schemes.index(against), k)
            else:
                against = None
            best = np.nanmin(value[k, list(self.scores.machines)], initial=np.inf)
            for c in np.flatnonzero(~np.isnan(value[k])).tolist():
                yield ContentSchemeRow(
                    classifier=self.scores.classifiers[c],
                    content_scheme=scheme,
                    measure=measure,
                    averaging=averaging,
                    value=plain(value[k, c]),
                    low=plain(low[k, c]),
                    high=plain(high[k, c]),
                    improvement=plain(gain[0][c]),
                    improvement_low=plain(gain[1][c]),
                    improvement_high=plain(gain[2][c]),
                    against=against,
                    best=c in self.scores.machines and bool(value[k, c] <= best + TOLERANCE),
                )

    def _improvements(self, key: Hashable, old: int, new: int) -> list[Floats]:
        """Return (old − new) / old of each classifier, and both ends of its interval."""
        value = improvement(self.point[key][0, old], self.point[key][0, new])
        if self.rounds is None:
            return [value, np.full_like(value, np.nan), np.full_like(value, np.nan)]
        each = improvement(self.rounds[key][:, old], self.rounds[key][:, new])
        return [value, *interval(each, self.level)]

    def by_part_scheme(self) -> Iterator[PartSchemeRow]:
        """Return each classifier's average at each part scheme."""
        for measure in self.scores.measures:
            for averaging in AVERAGINGS:
                value, low, high = self.values((measure, "part", averaging))
                for p, c in zip(*np.nonzero(~np.isnan(value)), strict=True):
                    yield PartSchemeRow(
                        classifier=self.scores.classifiers[c],
                        part_scheme=self.scores.part_schemes[p],
                        measure=measure,
                        averaging=averaging,
                        value=plain(value[p, c]),
                        low=plain(low[p, c]),
                        high=plain(high[p, c]),
                    )

    def best_and_worst(self) -> Iterator[WinnersRow]:
        """Return the rows of Table 3, without categories that nobody saw."""
        _, parts, contents, _ = self.scores.cds.shape
        for measure in self.scores.measures:
            seen = self.point[measure, "wins", "lowest"][0].any(axis=1)
            for g in np.flatnonzero(seen).tolist():
                lowest, lowest_wins, lowest_share = self._winner(measure, "lowest", g)
                highest, highest_wins, highest_share = self._winner(measure, "highest", g)
                yield WinnersRow(
                    category=self.scores.categories[g],
                    measure=measure,
                    lowest=lowest,
                    lowest_wins=lowest_wins,
                    lowest_share=lowest_share,
                    highest=highest,
                    highest_wins=highest_wins,
                    highest_share=highest_share,
                    combinations=parts * contents,
                    ties=int(self.point[measure, "ties"][0, g]),
                )

    def _winner(self, measure: str, which: str, g: int) -> tuple[str, int, float | None]:
        """Return the classifier that is most often lowest or highest, how often, and its share."""
        best = int(self.point[measure, which][0, g])
        wins = int(self.point[measure, "wins", which][0, g, best])
        share = None
        if self.rounds is not None:
            share = float((self.rounds[measure, which][:, g] == best).mean())
        return self.scores.classifiers[best], wins, share

    def error_correlation(self) -> Iterator[CorrelationRow]:
        """Return the correlations; none without a mapping, or with fewer than three content
        schemes.
        """
        if "error" not in self.point:
            return
        for measure in self.scores.measures:
            for averaging in AVERAGINGS:
                for error in ERRORS:
                    row = self._correlation(measure, averaging, error)
                    if row is not None:
                        yield row

    def _correlation(self, measure: str, averaging: str, error: str) -> CorrelationRow | None:
        score = self.point[measure, "scores", averaging][0]
        wrong = self.point["errors", averaging, error][0]
        known = np.flatnonzero(~np.isnan(score + wrong))
        if len(known) < MIN_SCHEMES:
            return None
        value, low, high = self.values((measure, "correlation", averaging, error))
        pearson_p, spearman_p = p_values(score[known], wrong[known])
        return CorrelationRow(
            measure=measure,
            averaging=averaging,
            error=error,
            pearson=plain(value[0]),
            pearson_p=plain(pearson_p),
            pearson_low=plain(low[0]),
            pearson_high=plain(high[0]),
            spearman=plain(value[1]),
            spearman_p=plain(spearman_p),
            spearman_low=plain(low[1]),
            spearman_high=plain(high[1]),
            content_schemes=[self.scores.content_schemes[k] for k in known.tolist()],
            errors=wrong[known].tolist(),
            scores=score[known].tolist(),
        )


def improvement(old: Floats | float, new: Floats | float) -> Floats:
    """Return (old − new) / old of arrays or numbers; NaN where old is 0.

    >>> round(100 * float(improvement(0.5264, 0.4319)), 2)
    17.95
    """
    before = np.where(np.asarray(old) == 0, np.nan, old)
    relative: Floats = (before - new) / before
    return relative


def p_values(a: Floats, b: Floats) -> tuple[float, float]:
    """Return two-sided p-values of Pearson's r and Spearman's ρ; NaN where one is constant.

    Pearson's is scipy's; with four points it is 1 − |r|. Spearman's is exact for up to seven
    points, the share of all orders with a ρ as large, and scipy's approximation for more.
    """
    from scipy import stats

    # Round as `spearman` does: equal sums may differ in their last bits.
    a, b = a.round(12), b.round(12)
    if np.ptp(a) <= TOLERANCE or np.ptp(b) <= TOLERANCE:
        return np.nan, np.nan
    if len(a) > _EXACT:
        return float(stats.pearsonr(a, b).pvalue), float(stats.spearmanr(a, b).pvalue)
    orders = np.array(list(itertools.permutations(b)))
    each = spearman(np.broadcast_to(a, orders.shape), orders)
    as_large = np.abs(each) >= abs(spearman(a[None], b[None])[0]) - TOLERANCE
    return float(stats.pearsonr(a, b).pvalue), float(as_large.mean())
