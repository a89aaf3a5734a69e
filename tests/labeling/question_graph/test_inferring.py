"""What follows from some answers by learned scenes, and what is asked next."""

import numpy as np
import pytest

from labeling.question_graph import inferring, planning, scenes
from labeling.question_graph.graph import build
from labeling.question_graph.inferring import Inference, LearnedScenes
from labeling.question_graph.planning import AskedNode
from labeling.question_graph.scenes import Scenes, Utility
from labeling.release_files import frozen_labels
from labeling.release_files.frozen import AnswerLine, GivenLine

GRAPH = build(
    {
        "nodes": [
            {"id": "kitchen", "question": "kitchen"},
            *(
                {"id": n, "question": n, "class": n.upper(), "parents": ["kitchen"]}
                for n in ("cup", "oven")
            ),
            {"id": "boat", "question": "boat", "class": "BOAT"},
            {"id": "fish", "question": "fish", "class": "FISH"},
        ]
    }
)
# A kitchen with both, or the sea with both.
SEEN = Scenes(np.array([0.5, 0.5]), np.array([[0.97, 0.97, 0, 0], [0, 0, 0.97, 0.97]]))


def learned(finished: int = 100) -> LearnedScenes:
    return LearnedScenes.of(GRAPH, SEEN, 0.01, finished)


def inference(price: float = 0.05) -> Inference:
    return Inference.of(GRAPH, learned(), Utility(price))


def test_one_answer_says_what_goes_together_and_nothing_more_is_asked():
    result = inference()
    first = result.next({})
    assert first is not None

    after = {"kitchen": "yes"}

    assert result.next(after) is None
    labels = result.labels(after)
    assert {node: value for node, (value, _) in labels.items()} == {
        "cup": "yes",
        "oven": "yes",
        "boat": "no",
        "fish": "no",
    }
    assert all(0.9 < sure < 1 for _, sure in labels.values())


def test_what_is_not_sure_at_the_price_is_unknown_and_asked():
    even = Scenes(np.ones(1), np.full((1, 4), 0.4))
    result = Inference(GRAPH, even, 0.01, Utility(0.05))

    labels = result.labels({"kitchen": "no", "boat": "yes"})

    # Below a kitchen that is not there; beside a boat that says nothing of it.
    assert labels["cup"][0] == "no"
    assert labels["fish"] == ("unknown", None)
    assert result.next({"kitchen": "no", "boat": "yes"}) == "fish"


def test_an_image_of_which_nothing_is_known_is_asked_something_at_any_price():
    result = inference(price=1)

    assert result.next({}) is not None
    assert result.next({"boat": "no"}) is None


def test_a_question_that_nobody_could_decide_is_not_asked_again_and_says_nothing():
    result = inference(price=0.01)
    first = result.next({})

    for asked_in_vain in ({first: "unknown"}, {first: "unknown", "cup": "unknown"}):
        assert result.next(asked_in_vain) not in asked_in_vain
        assert result.labels(asked_in_vain) == result.labels({})


def test_scenes_are_kept_as_json_and_a_later_class_is_rare():
    kept = LearnedScenes.from_json(learned().to_json())
    later = build(
        {"nodes": [*GRAPH.content()["nodes"], {"id": "fork", "question": "fork", "class": "FORK"}]}
    )

    kept_scenes = kept.scenes(later)

    fork = later.leaves.index("fork")
    assert np.delete(kept_scenes.present, fork, axis=1) == pytest.approx(
        np.clip(SEEN.present, scenes.MIN_PROBABILITY, 1), abs=10**-inferring.DIGITS
    )
    assert kept_scenes.present[:, fork] == pytest.approx(0.5 / 101)


def choose(node: str | None):
    return lambda values: node


def rows(**states: str) -> list[AskedNode]:
    value = {"settled": "yes", "dropped": "unknown", "withdrawn": "yes"}
    return [
        AskedNode(index, node, state, value.get(state), index)
        for index, (node, state) in enumerate(states.items())
    ]


def test_any_node_may_be_opened_whatever_is_above_it():
    plan = planning.plan_any(GRAPH, rows(boat="settled"), {}, choose("cup"))

    assert (plan.open, plan.reopen, plan.withdraw) == (["cup"], [], [])


def test_what_algorithm_1_left_open_is_withdrawn_but_for_one():
    left = rows(kitchen="open", boat="open", fish="settled")

    assert planning.plan_any(GRAPH, left, {}, choose("boat")).withdraw == [0]
    assert planning.plan_any(GRAPH, left, {}, choose(None)).withdraw == [0, 1]
    plan = planning.plan_any(GRAPH, left, {}, choose("cup"))
    assert (plan.open, plan.withdraw) == (["cup"], [0, 1])


def test_the_only_open_question_stays_while_any_is_worth_asking():
    waiting = rows(boat="open", fish="settled")

    plan = planning.plan_any(GRAPH, waiting, {}, choose("cup"))
    assert (plan.open, plan.reopen, plan.withdraw) == ([], [], [])
    assert planning.plan_any(GRAPH, waiting, {}, choose(None)).withdraw == [0]


def test_a_withdrawn_question_comes_back_and_counts_for_nothing_until_then():
    seen = {}

    def spy(values):
        seen.update(values)
        return "boat"

    plan = planning.plan_any(GRAPH, rows(boat="withdrawn", fish="dropped"), {"cup": "no"}, spy)

    assert plan.reopen == [0]
    assert seen == {"fish": "unknown", "cup": "no"}


def test_nothing_is_asked_beside_a_review():
    plan = planning.plan_any(GRAPH, rows(boat="review", fish="settled"), {}, choose("cup"))

    assert (plan.open, plan.reopen, plan.withdraw) == ([], [], [])


def test_what_was_settled_once_and_is_open_again_stays_and_nothing_is_asked_beside_it():
    again = AskedNode(0, "boat", "open", "yes", 1)

    plan = planning.plan_any(GRAPH, [again, AskedNode(1, "fish", "open")], {}, choose("cup"))

    assert (plan.open, plan.reopen, plan.withdraw) == ([], [], [1])


@pytest.mark.parametrize("answer", [{"boat": "no"}, {"BOAT": "yes"}, {"boat": "unknown"}])
def test_an_open_question_whose_answer_is_given_makes_room_for_another(answer):
    plan = planning.plan_any(GRAPH, rows(boat="open"), answer, choose("cup"))

    if "unknown" in answer.values():
        assert (plan.open, plan.withdraw) == ([], [])
    else:
        assert (plan.open, plan.withdraw) == (["cup"], [0])


def test_an_open_question_above_a_given_class_makes_room_for_another():
    plan = planning.plan_any(GRAPH, rows(kitchen="open"), {"cup": "yes"}, choose("boat"))

    assert (plan.open, plan.withdraw) == (["boat"], [0])


@pytest.mark.parametrize("price", [0.001, 0.05, 1])
def test_a_class_that_nobody_was_asked_about_is_inferred_or_unknown_and_undecided(price):
    answer = AnswerLine(image="0", wnid=None, node="kitchen", contains=None, order=1)
    known = GivenLine(
        image="0", node="fish", wnid="FISH", value="no", source="before", geometry=None
    )
    lines = frozen_labels.by_graph(GRAPH, "safe", ["0"], [answer], [known], (), inference(price))

    labels = {line["wnid"]: line for line in lines}
    assert labels["FISH"]["origin"] == "given"
    for key in ("CUP", "OVEN", "BOAT"):
        line = labels[key]
        assert line["origin"] == "inferred"
        assert line["decided"] == (line["value"] != "unknown") == (line["probability"] is not None)
