"""Replays an image's answers over a question graph: its labels and the next questions.

`strict` is Algorithm 1 of Russakovsky et al. (2015) as printed: a "no" closes every unlabeled
descendant, so a shared child depends on the order of the answers. `safe`, the default, closes a
shared child only if all its parents are "no", independent of the order. Pure, no Django.
"""

import difflib
import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from labeling.errors import Refusal
from labeling.question_graph.graph import (  # noqa: F401
    GraphError,
    Node,
    QuestionGraph,
    build,
    parse,
    read,
    shipped,
)

YES, NO, UNKNOWN = "yes", "no", "unknown"
EXPLICIT, INHERITED, GIVEN, INFERRED = "explicit", "inherited", "given", "inferred"
MODES = ("safe", "strict")

# Maximum number of faults that a refused import lists.
MAX_LISTED_FAULTS = 20

Label = tuple[str, str]


@dataclass(frozen=True)
class Replay:
    """The labels of one image after its answers.

    explicit: answers that count, by node id. known: labels known beforehand, by node id; known_by:
    for ancestors among them, the node that they follow from. ignored: (id, value) of answers that
    do not count, since a "no" above or a label known beforehand had closed their node. shut: the
    nodes closed by a "no" above, as a bit set over positions. closings: ("no" nodes, nodes that
    they closed).
    """

    graph: QuestionGraph
    explicit: dict[str, str]
    known: dict[str, str]
    ignored: list[tuple[str, str]]
    shut: int
    closings: list[tuple[tuple[str, ...], int]]
    known_by: dict[str, str]

    @functools.cached_property
    def candidates(self) -> list[str]:
        """Return ids to ask now, breadth-first: nodes without a label that are roots or have a
        parent labeled "yes" or "unknown".
        """
        masks = self.graph.masks
        index = self.graph.index
        reachable, settled = masks.roots, self.shut
        for labels in (self.explicit, self.known):
            for node_id, value in labels.items():
                position = index[node_id]
                settled |= 1 << position
                if value != NO:
                    reachable |= masks.children[position]
        return self.graph.ids(reachable & ~settled)

    @functools.cached_property
    def settled(self) -> dict[str, Label]:
        """Return id → (value, origin) of the nodes with a label."""
        labels = dict.fromkeys(self.graph.ids(self.shut), (NO, INHERITED))
        labels.update({node_id: (value, GIVEN) for node_id, value in self.known.items()})
        labels.update({node_id: (value, EXPLICIT) for node_id, value in self.explicit.items()})
        return labels

    @functools.cached_property
    def labels(self) -> dict[str, Label]:
        """Return (value, origin) of every node; ("unknown", "explicit") without a label."""
        return dict.fromkeys(self.graph.index, (UNKNOWN, EXPLICIT)) | self.settled

    @functools.cached_property
    def closed(self) -> set[str]:
        """Return ids that are not asked (any more): below a "no", or known beforehand."""
        return {*self.graph.ids(self.shut), *self.known}

    @functools.cached_property
    def depends(self) -> dict[str, tuple[str, ...]]:
        """Return, by node id, the ids of the explicit and given answers behind its label."""
        sources_of: dict[str, tuple[str, ...]] = {
            node_id: (node_id,) for node_id in (*self.explicit, *self.known)
        }
        sources_of.update({node_id: (source,) for node_id, source in self.known_by.items()})
        for sources, mask in self.closings:
            roots = tuple(dict.fromkeys(root for source in sources for root in sources_of[source]))
            sources_of.update(dict.fromkeys(self.graph.ids(mask), roots))
        return sources_of


