"""A CDS result as tables: the rows that the page shows beside each figure, and the CSV files. Pure.

A result is a Run's: head and tables of `scoring.Scored`, without the sequences. `category_names`
may stand beside them: what to call a category that is a wnid.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from evaluation.metrics import bands
from evaluation.metrics.cds.formulas import BINS
from evaluation.metrics.frames.foveation import CONTENT_SCHEMES
from evaluation.metrics.frames.part_order import PART_SCHEMES
from evaluation.readers.frame_predictions import PEOPLE
from evaluation.scoring.cds import wording

Result = dict[str, Any]
Row = dict[str, Any]

# The tables of a result and their columns. A database may keep the keys of JSON in another order.
TABLES = {
    "error": ("classifier", "error", "mean", "categories", "low", "high"),
    "by_content_scheme": (
        "classifier",
        "content_scheme",
        "measure",
        "averaging",
        "value",
        "improvement",
        "improvement_low",
        "improvement_high",
        "against",
        "best",
        "low",
        "high",
    ),
    "by_part_scheme": ("classifier", "part_scheme", "measure", "averaging", "value", "low", "high"),
    "best_and_worst": (
        "category",
        "measure",
        "lowest",
        "lowest_wins",
        "lowest_share",
        "highest",
        "highest_wins",
        "highest_share",
        "combinations",
        "ties",
    ),
    "error_correlation": (
        "measure",
        "averaging",
        "error",
        "pearson",
        "pearson_p",
        "pearson_low",
        "pearson_high",
        "spearman",
        "spearman_p",
        "content_schemes",
        "errors",
        "scores",
    ),
    "cl_ratio": ("classifier", "index", "bin", "low", "high", "count", "share"),
    "hardness": (
        "form",
        "of",
        "image",
        "object",
        "category",
        "hardness",
        "low",
        "high",
        "rank",
        "gallery",
    ),
    "part_presence": ("category", "bin", "low", "high", "count", "share", "objects"),
    "captchas": (
        "image",
        "object",
        "category",
        "part_scheme",
        "content_scheme",
        "frames",
        "threshold",
        "of",
        "first",
        "last",
        "frame_ids",
        "pair_image",
        "pair_object",
    ),
}


@dataclass(frozen=True)
class Chosen:
    """What a reader chose to see: the averaging rule, and whose CL-ratios ("" for all)."""

    averaging: str = "text"
    of: str = ""

    def query(self) -> str:
        """For an address; nothing where the page shows its defaults."""
        said = {"averaging": self.averaging if self.averaging != "text" else "", "of": self.of}
        return urlencode({key: value for key, value in said.items() if value})


def rows_of(result: Result, name: str, **where: Any) -> list[Row]:
    """The rows of a table in which these columns have these values."""
    found: Iterable[Row] = result["tables"].get(name) or ()
    return [row for row in found if all(row.get(key) == value for key, value in where.items())]


def content_schemes(result: Result) -> list[str]:
    """The content schemes of the result, those of the paper first and in its order."""
    return _in_order(rows_of(result, "by_content_scheme"), "content_scheme", CONTENT_SCHEMES)


def part_schemes(result: Result) -> list[str]:
    """The part schemes of the result, those of the paper first and in its order."""
    return _in_order(rows_of(result, "by_part_scheme"), "part_scheme", PART_SCHEMES)


def _in_order(rows: list[Row], key: str, known: tuple[str, ...]) -> list[str]:
    there = list(dict.fromkeys(row[key] for row in rows))
    return [name for name in known if name in there] + [n for n in there if n not in known]


def category_name(result: Result, category: str) -> str:
    """What people call the category."""
    return str(result.get("category_names", {}).get(category, category))


def measures(result: Result) -> list[str]:
    """cds, and b_cds where a mapping was given."""
    rows = rows_of(result, "by_content_scheme")
    valued = {row["measure"] for row in rows if row["value"] is not None}
    return [name for name in wording.SCORES if name in valued]


def standings(result: Result, measure: str, averaging: str) -> list[Row]:
    """A row for each classifier with a cell for each content scheme, least needed first.

    `mean` is over the content schemes and None where one is missing; people come last.
    """
    schemes = content_schemes(result)
    found = rows_of(result, "by_content_scheme", measure=measure, averaging=averaging)
    return _grid(result, found, "content_scheme", schemes)


def by_part_scheme(result: Result, measure: str, averaging: str) -> list[Row]:
    """The same over part schemes."""
    schemes = part_schemes(result)
    found = rows_of(result, "by_part_scheme", measure=measure, averaging=averaging)
    return _grid(result, found, "part_scheme", schemes)


def _grid(result: Result, found: list[Row], key: str, schemes: list[str]) -> list[Row]:
    """`best` marks the lowest of a column where an order is sure; people take no machine's mark."""
    cells = {(row["classifier"], row[key]): row for row in found if row["value"] is not None}
    machines = [row for row in cells.values() if row["classifier"] != PEOPLE]
    leading = leaders(result)
    lowest = {
        scheme: min((row["value"] for row in machines if row[key] == scheme), default=None)
        for scheme in schemes
    }
    rows = []
    for name in result["classifiers"]:
        own = [cells.get((name, scheme)) for scheme in schemes]
        values = [cell["value"] for cell in own if cell]
        whole = bool(own) and len(values) == len(own)
        rows.append(
            {
                "classifier": name,
                "is_people": name == PEOPLE,
                "mean": sum(values) / len(values) if whole else None,
                "cells": [
                    cell
                    and cell
                    | _gain(cell)
                    | {
                        "best": cell["classifier"] in leading
                        and cell["value"] == lowest[cell[key]],
                    }
                    for cell in own
                ],
            }
        )
    return sorted(rows, key=_place)


