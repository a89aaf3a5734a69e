"""Simulates a question graph: expected questions and wrong labels per image.

Classes (leaves) are present independently, each with probability present / leaves. The truth of an
inner question is "yes" if any class below it is present. Pure numpy; the seed determines
everything.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labeling.question_graph.graph import QuestionGraph
from labeling.question_graph.ordering import QuestionOrder, learn

Bools = npt.NDArray[np.bool_]
Labels = npt.NDArray[np.int8]
Floats = npt.NDArray[np.float64]

IMAGES = 20_000
TRAINED_ON = 5_000
# Images per batch: with a graph of some hundred nodes they fit into the processor's cache.
BATCH = 1_000
# Most parents of a node for the exact figure, which sums over 2^parents subsets.
MAX_PARENTS = 12
Z = 1.96
# Simulation of truthful answers stops at this half-width over mean, or at MAX_TRUTHFUL images.
ENOUGH = 5e-4
MAX_TRUTHFUL = 1_000_000
# The same limits for pages, where a user waits.
QUICK_PARENTS = 8
QUICK_IMAGES = 2_000


@dataclass(frozen=True)
class Setting:
    """Parameters of a simulation.

    present: mean number of classes per image. error: share of wrong answers. quick: for pages,
    without wrong answers: exact up to QUICK_PARENTS parents, else the mean of QUICK_IMAGES drawn
    images, a few hundredths off.
    """

    present: float = 2.8
    error: float = 0.0
    mode: str = "safe"
    order: str = "breadth"
    images: int = IMAGES
    seed: int = 0
    quick: bool = False


def simulate(graph: QuestionGraph, setting: Setting) -> dict[str, Any]:
    """Return the expected questions and wrong class labels per image.

    exact: whether questions_per_image is an exact expectation; else half_width is half of its 95 %
    interval. wrong_labels_per_image is 0 without error, since a truthful "no" closes only absent
    classes; missed_labels_per_image counts those of present classes. asked: (N,) probability of
    each node. settled_90, settled_90_breadth: questions until 90 % of the class labels are known,
    in the learned and in the breadth-first order; for the learned order only.
    """
    truthful = _truthful(graph, setting)
    # What is asked in safe mode depends on the answers only, not on their order.
    settled_by_answers = setting.mode == "safe" or setting.order != "learned"
    result: dict[str, Any] = {}
    if setting.error == 0 and settled_by_answers and truthful is not None:
        result |= _summary(graph, truthful, (0.0, 0.0), 0.0, exact=True)
    else:
        result |= _drawn(graph, setting, truthful)
    if setting.order == "learned":
        result |= _progress(graph, setting)
    return result


def expected_questions(
    graph: QuestionGraph,
    present: float = 2.8,
    mode: str = "safe",
    order: str = "breadth",
    quick: bool = False,
) -> float:
    """Return the mean number of questions per image if every answer is right.

    quick: see Setting.

    >>> from labeling.question_graph.graph import shipped
    >>> round(expected_questions(shipped("ilsvrc"), 2.8, "strict"), 2)
    47.43
    """
    setting = Setting(present, mode=mode, order=order, quick=quick)
    return float(simulate(graph, setting)["questions_per_image"])


def _summary(
    graph: QuestionGraph,
    question_shares: Floats,
    wrong: tuple[float, float],
    half_width: float,
    exact: bool,
) -> dict[str, Any]:
    total, naive = float(question_shares.sum()), len(graph.leaves)
    return {
        "questions_per_image": total,
        "naive": naive,
        "ratio": total / naive,
        "wrong_labels_per_image": wrong[0],
        "missed_labels_per_image": wrong[1],
        "exact": exact,
        "half_width": half_width,
        "asked": question_shares,
    }


def _truthful(graph: QuestionGraph, setting: Setting) -> Floats | None:
    """Return (N,): exact probability that each node is asked if all answers are right.

    safe: any parent is "yes". strict: every parent that is asked before the node is "yes", since
    one "no" closes it. Breadth-first these are all parents, depth-first only the parent under which
    the node is printed. None for too many parents to sum over.
    """
    mode, order = setting.mode, setting.order
    most = QUICK_PARENTS if setting.quick else MAX_PARENTS
    absent = 1 - setting.present / len(graph.leaves)
    leaves = leaves_below(graph)
    question_shares = np.ones(len(graph.nodes))
    for position, parents in enumerate(graph.parent_positions):
        if not parents:
            continue
        if mode == "strict" and order == "depth":
            parents = (_printed_under(graph, position),)
        if mode == "safe":
            question_shares[position] = 1 - absent ** int(leaves[list(parents)].any(axis=0).sum())
        elif len(parents) > most:
            return None
        else:
            question_shares[position] = _probability_all_present(leaves[list(parents)], absent)
    return question_shares


def _probability_all_present(sets: Bools, absent: float) -> float:
    """Return the probability that each of the sets has a present leaf, by inclusion and
    exclusion.
    """
    unions, signs = [0], [1]
    for members in sets:
        # The set as bits of an integer.
        leaves = int.from_bytes(np.packbits(members).tobytes(), "big")
        unions += [union | leaves for union in unions]
        signs += [-sign for sign in signs]
    return math.fsum(
        sign * absent ** union.bit_count() for sign, union in zip(signs, unions, strict=True)
    )


def leaves_below(graph: QuestionGraph) -> Bools:
    """Return (N, L): the leaves below each node; a leaf is below itself."""
    reach = graph.below | np.eye(len(graph.nodes), dtype=bool)
    return reach[:, [graph.index[leaf] for leaf in graph.leaves]]


def _printed_under(graph: QuestionGraph, position: int) -> int:
    """Return the parent under which an indented list first prints the node."""
    rank = {node_id: n for n, node_id in enumerate(graph.printed)}
    node = graph.nodes[position]
    earlier = [p for p in node.parents if rank[p] < rank[node.id]]
    return graph.index[max(earlier, key=rank.__getitem__)]


def _drawn(graph: QuestionGraph, setting: Setting, truthful: Floats | None) -> dict[str, Any]:
    """Return the figures from drawn images.

    The exact truthful number is a control variate: the difference from it on the same images is
    averaged, which varies far less than the number itself. Truthful images are drawn until the
    half-width is below its bound, up to MAX_TRUTHFUL or QUICK_IMAGES.
    """
    sorter = _sorter(graph, setting) if setting.order == "learned" else None
    # The learned order asks the same questions as breadth-first, except children of several
    # parents.
    plain = "breadth" if sorter else setting.order
    control = np.zeros(len(graph.nodes)) if truthful is None else truthful
    question_counts, wrong, missed, leaf = np.zeros(len(graph.nodes)), 0, 0, _leaf(graph)
    differences: list[npt.NDArray[np.int64]] = []
    images = setting.images if setting.error else QUICK_IMAGES if setting.quick else MAX_TRUTHFUL
    for truth, replies in draw(graph, replace(setting, images=images)):
        if sorter is not None and setting.mode == "strict":
            was_asked, labels = step(graph, replies, sorter)[:2]
        else:
            was_asked, labels = scan(graph, replies, setting.mode, plain)
        difference = was_asked.astype(np.int64)
        if truthful is not None:
            difference -= scan(graph, truth, setting.mode, plain)[0]
        differences.append(difference.sum(axis=1))
        question_counts += difference.sum(axis=0)
        wrong += int((labels[:, leaf] != truth[:, leaf]).sum())
        missed += int((truth[:, leaf] & ~labels[:, leaf]).sum())
        half_width = _half_width(differences)
        number = sum(map(len, differences))
        mean = control + question_counts / number
        if setting.error == 0 and half_width < ENOUGH * mean.sum() and number >= 2 * BATCH:
            break
    figures = (wrong / number, missed / number)
    return _summary(graph, mean, figures, half_width, exact=False)


def _half_width(differences: list[npt.NDArray[np.int64]]) -> float:
    """Return half of the mean's 95 % interval; inf for fewer than two images."""
    flat = np.concatenate(differences)
    if len(flat) < 2:
        return math.inf
    # Rule of three: what was never seen in n images may still have a probability of 3 / n.
    return max(Z * float(flat.std(ddof=1)) / math.sqrt(len(flat)), 3 / len(flat))


