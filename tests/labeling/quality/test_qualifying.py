"""Training with feedback, a test without, then work: the same seats and answers as everywhere."""

import uuid

import pytest

from labeling.answers import submitting
from labeling.assignment import claiming, quotas
from labeling.campaigns import lifecycle
from labeling.errors import CampaignClosed, InTraining, NotYours
from labeling.graphs import store
from labeling.models import Campaign, Membership, Question, Seat
from labeling.quality import gold_results, monitoring, qualifying
from tests import factories
from tests.labeling.crowd import COOT, give, make_gold

POLICY = {"training_questions": 4, "test_questions": 5, "test_pass": 0.8, "test_attempts": 2}


pytestmark = pytest.mark.usefixtures("afresh")


@pytest.fixture(scope="module")
def built(once):
    """A campaign with training of four, a test of five, and thirty gold questions; Bob is new."""
    with once():
        alice, bob, _ = factories.cast()
        dataset = factories.make_dataset(alice, "school")
        campaign = factories.make_campaign(alice, dataset, "school", images=6, policy=POLICY)
        make_gold(campaign, alice, ["yes", "no"] * 15)
        factories.join(bob, campaign)
    return campaign.pk


@pytest.fixture
def school(built, afresh):
    return Campaign.objects.select_related("dataset", "policy").get(pk=built)


def member(campaign, user):
    return campaign.memberships.get(user=user)


def known(seat):
    return Seat.objects.get(token=seat.token).question.gold.answer


def opposite(answer):
    return "no" if answer == "yes" else "yes"


def sent(seats, wrong=0):
    """Answers to these seats, the first `wrong` of them wrong."""
    return [
        submitting.SubmittedAnswer(
            uuid.uuid4(), seat.token, opposite(known(seat)) if index < wrong else known(seat), 900
        )
        for index, seat in enumerate(seats)
    ]


def begin(campaign, user):
    """The newcomer's first page, which sends them to training or the test."""
    with pytest.raises(InTraining):
        qualifying.next_page(user, campaign)


def do(campaign, user, wrong=0):
    """Answers the pages of one stage; returns what was told."""
    stage, results = member(campaign, user).stage, []
    while member(campaign, user).stage == stage:
        seats = qualifying.next_gold(user, campaign).seats
        if not seats:
            break
        now, wrong = min(wrong, len(seats)), max(0, wrong - len(seats))
        results += qualifying.feedback(user, campaign, sent(seats, now))
    return results


def test_a_quota_before_the_first_page_leaves_the_training(school, bob, alice):
    quotas.assign(member(school, bob), alice, {COOT: 3})

    begin(school, bob)

    assert member(school, bob).stage == "training"


def test_a_newcomer_is_trained_tested_and_then_works(school, bob):
    begin(school, bob)
    assert member(school, bob).stage == "training"

    feedback = do(school, bob, wrong=1)

    assert [row.right for row in feedback] == [False, True, True, True]
    assert all(row.explanation.startswith("Look at ") for row in feedback)
    assert member(school, bob).stage == "test"

    do(school, bob, wrong=1)

    assert member(school, bob).stage == "working"
    assert qualifying.next_page(bob, school).seats
    reasons = list(school.decisions.filter(kind="stage").values_list("reason", flat=True))
    assert reasons == [
        "",
        "Trained on 4 questions.",
        "Right on 4 of 5 questions of the test; 80% are needed.",
    ]


def test_training_counts_what_was_said_before_the_known_answer_was_told(school, bob):
    begin(school, bob)
    seats = qualifying.next_gold(bob, school).seats
    qualifying.feedback(bob, school, sent(seats[:1], wrong=1))
    before = qualifying.progress(member(school, bob))

    submitting.submit(bob, school, sent(seats[:1]))

    assert qualifying.progress(member(school, bob)) == before


def test_the_test_tells_nothing_of_single_answers(school, bob):
    begin(school, bob)
    do(school, bob)
    seats = qualifying.next_gold(bob, school, 2).seats

    feedback = qualifying.feedback(bob, school, sent(seats, wrong=1))

    assert {(row.right, row.answer, row.explanation) for row in feedback} == {(None, None, "")}
    assert qualifying.progress(member(school, bob)) == qualifying.StageProgress(
        stage="test", done=2, of=5, right=None, attempts_left=2, needed=0.8
    )


