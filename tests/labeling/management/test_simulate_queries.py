"""`simulate queries`: the paper's graph to the printed figures, and made-up images by loop."""

import itertools
import json
import random

import numpy as np
import pytest

from labeling.question_graph.ordering import QuestionOrder, learn
from labeling.question_graph.replaying import MODES, build, replay, shipped
from labeling.simulation import simulating_correlated
from labeling.simulation.simulating_queries import (
    Setting,
    expected_questions,
    leaves_below,
    scan,
    simulate,
    step,
)
from tests.cases import for_each, for_seeds
from tests.labeling.question_graph.test_replaying import SMALL, ask, random_graph


@pytest.fixture(scope="module")
def ilsvrc():
    return shipped("ilsvrc")


def by_enumeration(graph, present, mode, choose):
    """Expected questions over every set of classes, by replay."""
    leaves, share = graph.leaves, present / len(graph.leaves)
    below = leaves_below(graph)
    total = 0.0
    for there in itertools.product([False, True], repeat=len(leaves)):
        truth = below @ np.array(there)
        say = {n.id: "yes" if truth[p] else "no" for p, n in enumerate(graph.nodes)}
        weight = np.prod([share if bit else 1 - share for bit in there])
        total += weight * len(ask(graph, say.get, mode, lambda c: choose(graph, c)))
    return total


def breadth(graph, candidates):
    return min(candidates, key=graph.index.get)


def depth(graph, candidates):
    return min(candidates, key=graph.printed.index)


# ILSVRC's graph


@pytest.mark.parametrize(("mode", "questions"), [("strict", 47.43), ("safe", 48.03)])
def test_ilsvrc_takes_the_stated_number_of_questions(ilsvrc, mode, questions):
    result = simulate(ilsvrc, Setting(2.8, mode=mode))

    assert round(result["questions_per_image"], 2) == questions
    assert result["naive"] == 200
    assert result["ratio"] == result["questions_per_image"] / 200
    assert result["wrong_labels_per_image"] == 0
    assert result["exact"]


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_image_takes_the_17_roots(ilsvrc, mode):
    assert expected_questions(ilsvrc, 0, mode) == 17


@pytest.mark.parametrize("mode", MODES)
def test_an_image_of_everything_takes_all_245(ilsvrc, mode):
    assert expected_questions(ilsvrc, 200, mode) == pytest.approx(245)


@pytest.mark.ci
def test_learned_order_asks_as_many_in_safe_mode_and_settles_labels_earlier(ilsvrc):
    result = simulate(ilsvrc, Setting(order="learned"))

    assert round(result["questions_per_image"], 2) == 48.03
    assert result["exact"]
    assert result["settled_90"] < result["settled_90_breadth"]


@pytest.mark.ci
def test_learned_order_in_strict_mode_has_a_half_width_under_a_thousandth(ilsvrc):
    result = simulate(ilsvrc, Setting(mode="strict", order="learned"))

    assert not result["exact"]
    assert 0 < result["half_width"] < 0.001 * result["questions_per_image"]
    assert result["questions_per_image"] == pytest.approx(47.43, abs=0.05)
    assert result["wrong_labels_per_image"] == 0


# Against plain loops


@for_each("mode", MODES)
@for_each(("name", "choose"), [("breadth", breadth), ("depth", depth)])
@for_seeds(6)
def test_exact_figure_is_the_sum_over_all_images(seed, name, choose, mode):
    graph = random_graph(seed, size=11)

    exact = expected_questions(graph, 1.5, mode, name)

    assert exact == pytest.approx(by_enumeration(graph, 1.5, mode, choose), rel=1e-9)


@for_each("mode", MODES)
@for_each(("name", "choose"), [("breadth", breadth), ("depth", depth)])
@for_seeds(15)
def test_drawn_images_are_asked_and_labeled_as_replay_does_it(seed, name, choose, mode):
    graph = random_graph(seed)
    labels = np.random.default_rng(seed).random((12, len(graph.nodes))) < 0.6

    questions, label = scan(graph, labels, mode, name)
    steps = step(graph, labels, QuestionOrder(graph, name, mode))

    assert (steps[1] == label).all()
    assert (steps[0] == questions).all()
    for row in range(len(labels)):
        say = {n.id: "yes" if labels[row, p] else "no" for p, n in enumerate(graph.nodes)}
        answers = ask(graph, say.get, mode, lambda c: choose(graph, c))
        state = replay(graph, answers, mode)
        assert {graph.index[node] for node, _ in answers} == set(np.flatnonzero(questions[row]))
        assert [state.labels[n.id][0] == "yes" for n in graph.nodes] == label[row].tolist()


