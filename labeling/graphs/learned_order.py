"""The learned order of questions: learned from a campaign's settled images, and used.

Each calibration stores the statistics, or with a price the scenes, so that the next question
depends on the calibration, not on the time. ordering.py and scenes.py define them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Avg, Count, Sum

from labeling.db.sql import batches
from labeling.graphs import image_state, store
from labeling.kinds import policies
from labeling.models import Answer, Calibration, Campaign, Question, Settlement
from labeling.question_graph import planning, scenes
from labeling.question_graph.inferring import CODES, Inference, LearnedScenes
from labeling.question_graph.ordering import QuestionOrder, Statistics, learn
from labeling.question_graph.planning import Choice
from labeling.question_graph.replaying import YES, QuestionGraph, Replay
from labeling.question_graph.scenes import Utility
from labeling.simulation import simulating_correlated

# Limit of fully labeled images to learn from, the latest first.
MAX_IMAGES = 5_000
CHUNK = 500
# An answer that took longer was interrupted.
MAX_MS = 60_000
# Scenes are learned from this many finished images on, and again after growth by half.
FIRST_SCENES, GROWTH = 200, 1.5
# Limits of the error that is derived from stated probabilities.
ERRORS = (0.001, 0.2)
# Orders kept in a process: one holds some matrices of nodes by nodes.
MAX_CACHED_ORDERS = 2
_ORDERS: dict[tuple[Any, ...], QuestionOrder] = {}
_INFERENCES: dict[tuple[Any, ...], Inference | None] = {}


def statistics(campaign: Campaign) -> dict[str, object]:
    """Return ordering.learn's counts over the campaign's fully labeled images, as JSON."""
    if campaign.graph_id is None:
        return {}
    graph = store.load_graph(campaign)
    rows = list(_labels(campaign, graph))
    labels = np.array(rows, np.int8).reshape(len(rows), len(graph.nodes))
    return learn(graph, labels, _seconds(campaign)).to_json()


def _labels(campaign: Campaign, graph: QuestionGraph) -> Iterator[npt.NDArray[np.int8]]:
    """Yield (N,) labels of each image with a label at every node: 1 yes, 0 no; the latest first."""
    mode = campaign.settings.get("mode", "safe")
    count = 0
    for part in batches(_finished(campaign), CHUNK):
        values_by_item, rows = (
            image_state.labels(campaign.pk, graph, part),
            image_state.questions_of(campaign.pk, part),
        )
        for item in part:
            replay = planning.replay_current(
                graph, rows.get(item, ()), mode, values_by_item.get(item)
            )
            settled = replay.settled
            if len(settled) == len(graph.nodes) and all(
                v != "unknown" for v, _ in settled.values()
            ):
                count += 1
                yield np.array([settled[node.id][0] == YES for node in graph.nodes], np.int8)
        if count >= MAX_IMAGES:
            return


def _finished(campaign: Campaign) -> list[int]:
    """Return the items without open questions or questions in review, the latest first."""
    questions = Question.objects.filter(campaign=campaign, round=0).exclude(state="gold")
    items = questions.order_by("-item_id").values_list("item_id", flat=True).distinct()
    waiting = set(questions.filter(state__in=["open", "review"]).values_list("item_id", flat=True))
    return [item for item in items.iterator() if item not in waiting]


def learn_scenes(campaign: Campaign, before: LearnedScenes | None) -> LearnedScenes | None:
    """Return the scenes of the campaign's finished images; None if there are too few.

    Returns `before` until the number of images has grown by half.
    """
    if campaign.graph_id is None:
        return before
    graph = store.load_graph(campaign)
    finished = _finished(campaign)
    if len(finished) < (GROWTH * before.finished if before else FIRST_SCENES):
        return before
    answers = _answers(campaign, graph, finished[:MAX_IMAGES])
    error = _error(campaign)
    known = scenes.learn(graph, answers, error)
    learned = LearnedScenes.of(graph, known, error, len(finished))
    # Compute the curve from the scenes as they are stored.
    curve = simulating_correlated.stated_curve(
        graph, learned.scenes(graph), error, campaign.settings["price"]
    )
    learned.curve, learned.algorithm_1 = curve
    return learned


def _answers(
    campaign: Campaign, graph: QuestionGraph, items: Sequence[int]
) -> npt.NDArray[np.int8]:
    """Return (images, N) answers and given labels for scenes.learn."""
    rows = np.full((len(items), len(graph.nodes)), scenes.NOT_ASKED, np.int8)
    row = 0
    for part in batches(items, CHUNK):
        labels_by_item = image_state.labels(campaign.pk, graph, part)
        questions_by_item = image_state.questions_of(campaign.pk, part)
        for item in part:
            values = planning.known_values(
                graph, questions_by_item.get(item, ()), labels_by_item.get(item)
            )
            for node, value in values.items():
                rows[row, graph.index[node]] = CODES[value]
            row += 1
    return rows


def _error(campaign: Campaign) -> float:
    """Return the mean stated error of settled answers; scenes.ERROR if none is stated."""
    if policies.for_campaign(campaign)["method"] == "majority":
        return scenes.ERROR
    stated = Settlement.objects.filter(question__campaign=campaign, reviewed=False)
    mean = stated.filter(value__in=["yes", "no"]).aggregate(at=Avg("probability"))["at"]
    return scenes.ERROR if mean is None else float(np.clip(1 - mean, *ERRORS))


def inference(campaign: Campaign) -> Inference | None:
    """Return the scenes of the calibration in force at the campaign's price, cached by process.

    None if too few images are finished or questions have no price.
    """
    if "price" not in campaign.settings:
        return None
    graph, price = store.load_graph(campaign), campaign.settings["price"]
    row = _calibration(campaign)
    key = (row, graph.sha256, price)
    if key not in _INFERENCES:
        learned = scenes_of(campaign.calibration_id)
        if len(_INFERENCES) >= MAX_CACHED_ORDERS:
            _INFERENCES.pop(next(iter(_INFERENCES)))
        _INFERENCES[key] = Inference.of(graph, learned, Utility(price)) if learned else None
    return _INFERENCES[key]


def _calibration(campaign: Campaign) -> tuple[Any, ...] | None:
    """Return id and time of the calibration in force, which identify it in a cache."""
    rows = Calibration.objects.filter(pk=campaign.calibration_id or 0)
    return rows.values_list("pk", "created_at").first()


def scenes_of(calibration_id: int | None) -> LearnedScenes | None:
    """Return the scenes of a calibration."""
    content = Calibration.objects.filter(pk=calibration_id or 0).values_list("content__scenes")
    content_of_scenes = next(iter(content), (None,))[0]
    return LearnedScenes.from_json(content_of_scenes) if content_of_scenes else None


def _seconds(campaign: Campaign) -> dict[str, tuple[int, float]]:
    """Return node → number of timed answers and their total seconds."""
    rows = (
        Answer.objects.filter(assignment__question__campaign=campaign, duration_ms__lte=MAX_MS)
        .order_by()
        .values_list("assignment__question__topic")
        .annotate(Count("pk"), Sum("duration_ms"))
    )
    return {node: (count, total / 1000) for node, count, total in rows}


def choice(campaign: Campaign) -> Choice:
    """Return the choice of the best question, one at a time; of all before anything was learned."""
    order = order_of(campaign)
    if not order.knows:
        return planning.breadth

    def best(
        graph: QuestionGraph, replay: Replay, candidates: list[str], waiting: set[str]
    ) -> list[str]:
        if waiting or not candidates:
            return []
        may = set(candidates)
        return [next(node for node in order.next(replay) if node in may)]

    return best


def order_of(campaign: Campaign) -> QuestionOrder:
    """Return the learned order of the calibration in force, cached by process."""
    graph, mode = store.load_graph(campaign), campaign.settings.get("mode", "safe")
    row = _calibration(campaign)
    key = (row, graph.sha256, mode)
    if key not in _ORDERS:
        statistics = None
        if row is not None:
            content = Calibration.objects.values_list("content", flat=True).get(pk=row[0])
            statistics = content.get("statistics") or None
        if len(_ORDERS) >= MAX_CACHED_ORDERS:
            _ORDERS.pop(next(iter(_ORDERS)))
        _ORDERS[key] = QuestionOrder(
            graph, "learned", mode, Statistics.from_json(statistics) if statistics else None
        )
    return _ORDERS[key]
