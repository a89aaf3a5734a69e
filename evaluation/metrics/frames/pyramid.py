"""A multiresolution pyramid in linear light, on any device.

Level i is the image after a Gaussian that keeps half the amplitude at 2^−i of Nyquist; level 0 is
the image itself. Levels 1 and 2 are computed in full, coarser ones on a grid of a quarter of their
width and upsampled, with a narrower Gaussian to compensate for the upsampling. Borders are
reflected (c b a | a b c). Grids are symmetric, so that flips commute. Torch is imported inside
functions.
"""

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

MIN_LEVELS = 2
# Steps of the lookup table by linear light: 20 per code where sRGB is steepest.
_STEPS = 1 << 16
# Sigma of level 1 in pixels: exp(−2π²σ²f²) = ½ at f = ¼ cycle, half of Nyquist.
_SIGMA = math.sqrt(math.log(2) / 2) / (math.pi / 4)
# Rows per block of a matrix: outside a block's columns they are mostly 0.
_BLOCK = 64
# Gaussians are truncated at this many σ.
_CUT = 3.5
Blocks = list[tuple[int, "Tensor"]]


@functools.cache
def _decoding(device: Any) -> "Tensor":
    import torch

    v = np.arange(256) / 255
    light = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    return torch.from_numpy(light.astype(np.float32)).to(device)


@functools.cache
def encoding(device: Any) -> "Tensor":
    """Return (65536,) uint8 sRGB codes of linear light from 0 to 1."""
    import torch

    x = np.arange(_STEPS) / (_STEPS - 1)
    v = np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)
    return torch.from_numpy(np.rint(255 * v).astype(np.uint8)).to(device)


def linear(image: "Tensor") -> "Tensor":
    """Return linear light in [0, 1], float32, of sRGB codes, uint8."""
    return _decoding(image.device).index_select(0, image.reshape(-1).int()).view(image.shape)


def codes(light: "Tensor") -> "Tensor":
    """Return sRGB codes, uint8, of linear light in [0, 1], rounded; codes(linear(v)) is v."""
    at = (light * (_STEPS - 1) + 0.5).int()
    return encoding(light.device).index_select(0, at.reshape(-1)).view(light.shape)


def sigma_of(level: int) -> float:
    """Return the sigma in pixels of a level's Gaussian, from level 1."""
    return _SIGMA * 2 ** (level - 1)


def pyramid(image: "Tensor", levels: int) -> "Tensor":
    """Return (levels, H, W, 3) float32: an image, (H, W, 3) uint8, at each level in linear
    light.
    """
    import torch

    height, width = image.shape[:2]
    blurred = torch.empty((levels, height, width, 3), device=image.device)
    blurred[0] = linear(image)
    done = 0.0
    small = blurred[0]
    for level in range(1, levels):
        want = sigma_of(level) ** 2
        if level < 3:
            small = blurred[level] = _filtered(small, math.sqrt(want - done))
            done = want
            continue
        step = 2 ** (level - 2)
        # Linear interpolation between points a step apart is a triangle of variance step² / 6.
        want -= step**2 / 6
        small = _reduced(small, (height, width), step, math.sqrt(want - done))
        done = want
        blurred[level] = _drawn_up(small, height, width)
    return blurred


def gaussian(light: "Tensor", sigma: float) -> "Tensor":
    """Return (H, W, 3) after a Gaussian of sigma pixels."""
    height, width = light.shape[:2]
    return _applied(
        light,
        _gaussians(height, height, height, sigma, light.device),
        _gaussians(width, width, width, sigma, light.device),
    )