def test_whoever_fails_may_try_again_on_other_gold_and_then_has_failed(school, bob):
    begin(school, bob)
    do(school, bob)
    met = set(Seat.objects.values_list("subject", flat=True))

    first = [seat.question_id for seat in qualifying.next_gold(bob, school).seats]
    qualifying.feedback(bob, school, sent(qualifying.next_gold(bob, school).seats, wrong=2))
    assert member(school, bob).stage == "test"
    assert qualifying.progress(member(school, bob)).attempts_left == 1
    second = [seat.question_id for seat in qualifying.next_gold(bob, school).seats]
    qualifying.feedback(bob, school, sent(qualifying.next_gold(bob, school).seats, wrong=2))

    assert len({*met, *first, *second}) == 4 + 5 + 5
    failed = member(school, bob)
    assert (failed.stage, failed.attempts) == ("failed", 2)
    decision = school.decisions.filter(kind="stage").latest("pk")
    assert decision.reason == (
        "Right on 3 of 5 questions of the test; 80% are needed, and the test was taken 2 times."
    )
    assert qualifying.next_gold(bob, school).seats == []


def test_four_of_five_are_eighty_per_cent(school, bob):
    begin(school, bob)
    do(school, bob)
    do(school, bob, wrong=1)

    assert member(school, bob).stage == "working"


def test_a_pardon_lets_in_whoever_failed(school, alice, bob):
    begin(school, bob)
    do(school, bob)
    do(school, bob, wrong=10)
    assert member(school, bob).stage == "failed"

    monitoring.pardon(member(school, bob), alice, "We talked it over.")

    assert qualifying.next_page(bob, school).seats
    assert member(school, bob).attempts == 0


def test_a_pardoned_newcomer_is_not_sent_to_training_again(school, alice, bob):
    begin(school, bob)
    monitoring.pardon(member(school, bob), alice, "She made the gold herself.")

    assert qualifying.next_page(bob, school).seats


def test_a_newcomer_pardoned_before_training_begins_keeps_working(school, alice, bob):
    begin(school, bob)
    monitoring.pardon(member(school, bob), alice, "She made the gold herself.")

    # Between the check of the page and the beginning, a pardon may come.
    assert qualifying.begin(member(school, bob)) == "working"
    assert member(school, bob).stage == "working"


def test_gold_of_training_and_test_never_comes_again_and_counts_for_no_standing(school, alice, bob):
    begin(school, bob)
    do(school, bob, wrong=3)
    do(school, bob, wrong=1)
    lifecycle.change_policy(school, alice, POLICY | {"gold_share": 0.5})
    school.refresh_from_db()
    met = set(Seat.objects.filter(annotator=bob).values_list("subject", flat=True))

    page = qualifying.next_page(bob, school, 100)

    assert gold_results.accuracy(bob, school).total == 0
    assert not met & {seat.question_id for seat in page.seats}


def test_feedback_is_given_on_no_seat_that_work_gave(school, alice, bob):
    # Gold met at work, its answer still open to change, then training once more.
    golden = list(school.questions.filter(state="gold")[:2])
    seats = give(bob, golden[:1], ["yes"])
    open_one = golden[1].seats.create(
        annotator=bob, subject=golden[1].pk, leased_until="2099-01-01T00:00Z"
    )
    qualifying.move_to_stage(member(school, bob), "training", None, "again", expected="working")

    feedback = qualifying.feedback(
        bob,
        school,
        [
            submitting.SubmittedAnswer(uuid.uuid4(), seats[0].token, "no", 5),
            submitting.SubmittedAnswer(uuid.uuid4(), open_one.token, "no", 5),
        ],
    )

    assert [row.status for row in feedback] == ["accepted", "accepted"]
    assert {(row.right, row.answer, row.explanation) for row in feedback} == {(None, None, "")}


