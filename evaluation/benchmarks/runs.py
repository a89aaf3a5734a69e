"""Runs: a benchmark scored on a frozen release. The only writer of Run.

Scores never come from live answers: a run first freezes, then the benchmark's kind (kind.py) scores
the frozen release. Runs requested by people and by the nightly round are kept. While people
answer, the clock requests interim runs; the next run replaces them.
"""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from evaluation.benchmarks import night_report, truth_versions
from evaluation.benchmarks.kind import kind_of, kinds
from evaluation.benchmarks.night_report import NIGHTLY
from evaluation.benchmarks.truth_versions import COLLECTING_STATES
from evaluation.models import Benchmark, Run
from labeling.assignment import claiming, counters
from labeling.consensus import calibrating, settling
from labeling.db import question_counts
from labeling.errors import Conflict, StoreUnreachable
from labeling.jobs import partial_uploads, queue, rounds
from labeling.models import Campaign, Job, Release, User
from labeling.quality import auditing, gold, monitoring, verifying
from labeling.records import Record
from labeling.releases import freezing

logger = logging.getLogger(__name__)

STEPS = 3
# Seconds between checks whether another worker has finished.
LOOK_SECONDS = 0.5
UNFINISHED = (Run.State.QUEUED, Run.State.RUNNING)
# How long finished jobs of a night are kept.
KEEP_RUNS_FOR = timedelta(days=7)
# How far the clock that sends the nightly message may be ahead of this machine's.
MAX_CLOCK_SKEW = timedelta(minutes=5)
# Kinds of jobs that settle or watch. A freeze waits for its campaign's, at most FREEZE_PATIENCE.
JOBS_BEFORE_FREEZE = (
    "advance",
    "calibrate",
    "look again",
    "question dropped",
    "recount",
    "verify",
    "watch",
)
FREEZE_PATIENCE = timedelta(hours=1)
# Steps that change nothing once a campaign is closed.
COLLECTING_STEPS = ("watch", "calibrate", "audit")


def request(
    benchmark: Benchmark,
    actor: User | None = None,
    *,
    interim: bool = False,
    follow: bool = False,
) -> Run:
    """Return the benchmark's queued run, or create one with its job.

    A started run is not reused: it may have frozen before the last answers. follow: the
    run first makes a new version of the truth, if the campaign has newer labels.
    """
    settings = {"interim": interim} | ({"follow": True} if follow else {})
    with transaction.atomic():
        Benchmark.objects.select_for_update().get(pk=benchmark.pk)
        run = benchmark.runs.filter(state=Run.State.QUEUED).first()
        if run is not None and (interim or run.settings | settings == run.settings):
            return run
        if run is not None:
            # The queued run is interim or does not follow: give it this request's settings.
            run.settings = run.settings | settings
            run.requested_by = actor
            run.save(update_fields=["settings", "requested_by"])
            return run
        run = Run.objects.create(benchmark=benchmark, requested_by=actor, settings=settings)
        queue.enqueue("score", f"run {run.pk}", {"run": run.pk}, benchmark.campaign)
    return run


def obstacle(benchmark: Benchmark) -> str:
    """Return a sentence why nothing can be scored yet, or ""."""
    return kind_of(benchmark).obstacle(benchmark)


def submit(
    benchmark: Benchmark, actor: User, path: Path, file_name: str, name: str = ""
) -> list[str]:
    """Submit a file; return the names of the changed classifiers.

    Requests a run if anything changed and the kind scores at once.
    """
    kind = kind_of(benchmark)
    changed = kind.accept(benchmark, actor, path, file_name, name)
    if changed and kind.scores_at_once:
        request(benchmark, actor)
    return changed


def remove(benchmark: Benchmark, actor: User, position: int) -> str:
    """Remove a classifier and return its name; the others are scored again without it."""
    gone = kind_of(benchmark).remove(benchmark, position)
    if benchmark.submissions.exists():
        request(benchmark, actor)
    return gone


def score_now(benchmark: Benchmark, actor: User | None = None) -> Run:
    """Return a run requested by a user. Raises Conflict while there is nothing to score."""
    if benchmark.archived_at:
        raise Conflict("The benchmark is archived. Take it out of the archive first.")
    if reason := obstacle(benchmark):
        raise Conflict(reason, code="nothing_to_score")
    return request(benchmark, actor, follow=True)


