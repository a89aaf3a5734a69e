"""What the pages of a benchmark show: rows read and put together, no request, no HTML."""

from itertools import pairwise
from typing import Any

from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from evaluation.benchmarks import figures, runs, tables
from evaluation.benchmarks.kinds.mad import competitions
from evaluation.metrics.mad import ranking
from evaluation.models import Benchmark, Run, Selection, Submission
from labeling.kinds import policies
from labeling.models import Campaign
from labeling.reports import progress

HISTORY = 12


def benchmark(row: Benchmark, run: Run | None) -> dict[str, Any]:
    """The page of a benchmark with the result of `run`, and how its campaign stands now."""
    campaign = row.campaign
    newest = row.runs.defer("result").select_related("release").first()
    waiting = row.runs.filter(state__in=runs.UNFINISHED).defer("result").first()
    now = progress.progress(campaign)
    result = run.result if run is not None and run.state == Run.State.DONE else None
    failed = newest if newest is not None and newest.state == Run.State.FAILED else None
    return {
        "benchmark": row,
        "campaign": campaign,
        "run": run,
        "is_latest": run is None or runs.latest(row) == run,
        "waiting": waiting,
        "failed": None if failed == run else failed,
        "progress": now,
        "estimate": competitions.estimate(now["questions"], policies.of(campaign)),
        # Read when it is shown: a page that asks whether anything moved does not pay for it.
        "obstacle": SimpleLazyObject(lambda: runs.obstacle(row)),
        "is_draft": campaign.state == Campaign.State.DRAFT,
        "is_moving": campaign.state == Campaign.State.OPEN or waiting is not None,
        "history": list(row.runs.defer("result").select_related("release", "requested_by"))[
            :HISTORY
        ],
        "seen": _seen(run, newest, now),
        "meta": _meta(row),
        "pairs": _pairs(row, result),
        "result": _result(row, run, result) if result is not None and run is not None else None,
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


def _seen(run: Run | None, newest: Run | None, now: dict[str, Any]) -> str:
    """A mark that changes when the page would."""
    parts = (
        run.pk if run else 0,
        newest.pk if newest else 0,
        newest.state if newest else "",
        now["finished"],
        now["answers"],
    )
    return "-".join(str(part) for part in parts)


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


def _result(row: Benchmark, run: Run, result: dict[str, Any]) -> dict[str, Any]:
    drawn = [name for name in figures.FIGURES if name != "ablation" or result.get("ablation")]
    cases = tables.cases(result)
    return {
        "sure": ranking.sure_order(result),
        "counted": ranking.counted_images(result),
        "ranking": tables.ranking(result),
        "classifiers": result["classifiers"],
        "accuracy": tables.matrix(result, "accuracy"),
        "beats": tables.matrix(result, "beats"),
        "cases": cases,
        "case_images": sum(case["images"] for case in cases),
        "ablation": result.get("ablation", []),
        "spearman": result.get("spearman"),
        "kendall": result.get("kendall"),
        "cyclicity": result["hodge"]["cyclicity"],
        "pending": result["pending"],
        "smoothing": result["smoothing"],
        "bootstrap": result["bootstrap"],
        "release": result["release"],
        "figures": {
            name: {"alt": figures.alt(name, result), "url": _figure(row, run, name)}
            for name in drawn
        },
        "tables": [
            (name, reverse("evaluation:result_csv", args=[row.name, run.pk, name]))
            for name in tables.TABLES
        ],
    }


def _figure(row: Benchmark, run: Run, name: str) -> dict[str, str]:
    return {
        form: reverse("evaluation:figure", args=[row.name, run.pk, name, form])
        for form in figures.FORMS
    }
