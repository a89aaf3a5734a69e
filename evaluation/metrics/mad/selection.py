"""MAD's selection: for a pair of classifiers, the images on which they differ most.

The distance of two labels does not depend on the image, so a pool is reduced to bounded lists: per
cell of two labels its best images. The greedy rule needs no more, and lists of two parts of a pool
merge exactly. Images are numbers here; `ImageIds` knows their ids, which break ties.
Source: Wang, Chen, Wang, Ma, ICLR 2020; where we differ from the authors' code, see docs/mad.md.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Cells × images a cell may hold in the table of a thread; beyond, cells are sorted, not indexed.
DENSE_LIMIT = 1 << 24
CHUNK = 1 << 20
# After so many images the bound is drawn tighter; early is cheap and cuts most.
_FIRST_BOUNDS = (1 << 15, 1 << 17, 1 << 20)
# Drawing a bound costs as much as reading so many images: with fewer to come it saves nothing.
_WORTH_A_BOUND = 1 << 19


@dataclass(frozen=True)
class Rule:
    """How images are chosen. Raises ValueError for what cannot be meant."""

    top_k: int = 30
    reserve: int = 30
    min_confidence: float = 0.8
    max_per_label: int = 3
    unique_pairs: bool = False

    def __post_init__(self) -> None:
        for name, least in (("top_k", 1), ("reserve", 0), ("max_per_label", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}, expected {least} or more")
        if not 0 <= self.min_confidence <= 1:
            raise ValueError(f"min_confidence is {self.min_confidence}, expected 0 to 1")

    @property
    def total(self) -> int:
        return self.top_k + self.reserve

    @property
    def per_cell(self) -> int:
        """The most images that one cell of two labels can ever give."""
        return 1 if self.unique_pairs else min(self.max_per_label, self.total)


class ImageIds(Protocol):
    """Ids of images by number. in_order: ids ascend by their bytes as numbers do."""

    in_order: bool
    text: NDArray[np.uint8]
    marks: NDArray[np.int64]

    def take(self, images: Sequence[int] | NDArray[np.int64]) -> list[bytes]: ...


@dataclass(frozen=True)
class Predictions:
    """One classifier on a pool: labels (N,) int16 or int32, confidences (N,) float16 or float32.

    May be memory-mapped. signed_zero: some confidence is −0.0, whose bits do not sort.
    """

    labels: NDArray[Any]
    confidences: NDArray[Any]
    signed_zero: bool = False

    def keys(self, part: slice, wide: bool) -> NDArray[Any]:
        """Confidences as unsigned integers of the same order: uint16, or uint32 when wide."""
        values = self.confidences[part]
        if wide:
            values = values.astype(np.float32)
        if self.signed_zero:
            values = values + values.dtype.type(0)
        return values.view(np.uint32 if wide else np.uint16)


@dataclass(frozen=True)
class Levels:
    """Distances as ranks: `of[a, b]` (C, C) int32, `values[level]` the distance."""

    of: NDArray[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def of_matrix(cls, distances: NDArray[np.float64]) -> "Levels":
        values, of = np.unique(distances, return_inverse=True)
        return cls(of.reshape(distances.shape).astype(np.int32), values)


@dataclass
class Candidates:
    """Images of a pair that the rule may still take, in no order, all arrays (n,).

    a, b: int32 labels. keys: uint32, the bits of the smaller confidence as float32. images: int64.
    """

    a: NDArray[np.int32]
    b: NDArray[np.int32]
    keys: NDArray[np.uint32]
    images: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.images)

    def where(self, chosen: NDArray[Any]) -> "Candidates":
        return Candidates(self.a[chosen], self.b[chosen], self.keys[chosen], self.images[chosen])

    def merits(self, levels: Levels) -> NDArray[np.int64]:
        """Distance, then smaller confidence, as one integer to sort by."""
        return (levels.of[self.a, self.b].astype(np.int64) << 32) | self.keys

    @classmethod
    def joined(cls, parts: Iterable["Candidates"]) -> "Candidates":
        return cls(
            *(
                np.concatenate(c)
                for c in zip(*((p.a, p.b, p.keys, p.images) for p in parts), strict=True)
            )
        )


def threshold_key(min_confidence: float, wide: bool) -> int:
    """The key of the least float16 (float32 when wide) that is not under min_confidence.

    >>> hex(threshold_key(0.8, wide=False)), float(np.uint16(0x3A67).view(np.float16)) >= 0.8
    ('0x3a67', True)
    """
    kind: type[np.floating[Any]] = np.float32 if wide else np.float16
    value = kind(min_confidence)
    if float(value) < min_confidence:
        value = np.nextafter(value, kind(2))
    # −0.0 has the bits of a large number; adding 0 mends it.
    return int((value + kind(0)).view(np.uint32 if wide else np.uint16))


def choose(
    candidates: Candidates, levels: Levels, rule: Rule, ids: ImageIds, limit: int | None = None
) -> NDArray[np.int64]:
    """Places in candidates of the images chosen, best first; at most limit (rule.total).

    Order: distance descending, smaller confidence descending, image id ascending by bytes. An image
    is passed over when one of its labels already stands max_per_label times for its classifier, and
    under unique_pairs when its two labels already stand together.
    """
    merits = candidates.merits(levels)
    limit = rule.total if limit is None else limit
    size = max(1024, 8 * limit)
    while True:
        order = _best_first(merits, candidates.images, ids, size)
        taken = _greedy(candidates, order, rule, limit)
        if len(taken) == limit or len(order) == len(merits):
            return np.array(taken, np.int64)
        size *= 8


def _best_first(
    merits: NDArray[np.int64], images: NDArray[np.int64], ids: ImageIds, size: int
) -> NDArray[np.int64]:
    """The places of the size best, and of all that tie with the last of them, best first."""
    if len(merits) > size:
        # Sorting millions to look at a thousand would be most of the work.
        bound = np.partition(merits, len(merits) - size)[len(merits) - size]
        places = np.flatnonzero(merits >= bound)
    else:
        places = np.arange(len(merits))
    if ids.in_order:
        return places[np.lexsort((images[places], -merits[places]))]
    names = ids.take(images[places])
    negative = (-merits[places]).tolist()
    order = sorted(range(len(places)), key=lambda i: (negative[i], names[i]))
    return places[order]


def _greedy(candidates: Candidates, order: NDArray[np.int64], rule: Rule, limit: int) -> list[int]:
    a, b = candidates.a[order].tolist(), candidates.b[order].tolist()
    count_a: Counter[int] = Counter()
    count_b: Counter[int] = Counter()
    together: set[tuple[int, int]] = set()
    taken: list[int] = []
    for place, label_a, label_b in zip(order.tolist(), a, b, strict=True):
        if len(taken) == limit:
            break
        if count_a[label_a] == rule.max_per_label or count_b[label_b] == rule.max_per_label:
            continue
        if rule.unique_pairs and (label_a, label_b) in together:
            continue
        together.add((label_a, label_b))
        count_a[label_a] += 1
        count_b[label_b] += 1
        taken.append(place)
    return taken


def bound(candidates: Candidates, levels: Levels, rule: Rule, ids: ImageIds) -> int:
    """A merit below which no image can be chosen, however many more images come; 0 for none.

    The caps are two (with unique_pairs three) partition matroids. What greedy takes above a merit
    is a maximal common independent set there, and such a set is at least half (a third) as large as
    any other. So where 2 (3) × total images fit together above a merit, greedy finds its total
    above it too, in this pool and in every larger one.
    """
    limit = (3 if rule.unique_pairs else 2) * rule.total
    taken = choose(candidates, levels, rule, ids, limit)
    if len(taken) < limit:
        return 0
    return int(candidates.where(taken[-1:]).merits(levels)[0])


def survivors(candidates: Candidates, levels: Levels, rule: Rule, ids: ImageIds) -> Candidates:
    """Candidates less those that bound() rules out."""
    least = bound(candidates, levels, rule, ids)
    return candidates.where(candidates.merits(levels) >= least) if least else candidates


class PairReducer:
    """Reduces the predictions of one pair after another to candidates. One per thread.

    prune: drop what cannot be chosen any more, which is what makes large pools cheap; without it
    the result is the full mergeable state: per cell of two labels its best rule.per_cell images.
    """

    def __init__(self, levels: Levels, rule: Rule, ids: ImageIds, prune: bool = True) -> None:
        self.levels, self.rule, self.ids, self.prune = levels, rule, ids, prune
        classes = len(levels.of)
        shape = (classes, classes, rule.per_cell)
        self._count = np.zeros(shape[:2], np.uint16)
        self._images = np.empty(shape, np.int64)
        self._keys: dict[bool, NDArray[Any]] = {}
        self._need = np.empty(shape[:2], np.uint16)
        # Whether only opened cells need more than the threshold.
        self._need_is_clear = False
        # Cells with images: to read and to clear them without a look at all the others.
        self._opened = np.empty(classes * classes, np.int32)
        self._opened_count = 0
        # Merits below which nothing is kept of the pair at hand: anywhere, for a label of the first
        # classifier, for one of the second. 0: everything is.
        self._least = 0
        self._least_a = self._least_b = np.zeros(classes, np.int64)
        self._all_alive = np.packbits(~np.eye(classes, dtype=bool), bitorder="little")

    def reduce(self, a: Predictions, b: Predictions, part: slice) -> Candidates:
        """The candidates among the images of part (start and stop given)."""
        from evaluation.metrics.mad.kernels import best_per_cell

        wide = not (a.confidences.dtype == b.confidences.dtype == np.float16)
        threshold = threshold_key(self.rule.min_confidence, wide)
        keys, need = self._tables(wide, threshold)
        kind = np.result_type(a.labels, b.labels)
        alive = self._alive()
        done = 0
        for piece in _pieces(part):
            self._opened_count = best_per_cell(
                a.labels[piece].astype(kind, copy=False),
                b.labels[piece].astype(kind, copy=False),
                a.keys(piece, wide),
                b.keys(piece, wide),
                piece.start,
                need.dtype.type(threshold),
                alive,
                need,
                self._count,
                keys,
                self._images,
                self._opened,
                self._opened_count,
                self.ids.in_order,
                self.ids.text,
                self.ids.marks,
            )
            done += piece.stop - piece.start
            to_come = part.stop - piece.stop
            if self.prune and to_come >= _WORTH_A_BOUND and _is_bound_due(done):
                self._raise(keys, need)
                alive = self._alive()
        return self._collect(keys)

    def _tables(self, wide: bool, threshold: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Keys and needs for a new pair, everything empty."""
        kind = np.uint32 if wide else np.uint16
        if wide not in self._keys:
            self._keys[wide] = np.empty(self._images.shape, kind)
        opened = self._opened[: self._opened_count]
        self._count.reshape(-1)[opened] = 0
        self._opened_count = 0
        if self._need.dtype != kind or not self._need_is_clear:
            self._need = np.full(self._count.shape, threshold, kind)
        else:
            self._need.reshape(-1)[opened] = threshold
        self._need_is_clear = True
        self._least = 0
        self._least_a = self._least_b = np.zeros(len(self.levels.of), np.int64)
        return self._keys[wide], self._need

    def _alive(self) -> NDArray[np.uint8]:
        """One bit a cell: whether its distance still counts. Equal labels never do."""
        if not (self._least or self._least_a.any() or self._least_b.any()):
            return self._all_alive
        level_a = np.maximum(self._least_a, self._least) >> 32
        level_b = self._least_b >> 32
        alive = self.levels.of >= np.maximum.outer(
            level_a.astype(np.int32), level_b.astype(np.int32)
        )
        np.fill_diagonal(alive, False)
        return np.packbits(alive, bitorder="little")

    def _raise(self, keys: NDArray[Any], need: NDArray[Any]) -> None:
        """Draws the bounds tighter from what the cells hold."""
        self._raise_labels(keys)
        least = bound(self._collect(keys), self.levels, self.rule, self.ids)
        if not least:
            return
        self._least = least
        key = least & 0xFFFFFFFF
        if keys.dtype == np.uint16:
            key = int(np.uint32(key).view(np.float32).astype(np.float16).view(np.uint16))
        tied = np.flatnonzero(self.levels.of == least >> 32)
        flat = need.reshape(-1)
        flat[tied] = np.maximum(flat[tied], key)
        self._need_is_clear = False

    def _raise_labels(self, keys: NDArray[Any]) -> None:
        """What a label of many partners can be taken with.

        While fewer than total images are chosen, at most total / cap labels of the other classifier
        have reached their cap. So of the best images with total / cap + cap different partners,
        greedy takes as many as the cap allows, and nothing of this label below them, in this pool
        and in every larger one.
        """
        from evaluation.metrics.mad.kernels import nth_best

        cap = self.rule.max_per_label
        partners = self.rule.total // cap + cap
        if partners >= len(self.levels.of):
            return
        cells = self._opened[: self._opened_count].astype(np.int64)
        merits = self._merits(cells, keys.reshape(-1, keys.shape[2])[cells, 0])
        a, b = np.divmod(cells, len(self.levels.of))
        self._least_a = nth_best(a, merits, len(self.levels.of), partners)
        self._least_b = nth_best(b, merits, len(self.levels.of), partners)

    def _merits(self, cells: NDArray[np.int64], keys: NDArray[Any]) -> NDArray[np.int64]:
        return (self.levels.of.reshape(-1)[cells].astype(np.int64) << 32) | _widened(keys)

    def _collect(self, keys: NDArray[Any]) -> Candidates:
        """What the cells hold, less what lies under the bounds."""
        filled = self._opened[: self._opened_count].astype(np.int64)
        classes = len(self.levels.of)
        if self.prune:
            a, b = np.divmod(filled, classes)
            least = np.maximum(np.maximum(self._least_a[a], self._least_b[b]), self._least)
            filled = filled[self.levels.of.reshape(-1)[filled] >= least >> 32]
        counts = self._count.reshape(-1)[filled].astype(np.int64)
        cells = np.repeat(filled, counts)
        within = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = cells * keys.shape[2] + within
        a, b = np.divmod(cells, classes)
        held = Candidates(
            a.astype(np.int32),
            b.astype(np.int32),
            _widened(keys.reshape(-1)[places]),
            self._images.reshape(-1)[places],
        )
        return held.where(held.merits(self.levels) >= self._least) if self._least else held


def _widened(keys: NDArray[Any]) -> NDArray[np.uint32]:
    """Keys of float16 as those of float32."""
    if keys.dtype == np.uint32:
        return keys
    return keys.view(np.float16).astype(np.float32).view(np.uint32)


def _pieces(part: slice) -> list[slice]:
    """Consecutive pieces of at most CHUNK images, cut where the bound is first drawn."""
    cuts = [part.start + n for n in _FIRST_BOUNDS]
    edges = sorted({*cuts, *range(part.start, part.stop, CHUNK), part.start, part.stop})
    edges = [edge for edge in edges if edge <= part.stop]
    return [slice(x, y) for x, y in pairwise(edges)]


def _is_bound_due(done: int) -> bool:
    return done in _FIRST_BOUNDS or done % (8 * CHUNK) == 0
