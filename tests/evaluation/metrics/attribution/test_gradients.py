"""Gradients at the image and their averages: laws, and plain loops over finite differences."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from evaluation.metrics.attribution.gradients import (
    count_relus,
    gradients,
    integrated_gradients,
    reduced,
    score_maps,
    smoothgrad,
)
from evaluation.metrics.attribution.recipes import GRADIENTS, Recipe, Unsuited

SIDE = 5
CLASSES = torch.tensor([2, 0])


class Curved(nn.Module):
    """Convolution, an activation, a layer; in float64, so that differences are fine."""

    def __init__(self, activation):
        super().__init__()
        torch.manual_seed(1)
        self.first = nn.Conv2d(3, 4, 3, padding=1).double()
        self.last = nn.Linear(4, 3).double()
        self.activation = activation

    def forward(self, images):
        return self.last(self.activation(self.first(images)).mean((2, 3)))


def images_of(count=2, seed=0):
    chance = torch.Generator().manual_seed(seed)
    return torch.randn((count, 3, SIDE, SIDE), generator=chance, dtype=torch.float64)


def differences(network, image, label, step=1e-6):
    """The gradient of one output, a pixel at a time."""
    slopes = torch.zeros_like(image)
    with torch.no_grad():
        for at in np.ndindex(*image.shape):
            ends = []
            for sign in (1, -1):
                moved = image.clone()
                moved[at] += sign * step
                ends.append(network(moved[None])[0, label])
            slopes[at] = (ends[0] - ends[1]) / (2 * step)
    return slopes


def test_a_gradient_is_what_small_changes_of_each_pixel_do():
    network, images = Curved(torch.tanh), images_of()

    result = gradients(network, images, CLASSES)

    for image, label, mine in zip(images, CLASSES, result, strict=True):
        assert torch.allclose(mine, differences(network, image, int(label)), atol=1e-8)


def test_images_and_network_stay_as_they_are():
    network, images = Curved(nn.ReLU(inplace=True)), images_of()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    kept = images.clone()

    gradients(network, images, CLASSES, guided=True)

    assert torch.equal(images, kept)
    assert not images.requires_grad
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in network.parameters())
    assert not any(m._forward_hooks or m._backward_hooks for m in network.modules())


# Guided backpropagation.


@pytest.mark.parametrize("relu", [True, False])
def test_guided_equals_vanilla_on_a_linear_network(relu):
    network, images = Curved(nn.ReLU() if relu else nn.Identity()), images_of()
    if relu:
        # Nothing is below 0, forwards or backwards: the ReLUs change nothing.
        with torch.no_grad():
            network.first.bias.add_(100)
            network.last.weight.abs_()

    result = gradients(network, images, CLASSES, guided=True)

    assert torch.equal(result, gradients(network, images, CLASSES))
    assert count_relus(network, images) == int(relu)


def by_hand(network, images, classes):
    """Guided backpropagation of Curved, written out."""
    between = network.first(images)
    _, _, height, width = between.shape
    back = network.last.weight[classes][:, :, None, None] / (height * width)
    back = back.clamp(min=0).expand_as(between) * (between > 0)
    return torch.nn.grad.conv2d_input(images.shape, network.first.weight, back, padding=1)


@pytest.mark.parametrize(
    "relu",
    [
        nn.ReLU(),
        nn.ReLU(inplace=True),
        F.relu,
        lambda values: F.relu(values, inplace=True),
        lambda values: F.relu(values, True),
        F.relu_,
        torch.relu,
        torch.relu_,
        lambda values: values.relu(),
        lambda values: values.relu_(),
        lambda values: F.relu(input=values),
    ],
)
def test_guided_meets_every_relu_however_it_is_called(relu):
    network, images = Curved(relu), images_of()

    result = gradients(network, images, CLASSES, guided=True)

    assert torch.allclose(result, by_hand(network, images, CLASSES))
    assert not torch.allclose(result, gradients(network, images, CLASSES))


def test_guided_works_in_exported_programs_and_vanilla_in_torchscript(recwarn):
    network, images = Curved(nn.ReLU()), images_of()
    exported = torch.export.export(network, (images,)).module()
    scripted = torch.jit.trace(network, images)

    result = gradients(exported, images, CLASSES, guided=True)

    assert torch.allclose(result, by_hand(network, images, CLASSES))
    expected = gradients(network, images, CLASSES)
    assert torch.allclose(gradients(scripted, images, CLASSES), expected)
    assert (count_relus(exported, images), count_relus(scripted, images)) == (1, 0)


def test_an_error_in_the_network_leaves_later_relus_alone():
    def failing(images):
        F.relu(images)
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        gradients(failing, images_of(), CLASSES, guided=True)

    values = torch.tensor([1.0], requires_grad=True)
    F.relu(values).backward(torch.tensor([-1.0]))
    assert values.grad == -1


@pytest.mark.parametrize("lost", ["detached", "ignored"])
def test_a_network_without_gradients_is_refused(lost):
    network = Curved(torch.tanh)

    def hidden(images):
        return network(images.detach() if lost == "detached" else torch.ones_like(images))

    with pytest.raises(Unsuited, match="no gradient comes"):
        gradients(hidden, images_of(), CLASSES)


# SmoothGrad.


@pytest.mark.parametrize(
    ("average", "activation", "options"),
    [
        (smoothgrad, torch.tanh, {"samples": 7, "noise": 0}),
        (smoothgrad, nn.Identity(), {"samples": 3, "noise": 5.0}),
        (integrated_gradients, nn.Identity(), {"steps": 3}),
    ],
    ids=["no noise", "noise on a linear network", "integrated on a linear network"],
)
def test_an_average_of_equal_gradients_is_the_gradient(average, activation, options):
    network, images = Curved(activation), images_of()

    result = average(network, images, CLASSES, **options)

    assert torch.allclose(result, gradients(network, images, CLASSES))


def test_smoothgrad_is_the_mean_of_a_plain_loop():
    network, images = Curved(torch.tanh), images_of()
    drawn = torch.randn((6, 3, SIDE, SIDE), generator=torch.Generator().manual_seed(4))
    plain = torch.zeros_like(images)
    for n, image in enumerate(images):
        for noise in drawn:
            noised = image + 0.3 * (image.max() - image.min()) * noise
            plain[n] += gradients(network, noised[None], CLASSES[n : n + 1])[0] / 6

    for at_once in (1, 5, 100):
        result = smoothgrad(network, images, CLASSES, 6, 0.3, seed=4, at_once=at_once)
        assert torch.allclose(result, plain)


def test_the_noise_of_an_image_depends_on_the_seed_alone():
    network, images = Curved(torch.tanh), images_of(3)
    classes = torch.tensor([0, 1, 2])

    result = smoothgrad(network, images, classes, 4, seed=1)

    turned = smoothgrad(network, images.flip(0), classes.flip(0), 4, seed=1)
    assert torch.allclose(turned.flip(0), result)
    assert torch.allclose(smoothgrad(network, images[:1], classes[:1], 4, seed=1), result[:1])
    assert not torch.allclose(smoothgrad(network, images, classes, 4, seed=2), result)


# Integrated gradients.


@pytest.mark.parametrize("start", [0.0, -1.5])
def test_integrated_gradients_times_the_input_are_complete(start):
    network, images = Curved(torch.tanh), images_of() * 3
    baseline = torch.full((3, 1, 1), start, dtype=torch.float64)
    with torch.no_grad():
        gained = network(images) - network(baseline.expand(images.shape))
    expected = gained[torch.arange(2), CLASSES]

    off = []
    for steps in (5, 50, 500):
        result = integrated_gradients(network, images, CLASSES, steps, baseline)
        off.append(float(((result * (images - baseline)).sum((1, 2, 3)) - expected).abs().max()))

    assert off[1] < off[0] / 50
    assert off[2] < min(off[1] / 50, 1e-6)


def test_integrated_gradients_are_the_mean_of_a_plain_loop():
    network, images = Curved(nn.ReLU()), images_of()
    plain = torch.zeros_like(images)
    for step in range(4):
        share = (step + 0.5) / 4
        for n, image in enumerate(images):
            between = -1 + share * (image + 1)
            plain[n] += gradients(network, between[None], CLASSES[n : n + 1], guided=True)[0] / 4

    for at_once in (1, 3, 100):
        result = integrated_gradients(network, images, CLASSES, 4, -1.0, True, at_once)
        assert torch.allclose(result, plain)


# Whole maps.


@pytest.mark.parametrize("channels", ["max-abs", "sum-abs", "sum"])
def test_three_channels_become_a_score_by_a_named_rule(channels):
    values = images_of()
    rule = {"max-abs": lambda c: max(map(abs, c)), "sum-abs": lambda c: sum(map(abs, c))}

    reduced_map = reduced(values, channels)

    for n, y, x in np.ndindex(*reduced_map.shape):
        expected = rule.get(channels, sum)(values[n, :, y, x].tolist())
        assert reduced_map[n, y, x].item() == pytest.approx(expected)


@pytest.mark.parametrize("method", GRADIENTS)
def test_a_map_is_the_reduced_gradients_of_its_recipe(method):
    network, images = Curved(nn.ReLU()), images_of()
    guided = method.startswith("guided")
    if "smoothgrad" in method:
        expected = smoothgrad(network, images, CLASSES, 3, 0.2, 9, guided)
    elif "integrated" in method:
        expected = integrated_gradients(network, images, CLASSES, 3, 0.5, guided) * (images - 0.5)
    else:
        expected = gradients(network, images, CLASSES, guided)
    recipe = Recipe(method, samples=3, noise=0.2, times_input=True, channels="sum", seed=9)
    start = torch.full((3, 1, 1), 0.5, dtype=torch.float64)

    result = score_maps(network, images, CLASSES, recipe, start, at_once=2)

    assert result.dtype == torch.float32
    assert torch.allclose(result, expected.sum(1).float(), atol=1e-6)


def test_no_more_images_than_asked_go_through_at_once():
    network, images = Curved(nn.ReLU()), images_of(7)
    classes = torch.arange(7) % 3
    sizes = []

    def watched(batch):
        sizes.append(len(batch))
        return network(batch)

    score_maps(watched, images, classes, Recipe("vanilla"), at_once=3)

    assert sizes == [3, 3, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "gradcam"},
        {"method": "cam", "channels": "mean"},
        {"method": "cam", "smooth_as": "box"},
        {"method": "cam", "samples": 0},
        {"method": "cam", "noise": float("nan")},
        {"method": "cam", "smooth": -1.0},
    ],
)
def test_a_recipe_that_cannot_be_meant_is_refused(wrong):
    with pytest.raises(ValueError, match=r"expected one of|samples are"):
        Recipe(**wrong)


@pytest.mark.gpu
@pytest.mark.parametrize("method", GRADIENTS)
def test_a_gpu_makes_the_same_maps(method):
    network, images = Curved(nn.ReLU()), images_of()
    recipe = Recipe(method, samples=4, smooth=127)
    on_cpu = score_maps(network, images, CLASSES, recipe)

    there = score_maps(network.cuda(), images.cuda(), CLASSES.cuda(), recipe)

    assert torch.allclose(there.cpu(), on_cpu, rtol=1e-4)