def test_feedback_says_what_was_refused(school, bob):
    begin(school, bob)
    qualifying.next_gold(bob, school)

    [result] = qualifying.feedback(
        bob, school, [submitting.SubmittedAnswer(uuid.uuid4(), "0" * 32, "yes", 5)]
    )

    assert (result.status, result.right) == ("refused", None)
    assert result.message


def test_a_reload_claims_nothing_twice(school, bob):
    begin(school, bob)

    first = qualifying.next_gold(bob, school)
    second = qualifying.next_gold(bob, school)

    assert first.seats == second.seats
    assert len(first.seats) == first.left == 4


@pytest.mark.parametrize("size", [1, 3, 4])
def test_gold_that_was_seen_and_given_back_comes_again_before_any_other(school, bob, size):
    begin(school, bob)
    seen = set()
    for _ in range(6):
        seen |= {seat.question_id for seat in qualifying.next_gold(bob, school, size).seats}
        claiming.return_seats_of(bob, school)

    assert len(seen) == size
    do(school, bob)

    # They know of each that it is gold: none is left that could come at work.
    answered = Seat.objects.filter(annotator=bob, state="answered")
    assert seen <= set(answered.values_list("question", flat=True))
    assert not Seat.objects.filter(annotator=bob).exclude(state="answered").exists()


@pytest.mark.parametrize("size", [1, 4])
def test_training_deals_both_answers_and_every_class(school, alice, bob, size):
    lifecycle.define_topics(school, [{"key": "n1", "name": "a drake"}])
    make_gold(school, alice, ["yes", "no"], topic="n1")
    begin(school, bob)

    dealt = []
    while member(school, bob).stage == "training":
        seats = qualifying.next_gold(bob, school, size).seats
        dealt += [(seat.topic, known(seat)) for seat in seats]
        qualifying.feedback(bob, school, sent(seats))

    assert sorted(answer for _, answer in dealt) == ["no", "no", "yes", "yes"]
    assert {topic for topic, _ in dealt} == {COOT, "n1"}


@pytest.mark.parametrize(
    ("count", "training", "test"), [(9, 4, 5), (7, 2, 5), (5, 0, 5), (3, 0, 3), (0, 0, 0)]
)
def test_too_little_gold_shortens_training_then_the_test(
    alice, bob, dataset, count, training, test
):
    campaign = factories.make_campaign(alice, dataset, "poor", images=6, policy=POLICY)
    make_gold(campaign, alice, ["yes", "no", *["yes"] * 9][:count])
    factories.join(bob, campaign)
    words = qualifying.shortage(campaign)

    if count:
        begin(campaign, bob)
    stages = []
    while member(campaign, bob).stage in ("training", "test"):
        stage = member(campaign, bob).stage
        stages.append((stage, qualifying.progress(member(campaign, bob)).of))
        do(campaign, bob)

    assert stages == [(stage, of) for stage, of in [("training", training), ("test", test)] if of]
    assert f"has {count}: training has {training} questions and the test {test}" in words
    assert qualifying.next_page(bob, campaign).seats


def test_whoever_failed_is_not_let_in_because_gold_ran_out(alice, bob, dataset):
    campaign = factories.make_campaign(
        alice, dataset, "poor", images=6, policy=POLICY | {"training_questions": 0}
    )
    make_gold(campaign, alice, ["yes", "no"] * 2)
    factories.join(bob, campaign)
    begin(campaign, bob)

    do(campaign, bob, wrong=4)

    assert member(campaign, bob).stage == "failed"
    assert "no gold is left" in campaign.decisions.filter(kind="stage").latest("pk").reason


def test_enough_gold_needs_no_words(school):
    assert qualifying.shortage(school) == ""


def test_whoever_was_working_before_training_was_wanted_works_on(coots, alice, bob):
    make_gold(coots, alice, ["yes", "no"] * 10)
    give(bob, coots.questions.filter(state="open")[:1], ["yes"])
    lifecycle.change_policy(coots, alice, POLICY)
    coots.refresh_from_db()

    assert qualifying.next_page(bob, coots).seats
    assert member(coots, bob).stage == "working"


