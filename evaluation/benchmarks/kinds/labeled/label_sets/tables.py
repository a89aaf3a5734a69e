"""Tables of the versions of label sets, for pages and CSV files. Pure."""

from collections.abc import Callable, Iterator

from evaluation.benchmarks.kinds.labeled.label_sets import rows
from evaluation.benchmarks.kinds.labeled.label_sets.rows import (
    CountedShare,
    RateRow,
    SubmissionVersionsRow,
)
from evaluation.benchmarks.kinds.labeled.results import LabeledResult
from evaluation.benchmarks.kinds.labeled.rows import MeasureCell
from evaluation.benchmarks.tables import Column, Table

CELL = "evaluation/labeled/_cell.html"
WHOLE_NUMBER = "0g"
CsvRows = Iterator[dict[str, object]]


def _nth(at: int) -> Callable[[SubmissionVersionsRow], MeasureCell]:
    return lambda row: row.by_version[at].cell


def _images(at: int) -> Callable[[SubmissionVersionsRow], int | None]:
    return lambda row: row.by_version[at].images


def _columns(result: LabeledResult) -> tuple[Column, ...]:
    columns = [Column("name", "Submission", is_number=False)]
    for at, version in enumerate(rows.versions(result)):
        words = f"Version {version.version}"
        columns += [
            Column(f"version_{at}", words, template=CELL, of=_nth(at)),
            Column(f"images_{at}", "n", WHOLE_NUMBER, of=_images(at)),
        ]
    return (
        *columns,
        Column("estimated", "Estimated", template=CELL, of=_estimated),
        Column(
            "reviewed", "n", WHOLE_NUMBER, of=lambda row: row.estimated and row.estimated.images
        ),
        Column("looked_at", "Mistakes", of=_looked_at),
    )


def _estimated(row: SubmissionVersionsRow) -> MeasureCell:
    return row.estimated.cell if row.estimated else MeasureCell(None)


def _looked_at(row: SubmissionVersionsRow) -> str:
    return "reviewed" if row.is_reviewed else "not reviewed"


def _numbers(share: CountedShare) -> dict[str, object]:
    cell = share.cell
    return {"value": cell.value, "low": cell.low, "high": cell.high, "images": share.images}


def _csv(result: LabeledResult) -> CsvRows:
    """Return a row per submission and version, and rows for the estimates by the last review."""
    for row in rows.submissions(result):
        for version, share in zip(rows.versions(result), row.by_version, strict=True):
            head = {"submission": row.name, "version": version.version, "by": "label sets"}
            yield head | _numbers(share)
        if row.estimated:
            last = rows.versions(result)[-1].version
            head = {"submission": row.name, "version": last, "by": "reviewed images"}
            yield head | _numbers(row.estimated)


def _rates_csv(result: LabeledResult) -> CsvRows:
    for row in rows.rates(result):
        yield {"version": row.version, "rate": row.key} | _numbers(row.share)


def _share(row: RateRow) -> MeasureCell:
    return row.share.cell


# For pages.
SUBMISSIONS = Table("label-sets", rows.submissions, _columns, "accuracy by version of label sets")
RATES = Table(
    "label-rates",
    rows.rates,
    (
        Column("words", "Share of images with", is_number=False),
        Column("version", "Version"),
        Column("share", "Share", template=CELL, of=_share),
        Column("images", "n reviewed", WHOLE_NUMBER, of=lambda row: row.share.images),
    ),
    "label errors by version",
)
# For CSV files.
TABLES = (Table("label-sets", _csv), Table("label-rates", _rates_csv))
