"""The basic level of a class, guessed from WordNet: dog, not dalmatian and not canine.

WordNet does not say which synsets are basic. Rosch et al. (1976) have it that people name things at
that level most; so of a class and what is above it, from a depth on, we take the one that the texts
tagged with WordNet's senses name most often. See docs/how-to/images.md for how often that is what
the authors of ILSVRC chose by hand.
"""

from collections.abc import Container

from evaluation.metrics.wordnet.information_content import sense_counts
from evaluation.metrics.wordnet.nouns import WordNet

# Edges below entity from which on a class is narrow enough: animal is at 6, bird and dog below.
DEPTH = 7
# Fewer uses than that say nothing.
USES = 5


def basic_level(wordnet: WordNet, index: int, depth: int = DEPTH, uses: int = USES) -> int:
    """Return the synset of the basic level that a class is of: itself, or one above it.

    Of equally common ones the lower; itself where nothing from that depth on was tagged so often.
    Raises WordNetMissing without cntlist.rev.
    """
    counts = sense_counts(wordnet)
    best = index
    for synset in sorted(wordnet.ancestors(index), key=lambda node: (-wordnet.depth[node], node)):
        common = counts[synset] >= uses and counts[synset] > counts[best]
        if wordnet.depth[synset] >= depth and common:
            best = synset
    return best


def listed_level(wordnet: WordNet, index: int, basic: Container[int]) -> int:
    """Return the same by a list of synsets that are basic: of those above a class or it the
    nearest, of equally near ones the first by wnid; itself where none is.
    """
    level = [index]
    while level:
        if matches := sorted(node for node in level if node in basic):
            return matches[0]
        level = sorted({up for node in level for up in wordnet.hypernyms(node)})
    return index
