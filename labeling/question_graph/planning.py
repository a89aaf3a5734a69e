"""Plans one image's questions from their state and the graph. Pure, no Django."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from labeling.question_graph import replaying
from labeling.question_graph.replaying import EXPLICIT, NO, UNKNOWN, QuestionGraph, Replay

# Which of an image's candidates to ask now: (graph, replay, candidates, those that are open).
Choice = Callable[[QuestionGraph, Replay, list[str], set[str]], list[str]]


class AskedNode(NamedTuple):
    """An existing question of the image.

    state: of its row. value: of its latest settlement ("yes", "no" or "unknown"; None before any).
    first: when it was first settled, as an increasing number.
    """

    id: int
    node: str
    state: str
    value: str | None = None
    first: int = 0

    @property
    def decided(self) -> bool:
        return self.value is not None and self.state in ("settled", "dropped")


@dataclass
class GraphPlan:
    """Nodes to open, and ids of questions to reopen and withdraw."""

    open: list[str] = field(default_factory=list)
    reopen: list[int] = field(default_factory=list)
    withdraw: list[int] = field(default_factory=list)


def value_of(stated: object) -> str | None:
    """Return a settlement's value for the graph; None (in review) settles nothing.

    >>> value_of("yes"), value_of("dropped"), value_of(None)
    ('yes', 'unknown', None)
    """
    if stated is None:
        return None
    return str(stated) if stated in (replaying.YES, replaying.NO) else UNKNOWN


def agreed(values: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return one value per node or class from several sources.

    "yes" beats "no" beats "unknown": a wrong "no" costs labels, a wrong "yes" only questions.

    >>> agreed([("cat", "no"), ("cat", "yes"), ("dog", "no")])
    {'cat': 'yes', 'dog': 'no'}
    """
    weight = (replaying.YES, replaying.NO, UNKNOWN)
    agreed_values: dict[str, str] = {}
    for key, value in values:
        if key not in agreed_values or weight.index(value) < weight.index(agreed_values[key]):
            agreed_values[key] = value
    return agreed_values


def replay_current(
    graph: QuestionGraph,
    questions: Sequence[AskedNode],
    mode: str,
    known_labels: Mapping[str, str] | None = None,
    *,
    pending: bool = False,
) -> Replay:
    """Return the image's labels from the answers that count.

    An answer counts while a parent is "yes" or "unknown", since Algorithm 1 would have asked it.
    Answers are in the order of their first settling, so that a block and an unblock restore the
    labels. pending: questions that were settled once and are open, in review or withdrawn count as
    settled. known_labels: known before anybody was asked; "unknown" if nothing more can be known.
    """
    known_labels = known_labels or {}
    known = replaying.replay(graph, (), mode, known_labels).settled if known_labels else {}
    firm = {node: value for node, (value, _) in known.items()}
    settled_values = [(node, UNKNOWN) for node, value in known_labels.items() if value == UNKNOWN]
    firm |= dict(settled_values)
    counted = []
    answered = [
        question
        for question in questions
        if question.value is not None and question.node in graph.index
    ]
    for settled_question in sorted(answered, key=lambda question: graph.index[question.node]):
        if not settled_question.decided and not pending:
            continue
        parents = graph.node(settled_question.node).parents
        if parents and all(firm.get(parent, NO) == NO for parent in parents):
            continue
        counted.append(settled_question)
        # A pending question opens nothing below itself until it is settled.
        if settled_question.decided:
            firm.setdefault(settled_question.node, str(settled_question.value))
    counted.sort(key=lambda question: (question.first, question.id))
    settled_values += [(question.node, str(question.value)) for question in counted]
    return replaying.replay(graph, settled_values, mode, known_labels)


