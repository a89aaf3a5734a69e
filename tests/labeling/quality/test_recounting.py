"""Who was stopped by gold that was wrong is counted again, listed and let in by a researcher."""

import pytest
from django.urls import reverse

from labeling.campaigns import lifecycle
from labeling.jobs import queue
from labeling.models import Decision, Membership
from labeling.quality import blocking, gold, monitoring, qualifying, recounting
from tests import factories
from tests.labeling.crowd import give, make_gold


@pytest.fixture
def golden(alice, bob, dataset):
    """The gold of a campaign, all of it known wrongly as "no"; Bob says "yes" to each."""
    policy = {"votes": 1, "gold_fail_people": 99}
    campaign = factories.make_campaign(alice, dataset, "pond", images=10, policy=policy)
    factories.join(bob, campaign)
    return make_gold(campaign, alice, ["no"] * 20)


def member(bob) -> Membership:
    return Membership.objects.select_related("campaign").get(user=bob)


def stop(golden, bob, alice, action: str) -> None:
    campaign = golden[0].campaign
    if action == "fail":
        lifecycle.change_policy(campaign, alice, {"test_questions": 20, "test_attempts": 1})
        qualifying.begin(member(bob))
        give(bob, golden, ["yes"] * 20)
        qualifying.advance(member(bob))
    else:
        lifecycle.change_policy(campaign, alice, {"gold_action": action})
        campaign.refresh_from_db()
        give(bob, golden, ["yes"] * 20)
        monitoring.watch(campaign)
    queue.run_all()


def correct(golden, alice) -> None:
    rows = [
        {"image": question.item.image.name, "topic": question.topic, "answer": "yes"}
        for question in golden
    ]
    gold.add_gold(golden[0].campaign, alice, rows)
    queue.run_all()


STAGES = {"pause": "paused", "block": "blocked", "fail": "failed"}


@pytest.mark.parametrize("action", STAGES)
def test_whoever_wrong_gold_stopped_is_counted_again_and_listed(client, golden, alice, bob, action):
    stop(golden, bob, alice, action)
    campaign = golden[0].campaign
    assert member(bob).stage == STAGES[action]
    assert recounting.wrongly_stopped(campaign) == []

    correct(golden, alice)

    row = member(bob)
    # The rules let nobody in by themselves.
    assert row.stage == STAGES[action]
    assert "Right on 20 of 20" in row.standing["freed"]
    assert recounting.wrongly_stopped(campaign) == [row]
    client.force_login(alice)
    act = "unblock" if action == "block" else "pardon"
    lift = reverse(f"labeling:person_{act}", args=[campaign.name, row.pk])
    for name, arguments in (
        ("gold", [campaign.name]),
        ("people", [campaign.name]),
        ("person", [campaign.name, row.pk]),
    ):
        page = client.get(reverse(f"labeling:{name}", args=arguments)).content.decode()
        assert "Right on 20 of 20" in page
        assert lift in page

    client.post(lift, {"reason": "The gold was wrong."})

    assert member(bob).stage == "working"
    assert recounting.wrongly_stopped(campaign) == []


def test_retired_gold_is_recounted_too(golden, alice, bob):
    stop(golden, bob, alice, "block")
    give(bob, make_gold(golden[0].campaign, alice, ["yes"] * 3, name="more"), ["yes"] * 3)

    for question in golden:
        gold.retire_gold(question.campaign, alice, question.pk)
    queue.run_all()

    assert "Right on 3 of 3" in member(bob).standing["freed"]


def test_gold_that_still_stops_somebody_frees_nobody(golden, alice, bob):
    stop(golden, bob, alice, "pause")

    correct(golden[:5], alice)

    row = member(bob)
    assert (row.standing["test"]["right"], row.standing["test"]["total"]) == (5, 20)
    assert recounting.wrongly_stopped(row.campaign) == []


@pytest.mark.parametrize("block", [True, False])
def test_whom_a_researcher_stopped_is_not_listed(golden, alice, bob, block):
    stop(golden, bob, alice, "pause")
    if block:
        correct(golden, alice)
        blocking.block(golden[0].campaign, member(bob), alice, "Spam.")
    else:
        monitoring.pardon(member(bob), alice, "Once more.")
        monitoring.pause(member(bob), alice, "Spam.")
        correct(golden, alice)

    correct(golden[:1], alice)

    assert recounting.wrongly_stopped(golden[0].campaign) == []


def test_gold_that_did_not_change_asks_for_no_recount(golden, alice):
    queue.run_all()
    rows = [
        {"image": question.item.image.name, "topic": question.topic, "answer": "no"}
        for question in golden
    ]

    gold.add_gold(golden[0].campaign, alice, rows)

    assert not golden[0].campaign.jobs.filter(kind="recount", state="queued").exists()
    assert Decision.objects.filter(kind="gold").count() == 2
