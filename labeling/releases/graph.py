"""Extra files of a release whose questions follow a graph."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from django.db.models import Exists, F, Max, OuterRef, QuerySet

from labeling.graphs import learned_order, store
from labeling.models import Campaign, GivenLabel, Gold, Image, Question
from labeling.question_graph.replaying import NO, UNKNOWN, YES, QuestionGraph
from labeling.question_graph.scenes import FALSE_COST
from labeling.release_files.frozen_labels import Geometry, GivenLine
from labeling.releases.frozen_questions import FrozenQuestion

# Source of labels known as gold; a release does not distinguish gold from other labels.
KNOWN = "known beforehand"
BATCH = 500


class NodePlace(TypedDict):
    """A node as named in lines. wnid: null for a question that is not a class or left the graph."""

    node: str
    wnid: str | None


GraphFingerprint = TypedDict(  # noqa: UP013 - the key "given" is stored
    "GraphFingerprint",
    {"graph": int, "given": str | None, "mode": str, "scenes": list[int | float | None]},
    total=False,
)


class ScenesContent(TypedDict):
    """Content of scenes.json, from which unasked labels are inferred."""

    price: float
    false_cost: float
    scenes: dict[str, object]


def scenes_of(campaign: Campaign) -> ScenesContent | None:
    """Return the learned scenes; None without a price or before any were learned."""
    price = campaign.settings.get("price")
    learned = learned_order.scenes_of(campaign.calibration_id) if price is not None else None
    if learned is None:
        return None
    return {"price": price, "false_cost": FALSE_COST, "scenes": learned.to_json()}


@dataclass(frozen=True)
class Nodes:
    """The nodes of the graph in force, as named in release lines."""

    graph: QuestionGraph

    @classmethod
    def of(cls, graph_id: int | None) -> "Nodes | None":
        """Return the nodes of a graph version; None for None."""
        return None if graph_id is None else cls(store.load_graph(graph_id))

    def node_place(self, node: str) -> NodePlace:
        known = node in self.graph.index
        return {"node": node, "wnid": (self.graph.node(node).key or None) if known else None}

    def known_labels(self, campaign: Campaign, order: Sequence[Any]) -> Iterator[GivenLine]:
        """Return the labels known before anybody was asked, including active gold, by image."""
        rows = (
            GivenLabel.objects.filter(item__image__in=images_of(campaign))
            .annotate(image=F("item__image__name"))
            .order_by(*order)
        )
        gold = _gold(campaign)
        for row in rows.iterator(chunk_size=BATCH):
            yield from self._gold_before(gold, row.image)
            if node := self.graph.find(row.key):
                yield self._given(row.image, node, row.value, row.source, row.geometry)
        yield from self._gold_before(gold, None)

    def _given(
        self, image: str, node: str, value: str, source: str, geometry: Geometry | None = None
    ) -> GivenLine:
        return {
            "image": image,
            **self.node_place(node),
            "value": value,
            "source": source,
            "geometry": geometry,
        }

    def _gold_before(
        self, gold: list[tuple[str, str, Any]], image: str | None
    ) -> Iterator[GivenLine]:
        """Pop the gold of images that precede this one."""
        while gold and (image is None or gold[-1][0] <= image):
            name, node, answer = gold.pop()
            if node in self.graph.index:
                yield self._given(name, node, answer if answer in (YES, NO) else UNKNOWN, KNOWN)


def _gold(campaign: Campaign) -> list[tuple[str, str, Any]]:
    """Return (image, node, answer) of all active gold, the last image first."""
    rows = Gold.objects.filter(
        question__campaign=campaign, question__round=0, question__state=Question.State.GOLD
    )
    rows_of_gold = rows.values_list("question__item__image__name", "question__topic", "answer")
    return sorted(rows_of_gold, key=lambda row: row[:2], reverse=True)


def images_of(campaign: Campaign) -> QuerySet[Image]:
    """Return the images with a question or gold in this campaign."""
    questions = Question.objects.filter(
        campaign=campaign, round=0, item__image=OuterRef("pk"), item__region__isnull=True
    )
    return Image.objects.filter(Exists(questions), dataset_id=campaign.dataset_id)


def orders(questions: Sequence[FrozenQuestion]) -> dict[int, int]:
    """Number the questions of each image from 1 in the order of their first settlement."""
    by_item: dict[int, list[FrozenQuestion]] = {}
    for question in questions:
        by_item.setdefault(question.item, []).append(question)
    return {
        question.pk: number
        for item_questions in by_item.values()
        for number, question in enumerate(
            sorted(item_questions, key=lambda row: (row.first or 0, row.pk)), 1
        )
    }


def fingerprint(campaign: Campaign) -> GraphFingerprint:
    """Return a value that changes with the content of these files; empty without a graph."""
    if campaign.graph_id is None:
        return {}
    known_labels = GivenLabel.objects.filter(item__image__dataset=campaign.dataset_id)
    latest = known_labels.aggregate(at=Max("created_at"))["at"]
    marks: GraphFingerprint = {
        "graph": campaign.graph_id,
        "given": latest.isoformat() if latest else None,
        "mode": campaign.settings.get("mode", "safe"),
    }
    if "price" in campaign.settings:
        marks["scenes"] = [campaign.calibration_id, campaign.settings["price"]]
    return marks
