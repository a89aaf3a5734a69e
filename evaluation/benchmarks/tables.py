"""A result as tables: the numbers beside every figure, and the CSV files. Pure."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from evaluation.benchmarks.figures import by_rank
from evaluation.metrics.mad.ranking import sure_order

Result = dict[str, Any]
# What a spreadsheet would run as a formula begins with one of these.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def ranking(result: Result) -> list[dict[str, Any]]:
    """A row for each classifier, best first."""
    changes = result.get("rank_changes")
    places = sure_order(result).places
    rows = []
    for (first, last), index in zip(places, by_rank(result), strict=True):
        low, high = result["rank_intervals"][index]
        name = result["classifiers"][index]
        rows.append(
            {
                "classifier": name,
                "images": sum(row["images"] for row in result["pairs"] if name in row["pair"]),
                "first_place": first,
                "last_place": last,
                "rank": result["ranks"][index],
                "low": low,
                "high": high,
                "score": result["scores"][index],
                "hodge_rank": result["hodge"]["ranks"][index],
                "hodge_score": result["hodge"]["scores"][index],
                "accuracy": result["accuracies"][index],
                "accuracy_rank": result["accuracy_ranks"][index] if changes else None,
                "rank_change": changes[index] if changes else None,
            }
        )
    return rows


def matrix(result: Result, key: str) -> list[dict[str, Any]]:
    """The rows of a square matrix of the result; None on the diagonal."""
    return [
        {
            "name": name,
            "cells": [None if i == j else value for j, value in enumerate(result[key][i])],
        }
        for i, name in enumerate(result["classifiers"])
    ]


def pairs(result: Result) -> list[dict[str, Any]]:
    """A row for each pair: its images and both accuracies."""
    place = {name: index for index, name in enumerate(result["classifiers"])}
    rows = []
    for row in result["pairs"]:
        i, j = (place[name] for name in row["pair"])
        rows.append(
            {
                "first": row["pair"][0],
                "second": row["pair"][1],
                "images": row["images"],
                "pending": row.get("pending"),
                "dropped": row.get("dropped"),
                "first_accuracy": result["accuracy"][i][j],
                "second_accuracy": result["accuracy"][j][i],
            }
        )
    return rows


def cases(result: Result) -> list[dict[str, Any]]:
    """Images of each case and their share; a share of nothing is None."""
    total = sum(result["cases"].values())
    meaning = {"I": "both right", "II": "one right", "III": "neither right"}
    return [
        {
            "case": case,
            "meaning": meaning[case],
            "images": count,
            "share": count / total if total else None,
        }
        for case, count in result["cases"].items()
    ]


def table(name: str, result: Result) -> tuple[list[str], list[list[Any]]]:
    """Head and rows of one of TABLES, as they go into a CSV file."""
    if name in ("accuracy", "dominance", "beats"):
        head = ["classifier", *result["classifiers"]]
        return head, [[name, *row] for name, row in _named_rows(result, name)]
    rows = {
        "ranks": lambda: ranking(result),
        "pairs": lambda: pairs(result),
        "cases": lambda: cases(result),
        "ablation": lambda: result.get("ablation", []),
    }[name]()
    head = list(rows[0]) if rows else []
    return head, [list(row.values()) for row in rows]


TABLES = ("ranks", "accuracy", "dominance", "beats", "pairs", "cases", "ablation")


def _named_rows(result: Result, key: str) -> Iterable[tuple[str, list[Any]]]:
    return zip(result["classifiers"], result[key], strict=True)


def as_csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The table as CSV, safe to open: a text that a spreadsheet would run gets a quote before it.

    >>> as_csv(["name", "change"], [["=1+1", -2]])
    "name,change\\r\\n'=1+1,-2\\r\\n"
    """
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([_safe(cell) for cell in head])
    writer.writerows([_safe(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _safe(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(_FORMULA):
        return f"'{cell}"
    return "" if cell is None else cell
