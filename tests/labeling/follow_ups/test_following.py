"""What a settled question opens and closes, and that nothing is asked image by image."""

from importlib import import_module

import numpy as np
import pytest
from django.apps import apps

from labeling.campaigns import lifecycle
from labeling.consensus import calibrating
from labeling.errors import Conflict, Refusal
from labeling.exchange import prior_labels
from labeling.follow_ups import asking, following
from labeling.graphs import learned_order, store
from labeling.models import Job, Question, Seat, Settlement
from labeling.quality import gold
from labeling.question_graph import ordering
from tests import factories
from tests.labeling.crowd import query_count
from tests.labeling.hierarchies import (
    GRAPH,
    ROOTS,
    follow,
    item,
    labels,
    lease,
    make,
    open_nodes,
    question,
    reopen,
    settle,
    states_of,
)


@pytest.fixture
def home(alice, dataset):
    return make(alice, dataset)


def test_every_image_is_asked_the_roots_topic_by_topic(home):
    rows = list(home.questions.order_by("ticket").values_list("topic", "item__image__name"))

    assert rows == [(node, f"{image}.png") for node in ROOTS for image in (0, 1)]
    first = home.questions.first()
    assert (first.graph, first.seats_free, first.lane) == (home.graph, 1, Question.Lane.FRESH)


def test_opening_images_twice_asks_nothing_twice(home):
    assert following.open_images(home) == 0
    assert home.questions.count() == 8


def test_images_can_be_named(alice, dataset):
    campaign = make(alice, dataset, images=3, opened=False)

    assert following.open_images(campaign, ["2.png", "0.png", "2.png"]) == 8
    assert set(campaign.questions.values_list("item__image__name", flat=True)) == {"0.png", "2.png"}


def test_an_image_that_is_not_there_opens_nothing(alice, dataset):
    campaign = make(alice, dataset, opened=False)

    with pytest.raises(Refusal, match=r"1 of the images are not in pond: 9.png"):
        following.open_images(campaign, ["0.png", "9.png"])

    assert not campaign.questions.exists()


def test_a_closed_campaign_opens_no_images(home, alice):
    lifecycle.change_state(home, alice, "close")
    home.refresh_from_db()

    with pytest.raises(Conflict, match="closed"):
        following.open_images(home)


def test_yes_asks_the_children_in_lane_0_and_no_closes_them(home):
    settle(home, animal="yes")
    settle(home, 1, animal="no")

    done = following.advance(home)

    assert (done.images, done.opened, done.withdrawn) == (2, 2, 0)
    assert open_nodes(home) == ["kitchen", "electric", "person", "dog", "cat"]
    assert open_nodes(home, 1) == ["kitchen", "electric", "person"]
    dog = question(home, "dog")
    assert (dog.lane, dog.seats_free, dog.graph_id) == (0, 1, home.graph_id)
    assert labels(home, 1)["n02084071"] == ("no", "inherited")
    assert labels(home, 1)["n03147509"] == ("unknown", None)


def test_advancing_twice_does_nothing_more(home):
    follow(home, animal="yes")
    before = list(home.questions.order_by("pk").values())

    assert following.advance(home).images == 0

    Question.objects.filter(campaign=home).update(follow_up=True)
    again = following.advance(home)
    assert (again.images, again.opened, again.returned, again.withdrawn) == (2, 0, 0, 0)
    assert list(home.questions.order_by("pk").values()) == before


def test_nobody_could_tell_so_the_children_are_asked_all_the_same(home):
    settle(home, animal="dropped")

    following.advance(home)

    assert {"dog", "cat"} <= set(open_nodes(home))


def test_a_leaf_that_nobody_could_tell_is_unknown(home):
    settle(home, person="dropped")

    following.advance(home)

    assert labels(home)["n00007846"] == ("unknown", "explicit")


def test_children_wait_while_a_reviewer_decides(home):
    settle(home, animal=None)

    following.advance(home)

    assert not {"dog", "cat"} & set(states_of(home))


def test_safe_mode_closes_a_shared_child_with_its_last_parent(home):
    settle(home, kitchen="no")
    follow(home, 1, kitchen="no", electric="no")
    assert labels(home)["n03862676"] == ("unknown", None)
    assert labels(home, 1)["n03862676"] == ("no", "inherited")

    follow(home, electric="yes")

    assert {"oven", "lamp"} <= set(open_nodes(home))