def _leaf(graph: QuestionGraph) -> Bools:
    return np.array([node.leaf for node in graph.nodes])


def draw(graph: QuestionGraph, setting: Setting, stream: int = 0) -> Iterator[tuple[Bools, Bools]]:
    """Yield (truth, replies), each (B, N) bool, until there are enough images."""
    chance = np.random.default_rng([setting.seed, stream])
    leaves = leaves_below(graph)
    share = setting.present / leaves.shape[1]
    for start in range(0, setting.images, BATCH):
        count = min(BATCH, setting.images - start)
        there = chance.random((count, leaves.shape[1])) < share
        truth = there.astype(np.float32) @ leaves.T.astype(np.float32) > 0
        flipped = chance.random(truth.shape) < setting.error
        yield truth, truth ^ flipped


def scan(
    graph: QuestionGraph, replies: Bools, mode: str, order: str = "breadth"
) -> tuple[Bools, Bools]:
    """Return (asked, label), each (B, N) bool, in the graph's order.

    replies: (B, N), the answer that each question would get. Each node is visited once, for all
    images together. Breadth-first, all its parents have labels by then. Depth-first in strict mode,
    its first parent has one, and a later parent cannot change the node's label. In safe mode the
    order does not matter.
    """
    was_asked, label = np.zeros_like(replies), np.zeros_like(replies)
    depth_first = mode == "strict" and order == "depth"
    places = [graph.index[i] for i in graph.printed] if depth_first else range(len(graph.nodes))
    closed = np.zeros_like(replies)
    for position in places:
        parents = list(graph.parent_positions[position])
        if not parents:
            was_asked[:, position] = True
        elif mode == "safe":
            was_asked[:, position] = label[:, parents].any(axis=1)
        else:
            was_asked[:, position] = ~closed[:, position]
        label[:, position] = was_asked[:, position] & replies[:, position]
        if mode == "strict":
            no = was_asked[:, position] & ~replies[:, position]
            for child in graph.child_positions[position]:
                closed[:, child] |= no | closed[:, position]
    return was_asked, label


