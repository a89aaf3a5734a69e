"""Select from a pool in parts: each part's mergeable state as a file, and their join. No Django.

A part holds, pair by pair, the images of one stretch that some larger pool can choose
(metrics.mad.selection.survivors). Parts join into the same lines, byte for byte, however the pool
was cut.
"""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.mad.selection import (
    Levels,
    PairCandidates,
    SelectionRule,
    choose,
    survivors,
)
from evaluation.metrics.wordnet.distances import DISTANCES
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.pools import CLASSES, IMAGES, PredictionPool, joined_sha256
from evaluation.readers.selections import Meta, SelectionLine
from evaluation.selection.selecting import (
    Pair,
    Progress,
    confidences_of,
    just_below,
    levels_of,
    lines_of,
    pairs_in,
    reduce_pairs,
    settings_of,
)
from labeling.files import BadInput


@dataclass(kw_only=True)
class PartMeta(Meta):
    """The meta line of a part. shard: (I, N), I from 1. part: first image and end.

    all_classes: classes of the pool. lines: first byte in images.txt and end. sizes: bytes of each
    whole file. Parts of earlier versions and of sharded pools lack lines and sizes; their inputs
    are those of the whole pool.
    """

    shard: list[int]
    part: list[int]
    all_classes: list[str]
    lines: list[int] | None = None
    sizes: dict[str, int] | None = None


# Candidates of a pair: labels (n, 2), confidences (n, 2) and image ids.
State = tuple[NDArray[np.int32], NDArray[np.float32], list[bytes]]
# Keys in which parts of one selection may differ.
PART_KEYS = {"shard", "part", "lines", "inputs"}
# Keys that the meta line of a selection does not have.
PART_FIELDS = {"shard", "part", "lines", "sizes", "all_classes"}
# Number of joined candidates of a pair after which those that cannot be chosen are dropped.
MAX_BUFFERED = 1 << 16


class _HeldIds:
    """Image ids held in memory, by index; see metrics.mad.selection.ImageIds."""

    in_order = False
    text = np.zeros(0, np.uint8)
    marks = np.zeros(0, np.int64)

    def __init__(self, names: Sequence[bytes]) -> None:
        self.names = names

    def take(self, images: Sequence[int] | NDArray[np.int64]) -> list[bytes]:
        return [self.names[int(image)] for image in images]


def write_part(
    file: IO[bytes],
    pool: PredictionPool,
    meta: Meta,
    shard: tuple[int, int],
    reduced: Iterator[PairCandidates],
    levels: Levels | None = None,
) -> int:
    """Write a stretch's mergeable state and return the number of its images, over all pairs.

    An .npz (no pickles): `meta`, then for each pair labels (n, 2), confidences (n, 2) float32,
    image ids end to end and where each ends. Pairs are written one by one. levels: of a user's
    distances, which are written too.
    """
    held = 0
    whole = PartMeta(
        **vars(meta),
        shard=list(shard),
        part=[pool.part.start, pool.part.stop],
        all_classes=pool.classes,
        lines=[pool.images.start_byte, pool.images.stop_byte] if pool.sizes else None,
        sizes=pool.sizes or None,
    )
    with zipfile.ZipFile(file, "w") as archive:
        _put(archive, "meta", np.frombuffer(json.dumps(whole.to_json()).encode(), np.uint8))
        _put(archive, "just_below", np.array(just_below(pool, meta)))
        if levels is not None and meta.distance not in DISTANCES:
            _put(archive, "distances", levels.values[levels.of])
        for number, (pair, candidates) in enumerate(zip(pairs_in(meta), reduced, strict=True)):
            labels, confidences, names = _state(pool, pair, candidates)
            _put(archive, f"{number}.labels", labels)
            _put(archive, f"{number}.confidences", confidences)
            _put(archive, f"{number}.ids", np.frombuffer(b"".join(names), np.uint8))
            _put(
                archive, f"{number}.ends", np.cumsum([len(name) for name in names], dtype=np.int64)
            )
            held += len(candidates)
    return held


