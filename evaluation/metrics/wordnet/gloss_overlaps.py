"""lesk: number and length of the phrases that the glosses around two synsets share."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.glosses import GAP, RELATIONS, glosses, related
from evaluation.metrics.wordnet.nouns import WordNet


def lesk(wordnet: WordNet, rows: Sequence[int], columns: Sequence[int]) -> NDArray[np.float64]:
    """Return (R, C) squared lengths of shared phrases, summed over all pairs of related glosses.

    The gloss, and those of hypernyms, hyponyms, meronyms and holonyms, of one synset against each
    of the five of the other; within a pair the longest phrase is taken first, and each word is used
    once. Phrases neither begin nor end with a function word and stay within one gloss. Of equally
    long phrases the first of the synset with the smaller wnid is taken, so that the result is
    symmetric. Integers from 0 up; a synset with itself has no fixed value. Source: Banerjee and
    Pedersen 2003. WordNet::Similarity adds examples, synonyms and attributes.
    """
    from evaluation.metrics.wordnet.kernels import overlaps

    known = glosses(wordnet)
    synsets = sorted({*rows, *columns})
    index_of = {index: i for i, index in enumerate(synsets)}
    pieces, bounds, length = [], [], 0
    for index in synsets:
        bounds.append([length])
        for text in texts(wordnet, index):
            pieces.append(text)
            length += len(text)
            bounds[-1].append(length)
    shared = overlaps(
        np.concatenate([*pieces, np.zeros(0, np.int32)]),
        np.array(bounds, np.int64).reshape(-1, len(RELATIONS) + 1),
        np.array([index_of[i] for i in rows], np.int64),
        np.array([index_of[i] for i in columns], np.int64),
        known.function,
    )
    return shared.astype(np.float64)


def texts(wordnet: WordNet, index: int) -> list[NDArray[np.int32]]:
    """Return one text per relation: the glosses of its synsets, a GAP after each."""
    known = glosses(wordnet)
    gap = np.array([GAP], np.int32)
    return [
        np.concatenate(
            [
                np.zeros(0, np.int32),
                *(part for i in related(wordnet, index, relation) for part in (known.of(i), gap)),
            ]
        )
        for relation in RELATIONS
    ]
