"""Scenes: the posterior against the sum over all images, when asking stops, what EM finds."""

import itertools

import numpy as np
import pytest

from labeling.question_graph import scenes
from labeling.question_graph.graph import build
from labeling.question_graph.scenes import Scenes, Utility
from labeling.simulation.simulating_queries import leaves_below
from tests.cases import for_seeds

TREE = {
    "nodes": [
        {"id": "animal", "question": "animal"},
        {"id": "pet", "question": "pet", "parents": ["animal"]},
        *({"id": n, "question": n, "parents": ["pet"], "class": n} for n in ("cat", "dog")),
        {"id": "bear", "question": "bear", "parents": ["animal"], "class": "bear"},
        {"id": "car", "question": "car", "class": "car"},
    ]
}
SHARED = {
    "nodes": [
        *({"id": n, "question": n} for n in ("head", "swim")),
        {"id": "hat", "question": "hat", "parents": ["head"], "class": "hat"},
        {"id": "cap", "question": "cap", "parents": ["head", "swim"], "class": "cap"},
        {"id": "suit", "question": "suit", "parents": ["swim"], "class": "suit"},
    ]
}
ERROR = 0.1


def made_up(graph, count=3, seed=0):
    chance = np.random.default_rng(seed)
    shape = (count, len(graph.leaves))
    return Scenes(chance.dirichlet(np.ones(count)), chance.uniform(0.02, 0.6, shape))


def by_enumeration(graph, known, answers):
    """P(node is yes) by the sum over every scene and every set of classes."""
    below, total, yes = leaves_below(graph), 0.0, np.zeros(len(graph.nodes))
    for weight, present in zip(known.weights, known.present, strict=True):
        for there in itertools.product([False, True], repeat=len(graph.leaves)):
            truth = below @ np.array(there)
            chance = weight * np.prod(np.where(there, present, 1 - present))
            for node, answer in enumerate(answers):
                if answer >= 0:
                    chance *= 1 - ERROR if truth[node] == answer else ERROR
            total += chance
            yes += chance * truth
    return yes / total


def draw(graph, known, images, seed=1, error=ERROR):
    """(truth, replies), each (images, N)."""
    chance = np.random.default_rng(seed)
    scene = chance.choice(len(known.weights), images, p=known.weights)
    there = chance.random((images, len(graph.leaves))) < known.present[scene]
    truth = there @ leaves_below(graph).T
    return truth, truth ^ (chance.random(truth.shape) < error)


@for_seeds(5)
def test_posterior_on_a_tree_is_the_sum_over_all_images(seed):
    graph = build(TREE)
    known = made_up(graph, seed=seed)
    answers = np.random.default_rng(seed).integers(-1, 2, (8, len(graph.nodes))).astype(np.int8)

    chances = scenes.chances(graph, known, answers, ERROR)

    exact = [by_enumeration(graph, known, row) for row in answers]
    assert chances == pytest.approx(np.array(exact), abs=1e-12)


def test_posterior_below_two_parents_is_near_the_sum_over_all_images():
    graph = build(SHARED)
    known = made_up(graph, count=1)
    rows = list(itertools.product([-1, 0, 1], repeat=len(graph.nodes)))
    answers = np.array(rows, np.int8)

    chances = scenes.chances(graph, known, answers, ERROR)

    gap = np.abs(chances - [by_enumeration(graph, known, row) for row in rows])
    cap = graph.index["cap"]
    one_side = (answers[:, [graph.index["head"], graph.index["hat"]]] < 0).all(axis=1)
    assert gap[one_side, cap].max() < 1e-9
    # What one parent says does not reach the other parent through the child.
    assert gap.mean() < 0.03


def test_no_label_is_claimed_surer_than_it_is():
    graph = build(TREE)
    known = made_up(graph)
    truth, replies = draw(graph, known, 20_000)

    answers, likely = scenes.ask(graph, known, replies, ERROR, Utility(0.02))

    assert 0 < (answers >= 0).sum(axis=1).mean() < len(graph.nodes)
    leaves = [graph.index[leaf] for leaf in graph.leaves]
    stated, there = likely[:, leaves].ravel(), truth[:, leaves].ravel()
    for low, high in itertools.pairwise([0, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 1.0001]):
        in_bin = (stated >= low) & (stated < high)
        spread = np.sqrt(max(in_bin.sum(), 1) * 0.25)
        wide = 4 * max(np.sqrt((stated[in_bin] * (1 - stated[in_bin])).sum()), 1)
        assert abs(there[in_bin].sum() - stated[in_bin].sum()) < min(wide, 4 * spread + 4)


