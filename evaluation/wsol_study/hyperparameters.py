"""Table IV of Choe et al. 2022: the hyperparameters of each method and their distributions."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

Values = Mapping[str, float | int]


class Distribution(Protocol):
    """A prior of one hyperparameter."""

    def draw(self, rng: np.random.Generator, earlier: Values) -> float | int:
        """Return a value. earlier: the values drawn before it, by name."""


@dataclass(frozen=True)
class Uniform:
    """The uniform distribution on [low, high)."""

    low: float = 0.0
    high: float = 1.0

    def draw(self, rng: np.random.Generator, earlier: Values) -> float:
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class UniformAbove:
    """The uniform distribution from the value of an earlier hyperparameter to 1."""

    floor: str

    def draw(self, rng: np.random.Generator, earlier: Values) -> float:
        return float(rng.uniform(earlier[self.floor], 1.0))


@dataclass(frozen=True)
class LogUniform:
    """A distribution whose logarithm is uniform on [log low, log high)."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator, earlier: Values) -> float:
        return math.exp(rng.uniform(math.log(self.low), math.log(self.high)))


@dataclass(frozen=True)
class Categorical:
    """The uniform distribution over some integers."""

    choices: Sequence[int]

    def draw(self, rng: np.random.Generator, earlier: Values) -> int:
        return self.choices[int(rng.integers(len(self.choices)))]


@dataclass(frozen=True)
class SizePrior:
    """CutMix's 1 / Uniform(0, 2] − 1/2, for which Var(Beta(β, β)) is uniform on (0, .25]."""

    def draw(self, rng: np.random.Generator, earlier: Values) -> float:
        return 1 / (2 - 2 * rng.random()) - 0.5


Space = Mapping[str, Distribution]

COMMON: Space = {"learning_rate": LogUniform(1e-5, 1.0), "resolution": Categorical((14, 28))}
# In the order of the paper's tables; fsl is the few-shot baseline, which has COMMON alone.
SPACES: Mapping[str, Space] = {
    "cam": COMMON,
    "has": {**COMMON, "drop_rate": Uniform(), "drop_area": Uniform()},
    "acol": {**COMMON, "erasing_threshold": Uniform()},
    "spg": {
        **COMMON,
        "low_b1": Uniform(),
        "high_b1": UniformAbove("low_b1"),
        "low_b2": Uniform(),
        "high_b2": UniformAbove("low_b2"),
        "low_c": Uniform(),
        "high_c": UniformAbove("low_c"),
    },
    "adl": {**COMMON, "drop_rate": Uniform(), "erasing_threshold": Uniform()},
    "cutmix": {**COMMON, "size_prior": SizePrior(), "mix_rate": Uniform()},
    "fsl": COMMON,
}


def draw(space: Space, seed_words: Sequence[str | int]) -> dict[str, float | int]:
    """Return one value per hyperparameter, drawn in the order of the space.

    seed_words: the study's seed, method, backbone and number of the trial. The values depend on
    nothing else.
    """
    digest = hashlib.sha256(json.dumps(list(seed_words)).encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest))
    values: dict[str, float | int] = {}
    for name, distribution in space.items():
        values[name] = distribution.draw(rng, values)
    return values
