"""Finding near duplicates of images in a dataset, in other splits, or in files.

Fingerprints of a dataset's images are computed on first use and saved.
"""

import io
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Length

from labeling import processors
from labeling.datasets.image_sources import Refused, SourceFile
from labeling.errors import Refusal
from labeling.image_files import BadImage, coarse
from labeling.models import Dataset, Image
from labeling.near_duplicates.choosing import KnownImage
from labeling.near_duplicates.fingerprints import (
    SIDE,
    STORED,
    VIEWS,
    Fingerprint,
    fingerprint,
    from_bytes,
    to_bytes,
)
from labeling.near_duplicates.search import DISTANCE, GrowingIndex

# Files whose fingerprints are computed together.
READ_AHEAD = 64
CHUNK = 1000
Watch = Callable[[int], object]
T = TypeVar("T")


@dataclass(frozen=True)
class Lookalike:
    """An existing image that looks like a new one."""

    image: str
    dataset: str
    distance: int


class Lookalikes:
    """Index of fingerprints: images of a dataset, of other splits, and new ones."""

    def __init__(
        self, goal: Dataset, others: Sequence[Dataset], watch: Watch | None = None
    ) -> None:
        self._names: list[tuple[str, str]] = []
        prints: list[Fingerprint] = []
        for dataset in (goal, *others):
            for name, views in fingerprints_of(dataset, watch):
                if views is not None:
                    self._names.append((name, dataset.name))
                    prints.append(views)
        stacked = np.array(prints, np.uint64).reshape(len(prints), VIEWS)
        owners = np.arange(len(prints))
        self._wholes = GrowingIndex(np.ascontiguousarray(stacked[:, 0]), owners)
        self._views = GrowingIndex(stacked.ravel(), np.repeat(owners, VIEWS))
        self._goal = goal.name

    def find(self, views: Fingerprint | None) -> Lookalike | None:
        """Return the most similar image, the oldest of equals; None if nothing is similar."""
        if views is None:
            return None
        hits = [
            self._wholes.nearest(views, DISTANCE),
            # The new image may be a crop of an existing one.
            self._views.nearest(views[:1], DISTANCE),
        ]
        best = min((hit for hit in hits if hit is not None), default=None)
        return None if best is None else Lookalike(*self._names[best[1]], best[0])

    def add(self, name: str, views: Fingerprint | None) -> None:
        """Add a new image of the dataset."""
        if views is not None:
            self._wholes.add(views[:1], len(self._names))
            self._views.add(views, len(self._names))
            self._names.append((name, self._goal))


def fingerprint_of(content: bytes) -> Fingerprint | None:
    """Return the file's fingerprint; None for an image that is too plain. Raises Refusal."""
    return _fingerprint_and_pixels(content)[0]


def fingerprints_of(
    dataset: Dataset, watch: Watch | None = None, names: Collection[str] | None = None
) -> Iterator[tuple[str, Fingerprint | None]]:
    """Yield every image of the dataset by name, in order of addition.

    Missing or damaged files have no fingerprint. watch: called for each new fingerprint. names:
    only these images.
    """
    images = dataset.images.order_by("pk")
    if names is not None:
        images = images.filter(name__in=names)
    # Fingerprints of the second edition have fewer views; that of a plain image is empty.
    sized = images.annotate(stored=Length("fingerprint"))
    missing = Q(fingerprint=None) | Q(stored__gt=0) & ~Q(stored=STORED)
    waiting = list(sized.filter(missing).values_list("pk", "file"))
    with ThreadPoolExecutor(processors.count()) as pool:
        for part in _batches(waiting, READ_AHEAD):
            made = pool.map(_fingerprint_of_stored, [file for _, file in part])
            for (pk, _), views in zip(part, made, strict=True):
                Image.objects.filter(pk=pk).update(fingerprint=to_bytes(views))
                if watch:
                    watch(1)
    rows = images.exclude(fingerprint=None)
    for name, kept in rows.values_list("name", "fingerprint").iterator(chunk_size=CHUNK):
        # PostgreSQL returns a memoryview.
        yield name, from_bytes(bytes(kept or b""))


def known_in(
    files: Iterable[SourceFile | Refused], origin: str, refused: list[Refused], watch: Watch | None
) -> Iterator[tuple[SourceFile, KnownImage]]:
    """Yield every image file in comparable form; other files go to `refused`. No database."""
    with ThreadPoolExecutor(processors.count()) as pool:
        for part in _batches(files, READ_AHEAD):
            for entry, seen in zip(part, pool.map(_fingerprint_or_reason, part), strict=True):
                if isinstance(entry, Refused) or isinstance(seen, str):
                    why = entry.why if isinstance(entry, Refused) else str(seen)
                    refused.append(Refused(entry.file, why))
                else:
                    views, pixels = seen
                    yield entry, KnownImage(entry.name, views, pixels, entry.bytes, origin)
                if watch:
                    watch(1)


def _fingerprint_or_reason(entry: SourceFile | Refused) -> tuple[Fingerprint | None, int] | str:
    """Return the file's fingerprint and pixels, or the reason why it is not an image."""
    if isinstance(entry, Refused):
        return entry.why
    if entry.bytes > settings.ASSAY_MAX_IMAGE_BYTES:
        return f"It has more than {settings.ASSAY_MAX_IMAGE_BYTES:,} bytes, the limit of this site."
    try:
        with entry.open() as file:
            return _fingerprint_and_pixels(file.read(settings.ASSAY_MAX_IMAGE_BYTES))
    except Refusal as refusal:
        return refusal.message
    except (OSError, RuntimeError, NotImplementedError, EOFError) as error:
        return f"It cannot be read: {str(error).lower()}."


def _fingerprint_and_pixels(content: bytes) -> tuple[Fingerprint | None, int]:
    try:
        image, pixels = coarse(
            io.BytesIO(content), max_pixels=settings.ASSAY_MAX_IMAGE_PIXELS, side=SIDE
        )
    except BadImage as bad:
        raise Refusal(str(bad), field="file", code="bad_image") from bad
    return fingerprint(image), pixels


def _fingerprint_of_stored(name: str) -> Fingerprint | None:
    field: Any = Image._meta.get_field("file")
    try:
        with field.storage.open(name) as file:
            return fingerprint_of(file.read())
    except (Refusal, FileNotFoundError):
        return None


def _batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    items = iter(items)
    while part := list(itertools.islice(items, size)):
        yield part
