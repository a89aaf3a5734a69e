"""Backbones whose feature maps are 14 × 14 or 28 × 28, with torchvision's parameter names."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from labeling.files import BadInput

if TYPE_CHECKING:
    from evaluation.wsol_study.networks.base import Backbone

# Backbone, which is the name of its module → class.
CLASSES: Mapping[str, str] = {
    "vgg16": "Vgg16",
    "inception_v3": "InceptionV3",
    "resnet50": "ResNet50",
    "small": "SmallNetwork",
}
BACKBONES = tuple(CLASSES)


def build(backbone: str, classes: int, resolution: int) -> "Backbone":
    """Return a network with random weights from torch's global seed. resolution: 14 or 28."""
    module = importlib.import_module(f"evaluation.wsol_study.networks.{backbone}")
    network: Backbone = getattr(module, CLASSES[backbone])(classes, resolution)
    return network


def load_weights(network: "Backbone", path: Path) -> None:
    """Load a weights file with torchvision's names into a network.

    Layers that torchvision's network lacks, and a classification layer of another shape, keep
    their weights. Extra layers of the file are ignored. Raises BadInput if the file lacks a layer
    of the network's body or has it in another shape.
    """
    from evaluation.classifiers.named_models import read_state

    state, expected = read_state(path), network.state_dict()
    body = set(network.body_names())
    for name in sorted(body):
        # Files from before torch 0.4 lack these counters.
        if name.endswith("num_batches_tracked") and name not in state:
            continue
        actual = tuple(state[name].shape) if name in state else "missing"
        if actual != tuple(expected[name].shape):
            raise BadInput(
                f"{name} is {actual}, expected the shape {tuple(expected[name].shape)}",
                file=path,
                cure=f"give torchvision's weights of {network.torchvision_name}",
            )
    fitting = {
        name: value
        for name, value in state.items()
        if name in expected and value.shape == expected[name].shape
    }
    network.load_state_dict(fitting, strict=False)
