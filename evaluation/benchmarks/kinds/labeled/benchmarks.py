"""Benchmarks whose ground truth is the labels of a release, and their submissions.

Creates their Benchmark rows and writes their Submission rows; kind.py removes submissions. paths.py
describes their folders.
"""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.db import transaction

from evaluation.benchmarks.folders import scratch
from evaluation.benchmarks.kinds.labeled import scoremap_zips, scoring
from evaluation.benchmarks.kinds.labeled.paths import (
    submission_name,
    submission_path,
    submission_place,
    zip_folder,
)
from evaluation.benchmarks.kinds.labeled.settings import LabeledSettings, check_settings
from evaluation.benchmarks.kinds.labeled.truth import ground_truth
from evaluation.benchmarks.kinds.labeled.truth.ground_truth import CLASSIFICATION, WSOL, TruthCounts
from evaluation.benchmarks.kinds.labeled.versions import TruthFolder, TruthHistory
from evaluation.benchmarks.submissions import (
    check_names,
    check_settled,
    enter,
    lock_benchmark,
    publish,
    release_of,
)
from evaluation.benchmarks.truth_versions import Following
from evaluation.models import Benchmark, Submission
from evaluation.readers import release_predictions
from evaluation.readers.release_predictions import is_release, sha256_of
from evaluation.readers.wsol_folders import read_boxes
from evaluation.release_splits import parts
from labeling.disk_full import converting_disk_full
from labeling.errors import Refusal, TooLarge
from labeling.files import BadInput, file_sha256
from labeling.jobs import shared_files
from labeling.jobs.kept_files import MAX_BYTES
from labeling.models import Campaign, Release, User
from labeling.releases import freezing

UNSETTLED = "Nothing in {} is settled yet. Let people answer first."
EARLIER_ATTEMPTS = "earlier_attempts"
SENT_FOLDER = "sent"
MAX_NAME = 100
MAX_CLASSIFIERS = 100
# For a zip of score maps.
MAX_ZIP_BYTES = 2 * 1024**3


@dataclass(frozen=True)
class LabeledPlan:
    """The release and truth of a planned benchmark."""

    release: int
    kind: str
    truth: TruthCounts


def plan(
    campaign: Campaign, kind: str, release: Release | None = None, part: str = ""
) -> LabeledPlan | None:
    """Return a preview of the benchmark; None while the campaign has no release.

    part: SPLIT:PART, as in LabeledSettings. Raises Refusal if the release has nothing of this kind,
    BadInput for damaged files.
    """
    check_settings(kind, {})
    release, images = parts.release_and_images(campaign, release, part)
    release = release or freezing.latest_kept(campaign)
    if release is None:
        check_settled(campaign, UNSETTLED.format(campaign.title))
        return None
    counts = ground_truth.count(freezing.read(release), kind, images)
    return LabeledPlan(release.number, kind, counts)


def create(
    owner: User,
    *,
    kind: str,
    name: str,
    title: str,
    campaign: Campaign,
    release: Release | None = None,
    **settings: Any,
) -> Benchmark:
    """Create a benchmark on the labels of a release: by default the campaign's latest kept one, or
    one frozen now.

    settings: keys of DEFAULTS[kind] and FOLLOWING. All or nothing; the same arguments by one user
    return the same benchmark. Raises Refusal with the field; BadInput for damaged files.
    """
    following = Following.pop_from(settings)
    stated = check_settings(kind, settings)
    check_names(name, title)
    release, images = parts.release_and_images(campaign, release, stated.part or "")
    release = release or release_of(campaign, owner, UNSETTLED.format(campaign.title))
    with converting_disk_full(), scratch() as folder:
        truth = folder / "truth"
        truth.mkdir()
        stated.truth = ground_truth.write(
            freezing.read(release), kind, truth, stated.inclusive or False, images
        )
        scoring.check_truth(kind, truth, stated)
        row = Benchmark(name=name, kind=kind, campaign=campaign, release=release, created_by=owner)
        row.title, row.settings = title.strip()[:200], stated.to_json()
        following.put(row)
        existing = _same(row)
        if existing is None:
            zip_folder(truth, folder / "truth.zip", name)
            existing = publish(row, folder, _same)
    return existing


def settings_of(benchmark: Benchmark) -> LabeledSettings:
    return LabeledSettings.from_json(benchmark.settings)


def chosen_of(benchmark: Benchmark) -> LabeledSettings:
    """Return the settings as chosen at creation: the split, and how to score."""
    return replace(settings_of(benchmark), truth=None, earlier_attempts=None)


def truth_of(benchmark: Benchmark) -> TruthCounts:
    return TruthCounts.from_json(benchmark.settings["truth"])


def max_bytes(kind: str) -> int:
    """Return the largest size of an upload."""
    return MAX_ZIP_BYTES if kind == WSOL else MAX_BYTES


def check_bytes(kind: str, size: int) -> None:
    """Raise TooLarge for more than max_bytes."""
    if size > (most := max_bytes(kind)):
        raise TooLarge(f"The file is larger than {most // 1024**2:,} MiB.", field="file")


