"""Twice the area that the outer contour of each set encloses, without following any. By torch;
import this inside functions only.

Each square of four pixel centres is worth two halves where all four lie within the contour, and
one where three do. A pixel that is taken adds halves by its ring alone (ENCLOSED); so does a pixel
of a hole, when holes are filled from their highest level down. What a contour encloses is then a
sum over its set, the holes in that, the sets in those and so on: over the nesting tree, whose links
go from the first place of each. Whole numbers, exactly.
"""

import torch
from torch import Tensor

from evaluation.metrics.wsol.device.merge_tree import gathered
from evaluation.metrics.wsol.device.set_rows import Measured, SetRows
from evaluation.metrics.wsol.kernels_rings import ENCLOSED

HIGHEST = 255
# Levels of holes are these, less their own: the lowest bytes come first.
TURNED = HIGHEST + 1


def enclosed(device: torch.device) -> Tensor:
    """(256,) int32 halves that a pixel adds to what its set encloses."""
    return torch.from_numpy(ENCLOSED).to(device)


def filled(device: torch.device) -> Tensor:
    """(256,) int32 halves that a pixel of a hole adds, by its ring in the hole.

    It is filled after all that its ring does not have.
    """
    return torch.from_numpy(ENCLOSED[::-1].copy()).to(device)


def areas(sets: SetRows, set_measures: Measured, holes: SetRows, hole: Measured) -> Tensor:
    """(S,) int64 of each row of sets. Rows of holes are at TURNED − level."""
    # A set at ℓ is what exceeds ℓ − 1; beside its first place lies a hole of levels ≤ ℓ − 1.
    size, wide = sets.links.size, sets.links.wide
    west = sets.owner.long() * size + set_measures.begins - 1
    around = holes.at(west, TURNED - sets.level + 1)
    # Above the first place of a hole lies the set that it is in.
    north = holes.owner.long() * size + hole.begins - wide
    within = sets.at(north, TURNED - holes.level + 1)
    none = len(sets) + len(holes)
    up = torch.cat([torch.where(around < 0, none, around + len(sets)), within])
    sums = torch.cat([set_measures.sums, hole.sums])
    sums, _ = gathered(up, none, sums, sums.new_empty((0, none)))
    return sums[: len(sets)]
