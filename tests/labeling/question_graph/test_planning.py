"""What becomes of one image's questions, over random graphs, states and orders."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from labeling.question_graph import planning, replaying
from labeling.question_graph.planning import Asked, Plan

STATES = ("open", "review", "settled", "dropped", "withdrawn")


@st.composite
def graphs(draw: Any) -> replaying.Graph:
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
def images(draw: Any) -> tuple[replaying.Graph, list[Asked], str]:
    graph = draw(graphs())
    nodes = draw(st.lists(st.sampled_from([node.id for node in graph.nodes]), unique=True))
    asked = []
    for place, node in enumerate(nodes):
        state = draw(st.sampled_from(STATES))
        value = draw(st.sampled_from(["yes", "no", None]))
        value = {"settled": value or "yes", "dropped": "unknown"}.get(state, value)
        asked.append(Asked(place, node, state, value, place + 1 if value else 0))
    return graph, asked, draw(st.sampled_from(replaying.MODES))


def _carried_out(asked: list[Asked], plan: Plan) -> list[Asked]:
    """The questions afterwards; what comes back with an answer is settled by it again."""
    rows = []
    for one in asked:
        if one.id in plan.withdraw:
            one = one._replace(state="withdrawn")
        if one.id in plan.reopen:
            one = one._replace(state="open" if one.value is None else "settled")
        rows.append(one)
    new = [Asked(len(asked) + place, node, "open") for place, node in enumerate(plan.open)]
    return rows + new


@given(images())
def test_plans_come_to_rest_and_then_ask_what_the_graph_asks(image):
    graph, asked, mode = image
    for _ in range(2 * len(graph.nodes) + 2):
        plan = planning.plan(graph, asked, mode)
        if not (plan.open or plan.reopen or plan.withdraw):
            break
        asked = _carried_out(asked, plan)
    else:
        raise AssertionError("the plans never come to rest")

    replay = planning.stand(graph, asked, mode)
    waiting = {one.node for one in asked if one.state in ("open", "review")}
    assert waiting == set(replay.candidates)
    answered = {one.node for one in asked if one.decided}
    explicit = {node for node, (_, origin) in replay.settled.items() if origin == "explicit"}
    assert answered == explicit


@given(images())
def test_in_safe_mode_the_order_of_settling_changes_nothing(image):
    graph, asked, _ = image
    backwards = [one._replace(first=-one.first) for one in asked]

    assert planning.stand(graph, asked, "safe").settled == (
        planning.stand(graph, backwards, "safe").settled
    )


@given(images())
def test_one_at_a_time_opens_at_most_one_and_never_what_breadth_would_not(image):
    graph, asked, mode = image
    wide = planning.plan(graph, asked, mode)
    narrow = planning.plan(graph, asked, mode, choose=planning.depth)

    assert set(narrow.open) <= set(wide.open)
    assert len(narrow.open) <= 1
    assert narrow.withdraw == wide.withdraw
