import itertools
import uuid
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import reviewing, settling
from labeling.follow_ups import asking
from labeling.kinds import KINDS
from labeling.models import Answer, Calibration, Graph, Job, Policy, Question, Seat, Settlement
from labeling.quality import blocking
from tests import factories
from tests.labeling.crowd import answer, people, query_count, vote

COOT = "n02018207"


def states(campaign):
    return set(campaign.questions.values_list("state", flat=True))


def test_five_votes_settle_with_the_ids_of_their_answers(coots, crowd):
    for person, value in zip(crowd, ["yes", "yes", "no", "hard", "yes"], strict=False):
        assert states(coots) == {"open"}
        vote(person, coots, value)

    assert states(coots) == {"settled"}
    settlement = Settlement.objects.filter(question=coots.questions.first()).get()
    answers = Answer.objects.filter(assignment__question=settlement.question)
    assert (settlement.value, settlement.probability) == ("yes", 0.75)
    assert settlement.answers == sorted(str(answer.pk) for answer in answers)
    assert settlement.policy == coots.policy


@pytest.fixture
def early(alice, bob, dataset):
    """Three questions whose majority of five stops early, and six people."""
    campaign = factories.make_campaign(
        alice, dataset, "early", images=3, policy={"stop_early": "decided"}
    )
    factories.join(bob, campaign)
    return campaign, [bob, *people(campaign, 5, "e")]


def test_a_majority_stops_when_the_rest_could_change_nothing(early):
    campaign, crowd = early
    first, second, third = campaign.questions.order_by("pk")
    assert first.seats_free == 3
    votes_by_question = {
        first.pk: ["yes", "yes", "yes"],
        second.pk: ["yes", "no", "yes", "yes"],
        third.pk: ["hard", "hard", "hard", "hard"],
    }
    for turn, person in enumerate(crowd):
        vote(
            person,
            campaign,
            {pk: values[min(turn, len(values) - 1)] for pk, values in votes_by_question.items()},
        )

    settlements = {row.question_id: row for row in Settlement.objects.all()}
    assert {pk: len(row.answers) for pk, row in settlements.items()} == {
        pk: len(values) for pk, values in votes_by_question.items()
    }
    assert [settlements[row.pk].value for row in (first, second, third)] == [
        "yes",
        "yes",
        "dropped",
    ]
    assert Answer.objects.count() == 3 + 4 + 4
    assert list(settling.rebuild(campaign)) == []


def test_a_block_asks_for_what_a_majority_that_stopped_early_then_lacks(early, alice):
    campaign, crowd = early
    for person in crowd[:3]:
        vote(person, campaign, "yes")
    assert states(campaign) == {"settled"}

    blocking.block(campaign, campaign.memberships.get(user=crowd[0]), alice, "asleep")

    assert set(campaign.questions.values_list("state", "seats_free")) == {("open", 1)}
    vote(crowd[3], campaign, "yes")
    assert states(campaign) == {"settled"}
    blocking.unblock(campaign, campaign.memberships.get(user=crowd[0]), alice, "awake")
    campaign.refresh_from_db()
    assert {len(row.answers) for row in Settlement.objects.order_by("-pk")[:3]} == {3}
    assert list(settling.rebuild(campaign)) == []


def test_a_campaign_from_before_majorities_stopped_early_is_rebuilt_without_a_difference(
    coots, crowd
):
    del coots.policy.content["stop_early"]
    coots.policy.save()
    for person, value in zip(crowd, ["yes", "yes", "yes", "no", "no"], strict=False):
        vote(person, coots, value)

    assert list(settling.rebuild(coots)) == []
    settlement = Settlement.objects.first()
    assert (settlement.probability, len(settlement.answers)) == (0.6, 5)


