"""The Contextual Dissimilarity Score and related numbers, for many sequences at once.

Source: Sarvadevabhatla, Venkatraman, Venkatesh Babu (2016), §5 and Supplements D and E. Sequences
of different lengths are concatenated in a flat array; `starts` has the start of each.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

BINS = 10


def cds(similarities: ArrayLike, starts: ArrayLike) -> NDArray[np.float64]:
    """Return CDS_I = 1 − Σ x_j w_j / Σ w_j of every sequence, w_j = (N − j + 1) / N, in [0, 1].

    similarities: (Q,) in [0, 1], the frames of all sequences in order. starts: (S + 1,) offsets,
    the last one Q; every sequence has a frame. Smaller is better. B-CDS is the same for right (1)
    or wrong (0) frames. All 1 gives exactly 0, all 0 exactly 1.

    The authors' script divides B-CDS by N once more; the printed formula does not.

    >>> cds([1 / 2, 3 / 4, 1, 1], [0, 4]).tolist()
    [0.275]
    >>> (11 * cds([0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0], [0, 11])).round(12).tolist()
    [6.0]
    """
    x, at = np.asarray(similarities, float), np.asarray(starts, np.int64)
    weights = frames_to_end(at)
    count = np.diff(at)
    # In integers: the N of the weights cancels out.
    return 1 - np.add.reduceat(x * weights, at[:-1]) / (count * (count + 1) / 2)


def frames_to_end(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (Q,) t_j = N − j + 1 of every frame: the number of frames from it to the end."""
    ends = np.repeat(starts[1:], np.diff(starts))
    return ends - np.arange(starts[-1])


@dataclass(frozen=True)
class Ratios:
    """CL-ratios, all (E,): of which sequence, at which index j from 1, s_j of t_j frames right."""

    sequence: NDArray[np.int64]
    index: NDArray[np.int64]
    run: NDArray[np.int64]
    rest: NDArray[np.int64]

    @property
    def bins(self) -> NDArray[np.int64]:
        """Return the index of each ratio among ten equal bins of [0, 1]; 1 is in the last."""
        return np.minimum(BINS * self.run // self.rest, BINS - 1)


def cl_ratios(right: ArrayLike, starts: ArrayLike) -> Ratios:
    """Return CL_j = s_j / t_j at every j with l_{j−1} = 0 and l_j = 1, where l_0 = 0.

    right: (Q,) bool. s_j: the number of right frames in a row from j on. t_j: as in
    `frames_to_end`. Small ratios at small j are rewarded wrongly by the weights of CDS: right
    early, wrong later.

    >>> ratios = cl_ratios([0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0], [0, 11])
    >>> ratios.index.tolist(), ratios.run.tolist(), ratios.rest.tolist()
    ([3], [4], [9])
    """
    ok, at = np.asarray(right, bool), np.asarray(starts, np.int64)
    rest = frames_to_end(at)
    # A wrong frame before each sequence and after the last keeps runs within their sequence.
    padded = np.zeros(len(ok) + len(at), bool)
    padded_index = np.arange(len(ok)) + np.repeat(np.arange(1, len(at)), np.diff(at))
    padded[padded_index] = ok
    change = np.diff(padded.astype(np.int8))
    begin, end = np.flatnonzero(change == 1) + 1, np.flatnonzero(change == -1) + 1
    first = np.searchsorted(padded_index, begin)
    sequence = np.searchsorted(at, first, "right") - 1
    return Ratios(sequence, first - at[sequence] + 1, end - begin, rest[first])
