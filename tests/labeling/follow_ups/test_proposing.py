"""Proposed boxes are shown where they have been found to save time, and nowhere else."""

import pytest

from labeling.boxes.acceptance import is_unassisted
from labeling.campaigns import lifecycle
from labeling.consensus import calibrating
from labeling.db import question_counts
from labeling.follow_ups import proposing
from labeling.models import Calibration, Question
from tests import factories
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A

pytestmark = pytest.mark.django_db
IMAGES = 60
SECONDS = {"draw": 7.0, "check": 1.8}


@pytest.fixture
def campaign(alice, dataset):
    """Proposed boxes of dogs and cats in as many images, and nobody has looked at any."""
    made = boxers.make(alice, dataset, images=0, topics=(DOG, CAT), policy={"checks": 1})
    names = [factories.make_image(dataset, f"{number}.png").name for number in range(IMAGES)]
    boxers.proposals(made, {(name, topic): [A] for name in names for topic in (DOG, CAT)})
    lifecycle.launch(made, alice)
    return made


def begin_with(campaign, topic):
    """How the pairs of a class begin whose proposals may be shown: {step: how many}."""
    plans = {}
    for question in campaign.questions.filter(topic=topic, round=0).select_related("item__image"):
        if not is_unassisted(f"{question.item.image.name} {topic}"):
            plans[question.step] = plans.get(question.step, 0) + 1
    return plans


def test_one_pair_in_ten_shows_no_proposal_and_keeps_none(campaign):
    unassisted = campaign.questions.filter(step="draw")

    assert 0 < unassisted.count() < IMAGES / 2
    assert set(unassisted.values_list("content", flat=True)) == {None}


def test_a_class_whose_proposals_are_bad_is_drawn_and_the_other_one_still_checked(
    campaign, run_jobs
):
    [person] = boxers.people(campaign, 1)
    for _ in range(40):
        [seat] = boxers.claim(person, campaign)
        question = Question.objects.get(pk=seat.question_id)
        if question.step == "draw":
            boxers.answer(person, seat, boxers.box(A))
        else:
            boxers.answer(person, seat, "good" if question.topic == DOG else "wrong")
    before = begin_with(campaign, CAT)

    calibrating.calibrate(campaign)
    run_jobs()

    content = Calibration.objects.latest("pk").content
    [good, proposed], [none, tried] = (content["acceptance"][topic] for topic in (DOG, CAT))
    assert (good, none) == (proposed, 0)
    assert begin_with(campaign, DOG).get("draw", 0) == 0
    # Those that were looked at stay as they were.
    assert begin_with(campaign, CAT) == {"check": tried, "draw": before["check"] - tried}
    assert question_counts.differences(campaign.pk) == {}
    hidden = campaign.questions.filter(topic=CAT, step="draw", content__isnull=False).first()
    assert hidden.content == {"unshown": [A]}


def test_what_was_hidden_is_shown_again_where_it_has_come_to_pay(campaign):
    for _ in proposing.choose(campaign):
        pass
    assert begin_with(campaign, DOG).get("draw", 0) == 0

    learned = {DOG: [0, 200], CAT: [0, 200]}
    campaign.calibration = Calibration.objects.create(
        campaign=campaign, number=1, content={"acceptance": learned}
    )
    campaign.save()
    for _ in proposing.choose(campaign):
        pass
    assert begin_with(campaign, DOG).get("check", 0) == 0

    campaign.calibration = Calibration.objects.create(
        campaign=campaign, number=2, content={"acceptance": {DOG: [190, 200], CAT: [0, 200]}}
    )
    campaign.save()
    for _ in proposing.choose(campaign):
        pass
    assert begin_with(campaign, DOG).get("draw", 0) == 0
    assert begin_with(campaign, CAT).get("check", 0) == 0
    assert question_counts.differences(campaign.pk) == {}


@pytest.mark.parametrize(
    ("accepted", "worth"), [({}, True), ({DOG: [1, 40]}, False), ({DOG: [30, 40]}, True)]
)
def test_worth_showing(accepted, worth):
    assert proposing.worth_showing({DOG: 100}, accepted, SECONDS, 2) == {DOG: worth}
