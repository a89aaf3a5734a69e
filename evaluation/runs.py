"""Runs: a benchmark scored on a frozen release. The only writer of Run.

Scores never come from live answers: a run freezes first, then scores what was frozen, as the
benchmark's kind does (SCORERS). Runs asked for by people and by the night are kept; interim ones,
made by the clock while people answer, are replaced by the next.
"""

import logging
from datetime import timedelta
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from evaluation import competition_runs
from evaluation.cds import running as cds_running
from evaluation.models import Benchmark, Run
from evaluation.released import running as released_running
from labeling import assigning, calibrating, consensus, jobs, releases, watching
from labeling.models import Campaign, Job, Release, User

logger = logging.getLogger(__name__)

STEPS = 3
UNFINISHED = (Run.State.QUEUED, Run.State.RUNNING)


class Scorer(Protocol):
    """What a kind of benchmark does in a run; a module for each."""

    @property
    def REFUSALS(self) -> tuple[type[Exception], ...]:
        """What fails a run with its sentence while the job is done: nothing is broken."""

    def freeze(self, benchmark: Benchmark, run: Run) -> Release:
        """The release that is scored."""

    def score(self, benchmark: Benchmark, release: Release, run: Run, /) -> dict[str, Any]:
        """The result, of strict JSON values. Raises one of REFUSALS."""

    def signature_of(self, benchmark: Benchmark) -> dict[str, Any]:
        """What a result depends on, cheaply: while it is unchanged a run would say the same."""

    def has_something(self, signature: dict[str, Any]) -> bool:
        """Whether there is anything to score yet."""

    def tidy(self, run: Run, gone: list[int], /) -> None:
        """Removes what only the interim runs that went (their ids) stood on."""


SCORERS: dict[str, Scorer] = {
    Benchmark.Kind.MAD: competition_runs,
    Benchmark.Kind.CDS: cds_running,
    Benchmark.Kind.CLASSIFICATION: released_running,
    Benchmark.Kind.LOCALIZATION: released_running,
    Benchmark.Kind.DETECTION: released_running,
    Benchmark.Kind.WSOL: released_running,
}


def request(benchmark: Benchmark, actor: User | None = None, *, interim: bool = False) -> Run:
    """The run that waits to score this benchmark: a new one with its job, or the one in the queue.

    A run that has begun does not count: it may have frozen too early.
    """
    with transaction.atomic():
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        run = benchmark.runs.filter(state=Run.State.QUEUED).first()
        if run is not None and interim:
            return run
        if run is not None and not run.settings.get("interim"):
            return run
        if run is not None:
            # Somebody asks for what the clock was about to do: now it is theirs, and kept.
            run.settings = run.settings | {"interim": False}
            run.requested_by = actor
            run.save(update_fields=["settings", "requested_by"])
            return run
        run = Run.objects.create(
            benchmark=benchmark, requested_by=actor, settings={"interim": interim}
        )
        jobs.enqueue("score", f"run {run.pk}", {"run": run.pk}, benchmark.campaign)
    return run


def execute(job: Job) -> None:
    """Freezes, scores and keeps the result, once. Job payload: {"run": pk}.

    Where there is no score yet (the scorer's REFUSALS) the run fails with that reason, and the job
    is done: nothing is broken. Any other failure is kept on the run and raised again.
    """
    run = (
        Run.objects.select_related(
            "benchmark__campaign", "benchmark__release", "benchmark__naming", "requested_by"
        )
        .filter(pk=job.payload["run"])
        .first()
    )
    if run is None or run.state == Run.State.DONE:
        return
    Run.objects.filter(pk=run.pk).exclude(state=Run.State.DONE).update(
        state=Run.State.RUNNING, error=""
    )
    benchmark = run.benchmark
    scorer = scorer_of(benchmark)
    signature: dict[str, Any] = {}
    release: Release | None = None
    try:
        jobs.renew(job, 0, STEPS)
        signature = scorer.signature_of(benchmark)
        release = scorer.freeze(benchmark, run)
        jobs.renew(job, 1, STEPS)
        result = scorer.score(benchmark, release, run)
        jobs.renew(job, 2, STEPS)
    except scorer.REFUSALS as error:
        _finish(run, Run.State.FAILED, signature, release, error=_sentence(error))
    except jobs.LeaseLost:
        raise
    except Exception as error:
        _finish(run, Run.State.FAILED, {}, None, error=jobs.explain(error))
        raise
    else:
        _finish(run, Run.State.DONE, signature, release, result=result)
    _forget_interim(run)


def latest(benchmark: Benchmark) -> Run | None:
    """The newest run with a result."""
    return benchmark.runs.filter(state=Run.State.DONE).select_related("release").first()


def job_of(run: Run) -> Job | None:
    """The newest job that scores for this run."""
    return Job.objects.filter(kind="score", key=f"run {run.pk}").order_by("-pk").first()


