"""The labels that hp@k draws from, and the size of its hCorrectSets. No Django.

Source: Frome et al. (2013), DeViSE, §4.2 and appendix A.3 with Table 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.metrics.ilsvrc import hpk
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.pools import read_classes
from labeling.files import BadInput
from labeling.records import Record


@dataclass(kw_only=True)
class NearLabels(Record):
    """of_the_seed: number of the labels that are in the seed."""

    labels: list[str]
    count: int
    of_the_seed: int
    hops: int
    hierarchy: str


@dataclass(kw_only=True)
class SetSizes(Record):
    """The mean size of the hCorrectSets of `labels` valid labels, by k."""

    name: str
    labels: int
    mean_correct_set_size: dict[str, float]


@dataclass(kw_only=True)
class SizeTable(Record):
    """true_labels: number of labels averaged over, where a list names them."""

    rows: list[SetSizes]
    true_labels: int | None
    hierarchy: str


def near(wordnet: WordNet, seed: Sequence[int], hops: int, among: Path | None = None) -> NearLabels:
    """Return the labels within this many hops of a seed's synsets, from all nouns or from a list.

    The seed itself is included, at 0 hops. Raises BadInput if the list has a line that is not a
    wnid.
    """
    synsets = hpk.labels_within(wordnet, seed, hops)
    if among is not None:
        allowed = {wordnet.index(wnid) for wnid in read_classes(among, wordnet)}
        synsets = [synset for synset in synsets if synset in allowed]
    seed_synsets = set(seed)
    return NearLabels(
        labels=[wordnet.wnid(synset) for synset in synsets],
        count=len(synsets),
        of_the_seed=sum(synset in seed_synsets for synset in synsets),
        hops=hops,
        hierarchy=hpk.HIERARCHY,
    )


def correct_set_sizes(
    wordnet: WordNet, valid: Mapping[str, Path], true: Path | None = None
) -> SizeTable:
    """Return Table 1: the mean size of the hCorrectSets for every k, a row per set of valid labels.

    true: a list of the labels to average over, distinct and all valid; by default the valid labels.
    Raises BadInput for a label that is not a wnid and for a true label that is not valid.
    """
    true_wnids = read_classes(true, wordnet) if true is not None else None
    rows = []
    for name, path in valid.items():
        wnids = read_classes(path, wordnet)
        known = set(wnids)
        for line, wnid in enumerate(true_wnids or (), 1):
            if wnid not in known:
                cure = f"add it to {path}, or remove it"
                raise BadInput(f"{wnid} is not a valid label", true, line, cure)
        sets = hpk.correct_sets(
            wordnet,
            [wordnet.index(wnid) for wnid in wnids],
            [wordnet.index(wnid) for wnid in true_wnids or wnids],
        )
        sizes = {str(k): size for k, size in hpk.mean_sizes(sets).items()}
        rows.append(SetSizes(name=name, labels=len(wnids), mean_correct_set_size=sizes))
    return SizeTable(
        rows=rows,
        true_labels=None if true_wnids is None else len(true_wnids),
        hierarchy=hpk.HIERARCHY,
    )
