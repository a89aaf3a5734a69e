"""Reports of releases, made by a job with the function of `manage.py labels report`."""

import json
from dataclasses import dataclass, field

from django.core.files.base import ContentFile
from django.core.files.storage import storages

from evaluation.scoring import release_report
from evaluation.scoring.release_report import ReleaseReport
from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.jobs import kept_files, queue
from labeling.models import Job, Release, User
from labeling.records import Record
from labeling.releases import stored

KIND = "report release"
# Version of the report; reports of earlier versions are made again.
LAYOUT = 1
# Name of an uploaded file in error messages.
WINDOWS = "windows.csv"


@dataclass(kw_only=True)
class Reports(Record):
    """The report of a release, and that of a second one."""

    release: ReleaseReport | None
    second: ReleaseReport | None = field(metadata={"key": "other"})


@dataclass(kw_only=True)
class ReportsInProgress(Reports):
    """Reports, and the state of the jobs that make them. error: why a job failed."""

    state: str
    error: str


def in_progress(
    first: ReleaseReport | Job, second: ReleaseReport | Job | None
) -> ReportsInProgress:
    """Return the reports; while a job makes either of them, both are None."""
    jobs = [row for row in (first, second) if isinstance(row, Job)]
    if not isinstance(first, Job) and not isinstance(second, Job):
        return ReportsInProgress(release=first, second=second, state=Job.State.DONE, error="")
    # Report a failed job rather than an unfinished one.
    job = max(jobs, key=lambda job: job.state == Job.State.FAILED)
    return ReportsInProgress(release=None, second=None, state=job.state, error=job.error)


def fetch(release: Release, user: User, windows: str = "") -> ReleaseReport | Job:
    """Return the stored report of the release, or the job that makes it: a new one if needed.

    windows: the token of the user's uploaded windows.csv, from which clutter is computed. Raises
    Refusal if the upload was deleted.
    """
    if windows and not kept_files.is_token(windows):
        raise Refusal(kept_files.DELETED)
    name = _stored_name(release, windows)
    if storages["data"].exists(name):
        with storages["data"].open(name) as file:
            return ReleaseReport.from_json(json.load(file))
    latest = Job.objects.filter(kind=KIND, key=_key(release, windows)).order_by("-pk").first()
    if latest is not None and latest.state != Job.State.DONE:
        return latest
    payload: dict[str, object] = {"release": release.pk}
    if windows:
        kept_files.find(user, windows)
        payload |= {"windows": windows, "user": user.pk}
    return queue.enqueue(KIND, _key(release, windows), payload, release.campaign)


def execute(job: Job) -> None:
    """Run the job "report release". Safe to run twice. Raises BadInput for faulty windows and
    changed files.
    """
    release = Release.objects.select_related("campaign").get(pk=job.payload["release"])
    token = job.payload.get("windows", "")
    windows = kept_files.find(User.objects.get(pk=job.payload["user"]), token) if token else None
    try:
        report = release_report.report(stored.read(release), windows)
    except BadInput as error:
        if windows is None or error.file != str(windows):
            raise
        raise BadInput(error.message, WINDOWS, error.line, error.cure) from error
    content = json.dumps(report.to_json(), ensure_ascii=False).encode()
    storages["data"].save(_stored_name(release, token), ContentFile(content))


def _key(release: Release, windows: str) -> str:
    return f"{release.pk}:{LAYOUT}" + (f":{windows}" if windows else "")


def _stored_name(release: Release, windows: str) -> str:
    suffix = f"-{windows}" if windows else ""
    return f"reports/{release.pk}-{release.sha256}-{LAYOUT}{suffix}.json"
