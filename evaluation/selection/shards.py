"""A pool selected in parts: each part's mergeable state as a file, and their join.

Free of Django. A part holds, pair by pair and cell of two labels, the best images of one stretch of
the pool; parts join into the same lines, byte for byte, however the pool was cut.
"""

import json
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.mad.selection import Candidates, Levels, Rule, choose, survivors
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.pools import Pool
from evaluation.readers.selections import Line, Meta
from evaluation.selection.selecting import (
    Progress,
    confidences_of,
    levels_of,
    lines_of,
    pairs_of,
    settings_of,
)
from labeling.files import BadInput, atomic_write


@dataclass(kw_only=True)
class PartMeta(Meta):
    """shard: (I, N), from 1. part: from which image to which. all_classes: of the pool."""

    shard: list[int]
    part: list[int]
    all_classes: list[str]

    def whole(self, parts: int) -> Meta:
        """The meta line of what so many parts were merged to."""
        own = {"shard", "part", "all_classes"}
        kept = {key: value for key, value in vars(self).items() if key not in own}
        return Meta(**kept | {"parts": parts})


class _HeldIds:
    """Image ids held in memory, by place; see mad.ImageIds."""

    in_order = False
    text = np.zeros(0, np.uint8)
    marks = np.zeros(0, np.int64)

    def __init__(self, names: Sequence[bytes]) -> None:
        self.names = names

    def take(self, images: Sequence[int] | NDArray[np.int64]) -> list[bytes]:
        return [self.names[int(image)] for image in images]