def _gain(cell: Row) -> Row:
    """The improvement in words: signed percent, and its interval."""
    value, low, high = (
        cell.get(key) for key in ("improvement", "improvement_low", "improvement_high")
    )
    if value is None:
        return {}
    interval = None if low is None or high is None else f"{signed(low)} to {signed(high)}"
    return {"gain": f"{signed(value)} %", "gain_interval": interval}


def signed(share: float) -> str:
    """A share in percent with its sign.

    >>> signed(0.1795), signed(-0.0027)
    ('+18.0', '−0.3')
    """
    return f"{100 * share:+.1f}".replace("-", "−")


def _place(row: Row) -> tuple[bool, bool, float, str]:
    return row["is_people"], row["mean"] is None, row["mean"] or 0.0, row["classifier"]


def answer(result: Result, averaging: str) -> Row | None:
    """Which machine needs least of the object, and by how much; None without a machine.

    `wins`: in how many content schemes its CDS is the lowest of the machines'. `sure`: what of
    their order is sure. `people`: theirs, and the best machine's over the
    content schemes that people saw.
    """
    ranked = standings(result, "cds", averaging)
    machines = [row for row in ranked if not row["is_people"] and row["mean"] is not None]
    if not machines:
        return None
    best, second = machines[0], machines[1] if len(machines) > 1 else None
    wins = sum(
        all(cell["value"] <= row["cells"][at]["value"] for row in machines)
        for at, cell in enumerate(best["cells"])
    )
    return {
        "best": best,
        "second": second,
        "wins": wins,
        "schemes": len(best["cells"]),
        "sure": _ordered(result, [row["classifier"] for row in machines]),
        "people": _people(ranked, best),
    }


def _ordered(result: Result, names: list[str]) -> bands.Order:
    """What of this order the sign test over objects makes sure; of results of before, nothing."""
    told = result.get("sure") or {"apart": [], "level": result["bootstrap"]["level"]}
    apart = {tuple(pair) for pair in told["apart"]}
    return bands.order(names, lambda a, b: (a, b) in apart, told["level"])


def leaders(result: Result) -> list[str]:
    """Machines that nothing is surely better than, while something is surely worse."""
    bands_of = (result.get("sure") or {}).get("bands") or [[]]
    return list(bands_of[0]) if len(bands_of) > 1 else []


