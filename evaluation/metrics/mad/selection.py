"""MAD's selection: for a pair of classifiers, the images on which they differ most.

The distance of two labels does not depend on the image, so a pool is reduced to bounded lists: the
best images per cell of two labels. The greedy rule needs no more, and lists of two parts of a pool
merge exactly. Images are integers here; `ImageIds` has their ids, which break ties.
Source: Wang, Chen, Wang, Ma, ICLR 2020; docs/explanation/mad.md says where this differs from the
authors' code.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

# Largest table of a thread (cells × images per cell); beyond it, cells are sorted, not indexed.
DENSE_LIMIT = 1 << 24
CHUNK = 1 << 20
# The bound is tightened after this many images; doing it early is cheap and saves most.
_FIRST_BOUNDS = (1 << 15, 1 << 17, 1 << 20)
# Tightening costs as much as reading this many images; with fewer left it saves nothing.
_WORTH_A_BOUND = 1 << 19
# Number of levels whose cells are cached for the next bound of that level.
_LEVELS_KEPT = 32


@dataclass(frozen=True)
class SelectionRule:
    """How images are chosen. Raises ValueError for invalid values."""

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
        """Return the most images that one cell of two labels can contribute."""
        return 1 if self.unique_pairs else min(self.max_per_label, self.total)


class ImageIds(Protocol):
    """Ids of images by index. in_order: the ids ascend by bytes in the order of the indices."""

    in_order: bool
    text: NDArray[np.uint8]
    marks: NDArray[np.int64]

    def take(self, images: Sequence[int] | NDArray[np.int64]) -> list[bytes]: ...


@dataclass(frozen=True)
class PoolPredictions:
    """One classifier on a pool: labels (N,) int16 or int32, confidences (N,) float16 or float32.

    May be memory-mapped. signed_zero: some confidence is −0.0, whose bits do not sort.
    """

    labels: NDArray[Any]
    confidences: NDArray[Any]
    signed_zero: bool = False

    def keys(self, part: slice, wide: bool) -> NDArray[Any]:
        """Return the confidences as unsigned integers of the same order: uint16, or uint32
        if wide.
        """
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
class PairCandidates:
    """Images of a pair that the rule may still choose, unordered, all arrays (n,).

    a, b: int32 labels. keys: uint32, the bits of the smaller confidence as float32. images: int64.
    """

    a: NDArray[np.int32]
    b: NDArray[np.int32]
    keys: NDArray[np.uint32]
    images: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.images)

    def where(self, chosen: NDArray[Any]) -> "PairCandidates":
        return PairCandidates(
            self.a[chosen], self.b[chosen], self.keys[chosen], self.images[chosen]
        )

    def merits(self, levels: Levels) -> NDArray[np.int64]:
        """Return distance, then smaller confidence, as one integer to sort by."""
        return (levels.of[self.a, self.b].astype(np.int64) << 32) | self.keys

    @classmethod
    def joined(cls, parts: Iterable["PairCandidates"]) -> "PairCandidates":
        return cls(
            *(
                np.concatenate(c)
                for c in zip(*((p.a, p.b, p.keys, p.images) for p in parts), strict=True)
            )
        )


def threshold_key(min_confidence: float, wide: bool) -> int:
    """Return the key of the lowest float16 (float32 if wide) that is not below min_confidence.

    >>> hex(threshold_key(0.8, wide=False)), float(np.uint16(0x3A67).view(np.float16)) >= 0.8
    ('0x3a67', True)
    """
    kind: type[np.floating[Any]] = np.float32 if wide else np.float16
    value = kind(min_confidence)
    if float(value) < min_confidence:
        value = np.nextafter(value, kind(2))
    # −0.0 has the bits of a large number; adding 0 fixes it.
    return int((value + kind(0)).view(np.uint32 if wide else np.uint16))


def count_just_below(confidences: NDArray[np.floating[Any]], min_confidence: float) -> int:
    """Return how many are below min_confidence by at most one step of float16.

    A confidence of 0.8 saved as float16 is 0.7998.

    >>> count_just_below(np.array([0.8, 0.79, 0.81], np.float16), 0.8)
    1
    """
    wide = confidences.dtype.itemsize == 4
    step = float(np.spacing(np.float16(min_confidence)))
    low, high = (threshold_key(max(at, 0), wide) for at in (min_confidence - step, min_confidence))
    # Bits of non-negative floats sort like the floats, and compare faster than float16.
    bits: NDArray[Any] = confidences.view(np.uint32 if wide else np.uint16)
    pieces = (bits[at : at + CHUNK] for at in range(0, len(bits), CHUNK))
    return sum(int(np.count_nonzero((part >= low) & (part < high))) for part in pieces)


def choose(
    candidates: PairCandidates, levels: Levels, rule: SelectionRule, ids: ImageIds
) -> NDArray[np.int64]:
    """Return the indices in candidates of the chosen images, best first; at most rule.total.

    Order: distance descending, smaller confidence descending, image id ascending by bytes. An image
    is skipped if one of its labels has already been chosen max_per_label times for its classifier,
    and under unique_pairs if its two labels have already been chosen together.
    """
    merits = candidates.merits(levels)
    size = max(1024, 8 * rule.total)
    while True:
        order = _best_first(merits, candidates.images, ids, size)
        taken = _greedy(candidates, order, rule)
        if len(taken) == rule.total or len(order) == len(merits):
            return np.array(taken, np.int64)
        size *= 8


def _best_first(
    merits: NDArray[np.int64], images: NDArray[np.int64], ids: ImageIds, size: int
) -> NDArray[np.int64]:
    """Return the indices of the `size` best, and of ties with the last of them, best first."""
    if len(merits) > size:
        # Sorting millions to use a thousand would dominate the time.
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


def _greedy(candidates: PairCandidates, order: NDArray[np.int64], rule: SelectionRule) -> list[int]:
    a, b = candidates.a[order].tolist(), candidates.b[order].tolist()
    count_a: Counter[int] = Counter()
    count_b: Counter[int] = Counter()
    together: set[tuple[int, int]] = set()
    taken: list[int] = []
    for candidate, label_a, label_b in zip(order.tolist(), a, b, strict=True):
        if len(taken) == rule.total:
            break
        if count_a[label_a] == rule.max_per_label or count_b[label_b] == rule.max_per_label:
            continue
        if rule.unique_pairs and (label_a, label_b) in together:
            continue
        together.add((label_a, label_b))
        count_a[label_a] += 1
        count_b[label_b] += 1
        taken.append(candidate)
    return taken


@dataclass(frozen=True)
class Bounds:
    """Merits below which no image of a pair can be chosen; 0 if there is no bound.

    least: for all images. least_a, least_b: (C,) int64, by the image's first or second label.
    """

    least: int
    least_a: NDArray[np.int64]
    least_b: NDArray[np.int64]

    @classmethod
    def none(cls, classes: int) -> "Bounds":
        return cls(0, np.zeros(classes, np.int64), np.zeros(classes, np.int64))


def survivors(
    candidates: PairCandidates, levels: Levels, rule: SelectionRule, ids: ImageIds
) -> tuple[PairCandidates, Bounds]:
    """Return the candidates that may be chosen once more images come, best first, and the bounds
    that rule out the others.

    Let T be rule.total, c max_per_label, q = (T − 1) // c. Suppose that greedy over these and any
    other images chooses x = (a, b). Before x it chose a set G of at most T − 1, so at most q labels
    of each classifier are full (chosen c times), and a and b are not. An image before x that was
    not chosen has a full label (or, with unique_pairs, shares both labels with one of G).

    1. Cell: of the images with x's two labels before x, which are all in G, there are fewer than c
       (unique_pairs: none).
    2. Label: let F be labels of the second classifier known to be full (by 3), b not among them. Of
       the labels outside F that occur with a before x, except b, at most q − |F| are full; each
       other one has an image in G, with label a. So their number, minus q − |F|, plus the images of
       1 is less than c.
    3. A label for which 2 leaves no room, whatever the other label, is full once those images have
       passed, in every larger pool: no later image with it is chosen.
    4. Pair: let S be images before x without labels known to be full, which greedy chooses among
       themselves: no label occurs more than c times. A full label that is not known to be full
       accounts for c of G and at most c of S. With f and g labels known to be full, at most
       T − 1 − c·f minus |S ∩ G| images of S are kept out of G by a label of the first classifier,
       and at most T − 1 − c·g minus |S ∩ G| by one of the second. So |S| is at most
       2(T − 1) − c·(f + g). With unique_pairs, T − 1 − c·max(f, g) more may share both labels with
       one of G.
    """
    from evaluation.metrics.mad.kernels import rule_out

    classes = len(levels.of)
    merits = candidates.merits(levels)
    size = max(4096, 32 * rule.total)
    while True:
        order = _best_first(merits, candidates.images, ids, size)
        best = candidates.where(order)
        bounds = Bounds.none(classes)
        possible = np.zeros(len(order), np.bool_)
        looked_at, is_over = rule_out(
            best.a,
            best.b,
            _places_in_cells(best, classes),
            merits[order],
            rule.total,
            rule.max_per_label,
            rule.per_cell,
            possible,
            bounds.least_a,
            bounds.least_b,
        )
        if is_over:
            bounds = replace(bounds, least=int(merits[order[looked_at - 1]]))
        if is_over or len(order) == len(merits):
            return best.where(possible), bounds
        size *= 8


def _places_in_cells(candidates: PairCandidates, classes: int) -> NDArray[np.int64]:
    """Return, for each candidate, how many candidates before it have the same two labels."""
    cells = candidates.a.astype(np.int64) * classes + candidates.b
    order = np.argsort(cells, kind="stable")
    cells = cells[order]
    at = np.arange(len(cells))
    is_first = np.diff(cells, prepend=-1) != 0
    places = np.empty(len(cells), np.int64)
    places[order] = at - np.maximum.accumulate(np.where(is_first, at, 0))
    return places


class PairReducer:
    """Reduces the predictions of one pair after another to candidates. Use one per thread."""

    def __init__(self, levels: Levels, rule: SelectionRule, ids: ImageIds) -> None:
        self.levels, self.rule, self.ids = levels, rule, ids
        self._classes = len(levels.of)
        shape = (self._classes, self._classes, rule.per_cell)
        self._count = np.zeros(shape[:2], np.uint16)
        self._images = np.empty(shape, np.int64)
        self._keys: dict[bool, NDArray[Any]] = {}
        self._need: NDArray[Any] = np.empty((0, 0), np.uint8)
        # Cells with images, so that reading and clearing skip all others.
        self._opened = np.empty(self._classes * self._classes, np.int32)
        self._opened_count = 0
        # The current pair's bounds, and the cells at the level of `least`.
        self._bounds = Bounds.none(self._classes)
        self._tied = np.zeros(0, np.int64)
        # By level: a bit per cell at or above it, and the cells at it.
        self._at_level: dict[int, tuple[NDArray[np.uint8], NDArray[np.int64]]] = {}

    def reduce(
        self,
        a: PoolPredictions,
        b: PoolPredictions,
        part: slice,
        bounds: Bounds | None = None,
        more: int = 0,
    ) -> PairCandidates:
        """Return the candidates among the images of part (with start and stop).

        bounds: known for the pair from other images. more: the number of images after the part.
        """
        from evaluation.metrics.mad.kernels import best_per_cell

        wide = not (a.confidences.dtype == b.confidences.dtype == np.float16)
        threshold = threshold_key(self.rule.min_confidence, wide)
        keys, need = self._tables(wide, threshold)
        kind = np.result_type(a.labels, b.labels)
        alive = self._raise(bounds or Bounds.none(self._classes), need)
        first_bounds = () if self._bounds.least else _FIRST_BOUNDS
        done = 0
        for piece in _pieces(part, first_bounds):
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
            to_come = part.stop - piece.stop + more
            if to_come >= _WORTH_A_BOUND and done in first_bounds:
                held = self._collect(keys)
                _, tighter = survivors(held, self.levels, self.rule, self.ids)
                alive = self._raise(tighter, need)
        return self._collect(keys)

    def _tables(self, wide: bool, threshold: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return empty keys and needs for a new pair."""
        kind = np.uint32 if wide else np.uint16
        if wide not in self._keys:
            self._keys[wide] = np.empty(self._images.shape, kind)
        opened = self._opened[: self._opened_count]
        self._count.reshape(-1)[opened] = 0
        self._opened_count = 0
        if self._need.dtype != kind:
            self._need = np.full(self._count.shape, threshold, kind)
        for cells in (opened, self._tied):
            self._need.reshape(-1)[cells] = threshold
        self._tied = self._tied[:0]
        return self._keys[wide], self._need

    def _raise(self, bounds: Bounds, need: NDArray[Any]) -> NDArray[np.uint8]:
        """Apply these bounds from now on; return one bit per cell, 0 if its distance is below them.

        Cells of two equal labels are always 0.
        """
        from evaluation.metrics.mad.kernels import clear_below

        self._bounds = bounds
        level = bounds.least >> 32
        if level not in self._at_level:
            if len(self._at_level) == _LEVELS_KEPT:
                self._at_level.clear()
            cells = self.levels.of >= level
            np.fill_diagonal(cells, False)
            tied = np.flatnonzero(self.levels.of == level) if bounds.least else self._tied[:0]
            self._at_level[level] = np.packbits(cells, bitorder="little"), tied
        kept, tied = self._at_level[level]
        alive = kept.copy()
        clear_below(alive, self.levels.of, bounds.least_a, bounds.least_b, level)
        key = bounds.least & 0xFFFFFFFF
        if need.dtype == np.uint16:
            key = int(np.uint32(key).view(np.float32).astype(np.float16).view(np.uint16))
        flat = need.reshape(-1)
        flat[tied] = np.maximum(flat[tied], key)
        self._tied = np.concatenate([self._tied, tied])
        return alive

    def _collect(self, keys: NDArray[Any]) -> PairCandidates:
        """Return the images in the cells, without those below the bounds."""
        filled = self._opened[: self._opened_count].astype(np.int64)
        a, b = np.divmod(filled, self._classes)
        bounds = self._bounds
        least = np.maximum(np.maximum(bounds.least_a[a], bounds.least_b[b]), bounds.least)
        filled = filled[self.levels.of.reshape(-1)[filled] >= least >> 32]
        counts = self._count.reshape(-1)[filled].astype(np.int64)
        cells = np.repeat(filled, counts)
        within = np.arange(len(cells)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = cells * keys.shape[2] + within
        a, b = np.divmod(cells, self._classes)
        held = PairCandidates(
            a.astype(np.int32),
            b.astype(np.int32),
            _widened(keys.reshape(-1)[places]),
            self._images.reshape(-1)[places],
        )
        least = np.maximum(np.maximum(bounds.least_a[held.a], bounds.least_b[held.b]), bounds.least)
        return held.where(held.merits(self.levels) >= least)


def _widened(keys: NDArray[Any]) -> NDArray[np.uint32]:
    """Return float16 keys as float32 keys."""
    if keys.dtype == np.uint32:
        return keys
    return keys.view(np.float16).astype(np.float32).view(np.uint32)


def _pieces(part: slice, first: Sequence[int]) -> list[slice]:
    """Return consecutive slices of at most CHUNK images, also split at the offsets `first`."""
    cuts = [part.start + n for n in first]
    edges = sorted({*cuts, *range(part.start, part.stop, CHUNK), part.start, part.stop})
    edges = [edge for edge in edges if edge <= part.stop]
    return [slice(x, y) for x, y in pairwise(edges)]
