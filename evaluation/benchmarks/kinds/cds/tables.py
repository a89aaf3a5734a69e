"""Tables of a CDS result: columns of its CSV files and of the tables on its page."""

from collections.abc import Iterable

from evaluation.benchmarks.tables import Column, Table
from evaluation.scoring.cds import wording
from evaluation.scoring.cds.result import CdsResult

NBSP = "\N{NO-BREAK SPACE}"


def _stored(name: str, keys: str) -> Table:
    """Return a CSV table of rows as stored, with these columns.

    Missing columns are left out, unknown ones come last.
    """

    def rows(result: CdsResult) -> Iterable[dict[str, object]]:
        return [row.to_json() for row in getattr(result.tables, name)]

    return Table(name, rows, tuple(map(Column, keys.split())))


TABLES = (
    _stored("error", "classifier error mean categories low high"),
    _stored(
        "by_content_scheme",
        "classifier content_scheme measure averaging value improvement improvement_low "
        "improvement_high against best low high",
    ),
    _stored("by_part_scheme", "classifier part_scheme measure averaging value low high"),
    _stored(
        "best_and_worst",
        "category measure lowest lowest_wins lowest_share highest highest_wins highest_share "
        "combinations ties",
    ),
    _stored(
        "error_correlation",
        "measure averaging error pearson pearson_p pearson_low pearson_high spearman spearman_p "
        "content_schemes errors scores",
    ),
    _stored("cl_ratio", "classifier index bin low high count share"),
    _stored("hardness", "form of image object category hardness low high rank gallery"),
    _stored("part_presence", "category bin low high count share objects"),
    _stored(
        "captchas",
        "image object category part_scheme content_scheme frames threshold of first last "
        "frame_ids pair_image pair_object",
    ),
)
ERRORS = Table(
    "errors",
    list,
    (
        Column("classifier", "Classifier", is_number=False),
        Column("error", "Median error", digits=3),
        Column("interval", "95 % interval", of=lambda row: _interval(row.low, row.high, 3)),
        Column("mean", "Mean", digits=3),
        Column("categories", "Categories"),
    ),
)
CORRELATIONS = Table(
    "correlations with error",
    list,
    (
        Column("score", "Score", is_number=False, of=lambda row: wording.SCORES[row.measure]),
        Column("error", "Error of", is_number=False, of=lambda row: wording.ERRORS[row.error]),
        Column("pearson", "Pearson", digits=3),
        Column(
            "interval",
            "95 % interval",
            of=lambda row: _interval(row.pearson_low, row.pearson_high, 2),
        ),
        Column("pearson_p", "p", digits=3),
        Column("spearman", "Spearman", digits=3),
        Column("spearman_p", "p", digits=3),
    ),
)


def _interval(low: float | None, high: float | None, digits: int) -> str | None:
    if low is None or high is None:
        return None
    return NBSP.join((f"{low:.{digits}f}", "to", f"{high:.{digits}f}"))
