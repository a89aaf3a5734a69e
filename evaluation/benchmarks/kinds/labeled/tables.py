"""A result on released labels as tables: the rows beside each figure. Pure.

A result is a Run's: submissions with what `score KIND` says of each, their comparison, and under
`curves` those of WSOL by submission. A number that is not there is None in a row, never a fault.
"""

import math
from typing import Any

from evaluation.benchmarks.kinds.labeled import wording
from evaluation.metrics import bands
from evaluation.scoring import comparing
from evaluation.scoring.wsol.intervals import LEVEL, intervals

Result = dict[str, Any]
Row = dict[str, Any]
LISTED = 10


def names(result: Result) -> list[str]:
    """The submissions, in the order of the result."""
    return [own["name"] for own in result["submissions"]]


def number(value: Any) -> float | None:
    """The value if it is a finite number, else None.

    >>> number(0.5), number(None), number(float("nan"))
    (0.5, None, None)
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def figure_of(scored: Row, *path: str) -> Row:
    """What stands at the path of a submission's result: {"value", "low", "high", "threshold"}, None
    for what it lacks."""
    found: Any = scored
    for key in path:
        found = (found if isinstance(found, dict) else {}).get(key)
    if not isinstance(found, dict):
        found = {"value": found}
    low, high = (found.get("interval") or _wsol_interval(scored, path) or (None, None))[:2]
    return {
        "value": number(found.get("value", found.get("accuracy"))),
        "low": number(low),
        "high": number(high),
        "threshold": number(found.get("threshold")),
    }


def _wsol_interval(scored: Row, path: tuple[str, ...]) -> list[float | None] | None:
    """Results of before had none: a share of the images has one all the same."""
    if "protocol" not in scored or not scored.get("images"):
        return None
    found: Any = scored.get("intervals") or intervals(scored)
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, list) else None


def level(result: Result) -> float:
    """Of the intervals, and of what is sure."""
    return float(result["settings"].get("confidence", LEVEL))


def sure(result: Result, measure: wording.Measure) -> bands.Order:
    """Which of the order by a measure is sure: by the paired tests where these are of the measure,
    else by intervals that do not overlap."""
    column = dict(zip(names(result), _column(result, measure), strict=True))
    values = {name: cell["value"] for name, cell in column.items() if cell["value"] is not None}
    pairs = (result.get("comparison") or {}).get("pairs")
    if pairs and measure == measures(result)[0]:
        return comparing.sure(values, pairs, level(result), measure.less_is_better)
    sign = 1 if measure.less_is_better else -1
    ranked = sorted(values, key=lambda name: (sign * values[name], name))
    bounds = {name: (column[name]["low"], column[name]["high"]) for name in ranked}
    return bands.apart_by_intervals(ranked, bounds, level(result))


def measures(result: Result) -> list[wording.Measure]:
    """The leading numbers that any submission has."""
    return [
        measure
        for measure in wording.LEADS[result["kind"]]
        if any(cell["value"] is not None for cell in _column(result, measure))
    ]


def _column(result: Result, measure: wording.Measure) -> list[Row]:
    return [figure_of(own["result"], *measure.path) for own in result["submissions"]]


def standings(result: Result) -> list[Row]:
    """A row for each submission with a cell for each leading number, best by the first one first.

    `best` marks those of a column of which nothing is surely better, where that is not all.
    """
    found = measures(result)
    columns = [_column(result, measure) for measure in found]
    for measure, column in zip(found, columns, strict=True):
        order = sure(result, measure)
        for name, cell in zip(names(result), column, strict=True):
            cell["best"] = name in order.leaders
    rows = [
        {
            "name": own["name"],
            "images": own["result"].get("images"),
            "attempts": own.get("attempts") or 1,
            "cells": [column[at] for column in columns],
        }
        for at, own in enumerate(result["submissions"])
    ]
    sign = 1 if found and found[0].less_is_better else -1

    def place(row: Row) -> tuple[bool, float, str]:
        value = row["cells"][0]["value"] if row["cells"] else None
        return value is None, sign * (value or 0.0), row["name"]

    return sorted(rows, key=place)


def answer(result: Result) -> Row | None:
    """Who leads by the first leading number, who comes next, and what of the order is sure; None
    without any number."""
    found = measures(result)
    ranked = [row for row in standings(result) if row["cells"]]
    ranked = [row for row in ranked if row["cells"][0]["value"] is not None]
    if not ranked:
        return None
    best, second = ranked[0], ranked[1] if len(ranked) > 1 else None
    return {
        "measure": found[0],
        "best": best | {"cell": best["cells"][0]},
        "second": second and second | {"cell": second["cells"][0]},
        "sure": sure(result, found[0]),
    }


def at_k(result: Result) -> list[Row]:
    """hp@k and hit@k: a row for each measure and k that any submission has, a cell for each."""
    rows = []
    for key, words in wording.AT_K.items():
        ks = {int(k) for own in result["submissions"] for k in own["result"].get(key) or {}}
        for k in sorted(ks):
            cells = [figure_of(own["result"], key, str(k)) for own in result["submissions"]]
            if any(cell["value"] is not None for cell in cells):
                rows.append({"measure": key, "words": words, "k": k, "cells": cells})
    return rows


def set_sizes(result: Result) -> list[Row]:
    """k → the mean size of hCorrectSet, which all submissions share."""
    for own in result["submissions"]:
        sizes = own["result"].get("mean_correct_set_size") or {}
        if sizes:
            return [{"k": int(k), "size": number(sizes[k])} for k in sorted(sizes, key=int)]
    return []


def thresholds(result: Result) -> list[Row]:
    """WSOL at each IoU, and pixels: a row for each measure with accuracy and threshold by
    submission."""
    deltas = {
        key
        for own in result["submissions"]
        for key in own["result"].get("max_box_acc_v2") or {}
        if key != "mean"
    }
    wanted: list[tuple[str, str, tuple[str, ...]]] = [
        ("max_box_acc", "MaxBoxAcc, largest component", ("max_box_acc",))
    ]
    wanted += [(d, f"MaxBoxAccV2, IoU {d}", ("max_box_acc_v2", d)) for d in sorted(deltas)]
    wanted += [
        ("", "MaxBoxAccV2, mean", ("max_box_acc_v2", "mean")),
        ("top1_localization", "Top-1 localization", ("top1_localization",)),
        ("px_acc", "PxAcc", ("px_acc",)),
        ("", "PxAP", ("pxap",)),
        ("", "mPxAP", ("mpxap",)),
    ]
    rows = []
    for key, words, path in wanted:
        cells = [figure_of(own["result"], *path) for own in result["submissions"]]
        if any(cell["value"] is not None for cell in cells):
            rows.append({"number": key, "words": words, "cells": cells})
    return rows


def analysis_of(scored: Row) -> Row:
    """What a submission's result says of classes, scale and kinds; {} where it says nothing."""
    found = scored.get("analysis")
    return found if isinstance(found, dict) else {}