def _state(pool: PredictionPool, pair: Pair, candidates: PairCandidates) -> State:
    confidences = [confidences_of(pool, name, candidates.images) for name in pair]
    labels = np.stack([candidates.a, candidates.b], axis=1)
    return (
        labels,
        np.stack(confidences, axis=1, dtype=np.float32),
        pool.images.take(candidates.images),
    )


def _put(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    # A fixed date, so that equal parts have equal bytes.
    entry = zipfile.ZipInfo(f"{name}.npy")
    with archive.open(entry, "w", force_zip64=True) as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


class PoolPart:
    """A state that write_part wrote, read pair by pair. Raises BadInput for anything else.

    content: the bytes of the file, where it is in a store.
    """

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path if content is None else io.BytesIO(content))
            self.meta = PartMeta.from_json(json.loads(self._get("meta").tobytes()))
            start, stop = self.meta.part
            self.stretch = slice(int(start), int(stop))
            counts, inputs = self.meta.counts, self.meta.inputs
            if not isinstance(counts, dict) or not isinstance(inputs, dict):
                raise TypeError("counts and inputs are not objects")
            self.total, self.inputs = int(counts["images"]), dict[str, str](inputs)
            # Bytes where its lines begin and end in images.txt, and the end of that file.
            self.lines: tuple[int, int, int] | None = None
            if self.meta.lines is not None and self.meta.sizes is not None:
                first, last = self.meta.lines
                self.lines = int(first), int(last), int(self.meta.sizes[IMAGES])
        except FileNotFoundError:
            raise
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
            raise self.broken() from error

    def broken(self) -> BadInput:
        """Return BadInput for a file that is not a part, or incomplete."""
        return BadInput(
            "is not a whole part of a selection",
            file=self.path,
            cure="write it again with mad select --shard I/N --out part.npz",
        )

    def _get(self, name: str) -> NDArray[Any]:
        with self._archive.open(f"{name}.npy") as file:
            array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array

    def just_below(self) -> int:
        """Return the count of selecting.just_below; 0 in parts of earlier versions."""
        try:
            return int(self._get("just_below").item())
        except KeyError:
            return 0

    def levels(self, wordnet: WordNet | None, distance: str) -> Levels:
        """Return the distances of the part's classes, as levels."""
        classes = self.meta.all_classes
        if distance in DISTANCES:
            return levels_of(classes, wordnet, distance, self.path)
        try:
            matrix = self._get("distances")
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
            raise self.broken() from error
        if matrix.shape != (len(classes), len(classes)) or matrix.dtype != np.float64:
            raise self.broken()
        return Levels.of_matrix(matrix)

    def pair(self, number: int) -> State:
        """Return the state of one pair."""
        try:
            labels, confidences, ids, ends = (
                self._get(f"{number}.{name}") for name in ("labels", "confidences", "ids", "ends")
            )
        except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
            raise self.broken() from error
        classes, values = len(self.meta.all_classes), (len(ends), 2)
        if (
            (labels.shape, labels.dtype) != (values, np.int32)
            or (confidences.shape, confidences.dtype) != (values, np.float32)
            or not ((labels >= 0) & (labels < classes)).all()
        ):
            raise self.broken()
        text = ids.tobytes()
        edges = [0, *ends.tolist()]
        names = [text[x:y] for x, y in pairwise(edges)]
        return labels, confidences, names


