"""Chooses which image of several near-duplicates is kept."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from labeling.near_duplicates.fingerprints import Fingerprint
from labeling.near_duplicates.search import DISTANCE, pairs

# Reasons for keeping an image instead of its near-duplicate.
OTHER, LARGER, BYTES, FIRST = (
    "the other set has it",
    "it has more pixels",
    "it has more bytes",
    "it comes first",
)


@dataclass(frozen=True)
class KnownImage:
    """An image to compare.

    fingerprint: None if the image is too plain to be compared. origin: name of the set that it
    comes from; "" for the only set from which images may be removed.
    """

    name: str
    fingerprint: Fingerprint | None
    pixels: int = 0
    bytes: int = 0
    origin: str = ""


@dataclass(frozen=True)
class Removed:
    """An image to remove, and its near-duplicate that is kept.

    image, kept: indices of the two. distance: bits that differ. why: why the other image is kept.
    """

    image: int
    kept: int
    distance: int
    why: str


def choose(images: Sequence[KnownImage], distance: int = DISTANCE) -> list[Removed]:
    """Return the images to remove, by index.

    All images of other sets are kept, and their near-duplicates in the set "" are removed. Of two
    near-duplicates in the set "", the one with more pixels is kept, then the one with more bytes,
    then the first. An image is removed only for a near-duplicate that is itself kept.
    """
    removed: dict[int, Removed] = {}
    order = sorted(range(len(images)), key=lambda index: _rank(images[index], index))
    # `pairs` wants different hashes of the whole image. So compare only the best image of each
    # hash; the others are its copies.
    best_of_hash: dict[int, int] = {}
    candidates = []
    for index in order:
        fingerprint = images[index].fingerprint
        if fingerprint is None:
            continue
        best = best_of_hash.setdefault(int(fingerprint[0]), index)
        if best == index:
            candidates.append(index)
        elif not images[index].origin:
            removed[index] = Removed(index, best, 0, _why(images[best], images[index]))
    for index, (kept, bits) in _near_duplicates(images, candidates, distance).items():
        removed[index] = Removed(index, kept, bits, _why(images[kept], images[index]))
    return [_final(removed, index, images) for index in sorted(removed)]


def _near_duplicates(
    images: Sequence[KnownImage], candidates: Sequence[int], distance: int
) -> dict[int, tuple[int, int]]:
    """Return image to remove → (nearest kept image, bits that differ).

    candidates: indices of images with different hashes, best first.
    """
    prints = [views for index in candidates if (views := images[index].fingerprint) is not None]
    if not prints:
        return {}
    # Near pairs by the position of the worse image in `candidates`: (bits, better position).
    near: dict[int, list[tuple[int, int]]] = defaultdict(list)
    hits = pairs(np.array(prints), distance)
    for better, worse, bits in zip(
        hits.query.tolist(), hits.entry.tolist(), hits.distance.tolist(), strict=True
    ):
        near[worse].append((bits, better))
    removed: dict[int, tuple[int, int]] = {}
    # Best first: when an image's turn comes, all better images are kept or removed already.
    for worse in sorted(near):
        if images[candidates[worse]].origin:
            continue
        kept = [(bits, better) for bits, better in near[worse] if candidates[better] not in removed]
        if kept:
            bits, better = min(kept)
            removed[candidates[worse]] = (candidates[better], bits)
    return removed


def _final(removed: dict[int, Removed], index: int, images: Sequence[KnownImage]) -> Removed:
    """Return the image's row. If the image kept for it is removed too, name the final one."""
    row = removed[index]
    row_of_kept = removed.get(row.kept)
    if row_of_kept is None:
        return row
    why = _why(images[row_of_kept.kept], images[index])
    return Removed(index, row_of_kept.kept, row_of_kept.distance, why)


def _rank(image: KnownImage, index: int) -> tuple[bool, int, int, int]:
    """Return the sort key: images of other sets first, then by pixels, bytes and index."""
    return (not image.origin, -image.pixels, -image.bytes, index)


def _why(kept: KnownImage, removed: KnownImage) -> str:
    if kept.origin:
        return OTHER
    if kept.pixels > removed.pixels:
        return LARGER
    return BYTES if kept.bytes > removed.bytes else FIRST


def with_names(
    images: Sequence[KnownImage], rows: Sequence[Removed]
) -> Iterator[dict[str, object]]:
    """Yield the rows as JSON, with image names instead of indices."""
    for row in rows:
        kept = images[row.kept]
        yield {
            "image": images[row.image].name,
            "kept": kept.name,
            "of": kept.origin,
            "distance": row.distance,
            "why": row.why,
        }
