"""Options of commands that open networks: the networks, their device and their input."""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation import devices
from evaluation.classifiers import model_lists, opening
from evaluation.classifiers.model_lists import ListedModel
from evaluation.classifiers.opening import Classifier
from evaluation.classifiers.task_networks import Networks
from evaluation.management.computing import ShardOptions, device_of
from evaluation.readers import pools
from evaluation.readers.class_files import load_wordnet
from evaluation.readers.shipped import classes_file
from labeling.bounded_numbers import whole
from labeling.management.contract import UsageError
from labeling.management.options import option

MODEL = (
    "torchvision:NAME, timm:NAME, a TorchScript (.pt), exported-program (.pt2) or ONNX (.onnx) "
    "file, or package.module:factory; NAME=SPEC names it. All of these are programs: run those "
    "you trust"
)


def size(text: str) -> tuple[int, int]:
    """Return height and width; one number stands for both."""
    height, sign, width = text.partition("x")
    side = whole(1)
    return side(height), side(width if sign else height)


def colour(text: str) -> tuple[float, ...]:
    """Return three finite numbers."""
    try:
        channels = tuple(float(part) for part in text.split(","))
    except ValueError:
        channels = ()
    if len(channels) != 3 or not all(map(math.isfinite, channels)):
        raise argparse.ArgumentTypeError(f"{text!r} is not three numbers such as 0.5,0.5,0.5")
    return channels


@dataclass(kw_only=True)
class PreparationOptions:
    """How images are prepared, where it differs from the model's own settings."""

    size: tuple[int, int] | None = option("pixels (224)", type=size, metavar="H[xW]")
    mean: tuple[float, ...] | None = option(
        "of colours in [0, 1] (0,0,0); networks of ImageNet: mostly 0.485,0.456,0.406",
        type=colour,
        metavar="R,G,B",
    )
    std: tuple[float, ...] | None = option(
        "of colours in [0, 1] (1,1,1); networks of ImageNet: mostly 0.229,0.224,0.225",
        type=colour,
        metavar="R,G,B",
    )

    def preparing(self, model: ListedModel) -> dict[str, object]:
        """Return how images are prepared for the model."""
        chosen = {key: getattr(self, key, None) for key in ("size", "fit", "mean", "std")}
        return chosen | dict(model.preparing)


@dataclass(kw_only=True)
class ModelOptions(PreparationOptions):
    """Which networks, and the classes of their outputs."""

    models: Path | None = option(
        "NAME: {file, size, mean, std, fit, classes}, any number of them; what one does not "
        "state is as the options say",
        metavar="models.yaml",
    )
    weights: Path | None = option(
        "of a named or imported model: a state_dict, safetensors", metavar="FILE"
    )
    classes: Path | None = option(
        "a wnid per line for each output; ilsvrc: the 1000 of ILSVRC 2012; needed where --models "
        "does not say it",
        type=classes_file,
        metavar="wnids.txt",
    )

    def listed_models(self, specs: Sequence[str] | None) -> list[ListedModel]:
        """Return the models of --model and --models. Raises UsageError and BadInput."""
        models = [ListedModel(spec, {}) for spec in specs or ()]
        if self.models is not None:
            models += model_lists.read_models(self.models)
        if not models:
            raise UsageError("give --model or --models")
        if self.weights and len(models) > 1:
            raise UsageError("--weights goes with one --model; name the others' in their files")
        return models

    def classes_of(self, model: ListedModel) -> list[str]:
        """Return the wnids of the model's outputs. Raises UsageError if nothing states them."""
        if model.classes is not None:
            return pools.read_classes(classes_file(model.classes), load_wordnet())
        if self.classes is None:
            raise UsageError("give --classes, or the classes of each model in --models")
        return pools.read_classes(self.classes, load_wordnet())


@dataclass(kw_only=True)
class NetworkOptions(ModelOptions, ShardOptions):
    """The options of commands that run networks."""

    random_weights: bool = option("a named model without weights, to try it")
    batch: int

    def opened(self, model: ListedModel, classes: Sequence[str], name: str = "") -> Classifier:
        """Return the network of a model.

        For tasks on a GPU of a cluster it is opened on the CPU here, only to identify it. Raises
        BadInput.
        """
        device = device_of(self.device, self.on)
        local_device = devices.CPU if self.on is not None and self.on.on_other_machines else device
        classifier = opening.load(
            model.spec,
            classes,
            device=local_device,
            name=name,
            weights=self.weights,
            random_weights=self.random_weights,
            preparing=self.preparing(model),
        )
        return replace(classifier, device=device)

    def networks(
        self, models: Sequence[ListedModel], classifiers: Sequence[Classifier]
    ) -> Networks:
        return Networks.of(
            [model.spec for model in models],
            classifiers,
            self.weights,
            self.random_weights,
            [self.preparing(model) for model in models],
        )
