"""Ranks and rank correlations.

scipy.stats gives the same ranks. Its correlations agree to 1e-15 but not to the last bit, and
stored scores must not change; the same holds for Wilson's interval in `intervals`.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def ranks(values: ArrayLike) -> NDArray[np.float64]:
    """Return ranks along the last axis: 1 for the largest value, ties share the mean rank.

    >>> ranks([0.5, 0.9, 0.5]).tolist()
    [2.5, 1.0, 2.5]
    """
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.asarray(values, float), axis=-1), float)


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Return Pearson's correlation of two lists; NaN if one is constant or empty.

    >>> round(pearson([1, 2, 3], [1, 3, 4]), 4)
    0.982
    """
    a, b = np.asarray(x, float), np.asarray(y, float)
    if not len(a) or (a == a[0]).all() or (b == b[0]).all():
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Return Spearman's rank correlation of two lists, ties at their mean rank; NaN if one is
    constant.

    >>> round(spearman([1, 2, 3, 4], [1, 3, 2, 4]), 4)
    0.8
    """
    return pearson(ranks(x), ranks(y))


def kendall(x: ArrayLike, y: ArrayLike) -> float:
    """Return Kendall's tau-b of two lists; NaN if one is constant.

    >>> round(kendall([1, 2, 3, 4], [1, 3, 2, 4]), 4)
    0.6667
    """
    a, b = np.asarray(x, float), np.asarray(y, float)
    sign_a, sign_b = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    spread = np.sqrt((sign_a**2).sum() * (sign_b**2).sum())
    return float((sign_a * sign_b).sum() / spread) if spread > 0 else float("nan")
