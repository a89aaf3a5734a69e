import itertools
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import calibrating, calibration_store, reviewing, settling
from labeling.errors import NotYours, Refusal
from labeling.follow_ups import asking
from labeling.models import (
    Answer,
    Calibration,
    Decision,
    Job,
    Membership,
    Question,
    Seat,
    Settlement,
)
from labeling.quality import blocking
from tests import factories
from tests.labeling.crowd import answer, people, send, vote

COOT = "n02018207"
WEIGHED = {"method": "posterior", "target_error": 0.05, "target_rule": "model"}


def member(person, campaign):
    return campaign.memberships.get(user=person)


def settlements_in_force(campaign):
    """Every question's state and, where it is decided, the settlement that stands."""
    settlements = {}
    for question in campaign.questions.for_consensus().order_by("pk"):
        last = question.settlements.order_by("-pk").first()
        decided = question.state != "open" and last is not None
        settlements[question.pk] = (
            question.state,
            (last.value, last.probability, last.answers, last.policy_id, last.calibration_id)
            if decided
            else None,
        )
    return settlements


def has_further_votes(earlier, later):
    return later is not None and set(earlier[2]) < set(later[2])


def consistent(campaign):
    """Whether what stands is what the answers give."""
    return list(settling.rebuild(campaign)) == []


def settle(campaign, crowd, values):
    for person, value in zip(crowd, values, strict=False):
        vote(person, campaign, value)


def test_a_blocked_persons_votes_are_void_and_the_question_asks_one_more(coots, alice, crowd):
    settle(coots, crowd, ["yes", "yes", "no", "no", "yes"])
    assert set(coots.questions.values_list("state", flat=True)) == {"settled"}

    outcome = blocking.block(coots, member(crowd[0], coots), alice, "answers at random")

    assert outcome == blocking.BlockOutcome(True, answers=6, decided=0, reopened=6, answerable=True)
    rows = coots.questions.values_list("state", "seats_free", "lane")
    assert set(rows) == {("open", 1, Question.Lane.RETURNED)}
    assert member(crowd[0], coots).stage == Membership.Stage.BLOCKED
    assert Answer.objects.count() == 30
    assert consistent(coots)


def test_a_reopened_question_never_goes_back_to_the_same_person(coots, alice, crowd):
    settle(coots, crowd, ["yes"] * 5)
    blocking.block(coots, member(crowd[0], coots), alice)

    for voted in crowd[1:5]:
        assert claiming.next_page(voted, coots).seats == []
    assert len(vote(crowd[5], coots, "no")) == 6

    settlement = coots.questions.first().settlements.order_by("-pk").first()
    answers = Answer.objects.filter(assignment__annotator=crowd[0]).values_list("pk", flat=True)
    assert (settlement.value, settlement.probability) == ("yes", 0.8)
    assert not set(settlement.answers) & {str(pk) for pk in answers}
    assert settlement.calibration.content["voided"] == [crowd[0].pk]


def test_an_unblock_restores_the_settlement_though_others_answered_meanwhile(coots, alice, crowd):
    settle(coots, crowd, ["yes", "no", "no", "yes", "yes"])
    before = settlements_in_force(coots)
    blocking.block(coots, member(crowd[0], coots), alice)
    vote(crowd[5], coots, "no")
    assert {settlement[0] for _, settlement in settlements_in_force(coots).values()} == {"no"}
    assert consistent(coots)

    outcome = blocking.unblock(coots, member(crowd[0], coots), alice, "a mistake")

    assert (outcome.changed, outcome.decided) == (True, 6)
    assert settlements_in_force(coots) == before
    assert consistent(coots)


def test_a_mind_changed_while_a_question_was_open_again_changes_nothing_that_comes_back(
    coots, alice, crowd
):
    settle(coots, crowd, ["yes", "no", "no", "yes", "yes"])
    before = settlements_in_force(coots)
    blocking.block(coots, member(crowd[0], coots), alice)
    answer(crowd[3], coots, Seat.objects.filter(annotator=crowd[3]), "no")
    vote(crowd[5], coots, "yes")
    assert {settlement[0] for _, settlement in settlements_in_force(coots).values()} == {"no"}

    blocking.unblock(coots, member(crowd[0], coots), alice)

    assert settlements_in_force(coots) == before
    assert consistent(coots)


