"""ResNet50 (He et al. 2016) with finer feature maps."""

from collections.abc import Sequence

from torch import Tensor, nn

from evaluation.wsol_study.networks.base import Backbone

EXPANSION = 4


class ResNet50(Backbone):
    """torchvision's resnet50() with stride 1 in layer4 and, for 28 × 28, in layer3."""

    torchvision_name = "resnet50"
    body_channels = channels = 2048
    attended = ("layer2", "layer3", "layer4")
    # As in the authors' code.
    classifier_stages = ("layer4",)
    guided = (("layer2", 512), ("layer3", 1024))

    def __init__(self, classes: int, resolution: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        self.layer1 = _layer(64, 64, 3, 1)
        self.layer2 = _layer(256, 128, 4, 2)
        self.layer3 = _layer(512, 256, 6, 28 // resolution)
        self.layer4 = _layer(1024, 512, 3, 1)
        self.top = nn.Identity()
        self.fc = nn.Linear(self.channels, classes)

    def stages(self) -> Sequence[tuple[str, Sequence[nn.Module]]]:
        layers = [(f"layer{at}", [getattr(self, f"layer{at}")]) for at in range(1, 5)]
        return [("stem", [self.conv1, self.bn1, self.relu, self.maxpool]), *layers]


class ResidualBlock(nn.Module):
    """torchvision's Bottleneck, with the stride in the 3 × 3 convolution."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = nn.Sequential()
        if inputs != outputs:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample.extend([shortcut, nn.BatchNorm2d(outputs)])

    def forward(self, values: Tensor) -> Tensor:
        inner = self.relu(self.bn1(self.conv1(values)))
        inner = self.relu(self.bn2(self.conv2(inner)))
        summed: Tensor = self.bn3(self.conv3(inner)) + self.downsample(values)
        return self.relu(summed)


def _layer(inputs: int, width: int, count: int, stride: int) -> nn.Sequential:
    rest = (ResidualBlock(width * EXPANSION, width, 1) for _ in range(count - 1))
    return nn.Sequential(ResidualBlock(inputs, width, stride), *rest)
