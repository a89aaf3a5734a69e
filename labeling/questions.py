"""What to ask of an image next, and what its answers say: a question graph replayed.

`strict` is Algorithm 1 of Russakovsky et al. (2015) as printed: a "no" closes everything below it
that has no label yet, so a shared child depends on the order of the answers. `safe`, the default,
closes a shared child only when all its parents are "no", and depends on no order. Pure, no Django.
"""

import difflib
import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from labeling.errors import Refusal
from labeling.question_graph import Graph, GraphError, Node, build, parse, read, shipped

__all__ = [
    "EXPLICIT",
    "GIVEN",
    "INHERITED",
    "MODES",
    "NO",
    "UNKNOWN",
    "YES",
    "Graph",
    "GraphError",
    "Node",
    "Replay",
    "build",
    "check_given",
    "gold_conflicts",
    "parse",
    "read",
    "replay",
    "shipped",
]

YES, NO, UNKNOWN = "yes", "no", "unknown"
EXPLICIT, INHERITED, GIVEN = "explicit", "inherited", "given"
MODES = ("safe", "strict")

# Rows of a refused import that are named.
SHOWN = 20

Label = tuple[str, str]


@dataclass(frozen=True)
class Replay:
    """Where one image stands.

    settled: (value, origin) by node id, of the nodes that have a label. candidates: ids to ask now,
    breadth-first. ignored: (id, value) of answers that do not count, since something above, or a
    label known beforehand, had closed their node. by: what closed a node, by id of the node.
    """

    graph: Graph
    settled: dict[str, Label]
    candidates: list[str]
    ignored: list[tuple[str, str]]
    by: dict[str, tuple[str, ...]]

    @functools.cached_property
    def labels(self) -> dict[str, Label]:
        """(value, origin) of every node; what nobody has said is ("unknown", "explicit")."""
        open_label = (UNKNOWN, EXPLICIT)
        return {node.id: self.settled.get(node.id, open_label) for node in self.graph.nodes}

    @functools.cached_property
    def closed(self) -> set[str]:
        """Ids that are not asked (any more): below a "no", or known beforehand."""
        return {node for node, (_, origin) in self.settled.items() if origin != EXPLICIT}

    @property
    def done(self) -> bool:
        return not self.candidates

    @functools.cached_property
    def depends(self) -> dict[str, tuple[str, ...]]:
        """The explicit and given answers that each settled label rests on, by node id."""
        found: dict[str, tuple[str, ...]] = {}
        for node_id in sorted(self.settled, key=self.graph.index.__getitem__):
            sources: dict[str, None] = {}
            for source in self.by.get(node_id, ()):
                sources.update(dict.fromkeys(found.get(source, (source,))))
            found[node_id] = tuple(sources) or (node_id,)
        return found


def replay(
    graph: Graph,
    answers: Sequence[tuple[str, str]],
    mode: str = "safe",
    given: Mapping[str, str] | None = None,
) -> Replay:
    """Where an image stands after its settled answers.

    answers: (node id, "yes" | "no" | "unknown") in the order of settling; the last one of a node
    counts, at the place of its first. "unknown" is a question that nobody could decide: below it
    people are asked all the same, since a wrong "no" costs labels and a wrong "yes" only questions.
    given: "yes" | "no" by class key or node id, known before anybody was asked. A given "yes" makes
    all its ancestors "yes" too. Answers to nodes that the graph does not have are left out.
    Raises ValueError for another mode.
    """
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, expected safe or strict")
    said = {node_id: value for node_id, value in answers if node_id in graph.index}
    settled, by = _given(graph, given or {})
    if mode == "safe":
        ignored = _safe(graph, said, settled, by)
    else:
        ignored = _strict(graph, said, settled, by)
    return Replay(graph, settled, _candidates(graph, settled), ignored, by)


def _given(
    graph: Graph, given: Mapping[str, str]
) -> tuple[dict[str, Label], dict[str, tuple[str, ...]]]:
    settled: dict[str, Label] = {}
    by: dict[str, tuple[str, ...]] = {}
    known = [(node_id, value) for key, value in given.items() if (node_id := graph.find(key))]
    for node_id, value in known:
        if value in {YES, NO}:
            settled[node_id] = (value, GIVEN)
    for node_id, value in known:
        if value == YES:
            for ancestor in graph.ancestors(node_id):
                if settled.get(ancestor) != (YES, GIVEN):
                    settled[ancestor] = (YES, GIVEN)
                    by[ancestor] = (node_id,)
    return settled, by


