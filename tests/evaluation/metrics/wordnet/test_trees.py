"""Classes in the order of the hypernym graph."""

from itertools import groupby
from pathlib import Path

import evaluation.readers
from evaluation.metrics.wordnet.trees import arranged

NORFOLK, NORWICH, POODLE = "n02094114", "n02094258", "n02113624"
TABBY, EGYPTIAN = "n02123045", "n02124075"


def tree(nouns, wnids) -> dict[str, list[str]]:
    return arranged(nouns, {wnid: nouns.index(wnid) for wnid in wnids})


def test_siblings_stand_together_and_groups_are_where_classes_part(wordnet):
    paths = tree(wordnet, [NORWICH, TABBY, POODLE, EGYPTIAN, NORFOLK])

    assert list(paths.items()) == [
        (NORFOLK, ["dog", "terrier"]),
        (NORWICH, ["dog", "terrier"]),
        (POODLE, ["dog"]),
        (EGYPTIAN, ["domestic cat"]),
        (TABBY, ["domestic cat"]),
    ]


def test_a_class_comes_right_before_the_group_that_it_names(wordnet):
    terrier = wordnet.wnid(wordnet.find("terrier.n.01"))

    paths = tree(wordnet, [NORFOLK, TABBY, terrier, NORWICH, EGYPTIAN])

    assert list(paths.items())[:3] == [
        (terrier, []),
        (NORFOLK, ["terrier"]),
        (NORWICH, ["terrier"]),
    ]


def test_the_thousand_classes_of_ilsvrc_are_in_groups_that_nothing_interrupts(wordnet):
    path = Path(evaluation.readers.__file__).parent / "data" / "ilsvrc2012.txt"
    wnids = path.read_text().split()

    paths = tree(wordnet, wnids)

    assert sorted(paths) == sorted(wnids)
    for depth in range(1, 1 + max(map(len, paths.values()))):
        met = [tuple(path[:depth]) for path in paths.values() if len(path) >= depth]
        runs = [group for group, _ in groupby(met)]
        # Two synsets may share a first lemma, never with the same path above them.
        assert len(runs) == len(set(runs)), depth
