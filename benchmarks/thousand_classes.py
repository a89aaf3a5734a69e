"""Classes for measurements, like those of ILSVRC."""

import numpy as np

from evaluation.metrics.wordnet import nouns as wn


def thousand_classes(wordnet: wn.WordNet) -> list[int]:
    """Return a seeded choice of leaves of the hierarchy, as most classes of ILSVRC are."""
    leaves = np.flatnonzero((wordnet.depth >= 0) & (np.diff(wordnet.down_start) == 0))
    chosen = np.random.default_rng(0).choice(leaves, 1000, replace=False)
    return sorted(chosen.tolist())
