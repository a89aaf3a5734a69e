"""Names, shapes and numbers of torchvision's networks.

torchvision_names.json: from `state_dict()` of torchvision 0.28's vgg16().features, resnet50() and
inception_v3(), without the counters of batch normalization.
"""

import json
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from evaluation.wsol_study.networks import build, load_weights
from labeling.files import BadInput
from tests.cases import for_each

NAMES = json.loads((Path(__file__).parent / "torchvision_names.json").read_text())
# What our networks leave out of torchvision's.
LEFT_OUT = {"vgg16": (), "resnet50": ("fc.",), "inception_v3": ("fc.", "Mixed_7", "AuxLogits.")}
COUNTER = "num_batches_tracked"


def random_state(backbone, seed=0):
    """Return weights of torchvision's names with activations of about 1."""
    generator, state = torch.Generator().manual_seed(seed), {}
    for name, shape in NAMES[backbone].items():
        if name.startswith(LEFT_OUT[backbone]):
            continue
        values = torch.randn(shape, generator=generator)
        if len(shape) == 4:
            values *= (2 / (shape[1] * shape[2] * shape[3])) ** 0.5
        elif name.endswith(("running_var", "weight")):
            values = 0.5 + values.abs()
        state[name] = values
    return state


@for_each("backbone", NAMES)
def test_the_body_has_torchvisions_names_and_shapes(backbone):
    network = build(backbone, 7, 14)
    state = network.state_dict()

    ours = {
        name: list(state[name].shape) for name in network.body_names() if not name.endswith(COUNTER)
    }

    expected = NAMES[backbone].items()
    assert ours == {n: shape for n, shape in expected if not n.startswith(LEFT_OUT[backbone])}
    rest = state.keys() - set(network.body_names())
    assert {name.partition(".")[0] for name in rest} <= {"top", "fc"}


@for_each("backbone", NAMES)
def test_a_file_of_torchvision_fills_the_body(backbone, tmp_path):
    # An expanded tensor is saved as the one number that it holds.
    state = {name: torch.tensor(0.5).expand(shape) for name, shape in NAMES[backbone].items()}
    torch.save(state, tmp_path / "weights.pth")
    network = build(backbone, 7, 28)
    top = [values.clone() for values in network.top.parameters()]

    load_weights(network, tmp_path / "weights.pth")

    filled = network.state_dict()
    body = [name for name in network.body_names() if not name.endswith(COUNTER)]
    assert all((filled[name] == 0.5).all() for name in body)
    assert all(map(torch.equal, top, network.top.parameters()))
    assert network.fc.weight.shape == (7, network.channels)
    assert not (network.fc.weight == 0.5).any()


def test_weights_of_another_network_are_refused(tmp_path):
    torch.save({"conv1.weight": torch.zeros(64, 3, 7, 7)}, tmp_path / "weights.pth")

    with pytest.raises(BadInput, match=r"is missing.*torchvision's weights of vgg16"):
        load_weights(build("vgg16", 7, 14), tmp_path / "weights.pth")


