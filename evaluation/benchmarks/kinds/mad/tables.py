"""The tables of a ranking: the numbers beside every figure, and the CSV files. Pure."""

from typing import Any

from evaluation.benchmarks.kinds.mad.figures import by_rank
from evaluation.benchmarks.tables import Column, Result, Table
from evaluation.metrics.mad.ranking import sure_order


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


def _ablation(result: Result) -> list[dict[str, Any]]:
    return result.get("ablation") or []


def _no_rows(result: Result) -> list[dict[str, Any]]:
    return []


class Square(Table):
    """A matrix of the result: a row and a column for each classifier."""

    def content(self, result: Result) -> tuple[list[str], list[list[Any]]]:
        head = ["classifier", *result["classifiers"]]
        named = zip(result["classifiers"], result[self.name], strict=True)
        return head, [[name, *row] for name, row in named]


# The columns of pages and CSV files; `page` has those of pages in their order.
_OWN = "evaluation/mad/_cell.html"
RANKS = Table(
    "ranks",
    ranking,
    (
        Column("classifier", "Classifier", is_number=False),
        Column("images", "Images", template=_OWN),
        Column("first_place", "Sure places", template=_OWN),
        Column("last_place"),
        Column("rank", "Rank", template=_OWN),
        Column("low"),
        Column("high"),
        Column("score", "Score", digits=4),
        Column("hodge_rank", "HodgeRank", template=_OWN),
        Column("hodge_score"),
        Column("accuracy", "Accuracy"),
        Column("accuracy_rank", "Rank by accuracy", digits=-1),
        Column("rank_change", "Moved by", template=_OWN),
    ),
    words="ranks",
    page=(
        *("rank", "classifier", "first_place", "images", "score", "hodge_rank"),
        *("accuracy", "accuracy_rank", "rank_change"),
    ),
)
PAIRS = Table("pairs", pairs)
CASES = Table("cases", cases)
ABLATION = Table(
    "ablation",
    _ablation,
    (Column("k", "k"), Column("spearman", "Spearman", digits=4)),
    words="ablation over k",
)
TABLES = (
    RANKS,
    *(Square(name, _no_rows) for name in ("accuracy", "dominance", "beats")),
    *(PAIRS, CASES, ABLATION),
)
