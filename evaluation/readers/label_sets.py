"""Which labels hp@k draws from, and how large its hCorrectSets are then. No Django.

Source: Frome et al. (2013), DeViSE, §4.2 and appendix A.3 with Table 1.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.metrics.ilsvrc import hpk
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.readers.pools import read_classes
from labeling.files import BadInput

Result = dict[str, Any]


def near(wordnet: WordNet, seed: Path, hops: int, among: Path | None = None) -> Result:
    """The labels at most so many hops from one of a list, of all nouns or of another list.

    Those of the list itself are 0 hops away and belong to it. Raises BadInput for what is no wnid.
    """
    given = [wordnet.index(wnid) for wnid in read_classes(seed, wordnet)]
    found = hpk.labels_within(wordnet, given, hops)
    if among is not None:
        allowed = {wordnet.index(wnid) for wnid in read_classes(among, wordnet)}
        found = [synset for synset in found if synset in allowed]
    own = set(given)
    return {
        "labels": [wordnet.wnid(synset) for synset in found],
        "count": len(found),
        "of_the_seed": sum(synset in own for synset in found),
        "hops": hops,
        "hierarchy": hpk.HIERARCHY,
    }


def correct_set_sizes(
    wordnet: WordNet, valid: Mapping[str, Path], true: Path | None = None
) -> Result:
    """Table 1: the mean size of the hCorrectSets for every k, a row a set of valid labels.

    true: a list of the labels whose sets are averaged, each once, all of which are valid; the valid
    ones where it is not given. Raises BadInput for what is no wnid and a true label that is not
    valid.
    """
    own = read_classes(true, wordnet) if true is not None else None
    rows = []
    for name, path in valid.items():
        listed = read_classes(path, wordnet)
        known = set(listed)
        for line, wnid in enumerate(own or (), 1):
            if wnid not in known:
                cure = f"add it to {path}, or remove it"
                raise BadInput(f"{wnid} is no valid label", true, line, cure)
        sets = hpk.correct_sets(
            wordnet,
            [wordnet.index(wnid) for wnid in listed],
            [wordnet.index(wnid) for wnid in own or listed],
        )
        sizes = {str(k): size for k, size in hpk.mean_sizes(sets).items()}
        rows.append({"name": name, "labels": len(listed), "mean_correct_set_size": sizes})
    return {"rows": rows, "true_labels": own and len(own), "hierarchy": hpk.HIERARCHY}
