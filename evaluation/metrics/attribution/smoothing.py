"""Score maps smoothed by a Gaussian, as Choe et al. (TPAMI 2022, §5.5) do with gradients.

They write σ = 127 and call it the size of the kernel; both readings are here.
"""

import math

import torch
from torch import Tensor

from evaluation.metrics.attribution.recipes import READINGS

# The side that widths are stated for.
SIDE = 224


def smoothed(maps: Tensor, width: float, reading: str = "deviation") -> Tensor:
    """(B, H, W) float32 the maps under a Gaussian; beyond the map there is nothing.

    deviation: `width` is the standard deviation, and the Gaussian reaches over the whole map.
    window: `width` is the number of pixels under it, and the deviation 0.3 ((width − 1) / 2 − 1) +
    0.8, as OpenCV chooses it. Both for 224 pixels a side, and scaled with each side; 0 for none.

    >>> smoothed(torch.tensor([[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]]), 224 / 3)[0, 1]
    tensor([0.0965, 0.1592, 0.0965])
    """
    if reading not in READINGS:
        raise ValueError(f"reading is {reading!r}, expected one of {READINGS}")
    if width == 0:
        return maps.float()
    rows, columns = (
        _weights(length, width * length / SIDE, reading).to(maps.device)
        for length in maps.shape[1:]
    )
    # In float64, since under a wide Gaussian neighbours differ little.
    return (rows @ maps.double() @ columns.T).float()


def _weights(length: int, width: float, reading: str) -> Tensor:
    """(length, length) how much of each place comes to each, of weights that sum to 1."""
    if reading == "window":
        half = max(round((width - 1) / 2), 0)
        deviation = 0.3 * (half - 1) + 0.8
    else:
        deviation = width
        half = max(length, math.ceil(8 * deviation))
    offsets = torch.arange(-half, half + 1, dtype=torch.float64)
    total = (-0.5 * (offsets / deviation) ** 2).exp().sum()
    places = torch.arange(length, dtype=torch.float64)
    apart = places[:, None] - places[None, :]
    weights = (-0.5 * (apart / deviation) ** 2).exp() / total
    return torch.where(apart.abs() <= half, weights, 0.0)
