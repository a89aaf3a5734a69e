"""Lists of WordNet classes to choose from, with unambiguous names."""

from collections import Counter
from collections.abc import Iterable

from evaluation.metrics.wordnet.nouns import WordNet


def classes(wnids: Iterable[str], wordnet: WordNet) -> list[dict[str, str]]:
    """Return {"key": wnid, "name"} for each class once, sorted by name; no name occurs twice.

    Classes with the same first lemma show their synonyms too; if these are also the same, the
    hypernym. Raises UnknownLabel for a wnid that is not a noun of WordNet.
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
    """Return the names, replaced by `longer` where several classes have the same name."""
    counts = Counter(name.casefold() for name in names.values())
    return {
        wnid: longer[wnid] if counts[name.casefold()] > 1 else name for wnid, name in names.items()
    }
