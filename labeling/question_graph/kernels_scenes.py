# mypy: disable-error-code="assignment,return-value"
# numba infers the types of these loops; a hint cannot say them all.
"""Loops of scenes.py, compiled by numba. Import this inside functions only.

`tree`: (child_starts, children, parent_starts, parents, leaf), a graph's links as flat arrays; leaf
(N,) is a node's column in `present`, -1 for an inner node. Parents precede their children.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labeling.numba_cache import njit

Floats = NDArray[np.float64]
# Scenes with a lower posterior are skipped; they change no answer.
NEGLIGIBLE = 1e-9


@njit(nogil=True, cache=True)
def infer(
    tree: Any, weights: Floats, present: Floats, answers: NDArray[np.int8], error: float, room: Any
) -> None:
    """Write to `room` the posterior of one image after its answers.

    answers: (N,), 1 yes, 0 no, -1 not asked, -2 asked without result. room: (above, off, on,
    chance, scene). Two sweeps of belief propagation: exact if every node has one parent. Arrays of
    `room`:

    above (Z, N): P(no class below | answers below); off: the same with the node's own answer.
    on: P(node is yes | all answers, scene); chance (N,): its mean over the scenes.
    scene (Z,): posterior of the scenes.
    """
    child_starts, children, parent_starts, parents, leaf = tree
    above, off, on, chance, scene = room
    nodes = len(answers)
    for z in range(len(weights)):
        likelihood = weights[z]
        for v in range(nodes - 1, -1, -1):
            none = 1.0 - present[z, leaf[v]] if leaf[v] >= 0 else 1.0
            for at in range(child_starts[v], child_starts[v + 1]):
                none *= off[z, children[at]]
            above[z, v] = none
            off[z, v] = none
            if answers[v] >= 0:
                if_off = error if answers[v] == 1 else 1.0 - error
                both = none * if_off + (1.0 - none) * (1.0 - if_off)
                off[z, v] = none * if_off / both
                likelihood *= both
        scene[z] = likelihood
    scene /= scene.sum()
    chance[:] = 0.0
    for z in range(len(weights)):
        if scene[z] < NEGLIGIBLE:
            continue
        for v in range(nodes):
            yes = 1.0 - off[z, v]
            # Each parent's evidence multiplies the odds.
            odds = yes / max(off[z, v], 1e-300)
            local_odds = odds
            for at in range(parent_starts[v], parent_starts[v + 1]):
                parent = parents[at]
                through = yes * on[z, parent] / max(1.0 - above[z, parent], 1e-300)
                through = min(through, 1.0 - 1e-15)
                odds *= through / (1.0 - through) / max(local_odds, 1e-300)
            if parent_starts[v] < parent_starts[v + 1]:
                yes = odds / (1.0 + odds)
            on[z, v] = yes
            chance[v] += scene[z] * yes


@njit(nogil=True, cache=True)
def rooms(scenes: int, nodes: int) -> Any:
    return (
        np.empty((scenes, nodes)),
        np.empty((scenes, nodes)),
        np.zeros((scenes, nodes)),
        np.empty(nodes),
        np.empty(scenes),
    )


@njit(nogil=True, cache=True)
def chances(
    tree: Any,
    weights: Floats,
    present: Floats,
    answers: NDArray[np.int8],
    error: float,
    chance_rows: Floats,
) -> None:
    """Write P(node is yes) of every image to chance_rows (B, N)."""
    room = rooms(len(weights), answers.shape[1])
    for image in range(len(answers)):
        infer(tree, weights, present, answers[image], error, room)
        chance_rows[image] = room[3]


@njit(nogil=True, cache=True)
def expect(
    tree: Any,
    weights: Floats,
    present: Floats,
    answers: NDArray[np.int8],
    error: float,
    images: Floats,
    yes: Floats,
) -> None:
    """Add the expected number of images of each scene (Z,), and of those with each class (Z, L)."""
    room = rooms(len(weights), answers.shape[1])
    leaf, on, scene = tree[4], room[2], room[4]
    for image in range(len(answers)):
        infer(tree, weights, present, answers[image], error, room)
        for z in range(len(weights)):
            if scene[z] < NEGLIGIBLE:
                continue
            images[z] += scene[z]
            for v in range(answers.shape[1]):
                if leaf[v] >= 0:
                    yes[z, leaf[v]] += scene[z] * on[z, v]


@njit(nogil=True, cache=True)
def entropy(p: float) -> float:
    """Return the entropy in nats."""
    return 0.0 if p <= 0.0 or p >= 1.0 else -p * math.log(p) - (1.0 - p) * math.log(1.0 - p)


@njit(nogil=True, cache=True)
def saved(p: float, error: float, false_cost: float) -> float:
    """Return the expected cost of a label that its question saves; a missed label costs 1."""
    yes = p * (1.0 - error) + (1.0 - p) * error
    if yes <= 0.0 or yes >= 1.0:
        return 0.0
    now = min(p, false_cost * (1.0 - p))
    after_yes, after_no = p * (1.0 - error) / yes, p * error / (1.0 - yes)
    return (
        now
        - yes * min(after_yes, false_cost * (1.0 - after_yes))
        - (1.0 - yes) * min(after_no, false_cost * (1.0 - after_no))
    )


@njit(nogil=True, cache=True)
def pick(
    tree: Any,
    chance: Floats,
    answers: NDArray[np.int8],
    error: float,
    false_cost: float,
    price: float,
    below: Floats,
) -> int:
    """Return the position of the next question, -1 if none is worth its price. below: (N,),
    scratch.

    A plan asks a node and, after a "yes", what is worth asking below it. While any plan saves more
    than it costs, the question with the least certain answer is asked.
    """
    child_starts, children, parent_starts, parents, leaf = tree
    any_worth_price = False
    for v in range(len(answers) - 1, -1, -1):
        reached = 0.0 if parent_starts[v] < parent_starts[v + 1] else 1.0
        for at in range(parent_starts[v], parent_starts[v + 1]):
            reached = max(reached, chance[parents[at]])
        gain, at_once = 0.0, 0.0
        if leaf[v] < 0:
            for at in range(child_starts[v], child_starts[v + 1]):
                gain += below[children[at]]
            at_once = gain
        elif answers[v] == -1:
            gain = reached * saved(min(1.0, chance[v] / reached), error, false_cost)
            at_once = saved(chance[v], error, false_cost)
        if answers[v] == -1:
            any_worth_price = any_worth_price or at_once > price
            gain = max(0.0, gain - price * reached)
        below[v] = gain
    best, most = -1, 0.0
    if any_worth_price:
        for v in range(len(answers)):
            if answers[v] == -1:
                p = chance[v] * (1.0 - error) + (1.0 - chance[v]) * error
                information = entropy(p)
                # Rounding must not decide between two equal questions: the first one is asked.
                if information > most + 1e-12:
                    best, most = v, information
    return best


@njit(nogil=True, cache=True)
def ask(
    tree: Any,
    weights: Floats,
    present: Floats,
    replies: NDArray[np.int8],
    error: float,
    false_cost: float,
    price: float,
    answers: NDArray[np.int8],
    chance_rows: Floats,
) -> None:
    """Ask every image of replies (B, N) until nothing is worth its price.

    answers: (B, N), initially -1; receives the answers. chance_rows: (B, N), final P(node is yes).
    """
    room = rooms(len(weights), replies.shape[1])
    below = np.empty(replies.shape[1])
    for image in range(len(replies)):
        while True:
            infer(tree, weights, present, answers[image], error, room)
            position = pick(tree, room[3], answers[image], error, false_cost, price, below)
            if position < 0:
                break
            answers[image, position] = replies[image, position]
        chance_rows[image] = room[3]
