"""box_hits of box_scores for many maps at once, with torch. Import this only inside functions."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evaluation.metrics.wsol.box_scores import (
    DELTAS,
    BoxScore,
    Floats,
    Protocol,
    covered,
    truncated,
)
from evaluation.metrics.wsol.device import contours
from evaluation.metrics.wsol.device.hits import ThresholdBoxes, TrueBoxBatch, largest
from evaluation.metrics.wsol.device.merge_tree import merge_tree
from evaluation.metrics.wsol.device.neighbours import pointers
from evaluation.metrics.wsol.device.scaled import (
    Scaled,
    Scores,
    Sizes,
    levels,
    padded_boxes,
    scaled,
    score_counts,
    taus,
)
from evaluation.metrics.wsol.device.set_rows import SetRows, measure_rows, row_counts, set_rows
from evaluation.metrics.wsol.mask_scores import MaskScore
from evaluation.metrics.wsol.rings import HOLES, JOINS

# Most rows of sets at once; a noise map has a hundred times as many as a smooth one.
MAX_ROWS = 200_000_000
# Larger than every pixel index.
_NO_EDGE = 1 << 20


class TooManyRows(Exception):
    """A batch has more rows than MAX_ROWS: halve it."""


def box_hits(scaled_maps: Scaled, truth: TrueBoxBatch, protocol: Protocol) -> tuple[Tensor, Tensor]:
    """Return (B, D, n) and (B, n) bool, as box_hits of box_scores for each map. Raises
    TooManyRows.
    """
    level = levels(scaled_maps, protocol)
    if protocol.name == "paper":
        return _step_hits(level, truth, protocol)
    return _byte_hits(level, truth, protocol)


def _step_hits(level: Tensor, truth: TrueBoxBatch, protocol: Protocol) -> tuple[Tensor, Tensor]:
    """Return the hits with exclusive edges and without holes.

    The largest component has most pixels, the first by rows in a tie; an empty mask has no box.
    """
    rows = _rows(level, JOINS, False, protocol.thresholds)
    set_measures = measure_rows(rows, torch.ones(256, dtype=torch.int32, device=level.device))
    # The corners are in the framed map, x1 and y1 inclusive.
    edges = set_measures.corners.int() - _column([1, 1, 0, 0], level.device)
    boxes = ThresholdBoxes(edges, rows.owner.long(), rows.level.long() - 1)
    hits, right = truth.hits(boxes, protocol.thresholds)
    first = rows.links.size - set_measures.begins.long()
    return hits, largest(set_measures.sums, first, boxes, right, hits.shape)


def _byte_hits(level: Tensor, truth: TrueBoxBatch, protocol: Protocol) -> tuple[Tensor, Tensor]:
    """Return the hits with contours of sets and of holes, edges clipped at the last pixel.

    The largest component's contour encloses most, the last by rows in a tie; an empty mask has the
    box 0, 0, 0, 0.
    """
    device, (height, width) = level.device, level.shape[1:]
    sets = _rows(level, JOINS, False, contours.HIGHEST)
    set_measures = measure_rows(sets, contours.enclosed(device))
    # A hole of levels ≤ t is a set of TURNED − level, at its level TURNED − t.
    holes = _rows(contours.TURNED - level, HOLES, True, contours.TURNED)
    hole = measure_rows(holes, contours.filled(device))
    # Every threshold is below the highest byte; if that is 0, all masks are empty.
    highest = level.flatten(1).amax(1)
    empty = torch.nonzero(highest == 0).reshape(-1)
    # The contour around a hole runs through its adjacent pixels.
    edges = [
        set_measures.corners.int() - _column([1, 1, 0, 0], device),
        torch.zeros((4, len(empty)), dtype=torch.int32, device=device),
        hole.corners.int() - _column([2, 2, -1, -1], device),
    ]
    last = _column([_NO_EDGE, _NO_EDGE, width - 1, height - 1], device)
    thresholds = [sets.level - 1, torch.zeros_like(empty), contours.TURNED - holes.level]
    boxes = ThresholdBoxes(
        torch.minimum(torch.cat(edges, 1), last),
        torch.cat([sets.owner, empty, holes.owner]).long(),
        torch.cat(thresholds).long(),
    )
    hits, right = truth.hits(boxes, contours.HIGHEST)
    rank = torch.cat([contours.areas(sets, set_measures, holes, hole), torch.zeros_like(empty)])
    tie = torch.cat([set_measures.begins, torch.zeros_like(empty)])
    best = largest(rank, tie, boxes, right, hits.shape)

    # Thresholds as in the authors' code, float64 times a small integer.
    above = (taus(protocol, device)[None] * highest.double()[:, None]).long()
    each = above[:, None].expand(-1, len(truth.deltas), -1)
    return hits.gather(2, each), best.gather(1, above)


def _column(values: list[int], device: torch.device) -> Tensor:
    return torch.tensor(values, dtype=torch.int32, device=device)[:, None]


def _rows(level: Tensor, kinds: NDArray[np.int32], surrounded: bool, top: int) -> SetRows:
    links = pointers(level, torch.from_numpy(kinds).to(level.device), surrounded)
    tree = merge_tree(links, top)
    count = row_counts(tree, surrounded, links)
    total = int(count.sum())
    if total > MAX_ROWS and len(level) > 1:
        raise TooManyRows
    return set_rows(links, tree, count, total)


Result = TypeVar("Result")


def halved(count: int, work: Callable[[slice], Result]) -> list[Result]:
    """Return work(slice) for range(count) in order: all at once, or in halves after TooManyRows."""
    waiting, results = [slice(0, count)], []
    while waiting:
        part = waiting.pop()
        try:
            results.append(work(part))
        except TooManyRows:
            middle = (part.start + part.stop) // 2
            waiting += [slice(middle, part.stop), slice(part.start, middle)]
    return results


def hits_of(
    maps: Scores,
    boxes: list[Floats],
    sizes: Sizes,
    protocol: Protocol,
    deltas: tuple[float, ...] = DELTAS,
    device: str = "cpu",
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return (B, D, n) and (B, n): box_hits of box_scores for each map.

    maps: as in their files. boxes: (G, 4) of each, in the pixels in which its map is scored.
    """

    def work(part: slice) -> tuple[Tensor, Tensor]:
        scaled_maps = scaled(maps[part], sizes[part], protocol, device)
        extra = 1.0 if protocol.name == "reference" else 0.0
        truth = TrueBoxBatch(*padded_boxes(boxes[part], device), extra, deltas)
        return box_hits(scaled_maps, truth, protocol)

    hits, best = zip(*halved(len(maps), work), strict=True)
    return torch.cat(hits).cpu().numpy(), torch.cat(best).cpu().numpy()


