import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from labeling.campaigns import lifecycle
from labeling.consensus import calibrating, calibration_store, learned_skills
from labeling.follow_ups import asking
from labeling.kinds import deciding
from labeling.models import Answer, Calibration, Question, Seat
from labeling.models.people import new_token
from labeling.quality.gold import add_gold, retire_gold
from tests import factories

COOT = "n02018207"
ADAPTIVE = {"method": "posterior", "min_votes": 2, "max_votes": 9, "gold_share": 0.1}


@pytest.fixture
def pond(alice, dataset):
    """A campaign of forty questions that goes by standing; every fourth image shows a coot."""
    return factories.make_campaign(alice, dataset, "pond", images=40, policy=ADAPTIVE)


def people(campaign, count):
    crowd = [factories.make_user(f"{campaign.name}{index}") for index in range(count)]
    for person in crowd:
        factories.join(person, campaign)
    return crowd


def say(person, question, value, *, late=False, revision=0):
    """An answer as it lies in the database."""
    seat, _ = Seat.objects.get_or_create(
        annotator=person,
        question=question,
        defaults={
            "subject": question.pk,
            "token": new_token(),
            "state": "answered",
            "leased_until": timezone.now(),
        },
    )
    return Answer.objects.create(
        id=uuid.uuid4(), assignment=seat, value=value, late=late, revision=revision
    )


def truth(index):
    return "yes" if index % 4 == 0 else "no"


def opposite(word):
    return "no" if word == "yes" else "yes"


def label(campaign, crowd, wrong_every):
    """Everybody answers everything; person i errs on every wrong_every[i]-th (0: never)."""
    for index, question in enumerate(campaign.questions.for_consensus().order_by("pk")):
        for rank, person in enumerate(crowd):
            every = wrong_every[rank]
            errs = every and (index + rank) % every == 0
            say(person, question, opposite(truth(index)) if errs else truth(index))


def test_good_people_weigh_more_than_those_who_guess(pond):
    crowd = people(pond, 5)
    label(pond, crowd, [0, 0, 10, 10, 2])

    content = calibrating.calibrate(pond).content

    right = {pk: annotator["confusion"] for pk, annotator in content["annotators"].items()}
    perfect, guesser = right[str(crowd[0].pk)], right[str(crowd[4].pk)]
    assert perfect[0][0] > 0.9
    assert perfect[1][1] > 0.8
    assert guesser[0][0] < 0.7
    assert content["annotators"][str(crowd[0].pk)]["answers"] == 40
    assert content["prior"]["*"][1] == pytest.approx(0.25, abs=0.05)
    skills = calibration_store.in_force(pond)
    yes = skills.gains[crowd[0].pk][1]
    assert yes > skills.gains[crowd[4].pk][1]


def test_equal_answers_make_one_calibration_and_further_ones_another(pond):
    crowd = people(pond, 3)
    label(pond, crowd, [0, 7, 9])

    first = calibrating.calibrate(pond)
    again = calibrating.calibrate(pond)
    say(people(factories_other(pond), 1)[0], pond.questions.first(), "no")
    third = calibrating.calibrate(pond)

    assert (first.number, again.pk, third.number) == (1, first.pk, 2)
    pond.refresh_from_db()
    assert pond.calibration == third


def factories_other(campaign):
    """The same campaign, for people of another name."""
    campaign.name = "late-comers"
    return campaign


def test_late_superseded_and_void_answers_teach_nothing(pond):
    crowd = people(pond, 4)
    label(pond, crowd[:3], [0, 7, 9])
    before = learned_skills.learn(pond)

    for question in pond.questions.for_consensus():
        say(crowd[3], question, "yes", late=True)
    assert learned_skills.learn(pond) == before

    first = pond.questions.order_by("pk").first()
    say(crowd[0], first, "no", revision=1)
    say(crowd[0], first, "yes", revision=2)
    assert learned_skills.learn(pond) == before

    without = learned_skills.learn(pond, frozenset([crowd[2].pk]))
    assert str(crowd[2].pk) not in without.annotators