def test_standings_learned_during_a_block_change_nothing_that_comes_back(alice, dataset):
    campaign = factories.make_campaign(
        alice, dataset, "weighed", images=6, policy={**WEIGHED, "gold_share": 0}
    )
    crowd = people(campaign, 5, "w")
    settle(campaign, crowd, ["yes", "yes", "yes"])
    before = settlements_in_force(campaign)
    assert [settlement[1] for _, settlement in before.values()] == pytest.approx([64 / 65] * 6)

    blocking.block(campaign, member(crowd[0], campaign), alice)
    learned = calibrating.calibrate(campaign)
    vote(crowd[3], campaign, "yes")
    meanwhile = settlements_in_force(campaign)
    assert {settlement[4] for _, settlement in meanwhile.values()} == {learned.pk}
    assert consistent(campaign)
    blocking.unblock(campaign, member(crowd[0], campaign), alice)

    assert settlements_in_force(campaign) == before
    assert consistent(campaign)
    campaign.refresh_from_db()
    assert campaign.calibration.content["annotators"] == learned.content["annotators"]


def test_open_questions_get_the_seats_that_void_votes_held_and_give_them_back(coots, alice, crowd):
    settle(coots, crowd, ["yes", "no"])
    held = claiming.next_page(crowd[2], coots).seats
    assert set(coots.questions.values_list("seats_free", flat=True)) == {2}

    blocking.block(coots, member(crowd[0], coots), alice)
    assert set(coots.questions.values_list("state", "seats_free")) == {("open", 3)}

    blocking.unblock(coots, member(crowd[0], coots), alice)
    assert set(coots.questions.values_list("state", "seats_free")) == {("open", 2)}
    assert len(held) == Seat.objects.filter(annotator=crowd[2], state="leased").count()


def test_seats_of_a_blocked_person_go_back_to_others(coots, alice, bob):
    assert len(claiming.next_page(bob, coots).seats) == 6

    blocking.block(coots, member(bob, coots), alice)

    assert not Seat.objects.filter(annotator=bob, state="leased").exists()
    assert set(coots.questions.values_list("seats_free", flat=True)) == {5}


def test_a_reviewers_verdict_stands(coots, alice, crowd):
    settle(coots, crowd, ["yes", "yes", "no", "no", *["hard"] * 5])
    question = coots.questions.order_by("pk").first()
    reviewing.decide(coots, question.pk, alice, "yes")

    outcome = blocking.block(coots, member(crowd[0], coots), alice)

    # One yes against two no is a majority of the five who are left first.
    assert (outcome.decided, outcome.reopened) == (5, 0)
    assert {settlement[0] for _, settlement in settlements_in_force(coots).values()} == {
        "yes",
        "no",
    }
    assert settlements_in_force(coots)[question.pk][1][0] == "yes"
    assert consistent(coots)


def test_blocking_twice_changes_nothing_and_lifting_no_block_neither(coots, alice, crowd):
    settle(coots, crowd, ["yes"] * 5)
    blocking.block(coots, member(crowd[0], coots), alice)
    rows = Settlement.objects.count(), Calibration.objects.count(), Decision.objects.count()

    assert blocking.block(coots, member(crowd[0], coots), alice) == blocking.BlockOutcome(False)
    assert blocking.unblock(coots, member(crowd[1], coots), alice) == blocking.BlockOutcome(False)

    assert rows == (
        Settlement.objects.count(),
        Calibration.objects.count(),
        Decision.objects.count(),
    )


def test_nobody_blocks_themselves_a_researcher_or_a_stranger(coots, alice, bob, charlie):
    with pytest.raises(Refusal, match="cannot block yourself"):
        blocking.block(coots, member(alice, coots), alice)
    factories.join(charlie, coots, "researcher")
    with pytest.raises(Refusal, match="researcher"):
        blocking.block(coots, member(charlie, coots), alice)
    with pytest.raises(Refusal, match="researcher"):
        blocking.block(coots, member(charlie, coots), None)
    other_campaign = factories.make_campaign(alice, coots.dataset, "others", images=1)
    with pytest.raises(NotYours):
        blocking.block(other_campaign, member(bob, coots), alice)
    assert not Calibration.objects.exists()


