"""Question graphs: read, every fault named, and Algorithm 1 replayed in both modes."""

import copy
import itertools
import json
import random
from pathlib import Path

import pytest
import yaml

from labeling.errors import Refusal
from labeling.files import BadInput
from labeling.question_graph import replaying
from labeling.question_graph.replaying import GraphError, build, replay
from tests.cases import for_each, for_seeds
from tests.conftest import skip_or_fail

ILSVRC = Path(__file__).resolve().parents[4] / "shared" / "data" / "ilsvrc_det_hierarchy.json"

# "bathing cap" is a swimming thing and a hat, as in Appendix D.
SMALL = {
    "name": "small",
    "nodes": [
        {"id": "animal", "question": "animal", "parents": []},
        {"id": "mammal", "question": "mammal", "parents": ["animal"]},
        {"id": "cat", "question": "cat", "parents": ["mammal"], "class": "n1"},
        {"id": "dog", "question": "dog", "parents": ["mammal"], "class": "n2"},
        {"id": "bird", "question": "bird", "parents": ["animal"], "class": "n3"},
        {"id": "swim", "question": "swimming attire", "parents": []},
        {"id": "hat", "question": "headgear", "parents": []},
        {"id": "cap", "question": "bathing cap", "parents": ["swim", "hat"], "class": "n4"},
        {"id": "helmet", "question": "helmet", "parents": ["hat"], "class": "n5"},
        {"id": "person", "question": "person", "parents": [], "class": "n6"},
    ],
}


@pytest.fixture(scope="module")
def small():
    return build(SMALL)


def random_graph(seed: int, size: int = 14):
    """A graph in which many nodes have several parents, at several depths."""
    chance = random.Random(seed)
    parents = {0: []}
    for i in range(1, size):
        count = chance.choice([0, 1, 1, 1, 2, 2, 3])
        parents[i] = sorted(chance.sample(range(i), min(count, i)))
    inner = {p for above in parents.values() for p in above}
    rows = [
        {
            "id": f"q{i}",
            "question": f"q{i}?",
            "parents": [f"q{p}" for p in above],
            "class": None if i in inner else f"n{i}",
        }
        for i, above in parents.items()
    ]
    chance.shuffle(rows)
    return build({"nodes": rows})


def ask(graph, say, mode, choose):
    """Answers in the order of asking, until nothing is left to ask."""
    answers = []
    while candidates := replay(graph, answers, mode).candidates:
        node = choose(candidates)
        answers.append((node, say(node)))
    return answers


def algorithm_1(graph, say, choose):
    """The paper's Algorithm 1, line by line: labels and what was asked."""
    children = {n.id: set(n.children) for n in graph.nodes}

    def descendants(q):
        return children[q] | {d for c in children[q] for d in descendants(c)}

    labels, candidates, order = {}, set(graph.roots), []
    while candidates:
        q = choose(sorted(candidates, key=graph.index.get))
        answer = say(q)
        order.append((q, answer))
        labels[q] = answer
        candidates -= {q}
        if answer == "yes":
            candidates |= {c for c in children[q] if c not in labels}
        else:
            below = {d for d in descendants(q) if d not in labels}
            labels |= dict.fromkeys(below, "no")
            candidates -= below
    return labels, order


def values(state):
    return {node: value for node, (value, _) in state.settled.items()}


# The algorithm


def test_roots_are_asked_first_in_the_order_of_the_file(small):
    state = replay(small, [])

    assert state.candidates == ["animal", "swim", "hat", "person"]
    assert state.settled == {}
    assert not state.closed
    assert state.labels["cat"] == ("unknown", "explicit")


def test_a_no_closes_everything_below_and_a_yes_asks_its_children(small):
    state = replay(small, [("animal", "no"), ("hat", "yes"), ("swim", "yes"), ("person", "no")])

    assert state.candidates == ["cap", "helmet"]
    assert state.labels["cat"] == ("no", "inherited")
    assert state.labels["animal"] == ("no", "explicit")
    assert state.closed == {"mammal", "cat", "dog", "bird"}
    assert state.depends["cat"] == ("animal",)
    assert state.candidates


