"""Table IV of Choe et al. 2022: the hyperparameters of each method and their distributions."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

Values = Mapping[str, float | int]
# The prior of a hyperparameter; it takes the values drawn before it, by name.
Prior = Callable[[np.random.Generator, Values], float | int]
Space = Mapping[str, Prior]


def share(rng: np.random.Generator, _: Values) -> float:
    """Return a number uniform on [0, 1)."""
    return float(rng.uniform())


def share_above(floor: str) -> Prior:
    """Return the uniform prior from the value of an earlier hyperparameter to 1."""
    return lambda rng, earlier: float(rng.uniform(earlier[floor], 1.0))


def log_uniform(low: float, high: float) -> Prior:
    """Return a prior whose logarithm is uniform on [log low, log high)."""
    return lambda rng, _: math.exp(rng.uniform(math.log(low), math.log(high)))


def side(rng: np.random.Generator, _: Values) -> int:
    """Return the side of the feature maps, 14 or 28."""
    return (14, 28)[int(rng.integers(2))]


def size_prior(rng: np.random.Generator, _: Values) -> float:
    """Return CutMix's 1 / Uniform(0, 2] − 1/2, for which Var(Beta(β, β)) is uniform on (0, .25]."""
    return 1 / (2 - 2 * rng.random()) - 0.5


COMMON: Space = {"learning_rate": log_uniform(1e-5, 1.0), "resolution": side}
# In the order of the paper's tables. fsl, the few-shot baseline, has only COMMON.
SPACES: Mapping[str, Space] = {
    "cam": COMMON,
    "has": {**COMMON, "drop_rate": share, "drop_area": share},
    "acol": {**COMMON, "erasing_threshold": share},
    "spg": {
        **COMMON,
        "low_b1": share,
        "high_b1": share_above("low_b1"),
        "low_b2": share,
        "high_b2": share_above("low_b2"),
        "low_c": share,
        "high_c": share_above("low_c"),
    },
    "adl": {**COMMON, "drop_rate": share, "erasing_threshold": share},
    "cutmix": {**COMMON, "size_prior": size_prior, "mix_rate": share},
    "fsl": COMMON,
}


def draw(space: Space, seed_words: Sequence[str | int]) -> dict[str, float | int]:
    """Return one value per hyperparameter, drawn in the order of the space.

    seed_words: the study's seed, method, backbone and trial number. The values depend on nothing
    else.
    """
    digest = hashlib.sha256(json.dumps(list(seed_words)).encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest))
    values: dict[str, float | int] = {}
    for name, prior in space.items():
        values[name] = prior(rng, values)
    return values
