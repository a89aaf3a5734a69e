"""A small network for tests and CPUs."""

from collections.abc import Sequence

from torch import nn

from evaluation.wsol_study.networks.base import Backbone

WIDTH = 16


class SmallNetwork(Backbone):
    """Four 3 × 3 convolutions on images of 56 × 56."""

    torchvision_name = "no network of its library"
    side = 56
    body_channels = channels = head_channels = WIDTH
    attended = ("conv3", "conv4")
    guided = (("conv2", WIDTH), ("conv3", WIDTH))

    def __init__(self, classes: int, resolution: int) -> None:
        super().__init__()
        self.conv1 = block(3, WIDTH // 2, 2)
        self.conv2 = block(WIDTH // 2, WIDTH, 28 // resolution)
        self.conv3 = block(WIDTH, WIDTH, 1)
        self.conv4 = block(WIDTH, WIDTH, 1)
        self.top = nn.Identity()
        self.fc = nn.Linear(WIDTH, classes)

    def stages(self) -> Sequence[tuple[str, Sequence[nn.Module]]]:
        return [(name, [getattr(self, name)]) for name in ("conv1", "conv2", "conv3", "conv4")]


def block(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    """Return a 3 × 3 convolution with batch normalization and ReLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )
