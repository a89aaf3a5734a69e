"""The CSV files of a result on released labels: long tables, a row a number. Pure."""

from collections.abc import Iterator

from evaluation.benchmarks.kinds.labeled import tables
from evaluation.benchmarks.kinds.labeled.tables import Result, Row
from evaluation.benchmarks.tables import Table


def _summary_rows(result: Result) -> Iterator[Row]:
    for row in tables.standings(result):
        for measure, cell in zip(tables.measures(result), row["cells"], strict=True):
            yield {
                "submission": row["name"],
                "attempts": row["attempts"],
                "measure": measure.key,
                **{key: cell[key] for key in ("value", "low", "high", "threshold")},
            }


def _at_k_rows(result: Result) -> Iterator[Row]:
    for row in tables.at_k(result):
        for name, cell in zip(tables.names(result), row["cells"], strict=True):
            head = {"submission": name, "measure": row["measure"], "k": row["k"]}
            yield head | {key: cell[key] for key in ("value", "low", "high")}


def _threshold_rows(result: Result) -> Iterator[Row]:
    for row in tables.thresholds(result):
        for name, cell in zip(tables.names(result), row["cells"], strict=True):
            yield {
                "submission": name,
                "measure": row["words"],
                "accuracy": cell["value"],
                "threshold": cell["threshold"],
            }


def _class_rows(result: Result) -> Iterator[Row]:
    for row in tables.per_class(result):
        for at, name in enumerate(tables.names(result)):
            yield {
                "submission": name,
                "wnid": row["wnid"],
                "value": row["cells"][at],
                "images": row["images"],
                "positives": row["positives"],
                "detections": row["detections"][at],
            }


def _pair_rows(result: Result) -> Iterator[Row]:
    for row in tables.pairs(result):
        first, second = row.get("errors") or (None, None)
        cell = row["difference"]
        yield {
            "first": row["first"],
            "second": row["second"],
            "errors_first": first,
            "errors_second": second,
            "difference": cell["value"],
            "low": cell["low"],
            "high": cell["high"],
        } | {
            key: row.get(key)
            for key in (
                *("only_first_wrong", "only_second_wrong", "both_wrong"),
                *("z", "p_one_sided", "p_two_sided", "mcnemar_p"),
            )
        }


def _scale_rows(result: Result) -> Iterator[Row]:
    for row in tables.scale(result):
        for at, value, wnid in row["points"]:
            yield {"submission": row["name"], "wnid": wnid, "scale": at, "value": value}


def _difficulty_rows(result: Result) -> list[Row]:
    return list((tables.difficulty(result) or {}).get("rows") or ())


def _curve_rows(result: Result) -> Iterator[Row]:
    for row in tables.curves(result):
        for at, value in zip(row["thresholds"], row["values"], strict=False):
            yield {
                "submission": row["name"],
                "measure": row["words"],
                "threshold": at,
                "value": value,
            }


def _histogram_rows(result: Result) -> Iterator[Row]:
    for row in tables.score_histograms(result):
        for at, count in enumerate(row["counts"]):
            yield {
                "submission": row["name"],
                "pixels": row["words"],
                "from": row["edges"][at],
                "to": row["edges"][at + 1],
                "count": count,
            }


TABLES = (
    Table("summary", _summary_rows),
    Table("at-k", _at_k_rows),
    Table("correct-sets", tables.set_sizes),
    Table("thresholds", _threshold_rows),
    Table("curves", _curve_rows),
    Table("scores", _histogram_rows),
    Table("per-class", _class_rows),
    Table("by-scale", _scale_rows),
    Table("difficulty", _difficulty_rows),
    Table("comparison", _pair_rows),
    Table("classes-won", tables.classes_won),
)


def filled(result: Result) -> list[Table]:
    """The tables that this result has any row of."""
    return [table for table in TABLES if next(iter(table.rows(result)), None) is not None]
