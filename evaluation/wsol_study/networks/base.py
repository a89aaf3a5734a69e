"""Base class of the backbones: stages, then a global average pool and a linear layer."""

from collections.abc import Callable, Iterator, Sequence

from torch import Tensor, nn

Between = Callable[[str, Tensor], Tensor]


def unchanged(stage: str, values: Tensor) -> Tensor:
    """Return the output of a stage unchanged."""
    return values


class Backbone(nn.Module):
    """A classifier of images: fc(mean over pixels of the features).

    Subclasses create torchvision's layers (the body), then `top` (extra layers, often none), and
    `fc` last. side: of the square images. attended: the stages after which ADL acts. guided: the
    stages that SPG's branches B1 and B2 read, with their channels. head_channels: the width of
    ACoL's heads, twice that of SPG's branches. classifier_stages: stages of the body with the
    classifier's learning rate.
    """

    torchvision_name: str
    side = 224
    body_channels: int
    channels: int
    head_channels = 1024
    classifier_stages: Sequence[str] = ()
    attended: Sequence[str]
    guided: Sequence[tuple[str, int]]
    top: nn.Module
    fc: nn.Linear

    def stages(self) -> Sequence[tuple[str, Sequence[nn.Module]]]:
        """Return the name and the layers of each stage of torchvision's network."""
        raise NotImplementedError

    def body_names(self, without: Sequence[str] = ()) -> Iterator[str]:
        """Yield the names of the parameters and buffers that torchvision's network has too.

        without: the names of stages to skip.
        """
        layers = {layer for name, stage in self.stages() if name not in without for layer in stage}
        for prefix, module in self.named_modules():
            if module in layers:
                yield from (f"{prefix}.{name}" for name in module.state_dict())

    def body(self, images: Tensor, between: Between = unchanged) -> Tensor:
        """Return the (B, body_channels, h, w) output of torchvision's layers."""
        for name, layers in self.stages():
            for layer in layers:
                images = layer(images)
            images = between(name, images)
        return images

    def feature_maps(self, images: Tensor, between: Between = unchanged) -> Tensor:
        """Return the (B, channels, h, w) features.

        images: (B, 3, side, side). between: called with the name and output of each stage, and
        of "top"; the next stage takes what it returns.
        """
        features: Tensor = self.top(self.body(images, between))
        return between("top", features)

    def classify(self, features: Tensor) -> Tensor:
        """Return the (B, classes) logits of features."""
        logits: Tensor = self.fc(features.mean((2, 3)))
        return logits

    def forward(self, images: Tensor) -> Tensor:
        return self.classify(self.feature_maps(images))