def _people(ranked: list[Row], best: Row) -> Row | None:
    """The mean of people and of the best machine over the content schemes that people saw."""
    for row in ranked:
        seen = [at for at, cell in enumerate(row["cells"]) if cell]
        if row["is_people"] and seen:
            return {
                "value": sum(row["cells"][at]["value"] for at in seen) / len(seen),
                "machine": sum(best["cells"][at]["value"] for at in seen) / len(seen),
                "schemes": len(seen),
            }
    return None


def errors(result: Result) -> list[Row]:
    """Table 1, the least error first, people last."""
    rows = rows_of(result, "error")
    return sorted(
        (row | {"is_people": row["classifier"] == PEOPLE} for row in rows),
        key=lambda row: (row["is_people"], row["error"] is None, row["error"] or 0.0),
    )


def winners(result: Result) -> list[Row]:
    """A row for each category: who had the lowest and the highest CDS and B-CDS most often."""
    rows: dict[str, Row] = {}
    for row in rows_of(result, "best_and_worst"):
        name = category_name(result, row["category"])
        here = rows.setdefault(row["category"], {"category": row["category"], "name": name})
        here[row["measure"]] = row
    return list(rows.values())


def ratios(result: Result, of: str) -> list[Row]:
    """CL-ratios: a row for each index j with the counts of its ten bins and their sum."""
    rows: dict[int, Row] = {}
    for row in rows_of(result, "cl_ratio", classifier=of):
        here = rows.setdefault(row["index"], {"index": row["index"], "counts": [0] * BINS})
        here["counts"][row["bin"]] = row["count"]
    for row in rows.values():
        row["total"] = sum(row["counts"])
    return sorted(rows.values(), key=lambda row: row["index"])


def presence(result: Result) -> list[Row]:
    """Part presence: a row for each category with its ten bins of m / M."""
    rows: dict[str, Row] = {}
    for row in rows_of(result, "part_presence"):
        here = rows.setdefault(
            row["category"],
            {
                "category": row["category"],
                "name": category_name(result, row["category"]),
                "objects": row["objects"],
                "counts": [0] * BINS,
            },
        )
        here["counts"][row["bin"]] = row["count"]
    for row in rows.values():
        below = sum(row["counts"][: BINS // 2])
        row["below_half"] = below / row["objects"] if row["objects"] else None
    return list(rows.values())


def hardness(result: Result, form: str) -> list[Row]:
    """For each content scheme or classifier: its median hardness, easiest and hardest object."""
    found = []
    for of, rows in by_of(result, form).items():
        rows.sort(key=lambda row: row["rank"])
        found.append(
            {
                "of": of,
                "objects": len(rows),
                "median": _median([row["hardness"] for row in rows]),
                "easiest": rows[0],
                "hardest": rows[-1],
            }
        )
    return found


def by_of(result: Result, form: str) -> dict[str, list[Row]]:
    """The hardness rows of one form by content scheme, in the paper's order, or by classifier."""
    found: dict[str, list[Row]] = {}
    for row in rows_of(result, "hardness", form=form):
        found.setdefault(row["of"], []).append(row)
    known = CONTENT_SCHEMES if form == "content_scheme" else tuple(result["classifiers"])
    order = [name for name in known if name in found] + [n for n in found if n not in known]
    return {name: found[name] for name in order}


def _median(values: list[float]) -> float:
    """Of values in order."""
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def table(name: str, result: Result) -> tuple[list[str], list[list[Any]]]:
    """Head and rows of one of TABLES, as they go into a CSV file; a list becomes one cell. A column
    that no row has is left out, one that is not known comes last."""
    rows = rows_of(result, name)
    there = {key for row in rows for key in row}
    head = [column for column in TABLES[name] if column in there]
    head += sorted(there.difference(head))
    return head, [[_cell(row.get(key)) for key in head] for row in rows]


def _cell(value: Any) -> Any:
    return " ".join(str(part) for part in value) if isinstance(value, (list, tuple)) else value
