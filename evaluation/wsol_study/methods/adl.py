"""ADL (Choe and Shim 2019): layers that drop the most active region of features."""

import torch
from torch import Tensor
from torch.nn import functional as F

from evaluation.wsol_study.methods.base import Localizer, WsolMethod, uniform


class AttentionDropout(WsolMethod):
    """ADL: CAM trained with a dropout layer after each of the backbone's `attended` stages.

    Each layer draws for the whole batch: the drop mask with the probability `drop_rate`, else the
    importance map. Score maps and logits are computed without the layers.
    """

    name = "adl"

    def loss(
        self, model: Localizer, images: Tensor, labels: Tensor, generator: torch.Generator
    ) -> Tensor:
        network, values = model.network, model.values

        def between(stage: str, features: Tensor) -> Tensor:
            if stage not in network.attended:
                return features
            drops = uniform(generator).to(features.device) < values["drop_rate"]
            return attended(features, drops, values["erasing_threshold"])

        return F.cross_entropy(network.classify(network.feature_maps(images, between)), labels)


def attended(features: Tensor, drops: Tensor, threshold: float) -> Tensor:
    """Return features times the drop mask if `drops`, else times the importance map.

    The attention is the mean over channels. The drop mask is 0 where the attention reaches the
    threshold times its maximum in the image, and 1 elsewhere; the importance map is its sigmoid.
    """
    attention = features.mean(1, keepdim=True)
    kept = attention < threshold * attention.amax((2, 3), keepdim=True)
    return features * torch.where(drops, kept.to(features), attention.sigmoid())
