"""A question graph as a nested list with the number of images at each node."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from django.db.models import Count, Exists, OuterRef

from labeling.db.cached import cached
from labeling.models import Campaign, Question, Settlement
from labeling.question_graph.replaying import Node, QuestionGraph

# Deeper nodes are listed at this level, to limit nesting.
MAX_OUTLINE_DEPTH = 30
COUNTED = ("asked", "yes", "no", "open")
# By node id: the number of images for each of COUNTED.
Counts = dict[str, dict[str, int]]


@dataclass
class OutlineRow:
    """A node at one position of the outline."""

    node: Node
    counts: dict[str, int]
    # Its first position has its children; `elsewhere` names its other parents.
    first: bool = True
    elsewhere: str = ""
    opened: bool = False
    is_match: bool = False
    children: list["OutlineRow"] = field(default_factory=list)


def outline(graph: QuestionGraph, counts: Counts, search: str = "") -> list[OutlineRow]:
    """Return the roots with their descendants; with a search, only the matches and their ancestors.

    A node with several parents appears under each; its children only under the first, so the
    outline is no longer than the number of links.
    """
    matching = _found(graph, search) if search else None
    kept = None if matching is None else matching | _above(graph, matching)
    rows: list[OutlineRow] = []
    seen: set[str] = set()
    # A stack, not recursion: a graph may be a chain of thousands.
    todo = [(root, 0, "", rows) for root in reversed(graph.roots)]
    while todo:
        node_id, level, parent, into = todo.pop()
        if kept is not None and node_id not in kept:
            continue
        node = graph.node(node_id)
        others = [graph.node(parent_id).title for parent_id in node.parents if parent_id != parent]
        row = OutlineRow(
            node,
            counts.get(node_id) or dict.fromkeys(COUNTED, 0),
            first=node_id not in seen,
            elsewhere=", ".join(others),
            opened=matching is not None,
            is_match=matching is not None and node_id in matching,
        )
        into.append(row)
        if row.first:
            seen.add(node_id)
            deeper, below = (
                (level + 1, row.children) if level < MAX_OUTLINE_DEPTH else (level, into)
            )
            todo += [(child, deeper, node_id, below) for child in reversed(node.children)]
    return rows


def _found(graph: QuestionGraph, search: str) -> set[str]:
    words = search.casefold().split()
    return {node.id for node in graph.nodes if all(word in _text_of(node) for word in words)}


def _text_of(node: Node) -> str:
    texts = (node.id, node.question, node.name, node.key, *node.synonyms)
    return " ".join(texts).casefold()


def _above(graph: QuestionGraph, node_ids: set[str]) -> set[str]:
    above: set[str] = set()
    for node_id in node_ids:
        above.update(graph.ancestors(node_id))
    return above


def counts_of(campaign: Campaign) -> Counts:
    """Return {"asked", "yes", "no", "open"} images of every node with questions. Two queries.

    "open" questions need answers; those in review or dropped count only as asked. Gold and
    withdrawn questions are not counted.
    """
    return cached(f"outline:{campaign.pk}", lambda: _count(campaign))


def _count(campaign: Campaign) -> Counts:
    counts: Counts = defaultdict(lambda: dict.fromkeys(COUNTED, 0))
    questions = campaign.questions.for_consensus().order_by()
    for topic, state, count in questions.values_list("topic", "state").annotate(Count("pk")):
        counts[topic]["asked"] += count
        if state == Question.State.OPEN:
            counts[topic]["open"] = count
    later = Settlement.objects.filter(question=OuterRef("question"), pk__gt=OuterRef("pk"))
    current = Settlement.objects.filter(
        ~Exists(later), question__campaign=campaign, question__state=Question.State.SETTLED
    ).order_by()
    settled: Counter[tuple[str, str]] = Counter()
    values = current.values_list("question__topic", "value").annotate(Count("pk"))
    for topic, value, count in values:
        settled[topic, str(value)] += count
    for (topic, value), count in settled.items():
        if value in ("yes", "no"):
            counts[topic][value] = count
    return dict(counts)
