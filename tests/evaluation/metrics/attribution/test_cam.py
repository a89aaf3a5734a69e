"""Class activation maps: the law of their mean, heads of every kind, and denser grids."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from evaluation.classifiers.model_files import in_batches
from evaluation.metrics.attribution.cam import class_activation_maps, denser
from evaluation.metrics.attribution.recipes import Unsuited

CLASSES = torch.tensor([2, 0])


class Body(nn.Module):
    """Two convolutions, then a head of its own."""

    def __init__(self, outputs=6):
        super().__init__()
        torch.manual_seed(2)
        self.first = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.second = nn.Conv2d(6, outputs, 3, padding=1)
        self.last = nn.Linear(6, 3)

    def features(self, images):
        return F.relu(self.second(F.relu(self.first(images))))


class Pooled(Body):
    def forward(self, images):
        pooled = F.adaptive_avg_pool2d(self.features(images), 1).flatten(1)
        return self.last(F.dropout(pooled, training=self.training))


class Averaged(Body):
    def forward(self, images):
        return self.last(self.features(images).mean(3).mean(2))


class ChannelsLast(Body):
    def forward(self, images):
        return self.last(self.features(images).permute(0, 2, 3, 1).mean((1, 2)))


class Convolved(Body):
    """The class weights as a 1 × 1 convolution after the mean."""

    def forward(self, images):
        means = self.features(images).mean((2, 3), keepdim=True)
        return F.conv2d(means, self.last.weight[:, :, None, None], self.last.bias).flatten(1)


class Squeezed(Body):
    """With squeeze-and-excitation before, whose pools and weights are not the head's."""

    def forward(self, images):
        maps = self.features(images)
        gates = torch.sigmoid(F.conv2d(maps.mean((2, 3), True), torch.eye(6)[:, :, None, None]))
        return self.last((maps * gates).mean((2, 3)))


class Sure(Pooled):
    """Probabilities; its maps are those of the logits."""

    def forward(self, images):
        return super().forward(images).softmax(1)


def images_of(count=2, side=16):
    return torch.randn((count, 3, side, side), generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("kind", [Pooled, Averaged, ChannelsLast, Convolved, Squeezed])
def test_the_mean_of_a_map_is_the_logit_less_its_bias(kind):
    network, images = kind().eval(), images_of()

    maps = class_activation_maps(network, images, CLASSES)

    with torch.no_grad():
        logits = network(images)[torch.arange(2), CLASSES]
    assert maps.shape == (2, 8, 8)
    assert torch.allclose(maps.mean((1, 2)), logits - network.last.bias[CLASSES], atol=1e-6)


@pytest.mark.parametrize("kind", [Pooled, Averaged, ChannelsLast, Convolved, Sure])
def test_a_map_is_the_class_weights_over_the_features_in_a_plain_loop(kind):
    network, images = kind().eval(), images_of()

    maps = class_activation_maps(network, images, CLASSES)

    with torch.no_grad():
        features = network.features(images)
    for n, y, x in np.ndindex(*maps.shape):
        weights = network.last.weight[CLASSES[n]].tolist()
        values = features[n, :, y, x].tolist()
        expected = sum(w * v for w, v in zip(weights, values, strict=True))
        assert maps[n, y, x].item() == pytest.approx(expected, abs=1e-5)


def test_a_network_that_ends_in_a_mean_of_one_map_a_class_gives_that_map():
    body = Body(outputs=3)

    maps = class_activation_maps(
        lambda images: body.features(images).mean((2, 3)), images_of(), CLASSES
    )

    assert torch.equal(maps, body.features(images_of())[torch.arange(2), CLASSES])


def test_an_exported_program_has_maps_too_where_it_takes_the_images_at_once():
    network, images = Pooled().eval(), images_of()
    exported = torch.export.export(network, (images,)).module()
    for count in (1, 2):
        maps = class_activation_maps(in_batches(exported, 2, 2), images[:count], CLASSES[:count])

        expected = class_activation_maps(network, images[:count], CLASSES[:count])
        # Batches of another size may be added up in another order.
        assert torch.allclose(maps, expected, atol=1e-6)

    with pytest.raises(Unsuited, match="takes 2 images at once"):
        class_activation_maps(in_batches(exported, 2, 2), images_of(4), torch.arange(4) % 3)


def test_networks_without_the_mean_of_a_map_are_refused(recwarn):
    body, images = Body(), images_of()
    networks = {
        "a layer between": lambda images: body.last(
            F.relu(body.features(images).mean((2, 3)) - 0.3)
        ),
        "the greatest": lambda images: body.last(body.features(images).amax((2, 3))),
        "a norm between": lambda images: body.last(
            F.layer_norm(
                body.features(images).mean((2, 3), True).permute(0, 2, 3, 1), (6,)
            ).flatten(1)
        ),
        "all places": lambda images: body.features(images).flatten(1)[:, :3],
        "TorchScript": torch.jit.trace(Pooled().eval(), images),
    }

    for network in networks.values():
        with pytest.raises(Unsuited, match="CAM needs"):
            class_activation_maps(network, images, CLASSES)


# Denser grids.


class Staged(nn.Module):
    """224 pixels to 7 places, as ResNets do: a stem, a pool, and blocks with a shortcut."""

    def __init__(self, pool=None):
        super().__init__()
        torch.manual_seed(3)
        self.stem = nn.Conv2d(3, 4, 7, stride=2, padding=3)
        self.pool = pool or nn.MaxPool2d(3, stride=2, padding=1)
        self.stages = nn.ModuleList(nn.Conv2d(4, 4, 3, 2, padding=1) for _ in range(3))
        self.shortcuts = nn.ModuleList(nn.Conv2d(4, 4, 1, stride=2) for _ in range(3))
        self.last = nn.Linear(4, 3)

    def forward(self, images):
        features = self.pool(self.stem(images))
        for stage, shortcut in zip(self.stages, self.shortcuts, strict=True):
            features = F.relu(stage(features) + shortcut(features))
        return self.last(features.mean((2, 3)))


@pytest.mark.parametrize(("side", "lowered"), [(7, 0), (14, 1), (28, 2), (56, 3)])
def test_the_last_strides_are_one_within_and_as_before_after(side, lowered):
    network, images = Staged().eval(), images_of(side=224)
    before = [stage.stride for stage in network.stages]

    with denser(network, images[:1], side):
        strides = [stage.stride for stage in network.stages]
        maps = class_activation_maps(network, images, CLASSES)

    assert maps.shape == (2, side, side)
    assert strides == [(2, 2)] * (3 - lowered) + [(1, 1)] * lowered
    assert [shortcut.stride for shortcut in network.shortcuts] == before
    assert [stage.stride for stage in network.stages] == before
    assert not any(layer._forward_hooks for layer in network.modules())


def test_a_denser_map_agrees_with_the_usual_one_where_both_have_places():
    network, images = Staged().eval(), images_of(side=224)
    usual = class_activation_maps(network, images, CLASSES)

    with denser(network, images[:1], 14):
        maps = class_activation_maps(network, images, CLASSES)

    assert torch.allclose(maps[:, ::2, ::2], usual, atol=1e-6)


def test_a_pool_that_takes_every_place_once_becomes_the_identity():
    network = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.MaxPool2d(2), nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3),
    )  # fmt: skip
    images = images_of(side=56)

    with denser(network, images[:1], 28):
        assert class_activation_maps(network, images, CLASSES).shape == (2, 28, 28)

    assert (network[2].kernel_size, network[2].stride) == (2, 2)


