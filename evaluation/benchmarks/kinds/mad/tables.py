"""Tables of a ranking, for pages and CSV files."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from evaluation.benchmarks.kinds.mad.scoring import MadResult
from evaluation.benchmarks.tables import Column, Table

MEANINGS = {"I": "both right", "II": "one right", "III": "neither right"}


@dataclass(frozen=True)
class RankRow:
    """The classifier at index `i` of the result, with its best and worst confirmed rank."""

    result: MadResult
    i: int
    first_place: int
    last_place: int

    @property
    def images(self) -> int:
        name = self.result.classifiers[self.i]
        return sum(row.images for row in self.result.pairs if name in row.pair)

    @property
    def hodge_score(self) -> float:
        return self.result.hodge.scores[self.i]


@dataclass(frozen=True)
class PairRow:
    """A pair of classifiers: its numbers of images and both accuracies."""

    first: str
    second: str
    images: int
    pending: int | None
    dropped: int | None
    first_accuracy: float | None
    second_accuracy: float | None


@dataclass(frozen=True)
class CaseRow:
    """A case of MEANINGS. share: its share of the images of all pairs; None without images."""

    case: str
    meaning: str
    images: int
    share: float | None


def ranking(result: MadResult) -> list[RankRow]:
    """Return a row per classifier, best first."""
    places = zip(result.by_rank(), result.sure_order().places, strict=True)
    return [RankRow(result, i, first, last) for i, (first, last) in places]


def pairs(result: MadResult) -> list[PairRow]:
    """Return a row per pair."""
    rows = []
    for row in result.pairs:
        (first, i), (second, j) = ((name, result.classifiers.index(name)) for name in row.pair)
        accuracies = result.accuracy[i][j], result.accuracy[j][i]
        rows.append(PairRow(first, second, row.images, row.pending, row.dropped, *accuracies))
    return rows


def cases(result: MadResult) -> list[CaseRow]:
    """Return a row per case."""
    total = sum(result.cases.values())
    return [
        CaseRow(case, MEANINGS[case], count, count / total if total else None)
        for case, count in result.cases.items()
    ]


class Square(Table):
    """A table of a square matrix of the result: a row and a column per classifier."""

    def content(self, result: MadResult) -> tuple[list[str], list[list[object]]]:
        named_rows = zip(result.classifiers, getattr(result, self.name), strict=True)
        return ["classifier", *result.classifiers], [[name, *row] for name, row in named_rows]

    def page_context(self, result: MadResult) -> dict[str, object]:
        """Return the page's context with an empty diagonal."""
        head = Column("classifier", "Classifier", is_number=False)
        columns = [Column(name, name, digits=3) for name in result.classifiers]
        rows = [
            [
                (head, name, None),
                *(
                    (column, None if column.key == name else value, None)
                    for column, value in zip(columns, row, strict=True)
                ),
            ]
            for name, row in zip(result.classifiers, getattr(result, self.name), strict=True)
        ]
        return {"words": self.words, "columns": [head, *columns], "rows": rows}


def _of(path: str) -> Callable[[RankRow], object]:
    """Return a function from a row to its classifier's entry in the list at `path` of the result.

    The function returns None if the result has no such list.
    """
    values = attrgetter(path)

    def cell(row: RankRow) -> object:
        per_classifier = values(row.result)
        return per_classifier[row.i] if per_classifier else None

    return cell


# Columns of CSV files, in order. `page` lists the columns of pages, in their order.
_CELL = "evaluation/mad/_cell.html"
RANKS = Table(
    "ranks",
    ranking,
    (
        Column("classifier", "Classifier", is_number=False, of=_of("classifiers")),
        Column("images", "Images", template=_CELL),
        Column("first_place", "Confirmed ranks", template=_CELL),
        Column("last_place"),
        Column("rank", "Rank", template=_CELL, of=_of("ranks")),
        Column("low", of=lambda row: row.result.rank_intervals[row.i][0]),
        Column("high", of=lambda row: row.result.rank_intervals[row.i][1]),
        Column("score", "Score", digits=4, of=_of("scores")),
        Column("hodge_rank", "HodgeRank", template=_CELL, of=_of("hodge.ranks")),
        Column("hodge_score"),
        Column("accuracy", "Accuracy", of=_of("accuracies")),
        Column("accuracy_rank", "Rank by accuracy", digits=-1, of=_of("accuracy_ranks")),
        Column("rank_change", "Rank change", template=_CELL, of=_of("rank_changes")),
    ),
    words="ranks",
    page=(
        "rank",
        "classifier",
        "first_place",
        "images",
        "score",
        "hodge_rank",
        "accuracy",
        "accuracy_rank",
        "rank_change",
    ),
)
ACCURACY = Square("accuracy", lambda result: (), words="accuracy in pairs")
BEATS = Square("beats", lambda result: (), words="probability that the row beats the column")
ABLATION = Table(
    "ablation",
    lambda result: result.ablation or (),
    (Column("k", "k"), Column("spearman", "Spearman", digits=4)),
    words="ablation over k",
)
ALIKE = Table(
    "alike",
    lambda result: result.alike.pairs if result.alike else (),
    (
        Column("first", "First", is_number=False),
        Column("second", "Second", is_number=False),
        Column("images", "Images with a truth", digits="0g"),
        Column("alike", "Named alike", digits="0g"),
        Column("wrong", "Alike and wrong", digits="0g"),
        Column("share", "Share", digits=4),
        Column("low", "95 % from", digits=4),
        Column("high", "to", digits=4),
    ),
    words="images that both name alike and wrongly",
)
TABLES = (
    RANKS,
    ACCURACY,
    Square("dominance", lambda result: ()),
    BEATS,
    Table("pairs", pairs),
    Table("cases", cases),
    ABLATION,
    ALIKE,
)
# Only on pages; its rows are pages.PairLine.
PAIRS = Table(
    "pairs",
    lambda lines: lines,
    (
        Column("pair", "Pair", is_number=False, template=_CELL),
        Column("chosen", "Chosen images"),
        Column("images", "Settled images"),
        Column("replaced", "Replaced images", template=_CELL),
        Column("first_accuracy", "Accuracy of the first", digits=3),
        Column("second_accuracy", "Accuracy of the second", digits=3),
    ),
    words="pairs",
)
