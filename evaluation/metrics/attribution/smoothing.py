"""Gaussian smoothing of score maps, as in Choe et al. (TPAMI 2022, §5.5) for gradients.

They write σ = 127 and call it the kernel size; both readings are supported.
"""

import math

import torch
from torch import Tensor

from evaluation.metrics.attribution.recipes import READINGS

# Widths are given for maps of this side.
SIDE = 224


def smoothed(maps: Tensor, width: float, reading: str = "deviation") -> Tensor:
    """Return (B, H, W) float32 maps convolved with a Gaussian; the outside counts as 0.

    deviation: `width` is the standard deviation, and the Gaussian covers the whole map. window:
    `width` is the number of pixels of the kernel, and the deviation 0.3 ((width − 1) / 2 − 1) +
    0.8, as in OpenCV. Both for 224 pixels a side, and scaled with each side; 0 for none.

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
    # float64, because neighbours differ little under a wide Gaussian.
    return (rows @ maps.double() @ columns.T).float()


def _weights(length: int, width: float, reading: str) -> Tensor:
    """Return (length, length) weights from each position to each; a whole kernel sums to 1."""
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