def test_strict_mode_closes_a_shared_child_with_its_first_no(alice, dataset):
    campaign = make(alice, dataset, mode="strict")
    follow(campaign, electric="yes")
    assert states_of(campaign)["oven"] == "open"

    follow(campaign, kitchen="no")

    assert states_of(campaign)["oven"] == "withdrawn"
    assert labels(campaign)["n03862676"] == ("no", "inherited")


def test_strict_mode_keeps_what_was_answered_before_the_no(alice, dataset):
    campaign = make(alice, dataset, mode="strict")
    follow(campaign, electric="yes")
    settle(campaign, oven="yes", kitchen="no")

    following.advance(campaign)

    assert labels(campaign)["n03862676"] == ("yes", "explicit")


def test_strict_mode_has_its_labels_back_when_a_block_is_lifted(alice, dataset):
    campaign = make(alice, dataset, mode="strict")
    follow(campaign, electric="yes")
    follow(campaign, oven="yes", kitchen="no")
    before = labels(campaign)
    reopen(campaign, "electric")
    following.advance(campaign)
    assert states_of(campaign)["oven"] == "withdrawn"

    follow(campaign, electric="yes")
    # No people answered here, so what comes back is settled by hand.
    follow(campaign, oven="yes")

    assert labels(campaign) == before


def test_a_question_that_opens_again_takes_all_below_it_away_with_its_seats(home, bob):
    factories.join(bob, home)
    follow(home, animal="yes")
    follow(home, dog="yes")
    seat = lease(bob, question(home, "cat"))

    reopen(home, "animal")
    done = following.advance(home)

    assert done.withdrawn == 2
    assert states_of(home)["dog"] == states_of(home)["cat"] == "withdrawn"
    assert question(home, "cat").seats_free == 0
    seat.refresh_from_db()
    assert seat.state == Seat.State.CLOSED
    assert labels(home)["n02084071"] == ("unknown", None)


def test_what_was_withdrawn_comes_back_with_its_answers(home, bob, alice):
    from tests.labeling.crowd import answer_all

    factories.join(bob, home)
    factories.join(alice, home) if not home.memberships.filter(user=alice).exists() else None
    answer_all(bob, home, "yes")
    Question.objects.filter(campaign=home).update(follow_up=True)
    following.advance(home)
    answer_all(bob, home, "yes")
    settled = set(home.questions.filter(state="settled").values_list("topic", flat=True))
    assert settled == {node["id"] for node in GRAPH["nodes"]}
    reopen(home, "animal")
    following.advance(home)
    assert states_of(home)["dog"] == "withdrawn"

    settle(home, animal="yes")
    done = following.advance(home)

    assert done.returned == 2
    dog = question(home, "dog")
    assert (dog.state, dog.seats_free) == ("settled", 0)
    assert dog.settlements.latest("pk").answers == dog.settlements.earliest("pk").answers
    assert labels(home)["n02084071"] == ("yes", "explicit")


def test_a_reviewers_verdict_comes_back_as_it_stood(home):
    follow(home, animal="yes")
    settle(home, dog="yes")
    Settlement.objects.filter(question=question(home, "dog")).update(reviewed=True)
    reopen(home, "animal")
    following.advance(home)

    follow(home, animal="yes")

    assert states_of(home)["dog"] == "settled"
    assert question(home, "dog").settlements.count() == 1


def test_what_came_back_without_answers_is_asked_afresh(home):
    follow(home, animal="yes")
    reopen(home, "animal")
    following.advance(home)
    settle(home, animal="yes")

    following.advance(home)

    dog = question(home, "dog")
    assert (dog.state, dog.seats_free, dog.lane) == ("open", 1, 0)


