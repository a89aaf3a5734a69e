"""Information content of synsets: −ln of their share of the tagged words, from cntlist.rev.

cntlist.rev comes with WordNet: how often each sense occurs in the tagged texts. A synset counts for
all above it, an instance for its classes. Nothing is smoothed: a synset that occurs in no text has
no information content.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics.wordnet.nouns import ROOT, WordNet, WordNetMissing


@functools.lru_cache(maxsize=2)
def sense_counts(wordnet: WordNet) -> NDArray[np.int64]:
    """Return (N,) how often each synset itself was tagged, over all its lemmas.

    Senses are matched by their keys: the numbers beside them partly belong to an older WordNet, and
    265 of the nouns no longer exist; these are ignored. Raises WordNetMissing if the folder has no
    cntlist.rev, or one of another format.
    """
    path = wordnet.folder / "cntlist.rev"
    keys = wordnet.sense_keys()
    counts = np.zeros(len(wordnet), np.int64)
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            key, _, times = line.split()
            if key in keys:
                counts[keys[key]] += int(times)
    except (OSError, ValueError) as error:
        raise WordNetMissing(f"{path} cannot be read ({error})") from error
    if not counts.any():
        raise WordNetMissing(f"{path} counts no nouns of WordNet 3.0")
    return counts


@functools.lru_cache(maxsize=4)
def information_content(wordnet: WordNet, convention: str = "clean") -> NDArray[np.float64]:
    """Return (N,) information content of every synset; NaN if neither it nor its descendants occur.

    `clean` adds a synset's count to each of its ancestors once, `wnsim` once for each path up to
    it, as WordNet::Similarity does. Shares are of entity's count.
    """
    counts = _totals(wordnet, convention)
    content = np.full(len(wordnet), np.nan)
    used = counts > 0
    content[used] = -np.log(counts[used] / counts[wordnet.index(ROOT)])
    # −ln 1 is −0.
    content[content == 0] = 0
    return content


def tagged_word_count(wordnet: WordNet, convention: str = "clean") -> int:
    """Return entity's count of tagged words: each word once, or under `wnsim` once per path."""
    return int(_totals(wordnet, convention)[wordnet.index(ROOT)])


@functools.lru_cache(maxsize=4)
def _totals(wordnet: WordNet, convention: str) -> NDArray[np.int64]:
    counts = sense_counts(wordnet)
    if convention == "wnsim":
        return _once_a_path(wordnet, counts)
    totals = np.zeros_like(counts)
    for index in np.flatnonzero(counts).tolist():
        totals[list(wordnet.ancestors(index, instances=True))] += counts[index]
    return totals


def _once_a_path(wordnet: WordNet, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    totals = counts.copy()
    start, up = wordnet.links_up
    waiting = np.bincount(up, minlength=len(counts))
    ready = np.flatnonzero(waiting == 0).tolist()
    # A synset is complete once all below it have added theirs.
    while ready:
        child = ready.pop()
        for parent in up[start[child] : start[child + 1]].tolist():
            totals[parent] += totals[child]
            waiting[parent] -= 1
            if waiting[parent] == 0:
                ready.append(parent)
    return totals
