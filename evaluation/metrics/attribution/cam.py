"""Class activation maps: the classifier's logits at every position, before their mean.

Source: Zhou et al., "Learning Deep Features for Discriminative Localization" (CVPR 2016). Strides
are lowered as in Choe et al. (TPAMI 2022, table II) for maps of 14 × 14 and 28 × 28.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from evaluation.metrics.attribution.guided import name_of
from evaluation.metrics.attribution.recipes import Unsuited

# Number of last maps searched for the input of the class weights; only views may lie in between.
SEARCHED_MAPS = 8
# Layers whose strides were lowered, with their original attributes.
Changed = list[tuple[nn.Module, dict[str, object]]]
# Relative rounding error of sums in another order than the network's.
TOLERANCE = 1e-3


def class_activation_maps(
    network: Callable[[Tensor], Tensor], images: Tensor, classes: Tensor
) -> Tensor:
    """Return (B, h, w) maps of each image's class on the grid of the last feature map.

    A map's mean is the class's logit without its bias. images: (B, 3, H, W), classes: (B,) indices
    of outputs. The network must end in a mean over a feature map, then class weights; or in a mean
    over one map per class. No layer names are needed: calls are traced, and the map is the last one
    whose mean is the input of the class weights.
    Raises Unsuited if there is none: other layers in between, a file that hides its layers.
    """
    with torch.no_grad(), _Watching(images) as seen:
        outputs = network(images)
    if seen.weighted is not None:
        inputs, weight = seen.weighted
        features = _of_mean(inputs, seen.maps)
        if features is not None and len(weight) == outputs.shape[1]:
            features = _of_all(features, images)
            weights = weight.detach().float()[classes]
            return torch.einsum("bdhw,bd->bhw", features.float(), weights)
    features = _of_mean(outputs, seen.maps)
    if features is None:
        raise Unsuited(
            "its outputs are not class weights times the mean of a feature map, which CAM needs"
        )
    features = _of_all(features, images)
    return features[torch.arange(len(images), device=features.device), classes].float()


class _Watching(TorchFunctionMode):
    """Records the last maps and the last product with weights."""

    def __init__(self, images: Tensor) -> None:
        super().__init__()
        self.maps: deque[Tensor] = deque([images], SEARCHED_MAPS)
        self.weighted: tuple[Tensor, Tensor] | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if not isinstance(result, Tensor):
            return result
        if result.dim() == 4 and result.shape[1:].numel() > max(result.shape[1:]):
            self.maps.append(result)
        name = name_of(func).removesuffix(".default")
        if name == "linear" and result.dim() == 2:
            self.weighted = args[0], args[1] if len(args) > 1 else kwargs["weight"]
        elif name == "conv2d" and result.shape[2:] == (1, 1) and args[0].shape[2:] == (1, 1):
            self.weighted = args[0].flatten(1), args[1].flatten(1)
        return result


def _of_all(features: Tensor, images: Tensor) -> Tensor:
    """Return the rows of the images, without the padding rows of an exported program."""
    if len(features) < len(images):
        raise Unsuited(
            f"it takes {len(features)} images at once, and only the last of them were seen"
        )
    return features[: len(images)]


def _of_mean(means: Tensor, maps: "deque[Tensor]") -> Tensor | None:
    """Return the (≥ B, D, h, w) last map whose means over positions begin with these (B, D)."""
    for feature_map in reversed(maps):
        for features in (feature_map, feature_map.permute(0, 3, 1, 2)):
            first = features[: len(means)]
            # A map of one position is already the mean of an earlier map.
            if first.shape[2:].numel() == 1 or first.shape[:2] != means.shape[:2]:
                continue
            if _same(first.mean((2, 3)), means):
                return features
    return None


def _same(values: Tensor, expected: Tensor) -> bool:
    most = expected.abs().amax()
    return bool(((values - expected).abs() <= TOLERANCE * most).all())


@contextmanager
def denser(module: nn.Module, images: Tensor, side: int) -> Iterator[None]:
    """Lower the module's last strides to 1 within the block, so that its last maps are `side` ×
    `side`.

    Weights are unchanged; they were learned at the wider stride unless the network was trained so.
    Pools that take every position once become the identity. images: (1, 3, H, W), for a trial run.
    All strides are restored afterwards, also on an exception.
    Raises Unsuited if no strides give that side.
    """
    changed: Changed = []
    try:
        sides = [_lower(module, images, side, changed)]
        while sides[-1] < side:
            sides.append(_lower(module, images, side, changed))
        if sides[-1] != side:
            sizes = ", ".join(f"{size} × {size}" for size in sides)
            raise Unsuited(f"the strides of its layers give {sizes} places, not {side} × {side}")
        yield
    finally:
        for layer, before in changed:
            for name, value in before.items():
                setattr(layer, name, value)


def _lower(module: nn.Module, images: Tensor, side: int, changed: Changed) -> int:
    """Return the side of the last maps; if it is too small, lower the last strides for the next
    try.
    """
    sides = _sides(module, images)
    if not sides:
        raise Unsuited("it has no layers with strides that could be lowered")
    last = min(after for _, _, after in sides)
    if last >= side:
        return last
    strided = [(layer, before) for layer, before, _ in sides if max(_pair(layer.stride)) > 1]
    if not strided:
        raise Unsuited(f"its maps have {last} × {last} places, and no stride is left to lower")
    smallest = min(before for _, before in strided)
    for layer, before in strided:
        if before == smallest:
            _make_stride_one(layer, changed)
    return last


def _sides(module: nn.Module, images: Tensor) -> list[tuple[Any, int, int]]:
    """Return every layer that may have a stride, with the longer side of its maps before
    and after.
    """
    sides: list[tuple[Any, int, int]] = []

    def note(layer: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        before = max(args[0].shape[-2:])
        # Maps of one position are already means, as in squeeze-and-excitation.
        if before > 1:
            sides.append((layer, before, max(output.shape[-2:])))

    kinds = (nn.Conv2d, nn.MaxPool2d, nn.AvgPool2d)
    hooks = [
        layer.register_forward_hook(note) for layer in module.modules() if isinstance(layer, kinds)
    ]
    try:
        with torch.no_grad():
            module(images)
    except RuntimeError:
        raise Unsuited("with strides of 1 its branches do not fit together any more") from None
    finally:
        for hook in hooks:
            hook.remove()
    return sides


def _make_stride_one(layer: Any, changed: Changed) -> None:
    now: dict[str, object] = {"stride": (1, 1)}
    if not isinstance(layer, nn.Conv2d) and _pair(layer.kernel_size) == _pair(layer.stride):
        now |= {"kernel_size": 1, "padding": 0}
    changed.append((layer, {name: getattr(layer, name) for name in now}))
    for name, value in now.items():
        setattr(layer, name, value)


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value