def by_class(scored: Row) -> dict[str, Row]:
    """Class → {"value", …} of one submission, whatever its kind calls it."""
    own = analysis_of(scored).get("per_class") or scored.get("per_class") or {}
    if isinstance(own.get("rows"), list):
        return {row["wnid"]: row | {"value": number(row.get("value"))} for row in own["rows"]}
    return {
        name: (said | {"value": number(said.get("ap"))})
        if isinstance(said, dict)
        else {"value": number(said)}
        for name, said in own.items()
    }


def per_class(result: Result) -> list[Row]:
    """A row for each class with a cell for each submission and what the class has of images,
    positives and detections; easiest first, by the mean of the cells; without any value last."""
    columns = [by_class(own["result"]) for own in result["submissions"]]
    detected = [scored_classes(own["result"]) for own in result["submissions"]]
    rows = []
    for name in dict.fromkeys(name for column in columns for name in column):
        cells = [(column.get(name) or {}).get("value") for column in columns]
        known = [cell for cell in cells if cell is not None]
        first: Row = next((column[name] for column in columns if name in column), {})
        rows.append(
            {
                "wnid": name,
                "cells": cells,
                "mean": math.fsum(known) / len(known) if known else None,
                "images": first.get("images"),
                "positives": first.get("positives"),
                "detections": [(own.get(name) or {}).get("detections") for own in detected],
            }
        )
    return sorted(rows, key=lambda row: (row["mean"] is None, -(row["mean"] or 0.0), row["wnid"]))


def scored_classes(scored: Row) -> dict[str, Row]:
    """What detection says of each class beside its AP; {} for other kinds."""
    own = scored.get("per_class") or {}
    return {name: said for name, said in own.items() if isinstance(said, dict) and "ap" in said}


def spread(result: Result) -> list[Row]:
    """For each submission: its classes, their mean, lowest, highest and the range."""
    rows = []
    for own in result["submissions"]:
        values = [row["value"] for row in by_class(own["result"]).values()]
        known = [value for value in values if value is not None]
        if known:
            low, high = min(known), max(known)
            rows.append(
                {
                    "name": own["name"],
                    "classes": len(known),
                    "mean": math.fsum(known) / len(known),
                    "lowest": low,
                    "highest": high,
                    "range": high - low,
                    "values": known,
                }
            )
    return rows