def execute(job: Job) -> None:
    """Freeze, score and store the result, once. Job payload: {"run": pk}.

    If the kind refuses, the run fails with that reason and the job is done. Any other failure is
    stored on the run and raised again.
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
    kind = kind_of(benchmark)
    fingerprint: dict[str, object] = {}
    release: Release | None = None
    refused = ""
    try:
        queue.renew(job, 0, STEPS)
        if run.settings.get("follow"):
            refused = _follow_now(benchmark, run.requested_by)
        fingerprint = kind.fingerprint(benchmark)
        release = kind.prepare(benchmark, run)
        queue.renew(job, 1, STEPS)
        scored = kind.score(benchmark, release, run)
        result = scored.to_json() if isinstance(scored, Record) else scored
        queue.renew(job, 2, STEPS)
    except StoreUnreachable as outage:
        # The job waits for the store.
        Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).update(
            state=Run.State.QUEUED, error=_sentence(outage)
        )
        raise
    except kind.refusals as error:
        _finish(run, Run.State.FAILED, fingerprint, release, error=_sentence(error))
    except queue.LeaseLost:
        raise
    except Exception as error:
        _finish(run, Run.State.FAILED, {}, None, error=queue.explain(error))
        raise
    else:
        _finish(run, Run.State.DONE, fingerprint, release, result=result, error=refused)
    _forget_interim(run)


def _follow_now(benchmark: Benchmark, actor: User | None) -> str:
    """Freeze the campaign if it has newer labels, and make them a version of the truth.

    Returns "", or the reason if the kind refuses the labels: then the earlier truth is scored.
    """
    campaign = benchmark.campaign
    if benchmark.is_pinned or truth_versions.newest(benchmark) is None:
        return ""
    is_settling = campaign.jobs.filter(
        _pending_without_error(), kind__in=JOBS_BEFORE_FREEZE
    ).exists()
    is_at_work = campaign.state != Campaign.State.DRAFT and campaign.archived_at is None
    if not is_settling and is_at_work and _differs(campaign):
        freezing.freeze(campaign, actor)
    try:
        truth_versions.follow(benchmark, freezing.latest_kept(campaign), is_asked=True)
    except kind_of(benchmark).refusals as error:
        return f"The newer labels were not taken. {_sentence(error)}"
    return ""


def latest(benchmark: Benchmark) -> Run | None:
    """Return the newest run with a result."""
    return benchmark.runs.filter(state=Run.State.DONE).select_related("release").first()


def job_of(run: Run) -> Job | None:
    """Return the newest job that scores this run."""
    return Job.objects.filter(kind="score", key=f"run {run.pk}").order_by("-pk").first()


def has_changed(benchmark: Benchmark) -> bool:
    """Return whether a result would differ from the last run's and there is something to score."""
    now = kind_of(benchmark).fingerprint(benchmark)
    last = benchmark.runs.exclude(state__in=UNFINISHED).defer("result").first()
    if last is not None and last.settings.get("signature") == now:
        return False
    return not obstacle(benchmark)


def rescore_changed() -> list[Run]:
    """Request an interim run of each changed benchmark, at most one in ASSAY_RESCORE_SECONDS."""
    _fail_abandoned()
    patience = timezone.now() - timedelta(seconds=settings.ASSAY_RESCORE_SECONDS)
    return [
        request(benchmark, interim=True)
        for benchmark in _benchmarks().exclude(campaign__state=Campaign.State.DRAFT)
        if not benchmark.runs.filter(state__in=UNFINISHED).exists()
        and not benchmark.runs.filter(created_at__gt=patience).exists()
        and has_changed(benchmark)
    ]


def nightly(progress: Any = None) -> dict[str, object]:
    """Run a nightly round and all waiting jobs in this process, so that cron needs no worker.

    Waits for jobs that a worker of the site has claimed. Returns the counts of settled questions,
    frozen releases and finished runs, what happened to each benchmark, and the failed steps.
    """
    night = start_night(timezone.now().isoformat())
    queue.run_all(progress.update if progress else None)
    before: set[int] = set()
    while waiting := _unfinished(night):
        if waiting == before:
            time.sleep(LOOK_SECONDS)
        for pk in sorted(waiting):
            queue.run(pk)
        before = waiting
    counts = {"settle": 0, "freeze": 0, "score": 0}
    night_jobs = Job.objects.filter(kind=NIGHTLY, key__endswith=f":{night}")
    for payload in list(night_jobs.values_list("payload", flat=True)):
        if payload["step"] in counts:
            counts[payload["step"]] += payload.get("count", 0)
        if "run" in payload:
            counts["score"] += Run.objects.filter(pk=payload["run"], state=Run.State.DONE).exists()
    return {
        "settled": counts["settle"],
        "releases": counts["freeze"],
        "runs": counts["score"],
        "benchmarks": [row.to_json() for row in night_report.rows(night, _benchmarks())],
        "failed": [
            step.to_json() for step in night_report.failed_steps(night, Campaign.objects.all())
        ],
    }


