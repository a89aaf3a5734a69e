"""MAD's reduction by sorting on a torch device: for a GPU, and for tables too large to index.

Its candidates are the same on every device. In any larger pool the selection is the same as with
the candidates of selection.PairReducer. Import this only inside functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from evaluation.devices import BatchSize, is_out_of_memory
from evaluation.metrics.mad.selection import (
    CHUNK,
    Bounds,
    ImageIds,
    Levels,
    PairCandidates,
    PoolPredictions,
    SelectionRule,
    choose,
)

# Keys of confidences in [0, 1] stay under 2^30 as float32 bits.
_KEY_BITS = 31
_LARGEST = (1 << _KEY_BITS) - 1
# Number of the best candidates from which the host derives a bound, besides ties.
_FOR_A_BOUND = 1 << 14


@dataclass(frozen=True)
class DevicePredictions:
    """One classifier's predictions on a device: labels and confidences, (N,), from image `start`
    on.
    """

    labels: Tensor
    confidences: Tensor
    start: int = 0

    @classmethod
    def of(cls, predictions: PoolPredictions, part: slice, device: str) -> "DevicePredictions":
        """Return a copy of these images' predictions on the device."""
        labels, confidences = (
            torch.from_numpy(np.array(each[part])).to(device)
            for each in (predictions.labels, predictions.confidences)
        )
        return cls(labels, confidences, part.start)

    def columns(self, part: slice) -> tuple[Tensor, Tensor]:
        """Return int64 labels and float32 confidences, without −0.0, of these images."""
        local = slice(part.start - self.start, part.stop - self.start)
        return self.labels[local].long(), self.confidences[local].float() + 0


class UploadedStretch:
    """The predictions of a pool on a device, one stretch of images at a time: uploaded once and not
    again for each pair.
    """

    def __init__(self, predictions: Mapping[str, PoolPredictions], device: str) -> None:
        self.predictions, self.device = predictions, device
        self._part = slice(0)
        self._uploaded: dict[str, DevicePredictions] = {}

    def of(self, name: str, part: slice) -> PoolPredictions | DevicePredictions:
        """Return a classifier's predictions; where memory runs out, those on the host."""
        if part != self._part:
            self._part, self._uploaded = part, {}
        if name not in self._uploaded:
            try:
                uploaded = DevicePredictions.of(self.predictions[name], part, self.device)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                return self.predictions[name]
            self._uploaded[name] = uploaded
        return self._uploaded[name]


