"""A row per set and level: its box, its first position and the sum of its pixels.

With torch; import this only inside functions. Sets are the nodes of the merge tree, and the rows of
a node are adjacent from the level where it begins down. What pixels add at their own level is put
into rows at once; totals of whole nodes are then passed down the tree; along the rows of a node,
sums accumulate (in one cumulative sum), and so do minima (by doubling the step).
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.metrics.wsol.device.merge_tree import MergeTree, gathered
from evaluation.metrics.wsol.device.neighbours import Pointers
from evaluation.metrics.wsol.rings import PLAIN

# Ring bits of the neighbours that precede by rows: a pixel without them may begin a set.
_BEFORE = 0b11110
# Larger than every position; larger than every corner of a map with sides below it.
_NO_PLACE, _SHORT = (1 << 31) - 1, 32_000


@dataclass(frozen=True)
class SetRows:
    """S rows. start: (n + 1,) int64 the first of each node; count: (n + 1,) int64, 0 for a set that
    contains the frame. node, level, owner: (S,) int32 of each row; owner is its map.
    """

    links: Pointers
    tree: MergeTree
    start: Tensor
    count: Tensor
    node: Tensor
    level: Tensor
    owner: Tensor

    def __len__(self) -> int:
        return len(self.node)

    def at(self, places: Tensor, level: Tensor) -> Tensor:
        """Return the row of the set of a position at a level; −1 if the set contains the frame."""
        tree = self.tree
        node = tree.ancestor_at(tree.leaf[self.links.peak[places]], level)
        row = self.start[node] + tree.level[node] - level
        return torch.where(self.count[node] > 0, row, -1)


def row_counts(tree: MergeTree, surrounded: bool, links: Pointers) -> Tensor:
    """Return (n + 1,) int64 how many levels each node covers; 0 if its set contains the frame."""
    count = tree.level - tree.level[tree.parent].clamp(min=0)
    count[-1] = 0
    if surrounded:
        frames = torch.zeros_like(count)
        corners = torch.arange(0, len(links.flat), links.size, device=count.device)
        frames[tree.leaf[corners]] = 1
        for further in tree.ancestors:
            frames = frames.scatter_reduce(0, further.long(), frames, "amax")
        count = count * (1 - frames)
    return count.long()


def set_rows(links: Pointers, tree: MergeTree, count: Tensor, total: int) -> SetRows:
    """Return the rows; total is the sum of count, which the host already has."""
    device = count.device
    start = torch.cumsum(count, 0) - count
    nodes = torch.arange(len(count), device=device, dtype=torch.int32)
    node = torch.repeat_interleave(nodes, count, output_size=total)
    below = torch.arange(total, device=device) - start[node]
    level = (tree.level[node] - below).int()
    return SetRows(links, tree, start, count, node, level, tree.owner[node])


class RowMeasures(NamedTuple):
    """Measures of each row.

    corners: (4, S) int16 or int32 x0, y0, x1, y1, inclusive, in the framed map. begins: (S,) int32
    the set's first position by rows, in its map. sums: (S,) int64 of its pixels' worth.
    """

    corners: Tensor
    begins: Tensor
    sums: Tensor


def measure_rows(rows: SetRows, worth: Tensor) -> RowMeasures:
    """Return the measures. worth: (256,) int32 what a pixel adds to its set's sum, by its ring."""
    links, tree = rows.links, rows.tree
    places = torch.nonzero(links.pixels).reshape(-1)
    row = rows.at(places, links.flat[places])
    some = torch.nonzero(row >= 0).reshape(-1)
    places, row = places[some], row[some]
    sums = torch.zeros(len(rows), dtype=torch.int64, device=row.device)
    sums = sums.index_add(0, row, worth[links.ring[places].int()].long())

    # A plain pixel is inside its set's box, and one below or right of a pixel of its set does not
    # begin it: most pixels change neither.
    ring = links.ring[places]
    some = torch.nonzero((links.kind[places] & PLAIN == 0) | (ring & _BEFORE == 0)).reshape(-1)
    least = _pixels(places[some], links)
    row = row[some]
    node = rows.node[row].long()
    of_nodes = torch.full((5, len(tree) + 1), _NO_PLACE, dtype=torch.int32, device=row.device)
    of_nodes = of_nodes.scatter_reduce(1, node.expand(5, -1), least, "amin")
    of_rows = torch.full((5, len(rows)), _NO_PLACE, dtype=torch.int32, device=row.device)
    of_rows = of_rows.scatter_reduce(1, row.expand(5, -1), least, "amin")

    # Cumulative sum over all rows; it starts at 0 before the first row of a node.
    running = torch.cumsum(sums, 0)
    until = torch.nn.functional.pad(running, (1, 0))
    node_sums = until[rows.start + rows.count] - until[rows.start]
    totals, of_nodes = gathered(tree.parent.long(), len(tree), node_sums, of_nodes)

    # A node's first row includes all of its children.
    child = torch.nonzero((tree.parent[:-1] != len(tree)) & (rows.count[:-1] > 0)).reshape(-1)
    into = tree.parent[child]
    some = torch.nonzero(rows.count[into] > 0).reshape(-1)
    child, into = child[some], into[some].long()
    first = rows.start[into].expand(5, -1)
    of_rows = of_rows.scatter_reduce(1, first, of_nodes[:, child], "amin")
    before = torch.zeros_like(node_sums).index_add(0, into, totals[child])
    sums = running + (before - until[rows.start])[rows.node]

    # Half the memory, unless a side is too long for it.
    short = max(links.size // links.wide, links.wide) < _SHORT
    kind, none = (torch.int16, _SHORT) if short else (torch.int32, _NO_PLACE)
    corners = _along_nodes(of_rows[:4].clamp(max=none).to(kind), rows, none)
    begins = _along_nodes(of_rows[4:].clone(), rows, _NO_PLACE)
    sign = torch.tensor([[1], [1], [-1], [-1]], dtype=kind, device=row.device)
    return RowMeasures(corners * sign, begins[0], sums)


def _pixels(places: Tensor, links: Pointers) -> Tensor:
    """Return (5, p) int32 x, y, −x, −y and the position in its map, whose minima give a box."""
    position = (places % links.size).int()
    y, x = position // links.wide, position % links.wide
    return torch.stack([x, y, -x, -y, position])


def _along_nodes(least: Tensor, rows: SetRows, none: int) -> Tensor:
    """Return (K, S) the minimum of each row and the rows of its node before it. Writes
    into least.
    """
    longest = int(rows.count.max())
    rank = (torch.arange(len(rows), device=least.device) - rows.start[rows.node]).int()
    step = 1
    while step < longest:
        earlier = least[:, :-step].masked_fill(rank[step:] < step, none)
        least[:, step:] = torch.minimum(least[:, step:], earlier)
        step *= 2
    return least
