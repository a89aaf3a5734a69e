"""VGG-GAP: VGG16 without its fully connected layers (Zhou et al. 2016)."""

from collections.abc import Sequence

from torch import nn

from evaluation.wsol_study.networks.base import Backbone

# Width and number of the convolutions of each stage; a max pool follows each.
STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


class Vgg16(Backbone):
    """torchvision's vgg16().features, then a 3 × 3 convolution to 1024 channels.

    The last max pool is left out; for 28 × 28, the one before it too.
    """

    torchvision_name = "vgg16"
    body_channels = 512
    channels = 1024
    attended = ("conv3", "conv4", "conv5")
    guided = (("conv4", 512), ("conv5", 512))

    def __init__(self, classes: int, resolution: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inputs = 3
        for width, count in STAGES:
            for _ in range(count):
                layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU(inplace=True)]
                inputs = width
            layers.append(nn.MaxPool2d(2))
        layers[-1] = nn.Identity()
        if resolution == 28:
            layers[23] = nn.Identity()
        self.features = nn.Sequential(*layers)
        self.top = nn.Sequential(nn.Conv2d(512, self.channels, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(self.channels, classes)

    def stages(self) -> Sequence[tuple[str, Sequence[nn.Module]]]:
        layers = iter(self.features)
        return [
            (f"conv{number}", [next(layers) for _ in range(2 * count + 1)])
            for number, (_, count) in enumerate(STAGES, start=1)
        ]
