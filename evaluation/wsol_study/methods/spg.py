"""SPG (Zhang et al. 2018): branches learn masks made from the network's score maps."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from evaluation.wsol_study.hyperparameters import Values
from evaluation.wsol_study.methods.base import Localizer, WsolMethod, activation_maps, normalized
from evaluation.wsol_study.networks import build


class SelfProducedGuidance(WsolMethod):
    """SPG: CAM with the branches B1, B2 and C, which are used in training only.

    B1 and B2 read the backbone's `guided` stages, C its features. The normalized score map of the
    label guides B2, the output of B2 guides B1, and the mean of both outputs guides C; each
    target is made with the thresholds of the branch that it guides. The loss is the sum of the
    cross-entropy and of the three branches. B1 and B2 share all but their first convolution.
    The authors' code compares masks at 224 × 224. If fewer than 30 pixels are above the threshold,
    it takes those above 0.7 times the maximum as foreground; the paper has neither.
    """

    name = "spg"

    def model(self, backbone: str, classes: int, values: Values) -> Localizer:
        network = build(backbone, classes, int(values["resolution"]))
        width = network.head_channels // 2
        first, second = (channels for _, channels in network.guided)
        last = nn.Conv2d(width, 1, 1)
        shared = nn.Sequential(nn.ReLU(), _convolution(width, width), nn.ReLU(), last)
        c = [_convolution(network.channels, width), nn.ReLU(), nn.Conv2d(width, 1, 1)]
        b1, b2 = _convolution(first, width), _convolution(second, width)
        return Localizer(network, values, b1=b1, b2=b2, shared=shared, c=nn.Sequential(*c))

    def loss(
        self, model: Localizer, images: Tensor, labels: Tensor, generator: torch.Generator
    ) -> Tensor:
        network, added, outputs = model.network, model.added, dict[str, Tensor]()

        def between(stage: str, values: Tensor) -> Tensor:
            outputs[stage] = values
            return values

        features = network.feature_maps(images, between)
        b1, b2 = (
            _at_side(added["shared"](added[branch](outputs[stage])), features.shape[2])
            for branch, (stage, _) in zip(("b1", "b2"), network.guided, strict=True)
        )
        guides = {
            "b2": (b2, normalized(activation_maps(features, network.fc, labels))),
            "b1": (b1, b2.sigmoid()),
            "c": (added["c"](features).squeeze(1), (b1.sigmoid() + b2.sigmoid()) / 2),
        }
        loss = F.cross_entropy(network.classify(features), labels)
        for branch, (logits, scores) in guides.items():
            low, high = (model.values[f"{end}_{branch}"] for end in ("low", "high"))
            loss = loss + guided_loss(logits, scores, low, high)
        return loss


def _convolution(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def _at_side(maps: Tensor, side: int) -> Tensor:
    """Return (B, 1, h, w) maps as (B, side, side): stages before the last stride are finer."""
    # adaptive_avg_pool2d has no deterministic gradient on CUDA.
    return F.avg_pool2d(maps, maps.shape[2] // side).squeeze(1)


def guided_loss(logits: Tensor, scores: Tensor, low: float, high: float) -> Tensor:
    """Return the mean binary cross-entropy over pixels that are not ignored; 0 without any.

    Pixels with scores below `low` are background, above `high` foreground, the rest is ignored. The
    scores get no gradient.
    """
    foreground, counted = scores > high, (scores > high) | (scores < low)
    losses = F.binary_cross_entropy_with_logits(logits, foreground.to(logits), reduction="none")
    return (losses * counted).sum() / counted.sum().clamp(min=1)
