"""What the pages of a competition show: rows read and put together, no request, no HTML."""

from itertools import pairwise
from typing import Any

from django.urls import reverse

from evaluation.benchmarks.kinds.mad import competitions, tables
from evaluation.metrics.mad import ranking
from evaluation.models import Benchmark, Selection, Submission
from labeling.kinds import policies
from labeling.models import Campaign
from labeling.reports import progress


def moving(row: Benchmark) -> dict[str, Any]:
    """How far people are, and what changes when they answer."""
    now = progress.progress(row.campaign)
    return {
        "progress": now,
        "estimate": competitions.estimate(now.questions, policies.of(row.campaign)),
        "mark": (now.finished, now.answers),
        "is_moving": row.campaign.state == Campaign.State.OPEN,
    }


def page(row: Benchmark, result: dict[str, Any] | None) -> dict[str, Any]:
    """What the templates of competitions show, beside what moves."""
    return {
        "is_draft": row.campaign.state == Campaign.State.DRAFT,
        "meta": _meta(row),
        "pairs": _pairs(row, result),
        "result": _result(result) if result is not None else None,
    }


def neighbours(row: Benchmark, first: Submission, second: Submission) -> dict[str, Any]:
    """The pairs before and after this one, in the order of the benchmark's page."""
    order = list(
        row.selections.order_by("first__position", "second__position")
        .values_list("first__position", "second__position")
        .distinct()
    )
    here = (first.position, second.position)
    found: dict[str, Any] = {"previous": None, "next": None}
    for before, after in pairwise(order):
        if after == here:
            found["previous"] = _gallery(row, before)
        if before == here:
            found["next"] = _gallery(row, after)
    return found


def _gallery(row: Benchmark, pair: tuple[int, int]) -> str:
    return reverse("evaluation:gallery", args=[row.name, *pair])


def _meta(row: Benchmark) -> list[tuple[str, Any]]:
    """The selection's rule, in words."""
    meta = row.settings["meta"]
    names = {
        "top_k": "Images per pair",
        "min_confidence": "Least confidence",
        "max_per_label": "Most per predicted label",
        "distance": "Distance",
        "reserve": "Reserve per pair",
    }
    return [(label, meta[key]) for key, label in names.items() if key in meta]


def _pairs(row: Benchmark, result: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Every pair with the address of its gallery; with its accuracies once there is a result."""
    chosen = Selection.State.CHOSEN
    counted: dict[tuple[str, str], dict[str, Any]] = {}
    lines = (
        row.selections.exclude(state=Selection.State.RESERVE)
        .order_by("first__position", "second__position")
        .values_list("first__name", "second__name", "first__position", "second__position", "state")
    )
    for first, second, *places, state in lines:
        pair = counted.setdefault(
            (first, second),
            {
                "first": first,
                "second": second,
                "url": _gallery(row, (places[0], places[1])),
                "chosen": 0,
                "replaced": 0,
            },
        )
        pair["chosen" if state == chosen else "replaced"] += 1
    scored = {}
    for line in tables.pairs(result) if result else []:
        scored[line["first"], line["second"]] = line
        scored[line["second"], line["first"]] = line | {
            "first_accuracy": line["second_accuracy"],
            "second_accuracy": line["first_accuracy"],
        }
    for key, pair in counted.items():
        line = scored.get(key, {})
        pair |= {name: line.get(name) for name in ("images", "first_accuracy", "second_accuracy")}
    return list(counted.values())


def _result(result: dict[str, Any]) -> dict[str, Any]:
    cases = tables.cases(result)
    return {
        "sure": ranking.sure_order(result),
        "counted": ranking.counted_images(result),
        "ranking": tables.RANKS.shown(result),
        "classifiers": result["classifiers"],
        "accuracy": tables.matrix(result, "accuracy"),
        "beats": tables.matrix(result, "beats"),
        "cases": cases,
        "case_images": sum(case["images"] for case in cases),
        "ablation": tables.ABLATION.shown(result),
        "spearman": result.get("spearman"),
        "kendall": result.get("kendall"),
        "cyclicity": result["hodge"]["cyclicity"],
        "pending": result["pending"],
        "smoothing": result["smoothing"],
        "bootstrap": result["bootstrap"],
        "release": result["release"],
    }
