"""Releases: the content of a campaign at one moment, frozen to hashed files.

Equal content gives equal bytes and therefore the same release. See docs/explanation/mad.md.
"""

import contextlib
import json
import shutil
import tempfile
from datetime import datetime
from functools import partial
from importlib import metadata
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Max
from django.utils import timezone

from labeling.db import batch, question_counts
from labeling.errors import NotYours
from labeling.files import StrPath
from labeling.jobs import queue, shared_files
from labeling.models import Campaign, Job, Question, Release, ReplacedRelease, Settlement, User
from labeling.quality import stated_errors
from labeling.release_files import frozen
from labeling.release_files.frozen import Line
from labeling.releases import chunk_jobs, graph, joining, parts, queries, snapshots
from labeling.releases.graph import GraphFingerprint
from labeling.releases.parts import PartFingerprint
from labeling.releases.queries import QueryFingerprint
from labeling.releases.stored import folder_of as folder_of
from labeling.releases.stored import place_of, stored_name
from labeling.releases.stored import read as read

KIND = "freeze"
# Attempts to freeze a campaign whose imported objects change while chunks are written. The last
# attempt writes everything in one transaction.
ATTEMPTS = 3


def freeze(
    campaign: Campaign,
    actor: User | None = None,
    out: StrPath | None = None,
    interim: bool = False,
    watch: chunk_jobs.Watch = chunk_jobs.ignore_progress,
) -> Release:
    """Return the release of the campaign's current content: a new one, or an equal one.

    out: a folder that does not exist or is empty; it receives a copy. interim: the release was
    made on a schedule while people answer, and `prune` may remove it once there is a newer one. A
    later freeze of equal content without interim makes it permanent. The release holds the content
    at one moment; jobs write most of it (chunk_jobs.py). watch: receives the progress of long
    freezes.
    Raises BadInput when `out` cannot be written, ChunkFailed.
    """
    if out is not None:
        frozen.check_goal(Path(out))
    root = Path(settings.RELEASES_DIR)
    root.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(prefix=f".{campaign.name}.", suffix=".part", dir=root))
    try:
        meta, marks, digest = _write(campaign, building, watch)
        release = _publish(campaign, actor, building, meta, marks, interim)
        if digest is not None:
            chunk_jobs.forget(digest)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    if out is not None:
        frozen.copy(folder_of(release), Path(out))
    return release


def takes_long(campaign: Campaign) -> bool:
    """Return whether freezing takes more than a few seconds, so that a page starts a job."""
    counts = question_counts.of_campaign(campaign.pk)
    return counts.settled + counts.dropped > snapshots.FEW_CHUNKS * snapshots.chunk_size(campaign)


def request(campaign: Campaign, actor: User) -> Job:
    """Return the job that freezes the campaign: a new one, or the one that is queued."""
    return queue.enqueue(KIND, f"campaign {campaign.pk}", {"actor": actor.pk}, campaign)


def is_being_made(campaign: Campaign) -> bool:
    """Return whether a job that freezes the campaign is queued or running."""
    unfinished = [Job.State.QUEUED, Job.State.RUNNING]
    return campaign.jobs.filter(kind=KIND, state__in=unfinished).exists()


def execute(job: Job) -> None:
    """Run the job "freeze". Idempotent."""
    assert job.campaign is not None, "a job that freezes names its campaign"
    actor = User.objects.filter(pk=job.payload["actor"]).first()
    freeze(job.campaign, actor, watch=partial(queue.renew, job))


def latest_kept(campaign: Campaign) -> Release | None:
    """Return the campaign's newest release that is not interim."""
    rows = campaign.releases.order_by("-number")
    return next((row for row in rows if not row.counts.get("interim")), None)


def release_for(campaign: Campaign, number: int) -> Release:
    """Return the campaign's release of that number. Raises NotYours if there is none."""
    release = campaign.releases.filter(number=number).first()
    if release is None:
        replaced = campaign.replaced_releases.filter(number=number).first()
        why = f": release {replaced.replaced_by} replaced it" if replaced else ""
        raise NotYours(f"{campaign.name} has no release {number}{why}.")
    return release


def prune(campaign: Campaign, keep: Release) -> int:
    """Remove old interim releases and return their number.

    Keeps `keep` (the newest release) and releases that a run, a benchmark or a split uses. A
    ReplacedRelease records each removed one.
    """
    unused = campaign.releases.filter(
        number__lt=keep.number, runs=None, benchmarks=None, splits=None
    )
    removed = 0
    for pk in [release.pk for release in unused if release.counts.get("interim")]:
        with transaction.atomic():
            # Somebody may have asked for this release meanwhile.
            Campaign.objects.select_for_update().get(pk=campaign.pk)
            release = unused.filter(pk=pk).first()
            if release is None or not release.counts.get("interim"):
                continue
            ReplacedRelease.objects.create(
                campaign=campaign,
                number=release.number,
                sha256=release.sha256,
                created_at=release.created_at,
                replaced_by=keep.number,
            )
            release.delete()
        shared_files.remove(place_of(release), stored_name(campaign.name, release.sha256))
        removed += 1
    return removed


