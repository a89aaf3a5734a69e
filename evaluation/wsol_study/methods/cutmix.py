"""CutMix (Yun et al. 2019): pastes a rectangle of other images into the training images."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from evaluation.wsol_study.methods.base import Localizer, WsolMethod, uniform


class CutMix(WsolMethod):
    """CutMix: CAM trained on mixed images, with the loss mixed by the pasted area.

    A batch is mixed with the probability `mix_rate`; all of its images get the same rectangle,
    each from another image of the batch in a random order.
    """

    name = "cutmix"

    def loss(
        self, model: Localizer, images: Tensor, labels: Tensor, generator: torch.Generator
    ) -> Tensor:
        if uniform(generator).item() >= model.values["mix_rate"]:
            return F.cross_entropy(model(images), labels)
        drawn = torch.randperm(len(images), generator=generator, device=generator.device)
        order = drawn.to(images.device)
        height, width = images.shape[2:]
        rows, columns = rectangle(height, width, model.values["size_prior"], generator)
        mixed = images.clone()
        mixed[:, :, rows, columns] = images[order, :, rows, columns]
        logits = model(mixed)
        pasted = (rows.stop - rows.start) * (columns.stop - columns.start) / (height * width)
        pasted_loss = F.cross_entropy(logits, labels[order])
        return (1 - pasted) * F.cross_entropy(logits, labels) + pasted * pasted_loss


def rectangle(
    height: int, width: int, beta: float, generator: torch.Generator
) -> tuple[slice, slice]:
    """Return the rows and columns of a random rectangle, cut at the image's edge.

    Its area before the cut is 1 − λ of the image's, λ from Beta(β, β); its center is uniform.
    """
    # torch's Beta takes no generator.
    seed = torch.randint(2**62, (), generator=generator, device=generator.device)
    rng = np.random.default_rng(int(seed))
    # β = 0, the end of the size prior, is the limit where λ is 0 or 1.
    side = (1 - rng.beta(max(beta, 1e-9), max(beta, 1e-9))) ** 0.5
    return _extent(height, side, rng), _extent(width, side, rng)


def _extent(length: int, share: float, rng: np.random.Generator) -> slice:
    center, half = int(rng.integers(length)), int(length * share) // 2
    return slice(max(center - half, 0), min(center + half, length))
