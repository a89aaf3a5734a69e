"""Compute score maps of images with a network, one batch at a time. No Django."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from evaluation.classifiers.opening import Classifier
from evaluation.classifiers.scoremaps.folder import Folder
from evaluation.classifiers.scoremaps.planning import ScoremapPlan, images_at_once
from evaluation.devices import BatchSize
from evaluation.metrics.attribution.cam import denser
from evaluation.metrics.attribution.gradients import count_relus, score_maps
from evaluation.metrics.attribution.recipes import Unsuited
from labeling.files import BadInput

Frame = tuple[str, NDArray[np.uint8]]


def make(
    frames: Iterable[Frame],
    plan: ScoremapPlan,
    folder: Folder,
    batch: int = 32,
    watch: Callable[[int], object] | None = None,
) -> int:
    """Write a map for each frame and return how many maps are constant. frames: id and (H, W, 3).

    batch: number of images per call of the network, or of their noisy or interpolated copies; fewer
    if a GPU's memory runs out. watch: called with the number of maps done since the last call.
    Raises Unsuited if the network lacks what the method needs, BadInput if a map has NaN or the
    GPU's memory does not hold one image.
    """
    constant = 0
    for name, scores in maps(frames, plan, batch):
        folder.write(name, scores)
        constant += int(scores.min() == scores.max())
        if watch is not None:
            watch(1)
    return constant


def maps(
    frames: Iterable[Frame], plan: ScoremapPlan, batch: int = 32
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Yield the id and map of every image, as `make` writes them."""
    at_once = BatchSize(batch)
    with _strides(plan):
        for number, (names, images) in enumerate(_batches(frames, plan, batch)):
            if number == 0:
                _refuse_no_relu(plan, images)
            batch_maps = at_once.attempt(partial(_maps_of, names, images, plan))
            _refuse_no_number(names, batch_maps, plan.classifier)
            yield from zip(names, batch_maps.cpu().numpy(), strict=True)


def likeliest_classes(
    frames: Iterable[Frame], plan: ScoremapPlan, batch: int = 32
) -> Iterator[tuple[str, str]]:
    """Yield the id and likeliest class of every image."""
    at_once = BatchSize(batch)

    for names, images in _batches(frames, plan, batch):
        indices = at_once.run(len(names), partial(_likeliest, images, plan.classifier))
        classes = (plan.classifier.classes[at] for at in chain.from_iterable(indices))
        yield from zip(names, classes, strict=True)


def _likeliest(images: Tensor, classifier: Classifier, part: slice) -> list[int]:
    with torch.no_grad():
        likeliest: list[int] = classifier.outputs(images[part]).argmax(1).tolist()
    return likeliest


def _batches(
    frames: Iterable[Frame], plan: ScoremapPlan, batch: int
) -> Iterator[tuple[list[str], Tensor]]:
    """Yield ids and prepared images (B, 3, H, W). B is smaller if a map needs many gradients."""
    waiting = iter(frames)
    while part := list(islice(waiting, images_at_once(plan, batch))):
        images = [plan.classifier.prepare(torch.from_numpy(pixels)) for _, pixels in part]
        yield [name for name, _ in part], torch.stack(images)


def _maps_of(names: list[str], images: Tensor, plan: ScoremapPlan, batch: int) -> Tensor:
    """Return (B, h, w) maps of these images, resized as they are written."""
    size = images_at_once(plan, batch)
    parts = (slice(at, at + size) for at in range(0, len(names), size))
    resized = [_resized(_maps(names[part], images[part], plan, batch), plan) for part in parts]
    return torch.cat(resized)


def _maps(names: list[str], images: Tensor, plan: ScoremapPlan, batch: int) -> Tensor:
    outputs = plan.classifier.outputs
    if plan.labels is None:
        with torch.no_grad():
            classes = outputs(images).argmax(1)
    else:
        classes = torch.tensor([plan.labels[name] for name in names], device=images.device)
    return score_maps(outputs, images, classes, plan.recipe, _start(plan, images), batch)


def _start(plan: ScoremapPlan, images: Tensor) -> Tensor:
    """Return the (3, 1, 1) prepared colour at which integrated gradients start."""
    if plan.baseline == "zero":
        return images.new_zeros((3, 1, 1))
    mean, std = (
        images.new_tensor(getattr(plan.classifier.preparation, name)) for name in ("mean", "std")
    )
    return (-mean / std).view(3, 1, 1)


def _resized(maps: Tensor, plan: ScoremapPlan) -> Tensor:
    shape = (plan.side, plan.side)
    if plan.resize == "none" or maps.shape[1:] == shape:
        return maps
    resized = torch.nn.functional.interpolate(
        maps[:, None], size=shape, mode=plan.resize, align_corners=False
    )
    return resized[:, 0]


def _strides(plan: ScoremapPlan) -> AbstractContextManager[Any]:
    if plan.grid is None:
        return nullcontext()
    network = plan.classifier.network
    if not isinstance(network, torch.nn.Module) or isinstance(network, torch.jit.ScriptModule):
        raise Unsuited("its strides stand fast in its file, so its grid cannot be changed")
    empty = torch.zeros((1, 3, *plan.classifier.preparation.size), device=plan.classifier.device)
    return denser(network, empty, plan.grid)


def _refuse_no_relu(plan: ScoremapPlan, images: Tensor) -> None:
    guided = plan.recipe.method.startswith("guided")
    if guided and not count_relus(plan.classifier.outputs, images[:1]):
        raise Unsuited("no ReLU of it was met, which guided backpropagation changes")


def _refuse_no_number(names: list[str], maps: Tensor, classifier: Classifier) -> None:
    wrong = (~maps.isfinite().flatten(1).all(1)).nonzero()
    if len(wrong):
        raise BadInput(
            f"{classifier.name} gives no numbers in the map of {names[int(wrong[0])]}",
            cure="look at its weights and at --mean and --std",
        )
