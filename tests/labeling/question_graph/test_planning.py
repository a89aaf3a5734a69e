"""What becomes of one image's questions, over random graphs, states and orders."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labeling.question_graph import planning, replaying
from labeling.question_graph.planning import AskedNode, GraphPlan

STATES = ("open", "review", "settled", "dropped", "withdrawn")


@st.composite
def graphs(draw: Any) -> replaying.QuestionGraph:
    """Up to ten nodes; each has up to two parents among those before it."""
    count = draw(st.integers(2, 10))
    parents = [
        draw(st.sets(st.integers(0, max(0, node - 1)), max_size=2)) if node else set()
        for node in range(count)
    ]
    inner = {parent for chosen in parents for parent in chosen}
    return replaying.build(
        {
            "nodes": [
                {
                    "id": f"q{node}",
                    "question": f"question {node}",
                    "parents": [f"q{parent}" for parent in sorted(parents[node])],
                    **({} if node in inner else {"class": f"c{node}"}),
                }
                for node in range(count)
            ]
        }
    )


@st.composite
def images(draw: Any) -> tuple[replaying.QuestionGraph, list[AskedNode], str]:
    graph = draw(graphs())
    nodes = draw(st.lists(st.sampled_from([node.id for node in graph.nodes]), unique=True))
    rows = []
    for index, node in enumerate(nodes):
        state = draw(st.sampled_from(STATES))
        value = draw(st.sampled_from(["yes", "no", None]))
        value = {"settled": value or "yes", "dropped": "unknown"}.get(state, value)
        rows.append(AskedNode(index, node, state, value, index + 1 if value else 0))
    return graph, rows, draw(st.sampled_from(replaying.MODES))


def _carried_out(asked_rows: list[AskedNode], plan: GraphPlan) -> list[AskedNode]:
    """The questions afterwards; what comes back with an answer is settled by it again."""
    rows = []
    for row in asked_rows:
        if row.id in plan.withdraw:
            row = row._replace(state="withdrawn")
        if row.id in plan.reopen:
            row = row._replace(state="open" if row.value is None else "settled")
        rows.append(row)
    new = [AskedNode(len(asked_rows) + index, node, "open") for index, node in enumerate(plan.open)]
    return rows + new


@given(images())
def test_plans_come_to_rest_and_then_ask_what_the_graph_asks(image):
    graph, rows, mode = image
    for _ in range(2 * len(graph.nodes) + 2):
        plan = planning.plan(graph, rows, mode)
        if not (plan.open or plan.reopen or plan.withdraw):
            break
        rows = _carried_out(rows, plan)
    else:
        raise AssertionError("the plans never come to rest")

    replay = planning.replay_current(graph, rows, mode)
    undecided = [row for row in rows if row.state in ("open", "review")]
    if mode == "strict" and any(row.value for row in undecided):
        # An answer that may come back keeps closing what it closed.
        return
    waiting = {row.node for row in undecided}
    assert waiting == set(replay.candidates)
    answered = {row.node for row in rows if row.decided}
    explicit = {node for node, (_, origin) in replay.settled.items() if origin == "explicit"}
    assert answered == explicit


@given(images())
def test_in_safe_mode_the_order_of_settling_changes_nothing(image):
    graph, rows, _ = image
    backwards = [row._replace(first=-row.first) for row in rows]

    assert planning.replay_current(graph, rows, "safe").settled == (
        planning.replay_current(graph, backwards, "safe").settled
    )


@given(images())
def test_one_at_a_time_opens_at_most_one_and_never_what_breadth_would_not(image):
    graph, rows, mode = image
    wide = planning.plan(graph, rows, mode)
    narrow = planning.plan(graph, rows, mode, choose=planning.depth)

    assert set(narrow.open) <= set(wide.open)
    assert len(narrow.open) <= 1
    assert narrow.withdraw == wide.withdraw


class _Image:
    """An image's questions and given labels, planned after every event."""

    def __init__(self, graph, mode, choose):
        self.graph, self.mode, self.choose = graph, mode, choose
        self.rows: list[AskedNode] = []
        self.given: dict[tuple[str, str], str] = {}
        self.moment = 0
        self.plan()

    @property
    def known(self):
        return planning.agreed((node, value) for (_, node), value in self.given.items())

    @property
    def open(self):
        return [row for row in self.rows if row.state == "open"]

    def answer(self, row, value):
        self.moment += 1
        first = row.first or self.moment
        state = "dropped" if value == "unknown" else "settled"
        self.rows[row.id] = row._replace(state=state, value=value, first=first)
        self.plan()

    def reopen(self, row):
        """Votes are missing after a block."""
        self.rows[row.id] = row._replace(state="open")
        self.plan()

    def bring_in(self, source, node, value):
        self.given[source, node] = value
        self.plan()

    def retire(self, source_and_node):
        del self.given[source_and_node]
        self.plan()

    def plan(self):
        for _ in range(2 * len(self.graph.nodes) + 2):
            made = planning.plan(self.graph, self.rows, self.mode, self.known, self.choose)
            self.rows = _carried_out(self.rows, made)
            if not made.reopen:
                break
        # What came back has settled: another plan finds nothing to do.
        assert (
            planning.plan(self.graph, self.rows, self.mode, self.known, self.choose) == GraphPlan()
        )


