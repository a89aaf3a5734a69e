"""The configuration of a study: CONFIG.yaml. Pure; no torch."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from evaluation.metrics.wsol.box_scores import PROTOCOLS
from evaluation.wsol_study.hyperparameters import SPACES
from evaluation.wsol_study.networks import BACKBONES
from evaluation.wsol_study.results import BOXES, FSL, MASKS
from labeling.files import BadInput, read_yaml_with_lines, require_file

CONVENTIONS = ("paper", "reference")
# Section 5.2 of the paper; the authors' published settings for the decay of the learning rate.
EPOCHS = {"imagenet": 10, "cub": 50, "openimages": 10}
DECAY = {"imagenet": 3, "cub": 15, "openimages": 3}
CURE = "see docs/how-to/wsol-study.md"


# Metadata of a key: "is_right" takes a value of the file, "expected" says what is right.
Check = Mapping[str, Any]


def _check(is_right: Callable[[Any], bool], expected: str) -> Check:
    return {"is_right": is_right, "expected": expected}


def _whole(low: int, high: int = 10**6) -> Check:
    return _check(lambda value: type(value) is int and low <= value <= high, f"{low:,} to {high:,}")


def _among(*words: str) -> Check:
    return _check(lambda value: value in words, " or ".join(words))


def _several(words: Collection[str]) -> Check:
    def is_right(value: Any) -> bool:
        return bool(value) and _is_list(value, lambda word: word in list(words))

    return _check(is_right, f"a list of {', '.join(words)}")


def _is_list(value: Any, is_right: Callable[[Any], bool]) -> bool:
    """Return whether the value is a list of right items that differ."""
    return isinstance(value, list) and all(map(is_right, value)) and len(set(value)) == len(value)


def _is_files(value: Any) -> bool:
    files = value.items() if isinstance(value, dict) else [(None, None)]
    return all(name in BACKBONES and isinstance(file, str) for name, file in files)


TEXT = _check(
    lambda value: isinstance(value, str) and value.isprintable() and value != "", "a text"
)
SWITCH = _check(lambda value: isinstance(value, bool), "true or false")
COUNT = _whole(1)
SHARE = _check(
    lambda value: type(value) in (int, float) and 0 < value <= 1,
    "a share of each class, such as 0.1",
)
SHOTS = _check(
    lambda value: _is_list(value, COUNT["is_right"]), "images per class, such as [1, 5, 10]"
)


@dataclass(frozen=True, kw_only=True)
class StudyConfig:
    """The keys of CONFIG.yaml; paths are relative to its folder.

    images: the folder of all images. metadata: a folder with train-weaksup, train-fullsup and test,
    each as score wsol reads it; or release and split, the folder of split --by wsol:F,T. masks: the
    folder that mask paths start from; a release brings its own. fsl_epochs: of the few-shot
    baseline. few_shot_trials: of each search on a subset. checkpoint_seconds: longest time between
    checkpoints; there is one after each epoch in any case. samples: test images whose maps are kept
    for figures. submit_to: the benchmark on this site that the maps of the final models are
    submitted to.
    """

    images: Path = field(metadata=TEXT)
    methods: list[str] = field(metadata=_several(SPACES))
    backbones: list[str] = field(metadata=_several(BACKBONES))
    name: str = field(default="study", metadata=TEXT)
    dataset: str = field(default="own", metadata=TEXT)
    metadata: Path | None = field(default=None, metadata=TEXT)
    release: Path | None = field(default=None, metadata=TEXT)
    split: Path | None = field(default=None, metadata=TEXT)
    masks: Path | None = field(default=None, metadata=TEXT)
    metric: str = field(default=BOXES, metadata=_among(BOXES, MASKS))
    convention: str = field(default="paper", metadata=_among(*CONVENTIONS))
    protocol: str = field(default="paper", metadata=_among(*PROTOCOLS))
    weights: Mapping[str, Path] = field(
        default_factory=dict, metadata=_check(_is_files, "BACKBONE: FILE")
    )
    trials: int = field(default=30, metadata=COUNT)
    epochs: int = field(default=10, metadata=COUNT)
    decay_every: int = field(default=3, metadata=COUNT)
    batch: int = field(default=32, metadata=_whole(2))
    seed: int = field(default=0, metadata=_whole(0))
    threads: int = field(default=2, metadata=_whole(1, 1024))
    proxy: float = field(default=1.0, metadata=SHARE)
    targets: str = field(default="boxes", metadata=_among("boxes", "masks"))
    fsl_epochs: int = field(default=10, metadata=COUNT)
    few_shot: list[int] = field(default_factory=list, metadata=SHOTS)
    few_shot_samples: int = field(default=3, metadata=COUNT)
    few_shot_trials: int = field(default=30, metadata=COUNT)
    checkpoint_seconds: int = field(default=300, metadata=_whole(0))
    samples: int = field(default=8, metadata=_whole(0))
    attribution: bool = field(default=False, metadata=SWITCH)
    keep_maps: bool = field(default=False, metadata=SWITCH)
    submit_to: str | None = field(default=None, metadata=TEXT)


CHECKS: Mapping[str, Check] = {each.name: each.metadata for each in fields(StudyConfig)}


def read_config(path: Path) -> StudyConfig:
    """Return the configuration of a YAML file. Raises BadInput with the line."""
    content, lines = read_yaml_with_lines(path, "has no keys", CURE)
    for key, value in content.items():
        line = lines.get((key,))
        if key not in CHECKS:
            raise BadInput(f"has an unknown key {key[:40]!r}", path, line, CURE)
        if not CHECKS[key]["is_right"](value):
            fault = f"{key} is {str(value)[:80]}, expected {CHECKS[key]['expected']}"
            if key == "methods" and "gcnet" in str(value).lower():
                fault += " (GC-Net is not built)"
            raise BadInput(fault, path, line, "correct it")
    return _checked(content, path)


def _checked(content: dict[str, Any], path: Path) -> StudyConfig:
    """Return the configuration of checked values, after checking them against one another."""
    for key in ("images", "methods", "backbones"):
        if key not in content:
            raise BadInput(f"lacks {key}", path, None, f"write {key}: {CHECKS[key]['expected']}")
    for key in ("images", "metadata", "release", "split", "masks"):
        if key in content:
            content[key] = path.parent / content[key]
    weights = content.get("weights", {})
    content["weights"] = {name: path.parent / file for name, file in weights.items()}
    dataset = content.get("dataset", "")
    epochs = content.setdefault("epochs", EPOCHS.get(dataset, StudyConfig.epochs))
    content.setdefault("decay_every", DECAY.get(dataset, max(1, math.ceil(0.3 * epochs))))
    content.setdefault("protocol", content.get("convention", StudyConfig.protocol))
    content.setdefault("fsl_epochs", epochs)
    content.setdefault("few_shot_trials", content.get("trials", StudyConfig.trials))
    content.setdefault("name", path.stem)
    config = StudyConfig(**content)
    for fault, cure in _faults(config):
        raise BadInput(fault, path, None, cure)
    for file in config.weights.values():
        require_file(file, "give the file of the weights, or leave it out")
    return config


def _faults(config: StudyConfig) -> Iterator[tuple[str, str]]:
    """Yield each contradiction between keys, with its cure."""
    sources = [source is not None for source in (config.metadata, config.release, config.split)]
    if sources not in ([True, False, False], [False, True, True]):
        cure = "give metadata, a folder of three parts, or both release and split"
        yield "does not say where the truth lies", cure
    for name in sorted(config.weights.keys() - config.backbones):
        yield f"the weights of {name} are not used", f"add {name} to backbones, or leave them out"
    is_drawn = config.metric == MASKS and config.metadata is not None
    if config.masks is not None and not is_drawn:
        yield "masks is not used", f"leave masks out, or give metric: {MASKS} and metadata"
    if config.masks is None and is_drawn:
        yield f"{MASKS} needs masks", "write masks: FOLDER"
    if config.metric == BOXES and config.targets == "masks":
        yield "targets are masks, but the truth has boxes", "targets: boxes"
    if config.few_shot and FSL not in config.methods:
        yield "few_shot needs the method fsl", "add fsl to the methods"
