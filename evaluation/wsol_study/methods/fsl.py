"""The few-shot baseline (Choe et al. 2022, section 5.1): a network trained on masks."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluation.wsol_study.hyperparameters import Values
from evaluation.wsol_study.methods.base import Localizer, WsolMethod
from evaluation.wsol_study.networks import build


class FewShotLearning(WsolMethod):
    """A fully convolutional network whose last layer is a 1 × 1 convolution to the score map.

    The labels of its loss are (B, H, W) target masks: 1 object, 0 background, negative ignored.
    They are resized to the grid by area; the target of a cell is its share of object pixels.
    """

    name = "fsl"

    def model(self, backbone: str, classes: int, values: Values) -> Localizer:
        network = build(backbone, classes, int(values["resolution"]))
        return Localizer(network, values, last=nn.Conv2d(network.channels, 1, 1))

    def loss(
        self, model: Localizer, images: Tensor, labels: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Return the binary cross-entropy per cell, over cells with a pixel that is not ignored."""
        maps = self._cell_logits(model, images)
        targets, counted = labels.to(maps), (labels >= 0).to(maps)
        grid = (maps.shape[1], maps.shape[2])
        area = F.adaptive_avg_pool2d(counted, grid)
        shares = F.adaptive_avg_pool2d(targets * counted, grid)
        cells = (area > 0).to(maps)
        shares = shares / torch.where(area > 0, area, 1)
        losses = F.binary_cross_entropy_with_logits(maps, shares, reduction="none")
        return (losses * cells).sum() / cells.sum().clamp(min=1)

    def logits(self, model: Localizer, images: Tensor) -> None:
        """Return None: the baseline does not classify."""

    def maps(self, model: Localizer, images: Tensor, labels: Tensor) -> Tensor:
        """Return the (B, h, w) probabilities of the object, the same for every class."""
        return self._cell_logits(model, images).sigmoid()

    def _cell_logits(self, model: Localizer, images: Tensor) -> Tensor:
        maps: Tensor = model.added["last"](model.network.feature_maps(images))
        return maps.squeeze(1)
