"""Context of the pages of a benchmark and of a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from evaluation.benchmarks import runs
from evaluation.benchmarks.kind import BenchmarkKind, Query, kind_of
from evaluation.benchmarks.removed_images import removed_count
from evaluation.figures import FORMS
from evaluation.models import Benchmark, Run

HISTORY = 12
# The templates of a kind that every page includes.
PARTS = ("_head", "_state", "_empty", "_result", "_about")


@dataclass(frozen=True)
class UnderWay:
    """The state of a benchmark apart from results.

    waiting: the unfinished run. steps: its progress (done, of). latest: key of the newest run with
    a result. added: context of the kind. seen: text that changes when any of these changes.
    """

    newest: Run | None
    waiting: Run | None
    steps: tuple[int, int] | None
    latest: int | None
    is_moving: bool
    seen: str
    added: Mapping[str, object]


@dataclass(frozen=True)
class FigureLinks:
    """A figure. url: its address in each of FORMS. query: of these addresses."""

    alt: str
    query: str
    url: dict[str, str]


@dataclass(frozen=True)
class Outputs:
    """The figures, tables and files of a result with their addresses."""

    figures: dict[str, FigureLinks]
    tables: list[tuple[str, str]]
    page_tables: list[dict[str, object]]
    files: list[tuple[str, str, str]]


def under_way(row: Benchmark) -> UnderWay:
    newest = row.runs.defer("result").select_related("release").first()
    waiting = row.runs.filter(state__in=runs.UNFINISHED).defer("result").first()
    steps = _steps(waiting)
    latest = row.runs.filter(state=Run.State.DONE).values_list("pk", flat=True).first()
    moving = kind_of(row).moving(row)
    newer = (newest.pk, newest.state) if newest else (0, "")
    mark = (latest, *newer, row.submissions.count(), *(steps or ()), *moving.mark)
    is_moving = waiting is not None or moving.is_moving
    seen = "-".join(str(part) for part in mark)
    return UnderWay(newest, waiting, steps, latest, is_moving, seen, moving.context)


def benchmark(
    row: Benchmark, run: Run | None, query: Query, now: UnderWay | None = None
) -> dict[str, object]:
    """Return the context of a benchmark's page with the result of `run`."""
    kind = kind_of(row)
    now = now or under_way(row)
    newest = now.newest
    failed = newest if newest is not None and newest.state == Run.State.FAILED else None
    result = kind.result_of(row, run)
    context: dict[str, object] = {
        **vars(now),
        **now.added,
        "benchmark": row,
        "campaign": row.campaign,
        "kind": kind,
        "parts": {part.removeprefix("_"): kind.template(part) for part in PARTS},
        "run": run,
        "is_latest": run is None or run.pk == now.latest,
        "failed": None if failed == run else failed,
        # Evaluated only if shown, so that polling does not pay for it.
        "obstacle": SimpleLazyObject(lambda: runs.obstacle(row)),
        "submissions": list(row.submissions.all()),
        "removed_images": removed_count(row),
        "history": list(row.runs.defer("result").select_related("release", "requested_by"))[
            :HISTORY
        ],
    }
    context |= kind.page(row, run, result, query)
    if run is not None and result is not None:
        context["outputs"] = _outputs(kind, row, run, result, query)
    return context


def _outputs(
    kind: BenchmarkKind[Any], row: Benchmark, run: Run, result: object, query: Query
) -> Outputs:
    tables = kind.filled_tables(result)
    run_args = [row.name, run.pk]
    return Outputs(
        figures={
            # Templates cannot look up a name with a dash.
            name.replace("-", "_"): FigureLinks(
                kind.alt(name, result, query),
                kind.figure_query(result, query),
                {
                    form: reverse("evaluation:figure", args=[*run_args, name, form])
                    for form in FORMS
                },
            )
            for name in kind.figures(result)
        },
        tables=[
            (table.name, reverse("evaluation:result_csv", args=[*run_args, table.name]))
            for table in tables
        ],
        page_tables=[table.page_context(result) for table in tables if table.columns],
        files=[
            (name, words, reverse("evaluation:run_file", args=[*run_args, name]))
            for name, words in kind.run_files.items()
            if not row.hides_images and kind.run_path(run, name).is_file()
        ],
    )


def _steps(waiting: Run | None) -> tuple[int, int] | None:
    """Return the progress of the run's job as (done, of)."""
    if waiting is None:
        return None
    job = runs.job_of(waiting)
    return (
        (job.progress_done, job.progress_total) if job and job.progress_total else (0, runs.STEPS)
    )
