"""Queries that find images of classes, and of scenes with several of them. No Django.

Source: Russakovsky et al. (2015), §3.1.2, §3.3.2 and Appendix C: the synonyms of a class; each
synonym with a word of a hypernym that occurs in its gloss; both in other languages; pairs of
classes; and scenes.
"""

import hashlib
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.collecting.search_engines import SearchEngine
from evaluation.collecting.translations import Words
from evaluation.metrics.wordnet.nouns import WordNet
from labeling.records import Record

SCENES = Path(__file__).parent / "data" / "scenes.txt"
SYNONYM, PARENT, PAIR, SCENE = KINDS = ("synonym", "parent", "pair", "scene")
ENGLISH = "en"


@dataclass(frozen=True)
class Query:
    """phrases: searched for together. wnids: of its classes; empty for a scene."""

    phrases: tuple[str, ...]
    wnids: tuple[str, ...]
    kind: str
    language: str = ENGLISH


@dataclass(kw_only=True)
class EngineFile(Record):
    """The file of an engine. refused: queries beyond its limits; shared: queries that mean several
    classes, such as crane.
    """

    engine: str
    file: str
    queries: int
    refused: int
    shared: int


@dataclass(kw_only=True)
class Built(Record):
    """The result of `queries build`. by_kind, by_language: distinct queries of a class, before any
    engine's limits. without: number of classes without a word, by language.
    """

    classes: int
    by_kind: dict[str, int]
    by_language: dict[str, int]
    without: dict[str, int]
    files: list[EngineFile]


def of_class(synset: int, wordnet: WordNet, words: Sequence[Words] = ()) -> Iterator[Query]:
    """Yield the queries of one class, each once in its language, the plain synonyms first."""
    wnids = (wordnet.wnid(synset),)
    synonyms = [*wordnet.lemmas(synset)]
    parents = parents_in_gloss(synset, wordnet)
    yield from _together(synonyms, [word for _, word in parents], wnids, ENGLISH)
    above = list(dict.fromkeys(parent for parent, _ in parents))
    for language_words in words:
        others = [word for parent in above for word in language_words.of.get(parent, ())]
        yield from _together(
            language_words.of.get(synset, []), others, wnids, language_words.language
        )


def parents_in_gloss(synset: int, wordnet: WordNet) -> list[tuple[int, str]]:
    """Return (hypernym, word) for each word of a hypernym that is in the synset's gloss, nearest
    first. Example: dog and greyhound for whippet.
    """
    gloss = f" {' '.join(_letters(wordnet.gloss(synset)))} "
    named_parents = []
    for above in _upwards(synset, wordnet):
        for word in wordnet.lemmas(above):
            if f" {' '.join(_letters(word))} " in gloss:
                named_parents.append((above, word))
    return named_parents


def pairs(
    synsets: Sequence[int], wordnet: WordNet, count: int | None, seed: int
) -> Iterator[Query]:
    """Yield queries of two classes, by the first word of each.

    count: how many to draw, by the hash of the pair; None for all.
    """
    lemma_of = {synset: wordnet.first_lemma(synset) for synset in synsets}
    every = [
        pair
        for pair in itertools.combinations(synsets, 2)
        if len({lemma_of[synset].casefold() for synset in pair}) == 2
    ]
    if count is not None:
        every = sorted(every, key=lambda pair: _digest(seed, *map(wordnet.wnid, pair)))[:count]
    for first, second in every:
        wnids = wordnet.wnid(first), wordnet.wnid(second)
        yield Query((lemma_of[first], lemma_of[second]), wnids, PAIR)


def scenes(lines: Sequence[str]) -> Iterator[Query]:
    """Yield a query for each different line that is neither blank nor a comment (#)."""
    for line in dict.fromkeys(" ".join(line.split()) for line in lines):
        if line and not line.startswith("#"):
            yield Query(tuple(line.split(" ")), (), SCENE)


def engine_queries(
    queries: Sequence[Query], engine: SearchEngine
) -> tuple[list[tuple[str, Query]], int, int]:
    """Return the engine's distinct queries, the number beyond its limits, and the number that mean
    several classes.
    """
    rows: dict[tuple[str, tuple[str, ...]], tuple[str, Query]] = {}
    refused = 0
    classes: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for query in queries:
        text = engine.format_query(query.phrases)
        key = text.casefold(), query.wnids
        if key in rows:
            continue
        if not engine.takes(text):
            refused += 1
            continue
        rows[key] = text, query
        classes[key[0]].add(query.wnids)
    return (
        [*rows.values()],
        refused,
        sum(len(class_groups) > 1 for class_groups in classes.values()),
    )


def _together(
    synonyms: Sequence[str], parents: Sequence[str], wnids: tuple[str, ...], language: str
) -> Iterator[Query]:
    seen: set[str] = set()
    for synonym in synonyms:
        if synonym.casefold() not in seen:
            seen.add(synonym.casefold())
            yield Query((synonym,), wnids, SYNONYM, language)
    for synonym, parent in itertools.product(synonyms, parents):
        text = f"{synonym} {parent}".casefold()
        # Skip a word that the synonym has: whippet dog needs no dog.
        if text not in seen and parent.casefold() not in synonym.casefold().split():
            seen.add(text)
            yield Query((synonym, parent), wnids, PARENT, language)


def _upwards(synset: int, wordnet: WordNet) -> Iterator[int]:
    """Yield every hypernym, level by level."""
    seen, level = {synset}, [synset]
    while level:
        above = dict.fromkeys(up for node in level for up in wordnet.hypernyms(node))
        level = [node for node in above if node not in seen]
        seen.update(level)
        yield from level


def _letters(text: str) -> list[str]:
    return re.findall(r"[\w'-]+", text.casefold())


def _digest(seed: int, *wnids: str) -> bytes:
    return hashlib.sha256("\n".join((str(seed), *wnids)).encode()).digest()
