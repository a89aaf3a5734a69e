"""Reports of releases, made by a job with the function of `manage.py labels report`."""

import json

from django.core.files.base import ContentFile
from django.core.files.storage import storages

from evaluation.scoring import release_report
from evaluation.scoring.release_report import ReleaseReport
from labeling.jobs import queue
from labeling.models import Job, Release
from labeling.releases import stored

KIND = "report release"
# Version of the report; reports of earlier versions are made again.
LAYOUT = 1


def fetch(release: Release) -> ReleaseReport | Job:
    """Return the stored report of the release, or the job that makes it: a new one if needed."""
    name = _stored_name(release)
    if storages["data"].exists(name):
        with storages["data"].open(name) as file:
            return ReleaseReport.from_json(json.load(file))
    latest = Job.objects.filter(kind=KIND, key=_key(release)).order_by("-pk").first()
    if latest is not None and latest.state != Job.State.DONE:
        return latest
    return queue.enqueue(KIND, _key(release), {"release": release.pk}, release.campaign)


def execute(job: Job) -> None:
    """Run the job "report release". Safe to run twice. Raises BadInput for changed files."""
    release = Release.objects.select_related("campaign").get(pk=job.payload["release"])
    made = release_report.report(stored.read(release))
    content = json.dumps(made.to_json(), ensure_ascii=False).encode()
    storages["data"].save(_stored_name(release), ContentFile(content))


def _key(release: Release) -> str:
    return f"{release.pk}:{LAYOUT}"


def _stored_name(release: Release) -> str:
    return f"reports/{release.pk}-{release.sha256}-{LAYOUT}.json"
