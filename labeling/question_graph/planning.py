"""What becomes of one image's questions, from how they stand and the graph. Pure, no Django."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from labeling.question_graph import replaying
from labeling.question_graph.replaying import EXPLICIT, NO, UNKNOWN, Graph, Replay

# Which of an image's candidates to ask now: (graph, replay, candidates, those that are open).
Choice = Callable[[Graph, Replay, list[str], set[str]], list[str]]


class Asked(NamedTuple):
    """A question of the image as it stands.

    state: that of its row. value: what its latest settlement says ("yes", "no" or "unknown"; None
    before any). first: when it was first settled, as a number that grows with time.
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
class Plan:
    """What to do: open these nodes, bring back and withdraw these questions (by id)."""

    open: list[str] = field(default_factory=list)
    reopen: list[int] = field(default_factory=list)
    withdraw: list[int] = field(default_factory=list)


def value_of(stated: object) -> str | None:
    """A settlement's value as the graph reads it; nothing is settled by None (to a reviewer).

    >>> value_of("yes"), value_of("dropped"), value_of(None)
    ('yes', 'unknown', None)
    """
    if stated is None:
        return None
    return str(stated) if stated in (replaying.YES, replaying.NO) else UNKNOWN


def agreed(said: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The value of each node or class of which several sources speak.

    "yes" before "no" before "unknown": a wrong "no" costs labels, a wrong "yes" only questions.

    >>> agreed([("cat", "no"), ("cat", "yes"), ("dog", "no")])
    {'cat': 'yes', 'dog': 'no'}
    """
    weight = (replaying.YES, replaying.NO, UNKNOWN)
    found: dict[str, str] = {}
    for key, value in said:
        if key not in found or weight.index(value) < weight.index(found[key]):
            found[key] = value
    return found


def stand(
    graph: Graph,
    asked: Sequence[Asked],
    mode: str,
    given: Mapping[str, str] | None = None,
    *,
    pending: bool = False,
) -> Replay:
    """The image's labels, of the answers that count.

    An answer counts while something above it says yes (or could not be decided), as Algorithm 1
    would have asked it; the order is that of the first settling, so a block and its lifting give
    the labels that were. pending: questions that were settled once and are open, in review or
    withdrawn count too, as if they were settled again.
    given: what is known beforehand, also "unknown" where that is all that can be known.
    """
    given = given or {}
    known = replaying.replay(graph, (), mode, given).settled if given else {}
    firm = {node: value for node, (value, _) in known.items()}
    said = [(node, UNKNOWN) for node, value in given.items() if value == UNKNOWN]
    firm |= dict(said)
    counted = []
    answered = [one for one in asked if one.value is not None and one.node in graph.index]
    for one in sorted(answered, key=lambda one: graph.index[one.node]):
        if not one.decided and not pending:
            continue
        parents = graph.node(one.node).parents
        if parents and all(firm.get(parent, NO) == NO for parent in parents):
            continue
        counted.append(one)
        # What is pending opens nothing below itself until it is settled.
        if one.decided:
            firm.setdefault(one.node, str(one.value))
    counted.sort(key=lambda one: (one.first, one.id))
    said += [(one.node, str(one.value)) for one in counted]
    return replaying.replay(graph, said, mode, given)


def plan(
    graph: Graph,
    asked: Sequence[Asked],
    mode: str,
    given: Mapping[str, str] | None = None,
    choose: Choice | None = None,
) -> Plan:
    """What to open, bring back and withdraw, so that the image asks what it should.

    asked: its questions but gold (whose answers are given). choose: which candidates to ask now; by
    default all of them. Planning again once this is done plans nothing more.
    """
    replay = stand(graph, asked, mode, given, pending=True)
    rows = {one.node: one for one in asked}
    away = {node for node, one in rows.items() if one.state == "withdrawn"}
    pending = {node for node, one in rows.items() if not one.decided}
    candidates = [node for node in replay.candidates if _reached(graph, replay, node, pending)]
    counts = {node for node, (_, origin) in replay.settled.items() if origin == EXPLICIT}
    keep = counts.union(candidates)
    leaving = [one.id for node, one in rows.items() if node not in away and node not in keep]
    waiting = {node for node in keep if node in rows and rows[node].state == "open"}
    # What comes back because its answers count again is not chosen again.
    wanted = [node for node in rows if node in counts and node in away]
    wanted += (choose or breadth)(graph, replay, candidates, waiting)
    return Plan(
        open=[node for node in wanted if node not in rows],
        reopen=[rows[node].id for node in wanted if node in away],
        withdraw=leaving,
    )


def known_values(
    graph: Graph, asked: Iterable[Asked], given: Mapping[str, str] | None = None
) -> dict[str, str]:
    """What each question says, by node: the answers to all that stand, whatever is above them, and
    what is known beforehand, which counts before them."""
    said = {one.node: str(one.value) for one in asked if one.decided and one.node in graph.index}
    return said | dict(given or {})


def plan_any(
    graph: Graph,
    asked: Sequence[Asked],
    given: Mapping[str, str] | None,
    choose: Callable[[dict[str, str]], str | None],
) -> Plan:
    """As plan, where any node may be asked: one question at a time, the one that is chosen.

    choose: the node to ask after these answers, None where none is worth it: then what is open is
    withdrawn. The one question that is open stays while any is worth asking, unless its answer
    follows from what was given. Beside a review nothing is asked, nor beside questions that were
    settled once and are open again: these stay, so that a block and its lifting leave the image as
    it was.
    """
    rows = {one.node: one for one in asked}
    here = {node: one for node, one in rows.items() if node in graph.index}
    leaving = [one.id for one in asked if one.node not in here and one.state != "withdrawn"]
    if any(one.state == "review" for one in here.values()):
        return Plan(withdraw=leaving)
    waiting = [node for node, one in here.items() if one.state == "open" and one.value is None]
    if any(one.state == "open" and one.value is not None for one in here.values()):
        return Plan(withdraw=leaving + [here[node].id for node in waiting])
    node = choose(known_values(graph, asked, given))
    known = replaying.replay(graph, (), given=given).known if waiting else {}
    if node is not None and len(waiting) == 1 and waiting[0] not in known:
        return Plan(withdraw=leaving)
    leaving += [here[other].id for other in waiting if other != node]
    if node is None or node in waiting:
        return Plan(withdraw=leaving)
    if node in here:
        return Plan(reopen=[here[node].id], withdraw=leaving)
    return Plan(open=[node], withdraw=leaving)


def _reached(graph: Graph, replay: Replay, node: str, pending: set[str]) -> bool:
    """Return whether a parent that counts now opens the node.

    A parent that is pending opens nothing, unless it is known without its answers: a given "yes"
    below it withdraws its question, but its other children are still asked.
    """
    parents = graph.node(node).parents
    return not parents or any(
        replay.settled.get(parent, (NO, ""))[0] != NO
        and (parent not in pending or parent in replay.known)
        for parent in parents
    )


def breadth(graph: Graph, replay: Replay, candidates: list[str], waiting: set[str]) -> list[str]:
    """All candidates: they may be asked in any order, by many people at once."""
    return candidates


def depth(graph: Graph, replay: Replay, candidates: list[str], waiting: set[str]) -> list[str]:
    """One question at a time, in the order of an indented list: a "yes" is followed down first."""
    if waiting or not candidates:
        return []
    rank = {node: place for place, node in enumerate(graph.printed)}
    return [min(candidates, key=rank.__getitem__)]