def counts_of(
    maps: Scores, kinds: list[NDArray[np.uint8]], protocol: Protocol, rows: int, device: str = "cpu"
) -> NDArray[np.int64]:
    """Return (B, rows, n + 1): the counts of add_scores of box_scores for each map.

    kinds: (h, w) of each, in the pixels in which its map is scored; those from `rows` on are
    ignored.
    """
    scaled_maps = scaled(maps, [kind.shape[::-1] for kind in kinds], protocol, device)
    height, width = scaled_maps.values.shape[1:]
    stacked = np.full((len(kinds), height, width), rows, np.uint8)
    for held, kind in zip(stacked, kinds, strict=True):
        held[: kind.shape[0], : kind.shape[1]] = kind
    return (
        score_counts(scaled_maps, torch.from_numpy(stacked).to(device), rows, protocol)
        .cpu()
        .numpy()
    )


def add_boxes(
    score: BoxScore,
    maps: Scores,
    boxes: list[Floats],
    sizes: Sizes,
    classes_right: list[bool | None],
    device: str = "cpu",
) -> None:
    """Add images to the score like its add(); the score changes only when all is computed.

    maps: as in their files. boxes: (G, 4) of each, in pixels of its image. classes_right: as
    `class_right` of add().
    """
    protocol = score.protocol
    if protocol.name == "reference":
        size = protocol.size
        boxes = [
            truncated(map_boxes, *its, size) for map_boxes, its in zip(boxes, sizes, strict=True)
        ]
        sizes = [(size, size)] * len(maps)
    hits, best = hits_of(maps, boxes, sizes, protocol, score.deltas, device)
    if score.histograms:
        each = zip(boxes, sizes, strict=True)
        inside = [covered(map_boxes, its[::-1], protocol.name) for map_boxes, its in each]
        score.pixels += counts_of(maps, inside, protocol, len(score.pixels), device).sum(axis=0)
    score.add_hits(hits, best, classes_right)


def add_masks(
    score: MaskScore,
    maps: Scores,
    truths: list[NDArray[np.uint8]],
    labels: list[str],
    device: str = "cpu",
) -> None:
    """Add images to the score like its add(); the score changes only when all is computed."""
    score.add_counts(counts_of(maps, truths, score.protocol, 2, device), labels)
