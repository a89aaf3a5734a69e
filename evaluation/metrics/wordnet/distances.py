"""Distances of labels in WordNet for MAD, as class-by-class matrices.

An edge whose upper end is at depth l (entity = 0) weighs 2^−l, so that labels that branch near the
root are far apart. All sums are of powers of two and exact in float64.
"""

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.nouns import WordNet

DISTANCES = ("weighted", "weighted-undirected", "hops", "hops-undirected", "zero-one")
# Distances without WordNet accept any class names.
WORDNET_DISTANCES = DISTANCES[:-1]
# Most path pairs compared at once, about 100 MB.
_BLOCK = 4_000_000


class NoPlaceInHierarchy(ValueError):
    """A class without hypernyms up to entity: an instance, such as a city or a person."""

    def __init__(self, wnid: str, name: str) -> None:
        self.wnid = wnid
        super().__init__(f"{wnid} ({name}) is an instance in WordNet and has no hypernym path")


def distance_matrix(wordnet: WordNet, classes: Sequence[int], distance: str) -> NDArray[np.float64]:
    """Return the distances of every pair of classes, (C, C) float64, symmetric, 0 on the diagonal.

    classes: synset indices of wordnet. distance: one of DISTANCES. C may be 0. `weighted` and
    `hops` go up, then down: the minimum, over pairs of root paths of the two labels, of the weights
    below their common prefix, depth counted along each path. The undirected forms take the shortest
    path in the hypernym graph, an edge weighing 2^−(lowest depth of its upper end). Raises
    NoPlaceInHierarchy for a class without a root path (but not for zero-one), and ValueError for
    another distance. Source: MAD, Eq. 3 (Wang et al. 2020). The authors' script reverses a list in
    place and so computes some pairs with several paths wrongly; this is not copied.
    """
    if distance not in DISTANCES:
        raise ValueError(f"distance is {distance!r}, expected one of {', '.join(DISTANCES)}")
    if distance == "zero-one":
        return 1.0 - np.eye(len(classes))
    for index in classes:
        if wordnet.depth[index] < 0:
            raise NoPlaceInHierarchy(wordnet.wnid(index), wordnet.name(index))
    if not classes:
        return np.zeros((0, 0))
    if distance.endswith("-undirected"):
        return _undirected(wordnet, classes, weighted=distance.startswith("weighted"))
    return _up_then_down(wordnet, classes, weighted=distance == "weighted")


def _up_then_down(wordnet: WordNet, classes: Sequence[int], weighted: bool) -> NDArray[np.float64]:
    prefixes, depth, first = _root_paths(wordnet, classes)
    # The edges of a path from depth d down to depth L sum to 2^(1−d) − 2^(1−L).
    weight = 2.0 ** (1 - depth) if weighted else -depth
    result = np.empty((len(classes), len(classes)))
    ends = np.append(first, len(depth))
    rows = max(1, _BLOCK // len(depth))
    start = 0
    while start < len(classes):
        # As many complete classes as fit in the block, at least one.
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] + rows, "right")) - 1)
        block = slice(ends[start], ends[stop])
        common = _common_depth(prefixes, block)
        above = 2.0 ** (2 - common) if weighted else -2.0 * common
        pairs = above - weight[block, None] - weight[None, :]
        pairs = np.minimum.reduceat(pairs, first, axis=1)
        result[start:stop] = np.minimum.reduceat(pairs, first[start:stop] - ends[start], axis=0)
        start = stop
    return result


def _root_paths(
    wordnet: WordNet, classes: Sequence[int]
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int64]]:
    """Return every root path of every class, class after class.

    Returns prefixes (levels, P): the same number at a level where two paths agree from the root
    down to it, and unique numbers after a path has ended; depth (P,) of the paths' ends; and the
    first path (C,) of each class.
    """
    known: dict[tuple[int, ...], int] = {}
    columns: list[list[int]] = []
    first = []
    for index in classes:
        first.append(len(columns))
        for path in wordnet.root_paths(index):
            columns.append([known.setdefault(path[: i + 1], len(known)) for i in range(len(path))])
    levels = max(len(column) for column in columns)
    # Padding is negative and unique per path, so that ended paths never agree further.
    prefixes = -1 - np.tile(np.arange(len(columns), dtype=np.int32), (levels, 1))
    for position, column in enumerate(columns):
        prefixes[: len(column), position] = column
    depth = np.array([len(column) - 1 for column in columns], dtype=np.float64)
    return prefixes, depth, np.array(first)