@pytest.mark.parametrize(("mode", "label"), [("safe", "unknown"), ("strict", "no")])
def test_one_parents_no_closes_a_shared_child_in_strict_mode_only(small, mode, label):
    state = replay(small, [("swim", "no"), ("hat", "yes")], mode)

    assert state.labels["cap"][0] == label
    assert ("cap" in state.candidates) == (mode == "safe")


def test_all_parents_no_close_a_shared_child_in_safe_mode(small):
    state = replay(small, [("swim", "no"), ("hat", "no")])

    assert state.labels["cap"] == ("no", "inherited")
    assert state.depends["cap"] == ("swim", "hat")


def test_strict_outcome_depends_on_the_order_and_safe_does_not(small):
    first = [("hat", "yes"), ("cap", "yes"), ("swim", "no")]
    last = [("swim", "no"), ("hat", "yes"), ("cap", "yes")]

    assert replay(small, first, "strict").labels["cap"] == ("yes", "explicit")
    assert replay(small, last, "strict").labels["cap"] == ("no", "inherited")
    assert replay(small, last, "strict").ignored == [("cap", "yes")]
    assert replay(small, first).labels == replay(small, last).labels
    assert replay(small, last).labels["cap"] == ("yes", "explicit")


@pytest.mark.parametrize("mode", replaying.MODES)
def test_below_an_undecided_question_people_are_asked_all_the_same(small, mode):
    state = replay(small, [("animal", "unknown")], mode)

    assert "mammal" in state.candidates
    assert state.labels["animal"] == ("unknown", "explicit")


@pytest.mark.parametrize("mode", replaying.MODES)
def test_an_undecided_class_stays_unknown(small, mode):
    state = replay(small, [("person", "unknown")], mode)

    assert state.labels["person"] == ("unknown", "explicit")
    assert "person" not in state.candidates


@pytest.mark.parametrize("mode", replaying.MODES)
def test_a_given_class_marks_its_ancestors_and_asks_about_the_rest(small, mode):
    state = replay(small, [], mode, known_labels={"n1": "yes", "bird": "no"})

    assert state.labels["cat"] == ("yes", "given")
    assert state.labels["mammal"] == ("yes", "given") == state.labels["animal"]
    assert state.labels["bird"] == ("no", "given")
    assert state.candidates == ["swim", "hat", "person", "dog"]
    assert {"cat", "animal"} <= state.closed
    assert state.depends["animal"] == ("cat",)


@pytest.mark.parametrize("mode", replaying.MODES)
def test_an_answer_to_a_closed_node_is_left_out_and_told(small, mode):
    state = replay(small, [("animal", "no"), ("cat", "yes")], mode, known_labels={"person": "yes"})
    known = replay(small, [("person", "no")], mode, known_labels={"person": "yes"})

    assert state.ignored == [("cat", "yes")]
    assert state.labels["cat"] == ("no", "inherited")
    assert known.ignored == [("person", "no")]
    assert known.labels["person"] == ("yes", "given")


@pytest.mark.parametrize("mode", replaying.MODES)
def test_a_given_no_to_an_inner_question_closes_what_is_below(small, mode):
    state = replay(small, [], mode, known_labels={"animal": "no"})

    assert state.labels["animal"] == ("no", "given")
    assert state.labels["cat"] == ("no", "inherited")
    assert state.depends["cat"] == ("animal",)


def test_another_mode_is_an_error(small):
    with pytest.raises(ValueError, match="safe or strict"):
        replay(small, [], "loose")


@for_seeds(60)
def test_strict_mode_is_algorithm_1(seed):
    graph, chance = random_graph(seed), random.Random(seed)
    truth = {node.id: chance.choice(["yes", "yes", "no"]) for node in graph.nodes}
    picks = random.Random(seed)
    labels, order = algorithm_1(graph, truth.get, lambda c: picks.choice(c))

    picks = random.Random(seed)
    answers = ask(graph, truth.get, "strict", lambda c: picks.choice(c))

    assert answers == order
    assert values(replay(graph, answers, "strict")) == labels


