"""What labeling asks of this part without knowing it; the settings name these functions."""

from collections.abc import Sequence

from django.db.models import Q
from django.urls import reverse

from evaluation.benchmarks.kinds.mad.competitions import topic_of
from evaluation.metrics.wordnet import nouns as wordnet
from evaluation.models import Benchmark
from labeling.campaigns.lifecycle import TopicRow
from labeling.models import Campaign


def glossary(keys: Sequence[str]) -> list[TopicRow]:
    """Name, synonyms, gloss and link of every key that is a noun of WordNet 3.0; none where
    WordNet is not installed."""
    try:
        nouns = wordnet.load()
    except wordnet.WordNetMissing:
        return []
    found: list[TopicRow] = []
    for key in keys:
        try:
            found.append({**topic_of(nouns.synset(nouns.index(key))), "key": key})
        except wordnet.UnknownLabel:
            continue
    return found


def ancestors(keys: Sequence[str]) -> dict[str, frozenset[str]]:
    """Of each key that is a noun of WordNet 3.0 those of the others that are above it; none where
    WordNet is not installed."""
    try:
        nouns = wordnet.load()
    except wordnet.WordNetMissing:
        return {}
    places: dict[str, int] = {}
    for key in keys:
        try:
            places[key] = nouns.index(key)
        except wordnet.UnknownLabel:
            continue
    by_place = {place: key for key, place in places.items()}
    return {
        key: frozenset(by_place[up] for up in nouns.ancestors(place) if up in by_place) - {key}
        for key, place in places.items()
    }


def links_of(campaign: Campaign) -> list[dict[str, str]]:
    """The benchmarks that score this campaign's answers, or for which it asks for names."""
    return [
        {"title": f"benchmark {row.title}", "url": reverse("evaluation:benchmark", args=[row.name])}
        for row in Benchmark.objects.filter(Q(campaign=campaign) | Q(naming=campaign))
    ]
