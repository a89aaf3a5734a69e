# mypy: disable-error-code="assignment,return-value,no-untyped-def"
# numba infers the types of these loops; type hints cannot express them all.
"""The ring of each pixel (rings.py). Compiled by numba: import this only inside functions."""

import numpy as np

from labeling.numba_cache import njit


@njit(nogil=True, cache=True)
def downwards(flat, wide):
    """Return (P,) uint8 the ring of each pixel if the highest level comes first; 0 in the frame."""
    rings = np.zeros(flat.shape[0], np.uint8)
    count = wide - 2
    for start in range(wide + 1, flat.shape[0] - wide, wide):
        centre, out = flat[start : start + count], rings[start : start + count]
        north, south = flat[start - wide - 1 :], flat[start + wide - 1 :]
        west, east = flat[start - 1 :], flat[start + 1 :]
        for x in range(count):
            level = centre[x]
            out[x] = (
                np.uint8(east[x] > level)
                | np.uint8(north[x + 2] >= level) << np.uint8(1)
                | np.uint8(north[x + 1] >= level) << np.uint8(2)
                | np.uint8(north[x] >= level) << np.uint8(3)
                | np.uint8(west[x] >= level) << np.uint8(4)
                | np.uint8(south[x] > level) << np.uint8(5)
                | np.uint8(south[x + 1] > level) << np.uint8(6)
                | np.uint8(south[x + 2] > level) << np.uint8(7)
            )
    return rings


@njit(nogil=True, cache=True)
def upwards(flat, wide):
    """Return (P,) uint8 the same if the lowest level comes first; the frame comes before all."""
    return downwards(~flat, wide)
