"""What is known of images now: labels that were given, gold, and the questions as they stand."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from labeling.models import GivenLabel, Gold, Question, Settlement
from labeling.question_graph import planning
from labeling.question_graph.planning import Asked
from labeling.question_graph.replaying import NO, UNKNOWN, YES, Graph


def labels(campaign_id: int, graph: Graph, items: Sequence[int]) -> dict[int, dict[str, str]]:
    """Values by node of the graph, for those of the items of which any is known.

    Two queries. Where two sources contradict each other "yes" stands: a wrong "no" costs labels, a
    wrong "yes" only questions. Gold in use is not asked as well, so its answer is taken as known;
    "unknown" where its answer is that nobody can tell.
    """
    values_by_item: dict[int, list[tuple[str, str]]] = defaultdict(list)
    known_labels = GivenLabel.objects.filter(item_id__in=items)
    for item, key, value in known_labels.values_list("item_id", "key", "value"):
        if node := graph.find(key):
            values_by_item[item].append((node, value))
    gold = Gold.objects.filter(
        question__campaign=campaign_id,
        question__item_id__in=items,
        question__round=0,
        question__state=Question.State.GOLD,
    )
    for item, node, answer in gold.values_list("question__item_id", "question__topic", "answer"):
        if node in graph.index:
            values_by_item[item].append((node, answer if answer in (YES, NO) else UNKNOWN))
    return {item: planning.agreed(pairs) for item, pairs in values_by_item.items()}


def questions_of(campaign_id: int, items: Sequence[int]) -> dict[int, list[Asked]]:
    """Return the questions of each item as they stand, but gold. Two queries."""
    settled: dict[int, tuple[int, Any]] = {}
    settlements = Settlement.objects.filter(
        question__campaign=campaign_id, question__item_id__in=items, question__round=0
    )
    for question, pk, value in settlements.order_by("pk").values_list("question_id", "pk", "value"):
        first = settled[question][0] if question in settled else pk
        settled[question] = (first, value)
    questions_by_item: dict[int, list[Asked]] = defaultdict(list)
    rows = Question.objects.filter(campaign=campaign_id, item_id__in=items, round=0)
    for pk, item, node, state in (
        rows.exclude(state=Question.State.GOLD)
        .order_by("item_id", "topic")
        .values_list("pk", "item_id", "topic", "state")
    ):
        first, value = settled.get(pk, (0, None))
        questions_by_item[item].append(Asked(pk, node, state, planning.value_of(value), first))
    return questions_by_item