@for_each("mode", MODES)
@for_seeds(10)
def test_learned_steps_are_those_that_a_campaign_takes(seed, mode):
    graph, chance = random_graph(seed), np.random.default_rng(seed)
    below = leaves_below(graph)
    truth = (chance.random((300, below.shape[1])) < 0.3) @ below.T
    order = QuestionOrder(graph, "learned", mode, learn(graph, truth.astype(np.int8)))
    labels = chance.random((8, len(graph.nodes))) < 0.6

    questions, label, count, curve = step(graph, labels, order)

    for row in range(len(labels)):
        answers = []
        while candidates := order.next(replay(graph, answers, mode)):
            index = graph.index[candidates[0]]
            answers.append((candidates[0], "yes" if labels[row, index] else "no"))
        assert {graph.index[node] for node, _ in answers} == set(np.flatnonzero(questions[row]))
        assert count[row] == len(answers)
        state = replay(graph, answers, mode)
        assert [state.labels[n.id][0] == "yes" for n in graph.nodes] == label[row].tolist()
    assert (curve[-1] == 1).all()
    assert (np.diff(curve, axis=0) >= 0).all()


def test_wrong_answers_cost_labels_as_a_plain_loop_counts_them():
    graph, chance = build(SMALL), random.Random(5)
    below = leaves_below(graph)
    wrong, missed, questions, images = 0, 0, 0, 6_000
    for _ in range(images):
        there = np.array([chance.random() < 1.5 / 6 for _ in graph.leaves])
        truth = dict(zip(graph.names, (below @ there).tolist(), strict=True))
        answers = ask(
            graph,
            lambda node, truth=truth: "yes" if truth[node] != (chance.random() < 0.1) else "no",
            "safe",
            lambda c: c[0],
        )
        labels = replay(graph, answers).labels
        questions += len(answers)
        wrong += sum((labels[leaf][0] == "yes") != truth[leaf] for leaf in graph.leaves)
        missed += sum(labels[leaf][0] == "no" and truth[leaf] for leaf in graph.leaves)

    result = simulate(graph, Setting(1.5, error=0.1))

    assert result["questions_per_image"] == pytest.approx(questions / images, rel=0.02)
    assert result["wrong_labels_per_image"] == pytest.approx(wrong / images, rel=0.08)
    assert result["missed_labels_per_image"] == pytest.approx(missed / images, rel=0.08)
    assert not result["exact"]


def test_strict_mode_loses_more_labels_to_wrong_answers_where_children_are_shared():
    shared = {
        "nodes": [
            {"id": "a", "question": "a"},
            {"id": "b", "question": "b"},
            *(
                {"id": f"c{i}", "question": "c", "parents": ["a", "b"], "class": f"n{i}"}
                for i in range(6)
            ),
        ]
    }
    graph = build(shared)

    safe, strict = (simulate(graph, Setting(2, 0.1, mode)) for mode in ("safe", "strict"))

    assert strict["wrong_labels_per_image"] > 1.3 * safe["wrong_labels_per_image"]


def test_interval_holds_the_exact_figure_where_there_are_too_many_parents_to_sum_over():
    rows = [{"id": f"p{i}", "question": "p"} for i in range(13)]
    rows += [
        {"id": f"c{i}", "question": "c", "parents": [f"p{i}"], "class": f"k{i}"} for i in range(13)
    ]
    rows.append(
        {"id": "all", "question": "a", "parents": [f"p{i}" for i in range(13)], "class": "x"}
    )
    graph = build({"nodes": rows})
    share = 7 / 14
    # A root is "yes" by its own class or by the shared one; the shared one needs them all.
    by_formula = 1 - (1 - share) ** 2
    exact = 13 + 13 * by_formula + share + (1 - share) * share**13

    result = simulate(graph, Setting(7, mode="strict"))

    assert not result["exact"]
    assert result["half_width"] < 0.001 * exact
    assert abs(result["questions_per_image"] - exact) < 2 * result["half_width"]


