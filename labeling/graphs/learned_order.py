"""The learned order of questions: what settled images of a campaign teach, and its use.

calibrating.py keeps the statistics with each calibration, so what is asked next never depends on
the moment; ordering.py says what they mean.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Count, Sum

from labeling.db.sql import batches
from labeling.graphs import image_state, store
from labeling.models import Answer, Calibration, Campaign, Question
from labeling.question_graph import planning
from labeling.question_graph.ordering import Order, Statistics, learn
from labeling.question_graph.planning import Choice
from labeling.question_graph.replaying import YES, Graph, Replay

# The latest images that are wholly labeled: enough to learn from, and little enough to hold.
MAX_IMAGES = 5_000
CHUNK = 500
# An answer that took longer was interrupted.
LONGEST_MS = 60_000
# Orders kept in a process: one holds some matrices of nodes by nodes.
KEPT = 2
_ORDERS: dict[tuple[Any, ...], Order] = {}


def statistics(campaign: Campaign) -> dict[str, object]:
    """What ordering.learn counts over the campaign's wholly labeled images, as JSON takes it."""
    if campaign.graph_id is None:
        return {}
    graph = store.of(campaign)
    rows = list(_labels(campaign, graph))
    labels = np.array(rows, np.int8).reshape(len(rows), len(graph.nodes))
    return learn(graph, labels, _seconds(campaign)).to_json()


def _labels(campaign: Campaign, graph: Graph) -> Iterator[npt.NDArray[np.int8]]:
    """(N,) of each image that has a label at every node: 1 yes, 0 no; the latest images first."""
    asked = Question.objects.filter(campaign=campaign, round=0).exclude(state="gold")
    items = asked.order_by("-item_id").values_list("item_id", flat=True).distinct()
    waiting = set(asked.filter(state__in=["open", "review"]).values_list("item_id", flat=True))
    whole = [item for item in items.iterator() if item not in waiting]
    mode = campaign.settings.get("mode", "safe")
    count = 0
    for part in batches(whole, CHUNK):
        said, rows = (
            image_state.labels(campaign.pk, graph, part),
            image_state.asked(campaign.pk, part),
        )
        for item in part:
            replay = planning.stand(graph, rows.get(item, ()), mode, said.get(item))
            settled = replay.settled
            if len(settled) == len(graph.nodes) and all(
                v != "unknown" for v, _ in settled.values()
            ):
                count += 1
                yield np.array([settled[node.id][0] == YES for node in graph.nodes], np.int8)
        if count >= MAX_IMAGES:
            return


def _seconds(campaign: Campaign) -> dict[str, tuple[int, float]]:
    """Answers timed and their total seconds, by node."""
    rows = (
        Answer.objects.filter(assignment__question__campaign=campaign, duration_ms__lte=LONGEST_MS)
        .order_by()
        .values_list("assignment__question__topic")
        .annotate(Count("pk"), Sum("duration_ms"))
    )
    return {node: (count, total / 1000) for node, count, total in rows}


def choice(campaign: Campaign) -> Choice:
    """Asks the best question of an image at a time; while nothing was learned, all at once."""
    order = order_of(campaign)
    if not order.knows:
        return planning.breadth

    def best(graph: Graph, replay: Replay, candidates: list[str], waiting: set[str]) -> list[str]:
        if waiting or not candidates:
            return []
        may = set(candidates)
        return [next(node for node in order.next(replay) if node in may)]

    return best


def order_of(campaign: Campaign) -> Order:
    """The learned order of the calibration in force; made once in a process."""
    graph, mode = store.of(campaign), campaign.settings.get("mode", "safe")
    row = (
        Calibration.objects.filter(pk=campaign.calibration_id or 0)
        .values_list("pk", "created_at")
        .first()
    )
    key = (row, graph.sha256, mode)
    if key not in _ORDERS:
        said = None
        if row is not None:
            content = Calibration.objects.values_list("content", flat=True).get(pk=row[0])
            said = content.get("statistics") or None
        if len(_ORDERS) >= KEPT:
            _ORDERS.pop(next(iter(_ORDERS)))
        _ORDERS[key] = Order(graph, "learned", mode, Statistics.from_json(said) if said else None)
    return _ORDERS[key]