def _safe(
    graph: Graph,
    said: Mapping[str, str],
    settled: dict[str, Label],
    by: dict[str, tuple[str, ...]],
) -> list[tuple[str, str]]:
    """Settles every node, parents first, and returns the answers that do not count."""
    ignored = []
    for node in graph.nodes:
        name = node.id
        if name not in settled and node.parents:
            for parent in node.parents:
                if parent not in settled or settled[parent][0] != NO:
                    break
            else:
                settled[name] = (NO, INHERITED)
                by[name] = node.parents
        if name in said:
            if name in settled:
                ignored.append((name, said[name]))
            else:
                settled[name] = (said[name], EXPLICIT)
    return ignored


def _strict(
    graph: Graph,
    said: Mapping[str, str],
    settled: dict[str, Label],
    by: dict[str, tuple[str, ...]],
) -> list[tuple[str, str]]:
    """Settles nodes in the order of the answers, and returns those that do not count."""
    ignored = []

    def close(name: str) -> None:
        for position in graph.below_positions[graph.index[name]]:
            below = graph.nodes[position].id
            if below not in settled:
                settled[below] = (NO, INHERITED)
                by[below] = (name,)

    for name in [name for name, label in settled.items() if label[0] == NO]:
        close(name)
    for name, value in said.items():
        if name in settled:
            ignored.append((name, value))
            continue
        settled[name] = (value, EXPLICIT)
        if value == NO:
            close(name)
    return ignored


def _candidates(graph: Graph, settled: Mapping[str, Label]) -> list[str]:
    """Nodes without a label that are a root, or below one that is not "no"."""
    return [
        node.id
        for node in graph.nodes
        if node.id not in settled
        and (
            not node.parents
            or any(parent in settled and settled[parent][0] != NO for parent in node.parents)
        )
    ]


def gold_conflicts(
    graph: Graph, rows: Iterable[tuple[str, str, str]], mode: str = "safe"
) -> list[str]:
    """One sentence for each answer that cannot stand beside the others of its image.

    rows: (image, node id or class key, "yes" | "no"). A "yes" cannot stand where the others close
    its node: below any "no" in strict mode, below nothing but "no" in safe mode. A "yes" whose
    children are all "no" can: an animal need not be one of those asked for.
    """
    images: dict[str, dict[str, str]] = defaultdict(dict)
    sentences = []
    for image, key, value in rows:
        node_id = graph.find(key)
        if node_id is None:
            sentences.append(f"{image}: {key} is not in the graph; add it or take the answer out.")
        elif images[image].setdefault(node_id, value) != value:
            sentences.append(f"{image}: {key} is both yes and no; keep one of them.")
    for image, answers in images.items():
        sentences += [f"{image}: {words}" for words in _contradictions(graph, answers, mode)]
    return sentences


def _contradictions(graph: Graph, answers: Mapping[str, str], mode: str) -> list[str]:
    """Answers "yes" to nodes that the "no" answers close."""
    # Only the "no" answers: in strict mode an answer that comes first would keep its node open.
    noes = [(node_id, value) for node_id, value in answers.items() if value == NO]
    after = replay(graph, noes, mode)
    return [
        f"{node_id} is yes, but {' and '.join(after.depends[node_id])}, above it, is no;"
        " change one of them."
        for node_id, value in answers.items()
        if value == YES and after.settled.get(node_id) == (NO, INHERITED)
    ]


def check_given(graph: Graph, rows: Iterable[tuple[str, str, str]]) -> None:
    """Nothing, when labels known beforehand fit the graph; else a Refusal that names the rows.

    rows: (image, node id or class key, "yes" | "no"), in the order of the file, from row 1.
    """
    faults = []
    said: dict[tuple[str, str], tuple[str, int]] = {}
    noes: dict[str, list[str]] = defaultdict(list)
    for number, (image, key, value) in enumerate(rows, start=1):
        node_id = graph.find(key)
        if node_id is None:
            faults.append(
                f"Row {number}: class {key!r} is not in the graph; {_nearest(graph, key)}."
            )
        elif value not in {YES, NO}:
            faults.append(f"Row {number}: {key} is {value!r}; write yes or no.")
        else:
            first, row = said.setdefault((image, node_id), (value, number))
            if first != value:
                faults.append(f"Row {number}: {key} of {image} was {first} in row {row}; keep one.")
            if value == NO:
                noes[image].append(node_id)
    for (image, node_id), (value, number) in said.items():
        above = set(noes[image]).intersection(graph.ancestors(node_id)) if value == YES else ()
        if above:
            faults.append(
                f"Row {number}: {node_id} of {image} is yes, but {min(above)}, above it, is no;"
                " change one of them."
            )
    if faults:
        more = f"\nand {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
        raise Refusal("\n".join(faults[:SHOWN]) + more, field="file", code="not_in_graph")


def _nearest(graph: Graph, key: str) -> str:
    """A cure for an unknown class: the nearest name that the graph has."""
    near = difflib.get_close_matches(key, [*graph.by_key, *graph.index], n=1)
    return (
        f"did you mean {near[0]!r}" if near else "take the row out, or add the class to the graph"
    )