@for_seeds(60)
def test_safe_mode_agrees_with_its_definition_in_any_order(seed):
    graph, chance = random_graph(seed), random.Random(seed)
    truth = {node.id: chance.choice(["yes", "yes", "no", "unknown"]) for node in graph.nodes}
    expected = {}
    for node in graph.nodes:
        above = [expected[parent] for parent in node.parents]
        closed = bool(above) and all(value == "no" for value in above)
        expected[node.id] = "no" if closed else truth[node.id]

    answers = ask(graph, truth.get, "safe", chance.choice)
    states = []
    for _ in range(5):
        chance.shuffle(answers)
        states.append(replay(graph, answers))

    assert all(state.labels == states[0].labels and not state.candidates for state in states)
    assert values(states[0]) == expected
    assert sorted(answers) == sorted(ask(graph, truth.get, "safe", lambda c: c[0]))


def start_of(graph, labels):
    """Labels known beforehand, a class that is there taking all its ancestors with it."""
    known = dict(labels)
    for node, value in labels.items():
        if value == "yes":
            known |= dict.fromkeys(graph.ancestors(node), "yes")
    return known


@for_seeds(80)
def test_safe_mode_holds_for_any_answers_beside_given_labels(seed):
    graph, chance = random_graph(seed), random.Random(seed)
    picked = chance.sample(graph.names, 3)
    labels = {node: chance.choice(["yes", "no"]) for node in picked}
    # Also answers that nobody would have been asked for.
    nodes = chance.sample(graph.names, 9)
    answers = {node: chance.choice(["yes", "no", "no", "unknown"]) for node in nodes}
    expected, ignored = start_of(graph, labels), set()
    for node in graph.nodes:
        above = [expected.get(parent) for parent in node.parents]
        if node.id in expected or (above and set(above) == {"no"}):
            expected.setdefault(node.id, "no")
            ignored |= {node.id} & answers.keys()
        elif node.id in answers:
            expected[node.id] = answers[node.id]

    state = replay(graph, answers.items(), known_labels=labels)

    assert values(state) == expected
    assert {node for node, _ in state.ignored} == ignored
    assert state.candidates == [
        node.id
        for node in graph.nodes
        if node.id not in expected
        and (not node.parents or {expected.get(p) for p in node.parents} & {"yes", "unknown"})
    ]


@for_seeds(80)
def test_strict_mode_holds_for_any_answers_beside_given_labels(seed):
    graph, chance = random_graph(seed), random.Random(seed)
    picked = chance.sample(graph.names, 3)
    labels = {node: chance.choice(["yes", "no"]) for node in picked}
    answers = [(node, chance.choice(["yes", "no"])) for node in chance.sample(graph.names, 9)]
    expected, ignored = start_of(graph, labels), []
    for node in [node for node, value in expected.items() if value == "no"]:
        expected = dict.fromkeys(graph.descendants(node), "no") | expected
    for node, value in answers:
        if node in expected:
            ignored.append((node, value))
            continue
        expected[node] = value
        if value == "no":
            expected = dict.fromkeys(graph.descendants(node), "no") | expected

    state = replay(graph, answers, "strict", labels)

    assert values(state) == expected
    assert state.ignored == ignored


def test_some_random_graph_shows_that_strict_mode_depends_on_the_order():
    outcomes = set()
    for seed in range(60):
        graph, chance = random_graph(seed), random.Random(seed)
        answers = {node.id: chance.choice(["yes", "yes", "no"]) for node in graph.nodes}
        first = values(replay(graph, ask(graph, answers.get, "strict", lambda c: c[0]), "strict"))
        last = values(replay(graph, ask(graph, answers.get, "strict", lambda c: c[-1]), "strict"))
        outcomes.add(first == last)

    assert outcomes == {True, False}


@for_each("mode", replaying.MODES)
@for_seeds(25)
def test_a_part_of_the_answers_closes_no_more_than_all_of_them(seed, mode):
    graph, chance = random_graph(seed), random.Random(seed)
    truth = {node.id: chance.choice(["yes", "no"]) for node in graph.nodes}
    answers = ask(graph, truth.get, mode, chance.choice)

    closed = [replay(graph, answers[:n], mode).closed for n in range(len(answers) + 1)]

    assert all(a <= b for a, b in itertools.pairwise(closed))


