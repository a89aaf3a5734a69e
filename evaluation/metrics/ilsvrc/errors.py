"""The errors of ILSVRC's image classification: top-k and hierarchical.

Source: Russakovsky et al. (2015), §4.1. An image has one class; a submission names up to five.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.common_ancestors import ancestry, richest
from evaluation.metrics.wordnet.nouns import ROOT, WordNet

# Most true classes whose heights are computed at once, to limit memory.
_BLOCK = 2000
ABSENT = -1


def wrong_at(
    truth: NDArray[np.integer], predicted: NDArray[np.integer], k: int
) -> NDArray[np.bool_]:
    """Return (N,) whether none of the first k predictions is the class of the image.

    truth: (N,) class indices from 0. predicted: (N, K) indices of the same classes, best first,
    ABSENT for a missing rank, which is wrong. Ranks above K are missing.

    >>> wrong_at(np.array([3, 4]), np.array([[1, 3], [4, -1]]), 1).tolist()
    [True, False]
    """
    return ~(predicted[:, :k] == truth[:, None]).any(axis=1)


def hierarchical_errors(
    wordnet: WordNet,
    classes: Sequence[int],
    truth: NDArray[np.integer],
    predicted: NDArray[np.integer],
    k: int = 5,
) -> NDArray[np.int16]:
    """Return (N,) the lowest cost of the first k predictions; the error is the mean over images.

    A prediction costs the lowest height of an ancestor that it shares with the class, and 0 if it
    is the class. classes: (C,) synsets under entity; truth, predicted: their indices, as in
    wrong_at(). A missing prediction costs as much as the farthest class, the height of entity.
    """
    rows, row_of = np.unique(truth, return_inverse=True)
    columns = np.unique(predicted[:, :k])
    columns = columns[columns >= 0]
    farthest = wordnet.heights[wordnet.index(ROOT)]
    errors = np.full(len(truth), farthest, np.int16)
    column_of = np.zeros(len(classes) + 1, np.int64)
    column_of[columns] = np.arange(len(columns))
    # ABSENT indexes the last column, which has the largest height.
    column_of[ABSENT] = len(columns)
    for start in range(0, len(rows), _BLOCK):
        block_rows = rows[start : start + _BLOCK]
        heights = np.full((len(block_rows), len(columns) + 1), farthest, np.int16)
        heights[:, :-1] = shared_heights(
            wordnet,
            [classes[i] for i in block_rows.tolist()],
            [classes[i] for i in columns.tolist()],
        )
        mine = (row_of >= start) & (row_of < start + _BLOCK)
        places = column_of[predicted[mine, :k]]
        costs = heights[row_of[mine, None] - start, places]
        errors[mine] = costs.min(axis=1, initial=farthest)
    return errors


def shared_heights(
    wordnet: WordNet, rows: Sequence[int], columns: Sequence[int]
) -> NDArray[np.int16]:
    """Return (R, C) the lowest height of a common ancestor, 0 for a synset and itself.

    Height is the longest path down to a leaf in the whole of WordNet. Of several common ancestors
    the lowest height counts, which need not be the deepest. All synsets are under entity.
    """
    above = ancestry(wordnet, rows, columns)
    heights = wordnet.heights[above.nodes]
    shared = heights[richest(above, -heights.astype(float))]
    same = np.asarray(rows)[:, None] == np.asarray(columns)[None, :]
    return np.where(same, np.int16(0), shared)
