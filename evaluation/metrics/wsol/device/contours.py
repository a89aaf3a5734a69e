"""Twice the area that the outer contour of each set encloses, without tracing contours.

With torch; import this only inside functions. Each square of four pixel centres counts two halves
if all four lie within the contour, and one if three do. An added pixel contributes halves by its
ring alone (ENCLOSED); so does a pixel of a hole, if holes are filled from their highest level down.
What a contour encloses is then a sum over its set, the holes in that, the sets in those and so on:
over the nesting tree, whose links start at the first position of each. Exact integers.
"""

import torch
from torch import Tensor

from evaluation.metrics.wsol.device.merge_tree import gathered
from evaluation.metrics.wsol.device.set_rows import RowMeasures, SetRows
from evaluation.metrics.wsol.rings import ENCLOSED

HIGHEST = 255
# Holes have this minus their own level: the lowest bytes come first.
TURNED = HIGHEST + 1


def enclosed(device: torch.device) -> Tensor:
    """Return (256,) int32 halves that a pixel adds to what its set encloses."""
    return torch.from_numpy(ENCLOSED).to(device)


def filled(device: torch.device) -> Tensor:
    """Return (256,) int32 halves that a pixel of a hole adds, by its ring in the hole.

    The pixel is filled after the neighbours that its ring does not contain.
    """
    return torch.from_numpy(ENCLOSED[::-1].copy()).to(device)


def areas(sets: SetRows, set_measures: RowMeasures, holes: SetRows, hole: RowMeasures) -> Tensor:
    """Return (S,) int64 areas of the rows of sets. Rows of holes are at TURNED − level."""
    # A set at ℓ exceeds ℓ − 1; its first position is adjacent to a hole of levels ≤ ℓ − 1.
    size, wide = sets.links.size, sets.links.wide
    west = sets.owner.long() * size + set_measures.begins - 1
    around = holes.at(west, TURNED - sets.level + 1)
    # The set around a hole is above the hole's first position.
    north = holes.owner.long() * size + hole.begins - wide
    within = sets.at(north, TURNED - holes.level + 1)
    none = len(sets) + len(holes)
    up = torch.cat([torch.where(around < 0, none, around + len(sets)), within])
    sums = torch.cat([set_measures.sums, hole.sums])
    sums, _ = gathered(up, none, sums, sums.new_empty((0, none)))
    return sums[: len(sets)]
