"""Runs: a benchmark scored on a frozen release. The only writer of Run.

Scores never come from live answers: a run freezes first, then ranks what was frozen. Runs asked for
by people and by the night are kept; interim ones, made by the clock while people answer, are
replaced by the next.
"""

import json
import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from evaluation import competitions
from evaluation.metrics import ranking
from evaluation.models import Benchmark, Run
from labeling import assigning, calibrating, consensus, jobs, releases, watching
from labeling.management.contract import to_json
from labeling.models import Campaign, Job, Release, User

logger = logging.getLogger(__name__)

STEPS = 3
UNFINISHED = (Run.State.QUEUED, Run.State.RUNNING)
# How a run ranks; the rest of a benchmark's settings says what it ranks.
CONVENTIONS = ("smoothing", "bootstrap", "seed")


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
    """Freezes, ranks and keeps the result, once. Job payload: {"run": pk}.

    Where no ranking exists yet the run fails with that reason, and the job is done: nothing is
    broken. Any other failure is kept on the run and raised again.
    """
    run = (
        Run.objects.select_related("benchmark__campaign", "requested_by")
        .filter(pk=job.payload["run"])
        .first()
    )
    if run is None or run.state == Run.State.DONE:
        return
    Run.objects.filter(pk=run.pk).exclude(state=Run.State.DONE).update(
        state=Run.State.RUNNING, error=""
    )
    benchmark = run.benchmark
    try:
        jobs.renew(job, 0, STEPS)
        signature = signature_of(benchmark)
        release = releases.freeze(
            benchmark.campaign, run.requested_by, interim=bool(run.settings.get("interim"))
        )
        jobs.renew(job, 1, STEPS)
        result = score(benchmark, release)
        jobs.renew(job, 2, STEPS)
    except ranking.RankingError as error:
        _finish(run, Run.State.FAILED, signature, release, error=f"{error}; {error.cure}.")
    except jobs.LeaseLost:
        raise
    except Exception as error:
        _finish(run, Run.State.FAILED, {}, None, error=jobs.explain(error))
        raise
    else:
        _finish(run, Run.State.DONE, signature, release, result=result)
    _forget_interim(run)


def score(benchmark: Benchmark, release: Release) -> dict[str, Any]:
    """The result of ranking the benchmark on a release, as FORMATS has it, of strict JSON values.

    Unsettled images are left out and counted under `pending`. Raises RankingError.
    """
    frozen = releases.read(release)
    answers = {(line["image"], line["wnid"]): line["contains"] for line in frozen.answers()}
    selection = competitions.selection_of(benchmark)
    lines = [
        ranking.SelectedImage(line.pair, line.rank, line.image, line.labels)
        for line in selection.lines
    ]
    accuracies = dict(benchmark.submissions.values_list("name", "accuracy"))
    known = {name: value for name, value in accuracies.items() if value is not None}
    result = ranking.rank(
        lines,
        answers,
        selection.classifiers,
        selection.top_k,
        smoothing=benchmark.settings["smoothing"],
        bootstrap=benchmark.settings["bootstrap"],
        seed=benchmark.settings["seed"],
        missing="exclude",
        accuracy=known if len(known) == len(accuracies) else None,
        ablation=True,
    )
    counts = frozen.meta["counts"]
    result |= {
        "release": {"number": release.number, "sha256": release.sha256},
        "counts": {key: counts[key] for key in ("settled", "dropped", "open", "review", "votes")},
        "accuracies": [accuracies[name] for name in selection.classifiers],
        "code_version": releases.code_version(),
    }
    # NaN is no JSON: what is not a number is null, in the database as in the download.
    plain: dict[str, Any] = json.loads(to_json(result))
    return plain


def latest(benchmark: Benchmark) -> Run | None:
    """The newest run with a result."""
    return benchmark.runs.filter(state=Run.State.DONE).select_related("release").first()


def signature_of(benchmark: Benchmark) -> dict[str, Any]:
    """What a result depends on, cheaply: while it is unchanged a run would say the same."""
    return {
        "marks": releases.marks_of(benchmark.campaign),
        "classifiers": [list(row) for row in benchmark.submissions.values_list("name", "accuracy")],
        "selections": benchmark.selections.count(),
        "conventions": {key: benchmark.settings[key] for key in CONVENTIONS},
    }


def has_changed(benchmark: Benchmark) -> bool:
    """Whether something settled, or anything else that a result depends on, since the last run."""
    last = benchmark.runs.exclude(state__in=UNFINISHED).first()
    now = signature_of(benchmark)
    if last is None:
        return now["marks"]["last_settlement"] > 0
    return bool(last.settings.get("signature") != now)


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
    for benchmark in Benchmark.objects.select_related("campaign"):
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
        job = Job.objects.filter(kind="score", key=f"run {run.pk}").order_by("-pk").first()
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
    return Benchmark.objects.exclude(campaign__state=Campaign.State.DRAFT).select_related(
        "campaign"
    )


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


def _forget_interim(run: Run) -> None:
    """Removes the interim runs before this one, and the releases that they alone stood on."""
    run.refresh_from_db()
    if run.state != Run.State.DONE or run.release is None:
        return
    older = run.benchmark.runs.filter(pk__lt=run.pk, settings__interim=True).exclude(
        state__in=UNFINISHED
    )
    older.delete()
    releases.prune(run.benchmark.campaign, run.release)
