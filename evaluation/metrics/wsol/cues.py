"""The posterior ratio α: whether objects of a class can be localized from image labels at all.

Source: Choe et al., "Evaluation for Weakly Supervised Object Localization" (TPAMI 2022), §3.3.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def posteriors(counts: NDArray[Any]) -> Floats:
    """Return (M,) p(class | cue): the share of a cue's patches in images of the class.

    counts: (M, 2) labeled patches of each cue in other images and in images of the class. NaN for a
    cue without patches.

    >>> posteriors(np.array([[1, 3], [4, 0]]))
    array([0.75, 0.  ])
    """
    with np.errstate(invalid="ignore"):
        shares: Floats = counts[:, 1] / counts.sum(axis=1)
    return shares


def posterior_ratios(counts: NDArray[Any], foreground: NDArray[np.bool_]) -> Floats:
    """Return (F, B) α = p(class | foreground cue) / p(class | background cue), in the order of the
    cues.

    foreground: (M,) which cues belong to the object. Below 1, even a map of the true posterior
    ranks the background cue above the foreground one. Infinite if the background cue never occurs
    with the class; NaN if neither does, or a cue has no patches.
    """
    posterior = posteriors(counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: Floats = posterior[foreground][:, None] / posterior[~foreground][None, :]
    return ratios


def well_posed(counts: NDArray[Any], foreground: NDArray[np.bool_]) -> bool:
    """Return whether one threshold on p(class | cue) separates object from background: every α ≥ 1.

    Two cues that both never occur with the class count as 1. Cues without patches are ignored.
    """
    seen = counts.sum(axis=1) > 0
    ratios = posterior_ratios(counts[seen], foreground[seen])
    return bool((np.where(np.isnan(ratios), 1.0, ratios) >= 1).all())