def join_parts(
    parts: Sequence[PoolPart], wordnet: WordNet | None
) -> tuple[Meta, SelectionRule, Levels]:
    """Return the meta line of the merged parts, and the rule and levels that all share.

    Raises BadInput for parts of different settings or inputs, and for overlaps and gaps.
    """
    first = parts[0]
    for part in parts[1:]:
        _refuse_another_selection(first, part)
    ordered = sorted(parts, key=lambda part: (part.stretch.start, part.stretch.stop))
    images = first.total
    end = 0
    for part in ordered:
        if part.stretch.start != end:
            fault = "leaves out" if part.stretch.start > end else "repeats"
            low, high = sorted((part.stretch.start, end))
            raise BadInput(
                f"{fault} images {low + 1} to {high} of images.txt",
                file=part.path,
                cure="give each part of the pool once",
            )
        end = part.stretch.stop
    if end != images:
        raise BadInput(
            f"images {end + 1} to {images} of images.txt are in no part",
            file=ordered[-1].path,
            cure="give each part of the pool once",
        )
    _refuse_lines_apart(ordered)
    try:
        settings = settings_of(first.meta.to_json())
    except (KeyError, TypeError, ValueError) as error:
        raise first.broken() from error
    levels = first.levels(wordnet, settings.distance)
    return _joined_meta(ordered), settings.rule, levels


def _refuse_another_selection(first: PoolPart, part: PoolPart) -> None:
    ours, theirs = first.meta.to_json(), part.meta.to_json()
    differ = {key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)}
    if (first.lines is None) != (part.lines is None):
        difference = "version of Assay, or another pool,"
    elif "sizes" in differ and ours["sizes"].keys() == theirs["sizes"].keys():
        difference = next(
            file for file in ours["sizes"] if ours["sizes"][file] != theirs["sizes"][file]
        )
    elif differ - PART_KEYS:
        difference = min(differ - PART_KEYS)
    elif first.lines is None and "inputs" in differ:
        difference = "inputs"
    elif first.inputs.get(CLASSES) != part.inputs.get(CLASSES):
        difference = "classes.txt"
    else:
        return
    raise BadInput(
        f"was made with another {difference} than {first.path}",
        file=part.path,
        cure="make all parts from the same files with the same options",
    )


def _refuse_lines_apart(ordered: Sequence[PoolPart]) -> None:
    """Raise BadInput unless each part's lines of images.txt begin where the previous part's end.

    Each part located its lines by itself. Since each holds as many lines as it has images,
    adjoining parts prove that the locations are right.
    """
    end = 0
    for part in ordered:
        if part.lines is None:
            return
        start, stop, size = part.lines
        if start != end or (part is ordered[-1] and stop != size):
            raise BadInput(
                f"has the ids of bytes {start} to {stop} of images.txt, but the "
                f"neighbouring part does not begin or end at byte {end if start != end else stop}",
                file=part.path,
                cure="remove images.txt.index.npy beside images.txt and make the parts again",
            )
        end = stop


def _joined_meta(ordered: Sequence[PoolPart]) -> Meta:
    first = ordered[0].meta
    fields = {key: value for key, value in vars(first).items() if key not in PART_FIELDS}
    meta = Meta(**fields | {"parts": len(ordered)})
    if ordered[0].lines is not None and len(ordered) > 1:
        meta.stretches = [part.stretch.stop for part in ordered]
        meta.inputs = {
            file: digest
            if file == CLASSES
            else joined_sha256([part.inputs[file] for part in ordered])
            for file, digest in ordered[0].inputs.items()
        }
    return meta


def merged(
    parts: Sequence[PoolPart],
    meta: Meta,
    rule: SelectionRule,
    levels: Levels,
    progress: Progress = lambda done: None,
) -> Iterator[list[SelectionLine]]:
    """Yield the list of each pair, from the states of all parts.

    Raises BadInput for an image id that is chosen from two parts. Each part looked for repeats in
    its own stretch; a repeat across stretches is not detected where neither image is chosen.
    """
    origins: dict[bytes, int] = {}
    for number, pair in enumerate(pairs_in(meta)):
        chosen = _joined_pair(parts, number, levels, rule).choose_images(levels, rule)
        for name, origin in zip(chosen.names, chosen.origins.tolist(), strict=True):
            _refuse_repeat(parts, origins, name, origin)
        yield chosen.lines(pair, parts[0].meta.all_classes, levels)
        progress(1)