def _unfinished(night: str) -> set[int]:
    """Return the night's unfinished jobs, including those of its runs."""
    mine = Job.objects.filter(kind=NIGHTLY, key__endswith=f":{night}")
    scored = mine.filter(payload__has_key="run").values_list("payload__run", flat=True)
    runs_of = Q(kind="score", key__in=[f"run {pk}" for pk in scored])
    unfinished = Job.objects.filter(Q(pk__in=mine.values("pk")) | runs_of).filter(
        _pending_without_error()
    )
    return set(unfinished.values_list("pk", flat=True))


def _pending_without_error() -> Q:
    """Return the condition for jobs that are running, or queued without an error. The sweep
    retries the others.
    """
    return Q(state=Job.State.RUNNING) | Q(state=Job.State.QUEUED, error="")


def start_night(night: str | None = None) -> str:
    """Start the night's round unless it has been started; return its name.

    Queues the first step of every campaign. Each step queues the next one; the last step queues the
    scoring of the campaign's benchmarks. A draft or archived campaign has no steps, only scoring.
    night: by default the date of the round that was due last. A second clock or a repeated message
    then starts nothing, and a round that starts hours late does not take the next night's name.
    Also deletes the finished jobs of rounds older than a week, expired sessions and unfinished
    uploads.
    """
    rounds.record("nightly")
    now = timezone.now()
    if night is None:
        due = now - timedelta(hours=settings.ASSAY_NIGHTLY_HOUR) + MAX_CLOCK_SKEW
        night = due.date().isoformat()
    Job.objects.filter(
        kind=NIGHTLY, state=Job.State.DONE, finished_at__lt=now - KEEP_RUNS_FOR
    ).delete()
    call_command("clearsessions")
    partial_uploads.forget_old()
    claiming.return_expired()
    at_work = Campaign.objects.filter(archived_at=None).exclude(state=Campaign.State.DRAFT)
    for campaign in at_work.order_by("pk"):
        _enqueue_step(night, "settle", campaign)
    without_steps = Q(campaign__state=Campaign.State.DRAFT) | ~Q(campaign__archived_at=None)
    for benchmark in _benchmarks().filter(without_steps):
        _enqueue_score(night, benchmark)
    return night


def execute_nightly(job: Job) -> None:
    """Run the job "nightly": one step of a night's round. Safe to run twice.

    Queue the next step even if this one fails; the failed step is retried on its own.
    """
    night, step = job.payload["night"], job.payload["step"]
    if step == "score":
        benchmark = _benchmarks().filter(pk=job.payload["benchmark"]).first()
        if benchmark is not None:
            _score_nightly(benchmark, job)
        return
    assert job.campaign is not None, "a step names its campaign"
    if step == "freeze" and _is_early(job):
        raise queue.TooEarly
    try:
        _keep(job, {"count": int(NIGHT_STEPS[step](job.campaign))})
    finally:
        _enqueue_next(night, step, job.campaign)


def _is_early(job: Job) -> bool:
    """Return whether pending jobs may still change the frozen state; False after
    FREEZE_PATIENCE.
    """
    assert job.campaign is not None, "a step names its campaign"
    if job.created_at <= timezone.now() - FREEZE_PATIENCE:
        return False
    return job.campaign.jobs.filter(_pending_without_error(), kind__in=JOBS_BEFORE_FREEZE).exists()


def _settle(campaign: Campaign) -> int:
    """Settle questions that a crash left without a verdict; repair the counters."""
    settled = settling.settle_complete(campaign)
    question_counts.reconcile(campaign.pk)
    counters.note_settled(campaign.pk)
    return settled


def _watch(campaign: Campaign) -> int:
    if campaign.state not in COLLECTING_STATES:
        return 0
    changed = len(monitoring.watch_all(campaign))
    gold.note_failing(campaign)
    return changed


def _calibrate(campaign: Campaign) -> bool:
    if campaign.state not in COLLECTING_STATES:
        return False
    calibrated = calibrating.calibrate_nightly(campaign)
    if verifying.fits(campaign):
        # Uses the vote tables of this night.
        verifying.check_classes(campaign)
    return calibrated


def _freeze(campaign: Campaign) -> bool:
    """Freeze the campaign if it changed; return whether there is a new release."""
    if not _differs(campaign):
        return False
    before = campaign.releases.count()
    freezing.freeze(campaign)
    return campaign.releases.count() > before


# Watch before calibrating: retired gold and blocked people change reputations.
NIGHT_STEPS: dict[str, Callable[[Campaign], int]] = {
    "settle": _settle,
    "watch": _watch,
    "calibrate": _calibrate,
    "audit": auditing.draw_nightly,
    "freeze": _freeze,
}


