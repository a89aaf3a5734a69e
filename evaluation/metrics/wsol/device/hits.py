"""Thresholds at which boxes are right, by their IoUs with the true boxes in float64.

The same arithmetic as _best of kernels_boxes, with torch. Import this only inside functions.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.metrics.wsol.box_scores import LARGEST_DELTA


class ThresholdBoxes(NamedTuple):
    """N boxes at one threshold each.

    edges: (4, N) int32 x0, y0, x1, y1 in pixels of the map. owner: (N,) int64, the map of each.
    threshold: (N,) int64.
    """

    edges: Tensor
    owner: Tensor
    threshold: Tensor


@dataclass(frozen=True)
class TrueBoxBatch:
    """boxes: (B, G, 4) float64 the true boxes of each map. there: (B, G) bool which exist.

    extra: pixels added to each side. deltas: the required IoUs.
    """

    boxes: Tensor
    there: Tensor
    extra: float
    deltas: tuple[float, ...]

    def hits(self, boxes: ThresholdBoxes, thresholds: int) -> tuple[Tensor, Tensor]:
        """Return (B, D, T) bool whether some box of a map reaches each delta, and (N,) bool which
        boxes reach LARGEST_DELTA.
        """
        edges, owner, threshold = boxes
        device, deltas = edges.device, len(self.deltas)
        least, most = self._reach()
        extra = int(self.extra)
        area = (edges[2] - edges[0] + extra) * (edges[3] - edges[1] + extra)
        some = torch.nonzero((area >= least[owner]) & (area <= most[owner])).reshape(-1)
        best = self.ious(edges[:, some].double(), owner[some])
        right = torch.zeros(edges.shape[1], dtype=torch.bool, device=device)
        right[some] = best >= LARGEST_DELTA
        hits = torch.zeros((len(self.boxes), deltas, thresholds), dtype=torch.bool, device=device)
        for d, delta in enumerate(self.deltas):
            good = some[torch.nonzero(best >= delta).reshape(-1)]
            hits[owner[good], d, threshold[good]] = True
        return hits, right

    def _reach(self) -> tuple[Tensor, Tensor]:
        """Return (B,) float64 each: an area outside these bounds reaches no delta, nor
        LARGEST_DELTA.
        """
        sides = self.boxes[..., 2:] - self.boxes[..., :2] + self.extra
        areas = sides[..., 0] * sides[..., 1]
        # An IoU is at most the ratio of the areas; slightly wider to allow for rounding.
        ratio = min(*self.deltas, LARGEST_DELTA) * (1 - 1e-9)
        least = areas.masked_fill(~self.there, torch.inf).amin(1) * ratio
        most = areas.masked_fill(~self.there, 0.0).amax(1)
        return least, most / torch.full_like(most, ratio)

    def ious(self, edges: Tensor, owner: Tensor) -> Tensor:
        """Return (N,) the highest IoU of each box with the true boxes of its map.

        edges: (4, N) float64. owner: (N,) the map of each box.
        """
        x0, y0, x1, y1 = edges
        extra, best = self.extra, torch.zeros_like(x0)
        area = (x1 - x0 + extra) * (y1 - y0 + extra)
        # Loop over an image's few true boxes: all pairs at once would not fit into memory.
        for g in range(self.boxes.shape[1]):
            left, top, right, bottom = self.boxes[:, g].T[:, owner]
            wide = torch.minimum(x1, right) - torch.maximum(x0, left) + extra
            high = torch.minimum(y1, bottom) - torch.maximum(y0, top) + extra
            both = wide * high
            either = area + (right - left + extra) * (bottom - top + extra) - both
            meet = self.there[:, g][owner] & (wide > 0) & (high > 0)
            best = torch.where(meet, torch.maximum(best, both / either), best)
        return best


def largest(
    rank: Tensor, tie: Tensor, boxes: ThresholdBoxes, right: Tensor, shape: torch.Size
) -> Tensor:
    """Return (B, T) bool: whether the box with the highest rank is right; of equal ranks, the box
    with the highest `tie`.

    rank, tie: (M,) int64 below 2^30 and 2^32, of the first M boxes. shape: (B, D, T).
    """
    count, _, thresholds = shape
    first = slice(len(rank))
    key = (rank << 32 | tie) << 1 | right[first]
    at = boxes.owner[first] * thresholds + boxes.threshold[first]
    best = torch.full((count * thresholds,), -1, dtype=torch.int64, device=key.device)
    best = best.scatter_reduce(0, at, key, "amax")
    return ((best >= 0) & (best & 1 == 1)).view(count, thresholds)
