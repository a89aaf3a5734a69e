from unittest.mock import patch

import pytest

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking
from labeling.models import Campaign, Question
from labeling.quality.gold import add_gold
from tests import factories
from tests.cases import for_each
from tests.labeling.crowd import answer

COOT = "n02018207"


def test_a_new_campaign_is_a_draft_run_by_its_owner(alice, dataset):
    campaign = lifecycle.create(
        alice, name="ducks", title="Ducks", kind="contains", dataset=dataset
    )

    assert campaign.state == "draft"
    assert campaign.policy.version == 1
    assert campaign.memberships.get().role == "researcher"


@for_each("name", ["", "Ducks", "a b", "../x", "new", "é", "x" * 81, "-a"])
def test_a_name_that_cannot_stand_in_an_address_is_refused(alice, dataset, name):
    with pytest.raises(Refusal) as refused:
        lifecycle.create(alice, name=name, title="T", kind="contains", dataset=dataset)

    assert refused.value.field == "name"
    assert not Campaign.objects.exists()


def test_a_name_twice_is_a_conflict(alice, coots, dataset):
    with pytest.raises(Conflict):
        lifecycle.create(alice, name="coots", title="T", kind="contains", dataset=dataset)


def test_an_unknown_kind_is_refused_with_the_known_ones(alice, dataset):
    with pytest.raises(Refusal, match="contains"):
        lifecycle.create(alice, name="x", title="T", kind="guess", dataset=dataset)


def test_a_question_named_twice_is_asked_once(coots, dataset):
    factories.make_image(dataset, "new.png")

    first = asking.add_questions(coots, [("new.png", COOT), ("new.png", COOT)])
    again = asking.add_questions(coots, [("new.png", COOT)])

    assert (first.created, again.created, again.existing) == (1, 0, 1)
    assert coots.questions.filter(item__image__name="new.png").count() == 1


def test_a_missing_image_asks_nothing_at_all(coots, dataset):
    factories.make_image(dataset, "new.png")
    before = coots.questions.count()

    added = asking.add_questions(coots, [("new.png", COOT), ("gone.png", COOT)])

    assert added.missing_images == ["gone.png"]
    assert coots.questions.count() == before


def test_a_topic_must_be_defined_before_it_is_asked(coots):
    with pytest.raises(Refusal) as refused:
        asking.add_questions(coots, [("coots/000.png", "n00000000")])

    assert refused.value.field == "topic"


def test_queries_do_not_grow_with_the_questions(coots, dataset, django_assert_max_num_queries):
    names = [f"many/{index}.png" for index in range(60)]
    for name in names:
        factories.make_image(dataset, name)

    with django_assert_max_num_queries(15):
        asking.add_questions(coots, [(name, COOT) for name in names])


def test_tickets_are_consecutive_and_never_repeat(coots, dataset):
    factories.make_image(dataset, "new.png")
    asking.add_questions(coots, [("new.png", COOT)])

    tickets = list(coots.questions.order_by("ticket").values_list("ticket", flat=True))

    assert tickets == list(range(1, 8))


def test_a_withdrawn_question_closes_its_seats_and_comes_back_with_its_answers(coots, alice, bob):

    from labeling.assignment import claiming

    page = claiming.next_page(bob, coots, 6)
    seat, second = page.seats[0], page.seats[1]
    answer(bob, coots, [seat])
    answered = Question.objects.get(seats__token=seat.token)
    leased = Question.objects.get(seats__token=second.token)

    asking.withdraw_questions(coots, [answered.pk, leased.pk], alice, "not needed")
    assert leased.seats.get().state == "closed"
    pairs = [(q.item.image.name, COOT) for q in (answered, leased)]
    asking.add_questions(coots, pairs)

    answered.refresh_from_db()
    leased.refresh_from_db()
    assert (answered.state, answered.seats_free) == ("open", 4)
    assert (leased.state, leased.seats_free) == ("open", 5)


def test_states_move_only_along_their_way(coots, alice):
    lifecycle.change_state(coots, alice, "pause")
    lifecycle.change_state(coots, alice, "pause")
    lifecycle.change_state(coots, alice, "resume")
    lifecycle.change_state(coots, alice, "close")

    assert coots.state == "closed"
    with pytest.raises(Conflict):
        lifecycle.change_state(coots, alice, "resume")
    states = list(coots.decisions.filter(kind="state").order_by("pk").values_list("content"))
    assert [content["state"] for (content,) in states] == [
        "draft",
        "open",
        "paused",
        "open",
        "closed",
    ]


def test_a_campaign_without_questions_cannot_be_launched(alice, dataset):
    campaign = lifecycle.create(alice, name="e", title="E", kind="contains", dataset=dataset)

    with pytest.raises(Conflict, match="asks nothing"):
        lifecycle.launch(campaign, alice)


def test_a_changed_policy_is_the_next_version_and_open_questions_keep_theirs(coots, alice):
    old = coots.policy

    policy = lifecycle.change_policy(coots, alice, {"votes": 3})
    same = lifecycle.change_policy(coots, alice, {"votes": 3})

    assert (policy.version, same.pk) == (2, policy.pk)
    assert set(coots.questions.values_list("policy", flat=True)) == {old.pk}


def test_new_questions_follow_the_policy_of_the_moment(coots, alice, dataset):
    lifecycle.change_policy(coots, alice, {"votes": 3})
    factories.make_image(dataset, "new.png")

    asking.add_questions(coots, [("new.png", COOT)])

    assert coots.questions.get(item__image__name="new.png").seats_free == 3


def test_the_estimate_is_questions_times_votes_times_seconds():
    policy = {
        "votes": 5,
        "gold_share": 0.0,
        "seconds_per_answer": 3.6,
        "cost_per_hour": 20.0,
        "currency": "EUR",
    }

    estimate = lifecycle.estimate(200, policy)

    assert estimate.answers == 1000
    assert estimate.hours == pytest.approx(1.0)
    assert estimate.cost == pytest.approx(20.0)
    assert estimate.gold == 0
    assert lifecycle.estimate(200, policy | {"gold_share": 0.2}).gold == 250


def test_an_example_must_come_from_the_campaigns_dataset(coots, alice):
    stranger = factories.make_image(factories.make_dataset(alice, "other"), "x.png")

    with pytest.raises(Refusal) as refused:
        lifecycle.add_example(coots, COOT, stranger, "yes")

    assert refused.value.field == "image"


def test_a_question_that_came_back_meanwhile_is_not_opened_again(coots, alice, bob):
    question = coots.questions.first()
    asking.withdraw_questions(coots, [question.pk], alice, "not needed")
    pair = (question.item.image.name, question.topic)
    existing = asking._existing_questions(coots, [question.item_id])
    asking.add_questions(coots, [pair])
    claiming.next_page(bob, coots)

    # Somebody who looked before the question came back, and writes after Bob took his seat.
    with patch.object(asking, "_existing_questions", return_value=existing):
        asking.add_questions(coots, [pair])

    question.refresh_from_db()
    assert question.seats_free == 4


def test_gold_alone_is_nothing_to_launch(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, launch=False)
    factories.make_image(dataset, "gold.png")
    row = {"image": "gold.png", "topic": COOT, "answer": "yes"}
    add_gold(campaign, alice, [row])

    with pytest.raises(Conflict, match="asks nothing"):
        lifecycle.launch(campaign, alice)
