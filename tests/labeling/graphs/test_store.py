"""A campaign's question graph: its versions, its topics and what its changes set going."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from labeling.campaigns import lifecycle
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import following
from labeling.graphs import store
from labeling.models import Decision, Job
from labeling.question_graph import replaying
from tests import factories
from tests.cases import for_each
from tests.labeling.hierarchies import GRAPH, POLICY, make


@pytest.fixture
def draft(alice, dataset):
    return lifecycle.create(
        alice, name="home", title="Home", kind="hierarchy", dataset=dataset, policy=POLICY
    )


def changed(**nodes):
    """The small graph with some nodes' fields changed; None takes a node out."""
    kept = [node | (nodes.get(node["id"]) or {}) for node in GRAPH["nodes"]]
    return {**GRAPH, "nodes": [node for node in kept if nodes.get(node["id"], {}) is not None]}


def test_the_first_version_makes_a_topic_of_every_node(draft, alice):
    version = store.define(draft, alice, GRAPH)

    draft.refresh_from_db()
    assert (version.version, draft.graph, version.created_by) == (1, version, alice)
    assert draft.topics.count() == 9
    animal = draft.topics.get(key="animal")
    assert (animal.name, animal.guidance) == ("an animal", "Not on a picture in the picture.")
    decision = draft.decisions.get(kind=Decision.Kind.GRAPH)
    assert decision.content == {"version": 1, "sha256": version.sha256}


def test_a_class_is_described_by_its_question_only_where_that_says_more_than_its_name(draft, alice):
    keys = {
        "dog": {"name": "dog"},
        "cat": {"name": "cat", "question": "Cat"},
        "cup": {"name": "cup", "question": "cup or mug (usually with a handle)"},
        "oven": {"name": "oven", "definition": "what one bakes in"},
    }

    store.define(draft, alice, changed(**keys))

    definitions = dict(draft.topics.filter(key__in=keys).values_list("key", "definition"))
    assert definitions == {
        "dog": "",
        "cat": "",
        "cup": "cup or mug (usually with a handle)",
        "oven": "what one bakes in",
    }


def test_the_same_graph_again_is_the_same_version(draft, alice):
    first = store.define(draft, alice, GRAPH)

    assert store.define(draft, alice, store.load_graph(draft).content()) == first
    assert draft.decisions.filter(kind=Decision.Kind.GRAPH).count() == 1


def test_a_change_is_the_next_version_and_says_how_much_it_changes(draft, alice):
    store.define(draft, alice, GRAPH)

    version = store.define(draft, alice, changed(person=None, dog={"name": "dog"}), "no people")

    decision = draft.decisions.filter(kind=Decision.Kind.GRAPH).latest("pk")
    assert version.version == 2
    assert {key: decision.content[key] for key in ("added", "removed", "changed")} == {
        "added": 0,
        "removed": 1,
        "changed": 1,
    }
    assert decision.reason == "no people"
    first, second = draft.graphs.order_by("version")
    assert second.pk == draft.graph_id
    assert store.load_graph(first).diff(store.load_graph(second))["removed"] == ["person"]


def test_guidance_written_on_a_topics_page_stays_until_the_node_changes(draft, alice):
    store.define(draft, alice, GRAPH)
    lifecycle.change_topic(draft, "dog", alice, guidance="No wolves.")
    lifecycle.change_topic(draft, "animal", alice, guidance="No toys.")

    store.define(draft, alice, changed(person=None))
    assert draft.topics.get(key="animal").guidance == "No toys."

    store.define(draft, alice, changed(animal={"guidance": "Living ones."}, dog={"name": "dog"}))
    assert draft.topics.get(key="animal").guidance == "Living ones."
    assert draft.topics.get(key="dog").guidance == "No wolves."


@for_each(
    ("raw", "words"),
    [
        (changed(animal={"parents": ["dog"]}), "is a cycle"),
        (changed(dog={"parents": ["beast"]}), "beast is not in the graph"),
        (changed(dog={"class": "n02121620"}), "n02121620"),
        ({"nodes": []}, "no nodes"),
    ],
)
def test_a_graph_with_a_fault_is_refused_and_nothing_changes(draft, alice, raw, words):
    store.define(draft, alice, GRAPH)

    with pytest.raises(Refusal, match=words):
        store.define(draft, alice, raw)

    draft.refresh_from_db()
    assert draft.graph.version == draft.graphs.count() == 1


def test_only_campaigns_of_the_kind_have_a_graph(coots, alice):
    with pytest.raises(Refusal, match="asks by no graph"):
        store.define(coots, alice, GRAPH)
    with pytest.raises(Refusal, match="no question graph yet"):
        store.load_graph(coots)


def test_a_closed_campaign_keeps_its_graph(alice, dataset):
    campaign = make(alice, dataset)
    lifecycle.change_state(campaign, alice, "close")

    with pytest.raises(Conflict, match="closed"):
        store.define(campaign, alice, changed(person=None))


def test_a_change_has_every_image_looked_at_only_where_something_was_asked(draft, alice, dataset):
    store.define(draft, alice, GRAPH)
    store.define(draft, alice, changed(person=None))
    assert not Job.objects.filter(kind="look again").exists()

    factories.make_image(dataset, "0.png")
    following.open_images(draft)
    store.define(draft, alice, GRAPH)

    assert Job.objects.get(kind="look again").campaign == draft


def test_a_graph_is_built_once_in_a_process(draft, alice):
    version = store.define(draft, alice, GRAPH)
    built = store.load_graph(draft)

    with CaptureQueriesContext(connection) as queries:
        assert (
            store.load_graph(draft)
            is store.load_graph(version.pk)
            is store.load_graph(version)
            is built
        )

    assert len(queries) == 2


def test_ilsvrcs_graph_loads_whole(draft, alice):
    store.define(draft, alice, store.load_ilsvrc())

    graph = store.load_graph(draft)
    assert (len(graph.nodes), len(graph.roots), len(graph.leaves)) == (245, 17, 200)
    assert draft.topics.count() == 245
    assert graph.sha256 == replaying.shipped("ilsvrc").sha256
