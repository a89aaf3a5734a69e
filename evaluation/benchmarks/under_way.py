"""What is under way in a benchmark that is scored by jobs: found without reading any result."""

from typing import Any

from evaluation.benchmarks import runs
from evaluation.models import Benchmark, Run


def now(row: Benchmark) -> dict[str, Any]:
    """The newest run, the one that waits and how far it is (done, of), the latest done."""
    newest = row.runs.defer("result").select_related("release").first()
    waiting = row.runs.filter(state__in=runs.UNFINISHED).defer("result").first()
    done = row.runs.filter(state=Run.State.DONE)
    return {
        "newest": newest,
        "waiting": waiting,
        "steps": _steps(waiting),
        "latest": done.values_list("pk", flat=True).first(),
        "submissions": row.submissions.count(),
    }


def seen(row: Benchmark) -> str:
    """A mark that changes when the page of the benchmark would."""
    return mark(now(row))


def mark(found: dict[str, Any]) -> str:
    """The mark of what `now` found."""
    newest = found["newest"]
    newer = (newest.pk, newest.state) if newest else (0, "")
    parts = (found["latest"], *newer, found["submissions"], *(found["steps"] or ()))
    return "-".join(str(part) for part in parts)


def _steps(waiting: Run | None) -> tuple[int, int] | None:
    """How much of the run's job is done, of how much."""
    if waiting is None:
        return None
    job = runs.job_of(waiting)
    return (
        (job.progress_done, job.progress_total) if job and job.progress_total else (0, runs.STEPS)
    )
