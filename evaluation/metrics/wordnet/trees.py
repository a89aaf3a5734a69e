"""Classes in the order of the hypernym graph, with their groups."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from evaluation.metrics.wordnet.nouns import WordNet

# Larger shares of the classes are not a useful group.
MAX_SHARE = 0.75


def arranged(nouns: WordNet, places: Mapping[str, int]) -> dict[str, list[str]]:
    """Return by key the names of the groups above it, widest first, in topological order.

    places: key → synset. The graph is treated as a tree by WordNet's first hypernym of each synset.
    A synset is a group if it splits the classes: it has several children with classes below them,
    or is a class itself and has classes below it; but not if more than MAX_SHARE of the classes
    are below it. A class comes directly before its own group, and children are ordered by name.
    """
    children: dict[int, set[int]] = defaultdict(set)
    roots: set[int] = set()
    size: Counter[int] = Counter()
    for synset in places.values():
        at = synset
        size[at] += 1
        while above := nouns.parents(at):
            children[above[0]].add(at)
            at = above[0]
            size[at] += 1
        roots.add(at)
    by_synset = {synset: key for key, synset in places.items()}
    paths: dict[str, list[str]] = {}
    # Depth first, children by name.
    waiting: list[tuple[int, list[str]]] = [(root, []) for root in sorted(roots, reverse=True)]
    while waiting:
        synset, path = waiting.pop()
        below = children.get(synset, set())
        if synset in by_synset:
            paths[by_synset[synset]] = path
        is_group = len(below) > 1 or (below and synset in by_synset)
        if is_group and size[synset] <= MAX_SHARE * len(places):
            path = [*path, nouns.first_lemma(synset)]
        ordered = sorted(
            below, key=lambda child: (nouns.first_lemma(child).lower(), child), reverse=True
        )
        waiting += [(child, path) for child in ordered]
    return paths