class SortingReducer:
    """Reduces the predictions of one pair after another to candidates, on one device.

    Images of a cell are ranked by one stable sort of (cell, −key); images are in order, so among
    equals the earlier comes first. If ids do not ascend with the indices, all ties with the last
    one are kept, and the host decides among them by id. Only candidates above a bound come to the
    host.
    """

    def __init__(
        self, levels: Levels, rule: SelectionRule, ids: ImageIds, device: str = "cpu"
    ) -> None:
        self.levels, self.rule, self.ids = levels, rule, ids
        self.device = device
        self.batch = BatchSize(CHUNK)
        self._level = torch.from_numpy(levels.of).to(device).reshape(-1)

    def reduce(
        self,
        a: PoolPredictions | DevicePredictions,
        b: PoolPredictions | DevicePredictions,
        part: slice,
        bounds: Bounds | None = None,
        more: int = 0,
    ) -> PairCandidates:
        """Return the candidates among the images of part; see selection.PairReducer.reduce."""
        least = bounds.least if bounds else 0
        packed = torch.zeros(0, dtype=torch.int64, device=self.device)
        images = packed.clone()

        def with_piece(size: int) -> tuple[slice, tuple[Tensor, ...]]:
            piece = slice(start, min(start + size, part.stop))
            new, piece_images = self._passing(a, b, piece, least)
            return piece, self._best(torch.cat([packed, new]), torch.cat([images, piece_images]))

        start = part.start
        while start < part.stop:
            piece, (packed, images) = self.batch.attempt(with_piece)
            start = piece.stop
            least = max(least, self._bound(packed, images))
            packed, images = _where(self._merits(packed) >= least, packed, images)
        return self._resolved(self._candidates(packed, images))

    def _passing(
        self,
        a: PoolPredictions | DevicePredictions,
        b: PoolPredictions | DevicePredictions,
        piece: slice,
        least: int,
    ) -> tuple[Tensor, ...]:
        """Return packed cells and keys, and indices, of the images that pass the thresholds."""
        (label_a, sure_a), (label_b, sure_b) = (
            (
                each
                if isinstance(each, DevicePredictions)
                else DevicePredictions.of(each, piece, self.device)
            ).columns(piece)
            for each in (a, b)
        )
        smaller = torch.minimum(sure_a, sure_b)
        passes = (smaller.double() >= self.rule.min_confidence) & (label_a != label_b)
        images = torch.arange(piece.start, piece.stop, device=self.device)
        cell, smaller, images = _where(
            passes, label_a * len(self.levels.of) + label_b, smaller, images
        )
        packed = (cell << _KEY_BITS) | (_LARGEST - smaller.view(torch.int32).long())
        return _where(self._merits(packed) >= least, packed, images) if least else (packed, images)

    def _best(self, packed: Tensor, images: Tensor) -> tuple[Tensor, ...]:
        """Return the best of each cell; if ids are unordered, also ties with the last of them."""
        if len(packed) == 0:
            return packed, images
        packed, order = torch.sort(packed, stable=True)
        images = images[order]
        cell = packed >> _KEY_BITS
        start = torch.searchsorted(cell, cell)
        position = torch.arange(len(packed), device=self.device)
        if not self.ids.in_order:
            position = torch.searchsorted(packed, packed)
        return _where(position - start < self.rule.per_cell, packed, images)

    def _bound(self, packed: Tensor, images: Tensor) -> int:
        """Return a merit below which no image can be chosen, in any larger pool.

        Statement 4 of selection.survivors, without full labels: of the images that greedy would
        choose among themselves, at most `passed` come before an image that it chooses in a larger
        pool.
        """
        rule = self.rule
        passed = (rule.total - 1) * (3 if rule.unique_pairs else 2)
        merits = self._merits(packed)
        if len(merits) > (best := max(_FOR_A_BOUND, 32 * passed)):
            bound = merits.topk(best).values[-1]
            packed, images = _where(merits >= bound, packed, images)
        held = self._candidates(packed, images)
        more = replace(rule, top_k=passed + 1, reserve=0)
        chosen = choose(held, self.levels, more, self.ids)
        return int(held.merits(self.levels)[chosen[-1]]) if len(chosen) > passed else 0

    def _merits(self, packed: Tensor) -> Tensor:
        level = self._level[packed >> _KEY_BITS].long()
        return (level << 32) | (_LARGEST - (packed & _LARGEST))

    def _candidates(self, packed: Tensor, images: Tensor) -> PairCandidates:
        numbers, places = torch.stack([packed, images]).cpu().numpy()
        a, b = np.divmod(numbers >> _KEY_BITS, max(1, len(self.levels.of)))
        keys = (_LARGEST - (numbers & _LARGEST)).astype(np.uint32)
        return PairCandidates(a.astype(np.int32), b.astype(np.int32), keys, places)

    def _resolved(self, candidates: PairCandidates) -> PairCandidates:
        """Return exactly the best of each cell, ties decided by id."""
        if self.ids.in_order or len(candidates) == 0:
            return candidates
        names = self.ids.take(candidates.images)
        cells = (candidates.a.astype(np.int64) * len(self.levels.of) + candidates.b).tolist()
        keys = candidates.keys.tolist()
        order = sorted(range(len(candidates)), key=lambda i: (cells[i], -keys[i], names[i]))
        kept: list[int] = []
        before, held = -1, 0
        for i in order:
            held = held + 1 if cells[i] == before else 1
            before = cells[i]
            if held <= self.rule.per_cell:
                kept.append(i)
        return candidates.where(np.array(kept, np.int64))


def _where(kept: Tensor, *columns: Tensor) -> tuple[Tensor, ...]:
    """Return the kept rows of each column; their number is read from the device once."""
    at = kept.nonzero().reshape(-1)
    return tuple(column[at] for column in columns)