def test_the_trail_says_who_blocked_whom_why_and_what_came_of_it(coots, alice, crowd):
    settle(coots, crowd, ["yes"] * 5)

    blocking.block(coots, member(crowd[0], coots), alice, "answers at random")
    blocking.unblock(coots, member(crowd[0], coots), None, "looked again")

    block, unblock = coots.decisions.filter(kind__in=["block", "unblock"]).order_by("pk")
    assert (block.actor, block.reason) == (alice, "answers at random")
    assert block.content == {
        "annotator": crowd[0].pk,
        "calibration": 1,
        "from": "working",
        "answers": 6,
        "decided": 0,
        "reopened": 6,
    }
    assert (unblock.actor, unblock.reason) == (None, "looked again")
    assert unblock.content["calibration"] is None
    assert unblock.content["decided"] == 6


def test_what_a_block_would_touch_is_said_before(coots, alice, crowd):
    settle(coots, crowd, ["yes"] * 5)

    assert blocking.count_affected(coots, crowd[0]) == {"answers": 6, "questions": 6, "seats": 0}
    assert blocking.count_affected(coots, crowd[6]) == {"answers": 0, "questions": 0, "seats": 0}


def test_lifting_a_block_gives_a_fresh_standing_in_the_stage_before(coots, alice, bob):
    began = timezone.now() - timedelta(days=1)
    coots.memberships.filter(user=bob).update(
        stage="test", working_since=began, gold_share=0.03, standing={"test": {}}
    )

    blocking.block(coots, member(bob, coots), alice)
    blocked = member(bob, coots)
    blocking.unblock(coots, member(bob, coots), alice)
    lifted = member(bob, coots)

    assert (blocked.stage, blocked.working_since) == ("blocked", began)
    assert (lifted.stage, lifted.gold_share, lifted.standing) == ("test", None, {})
    assert lifted.working_since > began


def test_a_block_in_a_closed_campaign_voids_and_says_that_nobody_can_answer(coots, alice, crowd):
    settle(coots, crowd, ["yes"] * 5)
    before = settlements_in_force(coots)
    lifecycle.change_state(coots, alice, "close")

    outcome = blocking.block(coots, member(crowd[0], coots), alice)
    assert (outcome.reopened, outcome.answerable) == (6, False)
    blocking.unblock(coots, member(crowd[0], coots), alice)

    assert settlements_in_force(coots) == before


def test_a_dropped_image_whose_abstentions_are_void_is_asked_again(coots, alice, crowd, run_jobs):
    settle(coots, crowd, ["hard", "hard", "hard", "hard", "yes"])
    assert set(coots.questions.values_list("state", flat=True)) == {"dropped"}
    run_jobs()

    blocking.block(coots, member(crowd[0], coots), alice)
    assert set(coots.questions.values_list("state", flat=True)) == {"open"}
    blocking.unblock(coots, member(crowd[0], coots), alice)

    assert set(coots.questions.values_list("state", flat=True)) == {"dropped"}
    assert Job.objects.filter(kind="question dropped", state="queued").count() == 6


def test_a_failure_in_the_middle_leaves_everything_as_it_was(coots, alice, crowd, monkeypatch):
    settle(coots, crowd, ["yes", "no", "no", "yes", "yes"])
    before = settlements_in_force(coots)

    def die(*_):
        raise RuntimeError("the power went")

    with monkeypatch.context() as patched:
        patched.setattr(blocking, "_put_in_force", die)
        with pytest.raises(RuntimeError, match="power"):
            blocking.block(coots, member(crowd[0], coots), alice)

    coots.refresh_from_db()
    assert settlements_in_force(coots) == before
    assert coots.calibration is None
    assert member(crowd[0], coots).stage == "working"
    assert not Calibration.objects.exists()
    assert not Decision.objects.filter(kind="block").exists()
    assert consistent(coots)


