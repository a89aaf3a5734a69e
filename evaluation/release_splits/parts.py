"""The parts of a split: their images, for benchmarks on them, and who may see them."""

import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from typing import IO

from django.core.files.storage import storages

from evaluation.models import Benchmark, ReleaseSplit
from evaluation.release_splits import making
from evaluation.splits import files
from labeling.errors import Conflict, NotYours, Refusal
from labeling.models import Campaign, Release, User


def split_for(campaign: Campaign, pk: int) -> ReleaseSplit:
    """Return the campaign's split of that number. Raises NotYours."""
    rows = ReleaseSplit.objects.select_related("release", "job", "sealed_by", "created_by")
    row = rows.filter(release__campaign=campaign, pk=pk).first()
    if row is None:
        raise NotYours(f"{campaign.name} has no split {pk}.")
    return row


def split_of(campaign: Campaign, number: int, pk: int) -> ReleaseSplit:
    """Return the split of that number if it is of this release. Raises NotYours."""
    row = split_for(campaign, pk)
    if row.release.number != number:
        raise NotYours(f"Release {number} of {campaign.name} has no split {pk}.")
    return row


def part_for(campaign: Campaign, text: str) -> tuple[ReleaseSplit, str]:
    """Return the split and the part that SPLIT:PART names. Raises Refusal with the field."""
    number, _, name = text.partition(":")
    try:
        row = split_for(campaign, int(number) if re.fullmatch("[0-9]{1,18}", number) else 0)
    except NotYours:
        raise Refusal(
            f"{text[:80]!r} names no split of {campaign.title}. Give SPLIT:PART, such as 3:val.",
            field="part",
        ) from None
    if name not in row.names:
        raise Refusal(
            f"Split {row.pk} has no part {name[:64]!r}; it has {', '.join(row.names)}.",
            field="part",
        )
    return row, name


def images_of(row: ReleaseSplit, name: str) -> frozenset[str]:
    """Return the names of a part's images, normalized to NFC. Raises Conflict, BadInput."""
    if not row.file:
        raise Conflict(f"Split {row.pk} is not made yet. Wait for its job.", field="part")
    with making.unpack_split(row) as folder:
        return files.read_part(f"{folder}:{name}")


def release_and_images(
    campaign: Campaign, release: Release | None, text: str
) -> tuple[Release | None, frozenset[str] | None]:
    """Return the release of SPLIT:PART and the part's images; without a part, (release, None).

    Raises Refusal with the field, also if another release is given.
    """
    if not text:
        return release, None
    row, name = part_for(campaign, text)
    if release is not None and release.pk != row.release_id:
        raise Refusal(
            f"Split {row.pk} is of release {row.release.number}, not of release {release.number}. "
            f"Leave the release out, or choose a split of release {release.number}.",
            field="part",
        )
    return row.release, images_of(row, name)


def part_choices(campaign: Campaign | None) -> list[tuple[str, str]]:
    """Return the choices of a part of the campaign's splits, newest first, after "All images"."""
    rows = ReleaseSplit.objects.filter(release__campaign=campaign).exclude(file="")
    return [
        ("", "All images"),
        *(
            (f"{row.pk}:{name}", f"{name} of split {row.pk} of release {row.release.number}")
            for row in rows.select_related("release")
            for name in row.names
        ),
    ]


def images_for(benchmark: Benchmark, release: Release) -> frozenset[str] | None:
    """Return the images of the benchmark's part in a newer release; None if it has no part.

    Extends the benchmark's split to that release if needed, without a job. The names may include
    images that the release lacks.
    """
    text = benchmark.settings.get("part")
    if not text:
        return None
    row, name = part_for(benchmark.campaign, text)
    while row.release.number < release.number:
        later = ReleaseSplit.objects.select_related("release").filter(extends=row).first()
        row = later or making.extend_split(row, release, benchmark.created_by)
    return images_of(making.make(row), name)


def hidden(benchmarks: Iterable[Benchmark], user: User) -> set[int]:
    """Return the ids of the benchmarks that are on a part that another user sealed."""
    parts = {row.pk: (row.settings.get("part") or "").partition(":") for row in benchmarks}
    numbers = {int(number) for number, *_ in parts.values() if number}
    if not numbers:
        return set()
    sealed = ReleaseSplit.objects.filter(pk__in=numbers, sealed_by__isnull=False)
    names = {str(row.pk): row.sealed for row in sealed.exclude(sealed_by=user)}
    return {pk for pk, (number, _, name) in parts.items() if number and names.get(number) == name}


def open_zip(row: ReleaseSplit, user: User) -> IO[bytes]:
    """Return a zip of the split's files, without the list of a part that another user sealed.

    The caller closes it. Raises NotYours until the split is made.
    """
    if not row.file:
        raise NotYours("The split is not made yet. Come back when its job is done.")
    kept = storages["data"].open(row.file)
    if row.sealed_by_id in (None, user.pk):
        return kept
    goal = tempfile.TemporaryFile()  # noqa: SIM115
    with kept, zipfile.ZipFile(kept) as source, zipfile.ZipFile(goal, "w") as archive:
        for entry in source.infolist():
            if entry.filename != f"{row.sealed}.txt":
                with source.open(entry) as content, archive.open(entry, "w") as out:
                    shutil.copyfileobj(content, out)
    goal.seek(0)
    return goal