def test_gold_is_known_and_says_nothing_of_how_common_a_yes_is(pond, alice):
    crowd = people(pond, 3)
    label(pond, crowd, [0, 0, 0])
    before = learned_skills.learn(pond).prior["*"]
    for index in range(10):
        factories.make_image(pond.dataset, f"gold/{index}.png")
    add_gold(
        pond, alice, [{"image": f"gold/{i}.png", "topic": COOT, "answer": "yes"} for i in range(10)]
    )
    golden = list(Question.objects.filter(campaign=pond, state="gold").order_by("pk"))
    # Two of three miss it together: their majority is wrong, and only gold can tell.
    for question in golden:
        for person, value in zip(crowd, ["yes", "no", "no"], strict=True):
            say(person, question, value)

    content = learned_skills.learn(pond)

    # Ten more questions that are yes would have moved the share by more than a tenth.
    assert content.prior["*"] == pytest.approx(before, abs=0.03)
    missed = [content.annotators[str(person.pk)].confusion[1][0] for person in crowd]
    assert missed[0] < 0.1
    assert min(missed[1:]) > 0.4
    assert {annotator.gold for annotator in content.annotators.values()} == {10}
    assert {annotator.answers for annotator in content.annotators.values()} == {50}
    for question in golden:
        retire_gold(pond, alice, question.pk, "wrong")
    assert learned_skills.learn(pond).annotators[str(crowd[0].pk)].answers == 40


def test_a_topic_with_few_questions_stays_near_the_campaigns_share(alice, dataset):
    campaign = factories.make_campaign(alice, dataset, "two", images=40, policy=ADAPTIVE)
    lifecycle.define_topics(campaign, [{"key": "rare", "name": "rare"}])
    factories.make_image(dataset, "rare.png")
    asking.add_questions(campaign, [("rare.png", "rare")])
    crowd = people(campaign, 3)
    label(campaign, crowd, [0, 0, 0])

    prior = learned_skills.learn(campaign).prior

    # One question that everybody calls "yes" moves the share of 10 in 40 by one part in 21.
    assert prior["rare"][1] == pytest.approx((1 + 20 * prior["*"][1]) / 21, abs=0.01)
    assert prior[COOT][1] == pytest.approx(0.25, abs=0.02)


def test_pilots_give_vote_tables_where_the_policy_goes_by_them(alice, dataset):
    policy = ADAPTIVE | {"method": "vote-table", "max_votes": 12}
    campaign = factories.make_campaign(alice, dataset, "tables", images=12, policy=policy)
    crowd = people(campaign, 10)
    label(campaign, crowd, [0, 0, 0, 0, 0, 5, 5, 5, 3, 3])

    calibrating.calibrate(campaign)

    table = calibration_store.in_force(campaign).tables[COOT]
    assert (table.images, table.size) == (12, 12)
    assert table.probability(0, 2) < 0.1 < 0.6 < table.probability(2, 0)
    lifecycle.change_policy(campaign, alice, ADAPTIVE)
    campaign.refresh_from_db()
    assert learned_skills.learn(campaign).tables == {}


def test_naming_learns_how_often_each_is_right(alice, dataset):
    vocabulary = [{"key": f"k{index:02}", "name": f"class {index}"} for index in range(20)]
    campaign = factories.make_campaign(
        alice,
        dataset,
        "names",
        kind="naming",
        images=30,
        policy=ADAPTIVE,
        settings={"vocabulary": vocabulary},
    )
    crowd = people(campaign, 4)
    for index, question in enumerate(campaign.questions.order_by("pk")):
        right, wrong = {"key": f"k{index % 20:02}"}, {"key": f"k{(index + 7) % 20:02}"}
        for rank, person in enumerate(crowd):
            errs = rank == 3 and index % 2
            say(person, question, wrong if errs else right)

    content = calibrating.calibrate(campaign).content

    accuracy = [content["annotators"][str(person.pk)]["accuracy"] for person in crowd]
    assert min(accuracy[:3]) > 0.9
    assert accuracy[3] == pytest.approx(0.5, abs=0.06)
    assert len(calibration_store.in_force(campaign).classes) == 21