@for_each("mode", replaying.MODES)
@for_seeds(25)
def test_a_label_rests_on_answers_and_is_asked_closed_or_open(seed, mode):
    graph, chance = random_graph(seed), random.Random(seed)
    truth = {node.id: chance.choice(["yes", "no"]) for node in graph.nodes}
    leaf = chance.choice(graph.leaves)
    answers = ask(graph, truth.get, mode, chance.choice)[:5]
    state = replay(graph, answers, mode, {leaf: chance.choice(["yes", "no"])})

    basis = {*state.explicit, leaf}
    assert set(state.depends) == set(state.settled)
    assert all(basis.issuperset(sources) for sources in state.depends.values())
    assert not set(state.candidates) & set(state.settled)


# Files


def test_ilsvrc_file_is_read_as_it_is():
    path = ILSVRC
    if not path.exists():
        skip_or_fail("ILSVRC's graph is not here")
    theirs, ours = build(replaying.read(path)), replaying.shipped("ilsvrc")

    assert (len(theirs.nodes), len(theirs.roots), len(theirs.leaves)) == (245, 17, 200)
    assert theirs.names == ours.names
    assert theirs.printed == ours.printed
    assert [node.parents for node in theirs.nodes] == [node.parents for node in ours.nodes]
    assert theirs.by_key == ours.by_key
    assert len(replay(ours, [(root, "no") for root in ours.roots]).settled) == 245


def test_shipped_graph_keeps_the_printed_guidance_apart():
    banjo = replaying.shipped("ilsvrc").node("leaf-012")

    assert banjo.question == "banjo"
    assert "please do not confuse with guitar" in banjo.guidance


def test_content_builds_the_same_graph_and_order_of_rows_is_kept():
    for seed in range(40):
        graph = random_graph(seed)
        again = build(json.loads(json.dumps(graph.content())))
        assert again == graph
        assert again.sha256 == graph.sha256


def test_yaml_and_json_say_the_same(tmp_path):
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(SMALL))
    (tmp_path / "a.json").write_text(json.dumps(SMALL))

    graphs = [build(replaying.read(tmp_path / name)) for name in ("a.yaml", "a.json")]

    assert graphs[0].sha256 == graphs[1].sha256 == build(SMALL).sha256


def test_children_alone_give_the_parents():
    raw = {
        "nodes": [
            {"id": "a", "question": "a", "children": ["b", "c"]},
            {"id": "b", "question": "b", "class": "n1"},
            {"id": "c", "question": "c", "wnid": "n2", "wn_lemmas": ["see"]},
        ]
    }

    graph = build(raw)

    assert graph.roots == ("a",)
    assert graph.node("c").parents == ("a",)
    assert graph.node("c").synonyms == ("see",)


def test_a_changed_graph_tells_what_changed(small):
    raw = copy.deepcopy(SMALL)
    raw["nodes"][2]["question"] = "domestic cat"
    raw["nodes"][-1]["id"] = "people"

    diff = small.diff(build(raw))

    assert diff["added"] == ["people"]
    assert diff["removed"] == ["person"]
    assert diff["changed"] == [{"id": "cat", "fields": ["question"]}]


@pytest.mark.parametrize(
    ("text", "line"),
    [('{"nodes": [\n{"id": }]}', 2), ("nodes:\n  - id: [a\n", 3), ("just words", None)],
)
def test_an_unreadable_file_is_refused_with_its_line(tmp_path, text, line):
    path = tmp_path / "graph.yaml"
    path.write_text(text)

    with pytest.raises(BadInput) as refused:
        replaying.read(path)

    assert refused.value.line == line
    assert refused.value.file == str(path)


# Faults


def changed(**changes):
    """SMALL with fields of nodes changed; a node that is None goes."""
    raw = copy.deepcopy(SMALL)
    for row in list(raw["nodes"]):
        change = changes.get(row["id"], {})
        if change is None:
            raw["nodes"].remove(row)
        else:
            row |= change
    return raw


