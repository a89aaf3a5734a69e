"""Predicted synsets from embeddings of words.

Source: Frome et al. (2013), DeViSE, appendix A.2. Terms are words and phrases, one vector each; a
term may name several synsets and a synset may have several terms.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.nouns import WordNet

BY = ("first", "random", "mean")
# Terms searched per requested prediction.
TERMS_PER_LABEL = 4
# Most similarities in memory at once, 64 MB.
_MAX_IN_MEMORY = 16_000_000


def term_labels(wordnet: WordNet, terms: Sequence[str], labels: Sequence[int]) -> list[list[int]]:
    """Return for every term the indices of the labels that have it among their lemmas, ascending.

    labels: synsets. Case, and blanks against underscores, are ignored. The paper leaves the order
    among the synsets of a term open; this uses that of the labels.
    """
    having: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        for lemma in dict.fromkeys(map(_same, wordnet.lemmas(label))):
            having.setdefault(lemma, []).append(number)
    return [having.get(_same(term), []) for term in terms]


def label_vectors(
    wordnet: WordNet,
    labels: Sequence[int],
    vectors: Mapping[str, NDArray[np.floating]],
    by: str = "first",
    generator: np.random.Generator | None = None,
) -> NDArray[np.float64]:
    """Return the (V, D) training target of each synset, NaN if none of its terms has a vector.

    by: `first` of its terms in WordNet's order, a `random` one (which needs a generator), or the
    `mean`; terms without a vector are skipped. vectors: by term.
    """
    if by not in BY:
        raise ValueError(f"by is {by!r}, expected one of {', '.join(BY)}")
    if by == "random" and generator is None:
        raise ValueError("a random term needs a generator")
    known = {_same(term): np.asarray(vector, float) for term, vector in vectors.items()}
    size = len(next(iter(known.values()))) if known else 0
    targets = np.full((len(labels), size), np.nan)
    for number, label in enumerate(labels):
        lemmas = dict.fromkeys(map(_same, wordnet.lemmas(label)))
        term_vectors = [known[lemma] for lemma in lemmas if lemma in known]
        if term_vectors and by == "mean":
            targets[number] = np.mean(term_vectors, axis=0)
        elif term_vectors:
            choice = generator.integers(len(term_vectors)) if by == "random" and generator else 0
            targets[number] = term_vectors[choice]
    return targets


def nearest_labels(
    queries: NDArray[np.floating],
    term_vectors: NDArray[np.floating],
    labels_of_term: Sequence[Sequence[int]],
    k: int,
    nearest: int | None = None,
) -> NDArray[np.int32]:
    """Return (N, k) indices of the predicted labels, best first, −1 if there are no more.

    The nearest terms by cosine (4 k of them, or `nearest`), each replaced by all its labels without
    duplicates, cut at k. queries: (N, D); term_vectors: (T, D), none zero. Ties are ordered as the
    terms; a term without labels still counts among the nearest.
    """
    term_count = min(TERMS_PER_LABEL * k if nearest is None else nearest, len(term_vectors))
    predicted = np.full((len(queries), k), -1, np.int32)
    if not term_count:
        return predicted
    terms = _unit(term_vectors)
    batch = max(1, _MAX_IN_MEMORY // len(terms))
    for start in range(0, len(queries), batch):
        similar = _unit(queries[start : start + batch]) @ terms.T
        for row, similarities in enumerate(similar, start):
            labels: dict[int, None] = {}
            for term in _largest(similarities, term_count):
                labels.update(dict.fromkeys(labels_of_term[term]))
                if len(labels) >= k:
                    break
            first = list(labels)[:k]
            predicted[row, : len(first)] = first
    return predicted


def _largest(values: NDArray[np.float64], count: int) -> list[int]:
    """Return the indices of the largest values, largest first, ties in order."""
    if count < len(values):
        least = np.partition(values, len(values) - count)[len(values) - count]
        above = np.flatnonzero(values > least)
        level = np.flatnonzero(values == least)[: count - len(above)]
        places = np.concatenate([above, level])
    else:
        places = np.arange(len(values))
    order = np.lexsort((places, -values[places]))
    largest: list[int] = places[order].tolist()
    return largest


def _unit(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(vectors, float) / np.linalg.norm(vectors, axis=1, keepdims=True)


def _same(term: str) -> str:
    return " ".join(term.replace("_", " ").lower().split())