def test_training_goes_on_until_the_latest_answers_reach_the_level(alice, bob, dataset):
    campaign = factories.make_campaign(
        alice, dataset, "level", images=6, policy=POLICY | {"training_pass": 0.75}
    )
    make_gold(campaign, alice, ["yes", "no"] * 15)
    factories.join(bob, campaign)
    begin(campaign, bob)

    level = qualifying.progress(member(campaign, bob)).level
    feedback = do(campaign, bob, wrong=2)

    assert level == 0.75
    # Of the latest four, one wrong at most.
    assert [row.right for row in feedback] == [False, False, True, True, True]
    assert member(campaign, bob).stage == "test"


def test_training_below_the_level_ends_with_its_gold(alice, bob, dataset):
    campaign = factories.make_campaign(
        alice, dataset, "level", images=6, policy=POLICY | {"training_pass": 1}
    )
    make_gold(campaign, alice, ["yes", "no"] * 5)
    factories.join(bob, campaign)
    begin(campaign, bob)

    feedback = do(campaign, bob, wrong=9)

    # Five of ten are kept for the test.
    assert (len(feedback), member(campaign, bob).stage) == (5, "test")


def test_training_that_is_called_off_ends_for_those_in_it(school, alice, bob):
    begin(school, bob)
    lifecycle.change_policy(school, alice, {"training_questions": 0, "test_questions": 0})
    school.refresh_from_db()

    assert qualifying.next_gold(bob, school).seats == []
    assert member(school, bob).stage == "working"


@pytest.mark.parametrize("role", ["researcher", "reviewer"])
def test_researchers_and_reviewers_need_no_training(school, charlie, role):
    factories.join(charlie, school, role)

    assert qualifying.begin(member(school, charlie)) == "working"


def test_training_is_for_members_of_an_open_campaign(school, alice, bob, charlie):
    begin(school, bob)
    with pytest.raises(NotYours):
        qualifying.next_gold(charlie, school)
    lifecycle.change_state(school, alice, "pause")
    with pytest.raises(CampaignClosed):
        qualifying.next_gold(bob, school)


def test_only_gold_is_given_out_and_nothing_settles(school, bob):
    begin(school, bob)
    do(school, bob)
    do(school, bob)

    seats_of_work = Seat.objects.filter(annotator=bob).exclude(question__state="gold")
    assert not seats_of_work.exists()
    assert not Question.objects.filter(settlements__isnull=False).exists()


NODES = [
    {"id": name, "question": f"a {name}", "parents": [], "class": f"n-{name}"}
    for name in ("cat", "dog")
]


@pytest.fixture
def campaign(alice, dataset):
    """A draft that asks by a graph of two classes."""
    made = lifecycle.create(
        alice, name="graph", title="Graph", kind="hierarchy", dataset=dataset, policy=POLICY
    )
    store.define(made, alice, {"name": "two", "nodes": NODES})
    made.refresh_from_db()
    return made


def test_a_page_of_training_is_about_one_topic_where_pages_are(campaign, alice, bob):
    for topic in ("cat", "dog"):
        make_gold(campaign, alice, ["yes", "no"] * 6, topic=topic)
    campaign.state = "open"
    campaign.save(update_fields=["state"])
    factories.join(bob, campaign)
    qualifying.begin(member(campaign, bob))
    topics = []

    while member(campaign, bob).stage != Membership.Stage.WORKING:
        seats = qualifying.next_gold(bob, campaign, 2).seats
        topics.append({seat.topic for seat in seats})
        qualifying.feedback(bob, campaign, sent(seats))

    assert {len(topics_of_page) for topics_of_page in topics} == {1}


def test_gold_that_the_graph_no_longer_asks_for_is_not_given(campaign, alice, bob):
    make_gold(campaign, alice, ["yes", "no"], topic="cat")
    make_gold(campaign, alice, ["yes"], topic="dog")
    factories.join(bob, campaign)

    store.define(campaign, alice, {"name": "one", "nodes": NODES[1:]})

    topics = [row[2] for row in qualifying.unseen(member(campaign, bob))]
    assert topics == ["dog"]