def replay(
    graph: QuestionGraph,
    answers: Iterable[tuple[str, str]],
    mode: str = "safe",
    known_labels: Mapping[str, str] | None = None,
) -> Replay:
    """Return the labels of an image after its settled answers.

    answers: (node id, "yes" | "no" | "unknown") in the order of settling; the last one of a node
    counts, at the position of its first. "unknown" means that nobody could decide. Nodes below it
    are asked all the same, since a wrong "no" costs labels and a wrong "yes" only questions.
    known_labels: "yes" | "no" by class key or node id, known before anybody was asked. A "yes"
    makes all its ancestors "yes" too. Nodes that the graph does not have are left out.
    Raises ValueError for another mode. The time depends on the answers and the nodes with several
    parents, not on the size of the graph.
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, expected safe or strict")
    answer_of = {node_id: value for node_id, value in answers if node_id in graph.index}
    known, known_by = _known(graph, known_labels or {})
    settle = _safe if mode == "safe" else _strict
    return settle(graph, answer_of, known, known_by)


def _known(
    graph: QuestionGraph, known_labels: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the known labels by node id, and for ancestors the node they follow from."""
    labels = [
        (node_id, value) for key, value in known_labels.items() if (node_id := graph.find(key))
    ]
    known = {node_id: value for node_id, value in labels if value in {YES, NO}}
    follows: dict[str, str] = {}
    for node_id, value in labels:
        if value == YES:
            for ancestor in graph.ancestors(node_id):
                if known.get(ancestor) != YES:
                    known[ancestor] = YES
                    follows[ancestor] = node_id
    return known, follows


def _safe(
    graph: QuestionGraph,
    answer_of: Mapping[str, str],
    known: dict[str, str],
    known_by: dict[str, str],
) -> Replay:
    """Close nodes parents first: a "no" closes what only it leads to; then shared nodes are
    checked.
    """
    masks, names = graph.masks, graph.names
    # Bit sets over positions: nodes that are "no" (noes), and those of them closed from above.
    noes = shut = 0
    taken = todo = masks.of(graph, known)
    todo |= masks.of(graph, answer_of)
    explicit: dict[str, str] = {}
    ignored: list[tuple[str, str]] = []
    closings: list[tuple[tuple[str, ...], int]] = []
    while todo:
        bit = todo & -todo
        todo ^= bit
        position = bit.bit_length() - 1
        name, above = names[position], masks.parents[position]
        if bit & (taken | shut):
            closes = known.get(name) == NO
            fresh = 0
        elif above and not above & ~noes:
            closes, fresh = True, bit
        else:
            # A shared node that is only looked at again may have no answer.
            closes, fresh = answer_of.get(name) == NO, 0
            if name in answer_of:
                explicit[name] = answer_of[name]
        if name in answer_of and name not in explicit:
            ignored.append((name, answer_of[name]))
        if closes:
            sources = graph.nodes[position].parents if fresh else (name,)
            fresh |= masks.alone[position] & ~(taken | shut)
            closings.append((sources, fresh))
            shut |= fresh
            noes |= fresh | bit
            todo |= masks.shared_next[position]
    return Replay(graph, explicit, known, ignored, shut, closings, known_by)


def _strict(
    graph: QuestionGraph,
    answer_of: Mapping[str, str],
    known: dict[str, str],
    known_by: dict[str, str],
) -> Replay:
    """Close nodes in the order of the answers: a "no" closes every unlabeled descendant."""
    masks, index = graph.masks, graph.index
    shut, taken = 0, masks.of(graph, known)
    explicit: dict[str, str] = {}
    ignored: list[tuple[str, str]] = []
    closings: list[tuple[tuple[str, ...], int]] = []

    def close(node_id: str) -> int:
        fresh = masks.below[index[node_id]] & ~(taken | shut)
        closings.append(((node_id,), fresh))
        return shut | fresh

    for node_id, value in known.items():
        if value == NO:
            shut = close(node_id)
    for node_id, value in answer_of.items():
        bit = 1 << index[node_id]
        if (taken | shut) & bit:
            ignored.append((node_id, value))
            continue
        explicit[node_id] = value
        taken |= bit
        if value == NO:
            shut = close(node_id)
    return Replay(graph, explicit, known, ignored, shut, closings, known_by)


