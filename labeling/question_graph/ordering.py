"""The order of an image's open questions: the graph's, or a learned one.

The learned order asks the question with the largest expected number of class labels settled per
second (one step ahead, after Deng et al., Scalable multi-label annotation, CHI 2014). It only sorts
the candidates of `replaying.replay`, so it never closes a label that the graph would not close.
Pure numpy, no Django.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from labeling.question_graph.graph import QuestionGraph
from labeling.question_graph.replaying import NO, YES, Replay
from labeling.records import Record

ORDERS = ("breadth", "depth", "learned")
# A question has a score once its parent is "yes" on this many images; before, the graph's order
# applies.
MIN_IMAGES = 50
# Another answer is evidence about a question once both were "yes" on this many images.
MIN_PAIR = 10
# Pseudo-images with "yes" and with "no", so that no probability is 0 or 1.
SMOOTHING = 0.5
# Limit of the total evidence in nats. Naive Bayes counts overlapping answers repeatedly: a dog is a
# mammal is an animal.
MAX_EVIDENCE = 3.0
# Weight of the mean time of all questions, in answers, when a question's mean time is estimated.
SECONDS_WEIGHT = 20

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True)
class Statistics(Record):
    """Statistics of settled images by node position in the graph with that sha256.

    images: their number. yes (N,): images with the node. pairs: (a, b, n) with a < b, both on n
    images. seconds (N,): of an answer, shrunk towards the overall mean.
    """

    sha256: str
    images: int
    yes: tuple[int, ...]
    pairs: tuple[tuple[int, int, int], ...]
    seconds: tuple[float, ...]


def learn(
    graph: QuestionGraph,
    labels: npt.NDArray[np.int8],
    seconds: Mapping[str, tuple[int, float]] | None = None,
) -> Statistics:
    """Return the statistics of settled images.

    labels: (images, N), 1 yes, 0 no, -1 unknown, by node position; images with an unknown are
    dropped, so that all counts have the same base. seconds: (answers, their total) by node id;
    without any, every question takes the same time.
    """
    whole = labels[(labels >= 0).all(axis=1)] == 1
    yes = whole.astype(np.float32)
    both = np.triu(np.rint(yes.T @ yes).astype(np.int64), k=1)
    a, b = np.nonzero(both)
    return Statistics(
        sha256=graph.sha256,
        images=len(whole),
        yes=tuple(whole.sum(axis=0).tolist()),
        pairs=tuple(zip(a.tolist(), b.tolist(), both[a, b].tolist(), strict=True)),
        seconds=tuple(_seconds(graph, seconds or {}).tolist()),
    )


def _seconds(graph: QuestionGraph, seconds: Mapping[str, tuple[int, float]]) -> Floats:
    counts_and_totals = np.array(
        [seconds.get(node.id, (0, 0.0)) for node in graph.nodes], dtype=np.float64
    )
    count, total = counts_and_totals[:, 0], counts_and_totals[:, 1]
    mean = float(total.sum() / count.sum()) if total.sum() > 0 else 1.0
    shrunk = (total + SECONDS_WEIGHT * mean) / (count + SECONDS_WEIGHT)
    return np.asarray(shrunk, np.float64)


@dataclass(frozen=True)
class QuestionOrder:
    """An order of an image's candidates. statistics: for "learned" only."""

    graph: QuestionGraph
    kind: str = "breadth"
    mode: str = "safe"
    statistics: Statistics | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.kind not in ORDERS:
            raise ValueError(f"order is {self.kind!r}, expected breadth, depth or learned")

    def next(self, state: Replay) -> list[str]:
        """Return the candidates' ids, the best first."""
        if self.kind != "learned" or self.model is None:
            return sorted(state.candidates, key=self.rank.__getitem__)
        settled, evidence = self._arrays(state)
        index = self.graph.index
        places = [index[name] for name in state.candidates]
        closes = np.zeros(len(settled))
        gone = self._leaves_closed[places][:, settled].sum(axis=1)
        closes[places] = self._most_closed[places] - gone
        scores = self.model.scores(settled, evidence, closes)
        # Questions with equal scores, and those without one (-inf), keep the graph's order.
        return sorted(state.candidates, key=lambda i: (-scores[index[i]], index[i]))

    @functools.cached_property
    def rank(self) -> dict[str, int]:
        """Return id → position in the graph's own order: breadth-first, or depth-first."""
        if self.kind == "depth":
            return {node_id: index for index, node_id in enumerate(self.graph.printed)}
        return dict(self.graph.index)

    @property
    def knows(self) -> bool:
        """Return whether the statistics belong to this graph."""
        return self.kind == "learned" and self.model is not None

    @functools.cached_property
    def model(self) -> "_Model | None":
        statistics = self.statistics
        if (
            statistics is None
            or statistics.sha256 != self.graph.sha256
            or statistics.images < MIN_IMAGES
        ):
            return None
        return _Model(self.graph, statistics)

    def scores(self, settled: Bools, evidence: npt.NDArray[Any]) -> Floats:
        """Return (B, N): expected class labels settled per second, -inf if unknown.

        settled: (B, N), nodes with a label. No label may be known beforehand: then only leaves with
        several paths can be settled below an open question. evidence: (B, N) in nats, sums of
        `model.says`.
        """
        assert self.model is not None
        return self.model.scores(settled, evidence, self._closes(settled))

    def _closes(self, settled: Bools) -> Floats:
        """Return (B, N): class labels that a "no" would settle."""
        early = self._several_ways
        # numpy multiplies fast only if both sides are float32.
        gone = settled[:, early].astype(np.float32) @ self._leaves_closed[:, early].T
        return np.asarray(self._most_closed - gone, np.float64)

    @functools.cached_property
    def _most_closed(self) -> npt.NDArray[np.float32]:
        """Return (N,): class labels that a "no" settles if none is settled yet."""
        return self._leaves_closed.sum(axis=1)

    @functools.cached_property
    def _several_ways(self) -> npt.NDArray[np.intp]:
        """Return the positions of leaves that can be settled while an ancestor is open."""
        ways = (self.graph.below & ~self.graph.alone).any(axis=0)
        return np.flatnonzero(ways & np.array([node.leaf for node in self.graph.nodes]))

    @functools.cached_property
    def _leaves_closed(self) -> npt.NDArray[np.float32]:
        """Return (N, N): [a, leaf] is 1 if "no" to a alone settles the leaf; a leaf
        settles itself.
        """
        reach = self.graph.below if self.mode == "strict" else self.graph.alone
        leaf = np.array([node.leaf for node in self.graph.nodes])
        return ((reach | np.eye(len(leaf), dtype=bool)) & leaf).astype(np.float32)

    def _arrays(self, state: Replay) -> tuple[Bools, Floats]:
        """Return (settled, evidence), each (N,), of one image."""
        assert self.model is not None
        count, index = len(self.graph.nodes), self.graph.index
        shut = np.frombuffer(state.shut.to_bytes(count // 8 + 1, "little"), np.uint8)
        settled = np.unpackbits(shut, bitorder="little")[:count].astype(bool)
        settled[[index[name] for name in (*state.explicit, *state.known)]] = True
        evidence = np.zeros(count)
        for name, value in state.explicit.items():
            if value in {YES, NO}:
                evidence += self.model.answer_weights[int(value == YES), index[name]]
        return settled, evidence


class _Model:
    """Naive Bayes over the answers, within the images where the parent is "yes"."""

    def __init__(self, graph: QuestionGraph, statistics: Statistics) -> None:
        count = len(graph.nodes)
        yes = np.array(statistics.yes, dtype=np.float64)
        both = np.diag(yes)
        if statistics.pairs:
            a, b, n = np.array(statistics.pairs).T
            both[a, b] = both[b, a] = n
        first = np.array([parents[0] if parents else -1 for parents in graph.parent_positions])
        root = first < 0
        # Images with the parent, and with the parent and another node; a root's parent is all.
        within = np.where(root, statistics.images, yes[first])
        within_both = np.where(root[:, None], yes[None, :], both[first])
        rest = np.maximum(within - yes, 0)
        rest_both = np.maximum(within_both - both, 0)
        self.known = within >= MIN_IMAGES
        s = SMOOTHING
        self.base = np.log((yes + s) / (rest + s))
        given_yes = (both + s) / (yes[:, None] + 2 * s)
        given_no = (rest_both + s) / (rest[:, None] + 2 * s)
        given_yes, given_no = np.clip(given_yes, 0, 1 - 1e-6), np.clip(given_no, 0, 1 - 1e-6)
        # Between ancestors and descendants there is no evidence: labels follow from the graph.
        related = graph.below | graph.below.T | np.eye(count, dtype=bool)
        informative = (both >= MIN_PAIR) & ~related
        yes_weight = np.where(informative, np.log(given_yes / given_no), 0)
        no_weight = np.where(informative, np.log((1 - given_yes) / (1 - given_no)), 0)
        # (2, N, N): [answer, answered, question], in nats for "yes" to the question.
        self.answer_weights = np.stack([no_weight.T, yes_weight.T]).astype(np.float32)
        self.seconds = np.array(statistics.seconds)
        self.leaf = np.array([node.leaf for node in graph.nodes], dtype=np.float64)

    def scores(self, settled: Bools, evidence: npt.NDArray[Any], closes: Floats) -> Floats:
        odds = self.base + np.clip(evidence, -MAX_EVIDENCE, MAX_EVIDENCE)
        p_yes = 1 / (1 + np.exp(-odds))
        labels_per_second = (p_yes * self.leaf + (1 - p_yes) * closes) / self.seconds
        return np.asarray(np.where(self.known & ~settled, labels_per_second, -np.inf), np.float64)