@pytest.mark.parametrize("order", ["breadth", "learned"])
def test_the_seed_decides_everything(order):
    graph = build(SMALL)
    first, again, changed = (
        simulate(graph, Setting(2, 0.1, "strict", order, 2_000, seed)) for seed in (3, 3, 4)
    )

    assert (first.pop("asked") == again.pop("asked")).all()
    assert first == again
    assert first["wrong_labels_per_image"] != changed["wrong_labels_per_image"]


# The command


def test_result_is_the_contracts(shell):
    status, out, _ = shell("simulate", "queries", "--graph", "ilsvrc", "--mode", "strict", "--json")

    result = json.loads(out)
    assert status == 0
    assert round(result["questions_per_image"], 2) == 47.43
    assert (result["naive"], result["wrong_labels_per_image"]) == (200, 0)
    assert result["ratio"] == pytest.approx(0.23715, abs=1e-5)
    assert sum(row["asked"] for row in result["depths"]) == pytest.approx(47.43, abs=0.005)
    assert sum(row["nodes"] for row in result["depths"]) == 245


def test_an_empty_image_is_asked_the_roots(shell, tmp_path):
    (tmp_path / "graph.json").write_text(json.dumps(SMALL))
    graph = ["--graph", str(tmp_path / "graph.json"), "--present", "0"]

    _, out, _ = shell("simulate", "queries", *graph, "--json")
    _, table, _ = shell("simulate", "queries", *graph)

    # Four roots.
    assert json.loads(out)["questions_per_image"] == 4
    assert ["questions", "per", "image", "4"] in [line.split() for line in table.splitlines()]


@for_each(
    ("options", "message"),
    [
        (["--present", "7"], "the graph has 6 classes"),
        (["--present", "nan"], "the graph has 6 classes"),
        (["--error", "1"], "give a share"),
        (["--images", "1"], "2 or more"),
        (["--seed", "-1"], "0 or more"),
        (["--order", "best"], "invalid choice"),
        (["--correlated", "scenes-20x8"], "requires --order learned"),
        (["--order", "learned", "--correlated", "scenes-20x8"], "a graph of 8 classes"),
    ],
)
def test_options_that_make_no_sense_exit_2(shell, tmp_path, options, message):
    (tmp_path / "graph.json").write_text(json.dumps(SMALL))

    status, _, error = shell(
        "simulate", "queries", "--graph", str(tmp_path / "graph.json"), *options
    )

    assert status == 2
    assert message in error


# Classes that go together


@pytest.mark.ci
def test_scenes_save_questions_at_no_more_missed_and_no_more_false_labels(ilsvrc):
    setting = Setting(2.8, 0.02, "safe", "learned", 200)
    there = simulating_correlated.generate(ilsvrc, "scenes-20x8", 2.8, 1_000, 0)

    result = simulating_correlated.simulate(ilsvrc, setting, there, 800)

    plain, low = result["algorithm_1"], result["ratio_interval"][0]
    assert low < result["ratio_at_equal_error"] < 0.65
    assert result["missed_per_image"] <= plain["missed_per_image"] + 1e-9
    assert result["false_per_image"] <= plain["false_per_image"] + 1e-9
    assert (result["learned_on"], result["images"]) == (800, 200)
    questions = [row["questions_per_image"] for row in result["curve"]]
    assert questions == sorted(questions, reverse=True)
    assert result["asked"].sum() == pytest.approx(result["questions_per_image"])


def test_the_seed_decides_what_is_learned_and_tried():
    graph = build(SMALL)
    there = simulating_correlated.generate(graph, "independent", 1.5, 300, 0)
    first, again, changed = (
        simulating_correlated.simulate(
            graph, Setting(1.5, 0.1, "safe", "learned", 200, seed), there, 100
        )
        for seed in (3, 3, 4)
    )

    assert first["curve"] == again["curve"]
    assert first["curve"] != changed["curve"]


