"""Options of commands that open a network: which one, where it runs, and what it is given."""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from evaluation import devices
from evaluation.classifiers import model_lists, opening
from evaluation.classifiers.model_lists import Model
from evaluation.classifiers.opening import Classifier
from evaluation.classifiers.task_networks import Networks
from evaluation.management.device_options import add_device, device_of
from evaluation.management.engine_options import Share
from evaluation.metrics.wordnet.nouns import WordNetMissing, load
from evaluation.readers import pools
from evaluation.readers.shipped import classes_file
from labeling.bounded_numbers import whole
from labeling.files import BadInput
from labeling.management.contract import UsageError, table

MODEL = (
    "torchvision:NAME, timm:NAME, a TorchScript (.pt), exported-program (.pt2) or ONNX (.onnx) "
    "file, or package.module:factory; NAME=SPEC names it. All of these are programs: run those "
    "you trust"
)
PREPARING = ("size", "fit", "mean", "std")


def add_models(parser: CommandParser) -> None:
    """--model, which may come again, and --models."""
    parser.add_argument(
        "--model",
        action="append",
        metavar="[NAME=]SPEC",
        help=f"may be given several times: {MODEL}",
    )
    add_list(parser)


def add_list(parser: CommandParser) -> None:
    """--models."""
    parser.add_argument(
        "--models",
        type=Path,
        metavar="models.yaml",
        help="NAME: {file, size, mean, std, fit, classes}, any number of them; what one does not "
        "state is as the options say",
    )


def chosen(options: Mapping[str, Any]) -> list[Model]:
    """Return the models of --model and --models. Raises UsageError and BadInput."""
    models = [Model(spec, {}) for spec in options["model"] or ()]
    if options["models"] is not None:
        models += model_lists.read_models(options["models"])
    if not models:
        raise UsageError("give --model or --models")
    if options.get("weights") and len(models) > 1:
        raise UsageError("--weights goes with one --model; name the others' in their files")
    return models


def add_weights(parser: CommandParser) -> None:
    """--weights."""
    parser.add_argument(
        "--weights",
        type=Path,
        metavar="FILE",
        help="of a named or imported model: a state_dict, safetensors",
    )


def add_network(parser: CommandParser, batch: int, unit: str) -> None:
    """--weights, --random-weights, --batch of so many `unit`, --device."""
    add_weights(parser)
    parser.add_argument(
        "--random-weights", action="store_true", help="a named model without weights, to try it"
    )
    parser.add_argument("--batch", type=whole(1), default=batch, help=f"{unit} at once ({batch})")
    add_device(parser)


def add_classes(parser: CommandParser) -> None:
    """--classes: which class each output of the network is."""
    parser.add_argument(
        "--classes",
        type=classes_file,
        metavar="wnids.txt",
        help="a wnid a line for each output; ilsvrc: the 1000 of ILSVRC 2012; needed where "
        "--models does not say it",
    )


def read_classes(path: Path) -> list[str]:
    """Return the wnids in a file. Raises BadInput, also where WordNet is missing."""
    try:
        return pools.read_classes(path, load())
    except WordNetMissing as error:
        raise BadInput(error.message, cure=error.cure) from None


def add_preparation(parser: CommandParser) -> argparse._ArgumentGroup:
    """Return a group of --size, --mean and --std, for options that join them."""
    by = parser.add_argument_group("what the network is given, where not as its model says")
    by.add_argument("--size", type=size, metavar="H[xW]", help="pixels (224)")
    for name, default, imagenet in (
        ("mean", "0,0,0", "0.485,0.456,0.406"),
        ("std", "1,1,1", "0.229,0.224,0.225"),
    ):
        by.add_argument(
            f"--{name}",
            type=colour,
            metavar="R,G,B",
            help=f"of colours in [0, 1] ({default}); networks of ImageNet: mostly {imagenet}",
        )
    return by


def classes_of(model: Model, options: Mapping[str, Any]) -> list[str]:
    """Return the wnids of a model's outputs. Raises UsageError where neither it nor
    --classes says.
    """
    if model.classes is not None:
        return read_classes(classes_file(model.classes))
    if options["classes"] is None:
        raise UsageError("give --classes, or the classes of each model in --models")
    return read_classes(options["classes"])


def opened(
    model: Model, classes: Sequence[str], options: Mapping[str, Any], name: str = ""
) -> Classifier:
    """Return the network of a model, opened with the options of add_network and add_preparation.

    For tasks on a GPU of a cluster it is opened on the CPU here, only to be named. Raises BadInput.
    """
    on, device = options["on"], device_of(options["device"], options["on"])
    local_device = devices.CPU if on is not None and on.on_other_machines else device
    classifier = opening.load(
        model.spec,
        classes,
        device=local_device,
        name=name,
        weights=options["weights"],
        random_weights=options["random_weights"],
        preparing=_preparing(model, options),
    )
    return replace(classifier, device=device)


def networks(
    models: Sequence[Model], classifiers: Sequence[Classifier], options: Mapping[str, Any]
) -> Networks:
    """Return the networks, opened with the options of add_network and add_preparation, for
    tasks.
    """
    return Networks.of(
        [model.spec for model in models],
        classifiers,
        options["weights"],
        options["random_weights"],
        [_preparing(model, options) for model in models],
    )


def _preparing(model: Model, options: Mapping[str, Any]) -> Mapping[str, object]:
    return {key: options.get(key) for key in PREPARING} | dict(model.preparing)


def show(result: Mapping[str, object] | Share) -> str:
    """Return one line a key, and one for a value that has keys of its own; versions are in the
    JSON.
    """
    values = result.to_json() if isinstance(result, Share) else result
    flat = {
        key: ", ".join(f"{name} {_shortened(name, item)}" for name, item in value.items())
        if isinstance(value, dict)
        else value
        for key, value in values.items()
        if key != "versions"
    }
    return table(flat.items())


def size(text: str) -> tuple[int, int]:
    """Height and width; one number is both."""
    height, sign, width = text.partition("x")
    side = whole(1)
    return side(height), side(width if sign else height)


def colour(text: str) -> tuple[float, ...]:
    """Three finite numbers."""
    try:
        channels = tuple(float(part) for part in text.split(","))
    except ValueError:
        channels = ()
    if len(channels) != 3 or not all(map(math.isfinite, channels)):
        raise argparse.ArgumentTypeError(f"{text!r} is not three numbers such as 0.5,0.5,0.5")
    return channels


def _shortened(name: str, value: object) -> object:
    """Of a hash its first digits, which are enough for a person."""
    return f"{str(value)[:12]}…" if name == "sha256" else value
