"""Functions that labeling calls by their names in the settings, without importing this package."""

import contextlib
from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from typing import Any

from django.db.models import OuterRef, Q, Subquery
from django.urls import reverse

from evaluation.benchmarks.access import benchmarks_for
from evaluation.benchmarks.kind import BenchmarkKind, families, kind_of
from evaluation.benchmarks.kinds.mad.competitions import topic_of
from evaluation.metrics.wordnet import nouns as wordnet
from evaluation.metrics.wordnet import trees
from evaluation.metrics.wordnet.nouns import WordNet
from evaluation.models import Benchmark, ReleaseSplit, Run, Submission
from evaluation.release_splits import parts
from labeling.campaigns.lifecycle import Sibling, TopicFields
from labeling.models import Campaign, Dataset, Image, User
from labeling.reports.image_browser import PredictionFilter
from labeling.reports.image_page import ImageUse

# Siblings of a class to show: first those in the campaign, then others by name.
SIBLINGS = 8
# Pages of images read results of at most this many benchmarks, newest first.
BENCHMARKS = 20


def glossary(keys: Sequence[str], *, siblings: bool = False) -> list[TopicFields]:
    """Return name, synonyms, gloss and link of every key that is a noun of WordNet 3.0.

    With siblings, also at most SIBLINGS of those under the same parents. Empty without WordNet.
    """
    nouns = _wordnet()
    if nouns is None:
        return []
    known = _places(nouns, keys)
    rows: list[TopicFields] = []
    queried = set(known.values())
    for key, synset in known.items():
        topic: TopicFields = {**topic_of(nouns.synset(synset)), "key": key}
        if siblings:
            topic["siblings"] = _siblings(nouns, synset, queried)
        rows.append(topic)
    return rows


def ancestors(keys: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return, for each key that is a noun of WordNet 3.0, the other keys above it; empty without
    WordNet.
    """
    nouns = _wordnet()
    if nouns is None:
        return {}
    places = _places(nouns, keys)
    by_place = {index: key for key, index in places.items()}
    return {
        key: frozenset(by_place[up] for up in nouns.ancestors(index) if up in by_place) - {key}
        for key, index in places.items()
    }


def class_tree(keys: Sequence[str]) -> dict[str, list[str]]:
    """Return, for each key that is a noun of WordNet 3.0, the names of the classes above it.

    The order groups parents with their siblings. Empty without WordNet.
    """
    nouns = _wordnet()
    if nouns is None:
        return {}
    return trees.arranged(nouns, _places(nouns, keys))


def _wordnet() -> WordNet | None:
    try:
        return wordnet.load()
    except wordnet.WordNetMissing:
        return None


def _places(nouns: WordNet, keys: Sequence[str]) -> dict[str, int]:
    """Return the synset of each key that is a noun."""
    places: dict[str, int] = {}
    for key in keys:
        with contextlib.suppress(wordnet.UnknownLabel):
            places[key] = nouns.index(key)
    return places


def _siblings(nouns: WordNet, synset: int, queried: Container[int]) -> list[Sibling]:
    others = {child for parent in nouns.parents(synset) for child in nouns.hyponyms(parent)}
    # With several parents, a sibling may also be an ancestor or a descendant.
    others -= nouns.ancestors(synset) | {synset}
    others = {sibling for sibling in others if synset not in nouns.ancestors(sibling)}
    ordered = sorted(
        (sibling not in queried, nouns.first_lemma(sibling).lower(), sibling) for sibling in others
    )
    rows = [nouns.synset(sibling) for _, _, sibling in ordered[:SIBLINGS]]
    return [{"name": row.lemmas[0], "definition": row.gloss} for row in rows]


def links_of(campaign: Campaign) -> list[dict[str, str]]:
    """Return the benchmarks that score this campaign's answers, or for which it asks for names."""
    return [
        {"title": f"benchmark {row.title}", "url": reverse("evaluation:benchmark", args=[row.name])}
        for row in Benchmark.objects.filter(Q(campaign=campaign) | Q(naming=campaign))
    ]


def sealed_images(campaign: Campaign) -> frozenset[str]:
    """Return the names of the images in sealed parts of the campaign's splits, in NFC.

    Raises Conflict while a sealed split is being made.
    """
    rows = ReleaseSplit.objects.filter(release__campaign=campaign, sealed_by__isnull=False)
    return frozenset().union(*(parts.images_of(row, row.names[-1]) for row in rows))


def uses_of_image(user: User, image: Image) -> list[ImageUse]:
    """Return how the newest benchmarks of this person used the image, without sealed ones."""
    rows = benchmarks_for(user).filter(campaign__dataset=image.dataset).order_by("-pk")
    rows = rows.select_related("campaign", "release").annotate(newest=_newest_run("pk"))
    return [
        use
        for kind, benchmarks in _visible(((row, row.newest) for row in rows[:BENCHMARKS]), user)
        for use in kind.uses_of_image(benchmarks, image.name)
    ]


def _newest_run(benchmark: str) -> Subquery:
    """Return the key of the newest done run of the benchmark with this key."""
    done = Run.objects.filter(benchmark=OuterRef(benchmark), state=Run.State.DONE)
    return Subquery(done.order_by("-pk").values("pk")[:1])


def _visible(
    rows: Iterable[tuple[Benchmark, int | None]], user: User
) -> list[tuple[BenchmarkKind, list[Benchmark]]]:
    """Return the benchmarks by family, without sealed ones. rows: each with its newest run."""
    by_family: dict[str, list[Benchmark]] = {}
    for row, newest in rows:
        row.newest_run = newest
        by_family.setdefault(kind_of(row).family, []).append(row)
    visible = []
    for family, benchmarks in by_family.items():
        kind = families()[family]
        hidden = kind.hidden(benchmarks, user)
        visible.append((kind, [row for row in benchmarks if row.pk not in hidden]))
    return visible


class Predictions:
    """The predictions of submissions to the newest benchmarks on a dataset, without sealed ones."""

    def __init__(self, user: User, dataset: Dataset) -> None:
        self.user, self.dataset = user, dataset

    @cached_property
    def rows(self) -> list[Any]:
        newest = benchmarks_for(self.user).filter(campaign__dataset=self.dataset).order_by("-pk")
        rows = Submission.objects.filter(benchmark__in=newest.values("pk")[:BENCHMARKS])
        rows = rows.select_related("benchmark__campaign", "benchmark__release")
        rows = rows.annotate(newest=_newest_run("benchmark"))
        return list(rows.order_by("-benchmark", "position"))

    @cached_property
    def families(self) -> list[tuple[BenchmarkKind, list[Benchmark]]]:
        benchmarks = {row.benchmark_id: (row.benchmark, row.newest) for row in self.rows}
        return _visible(benchmarks.values(), self.user)

    def submissions(self) -> list[tuple[str, str]]:
        visible = {row.pk for _, benchmarks in self.families for row in benchmarks}
        return [
            (f"{row.benchmark.name}/{row.name}", f"{row.name} in {row.benchmark.title}")
            for row in self.rows
            if row.benchmark_id in visible
        ]

    def matching(self, names: Sequence[str], chosen: PredictionFilter) -> set[str]:
        benchmark, _, _ = chosen.submission.partition("/")
        matching: set[str] = set()
        for kind, benchmarks in self.families:
            rows = [row for row in benchmarks if benchmark in ("", row.name)]
            if rows:
                matching |= kind.images_predicted(rows, names, chosen)
        return matching
