"""What a benchmark on released labels may choose, by kind, and what it is unless one does."""

from collections.abc import Mapping
from typing import Any

from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    KINDS,
    LOCALIZATION,
    WSOL,
)
from evaluation.metrics.wsol import box_scores
from labeling.errors import Refusal

TRAIN, TEST = SPLITS = ("train-fullsup", "test")
_DRAWN: dict[str, Any] = {"split": TRAIN, "confidence": 0.999, "seed": 0}
DEFAULTS: dict[str, dict[str, Any]] = {
    CLASSIFICATION: _DRAWN,
    LOCALIZATION: _DRAWN | {"inclusive": False, "strict": False},
    DETECTION: _DRAWN | {"inclusive": False},
    WSOL: {
        "split": TRAIN,
        "protocol": "paper",
        "normalize": "min-max",
        "size": 224,
        "thresholds": 1000,
    },
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "split": SPLITS,
    "protocol": box_scores.PROTOCOLS,
    "normalize": box_scores.NORMALIZATIONS,
}
# Whole numbers, from and to.
_RANGES = {
    "seed": (0, 2**32 - 1),
    "size": (1, box_scores.LARGEST_SIZE),
    "thresholds": (1, box_scores.MOST_THRESHOLDS),
}


def checked(kind: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting of the kind, as chosen or as usual. Raises Refusal with the field."""
    if kind not in KINDS:
        raise Refusal(f"{kind!r} is not one of {', '.join(KINDS)}.", field="kind")
    usual = DEFAULTS[kind]
    for name, value in chosen.items():
        if name not in usual:
            raise Refusal(
                f"A benchmark of {kind} has no {name!r}; it has {', '.join(usual)}.", field=name
            )
        _check(name, value)
    return usual | dict(chosen)


def protocol_of(settings: Mapping[str, Any]) -> box_scores.Protocol:
    """How maps are scored, of a benchmark's settings (wsol)."""
    names = ("protocol", "normalize", "thresholds", "size")
    return box_scores.Protocol(*(settings[name] for name in names))


def _check(name: str, value: Any) -> None:
    if name in _CHOICES and value not in _CHOICES[name]:
        raise Refusal(f"{value!r} is not one of {', '.join(_CHOICES[name])}.", field=name)
    if name in _RANGES:
        low, high = _RANGES[name]
        if type(value) is not int or not low <= value <= high:
            raise Refusal(f"Take a whole number from {low} to {high}.", field=name)
    if name == "confidence" and not (isinstance(value, float) and 0 < value < 1):
        raise Refusal("Take a number between 0 and 1, such as 0.999.", field=name)
    if name in ("inclusive", "strict") and type(value) is not bool:
        raise Refusal("Say true or false.", field=name)