def plan(
    graph: QuestionGraph,
    questions: Sequence[AskedNode],
    mode: str,
    known_labels: Mapping[str, str] | None = None,
    choose: Choice | None = None,
) -> GraphPlan:
    """Return what to open, reopen and withdraw. Idempotent once carried out.

    questions: those of the image, without gold; answers of gold are in known_labels. choose: which
    candidates to ask now, by default all.
    """
    replay = replay_current(graph, questions, mode, known_labels, pending=True)
    rows = {question.node: question for question in questions}
    withdrawn = {node for node, question in rows.items() if question.state == "withdrawn"}
    pending = {node for node, question in rows.items() if not question.decided}
    candidates = [node for node in replay.candidates if _reached(graph, replay, node, pending)]
    counts = {node for node, (_, origin) in replay.settled.items() if origin == EXPLICIT}
    keep = counts.union(candidates)
    leaving = [
        question.id for node, question in rows.items() if node not in withdrawn and node not in keep
    ]
    waiting = {node for node in keep if node in rows and rows[node].state == "open"}
    # Withdrawn questions whose answers count again are reopened without `choose`.
    to_open = [node for node in rows if node in counts and node in withdrawn]
    to_open += (choose or breadth)(graph, replay, candidates, waiting)
    return GraphPlan(
        open=[node for node in to_open if node not in rows],
        reopen=[rows[node].id for node in to_open if node in withdrawn],
        withdraw=leaving,
    )


def known_values(
    graph: QuestionGraph,
    questions: Iterable[AskedNode],
    known_labels: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return node → value of all settled answers, whatever their ancestors, and of known labels,
    which take precedence.
    """
    values = {
        question.node: str(question.value)
        for question in questions
        if question.decided and question.node in graph.index
    }
    return values | dict(known_labels or {})


def plan_any(
    graph: QuestionGraph,
    questions: Sequence[AskedNode],
    known_labels: Mapping[str, str] | None,
    choose: Callable[[dict[str, str]], str | None],
) -> GraphPlan:
    """Plan like `plan` where any node may be asked, one question at a time.

    choose: returns the node to ask after these answers, or None if none is worth it; then open
    questions are withdrawn. The open question stays while any is worth asking, unless its answer
    follows from given labels. While a question is in review or reopened, no other is asked, so that
    a block and an unblock restore the image.
    """
    rows = {question.node: question for question in questions}
    in_graph = {node: question for node, question in rows.items() if node in graph.index}
    leaving = [
        question.id
        for question in questions
        if question.node not in in_graph and question.state != "withdrawn"
    ]
    if any(question.state == "review" for question in in_graph.values()):
        return GraphPlan(withdraw=leaving)
    waiting = [
        node
        for node, question in in_graph.items()
        if question.state == "open" and question.value is None
    ]
    if any(
        question.state == "open" and question.value is not None for question in in_graph.values()
    ):
        return GraphPlan(withdraw=leaving + [in_graph[node].id for node in waiting])
    node = choose(known_values(graph, questions, known_labels))
    known = replaying.replay(graph, (), known_labels=known_labels).known if waiting else {}
    if node is not None and len(waiting) == 1 and waiting[0] not in known:
        return GraphPlan(withdraw=leaving)
    leaving += [in_graph[waiting_node].id for waiting_node in waiting if waiting_node != node]
    if node is None or node in waiting:
        return GraphPlan(withdraw=leaving)
    if node in in_graph:
        return GraphPlan(reopen=[in_graph[node].id], withdraw=leaving)
    return GraphPlan(open=[node], withdraw=leaving)


def _reached(graph: QuestionGraph, replay: Replay, node: str, pending: set[str]) -> bool:
    """Return whether a current answer on a parent opens the node.

    A pending parent opens nothing, unless it is known without its answers: a given "yes" below it
    withdraws its question, but its other children are still asked.
    """
    parents = graph.node(node).parents
    return not parents or any(
        replay.settled.get(parent, (NO, ""))[0] != NO
        and (parent not in pending or parent in replay.known)
        for parent in parents
    )


def breadth(
    graph: QuestionGraph, replay: Replay, candidates: list[str], waiting: set[str]
) -> list[str]:
    """Return all candidates; many people may answer them in any order."""
    return candidates


def depth(
    graph: QuestionGraph, replay: Replay, candidates: list[str], waiting: set[str]
) -> list[str]:
    """Return one question at a time, depth-first."""
    if waiting or not candidates:
        return []
    rank = {node: index for index, node in enumerate(graph.printed)}
    return [min(candidates, key=rank.__getitem__)]
