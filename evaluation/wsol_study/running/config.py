"""The configuration of a study: CONFIG.yaml. Pure; no torch."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from evaluation.metrics.wsol.box_scores import PROTOCOLS
from evaluation.wsol_study.hyperparameters import SPACES
from evaluation.wsol_study.networks import BACKBONES
from evaluation.wsol_study.results import BOXES, FSL, MASKS
from labeling import strict_yaml
from labeling.files import BadInput, require_file, text_lines

CONVENTIONS = ("paper", "reference")
# Section 5.2 of the paper; the authors' published settings for the decay of the learning rate.
EPOCHS = {"imagenet": 10, "cub": 50, "openimages": 10}
DECAY = {"imagenet": 3, "cub": 15, "openimages": 3}
CURE = "see docs/how-to/wsol-study.md"


@dataclass(frozen=True, kw_only=True)
class StudyConfig:
    """The keys of CONFIG.yaml; paths are relative to its folder.

    images: the folder of all images. metadata: a folder with train-weaksup, train-fullsup and test,
    each as score wsol reads it; or release and split, the folder of split --by wsol:F,T. masks: the
    folder that mask paths start from; a release brings its own. fsl_epochs: of the few-shot
    baseline. few_shot_trials: of each search on a subset. checkpoint_seconds: longest time between
    checkpoints; there is one after each epoch in any case. samples: test images whose maps are
    kept for figures. submit_to: a benchmark on this site, as what the chosen maps are submitted.
    """

    images: Path
    methods: list[str]
    backbones: list[str]
    name: str = "study"
    dataset: str = "own"
    metadata: Path | None = None
    release: Path | None = None
    split: Path | None = None
    masks: Path | None = None
    metric: str = BOXES
    convention: str = "paper"
    protocol: str = "paper"
    weights: Mapping[str, Path] = field(default_factory=dict)
    trials: int = 30
    epochs: int = 10
    decay_every: int = 3
    batch: int = 32
    seed: int = 0
    threads: int = 2
    proxy: float = 1.0
    targets: str = "boxes"
    fsl_epochs: int = 10
    few_shot: list[int] = field(default_factory=list)
    few_shot_samples: int = 3
    few_shot_trials: int = 30
    checkpoint_seconds: int = 300
    samples: int = 8
    attribution: bool = False
    keep_maps: bool = False
    submit_to: str | None = None


def _whole(low: int, high: int = 10**6) -> tuple[Callable[[Any], bool], str]:
    return lambda value: type(value) is int and low <= value <= high, f"{low:,} to {high:,}"


def _among(*words: str) -> tuple[Callable[[Any], bool], str]:
    return lambda value: value in words, " or ".join(words)


def _several(words: Mapping[str, Any] | tuple[str, ...]) -> tuple[Callable[[Any], bool], str]:
    def check(value: Any) -> bool:
        is_list = isinstance(value, list) and all(isinstance(word, str) for word in value)
        return is_list and bool(value) and set(value) <= set(words) and _once(value)

    return check, f"a list of {', '.join(words)}"


def _once(values: list[Any]) -> bool:
    return len(set(values)) == len(values)


TEXT = (lambda value: isinstance(value, str) and value.isprintable() and value != "", "a text")
SWITCH = (lambda value: isinstance(value, bool), "true or false")
CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(
        ("name", "dataset", "images", "metadata", "release", "split", "masks", "submit_to"), TEXT
    ),
    **dict.fromkeys(("attribution", "keep_maps"), SWITCH),
    **dict.fromkeys(
        ("epochs", "decay_every", "fsl_epochs", "trials", "few_shot_trials", "few_shot_samples"),
        _whole(1),
    ),
    **dict.fromkeys(("seed", "checkpoint_seconds", "samples"), _whole(0)),
    "methods": _several(SPACES),
    "backbones": _several(BACKBONES),
    "metric": _among(BOXES, MASKS),
    "convention": _among(*CONVENTIONS),
    "protocol": _among(*PROTOCOLS),
    "targets": _among("boxes", "masks"),
    "batch": _whole(2),
    "threads": _whole(1, 1024),
    "proxy": (
        lambda value: type(value) in (int, float) and 0 < value <= 1,
        "a share of each class, such as 0.1",
    ),
    "few_shot": (
        lambda value: isinstance(value, list) and all(map(_whole(1)[0], value)) and _once(value),
        "images per class, such as [1, 5, 10]",
    ),
    "weights": (
        lambda value: (
            isinstance(value, dict)
            and set(value) <= set(BACKBONES)
            and all(isinstance(file, str) for file in value.values())
        ),
        "BACKBONE: FILE",
    ),
}
PATHS = ("images", "metadata", "release", "split", "masks")


def read_config(path: Path) -> StudyConfig:
    """Return the configuration of a YAML file. Raises BadInput with the line."""
    require_file(path, CURE)
    try:
        content, lines = strict_yaml.load_with_lines("\n".join(text_lines(path)))
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else getattr(error, "line", None)
        raise BadInput("cannot be read as YAML", path, line, CURE) from error
    if not isinstance(content, dict):
        raise BadInput("holds no keys", path, None, CURE)
    for key, value in content.items():
        line = lines.get((str(key),))
        if key not in CHECKS:
            raise BadInput(f"has an unknown key {str(key)[:40]!r}", path, line, CURE)
        check, expected = CHECKS[key]
        if not check(value):
            fault = f"{key} is {str(value)[:80]}, expected {expected}"
            if key == "methods" and "gcnet" in str(value).lower():
                fault += " (GC-Net is not built)"
            raise BadInput(fault, path, line, "correct it")
    return _checked({str(key): value for key, value in content.items()}, path)


def _checked(content: dict[str, Any], path: Path) -> StudyConfig:
    """Return the configuration of checked values, after checking them against one another."""
    for key in ("images", "methods", "backbones"):
        if key not in content:
            raise BadInput(f"lacks {key}", path, None, f"write {key}: {CHECKS[key][1]}")
    sources = {key for key in ("metadata", "release", "split") if key in content}
    if sources not in ({"metadata"}, {"release", "split"}):
        cure = "give metadata, a folder of three parts, or both release and split"
        raise BadInput("does not say where the truth lies", path, None, cure)
    for name in content.get("weights", {}):
        if name not in content["backbones"]:
            cure = f"add {name} to backbones, or leave out its weights"
            raise BadInput(f"the weights of {name} are not used", path, None, cure)
    metric = content.get("metric", BOXES)
    if "masks" in content and (metric == BOXES or "release" in content):
        cure = f"leave masks out, or give metric: {MASKS} and metadata"
        raise BadInput("masks is not used", path, None, cure)
    if metric == MASKS and "metadata" in content and "masks" not in content:
        raise BadInput(f"{metric} needs masks", path, None, "write masks: FOLDER")
    if metric == BOXES and content.get("targets") == "masks":
        raise BadInput("targets are masks, but the truth has boxes", path, None, "targets: boxes")
    if FSL not in content["methods"] and content.get("few_shot"):
        raise BadInput("few_shot needs the method fsl", path, None, "add fsl to the methods")
    for key in PATHS:
        if key in content:
            content[key] = path.parent / content[key]
    content["weights"] = {
        name: path.parent / file for name, file in content.get("weights", {}).items()
    }
    for file in content["weights"].values():
        require_file(file, "give the file of the weights, or leave it out")
    dataset = content.get("dataset", "")
    content.setdefault("epochs", EPOCHS.get(dataset, StudyConfig.epochs))
    epochs = content["epochs"]
    content.setdefault("decay_every", DECAY.get(dataset, max(1, math.ceil(0.3 * epochs))))
    content.setdefault("protocol", content.get("convention", StudyConfig.protocol))
    content.setdefault("fsl_epochs", epochs)
    content.setdefault("few_shot_trials", content.get("trials", StudyConfig.trials))
    content.setdefault("name", path.stem)
    return StudyConfig(**content)


assert CHECKS.keys() == {each.name for each in fields(StudyConfig)}