class Plain:
    """The layers as functions of a state dict."""

    def __init__(self, state):
        self.state = state

    def conv(self, x, name, stride=1, padding=0):
        bias = self.state.get(f"{name}.bias")
        return F.conv2d(x, self.state[f"{name}.weight"], bias, stride, padding)

    def norm(self, x, name, eps=1e-5):
        mean, variance, weight, bias = (
            self.state[f"{name}.{part}"].view(1, -1, 1, 1)
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / (variance + eps).sqrt() * weight + bias

    def basic(self, x, name, stride=1, padding=0):
        x = self.conv(x, f"{name}.conv", stride, padding)
        return self.norm(x, f"{name}.bn", 1e-3).relu()


def plain_vgg16(plain, x, resolution):
    for at in range(30):
        if f"features.{at}.weight" in plain.state:
            x = plain.conv(x, f"features.{at}", padding=1).relu()
        elif at in (4, 9, 16) or (at == 23 and resolution == 14):
            x = F.max_pool2d(x, 2)
    return x


def plain_resnet50(plain, x, strides):
    x = plain.norm(plain.conv(x, "conv1", 2, 3), "bn1").relu()
    x = F.max_pool2d(x, 3, 2, 1)
    for layer, (count, stride) in enumerate(zip((3, 4, 6, 3), strides, strict=True), start=1):
        for at in range(count):
            name, step = f"layer{layer}.{at}", stride if at == 0 else 1
            y = plain.norm(plain.conv(x, f"{name}.conv1"), f"{name}.bn1").relu()
            y = plain.norm(plain.conv(y, f"{name}.conv2", step, 1), f"{name}.bn2").relu()
            y = plain.norm(plain.conv(y, f"{name}.conv3"), f"{name}.bn3")
            if at == 0:
                x = plain.conv(x, f"{name}.downsample.0", step)
                x = plain.norm(x, f"{name}.downsample.1")
            x = (x + y).relu()
    return x


def plain_inception_v3(plain, x, resolution):
    stride = 28 // resolution
    x = plain.basic(x, "Conv2d_1a_3x3", 2, 1)
    x = plain.basic(x, "Conv2d_2a_3x3", 1, 1)
    x = F.max_pool2d(plain.basic(x, "Conv2d_2b_3x3", 1, 1), 3, 2, 1)
    x = plain.basic(x, "Conv2d_3b_1x1")
    x = F.max_pool2d(plain.basic(x, "Conv2d_4a_3x3", 1, 1), 3, 2, 1)
    for name in ("Mixed_5b", "Mixed_5c", "Mixed_5d"):
        small = plain.basic(x, f"{name}.branch1x1")
        large = plain.basic(x, f"{name}.branch5x5_1")
        large = plain.basic(large, f"{name}.branch5x5_2", 1, 2)
        double = plain.basic(x, f"{name}.branch3x3dbl_1")
        double = plain.basic(double, f"{name}.branch3x3dbl_2", 1, 1)
        double = plain.basic(double, f"{name}.branch3x3dbl_3", 1, 1)
        pooled = plain.basic(F.avg_pool2d(x, 3, 1, 1), f"{name}.branch_pool")
        x = torch.cat([small, large, double, pooled], 1)
    single = plain.basic(x, "Mixed_6a.branch3x3", stride, 1)
    double = plain.basic(x, "Mixed_6a.branch3x3dbl_1")
    double = plain.basic(double, "Mixed_6a.branch3x3dbl_2", 1, 1)
    double = plain.basic(double, "Mixed_6a.branch3x3dbl_3", stride, 1)
    x = torch.cat([single, double, F.max_pool2d(x, 3, stride, 1)], 1)
    for name in ("Mixed_6b", "Mixed_6c", "Mixed_6d", "Mixed_6e"):
        small = plain.basic(x, f"{name}.branch1x1")
        single = plain.basic(x, f"{name}.branch7x7_1")
        single = plain.basic(single, f"{name}.branch7x7_2", 1, (0, 3))
        single = plain.basic(single, f"{name}.branch7x7_3", 1, (3, 0))
        double = plain.basic(x, f"{name}.branch7x7dbl_1")
        for at, padding in ((2, (3, 0)), (3, (0, 3)), (4, (3, 0)), (5, (0, 3))):
            double = plain.basic(double, f"{name}.branch7x7dbl_{at}", 1, padding)
        pooled = plain.basic(F.avg_pool2d(x, 3, 1, 1), f"{name}.branch_pool")
        x = torch.cat([small, single, double, pooled], 1)
    return x


PLAIN = {
    "vgg16": plain_vgg16,
    "resnet50": lambda plain, x, side: plain_resnet50(plain, x, (1, 2, 28 // side, 1)),
    "inception_v3": plain_inception_v3,
}


def filled(backbone, resolution):
    network, state = build(backbone, 7, resolution).eval(), random_state(backbone)
    network.load_state_dict(state, strict=False)
    return network, Plain(state)


@for_each(("backbone", "resolution"), [(name, side) for name in NAMES for side in (14, 28)])
@torch.no_grad()
def test_the_body_equals_a_plain_restatement(backbone, resolution):
    network, plain = filled(backbone, resolution)
    images = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(1))

    body, expected = network.body(images), PLAIN[backbone](plain, images, resolution)

    side = 64 // (224 // resolution)
    assert body.shape == expected.shape == (2, network.body_channels, side, side)
    torch.testing.assert_close(body, expected, rtol=1e-4, atol=1e-4 * expected.abs().max().item())


@torch.no_grad()
def test_resnet50_with_torchvisions_strides_gives_its_features():
    network, plain = filled("resnet50", 14)
    for layer in (network.layer4[0].conv2, network.layer4[0].downsample[0]):
        layer.stride = (2, 2)
    images = torch.randn(1, 3, 64, 64, generator=torch.Generator().manual_seed(1))

    body, expected = network.body(images), plain_resnet50(plain, images, (1, 2, 2, 2))

    assert body.shape == (1, 2048, 2, 2)
    torch.testing.assert_close(body, expected, rtol=1e-4, atol=1e-4 * expected.abs().max().item())