def scorer_of(benchmark: Benchmark) -> Scorer:
    """How this kind of benchmark is frozen and scored."""
    return SCORERS[benchmark.kind]


def has_changed(benchmark: Benchmark) -> bool:
    """Whether anything that a result depends on changed since the last run, and there is something
    to score."""
    scorer = scorer_of(benchmark)
    now = scorer.signature_of(benchmark)
    if not scorer.has_something(now):
        return False
    last = benchmark.runs.exclude(state__in=UNFINISHED).defer("result").first()
    return last is None or bool(last.settings.get("signature") != now)


def rescore_changed() -> list[Run]:
    """Interim runs for benchmarks in which something settled, one at most every
    ASSAY_RESCORE_SECONDS each."""
    _fail_abandoned()
    patience = timezone.now() - timedelta(seconds=settings.ASSAY_RESCORE_SECONDS)
    return [
        request(benchmark, interim=True)
        for benchmark in _active()
        if not benchmark.runs.filter(state__in=UNFINISHED).exists()
        and not benchmark.runs.filter(created_at__gt=patience).exists()
        and has_changed(benchmark)
    ]


def nightly(progress: Any = None) -> dict[str, int]:
    """Counts of the questions settled, releases frozen and runs done: the round of every night.

    Settles what a crash left behind, returns expired seats, watches people, works standings out
    anew, freezes campaigns in which something changed and scores their benchmarks, here and now:
    cron needs no worker for it.
    """
    counts = {"settled": _settle_leftovers(), "releases": 0, "runs": 0}
    # First watching: gold that retires and people whom it blocks change what standings rest on.
    watching.nightly()
    calibrating.nightly()
    jobs.run_all()
    _fail_abandoned()
    changed = [campaign for campaign in _campaigns() if _differs(campaign)]
    for campaign in changed:
        before = campaign.releases.count()
        releases.freeze(campaign)
        counts["releases"] += campaign.releases.count() > before
        if progress:
            progress.update()
    for benchmark in _benchmarks():
        kept = benchmark.runs.filter(state=Run.State.DONE).first()
        stale = kept is not None and kept.settings.get("interim")
        if not stale and not has_changed(benchmark):
            continue
        run = request(benchmark)
        for pk in Job.objects.filter(kind="score", key=f"run {run.pk}").values_list(
            "pk", flat=True
        ):
            jobs.run(pk)
        run.refresh_from_db()
        counts["runs"] += run.state == Run.State.DONE
        if progress:
            progress.update()
    return counts


def _fail_abandoned() -> None:
    """Fails the runs whose job was given up without a word from its worker.

    An unfinished run keeps the clock from asking for another.
    """
    for run in Run.objects.filter(state__in=UNFINISHED).only("pk"):
        job = job_of(run)
        if job is not None and job.state == Job.State.FAILED:
            Run.objects.filter(pk=run.pk, state__in=UNFINISHED).update(
                state=Run.State.FAILED, error=job.error, finished_at=job.finished_at
            )


def _settle_leftovers() -> int:
    """How many questions settled that had their votes but, by a crash, no verdict."""
    assigning.return_expired()
    return sum(consensus.settle_complete(campaign) for campaign in _campaigns())


def _campaigns() -> QuerySet[Campaign]:
    return Campaign.objects.exclude(state=Campaign.State.DRAFT).order_by("pk")


def _active() -> QuerySet[Benchmark]:
    return _benchmarks().exclude(campaign__state=Campaign.State.DRAFT)


def _benchmarks() -> QuerySet[Benchmark]:
    return Benchmark.objects.select_related("campaign", "release", "naming").order_by("pk")


def _differs(campaign: Campaign) -> bool:
    marks = releases.marks_of(campaign)
    last = campaign.releases.order_by("-number").first()
    if last is None:
        return bool(marks["last_settlement"])
    return bool(last.counts.get("interim")) or last.counts.get("marks") != marks


def _finish(
    run: Run,
    state: str,
    signature: dict[str, Any],
    release: Release | None,
    *,
    result: dict[str, Any] | None = None,
    error: str = "",
) -> None:
    # Only from RUNNING: a job that ran twice keeps its first result.
    Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).update(
        state=state,
        release=release,
        result=result,
        error=error,
        settings=run.settings | {"signature": signature},
        finished_at=timezone.now(),
    )


def _sentence(error: Exception) -> str:
    """The error with its cure, as a sentence for people."""
    said, cure = str(error), getattr(error, "cure", None)
    said += f"; {cure}" if cure and cure not in said else ""
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _forget_interim(run: Run) -> None:
    """Removes the interim runs before this one, and what they alone stood on."""
    run.refresh_from_db()
    if run.state != Run.State.DONE or run.release is None:
        return
    older = run.benchmark.runs.filter(pk__lt=run.pk, settings__interim=True).exclude(
        state__in=UNFINISHED
    )
    gone = list(older.values_list("pk", flat=True))
    older.filter(pk__in=gone).delete()
    scorer_of(run.benchmark).tidy(run, gone)
