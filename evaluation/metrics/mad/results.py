"""The result of ranking a MAD competition, as in docs/explanation/mad.md, and sentences
about it.
"""

from dataclasses import dataclass

from evaluation.metrics import bands
from labeling.plurals import count_of
from labeling.records import Record

LEVEL = 0.95
# Share of bootstrap rounds in which one must be above another to differ at the level.
MIN_ROUND_SHARE = 1 - (1 - LEVEL) / 2
_MANY = 20


@dataclass(kw_only=True)
class RankingBootstrap(Record):
    """left_out: rounds without a ranking."""

    rounds: int
    seed: int
    left_out: int


@dataclass(kw_only=True)
class SureOrder(Record):
    """A bands.ConfirmedOrder as printed. places: in the order of the classifiers."""

    level: float
    bands: list[list[str]]
    apart: list[list[str]]
    words: str
    places: list[list[int]]


@dataclass(kw_only=True)
class Hodge(Record):
    """HodgeRank: scores with sum 0. cyclicity: 0 for consistent comparisons, 1 for a cycle."""

    scores: list[float]
    ranks: list[float]
    cyclicity: float


@dataclass(kw_only=True)
class PairCounts(Record):
    """The images of a pair: ranked, dropped, and without an answer so far."""

    pair: list[str]
    images: int
    dropped: int | None = None
    pending: int | None = None


@dataclass(kw_only=True)
class DifferentImages(Record):
    ranked: int
    pending: int


@dataclass(kw_only=True)
class AblationRow(Record):
    """spearman: of the rank with k images per pair and the rank with all of them."""

    k: int
    spearman: float | None


@dataclass(kw_only=True)
class Ranking(Record):
    """Lists and matrices follow `classifiers`; NaN becomes null in JSON.

    accuracy[i][j]: of i on the images of {i, j}; beats[i][j]: P(i ranks above j). cases: number of
    images by how many of the pair's classifiers are right. pending: images of pairs without an
    answer so far. rank_intervals_wide: the intervals, widened to `sure.places`.
    """

    classifiers: list[str]
    accuracy: list[list[float | None]]
    dominance: list[list[float | None]]
    scores: list[float]
    ranks: list[float]
    rank_intervals: list[list[float | None]]
    # Results of earlier versions lack it.
    rank_intervals_wide: list[list[float]] | None = None
    beats: list[list[float | None]]
    bootstrap: RankingBootstrap
    # Results of earlier versions lack `sure`, `images` and `different_images`.
    sure: SureOrder | None = None
    images: list[int] | None = None
    hodge: Hodge
    cases: dict[str, int]
    pairs: list[PairCounts]
    smoothing: str
    top_k: int
    pending: int
    different_images: DifferentImages | None = None
    # Only if every classifier has a published accuracy.
    accuracy_ranks: list[float] | None = None
    rank_changes: list[float] | None = None
    spearman: float | None = None
    kendall: float | None = None
    ablation: list[AblationRow] | None = None

    def by_rank(self) -> list[int]:
        """Return the classifiers' indices in the matrices, best first; ties by name."""
        names = self.classifiers
        return sorted(range(len(names)), key=lambda i: (self.ranks[i], names[i]))

    def sure_order(self) -> bands.ConfirmedOrder:
        """Return the confirmed order.

        For a result without `sure`: what its bootstrap separates, with twenty images per pair or
        more.
        """
        names = [self.classifiers[i] for i in self.by_rank()]
        if self.sure is not None:
            apart = tuple((better, worse) for better, worse in self.sure.apart)
            return bands.ConfirmedOrder(tuple(names), apart, self.sure.level)
        index_of = {name: index for index, name in enumerate(self.classifiers)}
        images = {frozenset(row.pair): row.images for row in self.pairs}

        def is_apart(a: str, b: str) -> bool:
            beats = self.beats[index_of[a]][index_of[b]]
            return (beats or 0) >= MIN_ROUND_SHARE and images.get(frozenset((a, b)), 0) >= _MANY

        return bands.order(names, is_apart, LEVEL)

    def counted_images(self) -> list[str]:
        """Return sentences on what is ranked and left out; an image counts in every pair."""
        different = self.different_images
        if different is None:
            return []
        ranked = sum(row.images for row in self.pairs)
        sentences = [
            f"{count_of(count, 'image')} {words}, {distinct:,} of them different "
            "(an image counts in each of its pairs)"
            for count, distinct, words in (
                (ranked, different.ranked, "ranked"),
                (self.pending, different.pending, "left out until answered"),
            )
            if count
        ]
        if dropped := sum(row.dropped or 0 for row in self.pairs):
            dropped_text = count_of(dropped, "image")
            sentences.append(f"{dropped_text} dropped as too hard or no photograph")
        return sentences