def add_submission(
    benchmark: Benchmark, actor: User, name: str, path: Path, file_name: str
) -> Submission:
    """Return the submission of a classifier, after validating all of its predictions.

    path: a CSV or COCO JSON file; for a classification also a release of a naming campaign, folder
    or zip; for wsol a zip or folder of <id>.npy. file_name: the user's name for it, for messages.
    Under an existing name, different predictions replace the old ones and count as another
    attempt; the same ones change nothing. All or nothing. Raises BadInput with the position,
    Refusal, TooLarge.
    """
    _check_name(name)
    history = TruthHistory.of(benchmark)
    with converting_disk_full(), scratch() as folder, history.folder_at(history.newest) as truth:
        with scoring.naming_user_files(folder / SENT_FOLDER, file_name, truth.path):
            laid = _laid_out(benchmark, truth, path, folder / SENT_FOLDER, file_name)
            # Hash the maps, not their zip, so that packing them again is not a new attempt.
            # The same holds for a release's zip.
            read = sha256_of if benchmark.kind == CLASSIFICATION else file_sha256
            sha256 = scoremap_zips.sha256(laid) if laid.is_dir() else read(laid)
            existing = benchmark.submissions.filter(name=name, sha256=sha256).first()
            if existing is not None and submission_path(existing).exists():
                return existing
            chosen = chosen_of(benchmark)
            scoring.check(benchmark.kind, truth.path, laid, chosen, truth.part)
        # Before taking the lock, because it may take long.
        shared_files.put(laid, submission_name(benchmark, sha256))
        with transaction.atomic():
            benchmark = lock_benchmark(benchmark)
            row = _entered(benchmark, actor, name, sha256, history.newest)
            _place(laid, row)
    return row


def _same(row: Benchmark) -> Benchmark | None:
    """Return the identical benchmark that the same user created before, if any."""
    kept = ("name", "kind", "release", "created_by")
    earlier = Benchmark.objects.filter(**{field: getattr(row, field) for field in kept}).first()
    if earlier is None:
        return None
    stated = {key: value for key, value in earlier.settings.items() if key != EARLIER_ATTEMPTS}
    return earlier if stated == row.settings else None


def _laid_out(
    benchmark: Benchmark, truth: TruthFolder, path: Path, goal: Path, file_name: str
) -> Path:
    """Copy the upload to `goal`, unpacking a zip of score maps; return the path of the copy."""
    if benchmark.kind != WSOL:
        if benchmark.kind == CLASSIFICATION and is_release(path) and not path.is_file():
            release, annotator = release_predictions.split(path)
            if release.is_dir():
                zip_folder(release, goal, "release")
            else:
                shutil.copyfile(release, goal)
            if annotator:
                release_predictions.name_person(goal, annotator)
            return goal
        if path.is_dir():
            raise BadInput("is a folder", file_name, None, "give a file of predictions")
        check_bytes(benchmark.kind, path.stat().st_size)
        shutil.copyfile(path, goal)
        return goal
    # The images of the newest version come first.
    images = read_boxes(truth.path)
    first = f"{images[0].name}.npy"
    if path.is_dir():
        return scoremap_zips.without_top(scoremap_zips.copy(path, goal), first)
    check_bytes(WSOL, path.stat().st_size)
    scoremap_zips.unpack(path, goal, len(images))
    return scoremap_zips.without_top(goal, first)


def _entered(benchmark: Benchmark, actor: User, name: str, sha256: str, version: int) -> Submission:
    """Return the classifier's row with these predictions. The caller holds the benchmark's lock.

    version: the truth that they were checked against.
    """
    row = benchmark.submissions.filter(name=name).first()
    if row is not None:
        if sha256 != row.sha256:
            remove_later(row)
            row.attempts += 1
        row.sha256, row.version = sha256, version
        row.save(update_fields=["sha256", "version", "attempts"])
        return row
    if benchmark.submissions.count() >= MAX_CLASSIFIERS:
        raise Refusal(
            f"A benchmark takes {MAX_CLASSIFIERS} classifiers. Remove some, or make another.",
            field="name",
        )
    attempts = 1 + benchmark.settings.get(EARLIER_ATTEMPTS, {}).get(name, 0)
    return enter(benchmark, actor, name, sha256=sha256, attempts=attempts, version=version)


def _place(laid: Path, row: Submission) -> None:
    """Move the files to the row's path: the last step before it is committed."""
    goal = submission_place(row)
    goal.parent.mkdir(parents=True, exist_ok=True)
    # A rolled-back transaction may have left files under this number, or the same file
    # may have been uploaded concurrently.
    _remove(goal)
    os.replace(laid, goal)


def remove_later(row: Submission) -> None:
    """Remove the row's current files on commit."""
    benchmark, sha256, path = row.benchmark, row.sha256, submission_place(row)

    def remove_both() -> None:
        _remove(path)
        # Another classifier may have submitted the same file.
        if not benchmark.submissions.filter(sha256=sha256).exists():
            shared_files.remove(path, submission_name(benchmark, sha256))

    transaction.on_commit(remove_both)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _check_name(name: str) -> None:
    """Raise Refusal for a name that is invisible or cannot be part of an address."""
    if not name or not name.isprintable() or name != name.strip():
        raise Refusal(
            f"The name {name[:40]!r} is empty or has characters that cannot be seen. Give the "
            "classifier a name of printable characters, without spaces around it.",
            field="name",
        )
    if len(name) > MAX_NAME:
        raise Refusal(f"Give the classifier a name of at most {MAX_NAME} characters.", field="name")
    if "/" in name or "\\" in name or name in {".", ".."}:
        raise Refusal(f"{name!r} would be a path. Leave slashes out of the name.", field="name")
