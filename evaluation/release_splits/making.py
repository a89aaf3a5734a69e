"""Makes splits of releases by a job, with the functions of `manage.py split`.

The only writer of ReleaseSplit.
"""

import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from django.core.files import File
from django.core.files.storage import storages
from django.db import transaction

from evaluation.models import Benchmark, ReleaseSplit
from evaluation.splits import files, rules, sources
from evaluation.splits.rules import SplitRule
from labeling.datasets.near_images import fingerprints_of
from labeling.disk_full import converting_disk_full
from labeling.errors import Conflict, NotAllowed, Refusal
from labeling.files import file_sha256
from labeling.jobs import queue
from labeling.models import Campaign, Dataset, Job, Release, User
from labeling.release_files.frozen import Frozen
from labeling.releases import stored

KIND = "split"


def request(
    release: Release,
    actor: User,
    *,
    by: str = "",
    names: Sequence[str] = (),
    seed: int | None = None,
    extend: ReleaseSplit | None = None,
    seal: bool = False,
) -> ReleaseSplit:
    """Return the split of the release by this rule: the existing one, or a new one with its job.

    extend: a split of an older release of the campaign; its rule, names, seed and seal are kept.
    Raises Refusal with the field, Conflict.
    """
    if extend is None:
        rule = _rule(by, names)
        return _get_or_create(release, actor, rule, seed or 0, seal, None)
    stated = (
        by or extend.method,
        list(names) or extend.names,
        extend.seed if seed is None else seed,
    )
    if stated != (extend.method, extend.names, extend.seed):
        raise Refusal(
            f"Split {extend.pk} has the rule {extend.method}, the parts {', '.join(extend.names)} "
            f"and the seed {extend.seed}. Extend it with these values, or leave them out.",
            field="extend",
        )
    if seal and extend.sealed is None:
        raise Refusal(
            f"Split {extend.pk} is not sealed, so its extension cannot be. Make a new split.",
            field="seal",
        )
    return extend_split(extend, release, actor)


def extend_split(split: ReleaseSplit, release: Release, actor: User) -> ReleaseSplit:
    """Return the extension of the split to a newer release. Raises Refusal, Conflict."""
    if split.release.campaign_id != release.campaign_id or split.release.number >= release.number:
        raise Refusal(
            f"Split {split.pk} is of release {split.release.number}. Extend it to a newer release "
            "of the same campaign.",
            field="extend",
        )
    rule = _rule(split.method, split.names)
    return _get_or_create(release, actor, rule, split.seed, split.sealed is not None, split)


def execute(job: Job) -> None:
    """Run the job "split". Safe to run twice."""
    make(ReleaseSplit.objects.select_related("release").get(pk=job.payload["split"]))


def make(row: ReleaseSplit) -> ReleaseSplit:
    """Return the split after writing its files, if they are missing. Raises BadInput."""
    if row.file:
        return row
    earlier = None
    if row.extends:
        with unpack_split(make(row.extends)) as folder:
            earlier = files.read(folder / files.HEAD)
    source = source_of(stored.read(row.release))
    rule = files.parse_names(row.method, tuple(row.names))
    head, lists = files.make(source, rule, row.seed, row.sealed is not None, earlier)
    with converting_disk_full(), tempfile.TemporaryDirectory(prefix="split-") as scratch:
        folder = Path(scratch, "split")
        files.write(folder, head, lists)
        packed = Path(scratch, "split.zip")
        _pack(folder, packed)
        with packed.open("rb") as file:
            saved = storages["data"].save(f"splits/{row.pk}.zip", File(file))
        sha256 = file_sha256(folder / files.HEAD)
    # A concurrent worker makes equal files; the first ones stay.
    ReleaseSplit.objects.filter(pk=row.pk, file="").update(
        file=saved, sha256=sha256, head=head.to_json()
    )
    row.refresh_from_db()
    return row


def may_delete(row: ReleaseSplit, user: User) -> bool:
    """Return whether the user sealed the split or, without a seal, made it or is administrator."""
    owner = row.sealed_by_id or row.created_by_id
    return user.pk == owner or (user.is_staff and row.sealed_by_id is None)


