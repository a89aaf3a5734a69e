"""Hierarchical precision at k, and hits at k.

Source: Frome et al. (2013), DeViSE, appendix A.3. They used ImageNet's hierarchy of 2011; this uses
WordNet 3.0's noun graph of hypernym links, as undirected. It lacks their shortcuts, so that sets of
the 1000 classes are smaller than in their Table 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.ilsvrc.errors import wrong_at
from evaluation.metrics.wordnet.nouns import WordNet

KS = (1, 2, 5, 10, 20)
HIERARCHY = "WordNet 3.0 nouns, hypernym links, undirected hops"


@dataclass(frozen=True)
class CorrectSets:
    """The hCorrectSets of T true labels among V valid ones.

    ks: ascending. begins: (T + 1,); members: indices of valid labels, nearest first, those of true
    label t from begins[t] on; levels: for each the index of the lowest k whose set has it. A set of
    a k includes those of every smaller k.
    """

    ks: tuple[int, ...]
    valid: int
    begins: NDArray[np.int64]
    members: NDArray[np.int32]
    levels: NDArray[np.int8]

    def members_at(self, true: int, k: int) -> NDArray[np.int32]:
        """Return the indices of the valid labels in the set of a true label, nearest first."""
        span = slice(int(self.begins[true]), int(self.begins[true + 1]))
        return self.members[span][self.levels[span] <= self.ks.index(k)]

    def sizes(self) -> NDArray[np.int64]:
        """Return (T, len(ks)) the number of labels in each set."""
        true = np.repeat(np.arange(len(self.begins) - 1), np.diff(self.begins))
        counts = np.zeros((len(self.begins) - 1, len(self.ks)), np.int64)
        np.add.at(counts, (true, self.levels), 1)
        return counts.cumsum(axis=1)


def correct_sets(
    wordnet: WordNet,
    valid: Sequence[int],
    true: Sequence[int] | None = None,
    ks: Sequence[int] = KS,
) -> CorrectSets:
    """Return the hCorrectSet of every true label for every k.

    The radius grows by whole hops until the set has at least k valid labels. valid: synsets without
    duplicates; true: synsets, by default the valid ones. ks ascend from 1 up. If fewer than k valid
    labels can be reached, the set has those. The paper starts again for every k, which gives the
    same sets.
    """
    if not ks or list(ks) != sorted(set(ks)) or ks[0] < 1:
        raise ValueError(f"ks are {ks}, expected whole numbers from 1, ascending")
    if len(set(valid)) != len(valid):
        raise ValueError("a valid label is repeated")
    from evaluation.metrics.ilsvrc.kernels import widen

    sources = valid if true is None else true
    start, near, kept = _graph(wordnet, [*valid, *sources])
    node_of = np.full(len(wordnet), -1, np.int64)
    node_of[kept] = np.arange(len(kept))
    label = np.full(len(kept), -1, np.int32)
    label[node_of[list(valid)]] = np.arange(len(valid))
    widened = widen(start, near, label, node_of[list(sources)], np.array(ks, np.int64))
    return CorrectSets(tuple(ks), len(valid), *widened)


def hits_in_sets(
    sets: CorrectSets, truth: NDArray[np.integer], predicted: NDArray[np.integer]
) -> NDArray[np.int32]:
    """Return (N, len(ks)): how many of the first k predictions are in the hCorrectSet.

    hp@k is the mean over images, divided by k. truth: (N,) indices of true labels; predicted: (N,
    K) indices of valid labels, best first, negative for an invalid label or a missing rank. Ranks
    above K are missing, which is wrong.
    """
    from evaluation.metrics.ilsvrc.kernels import count_in_sets

    return count_in_sets(
        sets.begins,
        sets.members,
        sets.levels,
        sets.valid,
        truth.astype(np.int64, copy=False),
        np.ascontiguousarray(predicted, np.int32),
        np.array(sets.ks, np.int64),
    )


def hits_at(
    truth: NDArray[np.integer], predicted: NDArray[np.integer], ks: Sequence[int] = KS
) -> NDArray[np.bool_]:
    """Return (N, len(ks)) whether the true label is among the first k predictions."""
    return ~np.stack([wrong_at(truth, predicted, k) for k in ks], axis=1)


def mean_sizes(sets: CorrectSets, truth: NDArray[np.integer] | None = None) -> dict[int, float]:
    """Return the mean size of the sets of each k, over images with these true labels, or over the
    labels.

    NaN for none.
    """
    sizes = sets.sizes() if truth is None else sets.sizes()[truth]
    means = sizes.mean(axis=0) if len(sizes) else np.full(len(sets.ks), np.nan)
    return dict(zip(sets.ks, means.tolist(), strict=True))


def labels_within(wordnet: WordNet, synsets: Sequence[int], hops: int) -> list[int]:
    """Return all synsets within `hops` undirected hops of one of `synsets`, in WordNet's order.

    DeViSE's zero-shot label sets are defined so for 2 and 3 hops, but on ImageNet's own tree: no
    list of ours gives its 2,589 and 8,860 labels (docs/reference/metrics.md).
    """
    child, parent = _edges(wordnet)
    near = np.zeros(len(wordnet), bool)
    near[list(synsets)] = True
    for _ in range(hops):
        wider = near.copy()
        wider[parent[near[child]]] = True
        wider[child[near[parent]]] = True
        if (wider == near).all():
            break
        near = wider
    within: list[int] = np.flatnonzero(near).tolist()
    return within


def _edges(wordnet: WordNet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    child = np.repeat(np.arange(len(wordnet)), np.diff(wordnet.up_start))
    return child, wordnet.up.astype(np.int64)


def _graph(
    wordnet: WordNet, terminals: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return the undirected graph without branches that lead to no terminal.

    No shortest path between terminals uses such a branch. Returns where the neighbours of each node
    begin, the neighbours, and the synset of each node.
    """
    child, parent = _edges(wordnet)
    keep = np.zeros(len(wordnet), bool)
    keep[list(terminals)] = True
    while True:
        ends = np.bincount(child, minlength=len(keep)) + np.bincount(parent, minlength=len(keep))
        twig = (ends == 1) & ~keep
        stays = ~(twig[child] | twig[parent])
        if stays.all():
            break
        child, parent = child[stays], parent[stays]
    kept = np.flatnonzero(keep | (ends > 0))
    node_of = np.zeros(len(keep), np.int64)
    node_of[kept] = np.arange(len(kept))
    source = np.concatenate([child, parent])
    target = np.concatenate([parent, child])
    order = np.argsort(source, kind="stable")
    counts = np.bincount(node_of[source], minlength=len(kept))
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return start, node_of[target[order]].astype(np.int32), kept
