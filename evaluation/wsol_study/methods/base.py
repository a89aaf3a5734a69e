"""Base class and helpers of the methods."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluation.wsol_study.hyperparameters import Values
from evaluation.wsol_study.networks import build
from evaluation.wsol_study.networks.base import Backbone


class Localizer(nn.Module):
    """A network with a trial's hyperparameters and the layers that a method adds."""

    def __init__(self, network: Backbone, values: Values, **added: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.values = dict(values)
        self.added = nn.ModuleDict(added)
        self.apply(_initialize)

    def pretrained_parameters(self) -> list[nn.Parameter]:
        """Return the parameters trained with the base learning rate.

        These are the body's without classifier_stages. All others get the classifier's rate.
        """
        parameters = dict(self.network.named_parameters())
        names = self.network.body_names(self.network.classifier_stages)
        return [parameters[name] for name in names if name in parameters]

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.network(images)
        return logits


def _initialize(layer: nn.Module) -> None:
    # As He et al. 2015; VGG16 from scratch does not learn from torch's smaller default.
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)


class WsolMethod:
    """A way to train a network and to read score maps from it.

    images: (B, 3, side, side), normalized so that 0 is the mean color. labels: (B,) integers.
    All randomness comes from the generator, which may be on another device than the images.
    """

    name: str

    def model(self, backbone: str, classes: int, values: Values) -> Localizer:
        """Return a model with random weights from torch's global seed. values: from `draw`."""
        return Localizer(build(backbone, classes, int(values["resolution"])), values)

    def loss(
        self, model: Localizer, images: Tensor, labels: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Return the loss of a training batch, a scalar."""
        return F.cross_entropy(model(images), labels)

    def logits(self, model: Localizer, images: Tensor) -> Tensor | None:
        """Return (B, classes) logits; None for a method that does not classify."""
        logits: Tensor = model(images)
        return logits

    def maps(self, model: Localizer, images: Tensor, labels: Tensor) -> Tensor:
        """Return the (B, h, w) score maps of the classes; larger is more likely the object."""
        return activation_maps(model.network.feature_maps(images), model.network.fc, labels)


def activation_maps(features: Tensor, fc: nn.Linear, labels: Tensor) -> Tensor:
    """Return the (B, h, w) maps of the labels; the mean of a map is the label's logit.

    features: (B, channels, h, w). Source: Zhou et al. 2016, CAM. The authors' code leaves the bias
    out for VGG and ResNet; under min-max normalization the maps are the same.
    """
    maps = torch.einsum("bkhw,bk->bhw", features, fc.weight[labels])
    return maps + fc.bias[labels, None, None]


def uniform(generator: torch.Generator, *shape: int) -> Tensor:
    """Return numbers uniform on [0, 1), on the generator's device."""
    return torch.rand(shape, generator=generator, device=generator.device)


def of_classes(maps: Tensor, labels: Tensor) -> Tensor:
    """Return the (B, h, w) maps of the labels, from (B, classes, h, w)."""
    return maps[torch.arange(len(labels), device=maps.device), labels]


def normalized(maps: Tensor) -> Tensor:
    """Return (B, h, w) maps scaled to [0, 1] each; a constant map becomes 0."""
    low, high = maps.amin((1, 2), keepdim=True), maps.amax((1, 2), keepdim=True)
    return (maps - low) / torch.where(high > low, high - low, 1)