def delete(row: ReleaseSplit, user: User) -> None:
    """Delete the split and its files. The same rule and seed make it again.

    Raises NotAllowed for splits of others; Conflict if it is in use or its job is running.
    """
    if not may_delete(row, user):
        raise NotAllowed("Only who made or sealed this split may delete it.")
    with transaction.atomic():
        Campaign.objects.select_for_update(no_key=True, of=("self",)).get(
            pk=row.release.campaign_id
        )
        if later := ReleaseSplit.objects.filter(extends=row).first():
            raise Conflict(f"Split {later.pk} extends it. Delete that split first.")
        if names := _benchmarks_on(row):
            raise Conflict(f"Benchmarks use it: {', '.join(names)}. Delete them first.")
        # Delete a queued job together with the split.
        jobs = Job.objects.select_for_update().filter(pk__in=[row.job_id] if row.job_id else [])
        if any(job.state == Job.State.RUNNING for job in jobs):
            raise Conflict("Its job is running. Delete the split once that has ended.")
        pks = [job.pk for job in jobs]
        row.delete()
        Job.objects.filter(pk__in=pks).delete()
        if row.file:
            transaction.on_commit(partial(storages["data"].delete, row.file), robust=True)


def _benchmarks_on(row: ReleaseSplit) -> list[str]:
    """Return the titles of benchmarks on the split or on one that it extends."""
    earlier: ReleaseSplit | None = row
    numbers = set()
    while earlier is not None:
        numbers.add(str(earlier.pk))
        earlier = earlier.extends
    rows = Benchmark.objects.filter(campaign=row.release.campaign_id)
    return [
        benchmark.title
        for benchmark in rows
        if str(benchmark.settings.get("part") or "").partition(":")[0] in numbers
    ]


@contextmanager
def unpack_split(row: ReleaseSplit) -> Iterator[Path]:
    """Yield a temporary folder with the files of the split, as the command writes them."""
    with tempfile.TemporaryDirectory(prefix="split-") as folder:
        with storages["data"].open(row.file) as file, zipfile.ZipFile(file) as archive:
            archive.extractall(folder)
        yield Path(folder)


def source_of(release: Frozen) -> sources.SplitSource:
    """Return the images of a release, with fingerprints of the photographs that are on the site."""
    dataset = Dataset.objects.filter(name=release.meta["campaign"]["dataset"]).first()
    if dataset is None:
        return sources.of_release(release, {})
    hashes = dict(dataset.images.values_list("name", "sha256"))
    return sources.of_release(
        release, {hashes[name]: views for name, views in fingerprints_of(dataset)}
    )


def _rule(by: str, names: Sequence[str]) -> SplitRule:
    field = "by"
    try:
        rule = rules.parse(by)
        field = "names"
        return files.parse_names(by, tuple(names)) if names else rule
    except ValueError as error:
        raise Refusal(f"{error}.", field=field) from None


def _get_or_create(
    release: Release,
    actor: User,
    rule: SplitRule,
    seed: int,
    seal: bool,
    extends: ReleaseSplit | None,
) -> ReleaseSplit:
    """Return the split with these arguments: the existing row, or a new one with its job."""
    with transaction.atomic():
        Campaign.objects.select_for_update(no_key=True, of=("self",)).get(pk=release.campaign_id)
        later = ReleaseSplit.objects.filter(extends=extends).first() if extends else None
        if extends and later and later.release_id != release.pk:
            raise Conflict(
                f"Split {extends.pk} is extended by split {later.pk} already. "
                f"Extend split {later.pk}.",
                field="extend",
            )
        rows = release.splits.filter(
            method=rule.text, names=list(rule.names), seed=seed, extends=extends
        )
        row = rows.filter(sealed_by__isnull=not seal).first()
        if row is not None:
            return row
        row = ReleaseSplit.objects.create(
            release=release,
            method=rule.text,
            names=list(rule.names),
            seed=seed,
            sealed_by=(extends.sealed_by if extends else actor) if seal else None,
            extends=extends,
            created_by=actor,
        )
        row.job = queue.enqueue(KIND, f"split {row.pk}", {"split": row.pk}, release.campaign)
        row.save(update_fields=["job"])
    return row


def _pack(folder: Path, goal: Path) -> None:
    """Write a zip of the folder; equal files give equal bytes."""
    with zipfile.ZipFile(goal, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED)
