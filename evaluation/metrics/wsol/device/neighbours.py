"""The pointers by which every pixel finds the peak of its set. Import this only inside functions.

A set at level ℓ is a component of levels ≥ ℓ. Pixels are taken by falling level, and row by
row within a level, as in rings.py: a pixel's ring says which of its eight neighbours come before
it, and indexes the tables JOINS (8 neighbours) or HOLES (4). Most pixels join one set and need one
pointer, to the first neighbour of that set. Pixels that join none are peaks; few join several.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.metrics.wsol.rings import DX, DY, FIRST, NONE, OTHERS

# Level outside the map: above all levels of a map.
_BEYOND = 1 << 20
# Neighbours that precede a pixel of the same level: north-east, north, north-west, west.
_EARLIER = (1, 2, 3, 4)


class Pointers(NamedTuple):
    """Data of every position in the framed maps of a batch, P = B · high · wide of them.

    flat: (P,) int32 levels. size: high · wide, the positions of a map. wide: of a framed map.
    pixels: (P,) bool, whether it belongs to a set: no frame and no level 0. ring: (P,) uint8. kind:
    (P,) int32, the ring's entry in the table JOINS or HOLES. peak: (P,) int32, the position of the
    peak that each pixel leads to, on a path that never falls. peaks: (R,) int64 positions in order.
    """

    flat: Tensor
    size: int
    wide: int
    pixels: Tensor
    ring: Tensor
    kind: Tensor
    peak: Tensor
    peaks: Tensor


def pointers(level: Tensor, kinds: Tensor, surrounded: bool) -> Pointers:
    """Return the pointers. level: (B, H, W) int32. kinds: (256,) int32, JOINS or HOLES, on the same
    device.

    surrounded: the frame belongs to one set of each map, above all levels, with the map's first
    position as its peak. Otherwise it belongs to none.
    """
    beyond = _BEYOND if surrounded else 0
    framed = torch.nn.functional.pad(level, (1, 1, 1, 1), value=beyond)
    count, high, wide = framed.shape
    size, flat = high * wide, framed.reshape(-1)
    ring = _rings(framed).reshape(-1)
    kind = kinds[ring.int()]
    pixels = torch.nn.functional.pad(level > 0, (1, 1, 1, 1)).reshape(-1)
    index = torch.arange(count * size, device=level.device, dtype=torch.int32)
    first = kind & FIRST
    up = torch.where(pixels, index + steps(wide, level.device)[first], index)
    begins = pixels & (first == NONE)
    if surrounded:
        frame = flat == _BEYOND
        corner = torch.div(index, size, rounding_mode="floor") * size
        up = torch.where(frame, corner, up)
        begins |= index == corner
    return Pointers(
        flat, size, wide, pixels, ring, kind, doubled(up), torch.nonzero(begins).reshape(-1)
    )


def steps(wide: int, device: torch.device) -> Tensor:
    """Return (9,) int32 offsets of each neighbour; NONE is the position itself."""
    far = [int(y) * wide + int(x) for x, y in zip(DX, DY, strict=True)]
    return torch.tensor([*far, 0], dtype=torch.int32, device=device)


def doubled(up: Tensor) -> Tensor:
    """Return where each pointer finally leads; the longest path is halved twice per host read."""
    while True:
        further = up[up]
        further = further[further]
        if torch.equal(further, up):
            return up
        up = further


def _rings(framed: Tensor) -> Tensor:
    """Return (B, high, wide) uint8: bit i is set if neighbour i comes before; 0 in the frame."""
    centre = framed[:, 1:-1, 1:-1]
    rings = torch.zeros_like(framed, dtype=torch.uint8)
    inner = rings[:, 1:-1, 1:-1]
    high, wide = framed.shape[1:]
    for i in range(8):
        x, y = 1 + int(DX[i]), 1 + int(DY[i])
        neighbour = framed[:, y : high - 2 + y, x : wide - 2 + x]
        before = neighbour >= centre if i in _EARLIER else neighbour > centre
        inner |= before.to(torch.uint8) << i
    return rings


def joins(links: Pointers) -> tuple[Tensor, Tensor, Tensor]:
    """Return where pixels join sets: (E,) int64 each, two peaks' positions and that of the pixel.

    One for every further set that a pixel touches.
    """
    flat, wide = links.flat, links.wide
    at = torch.nonzero(links.pixels & (links.kind >> OTHERS > 0)).reshape(-1)
    bits = torch.arange(8, device=flat.device, dtype=torch.int32)
    row, turn = torch.nonzero(links.kind[at][:, None] >> OTHERS + bits & 1, as_tuple=True)
    at, step = at[row], steps(wide, flat.device)
    first = at + step[links.kind[at] & FIRST]
    return links.peak[first].long(), links.peak[at + step[turn]].long(), at