def test_a_tie_asks_one_more_person_in_the_first_lane(coots, crowd):
    for person, value in zip(crowd, ["yes", "yes", "no", "no", "hard"], strict=False):
        vote(person, coots, value)

    assert set(coots.questions.values_list("state", "seats_free", "lane")) == {("open", 1, 0)}
    assert not Settlement.objects.exists()
    vote(crowd[5], coots, "no")
    assert set(Settlement.objects.values_list("value", flat=True)) == {"no"}


def test_ties_up_to_max_votes_go_to_a_reviewer(coots, crowd):
    ballots = ["yes", "yes", "no", "no", *["hard"] * 5]
    for person, value in zip(crowd, ballots, strict=True):
        vote(person, coots, value)

    assert states(coots) == {"review"}
    assert set(coots.questions.values_list("seats_free", flat=True)) == {0}
    assert set(Settlement.objects.values_list("value", "probability")) == {(None, None)}


def test_more_than_three_of_five_too_hard_drops_and_says_so_once(coots, crowd):
    for person, value in zip(crowd, ["hard", "not_photo", "hard", "yes", "hard"], strict=False):
        vote(person, coots, value)

    assert states(coots) == {"dropped"}
    jobs = Job.objects.filter(kind="question dropped")
    pks = set(coots.questions.values_list("pk", flat=True))
    assert {job.payload["question"] for job in jobs} == pks
    assert jobs.count() == 6
    assert set(Settlement.objects.values_list("value", flat=True)) == {"dropped"}


def test_a_question_keeps_the_policy_it_was_asked_under(coots, alice, crowd):
    lifecycle.change_policy(coots, alice, {"votes": 2})

    for person in crowd[:4]:
        vote(person, coots, "yes")
    assert states(coots) == {"open"}
    vote(crowd[4], coots, "yes")

    assert states(coots) == {"settled"}


def test_settling_twice_changes_nothing(coots, crowd):
    for person in crowd[:5]:
        vote(person, coots, "yes")
    pks = list(coots.questions.values_list("pk", flat=True))

    assert settling.settle(pks) == 0
    assert settling.settle_complete(coots) == 0
    assert Settlement.objects.count() == 6


def test_what_was_left_complete_and_open_is_settled_on_request(coots, crowd):
    for person in crowd[:5]:
        vote(person, coots, "yes")
    Settlement.objects.all().delete()
    coots.questions.update(state="open")

    assert len(list(settling.rebuild(coots))) == 6
    assert settling.settle_complete(coots) == 6
    assert list(settling.rebuild(coots)) == []


def test_a_rebuild_equals_what_stands(coots, crowd):
    pks = list(coots.questions.order_by("pk").values_list("pk", flat=True))
    ballots = [
        ["yes", "yes", "no", "hard", "yes"],
        ["hard", "hard", "hard", "hard", "no"],
        ["yes", "yes", "no", "no", "hard"],
        ["no", "no", "no", "no", "no"],
        ["not_photo", "no", "yes", "no", "hard"],
        ["yes", "hard", "hard", "hard", "no"],
    ]
    for person, column in zip(crowd, zip(*ballots, strict=True), strict=False):
        vote(person, coots, dict(zip(pks, column, strict=True)))
    late = Seat.objects.filter(annotator=crowd[0], question_id=pks[0]).get()
    answer(crowd[0], coots, [late], "no")
    assert Answer.objects.filter(late=True).count() == 1

    assert list(settling.rebuild(coots)) == []


def test_a_rebuild_names_what_differs(coots, crowd):
    for person in crowd[:5]:
        vote(person, coots, "yes")
    wrong = coots.questions.first()
    Settlement.objects.filter(question=wrong).update(value="no")

    [difference] = settling.rebuild(coots)

    assert difference.question == wrong.pk
    assert (difference.current.value, difference.rebuilt.value) == ("no", "yes")
    assert Settlement.objects.filter(question=wrong).get().value == "no"


