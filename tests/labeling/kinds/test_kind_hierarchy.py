"""The kind hierarchy: settings, answers, and a campaign labeled page by page to its end."""

import uuid

import pytest

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.errors import Refusal
from labeling.follow_ups import following
from labeling.graphs import learned_order
from labeling.kinds import KINDS, Verdict, policies
from labeling.models import Question
from tests import factories
from tests.cases import for_each
from tests.labeling.crowd import answer_all
from tests.labeling.hierarchies import labels, make, open_nodes

hierarchy = KINDS["hierarchy"]

POLICY = policies.DEFAULTS


def test_settings_have_defaults():
    assert hierarchy.clean_settings({}) == {"mode": "safe", "order": "breadth"}
    priced = {"mode": "safe", "order": "learned", "price": 0.006}
    assert hierarchy.clean_settings({"order": "learned", "price": 0.006}) == priced


@for_each(
    ("settings", "field", "words"),
    [
        ({"mode": "loose"}, "mode", "give one of: safe, strict"),
        ({"order": ["depth"]}, "order", "give one of: breadth, depth, learned"),
        ({"vocabulary": []}, "settings", "has no setting 'vocabulary'"),
        ({"price": 0.01}, "price", "requires the learned order and the safe mode"),
        ({"price": 0.01, "order": "learned", "mode": "strict"}, "price", "the safe mode"),
        ({"price": 0, "order": "learned"}, "price", "expected 0.0001 to 1"),
        ({"price": "dear", "order": "learned"}, "price", "expected a number"),
    ],
)
def test_other_settings_are_refused(settings, field, words):
    with pytest.raises(Refusal, match=words) as refused:
        hierarchy.clean_settings(settings)

    assert refused.value.field == field


@pytest.mark.parametrize("value", ["yes", "no", "hard"])
def test_its_three_answers_pass(value):
    assert hierarchy.clean(value, {}) == value


@for_each("value", ["not_photo", "", None, 1, ["yes"], {"key": "yes"}])
def test_another_answer_is_refused(value):
    with pytest.raises(Refusal, match="use yes, no or hard") as refused:
        hierarchy.clean(value, {})

    assert refused.value.code == "bad_value"


def test_too_hard_is_an_abstention_never_a_third_class():
    assert [hierarchy.vote(value) for value in ("yes", "no", "hard")] == ["yes", "no", None]
    assert hierarchy.settle(["hard", "hard", "yes", "yes", "yes"], POLICY) == Verdict(
        "settled", "yes", 1.0
    )
    assert hierarchy.settle(["hard"] * 4 + ["yes"], POLICY).state == "dropped"


def test_gold_is_graded_by_the_known_answer():
    assert [hierarchy.grade(value, "no") for value in ("yes", "no", "hard")] == [0, 1, 0]


def test_a_campaign_is_labeled_to_its_end_by_pages_of_one_question(alice, bob, dataset, run_jobs):
    campaign = make(alice, dataset, images=3)
    factories.join(bob, campaign)
    # What is in each image; the animal is neither cat nor dog.
    truth = {
        "0.png": {"animal", "dog", "cat"},
        "1.png": {"kitchen", "electric", "oven"},
        "2.png": {"animal"},
    }
    pages = 0
    while seats := claiming.next_page(bob, campaign).seats:
        pages += 1
        assert len({seat.topic for seat in seats}) == 1
        sent = [
            submitting.SubmittedAnswer(
                uuid.uuid4(), seat.token, "yes" if seat.topic in truth[seat.image_name] else "no", 9
            )
            for seat in seats
        ]
        assert {r.status for r in submitting.submit(bob, campaign, sent)} == {"accepted"}
        run_jobs()

    assert not Question.objects.filter(campaign=campaign, state="open").exists()
    assert not Question.objects.filter(follow_up=True).exists()
    # 4 roots, then 2 below the animal of 0 and 2, and 3 below kitchen and electric of 1.
    assert campaign.questions.count() == 3 * 4 + 2 + 2 + 3
    assert [key for key, label in labels(campaign).items() if label == ("yes", "explicit")] == [
        "n02084071",
        "n02121620",
    ]
    assert labels(campaign, 1)["n03862676"] == ("yes", "explicit")
    assert labels(campaign, 1)["n02084071"] == ("no", "inherited")
    assert labels(campaign, 2)["n02084071"] == ("no", "explicit")


def test_settling_flags_its_question_and_the_job_opens_what_follows(alice, bob, dataset, run_jobs):
    campaign = make(alice, dataset, images=1)
    factories.join(bob, campaign)
    answer_all(bob, campaign, "yes")
    assert open_nodes(campaign) == []

    run_jobs()

    assert open_nodes(campaign) == ["dog", "cat", "cup", "oven", "lamp"]


def test_blocking_and_lifting_restores_labels_and_questions(alice, bob, dataset, run_jobs):
    from labeling.quality import blocking

    campaign = make(alice, dataset, images=2)
    membership = factories.join(bob, campaign)
    for _ in range(3):
        answer_all(bob, campaign, "yes")
        run_jobs()
    before = dict(campaign.questions.values_list("pk", "state"))
    names = [labels(campaign, 0), labels(campaign, 1)]
    assert set(before.values()) == {"settled"}

    blocking.block(campaign, membership, alice, "answers at random")
    run_jobs()
    states = list(campaign.questions.values_list("topic", "state"))
    assert {state for topic, state in states if topic in ("animal", "person")} == {"open"}
    assert {state for topic, state in states if topic in ("dog", "lamp")} == {"withdrawn"}
    assert {value for value, _ in labels(campaign).values()} == {"unknown"}

    membership.refresh_from_db()
    blocking.unblock(campaign, membership, alice, "it was somebody else")
    run_jobs()

    assert dict(campaign.questions.values_list("pk", "state")) == before
    assert [labels(campaign, 0), labels(campaign, 1)] == names


def test_statistics_are_learned_of_whole_images_alone(alice, bob, dataset, run_jobs):
    campaign = make(alice, dataset, images=3)
    factories.join(bob, campaign)
    for _ in range(3):
        answer_all(bob, campaign, "yes")
        run_jobs()
    factories.make_image(dataset, "9.png")
    following.open_images(campaign)

    statistics = learned_order.statistics(campaign)

    assert statistics["images"] == 3
    assert statistics["yes"] == [3] * 9
    assert len(statistics["seconds"]) == 9
    assert statistics["seconds"][0] == pytest.approx(0.9)