def test_a_block_takes_as_many_queries_for_more_questions(alice, dataset, bob):
    counts = []
    for images in (5, 50):
        campaign = factories.make_campaign(
            alice,
            dataset,
            f"many{images}",
            images=images,
            policy={"votes": 1, "gold_share": 0, "page_size": 50},
        )
        factories.join(bob, campaign)
        vote(bob, campaign, "yes")
        membership = member(bob, campaign)
        with CaptureQueriesContext(connection) as queries:
            assert blocking.block(campaign, membership, alice).reopened == images
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 32


NUMBERS = itertools.count()
PEOPLE, IMAGES = 7, 3
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["page", "page", "page", "revise", "block", "unblock", "hold", "skip", "learn"]
        ),
        st.integers(0, PEOPLE - 1),
        st.lists(st.sampled_from(["yes", "yes", "no", "no", "hard"]), min_size=3, max_size=3),
    ),
    max_size=40,
)
POLICIES = st.sampled_from(
    [{"votes": 3, "max_votes": 5}, {**WEIGHED, "min_votes": 2, "max_votes": 5}]
)


class World:
    def __init__(self, alice, dataset, policy):
        name = f"any{next(NUMBERS)}"
        self.alice = alice
        self.campaign = factories.make_campaign(
            alice, dataset, name, policy=policy | {"gold_share": 0, "page_size": 2}, launch=False
        )
        names = [f"shared/{index}.png" for index in range(IMAGES)]
        for image in names:
            if not dataset.images.filter(name=image).exists():
                factories.make_image(dataset, image)
        asking.add_questions(self.campaign, [(image, COOT) for image in names])
        lifecycle.launch(self.campaign, alice)
        self.crowd = people(self.campaign, PEOPLE, f"{name}-")
        self.first = self.campaign.questions.order_by("pk").first().pk

    def send(self, person, seats, values):
        send(
            person,
            self.campaign,
            seats,
            lambda seat: values[(seat.question_id - self.first) % IMAGES],
        )

    def blocked(self, person):
        return self.campaign.memberships.filter(user=person, stage="blocked").exists()

    def page(self, person, values):
        if not self.blocked(person):
            self.send(person, claiming.next_page(person, self.campaign).seats, values)

    def hold(self, person, values):
        if not self.blocked(person):
            claiming.next_page(person, self.campaign)

    def revise(self, person, values):
        seats = Seat.objects.filter(
            annotator=person, question__campaign=self.campaign, state="answered"
        )
        self.send(person, seats, values)

    def skip(self, person, values):
        claiming.return_seats_of(person, self.campaign)

    def block(self, person, values):
        blocking.block(self.campaign, member(person, self.campaign), self.alice)

    def unblock(self, person, values):
        blocking.unblock(self.campaign, member(person, self.campaign), self.alice)

    def learn(self, person, values):
        calibrating.calibrate(self.campaign)

    def check(self):
        assert consistent(self.campaign)
        for question in self.campaign.questions.all():
            leased = question.seats.filter(state="leased").count()
            if question.state == "open":
                assert question.seats_free + leased > 0
            else:
                assert (question.seats_free, leased) == (0, 0)


@given(
    before=STEPS,
    blocks=st.sets(st.integers(0, PEOPLE - 1), min_size=1),
    steps=STEPS,
    policy=POLICIES,
)
def test_lifting_all_blocks_gives_back_what_was_whatever_happened_meanwhile(
    alice, dataset, before, blocks, steps, policy
):
    world = World(alice, dataset, policy)
    for action, person, values in before:
        getattr(world, action)(world.crowd[person], values)
        world.check()
    for person in world.crowd:
        world.unblock(person, None)
    world.check()
    was = settlements_in_force(world.campaign)

    for person in blocks:
        world.block(world.crowd[person], None)
        world.check()
    for action, person, values in steps:
        getattr(world, action)(world.crowd[person], values)
        world.check()
    for person in world.crowd:
        world.unblock(person, None)
        world.check()

    now = settlements_in_force(world.campaign)
    for pk, (state, settlement) in was.items():
        # What was open may have been answered to the end meanwhile. What the votes did not decide
        # (review) is asked again while a vote is blocked, and the further vote may decide it.
        if state == "open" or (state == "review" and has_further_votes(settlement, now[pk][1])):
            continue
        assert now[pk] == (state, settlement)
    assert calibration_store.in_force(world.campaign).voided == frozenset()
