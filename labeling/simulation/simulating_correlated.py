"""Simulates what the learned order of scenes.py saves on images whose classes co-occur.

Some images are asked in the graph's order (Algorithm 1), and scenes are learned from the answers.
The other images are asked in the learned order at several prices of a question, and by Algorithm 1,
with the same answers. Pure, no Django; the seed determines everything.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from labeling.files import BadInput
from labeling.question_graph import scenes
from labeling.question_graph.graph import QuestionGraph
from labeling.question_graph.inferring import PricePoint
from labeling.question_graph.scenes import Scenes, Utility
from labeling.simulation.simulating_queries import Setting, leaves_below, scan

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# Number of scenes, classes of each, and mean number of further classes per image.
GENERATORS = {"scenes-20x8": (20, 8, 0.15), "scenes-50x10": (50, 10, 0.3), "independent": (0, 0, 0)}
IMAGES = 2_000
LEARNED_ON = 5_000
# Prices of a question: missed labels that it must save.
PRICES = (0.0005, 0.002, 0.004, 0.006, 0.008, 0.01, 0.013, 0.017, 0.022, 0.03)
DRAWS = 500
# Images drawn from learned scenes, for stated_curve.
DRAWN = 300
COLUMNS = ["image", "wnid"]


@dataclass(frozen=True)
class CorrelatedOutcome:
    """Questions, missed and false labels per image, (B,) each, and the stated numbers of the last
    two.

    question_shares: (N,), how often each node was asked.
    """

    questions: Floats
    missed: Floats
    false: Floats
    stated_missed: Floats
    stated_false: Floats
    question_shares: Floats

    @property
    def rows(self) -> Floats:
        """Return the outcome as (3, B)."""
        return np.array([self.questions, self.missed, self.false])


def generate(graph: QuestionGraph, name: str, present: float, images: int, seed: int) -> Bools:
    """Return (images, L): the classes in each image.

    An image shows one scene. Each class of the scene occurs with the same probability. Each class
    of the graph also occurs in any image, with a lower one. `present` is the mean number of both.
    """
    number, size, anywhere = GENERATORS[name]
    chance, leaves = np.random.default_rng([seed, 3]), len(graph.leaves)
    if not number:
        return chance.random((images, leaves)) < present / leaves
    share = np.zeros((number, leaves))
    for row in share:
        row[chance.choice(leaves, size, replace=False)] = (present - anywhere) / size
    share = 1 - (1 - share) * (1 - anywhere / leaves)
    return np.asarray(chance.random((images, leaves)) < share[chance.integers(number, size=images)])


def read_labels(graph: QuestionGraph, path: Path) -> Bools:
    """Return (images, L) of a CSV with the columns image, wnid; sorted by image. Raises
    BadInput.
    """
    column = {graph.node(leaf).key: index for index, leaf in enumerate(graph.leaves)}
    pairs: list[tuple[str, int]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            if next(reader, None) != COLUMNS:
                raise BadInput("the columns are not image,wnid", path, 1, "name them in line 1")
            for row in reader:
                if len(row) != len(COLUMNS) or not row[0]:
                    raise BadInput("not an image and a class", path, reader.line_num)
                if row[1] not in column:
                    raise BadInput(
                        f"class {row[1]!r} is not in the graph",
                        path,
                        reader.line_num,
                        "remove the row, or add the class to the graph",
                    )
                pairs.append((row[0], column[row[1]]))
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"not a CSV in UTF-8: {error}", path) from None
    images = {name: index for index, name in enumerate(sorted({name for name, _ in pairs}))}
    if len(images) < 4:
        raise BadInput(
            f"{len(images)} images; half of them are learned from", path, None, "name 4 or more"
        )
    present = np.zeros((len(images), len(column)), bool)
    for name, leaf_column in pairs:
        present[images[name], leaf_column] = True
    return present


def simulate(
    graph: QuestionGraph, setting: Setting, present: Bools, first: int
) -> dict[str, object]:
    """Return the figures of the learned order and of Algorithm 1 on these images.

    Both get the same answers, of which the share setting.error is wrong. present: (B, L), the
    classes in the images; `first` random images are learned from. The figures are those at equal
    error: no more missed and no more false labels than Algorithm 1. They are interpolated between
    two neighbouring prices of the curve, as if each image had one of them at random. If no price
    reaches equal error, ratio_at_equal_error is None and the figures are those of the lowest price.
    """
    chance = np.random.default_rng([setting.seed, 4])
    present = present[chance.permutation(len(present))][: first + setting.images]
    below = leaves_below(graph).astype(np.float32)
    truth = present.astype(np.float32) @ below.T > 0
    replies = truth ^ (chance.random(truth.shape) < setting.error)
    was_asked, _ = scan(graph, replies[:first], setting.mode)
    answers = np.where(was_asked, replies[:first], -1).astype(np.int8)
    known = scenes.learn(graph, answers, setting.error, setting.seed)
    plain = _algorithm_1(graph, truth[first:], replies[first:], setting.mode)
    outcomes = [
        _learned(graph, known, truth[first:], replies[first:], setting.error, Utility(price))
        for price in PRICES
    ]
    rows = np.array([outcome.rows for outcome in outcomes])
    position, share = _equal_error(rows.mean(axis=2), plain.rows.mean(axis=1))
    at = max(position, 0)
    after = min(at + 1, len(rows) - 1)
    figures = ((1 - share) * rows[at] + share * rows[after]).mean(axis=1)
    asked_nodes = (1 - share) * outcomes[at].question_shares + share * outcomes[
        after
    ].question_shares
    questions, missed, false = figures.tolist()
    base = plain.questions.mean()
    naive = len(graph.leaves)
    return {
        "questions_per_image": questions,
        "naive": naive,
        "ratio": questions / naive,
        "wrong_labels_per_image": missed + false,
        "missed_labels_per_image": missed,
        "missed_per_image": missed,
        "false_per_image": false,
        "ratio_at_equal_error": questions / base if position >= 0 else None,
        "ratio_interval": _interval(rows, plain.rows, setting.seed),
        "exact": False,
        "half_width": 1.96 * float(rows[at, 0].std()) / len(rows[at, 0]) ** 0.5,
        "asked": asked_nodes,
        "images": len(truth) - first,
        "learned_on": first,
        "questions_while_learning": float(was_asked.sum(axis=1).mean()),
        "scenes": len(known.weights),
        "algorithm_1": _figures(plain, base),
        "curve": [
            {
                "price": price,
                **_figures(outcome, base),
                "stated_missed_per_image": float(outcome.stated_missed.mean()),
                "stated_false_per_image": float(outcome.stated_false.mean()),
            }
            for price, outcome in zip(PRICES, outcomes, strict=True)
        ],
    }


def stated_curve(
    graph: QuestionGraph, known: Scenes, error: float, price: float, seed: int = 0
) -> tuple[list[PricePoint], PricePoint]:
    """Return what these scenes state at this price and the usual ones, and the result of Algorithm
    1.

    Missed and false labels are those of DRAWN images sampled from the scenes; Algorithm 1 has price
    0.
    """
    chance = np.random.default_rng([seed, 6])
    scene = chance.choice(len(known.weights), DRAWN, p=known.weights)
    present = chance.random((DRAWN, known.present.shape[1])) < known.present[scene]
    below = leaves_below(graph).astype(np.float32)
    truth = present.astype(np.float32) @ below.T > 0
    replies = truth ^ (chance.random(truth.shape) < error)
    curve = []
    for at in sorted({*PRICES, price}):
        outcome = _learned(graph, known, truth, replies, error, Utility(at))
        costs = (outcome.questions, outcome.stated_missed, outcome.stated_false)
        curve.append(_point(at, *costs))
    plain = _algorithm_1(graph, truth, replies, "safe")
    return curve, _point(0.0, plain.questions, plain.missed, plain.false)


def _point(price: float, *costs: Floats) -> PricePoint:
    questions, missed, false = (round(float(cost.mean()), 4) for cost in costs)
    return PricePoint(price=price, questions=questions, missed=missed, false=false)


def _figures(outcome: CorrelatedOutcome, base: float) -> dict[str, float]:
    questions, missed, false = outcome.rows.mean(axis=1).tolist()
    return {
        "questions_per_image": questions,
        "ratio": questions / base,
        "missed_per_image": missed,
        "false_per_image": false,
    }


def _algorithm_1(
    graph: QuestionGraph, truth: Bools, replies: Bools, mode: str
) -> CorrelatedOutcome:
    was_asked, labels = scan(graph, replies, mode)
    return _outcome(graph, truth, was_asked, labels, labels.astype(np.float64))


def _learned(
    graph: QuestionGraph,
    known: Scenes,
    truth: Bools,
    replies: Bools,
    error: float,
    utility: Utility,
) -> CorrelatedOutcome:
    answers, likely = scenes.ask(graph, known, replies, error, utility)
    return _outcome(graph, truth, answers >= 0, likely > utility.threshold, likely)


def _outcome(
    graph: QuestionGraph, truth: Bools, was_asked: Bools, labels: Bools, likely: Floats
) -> CorrelatedOutcome:
    leaf = [graph.index[name] for name in graph.leaves]
    truth, labels, likely = truth[:, leaf], labels[:, leaf], likely[:, leaf]
    return CorrelatedOutcome(
        questions=was_asked.sum(axis=1).astype(np.float64),
        missed=(truth & ~labels).sum(axis=1).astype(np.float64),
        false=(~truth & labels).sum(axis=1).astype(np.float64),
        stated_missed=np.where(labels, 0, likely).sum(axis=1),
        stated_false=np.where(labels, 1 - likely, 0).sum(axis=1),
        question_shares=was_asked.mean(axis=0),
    )


def _equal_error(curve: Floats, bound: Floats) -> tuple[int, float]:
    """Return (position, share): the furthest point of the curve within the bound.

    It lies between `position` and the next price, at this share of the way. curve: (P, 3),
    questions, missed and false labels by rising price; bound: (3,). Position is -1 if no part of
    the curve is within the bound.
    """
    for position in range(len(curve) - 2, -1, -1):
        low, high = 0.0, 1.0
        for now, after, most in zip(
            curve[position, 1:], curve[position + 1, 1:], bound[1:], strict=True
        ):
            if max(now, after) <= most:
                continue
            if min(now, after) > most:
                high = -1.0
            elif after > now:
                high = min(high, float((most - now) / (after - now)))
            else:
                low = max(low, float((now - most) / (now - after)))
        if low <= high:
            return position, high
    return -1, 0.0


def _interval(rows: Floats, plain: Floats, seed: int) -> list[float] | None:
    """Return the 95 % interval of the ratio at equal error, by bootstrap over images; None if a
    draw has no ratio.

    rows: (P, 3, B), plain: (3, B).
    """
    chance, images = np.random.default_rng([seed, 5]), plain.shape[1]
    ratios = []
    for _ in range(DRAWS):
        weight = np.bincount(chance.integers(images, size=images), minlength=images) / images
        curve, bound = rows @ weight, plain @ weight
        position, share = _equal_error(curve, bound)
        if position < 0:
            return None
        after = min(position + 1, len(curve) - 1)
        ratios.append(((1 - share) * curve[position, 0] + share * curve[after, 0]) / bound[0])
    low, high = np.quantile(ratios, [0.025, 0.975])
    return [float(low), float(high)]
