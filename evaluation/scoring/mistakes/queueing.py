"""Which images of a truth are reviewed, and the pairs that reviewers are asked about.

Every image on which a chosen model disagrees with its label set, and a random share of the others.
No Django.

Source: Vasudevan et al. (2022), When does dough become a bagel?; Shankar et al. (2020).
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.ilsvrc.errors import ABSENT
from evaluation.readers.class_files import Classified
from evaluation.readers.mistakes import Pair, QueueMeta
from evaluation.readers.valid_sets import LabelSets
from labeling.kinds.votes import exact_share

EMPTY: frozenset[int] = frozenset()


@dataclass(frozen=True)
class ReviewPool:
    """N images with their label sets before a review, and each submission's first prediction.

    sets: synsets by image, empty if no class is right or none is known. first: (N,) synsets by
    submission, ABSENT if it has none. was_asked: (N,) by submission, whether it was asked about the
    image.
    """

    images: list[str]
    sets: list[frozenset[int]]
    first: dict[str, NDArray[np.int64]]
    was_asked: dict[str, NDArray[np.bool_]]

    def is_right(self, name: str, sets: Sequence[frozenset[int]]) -> NDArray[np.bool_]:
        """Return (N,) whether the submission's first class is in the set of the image."""
        first = self.first[name].tolist()
        return np.array([synset in valid for synset, valid in zip(first, sets, strict=True)], bool)


@dataclass(frozen=True)
class Strata:
    """Indices of images, ascending. disagreements: all are reviewed; sampled: from the
    agreements.
    """

    disagreements: NDArray[np.int64]
    agreements: NDArray[np.int64]
    sampled: NDArray[np.int64]

    @property
    def reviewed(self) -> NDArray[np.int64]:
        return np.union1d(self.disagreements, self.sampled)

    def among(self, number: int) -> "Strata":
        """Return the strata of the first images alone."""
        parts = (self.disagreements, self.agreements, self.sampled)
        return Strata(*(part[part < number] for part in parts))


def pool_of(submissions: Mapping[str, Classified], sets: LabelSets | None) -> ReviewPool:
    """Return the pool of `submissions`, by name, on one whole truth whose classes are synsets.

    Without sets each image has the class of the truth.
    """
    truth = next(iter(submissions.values()))
    synsets = _synsets(truth, truth.truth).tolist()
    return ReviewPool(
        truth.images,
        [sets.sets.get(image, EMPTY) for image in truth.images]
        if sets
        else [frozenset((synset,)) for synset in synsets],
        {name: _synsets(each, each.predicted[:, 0]) for name, each in submissions.items()},
        {
            name: each.people.images if each.people else np.ones(len(truth.images), bool)
            for name, each in submissions.items()
        },
    )


def split(pool: ReviewPool, models: Sequence[str], share: float, seed: int) -> Strata:
    """Return the strata of the images with a label set that every chosen model was asked about.

    Disagreements: one of the models names a class outside the set. Agreements: the others. `share`
    of them is sampled, rounded up. The sample has the lowest hashes, so it depends on no order and
    no generator.
    """
    in_pool = np.array([bool(label_set) for label_set in pool.sets], bool)
    for name in models:
        in_pool &= pool.was_asked[name]
    agreed = np.logical_and.reduce([pool.is_right(name, pool.sets) for name in models])
    disagreements, agreements = np.flatnonzero(in_pool & ~agreed), np.flatnonzero(in_pool & agreed)
    size = math.ceil(exact_share(share) * len(agreements))
    by_hash = sorted(agreements.tolist(), key=lambda index: digest(seed, pool.images[index]))
    return Strata(disagreements, agreements, np.array(sorted(by_hash[:size]), np.int64))


def queue(
    pool: ReviewPool,
    models: Sequence[str],
    strata: Strata,
    seed: int,
    wnid_of: Callable[[int], str],
) -> list[Pair]:
    """Return every class of the label set and every first class of a chosen model, for each
    reviewed image.

    Ordered by hash, so that pairs of one image are apart and nothing tells whether a class is from
    the truth or a model, or how many there are.
    """
    pairs = [
        (pool.images[index], synset)
        for index in strata.reviewed.tolist()
        for synset in _candidates(pool, models, index)
    ]
    return sorted(pairs, key=lambda pair: digest(seed, pair[0], wnid_of(pair[1])))


def lines(meta: QueueMeta, pairs: Sequence[Pair], wnid_of: Callable[[int], str]) -> Iterator[str]:
    """Yield the queue as a file: the meta line, then a line per pair."""
    yield json.dumps({"meta": meta.to_json()}, ensure_ascii=False) + "\n"
    for image, synset in pairs:
        yield json.dumps({"image": image, "wnid": wnid_of(synset)}, ensure_ascii=False) + "\n"


def counts(pool: ReviewPool, strata: Strata) -> dict[str, int]:
    """Return images by stratum; left_out: without a label set, or not asked of every model."""
    disagreements, agreements = len(strata.disagreements), len(strata.agreements)
    return {
        "images": len(pool.images),
        "left_out": len(pool.images) - disagreements - agreements,
        "disagreements": disagreements,
        "agreements": agreements,
        "sampled": len(strata.sampled),
    }


def digest(seed: int, *words: str) -> bytes:
    """Return a hash of the seed and words without line breaks."""
    return hashlib.sha256("\n".join((str(seed), *words)).encode()).digest()


def _candidates(pool: ReviewPool, models: Sequence[str], index: int) -> set[int]:
    predicted = {int(pool.first[name][index]) for name in models}
    return (predicted | pool.sets[index]) - {ABSENT}


def _synsets(classified: Classified, numbers: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the synsets of class indices; ABSENT stays."""
    assert classified.synsets is not None
    return np.array([*classified.synsets, ABSENT], np.int64)[numbers]
