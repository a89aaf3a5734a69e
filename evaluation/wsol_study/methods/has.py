"""HaS (Singh and Lee 2017): hides patches of the training images."""

import torch
from torch import Tensor
from torch.nn import functional as F

from evaluation.wsol_study.methods.base import Localizer, WsolMethod, uniform


class HideAndSeek(WsolMethod):
    """HaS: CAM trained on images of which patches are replaced by the mean color."""

    name = "has"

    def loss(
        self, model: Localizer, images: Tensor, labels: Tensor, generator: torch.Generator
    ) -> Tensor:
        hidden = hide(images, model.values["drop_area"], model.values["drop_rate"], generator)
        return F.cross_entropy(model(hidden), labels)


def hide(images: Tensor, area: float, rate: float, generator: torch.Generator) -> Tensor:
    """Return images with the patches of a grid set to 0, each with the probability `rate`.

    area: side of a patch as a share of the image's side, rounded to pixels: 0 is no grid, 1 the
    full image as one patch. Patches at the right and lower edge may be smaller.
    """
    count, _, height, width = images.shape
    patch = round(area * max(height, width))
    if patch == 0:
        return images
    rows, columns = -(-height // patch), -(-width // patch)
    kept = (uniform(generator, count, 1, rows, columns) >= rate).to(images)
    kept = kept.repeat_interleave(patch, 2).repeat_interleave(patch, 3)
    return images * kept[:, :, :height, :width]
