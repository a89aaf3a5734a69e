"""Lists of WordNet's classes to choose from, with names that people tell apart."""

from collections import Counter
from collections.abc import Iterable

from evaluation.metrics.wordnet.nouns import WordNet


def classes(wnids: Iterable[str], wordnet: WordNet) -> list[dict[str, str]]:
    """{"key": wnid, "name"} of each class once, by name, no name twice: a first lemma that two
    share shows the synonyms too, and where these are the same, what kind of thing it is.

    Raises UnknownLabel for what is no noun of WordNet.
    """
    indices = {wnid: wordnet.index(wnid) for wnid in wnids}
    lemmas = {wnid: wordnet.synset(index).lemmas for wnid, index in indices.items()}
    names = _distinct(
        {wnid: synset_lemmas[0] for wnid, synset_lemmas in lemmas.items()},
        {wnid: ", ".join(synset_lemmas) for wnid, synset_lemmas in lemmas.items()},
    )
    kinds = {
        wnid: f"{name} ({wordnet.first_lemma((wordnet.hypernyms(indices[wnid]) or [0])[0])})"
        for wnid, name in names.items()
    }
    names = _distinct(names, kinds)
    names = _distinct(names, {wnid: f"{name} ({wnid})" for wnid, name in names.items()})
    return sorted(
        ({"key": wnid, "name": name} for wnid, name in names.items()),
        key=lambda entry: (entry["name"].lower(), entry["key"]),
    )


def _distinct(names: dict[str, str], longer: dict[str, str]) -> dict[str, str]:
    """The names, longer where several have the same."""
    counts = Counter(name.casefold() for name in names.values())
    return {
        wnid: longer[wnid] if counts[name.casefold()] > 1 else name for wnid, name in names.items()
    }
