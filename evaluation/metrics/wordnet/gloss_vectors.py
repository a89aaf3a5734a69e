"""vector and vector_pairs: synsets as sums of the co-occurrences of their glosses' words.

The co-occurrence matrix is computed from the glosses of all nouns, because that of the published
package is lost. Two words co-occur if one gloss contains both.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.glosses import RELATIONS, glosses, related
from evaluation.metrics.wordnet.nouns import WordNet

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NOTE = "the co-occurrence matrix is our own, from the glosses of WordNet's nouns"
# Words in fewer glosses are left out: they tell little about others.
MIN_GLOSSES = 5
# Most dense vectors in memory at once: 512 of 14,000 words take 60 MB.
_BLOCK = 512


def vector(wordnet: WordNet, rows: Sequence[int], columns: Sequence[int]) -> NDArray[np.float64]:
    """Return (R, C) cosines, in [0, 1], of the sums over the words of all glosses around two
    synsets.

    A synset's text is its gloss and those of its hypernyms, hyponyms, meronyms and holonyms; each
    word counts once. 0 if a synset's glosses have no word in the matrix. Source: Patwardhan and
    Pedersen 2006.
    """
    return _cosines(wordnet, rows, columns, [tuple(RELATIONS)])


def vector_pairs(
    wordnet: WordNet, rows: Sequence[int], columns: Sequence[int]
) -> NDArray[np.float64]:
    """Return (R, C) means of the cosines over all pairs of relations, in [0, 1].

    As vector(), but each of the five relations is its own text. A relation without synsets is left
    out of the mean. A synset with itself is below 1, as its gloss differs from its hypernym's.
    """
    return _cosines(wordnet, rows, columns, [(relation,) for relation in RELATIONS])


def _cosines(
    wordnet: WordNet,
    rows: Sequence[int],
    columns: Sequence[int],
    texts: Sequence[tuple[str, ...]],
) -> NDArray[np.float64]:
    result = np.empty((len(rows), len(columns)))
    for i, above in _blocks(wordnet, rows, texts):
        for j, beside in _blocks(wordnet, columns, texts):
            result[i : i + len(above), j : j + len(beside)] = above @ beside.T
    # Rounding may put a cosine slightly above 1.
    return np.clip(result, 0, 1)


def _blocks(
    wordnet: WordNet, classes: Sequence[int], texts: Sequence[tuple[str, ...]]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the mean unit vectors of some classes: the mean of all cosines is the product
    of means.
    """
    together = cooccurrence(wordnet)
    for start in range(0, len(classes), _BLOCK):
        part = classes[start : start + _BLOCK]
        total = np.zeros((len(part), together.shape[0]))
        present = np.zeros(len(part))
        for relations in texts:
            vectors = (_bags(wordnet, part, relations) @ together).toarray()
            length = np.linalg.norm(vectors, axis=1)
            nonzero = length > 0
            total[nonzero] += vectors[nonzero] / length[nonzero, None]
            present += nonzero
        yield start, total / np.maximum(present, 1)[:, None]


def _bags(wordnet: WordNet, classes: Sequence[int], relations: tuple[str, ...]) -> "csr_array":
    """Return (classes, words) which of the matrix's words the glosses have: 0 and 1, sparse."""
    from scipy.sparse import csr_array

    known, column = glosses(wordnet), _columns(wordnet)
    word_columns, ends = [], [0]
    for index in classes:
        near = [i for relation in relations for i in related(wordnet, index, relation)]
        words = np.unique(np.concatenate([np.zeros(0, np.int32), *(known.of(i) for i in near)]))
        at = column[words]
        word_columns.append(at[at >= 0])
        ends.append(ends[-1] + len(word_columns[-1]))
    places = np.concatenate([*word_columns, np.zeros(0, np.int64)])
    shape = (len(classes), int(column.max()) + 1)
    return csr_array((np.ones(len(places)), places, np.array(ends)), shape=shape)


@functools.lru_cache(maxsize=2)
def _columns(wordnet: WordNet) -> NDArray[np.int64]:
    """Return the column of each word of the vocabulary, −1 for a word without one."""
    known = glosses(wordnet)
    held, _ = _held(wordnet)
    often = np.bincount(held, minlength=len(known.vocabulary)) >= MIN_GLOSSES
    often[: known.function] = False
    return np.where(often, np.cumsum(often) - 1, -1)


@functools.lru_cache(maxsize=2)
def _held(wordnet: WordNet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each word of each gloss once: the words, and the synsets of the glosses."""
    known = glosses(wordnet)
    owner = np.repeat(np.arange(len(wordnet)), np.diff(known.start))
    pairs = np.sort(owner * len(known.vocabulary) + known.numbers)
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return pairs % len(known.vocabulary), pairs // len(known.vocabulary)


@functools.lru_cache(maxsize=2)
def cooccurrence(wordnet: WordNet) -> "csr_array":
    """Return (words, words) how many glosses contain two different words, sparse, symmetric."""
    from scipy.sparse import csr_array

    words, owner = _held(wordnet)
    column = _columns(wordnet)[words]
    kept = column >= 0
    shape = (len(wordnet), int(column.max()) + 1)
    bags = csr_array((np.ones(int(kept.sum())), (owner[kept], column[kept])), shape=shape)
    together = (bags.T @ bags).tocsr()
    together.setdiag(0)
    together.eliminate_zeros()
    return together