def write_part(
    out: Path,
    pool: Pool,
    meta: Meta,
    shard: tuple[int, int],
    part: slice,
    reduced: Iterator[Candidates],
    progress: Progress = lambda done: None,
) -> int:
    """Writes a stretch's mergeable state and returns how many images it holds, over all pairs.

    An .npz (no pickles): `meta`, then of each pair labels (n, 2), confidences (n, 2) float32, image
    ids end to end and where each ends. Pairs are written one by one.
    """
    held = 0
    whole = PartMeta(
        **vars(meta), shard=list(shard), part=[part.start, part.stop], all_classes=pool.classes
    )
    with atomic_write(out, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        _put(archive, "meta", np.frombuffer(json.dumps(whole.to_json()).encode(), np.uint8))
        for number, (pair, found) in enumerate(
            zip(pairs_of(meta.classifiers), reduced, strict=True)
        ):
            names = pool.images.take(found.images)
            sure = [confidences_of(pool, name, found.images).astype(np.float32) for name in pair]
            _put(archive, f"{number}.labels", np.stack([found.a, found.b], axis=1))
            _put(archive, f"{number}.confidences", np.stack(sure, axis=1))
            _put(archive, f"{number}.ids", np.frombuffer(b"".join(names), np.uint8))
            _put(
                archive, f"{number}.ends", np.cumsum([len(name) for name in names], dtype=np.int64)
            )
            held += len(found)
            progress(1)
    return held


def _put(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    # A fixed date: the same part is the same bytes.
    entry = zipfile.ZipInfo(f"{name}.npy")
    with archive.open(entry, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


class Part:
    """A state that write_part wrote, read pair by pair. Raises BadInput for anything else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
            self.meta = PartMeta.from_json(json.loads(self._get("meta").tobytes()))
            start, stop = self.meta.part
            self.stretch = slice(int(start), int(stop))
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
            raise self.broken() from error

    def broken(self) -> BadInput:
        """The refusal of a file that is no part, or not all of one."""
        return BadInput(
            "is not a whole part of a selection",
            file=self.path,
            cure="write it again with mad select --shard I/N --out part.npz",
        )

    def _get(self, name: str) -> NDArray[Any]:
        with self._archive.open(f"{name}.npy") as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array

    def pair(self, number: int) -> tuple[NDArray[np.int32], NDArray[np.float32], list[bytes]]:
        """Labels (n, 2), confidences (n, 2) and image ids of one pair."""
        try:
            labels, confidences, ids, ends = (
                self._get(f"{number}.{name}") for name in ("labels", "confidences", "ids", "ends")
            )
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
            raise self.broken() from error
        if not len(labels) == len(confidences) == len(ends):
            raise self.broken()
        text = ids.tobytes()
        edges = [0, *ends.tolist()]
        names = [text[x:y] for x, y in pairwise(edges)]
        return labels, confidences, names


def join_parts(parts: Sequence[Part], wordnet: WordNet) -> tuple[PartMeta, Rule, Levels]:
    """Meta of the first part, and the rule and levels that all share.

    Raises BadInput where parts come of different settings or inputs, overlap, or leave a gap.
    """
    first = parts[0]
    shared = first.meta.to_json()
    for part in parts[1:]:
        other = part.meta.to_json()
        for key in (shared.keys() | other.keys()) - {"part", "shard"}:
            if shared.get(key) != other.get(key):
                raise BadInput(
                    f"comes of another {key} than {first.path}",
                    file=part.path,
                    cure="make all parts from the same files with the same options",
                )
    end = 0
    ordered = sorted(parts, key=lambda part: (part.stretch.start, part.stretch.stop))
    for part in ordered:
        if part.stretch.start != end:
            what = "leaves out" if part.stretch.start > end else "repeats"
            low, high = sorted((part.stretch.start, end))
            raise BadInput(
                f"{what} images {low + 1} to {high} of images.txt",
                file=part.path,
                cure="give each part of the pool once",
            )
        end = part.stretch.stop
    if end != shared["counts"]["images"]:
        raise BadInput(
            f"images {end + 1} to {shared['counts']['images']} of images.txt are in no part",
            file=ordered[-1].path,
            cure="give each part of the pool once",
        )
    try:
        settings = settings_of(shared)
    except (KeyError, TypeError, ValueError) as error:
        raise first.broken() from error
    levels = levels_of(first.meta.all_classes, wordnet, settings.distance, first.path)
    return first.meta, settings.rule, levels


def merged(
    parts: Sequence[Part],
    meta: PartMeta,
    rule: Rule,
    levels: Levels,
    progress: Progress = lambda done: None,
) -> Iterator[list[Line]]:
    """The list of each pair, from the states of all parts."""
    for number, pair in enumerate(pairs_of(meta.classifiers)):
        held, sure, names = _joined_pair(parts, number, levels, rule)
        found = held.where(choose(held, levels, rule, _HeldIds(names)))
        images = [names[image] for image in found.images.tolist()]
        yield lines_of(pair, meta.all_classes, found, images, sure[found.images], levels)
        progress(1)


def _joined_pair(
    parts: Sequence[Part], number: int, levels: Levels, rule: Rule
) -> tuple[Candidates, NDArray[np.float32], list[bytes]]:
    """One pair's candidates of all parts; images are places in the confidences and ids returned.

    After each part what cannot be chosen any more is dropped, so that memory does not grow with the
    number of parts.
    """
    none = np.zeros(0, np.int64)
    held = Candidates(none.astype(np.int32), none.astype(np.int32), none.astype(np.uint32), none)
    sure, names = np.zeros((0, 2), np.float32), list[bytes]()
    for part in parts:
        labels, confidences, ids = part.pair(number)
        images = np.arange(len(ids), dtype=np.int64) + len(names)
        keys = confidences.min(axis=1).view(np.uint32) if len(ids) else np.zeros(0, np.uint32)
        a, b = labels[:, 0].astype(np.int32), labels[:, 1].astype(np.int32)
        held = Candidates.joined([held, Candidates(a, b, keys, images)])
        sure, names = np.concatenate([sure, confidences]), [*names, *ids]
        held = survivors(held, levels, rule, _HeldIds(names))
        sure, names = sure[held.images], [names[image] for image in held.images.tolist()]
        held.images = np.arange(len(names), dtype=np.int64)
    return held, sure, names
