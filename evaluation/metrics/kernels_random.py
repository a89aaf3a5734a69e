# mypy: disable-error-code="return-value"
"""Random bits for compiled loops. Import this only inside functions."""

import numpy as np

# Sets the cache folder of machine code before numba is imported.
from labeling.numba_cache import njit

# A state of SplitMix64 grows by this after each random number.
STEP = np.uint64(0x9E3779B97F4A7C15)
LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@njit(nogil=True, cache=True, inline="always")
def random_bits(state: np.uint64) -> np.uint64:
    """Return the random bits of this state of SplitMix64 (Steele et al. 2014)."""
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
