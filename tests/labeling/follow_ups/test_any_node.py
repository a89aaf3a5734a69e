"""Campaigns whose questions have a price: Algorithm 1 first, then any node that is worth asking."""

import uuid

import numpy as np
import pytest

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.consensus import calibrating, calibration_store, settling
from labeling.db import question_counts
from labeling.follow_ups import following
from labeling.graphs import learned_order, store
from labeling.models import Campaign, Question
from labeling.quality import blocking
from labeling.releases import freezing
from labeling.reports import forecasts
from tests import factories
from tests.labeling.hierarchies import make, open_nodes, settle, states_of

PRICE = 0.02
LEARNED = {"order": "learned", "price": PRICE}
CLASS = {
    "dog": "n02084071",
    "cat": "n02121620",
    "cup": "n03147509",
    "oven": "n03862676",
    "lamp": "n03636248",
    "person": "n00007846",
}
# An image is a kennel or a kitchen.
KENNEL, KITCHEN = {"dog", "cat"}, {"cup", "oven", "lamp"}


pytestmark = pytest.mark.usefixtures("afresh", "small")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(learned_order, "FIRST_SCENES", 40)


@pytest.fixture(scope="module")
def built(once):
    """A campaign of 42 images; the labels of 39 are settled."""
    with once():
        alice, _, dataset = factories.cast()
        campaign = make(alice, dataset, images=42, **LEARNED)
        finish(campaign, range(39))
    return campaign.pk


@pytest.fixture
def campaign(built, afresh):
    return Campaign.objects.select_related("dataset", "policy").get(pk=built)


@pytest.fixture
def photographs(alice):
    """An empty dataset."""
    return factories.make_dataset(alice, "photographs")


def truth(graph, image: int) -> set[str]:
    leaves = KENNEL if image % 2 else KITCHEN
    return leaves | {above for leaf in leaves for above in graph.ancestors(leaf)}


def finish(campaign, images) -> None:
    """Answers these images as they are until nothing of them is open."""
    graph = store.load_graph(campaign)
    images = list(images)
    while waiting := {image: nodes for image in images if (nodes := open_nodes(campaign, image))}:
        for image, nodes in waiting.items():
            there = truth(graph, image)
            settle(campaign, image, **{n: "yes" if n in there else "no" for n in nodes})
        following.advance(campaign)


def learn(campaign, images=range(40)) -> None:
    finish(campaign, images)
    calibrating.calibrate(campaign)
    campaign.refresh_from_db()


def released(campaign) -> dict[tuple[str, str], dict]:
    lines = freezing.read(freezing.freeze(campaign)).labels()
    return {(line["image"], line["wnid"]): line for line in lines}


def test_until_enough_images_are_finished_the_graph_asks(campaign):
    calibrating.calibrate(campaign)

    assert Question.objects.filter(campaign=campaign, state="open").count() == 3 * 4
    assert (
        calibration_store.CalibrationContent.from_json(
            campaign.calibrations.latest("pk").content
        ).scenes
        is None
    )


def test_from_then_on_one_question_of_an_image_is_open_and_the_others_are_withdrawn(
    campaign, run_jobs
):
    learn(campaign)

    run_jobs()

    states = states_of(campaign, 40)
    [node] = open_nodes(campaign, 40)
    roots = ("animal", "kitchen", "electric", "person")
    assert {states[root] for root in roots if root != node} == {"withdrawn"}
    # What is settled stays.
    assert set(states_of(campaign, 0).values()) == {"settled"}


def test_an_image_is_done_once_no_question_is_worth_its_price(campaign, run_jobs):
    learn(campaign)
    run_jobs()

    finish(campaign, [40, 41])

    settled = [v for v in states_of(campaign, 40).values() if v == "settled"]
    assert 0 < len(settled) < 4
    labels = released(campaign)
    for image in (40, 41):
        values = {c for c in CLASS if labels[f"{image}.png", CLASS[c]]["value"] == "yes"}
        assert values == (KENNEL if image % 2 else KITCHEN)


def test_labels_that_nobody_was_asked_about_are_inferred_with_a_probability(campaign, run_jobs):
    learn(campaign)
    run_jobs()
    finish(campaign, [40, 41])

    labels = released(campaign)

    inferred = [line for line in labels.values() if line["origin"] == "inferred"]
    assert {line["value"] for line in inferred} >= {"yes", "no"}
    assert all(line["probability"] > 0.5 for line in inferred if line["value"] != "unknown")
    people = [labels["0.png", CLASS[c]] for c in ("cup", "person")]
    assert {line["origin"] for line in people} == {"explicit"}


def test_what_is_not_sure_enough_is_unknown_never_no(campaign, run_jobs):
    learn(campaign)
    run_jobs()

    labels = released(campaign)

    waiting = [labels["40.png", CLASS[c]] for c in ("cup", "dog")]
    assert {(line["value"], line["decided"], line["probability"]) for line in waiting} == {
        ("unknown", False, None)
    }


def test_a_new_image_is_asked_one_question(campaign, run_jobs):
    learn(campaign)
    run_jobs()
    factories.make_image(campaign.dataset, "99.png")

    assert following.open_images(campaign, ["99.png"]) == 1