def test_nothing_opens_below_what_has_not_yet_come_back(alice, dataset):
    raw = {
        "nodes": [
            {"id": "animal", "question": "an animal"},
            {"id": "mammal", "question": "a mammal", "parents": ["animal"]},
            {"id": "dog", "question": "a dog", "class": "n02084071", "parents": ["mammal"]},
        ]
    }
    campaign = make(alice, dataset, raw=raw)
    for node in ("animal", "mammal", "dog"):
        follow(campaign, **{node: "yes"})
    reopen(campaign, "animal")
    following.advance(campaign)
    assert states_of(campaign) == {"animal": "open", "mammal": "withdrawn", "dog": "withdrawn"}

    # The mammal has no answers any more: it is asked again, and the dog waits for it.
    follow(campaign, animal="yes")

    assert states_of(campaign) == {"animal": "settled", "mammal": "open", "dog": "withdrawn"}


def test_a_given_label_starts_the_image_below_its_ancestors(alice, dataset):
    campaign = make(alice, dataset, opened=False)
    prior_labels.add(
        dataset, [{"image": "0.png", "key": "n02084071", "value": "yes"}], "localization"
    )

    following.open_images(campaign)

    assert open_nodes(campaign) == ["kitchen", "electric", "person", "cat"]
    assert open_nodes(campaign, 1) == ROOTS
    assert labels(campaign)["n02084071"] == ("yes", "given")


def test_a_given_label_that_comes_later_is_followed_too(home, run_jobs):
    prior_labels.add(
        home.dataset, [{"image": "0.png", "key": "n02084071", "value": "yes"}], "later"
    )

    run_jobs()

    assert states_of(home)["animal"] == "withdrawn"
    assert states_of(home)["cat"] == "open"


def test_siblings_of_a_class_given_later_stay_asked(home, run_jobs):
    row = {"image": "0.png", "key": "n02084071", "value": "yes"}
    prior_labels.add(home.dataset, [row], "later")
    run_jobs()

    follow(home, person="no")
    prior_labels.add(home.dataset, [row], "another source")
    run_jobs()

    assert states_of(home)["cat"] == "open"


def test_the_migration_asks_siblings_that_were_withdrawn_unasked(home, alice, dataset, run_jobs):
    closed = make(alice, dataset, name="closed")
    lifecycle.change_state(closed, alice, "close")
    row = {"image": "0.png", "key": "n02084071", "value": "yes"}
    prior_labels.add(home.dataset, [row], "later")
    run_jobs()
    factories.put(home, [question(home, "cat").pk], state="withdrawn", seats_free=0)
    Job.objects.all().delete()

    migration = import_module("labeling.migrations.0032_plan_graph_campaigns_again")
    for _ in range(2):
        migration.plan_again(apps, None)
    assert list(Job.objects.values_list("kind", "campaign")) == [("look again", home.pk)]
    run_jobs()

    assert (question(home, "cat").state, question(home, "cat").seats_free) == ("open", 1)


def test_a_given_no_closes_its_class(home, run_jobs):
    prior_labels.add(home.dataset, [{"image": "0.png", "key": "n00007846", "value": "no"}], "later")

    run_jobs()

    assert states_of(home)["person"] == "withdrawn"
    assert labels(home)["n00007846"] == ("no", "given")


def test_gold_in_use_is_known_and_not_asked(alice, dataset):
    campaign = make(alice, dataset, opened=False)
    gold.add_gold(campaign, alice, [{"image": "0.png", "topic": "animal", "answer": "no"}])

    following.open_images(campaign)

    assert open_nodes(campaign) == ["kitchen", "electric", "person"]
    assert campaign.questions.get(state="gold").graph_id == campaign.graph_id


def test_retired_gold_is_asked_after_all(alice, dataset, run_jobs):
    campaign = make(alice, dataset, opened=False)
    gold.add_gold(campaign, alice, [{"image": "0.png", "topic": "animal", "answer": "no"}])
    following.open_images(campaign)
    lifecycle.launch(campaign, alice)

    gold.retire_gold(campaign, alice, campaign.questions.get(state="gold").pk)
    run_jobs()

    assert "animal" in open_nodes(campaign)


def test_questions_are_opened_and_withdrawn_by_the_graph_alone(home, alice):
    with pytest.raises(Refusal, match="come from its graph"):
        asking.add_questions(home, [("0.png", "dog")])
    with pytest.raises(Refusal, match="from the graph instead"):
        asking.withdraw_questions(home, [question(home, "animal").pk], alice, "no animals")