def step(
    graph: QuestionGraph, replies: Bools, sorter: QuestionOrder
) -> tuple[Bools, Bools, npt.NDArray[np.int64], Floats]:
    """Ask each image one question at a time; return (asked, label, questions, settled).

    replies: (B, N) as in `scan`. questions: (B,). settled: (S, B), the share of class labels known
    after s + 1 questions.
    """
    count, nodes = replies.shape
    rows = np.arange(count)
    label = np.full(replies.shape, -1, np.int8)
    was_asked, open_now = np.zeros_like(replies), np.zeros_like(replies)
    open_now[:, [graph.index[root] for root in graph.roots]] = True
    evidence = np.zeros((count, nodes), np.float32)
    rank = np.array([sorter.rank[node.id] for node in graph.nodes], dtype=np.float64)
    children, leaf = _children(graph), _leaf(graph)
    close = _closing(graph, sorter.mode)
    curve = []
    while len(rows):
        positions = _choose(sorter, rank, open_now[rows], label[rows] >= 0, evidence[rows])
        yes = replies[rows, positions]
        was_asked[rows, positions] = True
        label[rows, positions] = yes
        if sorter.model is not None:
            evidence[rows] += sorter.model.answer_weights[yes.astype(np.intp), positions]
        open_now[rows[yes]] |= children[positions[yes]]
        close(label, rows[~yes], positions[~yes])
        open_now[rows] &= label[rows] < 0
        curve.append((label[:, leaf] >= 0).mean(axis=1))
        rows = rows[open_now[rows].any(axis=1)]
    return was_asked, label == 1, was_asked.sum(axis=1), np.array(curve)


def _choose(
    sorter: QuestionOrder, rank: Floats, open_now: Bools, settled: Bools, evidence: npt.NDArray[Any]
) -> npt.NDArray[np.intp]:
    """Return (B,): the position of the question that the order puts first."""
    # Scores are never negative. Questions without one come after, in the graph's order.
    preference = np.broadcast_to(-1 - rank, open_now.shape)
    if sorter.knows:
        scores = sorter.scores(settled, evidence)
        preference = np.where(np.isfinite(scores), scores, preference)
    return np.where(open_now, preference, -np.inf).argmax(axis=1)


def _children(graph: QuestionGraph) -> Bools:
    is_child = np.zeros((len(graph.nodes), len(graph.nodes)), bool)
    for position, children in enumerate(graph.child_positions):
        is_child[position, list(children)] = True
    return is_child


def _closing(graph: QuestionGraph, mode: str) -> Any:
    """Return a function (label, rows, places) that sets the labels that a "no" to `places`
    closes.
    """
    reach = graph.below if mode == "strict" else graph.alone
    parents = graph.parent_positions
    shared = [
        position for position, above in enumerate(parents) if mode == "safe" and len(above) > 1
    ]

    def close(label: Labels, rows: npt.NDArray[np.intp], places: npt.NDArray[np.intp]) -> None:
        mine = label[rows]
        mine[reach[places] & (mine < 0)] = 0
        # Parents come first, so one pass carries a closing all the way down.
        for position in shared:
            shut = (mine[:, position] < 0) & (mine[:, list(parents[position])] == 0).all(axis=1)
            below = mine[shut]
            below[:, position] = 0
            below[reach[position] & (below < 0)] = 0
            mine[shut] = below
        label[rows] = mine

    return close


def _sorter(graph: QuestionGraph, setting: Setting) -> QuestionOrder:
    """Return the order learned from a training sample of settled images."""
    sample = Setting(setting.present, 0, setting.mode, "learned", TRAINED_ON, setting.seed)
    truth = np.concatenate([truth for truth, _ in draw(graph, sample, stream=1)])
    return QuestionOrder(graph, "learned", setting.mode, learn(graph, truth.astype(np.int8)))


def _progress(graph: QuestionGraph, setting: Setting) -> dict[str, float]:
    """Return the questions until 90 % of the class labels are settled, learned and
    breadth-first.
    """
    few = Setting(setting.present, setting.error, setting.mode, "", 2 * BATCH, setting.seed)
    learned, plain = _sorter(graph, setting), QuestionOrder(graph, "breadth", setting.mode)
    reached: dict[str, list[float]] = {"settled_90": [], "settled_90_breadth": []}
    for _, replies in draw(graph, few, stream=2):
        for name, sorter in (("settled_90", learned), ("settled_90_breadth", plain)):
            curve = step(graph, replies, sorter)[3]
            reached[name] += ((curve < 0.9).sum(axis=0) + 1).tolist()
    means = {name: float(np.mean(values)) for name, values in reached.items()}
    return means | {"trained_on": TRAINED_ON}
