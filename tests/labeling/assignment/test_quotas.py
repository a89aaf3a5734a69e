import pytest
from django.urls import reverse

from labeling.assignment import claiming, quotas
from labeling.campaigns import lifecycle
from labeling.errors import Refusal
from labeling.follow_ups import asking
from labeling.models import Answer, Decision, Gold, Membership, Question
from tests import factories
from tests.cases import for_each
from tests.clients import program
from tests.labeling.crowd import send

TOPICS = ("cat", "cow", "dog")


@pytest.fixture
def farm(alice, bob, dataset):
    """Thirty images, each asked about one of three topics in turn; Bob labels."""
    campaign = factories.make_campaign(
        alice, dataset, "farm", policy={"votes": 1, "gold_share": 0, "page_size": 4}, launch=False
    )
    lifecycle.define_topics(campaign, [{"key": key, "name": key.title()} for key in TOPICS])
    names = [f"farm/{index:02}.png" for index in range(30)]
    for name in names:
        factories.make_image(dataset, name)
    pairs = [(name, TOPICS[index % 3]) for index, name in enumerate(names)]
    asking.add_questions(campaign, pairs)
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    return campaign


@pytest.fixture
def bobs(farm, bob):
    return farm.memberships.get(user=bob)


def page(campaign, user, size=None) -> list[claiming.SeatView]:
    return claiming.next_page(user, campaign, size).seats


def test_a_quota_leaves_its_topics_alone(farm, bob, bobs, alice):
    quotas.assign(bobs, alice, {"cow": 10})

    assert {seat.topic for seat in page(farm, bob)} == {"cow"}


def test_a_page_that_was_read_for_an_old_quota_is_read_again(farm, bob, bobs, alice, monkeypatch):
    quotas.assign(bobs, alice, {"cow": 10})
    read = claiming.claimable_questions

    def assign_meanwhile(*arguments):
        questions = read(*arguments)
        monkeypatch.setattr(claiming, "claimable_questions", read)
        quotas.assign(bobs, alice, {"dog": 10})
        return questions

    monkeypatch.setattr(claiming, "claimable_questions", assign_meanwhile)

    assert {seat.topic for seat in page(farm, bob)} == {"dog"}
    assert len(page(farm, bob, 20)) == 10


def test_nobody_gets_more_than_their_quota(farm, bob, bobs, alice):
    quotas.assign(bobs, alice, {"cow": 3, "dog": 2})

    seats = page(farm, bob, 20)

    assert sorted(seat.topic for seat in seats) == ["cow"] * 3 + ["dog"] * 2
    send(bob, farm, seats)
    assert page(farm, bob, 20) == []
    assert {quota.topic: quota.done for quota in bobs.quotas.all()} == {"cow": 3, "dog": 2}


def test_what_is_left_falls_with_each_answer(farm, bob, bobs, alice):
    quotas.assign(bobs, alice, {"cow": 6})
    first = claiming.next_page(bob, farm)

    send(bob, farm, first.seats[:2])

    assert first.left == 6
    assert claiming.next_page(bob, farm).left == 4


def test_no_more_is_left_of_a_quota_than_of_the_campaign(farm, bob, bobs, alice):
    quotas.assign(bobs, alice, {"cow": 5_000})

    assert claiming.next_page(bob, farm).left <= farm.questions.count()


def test_something_is_left_while_questions_are(farm, bob, bobs, alice):
    """Answers to gold count as answered, and may be more than the quota's own questions leave."""
    quotas.assign(bobs, alice, {"cow": 10})
    Membership.objects.filter(pk=bobs.pk).update(answered=28)

    first = claiming.next_page(bob, farm)

    assert first.left > len(first.seats)


def test_a_skip_with_a_reason_does_not_count(farm, bob, bobs, alice):
    quotas.assign(bobs, alice, {"cow": 2})
    send(bob, farm, page(farm, bob, 2))
    skipped = Answer.objects.order_by("pk").first()
    Answer.objects.filter(pk=skipped.pk).update(value={"skip": "too_small"})

    assert quotas.recount(bobs.pk) == {"cow": 1}
    assert len(page(farm, bob, 9)) == 1