def _score_nightly(benchmark: Benchmark, job: Job) -> None:
    """Follow the campaign, request a run if something changed, and store both in the job."""
    _fail_abandoned()
    done = benchmark.runs.filter(state=Run.State.DONE).defer("result")
    kept = next((run for run in done.iterator() if not run.settings.get("interim")), None)
    result: dict[str, object] = {"changed": kind_of(benchmark).count_settled(benchmark, kept)}
    try:
        made = truth_versions.follow(benchmark, freezing.latest_kept(benchmark.campaign))
        if made is not None:
            result = {"changed": made.added + made.removed + made.changed, "made": made.pk}
    except kind_of(benchmark).refusals as error:
        # The truth stays as it is, and is scored.
        result = {"error": _sentence(error)}
    # If the newest result is interim, score again, so that a result is kept.
    if done.first() != kept or has_changed(benchmark):
        result["run"] = request(benchmark).pk
    _keep(job, result)


def _enqueue_next(night: str, step: str, campaign: Campaign) -> None:
    steps = list(NIGHT_STEPS)
    following = [
        name
        for name in steps[steps.index(step) + 1 :]
        if campaign.state in COLLECTING_STATES or name not in COLLECTING_STEPS
    ]
    if following:
        _enqueue_step(night, following[0], campaign)
        return
    for benchmark in _benchmarks().filter(campaign=campaign):
        _enqueue_score(night, benchmark)


def _enqueue_step(night: str, step: str, campaign: Campaign) -> None:
    with transaction.atomic():
        # A concurrent start of this night waits here, then finds the job in any state.
        Campaign.objects.select_for_update(no_key=True, of=("self",)).get(pk=campaign.pk)
        _enqueue_once(f"{campaign.pk}:{step}:{night}", {"night": night, "step": step}, campaign)


def _enqueue_score(night: str, benchmark: Benchmark) -> None:
    with transaction.atomic():
        Benchmark.objects.select_for_update(no_key=True, of=("self",)).get(pk=benchmark.pk)
        payload = {"night": night, "step": "score", "benchmark": benchmark.pk}
        _enqueue_once(f"benchmark {benchmark.pk}:score:{night}", payload, benchmark.campaign)


def _enqueue_once(key: str, payload: dict[str, object], campaign: Campaign) -> None:
    if not Job.objects.filter(kind=NIGHTLY, key=key).exists():
        queue.enqueue(NIGHTLY, key, payload, campaign)


def _keep(job: Job, result: Mapping[str, object]) -> None:
    Job.objects.filter(pk=job.pk).update(payload=job.payload | dict(result))


def _fail_abandoned() -> None:
    """Fail the unfinished runs whose job has failed, for example because its worker died.

    An unfinished run keeps the clock from requesting another.
    """
    for run in Run.objects.filter(state__in=UNFINISHED).only("pk"):
        job = job_of(run)
        if job is not None and job.state == Job.State.FAILED:
            Run.objects.filter(pk=run.pk, state__in=UNFINISHED).update(
                state=Run.State.FAILED, error=job.error, finished_at=job.finished_at
            )


def _benchmarks() -> QuerySet[Benchmark]:
    known = Benchmark.objects.filter(kind__in=kinds(), archived_at=None)
    return known.select_related("campaign", "release", "naming").order_by("pk")


def _differs(campaign: Campaign) -> bool:
    marks = freezing.fingerprint(campaign)
    last = campaign.releases.order_by("-number").first()
    if last is None:
        return bool(marks["last_settlement"])
    return bool(last.counts.get("interim")) or last.counts.get("marks") != marks


def _finish(
    run: Run,
    state: str,
    fingerprint: dict[str, object],
    release: Release | None,
    *,
    result: Mapping[str, object] | None = None,
    error: str = "",
) -> None:
    # Only from RUNNING: a job that ran twice keeps its first result.
    Run.objects.filter(pk=run.pk, state=Run.State.RUNNING).update(
        state=state,
        release=release,
        result=result,
        error=error,
        settings=run.settings | {"signature": fingerprint},
        finished_at=timezone.now(),
    )


def _sentence(error: Exception) -> str:
    """Return the error with its cure as a sentence."""
    text, cure = str(error), getattr(error, "cure", None)
    text += f"; {cure}" if cure and cure not in text else ""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _forget_interim(run: Run) -> None:
    """Delete the interim runs before this one with their files."""
    run.refresh_from_db()
    if run.state != Run.State.DONE or run.release is None:
        return
    older = run.benchmark.runs.filter(pk__lt=run.pk, settings__interim=True).exclude(
        state__in=UNFINISHED
    )
    gone = list(older.values_list("pk", flat=True))
    older.filter(pk__in=gone).delete()
    kind_of(run.benchmark).remove_interim(run, gone)
