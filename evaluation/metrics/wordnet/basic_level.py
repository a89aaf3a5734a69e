"""The basic level of a class, guessed from WordNet: dog, not dalmatian and not canine.

WordNet does not say which synsets are basic. People name things most often at that level (Rosch et
al. 1976); so of a class and its ancestors, from a depth on, this takes the one that is named most
often in the texts tagged with WordNet's senses. docs/how-to/images.md says how often this agrees
with the choice of ILSVRC's authors.
"""

from collections.abc import Container

from evaluation.metrics.wordnet.information_content import sense_counts
from evaluation.metrics.wordnet.nouns import WordNet

# Depth from which a class is narrow enough: animal is at 6, bird and dog are below.
DEPTH = 7
# Fewer uses than this are ignored.
USES = 5


def basic_level(wordnet: WordNet, index: int) -> int:
    """Return the synset of a class's basic level: itself or an ancestor.

    Ties go to the lower one; itself if nothing from that depth on was tagged so often. Raises
    WordNetMissing without cntlist.rev.
    """
    counts = sense_counts(wordnet)
    best = index
    for synset in sorted(wordnet.ancestors(index), key=lambda node: (-wordnet.depth[node], node)):
        common = counts[synset] >= USES and counts[synset] > counts[best]
        if wordnet.depth[synset] >= DEPTH and common:
            best = synset
    return best


def listed_level(wordnet: WordNet, index: int, basic: Container[int]) -> int:
    """Return the basic level by a list of basic synsets: the nearest among the class and its
    ancestors.

    Ties go to the first by wnid; itself if there is none.
    """
    level = [index]
    while level:
        if matches := sorted(node for node in level if node in basic):
            return matches[0]
        level = sorted({up for node in level for up in wordnet.hypernyms(node)})
    return index