def gold_conflicts(
    graph: QuestionGraph, rows: Iterable[tuple[str, str, str]], mode: str = "safe"
) -> list[str]:
    """Return one sentence for each answer that contradicts others of its image.

    rows: (image, node id or class key, "yes" | "no"). A "yes" contradicts answers that close its
    node: in strict mode any "no" above it, in safe mode a "no" on every path to it. A "yes" whose
    children are all "no" is fine: an animal need not be one of the listed ones.
    """
    images: dict[str, dict[str, str]] = defaultdict(dict)
    sentences = []
    for image, key, value in rows:
        node_id = graph.find(key)
        if node_id is None:
            sentences.append(f"{image}: {key} is not in the graph; add it, or remove the answer.")
        elif images[image].setdefault(node_id, value) != value:
            sentences.append(f"{image}: {key} is both yes and no; keep one of them.")
    for image, answers in images.items():
        sentences += [f"{image}: {words}" for words in _contradictions(graph, answers, mode)]
    return sentences


def _contradictions(graph: QuestionGraph, answers: Mapping[str, str], mode: str) -> list[str]:
    """Return the "yes" answers to nodes that the "no" answers close."""
    # Only the "no" answers: in strict mode an answer that comes first would keep its node open.
    noes = [(node_id, value) for node_id, value in answers.items() if value == NO]
    after = replay(graph, noes, mode)
    return [
        f"{node_id} is yes, but {' and '.join(after.depends[node_id])}, above it, is no;"
        " change one of them."
        for node_id, value in answers.items()
        if value == YES and after.settled.get(node_id) == (NO, INHERITED)
    ]


def check_given(
    graph: QuestionGraph, rows: Iterable[tuple[str, str, str]], places: Sequence[str] = ()
) -> None:
    """Raise Refusal, which names the rows, if known labels contradict the graph.

    rows: (image, node id or class key, "yes" | "no"), in the order of the file. places: what
    messages call each of them, by default "Row n", from 1.
    """

    def at(number: int) -> str:
        return places[number - 1] if places else f"Row {number}"

    faults = []
    value_and_row: dict[tuple[str, str], tuple[str, int]] = {}
    noes: dict[str, list[str]] = defaultdict(list)
    for number, (image, key, value) in enumerate(rows, start=1):
        node_id = graph.find(key)
        if node_id is None:
            faults.append(
                f"{at(number)}: class {key!r} is not in the graph; {_nearest(graph, key)}."
            )
        elif value not in {YES, NO}:
            faults.append(f"{at(number)}: {key} is {value!r}; write yes or no.")
        else:
            first, row = value_and_row.setdefault((image, node_id), (value, number))
            if first != value:
                where = f"{at(row)[0].lower()}{at(row)[1:]}"
                faults.append(f"{at(number)}: {key} of {image} was {first} in {where}; keep one.")
            if value == NO:
                noes[image].append(node_id)
    for (image, node_id), (value, number) in value_and_row.items():
        above = set(noes[image]).intersection(graph.ancestors(node_id)) if value == YES else ()
        if above:
            faults.append(
                f"{at(number)}: {node_id} of {image} is yes, but {min(above)}, above it, is no;"
                " change one of them."
            )
    if faults:
        more = (
            f"\nand {len(faults) - MAX_LISTED_FAULTS} more"
            if len(faults) > MAX_LISTED_FAULTS
            else ""
        )
        raise Refusal(
            "\n".join(faults[:MAX_LISTED_FAULTS]) + more, field="file", code="not_in_graph"
        )


def _nearest(graph: QuestionGraph, key: str) -> str:
    """Return a cure for an unknown class: the most similar name in the graph."""
    near = difflib.get_close_matches(key, [*graph.by_key, *graph.index], n=1)
    return f"did you mean {near[0]!r}" if near else "remove the row, or add the class to the graph"