def _common_depth(prefixes: NDArray[np.int32], block: slice) -> NDArray[np.float64]:
    """Return the depth of the last node that each path of the block shares with every path."""
    rows = prefixes[:, block]
    common = np.full((rows.shape[1], prefixes.shape[1]), -1, np.int8)
    for level in range(len(prefixes)):
        common += rows[level][:, None] == prefixes[level][None, :]
    # A path agrees with itself in its padding too, which must not count.
    itself = np.arange(rows.shape[1])
    common[itself, itself + block.start] = (rows >= 0).sum(axis=0) - 1
    return common.astype(np.float64)


def _undirected(wordnet: WordNet, classes: Sequence[int], weighted: bool) -> NDArray[np.float64]:
    """Return shortest paths by eliminating nodes, fewest neighbours first, and adding them back.

    Removing a node and joining its neighbours through it keeps every distance between the remaining
    nodes; the graph is nearly a tree, so the neighbourhoods stay small. In reverse order, a node's
    distances are the minimum over its neighbours at its removal: one vector operation per node.
    """
    adjacent = _graph(wordnet, classes, weighted)
    order = _needed(_eliminate(adjacent, set(classes)), set(classes))
    index_of = {node: i for i, (node, _) in enumerate(reversed(order))}
    result = np.zeros((len(order), len(order)))
    for node, neighbours in reversed(order):
        i = index_of[node]
        if neighbours:
            rows = result[[index_of[n] for n in neighbours], :i]
            weights = np.array(list(neighbours.values()))[:, None]
            result[i, :i] = result[:i, i] = (rows + weights).min(axis=0)
        else:
            result[i, :i] = result[:i, i] = np.inf
    rows = np.array([index_of[index] for index in classes])
    return result[np.ix_(rows, rows)]


def _graph(wordnet: WordNet, classes: Sequence[int], weighted: bool) -> dict[int, dict[int, float]]:
    """Return the undirected graph under entity, without branches that lead to no class."""
    child = np.repeat(np.arange(len(wordnet)), np.diff(wordnet.up_start))
    parent = wordnet.up.astype(np.int64)
    edges = (wordnet.depth[child] >= 0) & (wordnet.depth[parent] >= 0)
    keep = np.zeros(len(wordnet), bool)
    keep[list(classes)] = True
    while True:
        child, parent = child[edges], parent[edges]
        ends = np.bincount(child, minlength=len(keep)) + np.bincount(parent, minlength=len(keep))
        twig = (ends == 1) & ~keep
        edges = ~(twig[child] | twig[parent])
        if edges.all():
            break
    weight = 2.0 ** -wordnet.depth[parent].astype(float) if weighted else np.ones(len(parent))
    adjacent: dict[int, dict[int, float]] = {index: {} for index in classes}
    for a, b, w in zip(child.tolist(), parent.tolist(), weight.tolist(), strict=True):
        adjacent.setdefault(a, {})[b] = w
        adjacent.setdefault(b, {})[a] = w
    return adjacent


def _eliminate(
    adjacent: dict[int, dict[int, float]], classes: set[int]
) -> list[tuple[int, dict[int, float]]]:
    """Return every node with its neighbours and their distances when it was removed, in
    that order.
    """

    # Nodes with one neighbour go first: nothing else is then added back through them.
    def entry(node: int) -> tuple[bool, int, int]:
        degree = len(adjacent[node])
        return (degree > 2 or node in classes, degree, node)

    order = []
    queue = [entry(node) for node in adjacent]
    heapq.heapify(queue)
    while queue:
        _, degree, node = heapq.heappop(queue)
        near = adjacent.get(node)
        if near is None or len(near) != degree:
            continue  # an old entry; the node is gone or was queued again
        del adjacent[node]
        order.append((node, near))
        for a, to_a in near.items():
            del adjacent[a][node]
            for b, to_b in near.items():
                if a != b and to_a + to_b < adjacent[a].get(b, np.inf):
                    adjacent[a][b] = to_a + to_b
            heapq.heappush(queue, entry(a))
    return order


def _needed(
    order: list[tuple[int, dict[int, float]]], classes: set[int]
) -> list[tuple[int, dict[int, float]]]:
    """Return the removed nodes that are classes or must be added back before them."""
    needed = set(classes)
    kept = []
    for node, near in order:
        if node in needed:
            kept.append((node, near))
            needed.update(near)
    return kept
