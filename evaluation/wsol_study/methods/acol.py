"""ACoL (Zhang et al. 2018): a second head learns from features without the first one's region."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluation.wsol_study.hyperparameters import Values
from evaluation.wsol_study.methods.base import Localizer, WsolMethod, normalized, of_classes
from evaluation.wsol_study.networks import build


class AdversarialComplementaryLearning(WsolMethod):
    """ACoL: two heads on the output of torchvision's layers, both with cross-entropy.

    A head is two 3 × 3 convolutions with ReLU and a 1 × 1 convolution to the classes. The score
    map is the larger of both normalized maps. Logits are those of the first head, as in the
    authors' code; the paper does not say which. `top` and `fc` of the backbone are not used.
    """

    name = "acol"

    def model(self, backbone: str, classes: int, values: Values) -> Localizer:
        network = build(backbone, classes, int(values["resolution"]))
        heads = (head(network.body_channels, network.head_channels, classes) for _ in range(2))
        return Localizer(network, values, first=next(heads), second=next(heads))

    def loss(
        self, model: Localizer, images: Tensor, labels: Tensor, generator: torch.Generator
    ) -> Tensor:
        features = model.network.body(images)
        first = model.added["first"](features)
        kept = erasing_mask(of_classes(first, labels), model.values["erasing_threshold"])
        second = model.added["second"](features * kept)
        losses = [F.cross_entropy(maps.mean((2, 3)), labels) for maps in (first, second)]
        return losses[0] + losses[1]

    def logits(self, model: Localizer, images: Tensor) -> Tensor:
        maps: Tensor = model.added["first"](model.network.body(images))
        return maps.mean((2, 3))

    def maps(self, model: Localizer, images: Tensor, labels: Tensor) -> Tensor:
        features = model.network.body(images)
        first = of_classes(model.added["first"](features), labels)
        kept = erasing_mask(first, model.values["erasing_threshold"])
        second = of_classes(model.added["second"](features * kept), labels)
        return torch.maximum(normalized(first), normalized(second))


def erasing_mask(maps: Tensor, threshold: float) -> Tensor:
    """Return (B, 1, h, w): 0 where the normalized map reaches the threshold, else 1.

    A threshold of 0 erases everything. A threshold of 1 means "do not erase" in the paper,
    but erases the peak here, as in the authors' code.
    """
    return (normalized(maps) < threshold).to(maps).unsqueeze(1)


def head(inputs: int, width: int, outputs: int) -> nn.Sequential:
    """Return two 3 × 3 convolutions with ReLU and a 1 × 1 convolution."""
    first, second = (nn.Conv2d(size, width, 3, padding=1) for size in (inputs, width))
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Conv2d(width, outputs, 1))
