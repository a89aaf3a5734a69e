"""Chooses which of several near-duplicates is kept."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from labeling.near_duplicates.fingerprints import Fingerprint
from labeling.near_duplicates.search import DISTANCE, pairs

OTHER, LARGER, BYTES, FIRST = (
    "the other set has it",
    "it has more pixels",
    "it has more bytes",
    "it comes first",
)


@dataclass(frozen=True)
class KnownImage:
    """An image to compare.

    origin: its set; "" for the set from which images may be removed. fingerprint: None for an image
    that is too plain.
    """

    name: str
    fingerprint: Fingerprint | None
    pixels: int = 0
    bytes: int = 0
    origin: str = ""


@dataclass(frozen=True)
class Removed:
    """An image that looks like a kept one.

    image, kept: their indices. why: the reason for which the kept one was preferred.
    """

    image: int
    kept: int
    distance: int
    why: str


def choose(images: Sequence[KnownImage], distance: int = DISTANCE) -> list[Removed]:
    """Return the images to remove, in order, so that no two remaining ones are near-duplicates.

    Images of other sets are kept. Of the others the one with more pixels is kept, then the one with
    more bytes, then the first; an image is removed only for one that is kept itself.
    """
    removed: dict[int, Removed] = {}
    order = sorted(range(len(images)), key=lambda at: _rank(images[at], at))
    # Of equal wholes at most one is kept; images of other sets are all kept.
    kept_by_hash: dict[int, int] = {}
    waiting = []
    for at in order:
        fingerprint = images[at].fingerprint
        if fingerprint is None:
            continue
        first = kept_by_hash.setdefault(int(fingerprint[0]), at)
        if first == at:
            waiting.append(at)
        elif not images[at].origin:
            removed[at] = Removed(at, first, 0, _why(images[first], images[at]))
    for at, (kept, apart) in _near_kept(images, waiting, distance).items():
        removed[at] = Removed(at, kept, apart, _why(images[kept], images[at]))
    return [_final(removed, at, images) for at in sorted(removed)]


def _near_kept(
    images: Sequence[KnownImage], waiting: Sequence[int], distance: int
) -> dict[int, tuple[int, int]]:
    """Return the images to remove in the order of preference, each with the nearest kept one."""
    stacked = [fingerprint for at in waiting if (fingerprint := images[at].fingerprint) is not None]
    if not stacked:
        return {}
    near: dict[int, list[tuple[int, int]]] = defaultdict(list)
    hits = pairs(np.array(stacked), distance)
    for low, high, apart in zip(
        hits.query.tolist(), hits.entry.tolist(), hits.distance.tolist(), strict=True
    ):
        near[high].append((apart, low))
    gone: dict[int, tuple[int, int]] = {}
    for position in sorted(near):
        if images[waiting[position]].origin:
            continue
        kept = [(apart, low) for apart, low in near[position] if waiting[low] not in gone]
        if kept:
            apart, low = min(kept)
            gone[waiting[position]] = (waiting[low], apart)
    return gone


def _final(removed: dict[int, Removed], at: int, images: Sequence[KnownImage]) -> Removed:
    """Return the row with the image that is finally kept, if the nearest one is removed too."""
    row = removed[at]
    instead = removed.get(row.kept)
    if instead is None:
        return row
    why = _why(images[instead.kept], images[at])
    return Removed(at, instead.kept, instead.distance, why)


def _rank(image: KnownImage, at: int) -> tuple[bool, int, int, int]:
    return (not image.origin, -image.pixels, -image.bytes, at)


def _why(kept: KnownImage, gone: KnownImage) -> str:
    if kept.origin:
        return OTHER
    if kept.pixels > gone.pixels:
        return LARGER
    return BYTES if kept.bytes > gone.bytes else FIRST


def with_names(
    images: Sequence[KnownImage], rows: Sequence[Removed]
) -> Iterator[dict[str, object]]:
    """Yield the rows with names instead of indices."""
    for row in rows:
        kept = images[row.kept]
        yield {
            "image": images[row.image].name,
            "kept": kept.name,
            "of": kept.origin,
            "distance": row.distance,
            "why": row.why,
        }
