"""Supplement B's two criteria, by plain loops and on a mapping made for it."""

import itertools
import math

import pytest

from evaluation.metrics.wordnet import similarity as s
from evaluation.metrics.wordnet.similarity_criteria import criteria

POOL = (
    "n02085620", "n02123045", "n02114367", "n02814533", "n02701002", "n02835271", "n04065272",
    "n01440764", "n02124075", "n02099601",
)  # fmt: skip


def plain(wordnet, categories, pool, mapping, measure, convention) -> tuple[float, float, int]:
    def like(a: int, b: int) -> float:
        return float(s.similarity_matrix(wordnet, [a], [b], measure, convention)[0, 0])

    hits = total = ties = 0
    for mapped in mapping.values():
        for mapped_class in mapped:
            others = [i for i in range(len(pool)) if i != mapped_class]
            values = [like(pool[mapped_class], pool[i]) for i in others]
            hits += others[values.index(max(values))] in mapped
            ties += values.count(max(values)) > 1
            total += 1
    above = [
        max(like(category, pool[i]) for i in mapping[k])
        > max(
            like(category, category_beside)
            for category_beside in categories
            if category_beside != category
        )
        for k, category in enumerate(categories)
    ]
    return hits / total, sum(above) / len(above), ties


@pytest.mark.parametrize(
    ("measure", "convention", "by"),
    [
        ("wup", "clean", "wnid"),
        ("path", "clean", "word"),
        ("res", "wnsim", "wnid"),
        ("lin", "wnsim", "word"),
        ("jcn", "clean", "wnid"),
        ("lesk", "wnsim", "word"),
    ],
)
def test_criteria_are_those_of_plain_loops(wordnet, measure, convention, by):
    pool = [s.meant(wordnet, wnid, by) for wnid in POOL]
    categories = [wordnet.first_sense(word) for word in ("dog", "cat", "car", "bicycle")]
    # A class may stand for two categories.
    mapping = {0: [0, 9, 2], 1: [1, 8], 2: [3, 4, 6], 3: [5, 6]}

    measured = criteria(wordnet, categories, pool, mapping, measure, convention)

    first, two, ties = plain(wordnet, categories, pool, mapping, measure, convention)
    assert (measured.criterion_1, measured.criterion_2) == (first, two)
    assert (measured.mapped, measured.ties) == (10, ties)


def test_a_class_that_is_as_like_to_several_goes_to_the_first_of_the_pool(wordnet):
    # All three hang below one synset and are as far from each other.
    breeds = [wordnet.find(f"{name}.n.01") for name in ("beagle", "basset", "bloodhound")]
    for order in itertools.permutations(range(3)):
        pool = [breeds[i] for i in order]
        measured = criteria(wordnet, [breeds[0], breeds[1]], pool, {0: [0, 1], 1: [2]})

        # Places 0 and 1 are each other's first; 2 falls to 0, which is mapped elsewhere.
        assert (measured.criterion_1, measured.ties) == (2 / 3, 3)


def test_one_category_has_no_other_to_be_above(wordnet):
    dog, cat = wordnet.find("dog.n.01"), wordnet.find("cat.n.01")

    measured = criteria(wordnet, [dog], [dog, cat], {0: [0, 1]})

    assert measured.criterion_1 == 1
    assert math.isnan(measured.criterion_2)


def test_a_pool_of_one_and_a_category_of_none_are_refused(wordnet):
    with pytest.raises(ValueError, match="two or more"):
        criteria(wordnet, [1], [1], {0: [0]})
    with pytest.raises(ValueError, match="no mapped class"):
        criteria(wordnet, [1, 2], [1, 2], {0: [0]})