@for_each(
    ("raw", "message"),
    [
        (changed(mammal={"parents": ["cat"]}), "mammal → cat → mammal"),
        (changed(bird={"parents": ["birds"]}), "bird: its parent birds is not in the graph"),
        (changed(bird={"parents": ["bird"]}), "bird: a leaf that no root leads to"),
        (changed(bird={"id": "cat"}), "cat: the id occurs twice"),
        (changed(bird={"class": "n1"}), "bird: its class n1 is that of cat already"),
        (changed(mammal={"class": "n9"}), "mammal: a leaf (class n9) that is the parent of cat"),
        (changed(bird={"class": None}), "bird: has neither children nor a class"),
        (changed(bird={"question": "  "}), "bird: the question is empty"),
        (changed(bird={"id": "b" * 65}), "the id has 65 characters"),
        (changed(bird={"parents": "animal"}), "bird: parents is not a list"),
        (changed(bird={"parents": ["animal", "animal"]}), "bird: parents names animal twice"),
        (changed(bird={"class": "cat"}), "bird: its class cat is the id of another node"),
        (changed(bird={"id": None}), "Node 5 of the list has no id"),
        (changed(hat={"children": ["helmet"]}), "cap: names the parent hat, whose children"),
        (changed(hat={"children": ["cap", "helmet", "dog"]}), "hat: names the child dog"),
        ({"nodes": []}, "no nodes"),
        ({}, "no nodes"),
        ({"nodes": ["a"]}, "Node 1 of the list has no id"),
    ],
)
def test_a_fault_is_named_with_its_node(raw, message):
    with pytest.raises(GraphError) as refused:
        build(raw)

    assert any(message in fault for fault in refused.value.faults), refused.value.message
    assert isinstance(refused.value, Refusal)
    assert refused.value.field == "graph"


def test_all_faults_are_told_at_once_up_to_twenty():
    raw = changed(bird={"question": ""}, dog={"class": "n1"}, person={"parents": ["nobody"]})
    many = {"nodes": [{"id": f"q{i}", "question": ""} for i in range(30)]}

    with pytest.raises(GraphError) as refused:
        build(raw)
    with pytest.raises(GraphError) as long:
        build(many)

    assert {fault.split(":")[0] for fault in refused.value.faults} == {"bird", "dog", "person"}
    assert len(long.value.message.splitlines()) == 21
    assert long.value.message.endswith("and 40 more")


def test_text_is_one_line_that_any_database_takes():
    graph = build(changed(bird={"question": "bird\x00s\n of \ud800 prey", "name": ["bird"]}))

    assert graph.node("bird").question == "birds of ? prey"
    assert graph.node("bird").name == ""
    assert len(graph.sha256) == 64


# Gold and given labels


def test_gold_that_contradicts_the_graph_is_named(small):
    rows = [
        ("a.jpg", "n1", "yes"),
        ("a.jpg", "animal", "no"),
        ("b.jpg", "animal", "no"),
        ("b.jpg", "mammal", "no"),
        ("c.jpg", "person", "yes"),
        ("c.jpg", "n6", "no"),
        ("d.jpg", "fish", "no"),
    ]

    conflicts = replaying.gold_conflicts(small, rows)

    assert [sentence.split(":")[0] for sentence in conflicts] == ["c.jpg", "d.jpg", "a.jpg"]
    assert "cat is yes, but animal" in conflicts[-1]


@pytest.mark.parametrize(("mode", "count"), [("safe", 0), ("strict", 1)])
def test_gold_of_a_shared_child_may_have_one_no_above_in_safe_mode(small, mode, count):
    rows = [("a", "cap", "yes"), ("a", "swim", "no"), ("a", "hat", "yes")]

    assert len(replaying.gold_conflicts(small, rows, mode)) == count
    assert len(replaying.gold_conflicts(small, [*rows[:2], ("a", "hat", "no")], mode)) == 1


def test_given_labels_outside_the_graph_are_refused_with_row_and_cure(small):
    rows = [("a", "n1", "yes"), ("a", "mamal", "yes"), ("a", "n2", "maybe"), ("a", "animal", "no")]

    with pytest.raises(Refusal) as refused:
        replaying.check_given(small, rows)

    lines = refused.value.message.splitlines()
    assert lines[0].startswith("Row 2: class 'mamal' is not in the graph; did you mean 'mammal'")
    assert lines[1].startswith("Row 3:")
    assert "write yes or no" in lines[1]
    assert lines[2].startswith("Row 1: cat of a is yes, but animal, above it, is no")
    assert replaying.check_given(small, [("a", "n1", "yes"), ("b", "animal", "no")]) is None