def test_what_was_answered_before_counts(farm, bob, bobs, alice):
    quotas.assign(bobs, alice, {"cow": 3})
    send(bob, farm, page(farm, bob, 3))

    left = quotas.assign(bobs, alice, {"cow": 5, "cat": 1})

    assert left == {"cow": 2, "cat": 1}


def test_a_new_quota_finds_what_reading_had_passed(farm, bob, bobs, alice):
    quotas.assign(bobs, alice, {"dog": 10})
    send(bob, farm, page(farm, bob, 10))

    quotas.assign(bobs, alice, {"cat": 10})

    assert len(page(farm, bob, 20)) == 10


def test_without_quotas_any_topic_comes_again(farm, bob, bobs, alice):
    quotas.assign(bobs, alice, {"dog": 1})

    assert quotas.assign(bobs, alice, {}) == {}

    assert Membership.objects.get(pk=bobs.pk).topics is None
    assert {seat.topic for seat in page(farm, bob, 9)} == set(TOPICS)


def test_others_are_not_held_up_by_somebodys_quota(farm, bob, bobs, alice, charlie):
    quotas.assign(bobs, alice, {"dog": 10})
    send(bob, farm, page(farm, bob, 10))
    factories.join(charlie, farm)

    assert len(page(farm, charlie, 40)) == 20


def test_gold_of_other_topics_stays_away(farm, bob, bobs, alice):
    farm.questions.filter(topic="cat").update(state=Question.State.OPEN)
    policy = farm.policy
    policy.content = policy.content | {"gold_share": 0.5}
    policy.save()
    for question in farm.questions.filter(topic__in=["cat", "cow"])[:6]:
        Gold.objects.create(question=question, answer="yes")
        Question.objects.filter(pk=question.pk).update(
            state="gold", lane=Question.Lane.GOLD, seats_free=1
        )
    quotas.assign(bobs, alice, {"cow": 6})

    assert {seat.topic for seat in page(farm, bob, 10)} == {"cow"}


@for_each("quota", [{"owl": 3}, {"cow": 0}, {"cow": 10**9}, {"cow": True}])
def test_what_cannot_be_a_quota_changes_nothing(farm, bobs, alice, quota):
    quotas.assign(bobs, alice, {"dog": 4})

    with pytest.raises(Refusal):
        quotas.assign(bobs, alice, {"cat": 1} | quota)

    assert list(bobs.quotas.values_list("topic", "images")) == [("dog", 4)]


def test_who_set_a_quota_is_kept(farm, bobs, alice):
    quotas.assign(bobs, alice, {"dog": 4}, "knows dogs")

    decision = farm.decisions.get(kind=Decision.Kind.QUOTA)
    assert (decision.actor, decision.content["quotas"]) == (alice, {"dog": 4})


def test_a_researcher_sets_quotas_on_the_persons_page(farm, bobs, alice, client):
    client.force_login(alice)
    address = reverse("labeling:person_quotas", args=["farm", bobs.pk])

    response = client.post(address, {"quota-cow": "5", "quota-dog": ""}, follow=True)

    assert "5 images are left to" in response.content.decode()
    assert list(bobs.quotas.values_list("topic", "images")) == [("cow", 5)]


def test_a_bad_number_is_said_at_its_field(farm, bobs, alice, client):
    client.force_login(alice)
    address = reverse("labeling:person_quotas", args=["farm", bobs.pk])

    response = client.post(address, {"quota-cow": "many"})

    assert "whole number" in response.content.decode()
    assert not bobs.quotas.exists()


def test_programs_set_quotas(farm, bobs, alice):
    address = f"/api/v1/campaigns/farm/members/{bobs.pk}/quotas/"
    body = {"quotas": [{"topic": "cat", "images": 7}]}

    put = program(alice).put(address, body, format="json")

    assert put.status_code == 200, put.json()
    assert put.json() == {"quotas": [{"topic": "cat", "images": 7, "done": 0}]}
    assert program(alice).get(address).json() == put.json()
