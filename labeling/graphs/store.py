"""A campaign's question graph: its versions, written and read."""

import functools
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Max

from labeling.errors import Conflict, Refusal
from labeling.jobs import queue
from labeling.kinds import KINDS
from labeling.kinds.base import GRAPH
from labeling.models import Campaign, Decision, Topic, User
from labeling.models import Graph as Version
from labeling.question_graph import replaying
from labeling.question_graph.replaying import Node, QuestionGraph

KIND = "hierarchy"
BATCH = 2_000
MAX_NAME_LENGTH = 200


def define(
    campaign: Campaign,
    actor: User | None,
    raw: Mapping[str, Any] | QuestionGraph,
    reason: str = "",
    *,
    instead_of: int | None = None,
) -> Version:
    """Return the version of the campaign's graph with this content: a new one, or the one in force.

    Every node becomes a topic. If questions exist, all images are replanned in the background: new
    nodes are asked, closed or removed ones withdrawn; they reopen with their answers if they
    return. instead_of: the version that was edited, so that nobody overwrites a concurrent change.
    Raises GraphError with every fault, and Conflict if another version is in force; then nothing
    changed.
    """
    graph = raw if isinstance(raw, QuestionGraph) else replaying.build(raw)
    if KINDS[campaign.kind].asks != GRAPH:
        raise Refusal(
            f"A campaign of the kind {campaign.kind} asks by no graph; open a {KIND} campaign.",
            field="graph",
        )
    with transaction.atomic():
        current = Campaign.objects.select_for_update().get(pk=campaign.pk)
        if current.state == Campaign.State.CLOSED:
            raise Conflict("The campaign is closed. Open a new one for another graph.")
        before = version_of(current)
        if before is not None and before.sha256 == graph.sha256:
            return before
        _check_base(before, instead_of)
        last = current.graphs.aggregate(at=Max("version"))["at"] or 0
        version = Version.objects.create(
            campaign=current,
            version=last + 1,
            content=graph.content(),
            sha256=graph.sha256,
            created_by=actor,
        )
        Campaign.objects.filter(pk=current.pk).update(graph=version)
        old = load_graph(before) if before else None
        _define_topics(current, graph, old)
        content = {"version": version.version, "sha256": graph.sha256}
        if old is not None:
            content |= {kind: len(rows) for kind, rows in old.diff(graph).items()}
        Decision.objects.record(current, Decision.Kind.GRAPH, actor, content, reason)
        if current.questions.exists():
            enqueue_replanning(current)
    campaign.graph = version
    return version


def _check_base(before: Version | None, instead_of: int | None) -> None:
    if before is not None and instead_of is not None and before.version != instead_of:
        raise Conflict(
            f"Version {before.version} of the graph is newer than the one you edited. Nothing was "
            "saved. Load the latest version and repeat your change.",
            field="version",
        )


def enqueue_replanning(campaign: Campaign) -> None:
    """Replan all images of the campaign in the background (following.py)."""
    queue.enqueue("look again", str(campaign.pk), campaign=campaign)


def _define_topics(campaign: Campaign, graph: QuestionGraph, old: QuestionGraph | None) -> None:
    """Define a topic for every node.

    A researcher's texts on the topic's page are kept until the graph changes that node's texts.
    """
    known = dict(campaign.topics.values_list("key", "guidance"))
    topics = []
    for node in graph.nodes:
        old_position = old.index.get(node.id) if old else None
        unchanged = old is not None and old_position is not None and old.nodes[old_position] == node
        if node.id in known and unchanged:
            continue
        topics.append(_topic(campaign, node, known.get(node.id, "")))
    Topic.objects.bulk_create(
        topics,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["campaign", "key"],
        update_fields=["name", "synonyms", "definition", "guidance"],
    )


def _topic(campaign: Campaign, node: Node, guidance: str) -> Topic:
    return Topic(
        campaign=campaign,
        key=node.id,
        name=node.title[:MAX_NAME_LENGTH],
        synonyms=list(node.synonyms),
        definition=node.definition or _fuller(node),
        guidance=node.guidance or guidance,
    )


def _fuller(node: Node) -> str:
    """Return the question if it says more than its name ("bear (other than pandas)")."""
    name, question = node.name.lower(), node.question.lower()
    return node.question if name and question not in (name, f"a {name}", f"an {name}") else ""


def version_of(campaign: Campaign) -> Version | None:
    """Return the graph version in force, read afresh; None without a graph."""
    return Version.objects.filter(pk=campaign.graph_id).first() if campaign.graph_id else None


def load_graph(source: Campaign | Version | int) -> QuestionGraph:
    """Return the question graph in force in a campaign, of a version, or of a version's id.

    Cached by process, since versions never change. Raises Refusal if there is none.
    """
    if isinstance(source, Version):
        return _built(source.sha256, source.pk)
    pk = source.graph_id if isinstance(source, Campaign) else source
    row = Version.objects.filter(pk=pk or 0).values_list("sha256", "pk").first()
    if row is None:
        raise Refusal("The campaign has no question graph yet. Load one first.", field="graph")
    return _built(*row)


# By digest: equal content is the same graph whatever its row.
_GRAPHS: dict[str, QuestionGraph] = {}
MAX_CACHED_GRAPHS = 32


def _built(sha256: str, pk: int) -> QuestionGraph:
    graph = _GRAPHS.get(sha256)
    if graph is None:
        graph = replaying.build(Version.objects.values_list("content", flat=True).get(pk=pk))
        if len(_GRAPHS) >= MAX_CACHED_GRAPHS:
            _GRAPHS.pop(next(iter(_GRAPHS)))
        _GRAPHS[sha256] = graph
    return graph


@functools.cache
def load_ilsvrc() -> QuestionGraph:
    """Return ILSVRC's graph of detection questions: 245 nodes, 200 classes."""
    return replaying.shipped("ilsvrc")
