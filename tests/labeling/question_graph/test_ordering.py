"""The learned order sorts what the graph would ask, and nothing more."""

import json
import random

import numpy as np
import pytest

from labeling.question_graph import ordering
from labeling.question_graph.ordering import QuestionOrder, Statistics, learn
from labeling.question_graph.replaying import MODES, build, replay
from tests.cases import for_each, for_seeds
from tests.labeling.question_graph.test_replaying import SMALL, ask, random_graph


@pytest.fixture(scope="module")
def small():
    return build(SMALL)


def labels_of(graph, *, images=400, seed=0, cat_with_person=False):
    """(images, N) of images in which classes are there now and then."""
    chance = np.random.default_rng(seed)
    leaf = [graph.index[leaf] for leaf in graph.leaves]
    labels = np.zeros((images, len(graph.nodes)), np.int8)
    labels[:, leaf] = chance.random((images, len(leaf))) < 0.25
    if cat_with_person:
        labels[:, graph.index["cat"]] = labels[:, graph.index["person"]]
        labels[:, graph.index["dog"]] = chance.random(images) < 0.05
    for index in range(len(graph.nodes) - 1, -1, -1):
        below = list(graph.child_positions[index])
        if below:
            labels[:, index] = labels[:, below].any(axis=1)
    return labels


def test_breadth_and_depth_are_the_graphs_own_orders(small):
    state = replay(small, [("animal", "yes"), ("swim", "yes")])

    assert QuestionOrder(small).next(state) == ["hat", "person", "mammal", "bird", "cap"]
    assert QuestionOrder(small, "depth").next(state) == ["mammal", "bird", "cap", "hat", "person"]


def test_another_order_is_an_error(small):
    with pytest.raises(ValueError, match="breadth, depth or learned"):
        QuestionOrder(small, "random")


def test_counts_are_those_of_wholly_settled_images(small):
    labels = labels_of(small, images=60)
    labels[0] = 1
    labels[1, 3] = -1

    statistics = learn(small, labels, {"animal": (100, 500.0), "cat": (5, 50.0)})

    whole = np.delete(labels, 1, axis=0)
    assert statistics.images == 59
    assert list(statistics.yes) == whole.sum(axis=0).tolist()
    for a, b, count in statistics.pairs:
        assert count == (whole[:, a] & whole[:, b]).sum()
    mean = 550 / 105
    assert statistics.seconds[small.index["animal"]] == pytest.approx((500 + 20 * mean) / 120)
    assert statistics.seconds[small.index["bird"]] == pytest.approx(mean)
    assert Statistics.from_json(json.loads(json.dumps(statistics.to_json()))) == statistics


def test_scores_are_labels_settled_per_second(small):
    statistics = learn(
        small, labels_of(small), {"hat": (10_000, 40_000.0), "swim": (10_000, 10_000.0)}
    )
    order = QuestionOrder(small, "learned", "strict", statistics)
    nothing = np.zeros((1, len(small.nodes)))

    scores = order.scores(nothing > 0, nothing)[0]

    def p_yes(node):
        count = statistics.yes[small.index[node]]
        return (count + 0.5) / (statistics.images + 1)

    # Strict: no animal settles cat, dog and bird; no hat the cap and the helmet.
    seconds = dict(zip(small.names, statistics.seconds, strict=True))
    for node, leaves in (("animal", 3), ("hat", 2), ("swim", 1)):
        expected = (1 - p_yes(node)) * leaves / seconds[node]
        assert scores[small.index[node]] == pytest.approx(expected)
    assert scores[small.index["person"]] == pytest.approx(1 / seconds["person"])


def test_a_no_to_one_parent_promises_nothing_of_a_shared_child_in_safe_mode(small):
    statistics = learn(small, labels_of(small))
    nothing = np.zeros((1, len(small.nodes)))

    scores = QuestionOrder(small, "learned", "safe", statistics).scores(nothing > 0, nothing)[0]

    assert scores[small.index["swim"]] == 0
    assert scores[small.index["hat"]] > 0


def test_an_answer_moves_what_goes_with_it(small):
    statistics = learn(small, labels_of(small, cat_with_person=True))
    order = QuestionOrder(small, "learned", "safe", statistics)

    alone = order.next(replay(small, [("animal", "yes"), ("person", "no")]))
    together = order.next(replay(small, [("animal", "yes"), ("person", "yes")]))

    # With a person there is a cat, so "no mammal" is not to be hoped for.
    assert alone.index("mammal") < alone.index("bird")
    assert together.index("mammal") > together.index("bird")


@for_each("mode", MODES)
@for_seeds(30)
def test_learned_order_only_sorts_the_candidates(seed, mode):
    graph, chance = random_graph(seed), random.Random(seed)
    order = QuestionOrder(graph, "learned", mode, learn(graph, labels_of(graph, seed=seed)))
    say = {node.id: chance.choice(["yes", "no"]) for node in graph.nodes}
    answers = ask(graph, say.get, mode, chance.choice)

    assert order.knows
    for count in range(len(answers)):
        state = replay(graph, answers[:count], mode)
        assert sorted(order.next(state)) == sorted(state.candidates)
        assert order.next(state) == order.next(replay(graph, answers[:count], mode))


@for_seeds(30)
def test_learned_order_ends_in_the_labels_of_the_graphs_order_in_safe_mode(seed):
    graph, chance = random_graph(seed), random.Random(seed)
    order = QuestionOrder(graph, "learned", "safe", learn(graph, labels_of(graph, seed=seed)))
    say = {node.id: chance.choice(["yes", "no"]) for node in graph.nodes}
    answers = []
    while candidates := order.next(replay(graph, answers)):
        answers.append((candidates[0], say[candidates[0]]))

    plain = replay(graph, ask(graph, say.get, "safe", lambda c: c[0]))

    assert replay(graph, answers).labels == plain.labels


def test_too_few_images_or_another_graph_leave_the_graphs_order(small):
    state = replay(small, [("animal", "yes")])
    few = learn(small, labels_of(small, images=ordering.MIN_IMAGES - 1))
    of_another_graph = learn(random_graph(1), np.zeros((100, len(random_graph(1).nodes)), np.int8))

    for statistics in (few, of_another_graph, None):
        order = QuestionOrder(small, "learned", "safe", statistics)
        assert not order.knows
        assert order.next(state) == state.candidates


def test_a_question_whose_parent_was_seldom_yes_keeps_the_graphs_place(small):
    labels = labels_of(small)
    labels[:, [small.index[i] for i in ("animal", "mammal", "cat", "dog", "bird")]] = 0
    order = QuestionOrder(small, "learned", "safe", learn(small, labels))

    question = order.next(replay(small, [("animal", "yes")]))

    assert question[-2:] == ["mammal", "bird"]
