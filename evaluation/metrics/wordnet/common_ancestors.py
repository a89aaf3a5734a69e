"""The common ancestor of two synsets that a similarity measure needs, for many pairs at once.

The hierarchy above some classes is small (1,700 synsets above ILSVRC's 1,000). Every synset in it
is a block over the classes below it, and the best block wins: a maximum of integers, whose low bits
identify the synset.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.nouns import WordNet

VIRTUAL = -1
# Distance to a synset that is no ancestor: longer than any path, and twice it fits in int16 with
# any key.
NOT_AN_ANCESTOR = 4096
# Bound of the edges over an ancestor: the longest root path of WordNet 3.0's nouns has 18, and 19
# with an instance at its end.
EDGES = 64


@dataclass(frozen=True)
class Ancestry:
    """All synsets above R rows and C columns of classes, U of them, from the top down.

    nodes: (U,) int64 synset indices, VIRTUAL for the virtual root, ordered by depth, then
    descending index, so that the last of equals is the deepest, then WordNet's first. depth: (U,)
    int64, nodes on the longest root path, 1 for a top. parents: for each, the indices of its
    hypernyms. rows: (U, R') int16, fewest edges from a class up to a synset, NOT_AN_ANCESTOR if
    it is none, classes without duplicates and in the order of a walk; row_places: (R,) where each
    row went. columns, column_places: the same. needed: indices of the synsets that can be a deepest
    or nearest common ancestor: not those with a single child, above which nothing joins.
    """

    nodes: NDArray[np.int64]
    depth: NDArray[np.int64]
    parents: list[list[int]]
    rows: NDArray[np.int16]
    columns: NDArray[np.int16]
    row_places: NDArray[np.int64]
    column_places: NDArray[np.int64]
    needed: NDArray[np.int64]

    @property
    def base(self) -> int:
        """Return the power of two above every index."""
        return 1 << (len(self.nodes) - 1).bit_length()


def ancestry(
    wordnet: WordNet,
    rows: Sequence[int],
    columns: Sequence[int] | None = None,
    virtual: bool = False,
    instances: bool = False,
) -> Ancestry:
    """Return the ancestry of some classes. columns: by default the rows. Both may be empty.

    virtual: add one root above all tops, as WordNet::Similarity does. instances: follow instance
    links as well.
    """
    columns = rows if columns is None else columns
    parents = _parents(wordnet, {*rows, *columns}, virtual, instances)
    depth = _depths(parents)
    nodes = sorted(parents, key=lambda node: (depth[node], -node))
    index_of = {node: i for i, node in enumerate(nodes)}
    up = [[index_of[p] for p in parents[node]] for node in nodes]
    walk = _walk(up)
    row_order, row_places = _once([index_of[i] for i in rows], walk)
    column_order, column_places = _once([index_of[i] for i in columns], walk)
    children = np.bincount([p for above in up for p in above], minlength=len(nodes))
    children[row_order] = children[column_order] = 2
    return Ancestry(
        nodes=np.array(nodes, np.int64),
        depth=np.array([depth[node] for node in nodes], np.int64),
        parents=up,
        rows=_edges_up(up, row_order),
        columns=_edges_up(up, column_order),
        row_places=row_places,
        column_places=column_places,
        needed=np.flatnonzero(children != 1),
    )


def _parents(
    wordnet: WordNet, classes: set[int], virtual: bool, instances: bool
) -> dict[int, list[int]]:
    parents: dict[int, list[int]] = {VIRTUAL: []} if virtual else {}
    rest = list(classes)
    while rest:
        node = rest.pop()
        if node not in parents:
            above = wordnet.parents(node) if instances else wordnet.hypernyms(node)
            rest.extend(above)
            parents[node] = above or ([VIRTUAL] if virtual else [])
    return parents


def _depths(parents: dict[int, list[int]]) -> dict[int, int]:
    depth: dict[int, int] = {}

    def of(node: int) -> int:
        if node not in depth:
            depth[node] = 1 + max((of(parent) for parent in parents[node]), default=0)
        return depth[node]

    for node in parents:
        of(node)
    return depth


def _walk(up: list[list[int]]) -> list[tuple[int, ...]]:
    """Return one root path per synset, ordered so that related synsets are adjacent."""
    paths: list[tuple[int, ...]] = []
    for i, above in enumerate(up):
        paths.append((*paths[above[0]], i) if above else (i,))
    return paths


def _once(places: list[int], walk: list[tuple[int, ...]]) -> tuple[list[int], NDArray[np.int64]]:
    order = sorted(set(places), key=walk.__getitem__)
    index_of = {node: i for i, node in enumerate(order)}
    return order, np.array([index_of[node] for node in places], np.int64)


def _edges_up(up: list[list[int]], order: list[int]) -> NDArray[np.int16]:
    edges = np.full((len(up), len(order)), NOT_AN_ANCESTOR, np.int16)
    edges[order, np.arange(len(order))] = 0
    for child in range(len(up) - 1, -1, -1):
        for parent in up[child]:
            np.minimum(edges[parent], edges[child] + np.int16(1), out=edges[parent])
    return edges


def by_any_way(above: Ancestry, edges: NDArray[np.int16]) -> NDArray[np.int16]:
    """Return the fewest edges from classes to their ancestors if the path may go over higher ones.

    edges: rows or columns of the ancestry, of that shape, with NOT_AN_ANCESTOR.
    """
    ways = edges.copy()
    for child, parents in enumerate(above.parents):
        for parent in parents:
            np.minimum(ways[child], ways[parent] + np.int16(1), out=ways[child])
    ways[edges == NOT_AN_ANCESTOR] = NOT_AN_ANCESTOR
    return ways


def deepest(above: Ancestry, any_way: bool = False, name: bool = False) -> NDArray[np.integer]:
    """Return (R, C) keys of the deepest common ancestor: its depth and the edges from both over it.

    Ties go to fewer edges, then to WordNet's first. Read keys with depth_and_edges(), or with
    synsets_of() if `name` is given; negative if nothing is common. any_way: edges as counted by
    by_any_way().
    """
    rows, columns = above.rows, above.columns
    if any_way:
        rows, columns = by_any_way(above, rows), by_any_way(above, columns)
    return _best(above, above.depth * EDGES + EDGES - 1, rows, columns, name)


def nearest(above: Ancestry, name: bool = False) -> NDArray[np.integer]:
    """Return (R, C) keys, as of deepest(), of the common ancestor with the shortest path over it.

    The key without a name is EDGES - 1 minus the edges. Ties: the deepest, then the first.
    """
    keys = np.full(len(above.nodes), EDGES - 1)
    return _best(above, keys, above.rows, above.columns, name)


def richest(above: Ancestry, content: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return (R, C) indices of the common ancestors with the largest content, negative for none.

    content: (U,), NaN for none. Ties: the deepest, then the first.
    """
    order = np.argsort(content, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    rows, columns = (
        np.where(edges < NOT_AN_ANCESTOR, 0, NOT_AN_ANCESTOR)
        for edges in (above.rows, above.columns)
    )
    everything = np.arange(len(order))
    best = _blocks(above, rank, rows * 1024, columns * 1024, everything, np.dtype(np.int32))
    best = best[np.ix_(above.row_places, above.column_places)].astype(np.int64)
    return np.where(best < 0, -1, order[best])


def depth_and_edges(keys: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return the two numbers in the keys of deepest()."""
    return keys // EDGES, EDGES - 1 - keys % EDGES


def synsets_of(above: Ancestry, keys: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the synset indices in keys made with `name`; VIRTUAL if nothing is common."""
    common = keys >= 0
    return np.where(common, above.nodes[np.where(common, keys % above.base, 0)], VIRTUAL)


def _best(
    above: Ancestry,
    keys: NDArray[np.int64],
    rows: NDArray[np.int16],
    columns: NDArray[np.int16],
    name: bool,
) -> NDArray[np.integer]:
    kind: np.dtype = np.dtype(np.int16)
    if name:
        kind = np.dtype(np.int64)
        keys = keys * above.base + np.arange(len(keys))
        rows, columns = rows.astype(kind) * above.base, columns.astype(kind) * above.base
    best = _blocks(above, keys, rows, columns, above.needed, kind)
    return best[above.row_places][:, above.column_places]


def _blocks(
    above: Ancestry,
    keys: NDArray[np.int64],
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    chosen: NDArray[np.int64],
    kind: np.dtype,
) -> NDArray[np.integer]:
    """Return the maximum over the chosen synsets of key − row − column, negative if none
    is common.
    """
    best = np.full((rows.shape[1], columns.shape[1]), -1, kind)
    if not best.size or not len(chosen):
        return best
    keys = keys.astype(kind)
    row_ends, column_ends = _ends(above.rows[chosen]), _ends(above.columns[chosen])
    for i, (r0, r1), (c0, c1) in zip(
        chosen.tolist(), row_ends.tolist(), column_ends.tolist(), strict=True
    ):
        if r0 < r1 and c0 < c1:
            part = best[r0:r1, c0:c1]
            left = keys[i] - rows[i, r0:r1].astype(kind, copy=False)
            np.maximum(part, left[:, None] - columns[i, None, c0:c1], out=part, casting="unsafe")
    return best


def _ends(edges: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return (U, 2): the first class below a synset and the end of the last; an empty range for
    none.
    """
    below = edges < NOT_AN_ANCESTOR
    none = ~below.any(axis=1)
    first = below.argmax(axis=1)
    last = below.shape[1] - below[:, ::-1].argmax(axis=1)
    last[none] = 0
    return np.stack([first, last], axis=1)
