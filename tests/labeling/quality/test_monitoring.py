"""Four signals of everybody at work, and what a policy makes of them."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.utils import timezone

from labeling.answers import submitting
from labeling.assignment import candidates, claiming
from labeling.campaigns import lifecycle
from labeling.errors import Conflict, NotAllowed, NotWorking, Refusal
from labeling.jobs import queue
from labeling.kinds import policies
from labeling.models import Campaign, Job, Membership
from labeling.quality import monitoring
from labeling.reports import progress
from tests import factories
from tests.labeling.crowd import give, make_gold, people, query_count, vote

ACTING = {
    "gold_action": "pause",
    "speed_action": "pause",
    "run_action": "pause",
    "chance_action": "pause",
}


pytestmark = pytest.mark.usefixtures("afresh")


@pytest.fixture(scope="module")
def built(once):
    """A campaign of sixty questions with twenty gold ones; Bob and four others annotate."""
    with once():
        alice, bob, dataset = factories.cast()
        campaign = factories.make_campaign(alice, dataset, "pond", images=60, policy={"votes": 5})
        make_gold(campaign, alice, ["yes", "no"] * 10)
        factories.join(bob, campaign)
        people(campaign, 4)
    return campaign.pk


@pytest.fixture
def pond(built, afresh):
    return Campaign.objects.select_related("dataset", "policy").get(pk=built)


@pytest.fixture
def open_questions(pond):
    return list(pond.questions.filter(state="open").order_by("pk"))


@pytest.fixture
def golden(pond):
    return list(pond.questions.filter(state="gold").select_related("gold").order_by("pk"))


def others(pond, bob):
    return [row.user for row in pond.memberships.filter(role="annotator").exclude(user=bob)]


def change(pond, alice, **rules):
    lifecycle.change_policy(pond, alice, rules)
    pond.refresh_from_db()


def member(pond, user):
    return pond.memberships.get(user=user)


def right(questions):
    return [question.gold.answer for question in questions]


def wrong(questions):
    return ["no" if question.gold.answer == "yes" else "yes" for question in questions]


def test_somebody_wrong_on_gold_is_paused_with_a_reason(pond, bob, golden):
    give(bob, golden[:6], wrong(golden[:6]))

    [acted] = monitoring.watch(pond, bob)

    assert acted.action == "pause"
    assert member(pond, bob).stage == "paused"
    decision = pond.decisions.get(kind="stage")
    assert decision.actor is None
    assert decision.content["annotator"] == bob.pk
    assert decision.content["signals"] == ["test"]
    assert decision.reason == "Right on 0 of 3 known questions; the campaign expects 90%."


def test_somebody_right_on_gold_works_on_and_meets_less_of_it(pond, bob, golden):
    give(bob, golden, right(golden))

    assert monitoring.watch(pond, bob) == []

    membership = member(pond, bob)
    assert membership.stage == "working"
    assert membership.standing["test"]["verdict"] == "accepted"
    assert membership.standing["test"]["accepted"] == 1
    assert membership.gold_share == 0.05
    assert pond.decisions.filter(kind="stage").count() == 0


def test_a_rule_of_less_gold_holds_at_once_for_those_who_proved_good(pond, alice, bob, golden):
    give(bob, golden, right(golden))
    monitoring.watch(pond, bob)
    assert candidates.reader(bob, pond).share == 0.05

    change(pond, alice, gold_share=0.0)

    assert candidates.reader(bob, pond).share == 0


def test_watching_twice_does_nothing_twice(pond, bob, golden):
    give(bob, golden[:6], wrong(golden[:6]))

    monitoring.watch(pond)
    monitoring.watch(pond)

    assert pond.decisions.filter(kind="stage").count() == 1


def test_open_seats_of_a_paused_person_go_to_others(pond, bob, golden, open_questions):
    seat = open_questions[0].seats.create(
        annotator=bob,
        subject=open_questions[0].pk,
        leased_until=timezone.now() + timedelta(hours=1),
    )
    free = open_questions[0].seats_free
    give(bob, golden[:6], wrong(golden[:6]))

    monitoring.watch(pond, bob)

    seat.refresh_from_db()
    open_questions[0].refresh_from_db()
    assert seat.state == "returned"
    assert open_questions[0].seats_free == free + 1


@pytest.mark.parametrize("role", ["researcher", "reviewer"])
def test_researchers_and_reviewers_are_never_watched(pond, bob, golden, role):
    give(bob, golden[:6], wrong(golden[:6]))
    pond.memberships.filter(user=bob).update(role=role)

    assert monitoring.watch(pond) == []
    assert monitoring.preview(pond, policies.for_campaign(pond)) == []
    assert member(pond, bob).standing == {}


@pytest.mark.parametrize("stage", ["training", "test", "failed", "paused", "blocked"])
def test_only_people_at_work_are_watched(pond, bob, golden, stage):
    give(bob, golden[:6], wrong(golden[:6]))
    pond.memberships.filter(user=bob).update(stage=stage)

    assert monitoring.watch(pond, bob) == []
    assert member(pond, bob).stage == stage


def test_an_action_of_none_only_shows(pond, alice, bob, golden):
    change(pond, alice, gold_action="none")
    give(bob, golden[:6], wrong(golden[:6]))

    assert monitoring.watch(pond, bob) == []

    membership = member(pond, bob)
    assert membership.stage == "working"
    [reason] = membership.standing["reasons"]
    assert (reason["signal"], reason["action"]) == ("test", "none")


def test_training_again_is_a_pause_where_there_is_no_training(pond, alice, bob, golden):
    change(pond, alice, gold_action="train")
    give(bob, golden[:6], wrong(golden[:6]))

    monitoring.watch(pond, bob)

    assert member(pond, bob).stage == "paused"


def test_whoever_errs_is_trained_again_with_all_attempts(pond, alice, bob, golden):
    change(pond, alice, gold_action="train", training_questions=5)
    pond.memberships.filter(user=bob).update(attempts=2)
    give(bob, golden[:6], wrong(golden[:6]))

    monitoring.watch(pond, bob)

    membership = member(pond, bob)
    assert (membership.stage, membership.attempts) == ("training", 0)
    # What was wrong before the training is past.
    pond.memberships.filter(user=bob).update(stage="working")
    assert monitoring.watch(pond, bob) == []


def test_the_strongest_action_is_taken_with_every_reason(pond, alice, bob, golden, open_questions):
    change(pond, alice, **ACTING | {"speed_action": "block", "run_action": "none"})
    for user in others(pond, bob):
        give(user, open_questions, ["yes", "no"] * 30, ms=4000)
    give(bob, open_questions[:50], ["yes", "no"] * 25, ms=300)
    give(bob, golden[:6], wrong(golden[:6]), ms=300)

    [acted] = monitoring.watch(pond, bob)

    assert acted.action == "block"
    assert "Right on 0 of 3 known questions" in acted.reason
    assert "The median time of 56 answers is 8% of that of others" in acted.reason
    assert member(pond, bob).stage == "blocked"


def test_speed_is_against_what_others_took_for_the_same_questions(pond, alice, bob, open_questions):
    change(pond, alice, **ACTING)
    for user in others(pond, bob):
        # Half of the questions are quick for everybody, and Bob met only those.
        give(user, open_questions, ["yes", "no"] * 30, ms=400)
        pond.memberships.filter(user=user).update(worked_ms=10**9)
    give(bob, open_questions[:50], ["yes", "no"] * 25, ms=350)

    assert monitoring.watch(pond, bob) == []
    assert member(pond, bob).standing["speed"]["share"] == 0.875


def test_a_run_against_what_others_said_is_a_reason(pond, alice, bob, open_questions):
    change(pond, alice, **ACTING | {"chance_action": "none"})
    for user in others(pond, bob):
        give(user, open_questions, ["yes", "no"] * 30)
    give(bob, open_questions[:45], ["no"] * 45)

    [acted] = monitoring.watch(pond, bob)

    assert acted.reason.startswith("Answered “no” 45 times in a row")


def test_a_run_that_everybody_has_is_no_reason(pond, alice, bob, open_questions):
    change(pond, alice, **ACTING)
    for user in others(pond, bob):
        give(user, open_questions, ["no"] * 60)
    give(bob, open_questions, ["no"] * 60)

    assert monitoring.watch(pond) == []
    assert member(pond, bob).standing["runs"]["length"] == 60


def test_agreement_by_chance_is_a_reason(pond, alice, bob, open_questions):
    change(pond, alice, **ACTING | {"chance_agreement": 0.5})
    for user in others(pond, bob):
        give(user, open_questions, ["yes", "yes", "no", "no"] * 15)
    give(bob, open_questions, ["yes", "no"] * 30)

    [acted] = monitoring.watch(pond, bob)

    assert acted.reason.startswith("Agrees with others on 30 of 60 questions, which is 0.00")


def test_what_blocked_people_answered_is_no_measure(pond, alice, bob, open_questions):
    change(pond, alice, **ACTING)
    for user in others(pond, bob):
        give(user, open_questions, ["yes", "no"] * 30, ms=60_000)
    pond.memberships.filter(user__in=others(pond, bob)).update(stage="blocked")
    give(bob, open_questions, ["yes", "no"] * 30, ms=2000)

    assert monitoring.watch(pond, bob) == []
    assert member(pond, bob).standing["speed"]["pool"] == 0


def test_where_a_question_has_one_vote_gold_is_the_measure(
    pond, alice, bob, open_questions, golden
):
    change(pond, alice, **ACTING | {"signal_answers": 20})
    for user in others(pond, bob):
        give(user, golden, right(golden), ms=4000)
    give(bob, golden, right(golden), ms=200)
    give(bob, open_questions, ["yes", "no"] * 30, ms=200)

    [acted] = monitoring.watch(pond, bob)

    assert "is 5% of that of others" in acted.reason


def test_a_pardon_begins_the_standing_again(pond, alice, bob, golden):
    give(bob, golden[:6], wrong(golden[:6]))
    monitoring.watch(pond, bob)

    monitoring.pardon(member(pond, bob), alice, "The first day was hard.")

    membership = member(pond, bob)
    assert membership.stage == "working"
    assert membership.standing == {}
    assert monitoring.watch(pond, bob) == []
    decision = pond.decisions.filter(kind="stage").latest("pk")
    assert (decision.actor, decision.reason) == (alice, "The first day was hard.")


def test_a_pardon_needs_a_reason_and_somebody_to_pardon(pond, alice, bob):
    membership = member(pond, bob)
    with pytest.raises(Conflict, match="working already"):
        monitoring.pardon(membership, alice, "why not")
    membership.stage = "paused"
    membership.save()
    with pytest.raises(Refusal, match="reason"):
        monitoring.pardon(membership, alice, "  ")
    membership.stage = "blocked"
    membership.save()
    with pytest.raises(Conflict, match="Lift the block"):
        monitoring.pardon(membership, alice, "sorry")
    with pytest.raises(NotAllowed):
        monitoring.pardon(member(pond, alice), alice, "me too")


def test_a_researcher_pauses_somebody_with_a_reason(pond, alice, bob):
    monitoring.pause(member(pond, bob), alice, "He asked for a break.")

    assert member(pond, bob).stage == "paused"
    with pytest.raises(Conflict):
        monitoring.pause(member(pond, bob), alice, "again")


def test_the_preview_says_whom_a_policy_would_stop_and_changes_nothing(pond, bob, golden):
    give(bob, golden[:14], [*wrong(golden[:2]), *right(golden[2:14])])
    fine = others(pond, bob)[0]
    give(fine, golden, right(golden))
    loose = policies.for_campaign(pond) | {"good_accuracy": 0.6, "bad_accuracy": 0.3}

    assert [row.pseudonym for row in monitoring.preview(pond, policies.for_campaign(pond))] == []
    strict = policies.for_campaign(pond) | {"good_accuracy": 0.99, "bad_accuracy": 0.95}
    [row] = monitoring.preview(pond, strict)

    assert (row.pseudonym, row.action) == (bob.pseudonym, "pause")
    assert "the campaign expects 99%" in row.reason
    assert monitoring.preview(pond, loose) == []
    assert member(pond, bob).stage == "working"


def test_the_preview_knows_the_other_signals_from_the_last_watch(pond, alice, bob, open_questions):
    for user in others(pond, bob):
        give(user, open_questions, ["yes", "no"] * 30, ms=4000)
    give(bob, open_questions, ["yes", "no"] * 30, ms=1200)
    monitoring.watch(pond, bob)
    policy = policies.for_campaign(pond)

    assert monitoring.preview(pond, policy | {"speed_action": "pause"}) == []
    [row] = monitoring.preview(pond, policy | {"speed_action": "pause", "speed_share": 0.5})

    assert row.membership == member(pond, bob).pk


def test_a_policy_that_stops_everybody_must_be_confirmed(pond, alice, bob, golden):
    everybody = [bob, *others(pond, bob)]
    for user in everybody:
        give(user, golden[:16], [*wrong(golden[:4]), *right(golden[4:16])])
    strict = policies.for_campaign(pond) | {"good_accuracy": 0.99, "bad_accuracy": 0.95}

    assert monitoring.would_block_everyone(pond, strict)
    with pytest.raises(Conflict, match="all current annotators") as caught:
        monitoring.check_policy(pond, strict)
    assert caught.value.code == "blocks_everyone"
    monitoring.check_policy(pond, strict, confirmed=True)
    monitoring.check_policy(pond, strict | {"gold_action": "none"})

    # One who may go on is enough.
    pond.memberships.filter(user=bob).update(working_since=timezone.now() + timedelta(hours=1))
    monitoring.check_policy(pond, strict)


def test_an_empty_campaign_stops_nobody(coots, bob):
    coots.memberships.filter(user=bob).delete()

    assert not monitoring.would_block_everyone(coots, policies.for_campaign(coots))


def test_watching_one_person_takes_as_many_queries_for_a_hundred_answers(
    pond, alice, bob, open_questions, golden
):
    give(bob, golden[:2], right(golden[:2]))
    give(bob, open_questions[:2], ["yes", "no"])
    for user in others(pond, bob):
        give(user, open_questions, ["no"] * 60)
    few = query_count(lambda: monitoring.watch(pond, bob))
    give(bob, open_questions[2:], ["yes", "no"] * 29)
    give(bob, golden[2:], right(golden[2:]))

    # One less: the pool suffices without gold.
    assert query_count(lambda: monitoring.watch(pond, bob)) == few - 1 <= 10


def test_preview_takes_as_many_queries_for_more_people(pond, golden):
    few = query_count(lambda: monitoring.preview(pond, policies.for_campaign(pond)))
    for user in people(pond, 6, "more"):
        give(user, golden[:6], wrong(golden[:6]))

    assert query_count(lambda: monitoring.preview(pond, policies.for_campaign(pond))) == few <= 6


def test_the_job_watches_one_person(pond, bob, golden):
    give(bob, golden[:6], wrong(golden[:6]))
    job = queue.enqueue("watch", f"{pond.pk}:{bob.pk}", campaign=pond)

    queue.run(job.pk)

    assert Job.objects.get(pk=job.pk).state == "done"
    assert member(pond, bob).stage == "paused"


def test_answering_carelessly_comes_to_a_pause_by_itself(pond, alice, bob, run_jobs):
    change(pond, alice, gold_share=0.5)

    for _ in range(20):
        if member(pond, bob).stage != "working":
            break
        vote(bob, pond, "hard")
        run_jobs()

    assert member(pond, bob).stage == "paused"
    assert pond.decisions.filter(kind="stage").count() == 1
    with pytest.raises(NotWorking):
        claiming.next_page(bob, pond)


def test_a_job_about_somebody_who_left_does_nothing(pond, bob):
    Membership.objects.filter(user=bob).delete()
    job = queue.enqueue("watch", f"{pond.pk}:{bob.pk}", campaign=pond)
    gone = queue.enqueue("watch", "0:0")

    queue.run(job.pk)
    queue.run(gone.pk)

    assert set(Job.objects.values_list("state", flat=True)) == {"done"}


def test_gold_that_trusted_people_fail_goes_before_it_counts_against_anybody(pond, bob, golden):
    for user in others(pond, bob):
        give(user, golden, [*wrong(golden[:2]), *right(golden[2:])])
    fifth = people(pond, 1, "fifth")
    give(fifth[0], golden, [*wrong(golden[:2]), *right(golden[2:])])
    pond.memberships.filter(role="annotator").exclude(user=bob).update(
        standing={"test": {"accepted": 2, "verdict": "accepted"}}
    )
    give(bob, golden[:12], [*wrong(golden[:2]), *right(golden[2:12])])

    monitoring.watch_all(pond)

    assert pond.questions.filter(gold__retired_at=None, state="gold").count() == 18
    assert member(pond, bob).standing["test"]["total"] == 10
    assert member(pond, bob).stage == "working"


@pytest.fixture
def careful(pond, bob, golden):
    """Bob, right on all gold when he was last watched, has failed one since."""
    give(bob, golden[:2], right(golden[:2]))
    monitoring.watch(pond, bob)
    give(bob, golden[2:3], wrong(golden[2:3]))
    return bob


def test_one_wrong_gold_answer_after_a_perfect_record_fails_no_job(pond, careful):
    job = submitting.enqueue_watch(pond, careful.pk)

    queue.run(job.pk)

    job.refresh_from_db()
    assert (job.state, job.error) == ("done", "")
    test = member(pond, careful).standing["test"]
    assert (test["right"], test["total"]) == (2, 3)


def test_somebody_who_cannot_be_watched_stops_nobody_else(pond, bob, golden, caplog, monkeypatch):
    charlie = others(pond, bob)[-1]
    give(charlie, golden[:6], wrong(golden[:6]))
    measure = monitoring.measure

    def fragile(campaign, membership, policy):
        if membership.user_id == bob.pk:
            raise ValueError("math domain error")
        return measure(campaign, membership, policy)

    monkeypatch.setattr(monitoring, "measure", fragile)

    [acted] = monitoring.watch_all(pond)

    assert acted.membership == member(pond, charlie).pk
    assert member(pond, charlie).stage == "paused"
    assert member(pond, bob).standing == {}
    assert f"watching {bob.pseudonym} in pond failed" in caplog.text
    assert Job.objects.get(kind="watch", state="queued").key == f"{pond.pk}:{bob.pk}"
    with pytest.raises(ValueError, match="math domain"):
        monitoring.watch(pond, bob)


def test_failed_watches_are_retried_by_the_upgrade_and_put_the_figures_right(pond, careful):
    retry = import_module("labeling.migrations.0006_retry_failed_watch_jobs").retry_failed
    mine, charlie = f"{pond.pk}:{careful.pk}", others(pond, careful)[0]
    theirs = f"{pond.pk}:{charlie.pk}"
    for kind, key, state in [
        ("watch", mine, "failed"),
        ("watch", mine, "failed"),
        ("watch", theirs, "failed"),
        ("watch", theirs, "queued"),
        ("freeze", "1", "failed"),
    ]:
        Job.objects.create(
            kind=kind, key=key, state=state, attempts=3, error="ValueError: math domain error"
        )

    retry(apps, None)

    rows = Job.objects.order_by("pk").values_list("kind", "key", "state")
    assert list(rows) == [
        ("watch", mine, "done"),
        ("watch", mine, "queued"),
        ("watch", theirs, "done"),
        ("watch", theirs, "queued"),
        ("freeze", "1", "failed"),
    ]
    assert Job.objects.get(state="queued", key=mine).attempts == 0
    queue.run_all()
    assert set(Job.objects.filter(kind="watch").values_list("state", flat=True)) == {"done"}
    assert member(pond, careful).standing["test"]["total"] == 3
    retry(apps, None)
    assert Job.objects.filter(kind="watch", state="queued").count() == 0


def test_figures_that_cannot_be_are_counted_again_from_the_answers(pond, bob, golden):
    give(bob, golden[:3], [*right(golden[:2]), *wrong(golden[2:3])])
    row = member(pond, bob)
    row.standing = {"test": {"right": 2, "total": 1}}

    assert progress.accuracies_of(pond, [row])[bob.pk].total == 3


def test_what_a_person_is_told_lags_and_changes_at_most_daily(pond, bob, golden):
    give(bob, golden[:9], right(golden[:9]))
    monitoring.watch(pond, bob)
    assert monitoring.shown_accuracy(member(pond, bob)) is None

    give(bob, golden[9:10], wrong(golden[9:10]))
    monitoring.watch(pond, bob)
    first = monitoring.shown_accuracy(member(pond, bob))
    give(bob, golden[10:], right(golden[10:]))
    monitoring.watch(pond, bob)

    assert (first["right"], first["total"]) == (9, 10)
    assert monitoring.shown_accuracy(member(pond, bob)) == first

    membership = member(pond, bob)
    membership.standing["told"]["on"] = "2026-01-01"
    membership.save()
    monitoring.watch(pond, bob)
    assert monitoring.shown_accuracy(member(pond, bob))["total"] == 20