def test_a_higher_price_asks_less_and_costs_more_labels():
    graph = build(TREE)
    known = made_up(graph)
    truth, replies = draw(graph, known, 3_000)
    leaves = [graph.index[leaf] for leaf in graph.leaves]

    questions, cost = [], []
    for price in (0.001, 0.1, 0.2, 1.0):
        utility = Utility(price)
        answers, likely = scenes.ask(graph, known, replies, ERROR, utility)
        questions.append((answers >= 0).sum())
        labels, there = (likely > utility.threshold)[:, leaves], truth[:, leaves]
        cost.append((there & ~labels).sum() + utility.false_cost * (labels & ~there).sum())

    assert questions == sorted(questions, reverse=True)
    assert cost == sorted(cost)
    # A question never saves more than one label of each class.
    assert questions[-1] == 0


def test_what_goes_together_is_inferred():
    graph = build(TREE)
    known = Scenes(np.array([0.5, 0.5]), np.array([[0.99, 0.99, 1e-6, 1e-6], [1e-6] * 3 + [0.99]]))
    replies = draw(graph, known, 200, error=0)[1]

    answers, likely = scenes.ask(graph, known, replies, 0, Utility(0.05))

    # One answer tells the scene, and with it nearly all labels.
    assert (answers >= 0).sum(axis=1).mean() < 1.5
    leaves = [graph.index[leaf] for leaf in graph.leaves]
    assert ((likely > 0.5) == replies)[:, leaves].mean() > 0.98


def test_scenes_are_learned_from_answers_with_mistakes():
    names = [f"c{i}" for i in range(12)]
    graph = build({"nodes": [{"id": n, "question": n, "class": n} for n in names]})
    present = np.full((3, 12), 0.01)
    for scene in range(3):
        present[scene, scene * 4 : scene * 4 + 4] = 0.6
    known = Scenes(np.array([0.5, 0.3, 0.2]), present)
    _, replies = draw(graph, known, 3_000, error=0.05)
    answers = np.where(np.random.default_rng(2).random(replies.shape) < 0.8, replies, -1)

    learned = scenes.learn(graph, answers.astype(np.int8), 0.05)

    for weight, row in zip(known.weights, known.present, strict=True):
        nearest = int(np.abs(learned.present - row).max(axis=1).argmin())
        assert np.abs(learned.present[nearest] - row).max() < 0.1
        assert abs(learned.weights[nearest] - weight) < 0.1


def test_strays_leave_no_trace_in_a_scene_but_its_own_classes_keep_their_chance():
    # Two scenes of five classes at .6 among forty; every class is a stray in 1 of 500 images.
    names = [f"c{i}" for i in range(40)]
    graph = build({"nodes": [{"id": n, "question": n, "class": n} for n in names]})
    present = np.full((2, 40), 0.002)
    present[0, :5] = present[1, 5:10] = 0.6
    known = Scenes(np.array([0.5, 0.5]), present)
    _, replies = draw(graph, known, 400, error=0)

    learned = scenes.learn(graph, replies.astype(np.int8), 0.001)

    nearest = [int(np.abs(learned.present - row).max(axis=1).argmin()) for row in present]
    for scene, row in zip(nearest, present, strict=True):
        assert learned.present[scene][row > 0.1].min() > 0.45
        # Of 200 images a single stray alone would say .005.
        assert np.median(learned.present[scene][row < 0.1]) < 0.004


def test_a_class_that_was_never_seen_is_rare_and_not_impossible():
    graph = build(TREE)
    answers = np.zeros((200, len(graph.nodes)), np.int8)
    answers[:60, [graph.index["animal"], graph.index["bear"]]] = 1

    learned = scenes.learn(graph, answers, 0.02)

    car = graph.leaves.index("car")
    assert (learned.present[:, car] > 1e-5).all()
    assert (learned.present[:, car] < 0.05).all()


def test_nothing_in_common_is_one_scene():
    graph = build(TREE)
    nothing = np.zeros((50, len(graph.nodes)), np.int8)

    learned = scenes.learn(graph, nothing, 0.02)

    assert learned.weights.tolist() == [1.0]
    assert learned.present.max() < 0.1


def test_the_seed_decides_what_is_learned():
    graph = build(TREE)
    replies = draw(graph, made_up(graph), 400)[1].astype(np.int8)

    first, again = (scenes.learn(graph, replies, ERROR, seed=4) for _ in range(2))

    assert (first.present == again.present).all()
    assert (first.weights == again.weights).all()
