import pytest

from labeling.campaigns import lifecycle
from labeling.consensus import calibrating, calibration_store, settling
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking
from labeling.quality import piloting
from tests import factories
from tests.labeling.crowd import vote

ADAPTIVE = {
    "method": "vote-table",
    "target_error": 0.005,
    "target_rule": "model",
    "max_votes": 9,
    "gold_share": 0,
    "page_size": 50,
}
COOT = "n02018207"


@pytest.fixture
def pond(alice, dataset):
    """Twenty questions of coots and five of ducks."""
    campaign = factories.make_campaign(alice, dataset, "pond", images=20, policy=ADAPTIVE)
    lifecycle.define_topics(campaign, [{"key": "duck", "name": "duck"}])
    for index in range(5):
        factories.make_image(dataset, f"duck/{index}.png")
    asking.add_questions(campaign, [(f"duck/{index}.png", "duck") for index in range(5)])
    return campaign


def join(campaign, count):
    crowd = [factories.make_user(f"{campaign.name}{index}") for index in range(count)]
    for person in crowd:
        factories.join(person, campaign)
    return crowd


def test_a_random_sample_of_every_topic_wants_ten_votes(pond, alice):
    assert piloting.ask_pilot(pond, alice, 4, seed=1) == 8

    questions = pond.questions.filter(policy__version=2)
    assert questions.filter(topic=COOT).count() == questions.filter(topic="duck").count() == 4
    assert set(questions.values_list("seats_free", flat=True)) == {10}
    rest = pond.questions.filter(policy__version=1)
    assert set(rest.values_list("seats_free", flat=True)) == {2}
    pond.refresh_from_db()
    assert pond.policy.version == 1
    decision = pond.decisions.get(content__has_key="pilot")
    assert decision.content == {"pilot": 8, "version": 2, "seed": 1}


def test_a_pilot_asks_for_all_ten_votes_whatever_the_first_say(alice, dataset):
    pond = factories.make_campaign(
        alice, dataset, "pond", images=1, policy={"stop_early": "decided"}
    )
    piloting.ask_pilot(pond, alice, 1, seed=1)

    for person in join(pond, 9):
        vote(person, pond, "yes")
    assert pond.questions.get().state == "open"
    assert pond.policies.get(version=2).content["stop_early"] == "never"


def test_a_pilot_from_before_a_key_came_is_not_asked_again(pond, alice):
    piloting.ask_pilot(pond, alice, 4, seed=1)
    for policy in pond.policies.all():
        del policy.content["stop_early"]
        policy.save()

    assert piloting.ask_pilot(pond, alice, 4, seed=1) == 0
    assert pond.policies.count() == 2


def test_the_same_seed_adds_nothing_and_another_one_draws_others(pond, alice):
    piloting.ask_pilot(pond, alice, 4, seed=1)
    first = set(pond.questions.filter(policy__version=2).values_list("pk", flat=True))

    assert piloting.ask_pilot(pond, alice, 4, seed=1) == 0
    assert piloting.ask_pilot(pond, alice, 4, seed=2) > 0

    now = set(pond.questions.filter(policy__version=2).values_list("pk", flat=True))
    assert first < now
    assert pond.policies.count() == 2


def test_settled_questions_come_back_for_the_votes_they_lack(pond, alice):
    crowd = join(pond, 4)
    for person in crowd:
        vote(person, pond, "yes")
    assert set(pond.questions.values_list("state", flat=True)) == {"settled"}

    piloting.ask_pilot(pond, alice, 5, seed=3)

    again = pond.questions.filter(policy__version=2)
    assert set(again.values_list("state", "seats_free")) == {("open", 6)}
    assert list(settling.rebuild(pond)) == []


def test_a_pilot_that_is_answered_gives_a_table_for_every_topic(pond, alice):
    piloting.ask_pilot(pond, alice, 5, seed=3)
    for index, person in enumerate(join(pond, 10)):
        vote(person, pond, "no" if index == 0 else "yes")

    calibrating.calibrate(pond)

    assert set(calibration_store.in_force(pond).tables) == {COOT, "duck"}
    assert list(settling.rebuild(pond)) == []


def test_a_new_policy_follows_the_one_in_force_not_the_pilots(pond, alice):
    piloting.ask_pilot(pond, alice, 2, seed=1)
    content = pond.policies.get(version=2).content

    same = lifecycle.change_policy(pond, alice, ADAPTIVE)
    changed = lifecycle.change_policy(pond, alice, content)

    assert same.version == 1
    assert changed.version == 3
    pond.refresh_from_db()
    assert pond.policy == changed


def test_a_pilot_of_nothing_or_of_a_closed_campaign_is_refused(pond, alice):
    with pytest.raises(Refusal, match="1 to 10000"):
        piloting.ask_pilot(pond, alice, 0, seed=1)
    lifecycle.change_state(pond, alice, "close")
    with pytest.raises(Conflict, match="closed"):
        piloting.ask_pilot(pond, alice, 3, seed=1)
    assert pond.policies.count() == 1


def test_the_price_is_known_before_and_counts_the_votes_that_are_there(pond, alice):
    for person in join(pond, 4):
        vote(person, pond, "yes")

    plan = piloting.plan(pond, 5, seed=3)

    assert (plan.questions, plan.answers) == (10, 10 * (10 - 4))
    assert pond.policies.count() == 1
    assert piloting.ask_pilot(pond, alice, 5, seed=3) == plan.questions
    again = piloting.plan(pond, 5, seed=3)
    assert (again.questions, again.answers, again.cost) == (0, 0, 0)


def test_the_state_says_what_is_decided_and_where_tables_are(pond, alice):
    nothing = piloting.state(pond)
    assert (nothing.questions, nothing.topics, nothing.missing) == (0, 0, [])
    piloting.ask_pilot(pond, alice, 5, seed=3)
    assert piloting.state(pond) == piloting.PilotProgress(10, 0, 2, 0, ["duck", "American coot"], 2)

    for person in join(pond, 10):
        vote(person, pond, "yes")
    calibrating.calibrate(pond)

    state = piloting.state(pond)
    assert (state.questions, state.decided, state.tables) == (10, 10, 2)
    assert state.missing == []


def test_the_job_asks_the_pilot_and_running_it_twice_asks_nothing_more(pond, alice, run_jobs):
    job = piloting.enqueue_pilot(pond, alice, 4, 7)
    assert piloting.enqueue_pilot(pond, alice, 4, 7) == job
    run_jobs()

    assert piloting.state(pond).questions == 8
    assert pond.decisions.get(content__has_key="pilot").actor == alice
    piloting.execute(job)
    assert piloting.state(pond).questions == 8
    assert pond.decisions.filter(content__has_key="pilot").count() == 1


def test_a_campaign_where_classes_are_named_has_no_pilot(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, images=2)
    campaign.kind = "naming"
    campaign.settings = {"vocabulary": [{"key": "a", "name": "a"}, {"key": "b", "name": "b"}]}
    campaign.save()

    for action in (
        lambda: piloting.plan(campaign, 1, 0),
        lambda: piloting.enqueue_pilot(campaign, alice, 1, 0),
        lambda: piloting.ask_pilot(campaign, alice, 1, 0),
    ):
        with pytest.raises(Refusal, match="yes and no"):
            action()