def test_tallies_count_each_persons_last_answer_abstentions_too(coots, crowd):
    for person, value in zip(crowd, ["yes", "yes", "no", "hard", "yes"], strict=False):
        vote(person, coots, value)
    first, *_ = coots.questions.order_by("pk")
    seat = first.seats.get(annotator=crowd[2])
    # A mind changed after the question settled is kept, and moves nothing.
    answer(crowd[2], coots, [seat], "hard")

    tallies = settling.tallies(coots, [first.pk])

    assert tallies == {first.pk: {"yes": 3, "hard": 1, "no": 1}}
    assert list(tallies[first.pk]) == ["hard", "no", "yes"]


@pytest.fixture
def weighed(alice, dataset):
    """Six questions that are asked until wrong at most 1 in 50, and seven people."""
    campaign = factories.make_campaign(
        alice,
        dataset,
        "weighed",
        images=6,
        policy={
            "method": "posterior",
            "target_error": 0.02,
            "target_rule": "model",
            "gold_share": 0,
            "max_votes": 6,
        },
    )
    return campaign, people(campaign, 7, "w")


def test_votes_come_one_at_a_time_until_sure_enough(weighed):
    campaign, crowd = weighed
    rows = campaign.questions.values_list("state", "seats_free", "lane")
    assert set(rows) == {("open", 2, 1)}

    vote(crowd[0], campaign, "yes")
    vote(crowd[1], campaign, "yes")
    assert set(rows.all()) == {("open", 1, 0)}
    vote(crowd[2], campaign, "yes")

    assert states(campaign) == {"settled"}
    settlement = Settlement.objects.filter(question=campaign.questions.first()).get()
    assert (settlement.value, len(settlement.answers)) == ("yes", 3)
    assert settlement.probability == pytest.approx(64 / 65)
    assert settlement.calibration is None
    assert list(settling.rebuild(campaign)) == []


def test_people_known_to_be_good_need_fewer_votes(weighed):
    campaign, crowd = weighed
    good = {"confusion": [[0.95, 0.05], [0.05, 0.95]], "answers": 90, "gold": 9}
    known = {str(person.pk): good for person in crowd}
    made = Calibration.objects.create(campaign=campaign, number=1, content={"annotators": known})
    campaign.calibration = made
    campaign.save()

    vote(crowd[0], campaign, "no")
    vote(crowd[1], campaign, "no")

    settlement = Settlement.objects.filter(question=campaign.questions.first()).get()
    assert (settlement.value, settlement.calibration) == ("no", made)
    assert settlement.probability == pytest.approx(19**2 / (19**2 + 1))
    # Another calibration later changes nothing about what this one settled.
    campaign.calibration = Calibration.objects.create(campaign=campaign, number=2, content={})
    campaign.save()
    assert list(settling.rebuild(campaign)) == []


def test_what_nobody_is_sure_of_goes_to_a_reviewer_and_stands_as_they_say(weighed, alice):
    campaign, crowd = weighed
    for index, person in enumerate(crowd):
        vote(person, campaign, "yes" if index % 2 else "no")

    assert states(campaign) == {"review"}
    question = campaign.questions.order_by("pk").first()
    settlement = reviewing.decide(campaign, question.pk, alice, "yes")

    assert settlement.reviewed
    assert list(settling.rebuild(campaign)) == []


def test_settling_takes_as_many_queries_for_more_questions(alice, dataset, bob, charlie):
    counts = {}
    # Fewer than ten answers each: the tenth asks for a look at the person.
    for method, images in itertools.product(["majority", "posterior"], [3, 9]):
        campaign = factories.make_campaign(
            alice,
            dataset,
            f"{method}{images}",
            images=images,
            policy={"method": method, "votes": 2, "gold_share": 0, "page_size": 50},
        )
        for person in (bob, charlie):
            factories.join(person, campaign)
        vote(bob, campaign, "yes")
        seats = claiming.next_page(charlie, campaign).seats
        counts[method, images] = query_count(partial(answer, charlie, campaign, seats))

    assert counts["majority", 3] == counts["majority", 9]
    # The topics, and seats for one more vote.
    assert counts["posterior", 3] == counts["posterior", 9] <= counts["majority", 3] + 2


