"""The tree of sets that join as the level falls: few nodes, however many pixels.

With torch; import this only inside functions. Peaks are its leaves. An edge joins two peaks from a
level on. Instead of a loop over levels it bisects: the edges in the upper half of every block of
levels are joined, and those of the lower half then connect the results, so that after log2(levels)
steps each edge connects the sets just above its own level. A step joins all blocks of all maps.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from evaluation.metrics.wsol.device.neighbours import Pointers, doubled, joins


@dataclass(frozen=True)
class MergeTree:
    """n nodes: sets from the level where they begin down to where their parent does.

    The first nodes are the leaves, one per peak; then joined sets. Of several that begin at one
    level the last is valid. Node n is above the roots, and begins at level −1. level: (n + 1,)
    int32 where it begins. parent: (n + 1,) int32. ancestors: those 1, 2, 4, … nodes up. owner: (n +
    1,) int32 its map. leaf: (P,) int32 the leaf of a peak's position.
    """

    level: Tensor
    parent: Tensor
    ancestors: list[Tensor]
    owner: Tensor
    leaf: Tensor

    def __len__(self) -> int:
        return len(self.parent) - 1

    def ancestor_at(self, node: Tensor, level: Tensor) -> Tensor:
        """Return the topmost of a node and its ancestors that begins at a level or above it."""
        for further in reversed(self.ancestors):
            above = further[node]
            node = torch.where(self.level[above] >= level, above, node)
        return node


def merge_tree(links: Pointers, top: int) -> MergeTree:
    """Return the tree of the peaks; edges have levels of 1 to top."""
    peaks, flat = links.peaks, links.flat
    numbers = torch.arange(len(peaks), device=flat.device, dtype=torch.int32)
    leaf = torch.zeros_like(flat).index_copy(0, peaks, numbers)
    first, second, at = joins(links)
    first, second = leaf[first].long(), leaf[second].long()
    joined, parent = _merged(first, second, flat[at].long(), len(peaks), top)
    # A joined set belongs to the map of its first leaf.
    owner = torch.cat([peaks, peaks[joined.first]]) // links.size
    level = torch.cat([flat[peaks], joined.level.int()])
    last = torch.full((1,), -1, dtype=torch.int32, device=flat.device)
    return MergeTree(
        torch.cat([level, last]),
        parent.int(),
        _ancestors(parent.int()),
        torch.cat([owner.int(), last]),
        leaf,
    )


@dataclass(frozen=True)
class _JoinedSets:
    """Sets made by edges: where each begins, and the first of its leaves, (m,) int64."""

    level: Tensor
    first: Tensor


def _merged(
    first: Tensor, second: Tensor, level: Tensor, leaves: int, top: int
) -> tuple[_JoinedSets, Tensor]:
    """Return the sets that edges between leaves make, and the (n + 1,) parents of leaves and sets.

    A set is named after the first of its leaves: vertices are pairs of a block of levels (in the
    end, of a level) and the name of a set just above that block, as one integer.
    """
    names = max(leaves, 1)
    for bit in reversed(range(top.bit_length())):
        apart = torch.nonzero(first != second).reshape(-1)
        first, second, level = first[apart], second[apart], level[apart]
        vertices, a, b = _vertices(level >> bit + 1, first, second, names)
        upper = torch.nonzero(level >> bit & 1).reshape(-1)
        label = connected(a[upper], b[upper], len(vertices))
        name = vertices[label] % names
        lower = level >> bit & 1 == 0
        first, second = torch.where(lower, name[a], first), torch.where(lower, name[b], second)
    apart = torch.nonzero(first != second).reshape(-1)
    first, second, level = first[apart], second[apart], level[apart]
    vertices, a, b = _vertices(level, first, second, names)
    label = connected(a, b, len(vertices))
    made = torch.nonzero(label == torch.arange(len(vertices), device=label.device)).reshape(-1)
    joined = _JoinedSets(vertices[made] // names, vertices[made] % names)
    node = torch.zeros_like(label).index_copy(
        0, made, torch.arange(len(made), device=label.device) + leaves
    )
    parent = torch.full((leaves + len(made) + 1,), leaves + len(made), device=label.device)
    if len(made):
        parent[_last_made(vertices, joined, leaves, top)] = node[label]
    return joined, parent


def _vertices(
    block: Tensor, first: Tensor, second: Tensor, names: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the pairs (block, name) that edges touch, in order, and those of each edge."""
    vertices, at = torch.unique(
        torch.cat([block * names + first, block * names + second]), return_inverse=True
    )
    return vertices, at[: len(first)], at[len(first) :]


def _last_made(vertices: Tensor, joined: _JoinedSets, leaves: int, top: int) -> Tensor:
    """Return (V,) the node of a name just above a level: the last set made above, or the leaf
    itself.

    vertices: pairs (level, name).
    """
    names, high = leaves, top + 2
    level, name = vertices // names, vertices % names
    order = torch.sort(joined.first * high + (top - joined.level))
    position = torch.searchsorted(order.values, name * high + (top - level)) - 1
    before = order.indices[position.clamp(min=0)]
    same = (position >= 0) & (joined.first[before] == name)
    return torch.where(same, before + leaves, name)


def connected(first: Tensor, second: Tensor, count: int) -> Tensor:
    """Return (count,) int64: for each vertex the first that edges connect it with.

    Each round links the later of two labels to the lowest that an edge offers, and shortens the
    links.
    """
    label = torch.arange(count, device=first.device)
    a, b = first, second
    while len(first):
        hung = label.scatter_reduce(0, torch.maximum(a, b), torch.minimum(a, b), "amin")
        label = doubled(hung)
        a, b = label[first], label[second]
        apart = torch.nonzero(a != b).reshape(-1)
        first, second, a, b = first[apart], second[apart], a[apart], b[apart]
    return label


def _ancestors(parent: Tensor) -> list[Tensor]:
    """Return parent, then the parents' parents and so on, doubled until all are the last node."""
    ancestors = [parent]
    while bool((ancestors[-1] != len(parent) - 1).any()):
        ancestors.append(ancestors[-1][ancestors[-1]])
    return ancestors


def gathered(up: Tensor, none: int, sums: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum and minima over the subtree of each node of a forest.

    up: (S,) int64 the parent of each; none for a root. sums: (S,) int64. least: (K, S). Round k =
    0, 1, … adds each node's sum to the node 2^k above it, so that everything is counted once.
    """
    while True:
        at = torch.nonzero(up != none).reshape(-1)
        if len(at) == 0:
            return sums, least
        to = up[at]
        sums = sums.index_add(0, to, sums[at])
        if len(least):
            least = least.scatter_reduce(1, to.expand(len(least), -1), least[:, at], "amin")
        up = up.index_copy(0, at, up[to])
