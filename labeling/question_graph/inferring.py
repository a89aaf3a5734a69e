"""Infers an image's labels from some answers by learned scenes, and chooses the next question.
Pure, no Django.

A campaign stores `LearnedScenes` with each calibration, and `Inference` uses them:
docs/explanation/question-graphs.md, Any node, and only what pays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from labeling.question_graph import scenes
from labeling.question_graph.graph import QuestionGraph
from labeling.question_graph.replaying import NO, UNKNOWN, YES
from labeling.question_graph.scenes import Answers, Scenes, Utility
from labeling.records import Record

# Codes of answers for the kernels. UNKNOWN: asked, but nobody could decide.
CODES = {YES: 1, NO: 0, UNKNOWN: scenes.UNDECIDED}
# Digits of stored probabilities.
DIGITS = 6
# Pseudo-images with a class that was added to the graph after the scenes were learned.
HALF = 0.5


@dataclass(kw_only=True)
class PricePoint(Record):
    """Mean questions, missed and false labels per image at a price, as stated by the scenes."""

    price: float
    questions: float
    missed: float
    false: float


@dataclass(kw_only=True)
class LearnedScenes(Record):
    """Scenes learned from a campaign's finished images.

    classes: wnids of the columns of present (Z, L). error: share of wrong answers. finished: number
    of images. curve: by price. algorithm_1: what Algorithm 1 would ask of the same images.
    """

    classes: list[str]
    weights: list[float]
    present: list[list[float]]
    error: float
    finished: int
    curve: list[PricePoint] = field(default_factory=list)
    algorithm_1: PricePoint | None = None

    @classmethod
    def of(
        cls, graph: QuestionGraph, known: Scenes, error: float, finished: int
    ) -> "LearnedScenes":
        return cls(
            classes=[graph.node(leaf).key for leaf in graph.leaves],
            weights=[round(float(share), DIGITS) for share in known.weights],
            present=[[round(float(p), DIGITS) for p in row] for row in known.present],
            error=round(error, DIGITS),
            finished=finished,
        )

    def scenes(self, graph: QuestionGraph) -> Scenes:
        """Return the scenes for a version of the graph, which may have new classes."""
        at = {key: index for index, key in enumerate(self.classes)}
        columns = [at.get(graph.node(leaf).key, len(at)) for leaf in graph.leaves]
        unknown = np.full((len(self.weights), 1), HALF / (self.finished + 1))
        present = np.hstack([np.array(self.present), unknown])[:, columns]
        weights = np.array(self.weights)
        return Scenes(
            weights / weights.sum(),
            np.clip(present, scenes.MIN_PROBABILITY, 1 - scenes.MIN_PROBABILITY),
        )


@dataclass(frozen=True)
class Inference:
    """Scenes in use. utility: what a question must save."""

    graph: QuestionGraph
    scenes: Scenes
    error: float
    utility: Utility

    @classmethod
    def of(cls, graph: QuestionGraph, learned: LearnedScenes, utility: Utility) -> "Inference":
        return cls(graph, learned.scenes(graph), learned.error, utility)

    def next(self, values: Mapping[str, str]) -> str | None:
        """Return the next node to ask after these answers; None if none is worth its price.

        An image without any known label gets a question at any price.
        """
        utility = self.utility if values else Utility(0.0, self.utility.false_cost)
        position = scenes.next_place(
            self.graph, self.scenes, self._row(values), self.error, utility
        )
        return None if position < 0 else self.graph.nodes[position].id

    def labels(self, values: Mapping[str, str]) -> dict[str, tuple[str, float | None]]:
        """Return leaf → (value, its probability).

        A leaf whose own question would save more than the price is not certain enough: ("unknown",
        None).
        """
        likely = scenes.chances(self.graph, self.scenes, self._row(values)[None], self.error)[0]
        return {node: self._label(float(likely[position])) for node, position in self._leaves}

    @cached_property
    def _leaves(self) -> list[tuple[str, int]]:
        return [(leaf, self.graph.index[leaf]) for leaf in self.graph.leaves]

    def _label(self, yes: float) -> tuple[str, float | None]:
        if scenes.saved(yes, self.error, self.utility) > self.utility.price:
            return UNKNOWN, None
        is_yes = yes > self.utility.threshold
        return (YES, yes) if is_yes else (NO, 1 - yes)

    def _row(self, values: Mapping[str, str]) -> Answers:
        row = np.full(len(self.graph.nodes), scenes.NOT_ASKED, np.int8)
        for node, value in values.items():
            row[self.graph.index[node]] = CODES[value]
        return row
