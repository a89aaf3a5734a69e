"""How well a similarity measure fits a mapping made by people: the two criteria of Supplement B."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.metrics.wordnet.similarity import similarity_matrix


@dataclass(frozen=True)
class Criteria:
    """Both shares in [0, 1]; criterion 2 is NaN for a single category.

    mapped: denominator of criterion 1, a class once per category it is mapped to. ties: those of
    them with several most similar classes, of which the first in the pool counted.
    """

    criterion_1: float
    criterion_2: float
    mapped: int
    ties: int


def criteria(
    wordnet: WordNet,
    categories: Sequence[int],
    pool: Sequence[int],
    mapping: Mapping[int, Sequence[int]],
    measure: str = "wup",
    convention: str = "clean",
) -> Criteria:
    """Return criteria #1 and #2 of Sarvadevabhatla et al. (2016), Supplement B.

    categories: (K,) synset indices. pool: (P,) synset indices of all classes; two classes may share
    a synset, as by word. mapping: indices in `categories` → indices in the pool, at least one each.
    #1: over the mapped classes of all categories together, the share whose most similar other class
    of the pool is mapped to the same category. Ties: the first of the pool, so that a measure which
    is 0 everywhere gains nothing. #2: the share of categories whose largest similarity to a mapped
    class is strictly above the largest to another category.
    Raises ValueError for a pool of fewer than two classes or a category without any.
    """
    if len(pool) < 2:
        raise ValueError(f"the pool has {len(pool)} classes, expected two or more")
    empty = [k for k in range(len(categories)) if not mapping.get(k)]
    if empty or not categories:
        raise ValueError(f"categories {empty} have no mapped class")
    mapped = sorted({index for places in mapping.values() for index in places})
    alike = similarity_matrix(wordnet, [pool[i] for i in mapped], pool, measure, convention)
    alike[np.arange(len(mapped)), mapped] = -np.inf
    nearest = dict(zip(mapped, alike.argmax(axis=1).tolist(), strict=True))
    several = (alike == alike.max(axis=1)[:, None]).sum(axis=1) > 1
    tied = dict(zip(mapped, several.tolist(), strict=True))
    pairs = [(category, index) for category, places in mapping.items() for index in places]
    hits = sum(nearest[index] in mapping[category] for category, index in pairs)
    return Criteria(
        criterion_1=hits / len(pairs),
        criterion_2=_above_others(wordnet, categories, pool, mapping, measure, convention),
        mapped=len(pairs),
        ties=sum(tied[index] for _, index in pairs),
    )


def _above_others(
    wordnet: WordNet,
    categories: Sequence[int],
    pool: Sequence[int],
    mapping: Mapping[int, Sequence[int]],
    measure: str,
    convention: str,
) -> float:
    if len(categories) < 2:
        return float("nan")
    others = similarity_matrix(wordnet, categories, None, measure, convention)
    np.fill_diagonal(others, -np.inf)
    to_mapped = [
        similarity_matrix(
            wordnet, [category], [pool[i] for i in mapping[k]], measure, convention
        ).max()
        for k, category in enumerate(categories)
    ]
    return float(np.mean(np.array(to_mapped) > others.max(axis=1)))