@st.composite
def histories(draw: Any) -> _Image:
    graph = draw(graphs())
    choose = draw(st.sampled_from([planning.breadth, planning.depth]))
    image = _Image(graph, draw(st.sampled_from(replaying.MODES)), choose)
    nodes = st.sampled_from([node.id for node in graph.nodes])
    values = st.sampled_from(["yes", "no", "unknown"])
    for event in draw(st.lists(st.sampled_from(["answer", "answer", "import", "block", "retire"]))):
        decided = [row for row in image.rows if row.decided]
        if event == "import":
            source = draw(st.sampled_from("ab"))
            image.bring_in(source, draw(nodes), draw(st.sampled_from(["yes", "no"])))
        elif event == "answer" and image.open:
            image.answer(draw(st.sampled_from(image.open)), draw(values))
        elif event == "retire" and image.given:
            image.retire(draw(st.sampled_from(sorted(image.given))))
        elif event == "block" and decided:
            image.reopen(draw(st.sampled_from(decided)))
    while image.open:
        image.answer(draw(st.sampled_from(image.open)), draw(values))
    return image


@given(histories())
def test_a_finished_image_has_every_class_asked_inherited_or_given(image):
    settled = planning.replay_current(image.graph, image.rows, image.mode, image.known).settled
    answered = {row.node for row in image.rows if row.decided}

    for leaf in image.graph.leaves:
        value, origin = settled[leaf]
        assert origin in ("inherited", "given") or (origin == "explicit" and leaf in answered)
        assert value != "unknown" or leaf in answered


@pytest.mark.parametrize("choose", [planning.breadth, planning.depth])
@pytest.mark.parametrize("mode", replaying.MODES)
def test_siblings_of_a_given_class_are_still_asked(mode, choose):
    image = _Image(replaying.build(THINGS), mode, choose)

    image.bring_in("a", "cup", "yes")
    while image.open:
        image.answer(image.open[0], "no" if image.open[0].node == "living" else "yes")

    answered = {row.node for row in image.rows if row.decided}
    assert answered == {"living", "moto", "rocket", "palace"}


THINGS = {
    "nodes": [
        {"id": "living", "question": "living thing", "parents": []},
        {"id": "cat", "question": "cat", "parents": ["living"], "class": "c1"},
        {"id": "made", "question": "thing made by people", "parents": []},
        *(
            {"id": name, "question": name, "parents": ["made"], "class": f"class of {name}"}
            for name in ("cup", "moto", "rocket", "palace")
        ),
    ]
}
