"""Distances of each pixel of a crop from each part: exact squared distances, in integers.

The distance to several parts is the minimum over them, so each part is measured once.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

# No pixel of the part in this column. Its square plus a crop's width fits in 32 bits.
_NO_PIXEL = 30_000
# Most numbers in memory at once, 256 MB.
_MAX_IN_MEMORY = 1 << 26


def disk_reach(radius: int) -> NDArray[np.int64]:
    """Return (radius + 1,) how many pixels a disk reaches up in columns 0 to radius from its
    centre.

    >>> disk_reach(4).tolist()
    [4, 3, 3, 2, 0]
    """
    return np.array([math.isqrt(radius**2 - x**2) for x in range(radius + 1)], np.int64)


class PartDistances:
    """Squared distances, (H, W) int32, to the pixels of a step, dilated by a disk.

    steps: (H, W) int16. compiled: by numba on the CPU, else by torch on the device; both are exact.
    """

    def __init__(
        self, steps: NDArray[np.int16], count: int, radius: int, device: Any, compiled: bool
    ) -> None:
        import torch

        self.steps, self.reach = np.array(steps, order="C"), disk_reach(radius)
        self.compiled = compiled
        if compiled:
            from evaluation.metrics.frames import kernels

            self._boxes = kernels.extents(self.steps, count)
        else:
            self._there = torch.from_numpy(self.steps).to(device)

    def of(self, step: int) -> "Tensor":
        """Return the distances to a step that has pixels."""
        import torch

        if not self.compiled:
            # On the host, so that nothing waits for the device; numba may be missing here.
            columns = np.flatnonzero((self.steps == step).any(axis=0)).tolist()
            return squared_distances(self._there == step, self.reach, columns[0], columns[-1] + 1)
        from evaluation.metrics.frames import kernels

        out = np.empty(self.steps.shape, np.int32)
        kernels.squared_distances(self.steps, step, self._boxes[step], self.reach, out)
        return torch.from_numpy(out)


def squared_distances(mask: "Tensor", reach: NDArray[np.int64], left: int, right: int) -> "Tensor":
    """Return (H, W) int32 squared distances to a mask dilated by a disk, on the mask's device.

    mask: (H, W) bool with a pixel; left, right (exclusive): the range of columns with pixels.
    """
    import torch

    height, width = mask.shape
    radius = len(reach) - 1
    begin, end = max(left - radius, 0), min(right + radius, width)
    rows = torch.arange(height, dtype=torch.int32, device=mask.device)[:, None]
    inside = mask[:, begin:end]
    above = torch.where(inside, rows, -_NO_PIXEL).cummax(0).values
    below = torch.where(inside, rows, _NO_PIXEL).flip(0).cummin(0).values.flip(0)
    vertical = torch.minimum(rows - above, below - rows).clamp_(max=_NO_PIXEL)
    far = torch.nn.functional.pad(vertical, (radius, radius), value=_NO_PIXEL)
    shifts = range(-radius, radius + 1)
    dilated = torch.stack(
        [far[:, radius + at : radius + at + end - begin] - int(reach[abs(at)]) for at in shifts]
    ).amin(0)
    depth = dilated.clamp_(min=0) ** 2
    columns = torch.arange(width, dtype=torch.int32, device=mask.device)
    along = (columns[:, None] - columns[None, begin:end]) ** 2
    chunk = max(1, _MAX_IN_MEMORY // max(1, along.numel()))
    parts = [(depth_rows[:, None, :] + along).amin(-1) for depth_rows in depth.split(chunk)]
    return torch.cat(parts)
