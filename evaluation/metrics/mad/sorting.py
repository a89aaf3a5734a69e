"""MAD's reduction by sorting on a torch device: for a GPU, and for tables too large to index.

Gives the same candidates as mad.PairReducer on any device. Import this only inside functions.
"""

import numpy as np
import torch
from torch import Tensor

from evaluation.devices import BatchSize
from evaluation.metrics.mad.selection import (
    CHUNK,
    Bounds,
    ImageIds,
    Levels,
    PairCandidates,
    PoolPredictions,
    SelectionRule,
    survivors,
)

# Keys of confidences in [0, 1] stay under 2^30 as float32 bits.
_KEY_BITS = 31
_LARGEST = (1 << _KEY_BITS) - 1


class SortingReducer:
    """Reduces the predictions of one pair after another to candidates, on one device.

    Images of a cell are ranked by one stable sort of (cell, −key); images are in order, so among
    equals the earlier comes first. If ids do not ascend with the indices, all ties with the last
    one are kept, and the host decides among them by id.
    """

    def __init__(
        self, levels: Levels, rule: SelectionRule, ids: ImageIds, device: str = "cpu"
    ) -> None:
        self.levels, self.rule, self.ids = levels, rule, ids
        self.device = torch.device(device)
        self.batch = BatchSize(CHUNK)
        self._level = torch.from_numpy(levels.of).to(self.device).reshape(-1)

    def reduce(
        self,
        a: PoolPredictions,
        b: PoolPredictions,
        part: slice,
        bounds: Bounds | None = None,
        more: int = 0,
    ) -> PairCandidates:
        """Return the candidates among the images of part; see mad.PairReducer.reduce."""
        least = bounds.least if bounds else 0
        packed = torch.zeros(0, dtype=torch.int64, device=self.device)
        images = packed.clone()

        def with_piece(size: int) -> tuple[slice, Tensor, Tensor]:
            piece = slice(start, min(start + size, part.stop))
            new, piece_images = self._passing(a, b, piece, least)
            return piece, *self._best(torch.cat([packed, new]), torch.cat([images, piece_images]))

        start = part.start
        while start < part.stop:
            piece, packed, images = self.batch.attempt(with_piece)
            start = piece.stop
            if start < part.stop:
                held = self._candidates(packed, images)
                least = max(least, survivors(held, self.levels, self.rule, self.ids)[1].least)
                kept = self._merits(packed) >= least
                packed, images = packed[kept], images[kept]
        return self._resolved(self._candidates(packed, images))

    def _passing(
        self, a: PoolPredictions, b: PoolPredictions, piece: slice, least: int
    ) -> tuple[Tensor, Tensor]:
        """Return packed cells and keys, and indices, of the images that pass the thresholds."""
        confidence = [
            torch.from_numpy(p.confidences[piece].astype(np.float32) + np.float32(0)).to(
                self.device
            )
            for p in (a, b)
        ]
        label = [torch.from_numpy(p.labels[piece].astype(np.int64)).to(self.device) for p in (a, b)]
        smaller = torch.minimum(*confidence)
        passes = (smaller.double() >= self.rule.min_confidence) & (label[0] != label[1])
        cell = (label[0] * len(self.levels.of) + label[1])[passes]
        key = smaller[passes].view(torch.int32).to(torch.int64)
        images = torch.nonzero(passes).reshape(-1) + piece.start
        packed = (cell << _KEY_BITS) | (_LARGEST - key)
        if least:
            kept = self._merits(packed) >= least
            packed, images = packed[kept], images[kept]
        return packed, images

    def _best(self, packed: Tensor, images: Tensor) -> tuple[Tensor, Tensor]:
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
        kept = position - start < self.rule.per_cell
        return packed[kept], images[kept]

    def _merits(self, packed: Tensor) -> Tensor:
        level = self._level[packed >> _KEY_BITS].to(torch.int64)
        return (level << 32) | (_LARGEST - (packed & _LARGEST))

    def _candidates(self, packed: Tensor, images: Tensor) -> PairCandidates:
        cells = (packed >> _KEY_BITS).cpu().numpy()
        keys = (_LARGEST - (packed & _LARGEST)).cpu().numpy().astype(np.uint32)
        a, b = np.divmod(cells, max(1, len(self.levels.of)))
        return PairCandidates(a.astype(np.int32), b.astype(np.int32), keys, images.cpu().numpy())

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
