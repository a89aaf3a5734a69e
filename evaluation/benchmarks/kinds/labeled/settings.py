"""Settings of a benchmark on released labels and their defaults, by kind."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.benchmarks.kinds.labeled.truth.ground_truth import (
    CLASSIFICATION,
    DETECTION,
    KINDS,
    LOCALIZATION,
    WSOL,
    TruthCounts,
)
from evaluation.metrics.wsol import box_scores
from labeling.errors import Refusal
from labeling.records import Record

TRAIN, TEST = SPLITS = ("train-fullsup", "test")
# Defaults of the kinds that have bootstrap intervals.
_WITH_INTERVALS: dict[str, object] = {"split": TRAIN, "part": "", "confidence": 0.999, "seed": 0}
DEFAULTS: dict[str, dict[str, object]] = {
    CLASSIFICATION: _WITH_INTERVALS,
    LOCALIZATION: _WITH_INTERVALS | {"inclusive": False, "strict": False},
    DETECTION: _WITH_INTERVALS | {"inclusive": False},
    WSOL: {
        "split": TRAIN,
        "part": "",
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
# Ranges of integer settings.
_RANGES = {
    "seed": (0, 2**32 - 1),
    "size": (1, box_scores.LARGEST_SIZE),
    "thresholds": (1, box_scores.MAX_THRESHOLDS),
}


@dataclass(kw_only=True)
class LabeledSettings(Record):
    """The stored settings of a benchmark. Settings that its kind does not have are None.

    part: SPLIT:PART, if only the images in this part of a split of the release are scored. truth:
    counts of the ground truth. earlier_attempts: number of attempts by removed classifiers.
    """

    split: str
    part: str | None = None
    confidence: float | None = None
    seed: int | None = None
    inclusive: bool | None = None
    strict: bool | None = None
    protocol: str | None = None
    normalize: str | None = None
    size: int | None = None
    thresholds: int | None = None
    truth: TruthCounts | None = None
    earlier_attempts: dict[str, int] | None = None

    def as_protocol(self) -> box_scores.Protocol:
        """Return the protocol for scoring maps. Only benchmarks of the kind wsol have one."""
        assert self.protocol
        assert self.normalize
        assert self.size
        assert self.thresholds
        return box_scores.Protocol(self.protocol, self.normalize, self.thresholds, self.size)


def check_settings(kind: str, chosen: Mapping[str, object]) -> LabeledSettings:
    """Return the chosen settings, with the kind's defaults. Raises Refusal with the field."""
    if kind not in KINDS:
        raise Refusal(f"{kind!r} is not one of {', '.join(KINDS)}.", field="kind")
    defaults = DEFAULTS[kind]
    for name, value in chosen.items():
        if name not in defaults:
            raise Refusal(
                f"A benchmark of {kind} has no {name!r}; it has {', '.join(defaults)}.", field=name
            )
        _check(name, value)
    settings = {name: value for name, value in (defaults | dict(chosen)).items() if value != ""}
    return LabeledSettings.from_json(settings)


def _check(name: str, value: object) -> None:
    if name in _CHOICES and value not in _CHOICES[name]:
        raise Refusal(f"{value!r} is not one of {', '.join(_CHOICES[name])}.", field=name)
    if name in _RANGES:
        low, high = _RANGES[name]
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Refusal(f"Take a whole number from {low} to {high}.", field=name)
    if name == "confidence" and not (isinstance(value, float) and 0 < value < 1):
        raise Refusal("Take a number between 0 and 1, such as 0.999.", field=name)
    if name == "part" and not isinstance(value, str):
        raise Refusal("Give the part as SPLIT:PART, such as 3:val.", field=name)
    if name in ("inclusive", "strict") and type(value) is not bool:
        raise Refusal("Send true or false.", field=name)