def test_a_question_graph_is_followed_up_when_a_consensus_comes_or_goes(coots, alice, crowd):
    graph = Graph.objects.create(campaign=coots, version=1, content={}, sha256="0" * 64)
    coots.questions.update(graph=graph)
    for person in crowd[:5]:
        vote(person, coots, "yes")

    assert set(coots.questions.values_list("follow_up", flat=True)) == {True}
    assert Job.objects.get(kind="advance").key == str(coots.pk)
    coots.questions.update(follow_up=False)
    Job.objects.all().delete()

    blocking.block(coots, coots.memberships.get(user=crowd[0]), alice)

    assert set(coots.questions.values_list("state", "follow_up")) == {("open", True)}
    assert Job.objects.filter(kind="advance").count() == 1


def test_withdrawn_questions_come_back_with_the_votes_they_had(coots, alice, crowd):
    for person in crowd[:3]:
        vote(person, coots, "yes")
    pks = list(coots.questions.values_list("pk", flat=True))
    pairs = [(f"coots/{index:03}.png", COOT) for index in range(6)]
    asking.withdraw_questions(coots, pks, alice, "not now")

    assert asking.add_questions(coots, pairs).reopened == 6

    assert set(coots.questions.values_list("state", "seats_free", "lane")) == {("open", 2, 0)}
    assert list(settling.rebuild(coots)) == []


@dataclass
class Model:
    """One question, as a child would count it."""

    votes: int
    answers: dict = field(default_factory=dict)
    leased: set = field(default_factory=set)
    # Who answered when every seat had gone to others.
    late: set = field(default_factory=set)
    free: int = 0
    state: str = "open"

    @property
    def answered_by(self):
        return {*self.answers, *self.late}


NUMBERS = itertools.count()
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["page", "answer", "answer", "answer", "revise", "expire", "skip"]),
        st.integers(0, 4),
        st.integers(0, 5),
        st.sampled_from(["yes", "no", "hard"]),
    ),
    max_size=60,
)


@given(steps=STEPS)
def test_any_schedule_agrees_with_a_plain_count(alice, dataset, steps):
    """Claims, answers, revisions, expiries and skips in any order, then everyone to the end."""
    number = next(NUMBERS)
    campaign = factories.make_campaign(
        alice,
        dataset,
        f"any{number}",
        policy={"votes": 2, "max_votes": 4, "gold_share": 0, "page_size": 2},
        launch=False,
    )
    for index in range(3):
        name = f"shared/{index}.png"
        if not dataset.images.filter(name=name).exists():
            factories.make_image(dataset, name)
    asking.add_questions(campaign, [(f"shared/{index}.png", COOT) for index in range(3)])
    lifecycle.launch(campaign, alice)
    world = _World(campaign, people(campaign, 5, f"any{number}-"))

    for action, person, which, value in steps:
        getattr(world, action)(person, which, value)
        world.check()
    world.finish()

    assert list(settling.rebuild(campaign)) == []