def test_nothing_answered_is_no_error_and_leaves_the_policys_prior(pond):
    content = calibrating.calibrate(pond).content

    assert content["annotators"] == {}
    assert content["prior"] == {"*": [0.5, 0.5]}


def test_a_calibration_is_read_once_in_a_process(pond, django_assert_num_queries):
    label(pond, people(pond, 2), [0, 5])
    made = calibrating.calibrate(pond)
    calibration_store.in_force(made.pk)

    with django_assert_num_queries(0):
        again = calibration_store.skills(made.pk, made.created_at)

    assert again is calibration_store.in_force(made.pk)
    assert calibration_store.in_force(None) is deciding.NONE


def test_who_is_void_stays_void_when_standings_are_learned_again(pond, alice):
    crowd = people(pond, 3)
    label(pond, crowd, [0, 7, 9])
    void = calibration_store.voiding(pond, {crowd[2].pk}, "blocked")
    pond.calibration = void
    pond.save()

    made = calibrating.calibrate(pond, alice, "asked")

    assert made.content["voided"] == [crowd[2].pk]
    assert set(made.content["annotators"]) == {str(crowd[0].pk), str(crowd[1].pk)}
    assert made.reason == f"asked ({alice.username})"


def test_void_again_and_back_again_are_the_same_rows(pond):
    crowd = people(pond, 3)
    label(pond, crowd, [0, 7, 9])
    first = calibrating.calibrate(pond)
    pond.refresh_from_db()

    void = calibration_store.voiding(pond, {crowd[0].pk}, "blocked")
    pond.calibration = void
    assert calibration_store.voiding(pond, set(), "lifted") == first
    assert calibration_store.voiding(pond, {crowd[0].pk}, "blocked") == void
    assert Calibration.objects.count() == 2


def test_standings_are_due_after_enough_answers_and_never_by_majority(pond, alice, run_jobs):
    crowd = people(pond, 3)
    label(pond, crowd, [0, 7, 9])
    pond.memberships.filter(user=crowd[0]).update(answered=1999)
    assert not calibrating.enqueue_if_due(pond)
    pond.memberships.filter(user=crowd[0]).update(answered=2000)

    assert calibrating.enqueue_if_due(pond)
    assert calibrating.enqueue_if_due(pond)
    assert run_jobs() == 1

    assert Calibration.objects.get().reason == "after many answers"
    assert not calibrating.due(pond)
    pond.refresh_from_db()
    lifecycle.change_policy(pond, alice, {"method": "majority"})
    pond.refresh_from_db()
    pond.memberships.filter(user=crowd[0]).update(answered=90_000)
    assert not calibrating.due(pond)


def test_every_night_calibrates_what_goes_by_standings(pond, alice, dataset):
    plain = factories.make_campaign(alice, dataset, "plain", images=2)
    label(pond, people(pond, 3), [0, 7, 9])

    assert [calibrating.calibrate_nightly(campaign) for campaign in (pond, plain)] == [True, False]
    pond.refresh_from_db()
    assert not calibrating.calibrate_nightly(pond)
    assert [row.campaign for row in Calibration.objects.all()] == [pond]


def test_learning_takes_as_many_queries_as_there_are_thousands(pond, django_assert_num_queries):
    label(pond, people(pond, 3), [0, 7, 9])

    # Audits, two chunks that are looked for, and the answers of the one that is there.
    with django_assert_num_queries(4):
        learned_skills.learn(pond)


def test_answers_after_learning_are_what_a_verdict_waits_for(pond):
    label(pond, people(pond, 3), [0, 7, 9])
    before = timezone.now() - timedelta(seconds=1)

    calibrating.calibrate(pond)

    since = calibration_store.in_force(pond).since
    assert since is not None
    assert before < since <= timezone.now()
