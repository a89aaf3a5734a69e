"""models.yaml: several models with their options. No Django."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.classifiers.preparing import FITS
from labeling.files import BadInput, read_yaml_with_lines

KEYS = ("file", "size", "mean", "std", "fit", "classes")
CURE = "write NAME: {file, size, mean, std, fit, classes}; only file is needed"


@dataclass(frozen=True)
class ListedModel:
    """A model to open. preparing: fields of FramePreparation that the file states.

    classes: a file, or the name of a shipped list; None if the command states it.
    """

    spec: str
    preparing: Mapping[str, Any]
    classes: str | None = None


def read_models(path: Path) -> list[ListedModel]:
    """Return the models of a file in order. Paths are relative to its folder. Raises BadInput."""
    content, lines = read_yaml_with_lines(path, "names no models", CURE)
    return [_model(name, value, path, lines.get((name,))) for name, value in content.items()]


def _model(name: str, value: object, path: Path, line: int | None) -> ListedModel:
    if not isinstance(value, dict) or not isinstance(value.get("file"), str):
        raise BadInput(f"{name} names no file", path, line, CURE)
    if unknown := [key for key in value if key not in KEYS]:
        raise BadInput(f"{name} has an unknown key {str(unknown[0])[:40]!r}", path, line, CURE)
    preparing = {}
    for key in EXPECTED:
        if value.get(key) is not None:
            try:
                preparing[key] = preparing_value(key, value[key])
            except ValueError as error:
                raise BadInput(f"{name}: the {error}", path, line, CURE) from error
    classes = value.get("classes")
    if classes is not None and not isinstance(classes, str):
        raise BadInput(f"{name} has classes that name no file", path, line, CURE)
    spec = f"{name}={_beside(path, value['file'])}"
    return ListedModel(spec, preparing, classes and _beside(path, classes))


def preparing_value(key: str, value: object) -> object:
    """Return a field of FramePreparation from YAML or text. Raises ValueError with the value and
    what was expected.
    """
    try:
        return {"size": _size, "mean": _colour, "std": _colour, "fit": _fit}[key](value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{key} is {value!r}, expected {EXPECTED[key]}") from error


EXPECTED = {
    "size": "pixels, such as 224 or 240x320",
    "mean": "three numbers",
    "std": "three numbers",
    "fit": f"one of {', '.join(FITS)}",
}


def _beside(path: Path, name: str) -> str:
    """Return the path of a file beside models.yaml, else the name unchanged."""
    return str(path.parent / name) if (path.parent / name).exists() else name


def _size(value: Any) -> tuple[int, int]:
    sides = str(value).split("x") if isinstance(value, int | str) else list(value)
    height, width = (int(side) for side in (sides * 2 if len(sides) == 1 else sides))
    if isinstance(value, bool) or min(height, width) < 1:
        raise ValueError(value)
    return height, width


def _colour(value: Any) -> tuple[float, ...]:
    numbers = tuple(map(float, value.split(",") if isinstance(value, str) else value))
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise ValueError(value)
    return numbers


def _fit(value: Any) -> str:
    if value not in FITS:
        raise ValueError(value)
    return str(value)
