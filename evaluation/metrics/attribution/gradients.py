"""Score maps of a classifier: CAM, and six variants of the gradient with respect to the image.

Source: Choe et al., "Evaluation for Weakly Supervised Object Localization" (TPAMI 2022), §5.1 and
§5.5: {vanilla, guided} backpropagation × {alone, SmoothGrad, integrated gradients}. Everything runs
on the images' device. A network is a function from (B, 3, H, W) to (B, C) outputs.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import lru_cache

import torch
from torch import Tensor

from evaluation.metrics.attribution.cam import class_activation_maps
from evaluation.metrics.attribution.guided import GuidedReLUs
from evaluation.metrics.attribution.recipes import Recipe, Unsuited
from evaluation.metrics.attribution.smoothing import smoothed

Network = Callable[[Tensor], Tensor]


def score_maps(
    network: Network,
    images: Tensor,
    classes: Tensor,
    recipe: Recipe,
    baseline: Tensor | None = None,
    at_once: int = 32,
) -> Tensor:
    """Return (B, h, w) float32 scores of each image's class: on a CAM's grid, or per pixel.

    images: (B, 3, H, W) as the network takes them; classes: (B,) indices of outputs. baseline: of
    integrated gradients, broadcastable to an image (default 0). at_once: most images per call of
    the network. Raises Unsuited if the network lacks what the method needs.
    """
    if recipe.method == "cam":
        maps = class_activation_maps(network, images, classes)
    else:
        maps = reduced(
            _gradients(network, images, classes, recipe, baseline, at_once), recipe.channels
        )
    return smoothed(maps, recipe.smooth, recipe.smooth_as)


def _gradients(
    network: Network,
    images: Tensor,
    classes: Tensor,
    recipe: Recipe,
    baseline: Tensor | None,
    at_once: int,
) -> Tensor:
    backward, _, average = recipe.method.partition("-")
    guided = backward == "guided"
    if average == "smoothgrad":
        return smoothgrad(
            network, images, classes, recipe.samples, recipe.noise, recipe.seed, guided, at_once
        )
    if average == "integrated":
        start = torch.zeros_like(images[0]) if baseline is None else baseline
        integrated = integrated_gradients(
            network, images, classes, recipe.samples, start, guided, at_once
        )
        return integrated * (images - start) if recipe.times_input else integrated
    return torch.cat(
        [
            gradients(network, *piece, guided)
            for piece in zip(images.split(at_once), classes.split(at_once), strict=True)
        ]
    )


def gradients(network: Network, images: Tensor, classes: Tensor, guided: bool = False) -> Tensor:
    """Return the (B, 3, H, W) gradient of each image's class output with respect to its pixels.

    Source: Simonyan et al., "Deep Inside Convolutional Networks" (2014); guided: Springenberg et
    al. (2015), which is the same if there is no ReLU (see count_relus). The images are unchanged.
    Raises Unsuited if there is no gradient.

    >>> double = lambda images: 2 * images.sum((2, 3))
    >>> gradients(double, torch.ones(1, 3, 1, 1), torch.tensor([2])).flatten()
    tensor([0., 0., 2.])
    """
    pixels = images.detach().requires_grad_()
    with torch.enable_grad(), GuidedReLUs() if guided else nullcontext():
        # Copy the images: a network may begin with an in-place layer.
        chosen = network(pixels.clone()).gather(1, classes[:, None]).sum()
    pixel_gradients = None
    if chosen.requires_grad:
        (pixel_gradients,) = torch.autograd.grad(chosen, pixels, allow_unused=True)
    if pixel_gradients is None:
        raise Unsuited("no gradient comes from its outputs back to the image")
    return pixel_gradients


def count_relus(network: Network, images: Tensor) -> int:
    """Return how many ReLUs guided backpropagation changes; 0 if none is visible."""
    with torch.no_grad(), GuidedReLUs() as guide:
        network(images)
    return guide.calls


def smoothgrad(
    network: Network,
    images: Tensor,
    classes: Tensor,
    samples: int = 50,
    noise: float = 0.15,
    seed: int = 0,
    guided: bool = False,
    at_once: int = 32,
) -> Tensor:
    """Return the (B, 3, H, W) mean gradient of `samples` noised copies of each image.

    noise: its standard deviation as a share of the image's range. All images get the same noise,
    drawn on the CPU, so that a map does not depend on device, batch or order.
    Source: Smilkov et al., "SmoothGrad" (2017).
    """
    flat = images.flatten(1)
    deviation = noise * (flat.amax(1) - flat.amin(1))
    drawn = _noise(seed, (samples, *images.shape[1:]), str(images.device))

    def noised(part: slice) -> Tensor:
        return images[:, None] + deviation.view(-1, 1, 1, 1, 1) * drawn[part].to(images.dtype)

    return _mean(network, noised, classes, samples, guided, at_once)


@lru_cache(maxsize=1)
def _noise(seed: int, shape: tuple[int, ...], device: str) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(device)


def integrated_gradients(
    network: Network,
    images: Tensor,
    classes: Tensor,
    steps: int = 50,
    baseline: Tensor | float = 0.0,
    guided: bool = False,
    at_once: int = 32,
) -> Tensor:
    """Return the (B, 3, H, W) mean gradient on the straight line from the baseline to each image.

    Multiplied by (image − baseline) this gives the integrated gradients of Sundararajan et al.
    (2017), whose sum is the output minus that of the baseline; Choe et al. omit this factor.
    Gradients are taken at the middle of each step, so the error falls with the square of the steps.
    """
    shares = (torch.arange(steps, device=images.device, dtype=images.dtype) + 0.5) / steps

    def between(part: slice) -> Tensor:
        return baseline + shares[part].view(-1, 1, 1, 1) * (images - baseline)[:, None]

    return _mean(network, between, classes, steps, guided, at_once)


def _mean(
    network: Network,
    made: Callable[[slice], Tensor],
    classes: Tensor,
    samples: int,
    guided: bool,
    at_once: int,
) -> Tensor:
    """Return the mean gradient over all samples. made: (B, n, 3, H, W) copies of a slice."""
    totals = []
    for part in _parts(samples, max(at_once // len(classes), 1)):
        images = made(part)
        count = images.shape[1]
        sample_gradients = gradients(
            network, images.flatten(0, 1), classes.repeat_interleave(count), guided
        )
        totals.append(sample_gradients.unflatten(0, (-1, count)).sum(1))
    return torch.stack(totals).sum(0) / samples


def _parts(count: int, size: int) -> Iterator[slice]:
    return (slice(at, min(at + size, count)) for at in range(0, count, size))


def reduced(gradients: Tensor, channels: str = "max-abs") -> Tensor:
    """Return (B, H, W) scores per pixel from gradients (B, 3, H, W).

    max-abs: the largest absolute value, as Simonyan et al.; sum-abs: the sum of absolute values, as
    Smilkov et al.; sum: of signed values, as completeness requires.

    >>> reduced(torch.tensor([1.0, -3.0, 1.0]).view(1, 3, 1, 1), "sum-abs").item()
    5.0
    """
    if channels == "max-abs":
        return gradients.abs().amax(1)
    return (gradients.abs() if channels == "sum-abs" else gradients).sum(1)