class Fingerprint(GraphFingerprint, PartFingerprint, QueryFingerprint):
    """A value that is cheap to compute and changes whenever the release would change."""

    last_settlement: int
    states: dict[str, int]


def fingerprint(campaign: Campaign) -> Fingerprint:
    latest = Settlement.objects.filter(question__campaign=campaign).aggregate(at=Max("pk"))["at"]
    states = dict(
        campaign.questions.order_by()
        .values_list("state")
        .annotate(count=Count("pk"))
        .exclude(state=Question.State.GOLD)
    )
    return {
        "last_settlement": latest or 0,
        "states": dict(sorted(states.items())),
        **graph.fingerprint(campaign),
        **parts.fingerprint(campaign),
        **queries.fingerprint(campaign),
    }


def _write(
    campaign: Campaign, building: Path, watch: chunk_jobs.Watch
) -> tuple[Line, Fingerprint, str | None]:
    """Write the files of a release into the folder.

    Returns the head, the fingerprint of the content, and the snapshot's digest where jobs wrote
    its chunks.
    """
    inside = connection.in_atomic_block
    for attempt in range(1, ATTEMPTS + 1):
        with (
            tempfile.TemporaryDirectory(prefix="freeze-") as folder,
            contextlib.ExitStack() as opened,
        ):
            scratch = Path(folder)
            with batch.snapshot():
                now = Campaign.objects.select_related("dataset", "policy").get(pk=campaign.pk)
                marks = fingerprint(now)
                measured = stated_errors.measure(now)
                head = {"stated_error": measured.stated.to_json()} if measured else {}
                taken = snapshots.take(now, building, scratch, opened, measured)
                joined = partial(
                    joining.join,
                    taken,
                    states=marks["states"],
                    code_version=code_version(),
                    scratch=scratch,
                )
                # Write here, inside the transaction, if jobs could not see its uncommitted rows, if
                # the snapshot is small, or if the content keeps changing while jobs read it.
                if inside or taken.is_small or attempt == ATTEMPTS:
                    made = chunk_jobs.make_here(taken, scratch)
                    return joined(made) | head, marks, None
            meta = joined(chunk_jobs.make(taken, scratch, watch)) | head
            if parts.fingerprint(now) == taken.known_parts:
                return meta, marks, taken.digest
            chunk_jobs.forget(taken.digest)
    raise AssertionError("the last attempt returns")


def code_version() -> str:
    """Return the version of this code, from its metadata or pyproject.toml."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version("assay")
    import tomllib

    with open(Path(settings.BASE_DIR) / "pyproject.toml", "rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def _publish(
    campaign: Campaign,
    actor: User | None,
    building: Path,
    meta: Line,
    marks: Fingerprint,
    interim: bool,
) -> Release:
    """Create the release row and rename its folder into place, under the campaign's lock."""
    sha256 = frozen.digest(meta)
    now = timezone.now()
    stored = stored_name(campaign.name, sha256)
    number = 0
    if shared_files.is_shared():
        # Upload before taking the lock: it may take long, and answers wait for the lock.
        same, number = _numbered(campaign, sha256)
        _write_head(building, meta, number, now)
        if same is None or not shared_files.has(stored):
            shared_files.put(building, stored)
    with transaction.atomic():
        # Concurrent freezes get consecutive numbers.
        Campaign.objects.select_for_update().get(pk=campaign.pk)
        before, (same, number) = number, _numbered(campaign, sha256)
        if same is not None and (folder_of(same) / "release.json").exists():
            return _renew(same, marks, interim)
        _write_head(building, meta, number, now)
        if number != before:
            shared_files.put(building, stored)
        folder = f"{campaign.name}/{number:04}"
        frozen.publish(building, Path(settings.RELEASES_DIR) / folder)
        if same is not None:
            return _renew(same, marks, interim)
        counts = meta["counts"] | {"marks": marks, "interim": interim}
        if "stated_error" in meta:
            counts["stated_error"] = meta["stated_error"]
        return Release.objects.create(
            campaign=campaign,
            number=number,
            folder=folder,
            sha256=sha256,
            counts=counts,
            created_by=actor,
            created_at=now,
        )


def _numbered(campaign: Campaign, sha256: str) -> tuple[Release | None, int]:
    """Return the release of this content, if any, and its number or the next one."""
    same = campaign.releases.filter(sha256=sha256).order_by("number").first()
    latest = campaign.releases.aggregate(at=Max("number"))["at"] or 0
    return same, same.number if same else latest + 1


def _write_head(building: Path, meta: Line, number: int, now: datetime) -> None:
    head = meta | {
        "number": number,
        "created_at": now.isoformat(timespec="seconds"),
        "sha256": frozen.digest(meta),
    }
    text = json.dumps(head, indent=1, ensure_ascii=False)
    frozen.write_synced(building / "release.json", text)


def _renew(release: Release, marks: Fingerprint, interim: bool) -> Release:
    release.counts = release.counts | {
        "marks": marks,
        "interim": bool(release.counts.get("interim")) and interim,
    }
    release.save(update_fields=["counts"])
    return release