def extremes(result: Result) -> Row:
    """The easiest and the hardest classes over all submissions, at most LISTED of each and none of
    them in both."""
    known = [row for row in per_class(result) if row["mean"] is not None]
    half = min(LISTED, len(known) // 2)
    return {"easiest": known[:half], "hardest": known[::-1][:half]}


def scale(result: Result) -> list[Row]:
    """For each submission: value against scale, a point a class, and how they go together."""
    rows = []
    for own in result["submissions"]:
        said = analysis_of(own["result"]).get("by_scale") or {}
        points = [
            (number(row.get("scale")), number(row.get("value")), row["wnid"])
            for row in said.get("rows") or ()
        ]
        points = [point for point in points if None not in point]
        if points:
            rows.append(
                {
                    "name": own["name"],
                    "points": points,
                    "pearson": number(said.get("correlation")),
                    "spearman": number(said.get("rank_correlation")),
                }
            )
    return rows


def difficulty(result: Result) -> Row | None:
    """How hard the objects are to find, which all submissions share; None where it is not said."""
    found: Row | None = result.get("objects")
    return found


def pairs(result: Result) -> list[Row]:
    """Every pair of submissions compared."""
    rows = (result.get("comparison") or {}).get("pairs") or []
    return [row | {"difference": figure_of(row, "difference")} for row in rows]


def optimistic(result: Result) -> Row | None:
    """The best of all submissions, class by class and image by image; None for one submission."""
    said = (result.get("comparison") or {}).get("optimistic")
    if not said:
        return None
    return {
        "by_class": figure_of(said, "by_class", "error"),
        "by_class_ap": figure_of(said, "by_class", "mean_ap"),
        "by_image": figure_of(said, "by_image", "error"),
    }


def classes_won(result: Result) -> list[Row]:
    """In how many classes each submission is the best; most first."""
    said = result.get("comparison") or {}
    won = said.get("classes_won")
    if won is None:
        won = ((said.get("optimistic") or {}).get("by_class") or {}).get("classes_won")
    rows = [{"name": name, "classes": count} for name, count in (won or {}).items()]
    return sorted(rows, key=lambda row: (-row["classes"], row["name"]))


def curves(result: Result) -> list[Row]:
    """Every threshold curve: of which submission, of what, with its thresholds and values."""
    rows = []
    for name, said in (result.get("curves") or {}).items():
        for part in _parts(said):
            for key, words in wording.CURVES.items():
                values = part.get(key)
                if isinstance(values, dict):
                    rows += [
                        _curve(name, key, f"{words} {delta}", part, own)
                        for delta, own in values.items()
                    ]
                elif values:
                    rows.append(_curve(name, key, words, part, values))
    return rows


def _parts(said: Row) -> list[Row]:
    """The curves of boxes and of masks, together or each under its name."""
    parts = [said[key] for key in ("boxes", "masks") if isinstance(said.get(key), dict)]
    return parts or [said]


def _curve(name: str, key: str, words: str, part: Row, values: list[Any]) -> Row:
    return {
        "name": name,
        "key": key,
        "words": words,
        "thresholds": part["thresholds"],
        "values": [number(value) for value in values],
    }


HISTOGRAMS = {
    "score_histogram": "all pixels",
    "background_histogram": "background",
    "foreground_histogram": "foreground",
}
SCORE_BINS = 50


def score_histograms(result: Result) -> list[Row]:
    """How many pixels have which score, in at most SCORE_BINS bins: `shares` of all of them."""
    rows = []
    for name, said in (result.get("curves") or {}).items():
        for part in _parts(said):
            for key, words in HISTOGRAMS.items():
                if part.get(key):
                    rows.append({"name": name, "key": key, "words": words} | _binned(part[key]))
    return rows


def _binned(counts: list[int]) -> Row:
    """The last place, of scores of exactly 1, joins the last bin."""
    count = max(1, len(counts) - 1)
    bins = min(SCORE_BINS, count)
    sums = [0] * bins
    for at, pixels in enumerate(counts):
        sums[min(at, count - 1) * bins // count] += int(pixels)
    total = sum(sums)
    return {
        "edges": [at / bins for at in range(bins + 1)],
        "counts": sums,
        "shares": [value / total if total else None for value in sums],
    }


def notes(result: Result) -> list[tuple[list[str], str]]:
    """(submissions, note): those of the run first, of nobody; one that several have comes once."""
    found: dict[str, list[str]] = {note: [] for note in result.get("notes") or ()}
    for own in result["submissions"]:
        for note in own["result"].get("notes") or ():
            found.setdefault(note, []).append(own["name"])
    return [(who, note) for note, who in found.items()]
