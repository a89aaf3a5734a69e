"""Boxes that overlap: found, merged, removed, taken over for a coarser class, or left; and what the
pair then says."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from labeling.campaigns import lifecycle
from labeling.consensus import settling
from labeling.db import question_counts
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking, chaining, following
from labeling.models import Decision, Item, Job, Question
from labeling.quality import blocking, box_overlaps
from labeling.quality.box_overlaps import CLASSES, FINER, SAME
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A, B, box

pytestmark = pytest.mark.django_db

DALMATIAN = "n02110341"
# Overlaps A by .54, and is another by 6 pixels.
NEAR_A = [8.0, 2.0, 28.0, 22.0]


@pytest.fixture(autouse=True)
def above(settings):
    """A dalmatian is a dog."""
    settings.ASSAY_ANCESTORS = f"{__name__}.ancestors"


def ancestors(keys):
    return {DALMATIAN: frozenset({DOG})}


@pytest.fixture
def campaign(alice, dataset):
    return boxers.make(alice, dataset)


@pytest.fixture
def crowd(campaign):
    return boxers.people(campaign)


def finish(campaign, crowd, *boxes, topic=DOG):
    """Everybody boxes these, one after another, and finds nothing more."""

    def says(question, person):
        boxes_of_topic = boxes if question.topic == topic else ()
        stand = (question.content or {}).get("boxes", [])
        left = [box for box in boxes_of_topic if box not in stand]
        if question.step == "check":
            return "good"
        if question.step == "draw":
            return box(left[0])
        if left:
            return {"missing": [[left[0][0] + 0.5, left[0][1] + 0.5]]}
        return "complete"

    boxers.work(campaign, crowd, says)


def pair_of(campaign, topic=DOG):
    [pairs] = chaining.replay_pairs(campaign, Item.objects.values_list("pk", flat=True)).values()
    return pairs[topic]


def boxes_of(campaign, topic=DOG):
    return [list(drawn.box) for drawn in pair_of(campaign, topic).chain.boxes]


def decide(campaign, actor, action, kind=SAME):
    [finding] = [
        finding for finding in box_overlaps.find(campaign).findings if finding.kind == kind
    ]
    return box_overlaps.decide(campaign, actor, finding.item, finding.key, action)


def test_two_boxes_of_a_class_that_overlap_by_half_are_found(campaign, crowd):
    finish(campaign, crowd, A, NEAR_A, B)

    [finding] = box_overlaps.find(campaign).findings

    assert finding.kind == SAME
    assert [list(box) for box in finding.boxes] == [A, NEAR_A]
    assert finding.iou == pytest.approx(14 * 20 / (2 * 400 - 14 * 20))
    assert box_overlaps.find(campaign).after is None


def test_what_is_still_worked_on_is_left_alone(campaign, crowd):
    boxers.settle(campaign, crowd, box(A), "good", {"missing": [[27, 3]]}, box(NEAR_A), "good")

    assert box_overlaps.find(campaign).findings == []


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("first", [NEAR_A, B]),
        ("second", [A, B]),
        ("mean", [[5.0, 2.0, 25.0, 22.0], B]),
        ("merge", [[5.0, 2.0, 25.0, 22.0], B]),
        ("leave", [A, NEAR_A, B]),
    ],
)
def test_a_decision_is_recorded_and_the_pair_says_so(alice, campaign, crowd, action, text):
    finish(campaign, crowd, A, NEAR_A, B)

    decision = decide(campaign, alice, action)

    assert boxes_of(campaign) == text
    assert pair_of(campaign).chain.coverage == "complete"
    assert (decision.actor, decision.content["overlap"]) == (alice, action)
    assert box_overlaps.find(campaign).findings == []
    following.advance(campaign)
    assert not campaign.questions.filter(state="open").exists()
    assert boxes_of(campaign) == text


def test_merging_weighs_the_more_exact_person_more(alice, campaign, crowd, monkeypatch):
    finish(campaign, crowd, A, NEAR_A)
    pair = pair_of(campaign)
    [exact] = pair.path[pair.chain.boxes[0].drawing].people
    monkeypatch.setattr(box_overlaps, "sigmas", lambda campaign: {exact: 0.01})

    decide(campaign, alice, "merge")

    # The other is off by 3 %, as somebody of whom nothing is known: a weight of one ninth.
    assert boxes_of(campaign) == [[2.6, 2.0, 22.6, 22.0]]


def test_what_stays_is_still_the_box_of_its_drawing(alice, campaign, crowd):
    finish(campaign, crowd, A, NEAR_A, B)
    before = {drawn.box: drawn.drawing for drawn in pair_of(campaign).chain.boxes}

    decide(campaign, alice, "second")

    for standing_box in pair_of(campaign).chain.boxes:
        assert standing_box.drawing == before[standing_box.box] is not None


@pytest.mark.parametrize("action", ["first", "second", "merge", "mean"])
def test_of_two_equal_boxes_one_stays(alice, campaign, crowd, action):
    finish(campaign, crowd, A)
    pair = pair_of(campaign)
    [only] = pair.chain.boxes
    item = campaign.questions.first().item_id
    box_overlaps._settle(campaign, item, DOG, pair, [only, only], pair.chain.coverage)

    decide(campaign, alice, action)

    assert boxes_of(campaign) == [A]


def test_of_three_equal_boxes_two_are_still_a_finding(alice, campaign, crowd):
    finish(campaign, crowd, A)
    pair = pair_of(campaign)
    item = campaign.questions.first().item_id
    box_overlaps._settle(campaign, item, DOG, pair, [*pair.chain.boxes] * 3, pair.chain.coverage)
    findings = box_overlaps.find(campaign).findings

    box_overlaps.decide(campaign, alice, item, findings[0].key, "first")
    assert boxes_of(campaign) == [A, A]
    decide(campaign, alice, "second")
    assert boxes_of(campaign) == [A]


def test_the_last_box_removed_leaves_the_class_absent(alice, dataset):
    campaign = boxers.make(alice, dataset, topics=(DOG, CAT))
    crowd = boxers.people(campaign)
    both = {DOG: A, CAT: NEAR_A}

    def says(question, person):
        if question.step == "draw":
            return box(both[question.topic])
        return "good" if question.step == "check" else "complete"

    boxers.work(campaign, crowd, says)
    [finding] = box_overlaps.find(campaign).findings
    assert (finding.kind, set(finding.topics)) == (CLASSES, {DOG, CAT})

    decide(campaign, alice, "second", CLASSES)

    gone = finding.topics[1]
    assert pair_of(campaign, gone).chain.coverage == "absent"
    assert boxes_of(campaign, finding.topics[0]) == [both[finding.topics[0]]]


def test_a_class_above_another_may_have_the_same_object(alice, dataset):
    campaign = boxers.make(alice, dataset, topics=(DOG, DALMATIAN))
    crowd = boxers.people(campaign)
    says = {"draw": box(A), "check": "good", "cover": "complete"}
    boxers.work(campaign, crowd, lambda question, person: says[question.step])

    assert box_overlaps.find(campaign).findings == []


@pytest.fixture
def dalmatians(alice, dataset, campaign):
    """Dogs are asked for and nobody has drawn one; the dalmatian beside is done."""
    lifecycle.define_topics(campaign, [{"key": DALMATIAN, "name": "dalmatian"}])
    Question.objects.filter(campaign=campaign).update(seats_free=0)
    crowd = boxers.people(campaign)
    asking.add_questions(campaign, [("0.png", DALMATIAN)])
    says = {"draw": box(A), "check": "good", "cover": "complete"}
    boxers.work(campaign, crowd, lambda question, person: says[question.step])
    Question.objects.filter(campaign=campaign, topic=DOG).update(seats_free=1)
    return crowd


def test_a_coarse_class_takes_the_boxes_of_a_finer_one_and_people_look_for_more(
    alice, campaign, dalmatians
):
    [finding] = box_overlaps.find(campaign).findings
    assert (finding.kind, finding.topics) == (FINER, (DOG, DALMATIAN))

    decide(campaign, alice, "take", FINER)
    following.advance(campaign)

    [question] = campaign.questions.filter(state="open")
    assert (question.topic, question.step, question.content["boxes"]) == (DOG, "cover", [A])
    assert campaign.questions.get(topic=DOG, step="draw").state == "withdrawn"
    assert Job.objects.filter(kind="advance").exists()
    boxers.settle(campaign, dalmatians, {"missing": [[31, 11]]}, box(B), "good", "complete")
    assert boxes_of(campaign) == [A, B]
    assert pair_of(campaign).chain.coverage == "complete"
    assert box_overlaps.find(campaign).findings == []


def test_a_campaign_that_is_closed_asks_nobody_to_look(alice, campaign, dalmatians):
    lifecycle.change_state(campaign, alice, "close")
    campaign.refresh_from_db()

    with pytest.raises(Conflict, match="closed"):
        decide(campaign, alice, "take", FINER)


def test_a_decision_goes_with_a_block_and_comes_back_with_its_lifting(alice, campaign, crowd):
    finish(campaign, crowd, A, NEAR_A, B)
    decide(campaign, alice, "second")
    pair = pair_of(campaign)
    [drawer] = pair.path[0].people
    member = campaign.memberships.get(user=drawer)

    blocking.block(campaign, member, alice, "hasty")
    following.advance(campaign)
    assert boxes_of(campaign) != [A, B]
    blocking.unblock(campaign, member, alice)
    following.advance(campaign)

    assert boxes_of(campaign) == [A, B]


def test_what_changed_meanwhile_is_not_decided(alice, campaign, crowd):
    finish(campaign, crowd, A, NEAR_A)
    [finding] = box_overlaps.find(campaign).findings
    box_overlaps.decide(campaign, alice, finding.item, finding.key, "first")

    with pytest.raises(Conflict, match="The boxes changed"):
        box_overlaps.decide(campaign, alice, finding.item, finding.key, "second")
    assert Decision.objects.filter(kind="review").count() == 1


def test_an_action_of_another_kind_of_finding_is_refused(alice, campaign, crowd):
    finish(campaign, crowd, A, NEAR_A)

    with pytest.raises(Refusal, match="Choose one of"):
        decide(campaign, alice, "take")
    assert not Decision.objects.filter(kind="review").exists()


def test_pages_go_on_after_an_image_and_cost_the_same(alice, dataset, monkeypatch):
    campaign = boxers.make(alice, dataset, images=3)
    crowd = boxers.people(campaign)
    finish(campaign, crowd, A, NEAR_A)
    monkeypatch.setattr(box_overlaps, "PAGE_FINDINGS", 1)
    with CaptureQueriesContext(connection) as small:
        first = box_overlaps.find(campaign)
    second = box_overlaps.find(campaign, first.after)
    third = box_overlaps.find(campaign, second.after)
    monkeypatch.setattr(box_overlaps, "PAGE_FINDINGS", 20)
    with CaptureQueriesContext(connection) as all_of_them:
        whole = box_overlaps.find(campaign)

    assert [*first.findings, *second.findings, *third.findings] == whole.findings
    assert len(whole.findings) == 3
    assert len(small) == len(all_of_them) <= 10
    monkeypatch.setattr(box_overlaps, "SCAN_IMAGES", 2)
    assert box_overlaps.find(campaign).after == whole.findings[1].item


def test_settlements_are_rebuilt_as_they_are(alice, campaign, crowd):
    finish(campaign, crowd, A, NEAR_A)
    before = question_counts.of_campaign(campaign.pk).settled
    decide(campaign, alice, "first")

    assert list(settling.rebuild(campaign)) == []
    assert question_counts.of_campaign(campaign.pk).settled == before + 1
    assert campaign.questions.filter(state="settled").count() == before + 1