def test_calibrating_again_changes_nothing_until_half_as_many_more_are_finished(campaign, run_jobs):
    learn(campaign)
    run_jobs()
    before = campaign.calibration_id

    finish(campaign, [40, 41])
    calibrating.calibrate(campaign)
    campaign.refresh_from_db()

    latest = [
        calibration_store.CalibrationContent.from_json(row.content).scenes
        for row in campaign.calibrations.filter(pk__in=[before, campaign.calibration_id])
    ]
    assert latest[0] == latest[-1]
    assert not campaign.jobs.filter(kind="look again", state="queued").exists()


def test_advancing_twice_does_nothing_more(campaign, run_jobs):
    learn(campaign)
    run_jobs()
    finish(campaign, [40])
    before = list(campaign.questions.order_by("pk").values("pk", "state"))

    Question.objects.filter(campaign=campaign).update(follow_up=True)
    again = following.advance(campaign)

    assert (again.opened, again.returned, again.withdrawn) == (0, 0, 0)
    assert list(campaign.questions.order_by("pk").values("pk", "state")) == before


def test_the_curve_is_kept_with_the_scenes(campaign, run_jobs):
    learn(campaign)

    scenes = learned_order.scenes_of(campaign.calibration_id)

    assert [point.price for point in scenes.curve] == sorted(point.price for point in scenes.curve)
    assert PRICE in [point.price for point in scenes.curve]
    questions = np.array([point.questions for point in scenes.curve])
    assert (np.diff(questions) <= 1e-9).all()
    assert scenes.algorithm_1.questions > questions[-1]
    assert scenes.finished == 40


def test_a_release_of_the_same_answers_is_the_same_release(campaign, run_jobs):
    learn(campaign)
    run_jobs()
    finish(campaign, [40, 41])

    first, again = freezing.freeze(campaign), freezing.freeze(campaign)

    assert first.sha256 == again.sha256
    assert freezing.read(first).meta["files"]["scenes.json"]["lines"] == 1


def test_cost_to_come_goes_by_the_curve_once_it_is_known(campaign, run_jobs):
    counts = question_counts.of_campaign(campaign.pk)
    by_graph = forecasts.of_campaign(campaign, counts)
    assert by_graph.low < by_graph.high

    learn(campaign)
    run_jobs()

    counts = question_counts.of_campaign(campaign.pk)
    forecast = forecasts.of_campaign(campaign, counts)
    assert forecast.low == forecast.high <= max(by_graph.high, counts.questions)


@pytest.mark.parametrize(("method", "error"), [("majority", 0.02), ("posterior", 0.1)])
def test_answers_are_as_often_wrong_as_their_settlements_state(alice, photographs, method, error):
    policy = {"method": method}
    campaign = make(alice, photographs, name="house", images=40, policy=policy, **LEARNED)

    learn(campaign)

    assert learned_order.scenes_of(campaign.calibration_id).error == error


def test_without_a_price_learned_keeps_its_meaning(alice, photographs):
    campaign = make(alice, photographs, name="house", images=2, order="learned")

    calibrating.calibrate(campaign)

    campaign.refresh_from_db()
    content = calibration_store.CalibrationContent.from_json(campaign.calibration.content)
    assert content.scenes is None
    assert content.statistics is not None


def answer(person, campaign, run_jobs) -> None:
    """This person answers whatever is asked, truthfully, to the end."""
    graph = store.load_graph(campaign)
    while seats := claiming.next_page(person, campaign).seats:
        sent = []
        for seat in seats:
            there = truth(graph, int(seat.image_name.split(".")[0]))
            value = "yes" if seat.topic in there else "no"
            sent.append(submitting.SubmittedAnswer(uuid.uuid4(), seat.token, value, 900))
        submitting.submit(person, campaign, sent)
        run_jobs()


def test_a_block_and_its_lifting_leave_questions_labels_and_settlements(
    alice, bob, photographs, run_jobs, monkeypatch
):
    monkeypatch.setattr(learned_order, "FIRST_SCENES", 20)
    campaign = make(alice, photographs, name="house", images=20, **LEARNED)
    membership = factories.join(bob, campaign)
    answer(bob, campaign, run_jobs)
    calibrating.calibrate(campaign)
    campaign.refresh_from_db()
    run_jobs()
    for image in range(20, 26):
        factories.make_image(photographs, f"{image}.png")
    following.open_images(campaign)
    answer(bob, campaign, run_jobs)
    before = dict(campaign.questions.values_list("pk", "state"))
    labels = released(campaign)
    assert len(before) < 20 * 9 + 6 * 3
    assert list(settling.rebuild(campaign)) == []

    blocking.block(campaign, membership, alice, "answers at random")
    run_jobs()
    assert open_nodes(campaign, 25)
    membership.refresh_from_db()
    blocking.unblock(campaign, membership, alice, "it was somebody else")
    run_jobs()

    assert list(settling.rebuild(campaign)) == []
    assert released(campaign) == labels
    assert dict(campaign.questions.values_list("pk", "state")) == before
