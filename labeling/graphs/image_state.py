"""What is known of images: given labels, gold, and the current questions."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from labeling.models import GivenLabel, Gold, Question, Settlement
from labeling.question_graph import planning
from labeling.question_graph.planning import AskedNode
from labeling.question_graph.replaying import NO, UNKNOWN, YES, QuestionGraph


def labels(
    campaign_id: int, graph: QuestionGraph, items: Sequence[int]
) -> dict[int, dict[str, str]]:
    """Return item → node → value, of items with any known value. Two queries.

    If sources disagree, "yes" wins: a wrong "no" costs labels, a wrong "yes" only questions. Active
    gold counts as known, since it is not asked as well; an abstention counts as "unknown".
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


def questions_of(campaign_id: int, items: Sequence[int]) -> dict[int, list[AskedNode]]:
    """Return the current questions of each item without gold. Two queries."""
    settled: dict[int, tuple[int, Any]] = {}
    settlements = Settlement.objects.filter(
        question__campaign=campaign_id, question__item_id__in=items, question__round=0
    )
    for question, pk, value in settlements.order_by("pk").values_list("question_id", "pk", "value"):
        first = settled[question][0] if question in settled else pk
        settled[question] = (first, value)
    questions_by_item: dict[int, list[AskedNode]] = defaultdict(list)
    rows = Question.objects.filter(campaign=campaign_id, item_id__in=items, round=0)
    for pk, item, node, state in (
        rows.exclude(state=Question.State.GOLD)
        .order_by("item_id", "topic")
        .values_list("pk", "item_id", "topic", "state")
    ):
        first, value = settled.get(pk, (0, None))
        questions_by_item[item].append(AskedNode(pk, node, state, planning.value_of(value), first))
    return questions_by_item
