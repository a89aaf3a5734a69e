"""Score maps of a batch: normalized in float64, as integer levels, and counted by bin.

Import this only inside functions.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evaluation.metrics.wsol.box_scores import Floats, Protocol, check_size, plain

Scores = list[NDArray[Any]]
# (width, height) of each map's image, in pixels.
Sizes = list[tuple[int, int]]


class Scaled(NamedTuple):
    """The maps of a batch, each as in prepared() of box_scores, stacked.

    values: (B, H, W) float64 in [0, 1]. inside: (B, H, W) bool, the pixels of each map, or None if
    all have the same size; beyond a map its last row and column are repeated.
    """

    values: Tensor
    inside: Tensor | None


def scaled(maps: Scores, sizes: Sizes, protocol: Protocol, device: str) -> Scaled:
    """Return the maps on a device, normalized.

    paper: each resized to its image. reference: each is protocol.size squared.
    """
    for score_map in maps:
        check_size(score_map, protocol)
    scores = torch.from_numpy(_stacked(maps)).to(device).double()
    inside = None
    if (
        protocol.name == "paper"
        and len({*sizes, *(score_map.shape[::-1] for score_map in maps)}) > 1
    ):
        olds = np.array([score_map.shape for score_map in maps])
        news = np.array(sizes)[:, ::-1]
        rows, columns = (_between(olds[:, axis], news[:, axis], device) for axis in (0, 1))
        scores = _resized(scores, rows, columns)
        inside = rows.inside[:, :, None] & columns.inside[:, None, :]
    low, span = _scale(scores, protocol.normalize)
    return Scaled(((scores - low) / span).clamp(0.0, 1.0), inside)


def _stacked(maps: Scores) -> NDArray[Any]:
    """Return (B, h, w), float32 if it represents all scores; each map in the upper left corner."""
    ready = [plain(score_map) for score_map in maps]
    height, width = (max(score_map.shape[axis] for score_map in ready) for axis in (0, 1))
    stacked = np.zeros(
        (len(ready), height, width), np.result_type(*{score_map.dtype for score_map in ready})
    )
    for scores, score_map in zip(stacked, ready, strict=True):
        scores[: score_map.shape[0], : score_map.shape[1]] = score_map
    return stacked


class _Between(NamedTuple):
    """Old rows (or columns) around each new one of each map, (B, n) int64; its distance from the
    lower, (B, n) float64; and whether the map has it, (B, n) bool.
    """

    low: Tensor
    high: Tensor
    part: Tensor
    inside: Tensor


def _between(olds: NDArray[np.int64], news: NDArray[np.int64], device: str) -> _Between:
    """Return the same as _between of kernels_levels, computed on the host because they are few."""
    old, new = olds[:, None], news[:, None]
    places = np.arange(news.max())[None]
    centres = (np.minimum(places, new - 1) + 0.5) * old / new - 0.5
    at = np.minimum(np.maximum(centres, 0.0), old - 1.0)
    low = at.astype(np.int64)
    columns = low, np.minimum(low + 1, old - 1), at - low, places < new
    return _Between(*(torch.from_numpy(column).to(device) for column in columns))


def _resized(scores: Tensor, rows: _Between, columns: _Between) -> Tensor:
    """Return (B, H, W) float64, bilinear, in the order of operations of
    kernels_levels.stretched.
    """
    each = torch.arange(len(scores), device=scores.device)[:, None, None]
    left, right = columns.low[:, None, :], columns.high[:, None, :]
    share, part = columns.part[:, None, :], rows.part[:, :, None]

    def along(row: Tensor) -> Tensor:
        row = row[:, :, None]
        return scores[each, row, left] * (1 - share) + scores[each, row, right] * share

    return along(rows.low) * (1 - part) + along(rows.high) * part


def _scale(scores: Tensor, how: str) -> tuple[Tensor, Tensor]:
    """Return scale_of of box_scores, (B, 1, 1) float64 each: a divisor must be a tensor."""
    if how == "none":
        low = torch.zeros((len(scores), 1, 1), dtype=torch.float64, device=scores.device)
        return low, torch.ones_like(low)
    highest = scores.amax((1, 2), keepdim=True)
    low = scores.amin((1, 2), keepdim=True) if how == "min-max" else torch.zeros_like(highest)
    span = highest - low
    return low, span.masked_fill(span <= 0, math.inf)


def levels(scaled_maps: Scaled, protocol: Protocol) -> Tensor:
    """Return (B, H, W) int32 levels as in cut() of box_scores. 0 beyond each map, in no mask."""
    values, inside = scaled_maps
    if protocol.name == "reference":
        return (values * 255.0).to(torch.int32)
    level = torch.bucketize(values, taus(protocol, values.device), out_int32=True, right=True)
    flat = values.flatten(1)
    keep = (flat.amin(1) != flat.amax(1))[:, None, None]
    return level * (keep if inside is None else keep & inside)


def taus(protocol: Protocol, device: torch.device) -> Tensor:
    """Return the (n,) float64 thresholds on a device."""
    return torch.from_numpy(protocol.taus).to(device)


def score_counts(scaled_maps: Scaled, kinds: Tensor, rows: int, protocol: Protocol) -> Tensor:
    """Return (B, rows, n + 1) int64: the counts of add_scores of box_scores for each map.

    kinds: (B, H, W) uint8; those from `rows` on, and pixels beyond a map, are ignored.
    """
    values, inside = scaled_maps
    count, bins = len(values), protocol.thresholds + 1
    at = torch.bucketize(values, taus(protocol, values.device), right=True) - 1
    at += values >= 1.0
    kind = kinds.clamp(max=rows)
    if inside is not None:
        kind = kind.masked_fill(~inside, rows)
    # Each map has its own bins.
    each = torch.arange(count, device=values.device)[:, None, None]
    at += (each * (rows + 1) + kind) * bins
    counts = torch.bincount(at.flatten(), minlength=count * (rows + 1) * bins)
    return counts.view(count, rows + 1, bins)[:, :rows]


def padded_boxes(boxes: list[Floats], device: str) -> tuple[Tensor, Tensor]:
    """Return (B, G, 4) float64 the true boxes of each map, and (B, G) bool which of them exist."""
    most = max(len(map_boxes) for map_boxes in boxes)
    truth, there = np.zeros((len(boxes), most, 4)), np.zeros((len(boxes), most), np.bool_)
    for number, map_boxes in enumerate(boxes):
        truth[number, : len(map_boxes)], there[number, : len(map_boxes)] = map_boxes, True
    return torch.from_numpy(truth).to(device), torch.from_numpy(there).to(device)