@pytest.mark.parametrize(
    ("network", "side", "message"),
    [
        (Staged(), 13, "give 7 × 7, 14 × 14 places, not 13 × 13"),
        (Staged(), 500, "224 × 224 places, and no stride is left"),
        (nn.Sequential(nn.Flatten(), nn.Linear(3 * 224 * 224, 3)), 14, "no layers with strides"),
    ],
)
def test_a_side_that_no_strides_give_is_refused_and_all_are_as_before(network, side, message):
    kinds = (nn.Conv2d, nn.MaxPool2d)
    layers = [layer for layer in network.modules() if isinstance(layer, kinds)]
    before = [(layer.stride, layer.kernel_size) for layer in layers]

    with pytest.raises(Unsuited, match=message), denser(network, images_of(1, 224), side):
        raise AssertionError("the block ran")

    assert [(layer.stride, layer.kernel_size) for layer in layers] == before


def test_a_stride_outside_of_layers_is_refused():
    class Branched(Staged):
        def forward(self, images):
            features = F.max_pool2d(images[:, :1], 2) + self.stem(images)
            return self.last(features.mean((2, 3)))

    network = Branched()

    refused = pytest.raises(Unsuited, match="do not fit together")
    with refused, denser(network, images_of(1, 224), 224):
        raise AssertionError("the block ran")
    assert network.stem.stride == (2, 2)


def test_strides_come_back_when_the_block_fails():
    network = Staged()

    with pytest.raises(RuntimeError), denser(network, images_of(1, 224), 28):
        raise RuntimeError

    assert [stage.stride for stage in network.stages] == [(2, 2)] * 3


@pytest.mark.parametrize("name", ["resnet18", "densenet121", "squeezenet1_1", "mobilenet_v2"])
def test_networks_of_torchvision_have_maps(name):
    models = pytest.importorskip("torchvision.models", reason="torchvision is not installed")
    network, images = models.get_model(name, weights=None, num_classes=3).eval(), images_of(2, 224)

    maps = class_activation_maps(network, images, CLASSES)

    with torch.no_grad():
        logits = network(images)[torch.arange(2), CLASSES]
    head = [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
    bias = head[-1].bias[CLASSES] if head else 0
    assert torch.allclose(maps.mean((1, 2)), logits - bias, atol=1e-4)


@pytest.mark.parametrize("name", ["vgg11", "vit_b_16"])
def test_networks_of_torchvision_without_a_mean_are_refused(name):
    models = pytest.importorskip("torchvision.models", reason="torchvision is not installed")
    network = models.get_model(name, weights=None, num_classes=3).eval()

    with pytest.raises(Unsuited, match="CAM needs"):
        class_activation_maps(network, images_of(2, 224), CLASSES)
