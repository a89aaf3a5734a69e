"""The options of `scoremaps`: which go together, and the plan that they make."""

import argparse
import dataclasses
import math
from pathlib import Path

from django.core.management.base import CommandParser

from evaluation.classifiers.model_lists import Model
from evaluation.classifiers.scoremaps import planning, reading
from evaluation.management import network_options
from evaluation.management.sequence_options import Options
from evaluation.metrics.attribution.recipes import READINGS, REDUCTIONS, Recipe
from evaluation.metrics.wsol.box_scores import LARGEST_SIZE
from labeling.bounded_numbers import whole
from labeling.files import BadInput, file_sha256
from labeling.json_text import canonical_sha256
from labeling.management.contract import UsageError

CENTER = "center-gaussian"
# Choe et al. (TPAMI 2022), §5.5.
SMOOTH = 127.0
# Their noise is held at once: a thousand of 224 × 224 take 600 MB.
MOST_SAMPLES = 1000
# Which methods an option is for, by what their names begin or end with.
ONLY_FOR = {
    "grid": ("cam",),
    "channels": ("vanilla", "guided"),
    "samples": ("-smoothgrad", "-integrated"),
    "noise": ("-smoothgrad",),
    "seed": ("-smoothgrad",),
    "baseline": ("-integrated",),
    "times_input": ("-integrated",),
}
NEEDED = ("model", "classes", "images")
RECIPE = tuple(field.name for field in dataclasses.fields(Recipe))
OF_NETWORKS = (
    *(*NEEDED, *ONLY_FOR, "target", "predictions", "smooth", "smooth_as", "resize", "orientation"),
    *("weights", "random_weights", "size", "mean", "std"),
)


def add(parser: CommandParser) -> None:
    """All options but --method, --metadata and --out."""
    parser.add_argument("--images", type=Path, metavar="DIR", help="where the ids are paths")
    parser.add_argument("--model", metavar="SPEC", help=network_options.MODEL)
    network_options.add_list(parser)
    parser.add_argument(
        "--classes",
        metavar="FILE|N",
        help="a class a line for each output, as class_labels.txt writes them; or how many "
        "outputs there are, where classes are their numbers from 0",
    )
    parser.add_argument(
        "--target",
        choices=("true", "predicted"),
        help="whose map: of the class in class_labels.txt (default), or the network's choice",
    )
    parser.add_argument(
        "--predictions",
        type=Path,
        metavar="FILE",
        help="also write id,class rows of what the network names, for score wsol",
    )
    network_options.add_network(parser, 32, "images, or copies of them,")
    network_options.add_preparation(parser).add_argument(
        "--orientation",
        choices=reading.ORIENTATIONS,
        help="images as a person sees them (default), or as they are stored",
    )
    _add_recipe(parser)
    _add_maps(parser)


def _add_recipe(parser: CommandParser) -> None:
    by = parser.add_argument_group("how a gradient becomes a map")
    by.add_argument(
        "--samples",
        type=whole(1, MOST_SAMPLES),
        metavar="N",
        help=f"gradients averaged, 1 to {MOST_SAMPLES} (50)",
    )
    by.add_argument(
        "--noise", type=_amount, metavar="S", help="SmoothGrad: share of the image's range (0.15)"
    )
    by.add_argument(
        "--seed", type=whole(0, 2**63 - 1), metavar="N", help="SmoothGrad: of the noise (0)"
    )
    by.add_argument(
        "--baseline",
        choices=planning.BASELINES,
        help="integrated: begin with a black image (default), or with zeros after --mean and --std",
    )
    by.add_argument(
        "--times-input",
        action="store_true",
        default=None,
        help="integrated: times the image less the baseline, which Choe et al. leave out",
    )
    by.add_argument(
        "--channels", choices=REDUCTIONS, help="what three colours' gradients become (max-abs)"
    )


def _add_maps(parser: CommandParser) -> None:
    by = parser.add_argument_group("what is written")
    by.add_argument(
        "--grid",
        type=whole(1),
        metavar="N",
        help="cam: N × N places by lowering the last strides, such as 14 or 28",
    )
    by.add_argument(
        "--smooth",
        type=_amount,
        nargs="?",
        const=SMOOTH,
        metavar="WIDTH",
        help=f"a Gaussian over the map ({SMOOTH:g} on 224 pixels; without it none)",
    )
    by.add_argument(
        "--smooth-as",
        choices=READINGS,
        help="the width is a standard deviation (default), or a window as OpenCV's",
    )
    by.add_argument(
        "--map-size",
        type=whole(1, LARGEST_SIZE),
        default=224,
        metavar="N",
        help="maps of N × N pixels (224)",
    )
    by.add_argument(
        "--resize", choices=planning.RESIZES, help="how maps get there (bilinear); none: not at all"
    )


def refuse_unfit(options: Options) -> None:
    """Raise UsageError for options that the method does not have, or lacks."""
    method = options["method"]
    # Not `in (None, False)`, as which a seed of 0 would count.
    unfit = [
        name for name in OF_NETWORKS if options[name] is not None and options[name] is not False
    ]
    if method == CENTER:
        if unfit:
            raise UsageError(f"{_flag(unfit[0])} does not go with {CENTER}: it looks at no image")
        for name in ("on", "work", "shard"):
            if options[name] is not None:
                raise UsageError(f"--{name} does not go with {CENTER}: it is one map for all")
        return
    for name in NEEDED:
        if options[name] is None:
            raise UsageError(f"{method} needs {_flag(name)}")
    for name, methods in ONLY_FOR.items():
        if name in unfit and not method.startswith(methods) and not method.endswith(methods):
            raise UsageError(f"{_flag(name)} does not go with {method}")
    if options["smooth_as"] and not options["smooth"]:
        raise UsageError("--smooth-as goes with --smooth")


def plan(labels: dict[str, str], options: Options) -> planning.Plan:
    """Return the network, opened and tried, with what it is to do. Raises BadInput."""
    classes = planning.read_classes(options["classes"])
    chosen = None
    if options["target"] != "predicted":
        file = options["metadata"] / "class_labels.txt"
        chosen = planning.outputs_of(labels, classes, file)
    recipe = {name: options[name] for name in RECIPE if options[name] is not None}
    classifier = network_options.opened(Model(options["model"], {}), classes, options)
    if str(classifier.source["model"]).lower().endswith(".onnx"):
        raise BadInput(
            f"{options['model']} is an ONNX file, which gives no gradients and hides its maps",
            cure="give TorchScript, an exported program, or the module itself by import path",
        )
    return planning.Plan(
        classifier,
        Recipe(**recipe),
        chosen,
        options["grid"],
        options["baseline"] or "black",
        options["map_size"],
        options["resize"] or "bilinear",
    )


def settings(made: planning.Plan, options: Options) -> dict[str, object]:
    """Everything that the maps depend on, but the images."""
    recipe = made.as_dict() | {"orientation": options["orientation"] or "upright"}
    stated: dict[str, object] = {
        "recipe": recipe,
        "model": dict(made.classifier.source),
        "classes": canonical_sha256(made.classifier.classes),
        "preparation": made.classifier.preparation.as_dict(),
    }
    if made.labels is not None:
        stated["class labels"] = file_sha256(options["metadata"] / "class_labels.txt")
    return stated


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 10000")
    return value


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
