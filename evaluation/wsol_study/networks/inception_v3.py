"""InceptionV3 (Szegedy et al. 2016) up to Mixed_6e, as in SPG."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from evaluation.wsol_study.networks.base import Backbone

# Outputs and kernel of a convolution.
Layer = tuple[int, int | tuple[int, int]]


class InceptionV3(Backbone):
    """torchvision's inception_v3() up to Mixed_6e, then two 3 × 3 convolutions to 1024 channels.

    Unlike torchvision's, every convolution and pool pads its input, so that sides halve exactly;
    Mixed_6a has the stride 1 for 28 × 28. Input is normalized as for the other backbones:
    torchvision's `transform_input` is not applied.
    """

    torchvision_name = "inception_v3"
    body_channels = 768
    channels = 1024
    attended = ("Mixed_5", "Mixed_6", "top")
    guided = (("Mixed_5", 288), ("Mixed_6", 768))

    def __init__(self, classes: int, resolution: int) -> None:
        super().__init__()
        self.Conv2d_1a_3x3 = _unit(3, 32, 3, 2)
        self.Conv2d_2a_3x3 = _unit(32, 32, 3)
        self.Conv2d_2b_3x3 = _unit(32, 64, 3)
        self.maxpool1 = nn.MaxPool2d(3, 2, padding=1)
        self.Conv2d_3b_1x1 = _unit(64, 80, 1)
        self.Conv2d_4a_3x3 = _unit(80, 192, 3)
        self.maxpool2 = nn.MaxPool2d(3, 2, padding=1)
        self.Mixed_5b = _block_a(192, 32)
        self.Mixed_5c = _block_a(256, 64)
        self.Mixed_5d = _block_a(288, 64)
        reducing: Mapping[str, Sequence[Layer]] = {
            "branch3x3": [(384, 3)],
            "branch3x3dbl": [(64, 1), (96, 3), (96, 3)],
            "branch_pool": [],
        }
        pool = nn.MaxPool2d(3, 28 // resolution, padding=1)
        self.Mixed_6a = InceptionBlock(288, reducing, pool, 28 // resolution)
        self.Mixed_6b = _block_c(128)
        self.Mixed_6c = _block_c(160)
        self.Mixed_6d = _block_c(160)
        self.Mixed_6e = _block_c(192)
        first, second = (nn.Conv2d(size, 1024, 3, padding=1) for size in (768, 1024))
        self.top = nn.Sequential(first, nn.ReLU(), second, nn.ReLU())
        self.fc = nn.Linear(self.channels, classes)

    def stages(self) -> Sequence[tuple[str, Sequence[nn.Module]]]:
        layers = list(self.children())
        # The stem ends with the second max pool; `top` and `fc` are last.
        return [("stem", layers[:7]), ("Mixed_5", layers[7:10]), ("Mixed_6", layers[10:15])]


class InceptionBlock(nn.Module):
    """Parallel branches of convolutions with concatenated outputs; "branch_pool" pools first.

    Layers are named BRANCH_NUMBER from 1, or BRANCH if the branch has one layer. stride: of the
    last layer of each branch.
    """

    def __init__(
        self, inputs: int, branches: Mapping[str, Sequence[Layer]], pool: nn.Module, stride: int = 1
    ) -> None:
        super().__init__()
        self.pool = pool
        self.names: dict[str, list[str]] = {}
        for branch, layers in branches.items():
            width, self.names[branch] = inputs, []
            for number, (outputs, kernel) in enumerate(layers, start=1):
                name = f"{branch}_{number}" if len(layers) > 1 else branch
                is_last = number == len(layers)
                self.add_module(name, _unit(width, outputs, kernel, stride if is_last else 1))
                self.names[branch].append(name)
                width = outputs

    def forward(self, values: Tensor) -> Tensor:
        outputs = []
        for branch, names in self.names.items():
            output = self.pool(values) if branch == "branch_pool" else values
            for name in names:
                output = getattr(self, name)(output)
            outputs.append(output)
        return torch.cat(outputs, 1)


def _block_a(inputs: int, pooled: int) -> InceptionBlock:
    """Return torchvision's InceptionA."""
    branches: Mapping[str, Sequence[Layer]] = {
        "branch1x1": [(64, 1)],
        "branch5x5": [(48, 1), (64, 5)],
        "branch3x3dbl": [(64, 1), (96, 3), (96, 3)],
        "branch_pool": [(pooled, 1)],
    }
    return InceptionBlock(inputs, branches, nn.AvgPool2d(3, 1, padding=1))


def _block_c(width: int) -> InceptionBlock:
    """Return torchvision's InceptionC."""
    row, column = (1, 7), (7, 1)
    double: list[Layer] = [(width, 1), (width, column), (width, row), (width, column), (192, row)]
    branches: Mapping[str, Sequence[Layer]] = {
        "branch1x1": [(192, 1)],
        "branch7x7": [(width, 1), (width, row), (192, column)],
        "branch7x7dbl": double,
        "branch_pool": [(192, 1)],
    }
    return InceptionBlock(768, branches, nn.AvgPool2d(3, 1, padding=1))


def _unit(
    inputs: int, outputs: int, kernel: int | tuple[int, int], stride: int = 1
) -> nn.Sequential:
    """Return torchvision's BasicConv2d: convolution, batch normalization, ReLU."""
    sides = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    padding = (sides[0] // 2, sides[1] // 2)
    layers: list[tuple[str, nn.Module]] = [
        ("conv", nn.Conv2d(inputs, outputs, sides, stride, padding, bias=False)),
        ("bn", nn.BatchNorm2d(outputs, eps=0.001)),
        ("relu", nn.ReLU(inplace=True)),
    ]
    return nn.Sequential(OrderedDict(layers))
