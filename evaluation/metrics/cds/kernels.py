# mypy: disable-error-code="assignment"
# numba infers the types of these loops; type hints cannot express them all.
"""Medians of resampled scores, compiled by numba. Import this only inside functions."""

import numpy as np
from numpy.typing import NDArray

from labeling.numba_cache import njit


@njit(nogil=True, cache=True)
def medians(
    ordered: NDArray[np.float64],
    owner: NDArray[np.int64],
    known: NDArray[np.int64],
    weights: NDArray[np.int32],
    out: NDArray[np.float64],
) -> None:
    """Write the median of each column in each round into out (R, J); NaN stays if none was drawn.

    ordered: (J, n) each column's values, ascending, of which `known` (J,) are used. owner: (J, n)
    the object of each. weights: (R, O) how often each object was drawn.
    """
    for r in range(weights.shape[0]):
        for j in range(ordered.shape[0]):
            total = 0
            for i in range(known[j]):
                total += weights[r, owner[j, i]]
            if total == 0:
                continue
            below = 0
            i = 0
            while below <= (total - 1) // 2:
                below += weights[r, owner[j, i]]
                i += 1
            low = ordered[j, i - 1]
            while below <= total // 2:
                below += weights[r, owner[j, i]]
                i += 1
            out[r, j] = (low + ordered[j, i - 1]) / 2