def _filtered(light: "Tensor", sigma: float) -> "Tensor":
    """Return what gaussian() returns, by two convolutions: for a small sigma."""
    along = _along if light.device.type == "cpu" else _along_exactly
    taps = _taps(sigma, light.device)
    for axis in (0, 1):
        places = _mirrored(light.shape[axis], len(taps) // 2, light.device)
        light = along(light.index_select(axis, places), taps, axis)
    return light


def _along(padded: "Tensor", taps: "Tensor", axis: int) -> "Tensor":
    """Return (h, w, 3) filtered along the axis, shorter by the number of taps minus one."""
    import torch

    shape = (3, 1, -1, 1) if axis == 0 else (3, 1, 1, -1)
    weights = taps.expand(3, -1).reshape(shape)
    # As (1, 3, H, W) it is channels-last, which is many times faster in torch.
    view = padded.unsqueeze(0).permute(0, 3, 1, 2)
    return torch.nn.functional.conv2d(view, weights, groups=3)[0].permute(1, 2, 0).contiguous()


def _along_exactly(padded: "Tensor", taps: "Tensor", axis: int) -> "Tensor":
    """Return what _along() returns, for a GPU: there conv2d would round to 10 bits (TF32) and
    change codes by one.
    """
    return (padded.unfold(axis, len(taps), 1) * taps).sum(-1)


@functools.lru_cache(maxsize=32)
def _taps(sigma: float, device: Any) -> "Tensor":
    """Return (2 r + 1,) float32 weights of pixels up to r away, r = 3.5 sigma."""
    import torch

    radius = math.ceil(_CUT * sigma)
    weights = np.exp(-(np.arange(-radius, radius + 1) ** 2) / (2 * sigma**2))
    return torch.from_numpy((weights / weights.sum()).astype(np.float32)).to(device)


def _reduced(light: "Tensor", whole: tuple[int, int], step: int, sigma: float) -> "Tensor":
    """Return light, an image of `whole` pixels on some grid, after a Gaussian on a grid a step
    apart.
    """
    rows, columns = (
        _gaussians(full, count, max(1, math.ceil(full / step)), sigma, light.device)
        for full, count in zip(whole, light.shape, strict=False)
    )
    return _applied(light, rows, columns)


def _applied(light: "Tensor", rows: Blocks, columns: Blocks) -> "Tensor":
    """Return (h, w, 3): matrices of (h, H) and (w, W) applied to (H, W, 3)."""
    down = _product(rows, light)
    return _product(columns, down.transpose(0, 1)).transpose(0, 1).contiguous()


def _product(matrix: Blocks, light: "Tensor") -> "Tensor":
    import torch

    flat = light.reshape(len(light), -1)
    parts = [block @ flat[first : first + block.shape[1]] for first, block in matrix]
    return torch.cat(parts).view(-1, *light.shape[1:])


def _drawn_up(light: "Tensor", height: int, width: int) -> "Tensor":
    import torch

    view = light.unsqueeze(0).permute(0, 3, 1, 2)
    drawn = torch.nn.functional.interpolate(
        view, size=(height, width), mode="bilinear", align_corners=False
    )
    return drawn[0].permute(1, 2, 0)


@functools.lru_cache(maxsize=32)
def _mirrored(size: int, radius: int, device: Any) -> "Tensor":
    """Return (size + 2 radius,) indices −radius … size + radius − 1, reflected into the image."""
    import torch

    places = np.arange(-radius, size + radius) % (2 * size)
    return torch.from_numpy(np.minimum(places, 2 * size - 1 - places)).to(device)


@functools.lru_cache(maxsize=32)
def _gaussians(full: int, before: int, after: int, sigma: float, device: Any) -> Blocks:
    """Return (after, before) float32 weights from one grid over `full` pixels to another, by a
    Gaussian.

    Blocks of rows: the first nonzero column, and the weights from there to the last nonzero column.
    The n points of a grid are full / n apart and symmetric; beyond the borders the grid is
    reflected.
    """
    import torch

    sigma = sigma * before / full
    reach = math.ceil(_CUT * sigma) + 1
    centres = (np.arange(after)[:, None] + 0.5) * before / after - 0.5
    places = np.floor(centres).astype(np.int64) + np.arange(-reach, reach + 2)
    apart = np.abs(places - centres)
    # Truncated: denormal float32 numbers would make each product twenty times slower.
    weights = np.where(apart > _CUT * sigma, 0, np.exp(-(apart**2) / (2 * sigma**2)))
    weights /= weights.sum(axis=1, keepdims=True)
    places %= 2 * before
    at = np.minimum(places, 2 * before - 1 - places) + np.arange(after)[:, None] * before
    folded = np.bincount(at.ravel(), weights.ravel(), minlength=after * before)
    matrix = folded.reshape(after, before).astype(np.float32)
    blocks = []
    for start in range(0, after, _BLOCK):
        block = matrix[start : start + _BLOCK]
        used = np.flatnonzero(block.any(axis=0))
        cut = np.ascontiguousarray(block[:, used[0] : used[-1] + 1])
        blocks.append((int(used[0]), torch.from_numpy(cut).to(device)))
    return blocks