class _World:
    def __init__(self, campaign, crowd):
        self.campaign, self.crowd = campaign, crowd
        self.policy = Policy.objects.get(pk=campaign.policy_id).content
        pks = campaign.questions.values_list("pk", flat=True)
        self.models = {pk: Model(votes=2, free=2) for pk in pks}
        self.tokens = defaultdict(dict)

    def page(self, person, which, value):
        page = claiming.next_page(self.crowd[person], self.campaign)
        for seat in page.seats:
            model = self.models[seat.question_id]
            if person not in model.leased:
                assert model.state == "open"
                assert model.free > 0
                assert person not in model.answered_by
                model.free -= 1
                model.leased.add(person)
            self.tokens[person][seat.question_id] = seat.token
        votes = sum(
            person in model.leased
            or (model.state == "open" and model.free > 0 and person not in model.answered_by)
            for model in self.models.values()
        )
        assert len(page.seats) == min(2, votes)
        assert page.left == votes
        return page.seats

    def _send(self, person, pk, value):
        sent = submitting.SubmittedAnswer(uuid.uuid4(), self.tokens[person][pk], value, 1)
        [result] = submitting.submit(self.crowd[person], self.campaign, [sent])
        return result.code or result.status

    def _choose(self, person, which):
        held = sorted(self.tokens[person])
        return held[which % len(held)] if held else None

    def answer(self, person, which, value):
        pk = self._choose(person, which)
        if pk is None:
            return
        model = self.models[pk]
        code = self._send(person, pk, value)
        assert code == "accepted"
        if person in model.late:
            return
        if person in model.answers:
            if model.state == "open":
                model.answers[person] = value
            return
        if person in model.leased:
            model.leased.discard(person)
        elif model.state == "open" and model.free:
            model.free -= 1
        else:
            model.late.add(person)
            return
        model.answers[person] = value
        self._settle(model)

    revise = answer

    def _settle(self, model):
        if model.free or model.leased:
            return
        verdict = KINDS["contains"].settle(list(model.answers.values()), self.policy)
        model.state, model.free = verdict.state, verdict.more

    def expire(self, person, which, value):
        Seat.objects.filter(annotator=self.crowd[person], state="leased").update(
            leased_until=timezone.now() - timedelta(minutes=1)
        )
        claiming.return_expired()
        for model in self.models.values():
            if person in model.leased:
                model.leased.discard(person)
                model.free += 1

    def skip(self, person, which, value):
        pk = self._choose(person, which)
        if pk is None or person not in self.models[pk].leased:
            return
        claiming.return_seat(self.crowd[person], self.tokens[person][pk])
        self.models[pk].leased.discard(person)
        self.models[pk].free += 1

    def check(self):
        rows = Question.objects.filter(pk__in=self.models).values_list("pk", "state", "seats_free")
        for pk, state, free in rows:
            model = self.models[pk]
            assert (state, free) == (model.state, model.free)
        answered = Seat.objects.filter(question__in=self.models, state="answered").count()
        assert answered == sum(len(model.answered_by) for model in self.models.values())

    def finish(self):
        for person in [*range(5), *range(5)]:
            for _ in range(4):
                for seat in self.page(person, 0, "yes"):
                    held = sorted(self.tokens[person])
                    self.answer(person, held.index(seat.question_id), "yes")
        self.check()
        for model in self.models.values():
            # Nothing starves: what is open has been answered by everyone there is.
            assert model.state != "open" or len(model.answered_by) == 5


def test_what_stands_says_on_how_many_votes_and_how_sure_their_share_is(alice, bob, dataset):
    campaign = factories.make_campaign(
        alice, dataset, "single", images=2, policy={"votes": 1, "gold_share": 0}
    )
    factories.join(bob, campaign)
    first, second = campaign.questions.order_by("pk")
    vote(bob, campaign, {first.pk: "yes", second.pk: "hard"})
    before = list(Settlement.objects.values())

    support = settling.support(campaign, Settlement.objects.all())

    assert (support[first.pk].votes, support[first.pk].agreed) == (1, 1)
    assert support[first.pk].interval == pytest.approx((0.2065, 1), abs=1e-4)
    assert support[second.pk] == (0, 0, None)
    assert list(Settlement.objects.values()) == before


def test_a_posterior_has_votes_and_no_interval_of_a_share(coots, crowd):
    for person, value in zip(crowd, ["yes", "yes", "no", "hard", "yes"], strict=False):
        vote(person, coots, value)
    settlement = Settlement.objects.first()
    settlement.probability = 0.97

    support = settling.support(coots, [settlement])[settlement.question_id]

    assert support == (4, 3, None)