def test_depth_first_asks_one_question_of_an_image_at_a_time(alice, dataset):
    campaign = make(alice, dataset, order="depth")
    assert open_nodes(campaign) == ["animal"]
    follow(campaign, animal="yes")
    assert open_nodes(campaign) == ["dog"]
    follow(campaign, dog="no")
    assert open_nodes(campaign) == ["cat"]
    settle(campaign, cat="no")

    following.advance(campaign)

    assert open_nodes(campaign) == ["kitchen"]


def test_learned_order_is_breadth_first_until_something_was_learned(alice, dataset):
    campaign = make(alice, dataset, order="learned")

    assert open_nodes(campaign) == ROOTS


def test_learned_order_asks_the_question_that_promises_most_labels_a_second(
    alice, dataset, monkeypatch
):
    campaign = make(alice, dataset, order="learned", opened=False)
    graph = store.load_graph(campaign)
    # On 100 images there was never an animal, mostly a person, and half the time a kitchen.
    labels = np.zeros((100, len(graph.nodes)), np.int8)
    labels[:90, graph.index["person"]] = 1
    labels[:50, [graph.index["kitchen"], graph.index["cup"]]] = 1
    statistics = ordering.learn(graph, labels).to_json()
    monkeypatch.setattr(learned_order, "statistics", lambda campaign: statistics)
    calibrating.calibrate(campaign)
    campaign.refresh_from_db()

    following.open_images(campaign)
    lifecycle.launch(campaign, alice)
    assert open_nodes(campaign) == ["animal"]

    follow(campaign, animal="no")
    assert len(open_nodes(campaign)) == 1
    assert open_nodes(campaign, 1) == ["animal"]


def test_a_new_mode_looks_at_every_image_again(alice, dataset, run_jobs):
    campaign = make(alice, dataset, mode="strict")
    follow(campaign, electric="yes", kitchen="no")
    assert "oven" not in states_of(campaign)

    lifecycle.change(campaign, alice, settings={"mode": "safe"})
    run_jobs()

    assert states_of(campaign)["oven"] == "open"


def test_a_graph_that_changes_asks_the_new_and_withdraws_the_old(home, alice, run_jobs):
    follow(home, animal="yes")
    nodes = [node for node in GRAPH["nodes"] if node["id"] not in ("person", "cat")]
    nodes.append({"id": "bird", "question": "a bird", "class": "n01503061", "parents": ["animal"]})
    nodes.append({"id": "plant", "question": "a plant", "class": "n00017222"})

    store.define(home, alice, {**GRAPH, "nodes": nodes})
    run_jobs()

    assert states_of(home)["person"] == states_of(home)["cat"] == "withdrawn"
    assert states_of(home)["bird"] == states_of(home)["plant"] == "open"
    assert states_of(home, 1)["plant"] == "open"
    assert "bird" not in states_of(home, 1)
    assert question(home, "bird").graph.version == 2
    assert not home.questions.filter(follow_up=True).exists()


def test_the_job_follows_up_what_is_flagged(home, run_jobs):
    settle(home, animal="yes")
    for _ in following.flag_for_replanning(home, [item(home)]):
        pass

    run_jobs()

    assert "dog" in states_of(home)
    assert Job.objects.get(kind="advance").state == "done"


def test_a_closed_campaign_is_left_as_it_is(home, alice):
    settle(home, animal="yes")
    lifecycle.change_state(home, alice, "close")

    following.advance(home)

    assert "dog" not in states_of(home)
    assert labels(home, 0)["n02084071"] == ("unknown", None)


def _queries(images, alice, name):
    pond = factories.make_dataset(alice, name)
    for index in range(images):
        factories.make_image(pond, f"{index}.png")
    campaign = make(alice, pond, images=images, name=name, opened=False)
    opening = query_count(lambda: following.open_images(campaign))
    lifecycle.launch(campaign, alice)
    for index in range(images):
        settle(campaign, index, animal="yes", kitchen="no")
    followed = []
    advancing = query_count(lambda: followed.append(following.advance(campaign)))
    assert followed[0].images == images
    return opening, advancing


def test_queries_do_not_grow_with_images(alice):
    assert _queries(2, alice, "few") == _queries(24, alice, "many")
