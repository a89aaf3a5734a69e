"""Orders of a category's parts: by eye fixations, or at random.

Source: Sarvadevabhatla et al. 2016, §4.1. Sums are kept as fractions, so that ties are exact and
the order of the images does not matter. docs/explanation/sequences.md covers what the text leaves
open.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.frames.sequences import REST_NAMES, PartsError

FIXATION_SCHEMES = ("E_U", "E_US", "E_A", "E_AS")
RANDOM = "random"
PART_SCHEMES = (*FIXATION_SCHEMES, RANDOM)

Shares = dict[str, Fraction]


@dataclass(frozen=True)
class SeenObject:
    """An object in an image with eye fixations.

    parts: name → (H, W), not 0 inside the part, in pixels of the whole image; all instances of a
    name in one mask. area: the object's own, in pixels. gazes: per person (n, 2) integers, row and
    column from 0, in order of time. name: for messages.
    """

    parts: Mapping[str, NDArray[Any]]
    area: float
    gazes: Sequence[NDArray[np.integer[Any]]]
    name: str = "the object"


@dataclass(frozen=True)
class PartOrder:
    """parts: in the order in which they are revealed. shares: part → its importance, sum 1; empty
    for a random order.
    """

    parts: tuple[str, ...]
    shares: dict[str, float]


def orders_by_fixations(
    objects: Iterable[SeenObject], vocabulary: Sequence[str], drop_first: bool = False
) -> dict[str, PartOrder]:
    """Return scheme → order of a category's parts, for the four schemes by eye fixations.

    Per object, E_U counts fixations on a part and E_US weights the jth of a person's N_k by
    (N_k − j + 1) / N_k; each is divided by its sum over the object's parts. E_A and E_AS divide
    these by the part's share of the object's area. Then sum over objects, divide by the sum over
    parts, largest first; ties by E_U, then by name. A fixation on no part counts in N_k only; one
    on several parts counts for each; a part without area counts 0. drop_first ignores each person's
    first fixation (the cross in the centre).
    Objects are read one by one. Raises PartsError: a part outside the vocabulary, masks of several
    sizes, a fixation outside, an object without area, no fixation on any part.
    """
    sums = ShareSums(vocabulary, drop_first)
    for seen_object in objects:
        sums.add(seen_object)
    return sums.orders()


class ShareSums:
    """Sums over a category's objects of the importance of its parts.

    For callers that read objects of several categories in turn; see orders_by_fixations.
    """

    def __init__(self, vocabulary: Sequence[str], drop_first: bool = False) -> None:
        self.names, self.drop_first = _distinct(vocabulary), drop_first
        self.sums = {scheme: dict.fromkeys(self.names, Fraction(0)) for scheme in FIXATION_SCHEMES}
        self.seen = 0

    def add(self, seen_object: SeenObject) -> None:
        shares_by_scheme = object_shares(seen_object, self.names, self.drop_first)
        self.seen += any(shares_by_scheme["E_U"].values())
        for scheme, shares in shares_by_scheme.items():
            for name, share in shares.items():
                self.sums[scheme][name] += share

    def orders(self) -> dict[str, PartOrder]:
        if not self.seen:
            raise PartsError(
                "no fixation lies on a part of the category",
                "give images with fixations on it, or order its parts at random",
            )
        return {scheme: _order(self.sums[scheme], self.sums["E_U"]) for scheme in FIXATION_SCHEMES}


def object_shares(
    seen_object: SeenObject, vocabulary: Sequence[str], drop_first: bool = False
) -> dict[str, Shares]:
    """Return scheme → part → the object's contribution to its importance; all 0 without
    fixations.
    """
    masks = {name: np.asarray(mask) != 0 for name, mask in seen_object.parts.items()}
    masks = {name: mask for name, mask in masks.items() if name not in REST_NAMES}
    _refuse(seen_object, masks, vocabulary)
    counts, weights = dict.fromkeys(masks, Fraction(0)), dict.fromkeys(masks, Fraction(0))
    for gaze in seen_object.gazes:
        rows, columns = _places(seen_object, masks, gaze)[int(drop_first) :].T
        total = len(rows)
        for name, mask in masks.items():
            hit = np.flatnonzero(mask[rows, columns])
            counts[name] += len(hit)
            # The sum of (N − j + 1) with j from 1.
            weights[name] += Fraction(int((total - hit).sum()), max(total, 1))
    areas = {name: int(mask.sum()) for name, mask in masks.items()}
    even, early = _normalised(counts), _normalised(weights)
    return {
        "E_U": even,
        "E_US": early,
        "E_A": _by_area(even, areas, seen_object.area),
        "E_AS": _by_area(early, areas, seen_object.area),
    }


def random_order(vocabulary: Sequence[str], seed: int, category: str = "") -> PartOrder:
    """Return a category's parts shuffled: the same for the same seed, category and set of parts.

    >>> random_order(["a", "b", "c"], 1).parts == random_order(["c", "a", "b"], 1).parts
    True
    """
    names = sorted(_distinct(vocabulary))
    generator = np.random.default_rng([seed, zlib.crc32(category.encode())])
    parts = tuple(names[int(index)] for index in generator.permutation(len(names)))
    return PartOrder(parts, {})


def _order(sums: Shares, even: Shares) -> PartOrder:
    whole = sum(sums.values())
    parts = sorted(sums, key=lambda name: (-sums[name], -even[name], name))
    shares = {name: float(sums[name] / whole) for name in parts}
    return PartOrder(tuple(parts), shares)


def _normalised(values: Shares) -> Shares:
    whole = sum(values.values())
    return {name: value / whole for name, value in values.items()} if whole else values


def _by_area(shares: Shares, areas: Mapping[str, int], whole: float) -> Shares:
    return {
        name: share * Fraction(whole) / areas[name] if areas[name] else Fraction(0)
        for name, share in shares.items()
    }


def _distinct(vocabulary: Sequence[str]) -> list[str]:
    names = [name for name in vocabulary if name not in REST_NAMES]
    if not names or len(set(names)) < len(names):
        raise PartsError(
            f"the category's parts are {', '.join(names) or 'none'}", "name each part once"
        )
    return names


def _refuse(
    seen_object: SeenObject, masks: Mapping[str, NDArray[np.bool_]], vocabulary: Sequence[str]
) -> None:
    strange = sorted(set(masks) - set(vocabulary))
    if strange:
        raise PartsError(
            f"{seen_object.name} has parts that the category does not: {', '.join(strange)}",
            f"the category has {', '.join(vocabulary)}",
        )
    if len({mask.shape for mask in masks.values()}) > 1:
        shapes = ", ".join(f"{name} {mask.shape}" for name, mask in masks.items())
        raise PartsError(
            f"masks of {seen_object.name} differ in size: {shapes}", "give the whole image's"
        )
    if not (np.isfinite(seen_object.area) and seen_object.area > 0):
        raise PartsError(
            f"{seen_object.name} has an area of {seen_object.area}",
            "give the object's own area in pixels",
        )


def _places(
    seen_object: SeenObject, masks: Mapping[str, NDArray[np.bool_]], gaze: NDArray[Any]
) -> NDArray[np.int64]:
    """Return the (n, 2) fixations of a person, validated."""
    places = np.asarray(gaze).reshape(-1, 2)
    if places.dtype.kind not in "iu" and len(places):
        raise PartsError(
            f"fixations of {seen_object.name} are {places.dtype}",
            "give whole rows and columns from 0",
        )
    for mask in masks.values():
        outside = ((places < 0) | (places >= mask.shape)).any(axis=1)
        if outside.any():
            row, column = places[outside][0]
            raise PartsError(
                f"a fixation of {seen_object.name} is at row {row}, column {column}, outside "
                f"{mask.shape[0]} rows and {mask.shape[1]} columns",
                "give rows and columns from 0 and masks of the whole image",
            )
    return places.astype(np.int64)