@dataclass
class _Held:
    """Candidates of a pair from several parts.

    Their images index `confidences` (n, 2), `names` (image ids) and `origins` (part numbers).
    """

    candidates: PairCandidates
    confidences: NDArray[np.float32]
    names: list[bytes]
    origins: NDArray[np.int32]

    def take(self, kept: PairCandidates) -> "_Held":
        """Return only these candidates, in their order."""
        places = kept.images
        names = [self.names[index] for index in places.tolist()]
        kept = replace(kept, images=np.arange(len(places), dtype=np.int64))
        return _Held(kept, self.confidences[places], names, self.origins[places])

    def choose_images(self, levels: Levels, rule: SelectionRule) -> "_Held":
        """Return the list of the pair, best first."""
        places = choose(self.candidates, levels, rule, _HeldIds(self.names))
        return self.take(self.candidates.where(places))

    def lines(self, pair: Pair, classes: Sequence[str], levels: Levels) -> list[SelectionLine]:
        return lines_of(pair, classes, self.candidates, self.names, self.confidences, levels)


def _joined_pair(
    parts: Sequence[PoolPart], number: int, levels: Levels, rule: SelectionRule
) -> _Held:
    """Return the candidates of one pair from all parts.

    Above MAX_BUFFERED, candidates that can no longer be chosen are dropped, so memory does not grow
    with the number of parts.
    """
    held: list[_Held] = []
    for origin, part in enumerate(parts):
        held.append(_held(part.pair(number), origin))
        if origin and sum(len(each.names) for each in held) > MAX_BUFFERED:
            held = [_pruned(held, levels, rule)]
    return _pruned(held, levels, rule)


def select(
    pools: Iterable[PredictionPool],
    pairs: Sequence[Pair],
    levels: Levels,
    rule: SelectionRule,
    *,
    threads: int = 1,
    device: str | None = None,
    progress: Progress = lambda done: None,
) -> Iterator[list[SelectionLine]]:
    """Yield the list of each pair of a sharded pool, reading one shard after the other.

    Between shards the candidates of each pair are held with their ids, some kilobytes a pair.
    progress: called with fractions of a pair, 1 in all for each pair and shard.
    """
    held: list[_Held] = []
    classes: list[str] = []
    for origin, pool in enumerate(pools):
        reduced = reduce_pairs(
            pool, pairs, levels, rule, threads=threads, device=device, progress=progress
        )
        for number, (pair, candidates) in enumerate(zip(pairs, reduced, strict=True)):
            new = _held(_state(pool, pair, candidates), origin)
            if origin == 0:
                held.append(new)
            else:
                held[number] = _pruned([held[number], new], levels, rule)
        classes = pool.classes
    for pair, every in zip(pairs, held, strict=True):
        yield every.choose_images(levels, rule).lines(pair, classes, levels)


def _held(state: State, origin: int) -> _Held:
    labels, confidences, names = state
    keys = confidences.min(axis=1).view(np.uint32) if len(names) else np.zeros(0, np.uint32)
    a, b = labels[:, 0].astype(np.int32), labels[:, 1].astype(np.int32)
    candidates = PairCandidates(a, b, keys, np.arange(len(names), dtype=np.int64))
    return _Held(candidates, confidences, names, np.full(len(names), origin, np.int32))


def _pruned(held: Sequence[_Held], levels: Levels, rule: SelectionRule) -> _Held:
    """Return the candidates of a pair that some larger pool can still choose."""
    names = [name for each in held for name in each.names]
    candidates = PairCandidates.joined(each.candidates for each in held)
    candidates.images = np.arange(len(names), dtype=np.int64)
    confidences = np.concatenate([each.confidences for each in held])
    joined = _Held(candidates, confidences, names, np.concatenate([each.origins for each in held]))
    return joined.take(survivors(candidates, levels, rule, _HeldIds(names))[0])


def _refuse_repeat(
    parts: Sequence[PoolPart], origins: dict[bytes, int], name: bytes, origin: int
) -> None:
    before = origins.setdefault(name, origin)
    if before != origin:
        raise BadInput(
            f"the image id {name.decode()!r} is in {parts[before].path} too",
            file=parts[origin].path,
            cure="list each image once in images.txt, and make the parts again",
        )