@pytest.mark.parametrize("name", ["scenes-20x8", "scenes-50x10"])
def test_generated_images_have_the_stated_number_of_classes(ilsvrc, name):
    there = simulating_correlated.generate(ilsvrc, name, 2.8, 20_000, 0)

    assert there.sum(axis=1).mean() == pytest.approx(2.8, abs=0.05)
    # Two classes of a scene are together far more often than by chance.
    together = there.T.astype(np.float64) @ there / len(there)
    np.fill_diagonal(together, 0)
    assert together.max() > 20 * 0.014**2


@for_each(
    ("curve", "bound", "expected"),
    [
        ([(40, 0.1, 0.2), (20, 0.2, 0.2)], (50, 0.15, 0.4), (0, 0.5)),
        ([(40, 0.1, 0.2), (20, 0.2, 0.4)], (50, 0.15, 0.25), (0, 0.25)),
        ([(40, 0.1, 0.2), (20, 0.2, 0.4)], (50, 0.3, 0.5), (0, 1)),
        ([(40, 0.1, 0.5), (20, 0.2, 0.3)], (50, 0.15, 0.45), (0, 0.5)),
        ([(40, 0.1, 0.5), (20, 0.2, 0.3)], (50, 0.15, 0.35), (-1, 0)),
        ([(40, 0.2, 0.2), (20, 0.3, 0.1)], (50, 0.15, 0.5), (-1, 0)),
    ],
)
def test_equal_error_lies_between_two_prices(curve, bound, expected):
    errors = simulating_correlated._equal_error(np.array(curve), np.array(bound))

    assert errors == pytest.approx(expected)


def test_labels_of_a_file_are_tried_and_the_curve_is_shown(shell, tmp_path):
    (tmp_path / "graph.json").write_text(json.dumps(SMALL))
    graph = build(SMALL)
    keys = [graph.node(leaf).key for leaf in graph.leaves]
    rows = [f"{n}.jpg,{keys[n % 2 * 2 + k]}" for n in range(400) for k in range(2)]
    (tmp_path / "labels.csv").write_text("\n".join(["image,wnid", *rows]))
    command = ["simulate", "queries", "--graph", str(tmp_path / "graph.json")]
    command += ["--order", "learned", "--correlated", str(tmp_path / "labels.csv")]

    status, out, _ = shell(*command, "--json")
    _, table, _ = shell(*command)

    result = json.loads(out)
    assert status == 0
    assert (result["learned_on"], result["images"]) == (200, 200)
    assert result["error"] == 0.02
    assert result["ratio_at_equal_error"] < 1
    assert "algorithm 1" in table
    assert "ratio interval" in table


@for_each(
    ("text", "message"),
    [
        ("image,class\na,b\n", "image,wnid"),
        ("image,wnid\na.jpg,zebra\n", "'zebra' is not in the graph"),
        ("image,wnid\n,x\n", "not an image and a class"),
        ("image,wnid\n", "0 images"),
    ],
)
def test_a_bad_file_of_labels_exits_1_and_names_itself(shell, tmp_path, text, message):
    (tmp_path / "graph.json").write_text(json.dumps(SMALL))
    (tmp_path / "labels.csv").write_text(text)

    status, _, error = shell(
        *("simulate", "queries", "--graph", str(tmp_path / "graph.json")),
        *("--order", "learned", "--correlated", str(tmp_path / "labels.csv")),
    )

    assert status == 1
    assert message in error
    assert "labels.csv" in error


def test_a_bad_graph_exits_1_with_file_node_and_cure(shell, tmp_path):
    path = tmp_path / "graph.yaml"
    path.write_text("nodes:\n- {id: a, question: a, parents: [zoo]}\n")

    status, out, error = shell("simulate", "queries", "--graph", str(path), "--json")
    missing, _, error_text = shell("simulate", "queries", "--graph", str(tmp_path / "none.json"))

    message = json.loads(error)
    assert (status, out) == (1, "")
    assert message["file"] == str(path)
    assert "a: its parent zoo is not in the graph; add it, or remove the link." in message["error"]
    assert missing == 1
    assert "none.json" in error_text


def test_it_runs_without_a_database(shell):
    status, _, _ = shell("simulate", "queries", "--graph", "ilsvrc")

    # No db fixture: a query would have been refused.
    assert status == 0
