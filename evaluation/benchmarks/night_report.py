"""What a nightly round did to each benchmark, read from its jobs and runs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, QuerySet

from evaluation.benchmarks.truth_versions import VersionReport
from evaluation.models import Benchmark, Run, TruthVersion
from labeling.models import Campaign, Job
from labeling.records import Record

NIGHTLY = "nightly"
RETRY_NOTE = (
    "The step is tried again automatically. If it keeps failing, remove the cause and retry it: "
    "manage.py jobs retry"
)


@dataclass(kw_only=True)
class BenchmarkNight(Record):
    """What a night did to a benchmark.

    version: the newest version of its truth, None without versions. changed: images (cds: objects)
    that the night added, removed or changed; mad: questions settled since the last kept run. notes:
    on the version that the night made, None without. run: the run that it requested. error: states
    the cure.
    """

    name: str
    version: int | None
    changed: int
    added: int
    removed: int
    notes: VersionReport | None = None
    run: int | None
    error: str | None


@dataclass(frozen=True)
class NightlyRound:
    """A nightly round: its name in jobs, and when it began."""

    name: str
    began: datetime


def last_night() -> NightlyRound | None:
    """Return the newest round that has a job."""
    newest = Job.objects.filter(kind=NIGHTLY).order_by("-pk").first()
    if newest is None:
        return None
    night = newest.payload["night"]
    first = Job.objects.filter(kind=NIGHTLY, payload__night=night).order_by("pk").first()
    return NightlyRound(night, first.created_at if first else newest.created_at)


@dataclass(frozen=True)
class FailedStep:
    """A step of a night that failed for a campaign, with the reason."""

    campaign: Campaign
    step: str
    reason: str

    def to_json(self) -> dict[str, str]:
        names = {"campaign": self.campaign.name, "step": self.step}
        return names | {"reason": self.reason, "cure": RETRY_NOTE}


def failed_steps(night: str, campaigns: QuerySet[Campaign]) -> list[FailedStep]:
    """Return the steps that failed for these campaigns."""
    failed = Job.objects.filter(kind=NIGHTLY, payload__night=night, campaign__in=campaigns).exclude(
        error=""
    )
    return [
        FailedStep(job.campaign, job.payload["step"], job.error)
        for job in failed.select_related("campaign").order_by("pk")
        if job.campaign is not None
    ]


def rows(night: str, benchmarks: Iterable[Benchmark]) -> list[BenchmarkNight]:
    """Return the benchmarks that the round has reached, in the given order."""
    jobs = {
        job.payload["benchmark"]: job
        for job in Job.objects.filter(kind=NIGHTLY, payload__step="score", payload__night=night)
    }
    scored = [job.payload["run"] for job in jobs.values() if "run" in job.payload]
    runs = Run.objects.defer("result").in_bulk(scored)
    newest = TruthVersion.objects.filter(benchmark__in=jobs).values_list("benchmark")
    versions = dict(newest.annotate(Max("number")).order_by())
    made = TruthVersion.objects.in_bulk(
        [job.payload["made"] for job in jobs.values() if "made" in job.payload]
    )
    return [
        _row(benchmark, jobs[benchmark.pk], runs, versions.get(benchmark.pk), made)
        for benchmark in benchmarks
        if benchmark.pk in jobs
    ]


def _row(
    benchmark: Benchmark,
    job: Job,
    runs: dict[int, Run],
    version: int | None,
    made: dict[int, TruthVersion],
) -> BenchmarkNight:
    run = runs.get(job.payload.get("run", 0))
    new = made.get(job.payload.get("made", 0))
    return BenchmarkNight(
        name=benchmark.name,
        version=version,
        changed=job.payload.get("changed", 0),
        added=new.added if new else 0,
        removed=new.removed if new else 0,
        notes=VersionReport.from_json(new.report) if new else None,
        run=run.pk if run else None,
        error=job.payload.get("error") or (run.error if run else "") or job.error or None,
    )
