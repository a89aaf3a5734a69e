"""What the page of a benchmark and of a run shows: rows read and put together, no request."""

from typing import Any

from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from evaluation.benchmarks import runs
from evaluation.benchmarks.figures import FORMS
from evaluation.benchmarks.kind import BenchmarkKind, Query, Result, kind_of
from evaluation.models import Benchmark, Run

HISTORY = 12
# What every page includes of a kind.
PARTS = ("_head", "_state", "_empty", "_result", "_about")


def under_way(row: Benchmark) -> dict[str, Any]:
    """What moves on the page, found without reading a result: the newest run, the one that waits
    and how far it is (done, of), the latest done and what the kind adds; `seen` changes when any of
    it does."""
    newest = row.runs.defer("result").select_related("release").first()
    waiting = row.runs.filter(state__in=runs.UNFINISHED).defer("result").first()
    done = row.runs.filter(state=Run.State.DONE)
    steps = _steps(waiting)
    latest = done.values_list("pk", flat=True).first()
    added = kind_of(row).moving(row)
    newer = (newest.pk, newest.state) if newest else (0, "")
    mark = (latest, *newer, row.submissions.count(), *(steps or ()), *added.get("mark", ()))
    return added | {
        "newest": newest,
        "waiting": waiting,
        "steps": steps,
        "latest": latest,
        "is_moving": waiting is not None or added.get("is_moving", False),
        "seen": "-".join(str(part) for part in mark),
    }


def benchmark(
    row: Benchmark, run: Run | None, query: Query, now: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The page of a benchmark with the result of `run`. now: what `under_way` gave."""
    kind = kind_of(row)
    now = now or under_way(row)
    newest = now["newest"]
    failed = newest if newest is not None and newest.state == Run.State.FAILED else None
    result = kind.result_of(row, run)
    context = now | {
        "benchmark": row,
        "campaign": row.campaign,
        "kind": kind,
        "parts": {part.removeprefix("_"): kind.template(part) for part in PARTS},
        "run": run,
        "is_latest": run is None or run.pk == now["latest"],
        "failed": None if failed == run else failed,
        # Read when it is shown: a page that asks whether anything moved does not pay for it.
        "obstacle": SimpleLazyObject(lambda: runs.obstacle(row)),
        "submissions": list(row.submissions.all()),
        "history": list(row.runs.defer("result").select_related("release", "requested_by"))[
            :HISTORY
        ],
    }
    context |= kind.page(row, run, result, query)
    if run is not None and result is not None:
        context["result"] = (context["result"] or {}) | _files(kind, row, run, result, query)
    return context


def _files(
    kind: BenchmarkKind, row: Benchmark, run: Run, result: Result, query: Query
) -> dict[str, Any]:
    """The figures, tables and files of a result with their addresses."""
    tables = kind.filled_tables(result)
    place = [row.name, run.pk]
    return {
        "figures": {
            # A template cannot look a name with a dash up.
            name.replace("-", "_"): {
                "alt": kind.alt(name, result, query),
                "query": kind.figure_query(result, query),
                "url": {
                    form: reverse("evaluation:figure", args=[*place, name, form]) for form in FORMS
                },
            }
            for name in kind.figures(result)
        },
        "tables": [
            (table.name, reverse("evaluation:result_csv", args=[*place, table.name]))
            for table in tables
        ],
        "shown": [table.shown(result) for table in tables if table.columns],
        "files": [
            (name, words, reverse("evaluation:run_file", args=[*place, name]))
            for name, words in kind.run_files.items()
            if kind.run_path(run, name).is_file()
        ],
    }


def _steps(waiting: Run | None) -> tuple[int, int] | None:
    """How much of the run's job is done, of how much."""
    if waiting is None:
        return None
    job = runs.job_of(waiting)
    return (
        (job.progress_done, job.progress_total) if job and job.progress_total else (0, runs.STEPS)
    )
