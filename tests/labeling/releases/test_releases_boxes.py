"""A release of boxes says where every instance is, and of what nobody knows."""

import pytest

from labeling.campaigns import lifecycle
from labeling.consensus import reviewing
from labeling.errors import Refusal
from labeling.exchange import box_campaigns
from labeling.follow_ups import asking, following
from labeling.models import Calibration, Campaign
from labeling.releases import freezing
from tests import factories
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A, B, box

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(alice, dataset):
    """Dogs and cats in three images, and five people."""
    made = boxers.make(alice, dataset, images=3, topics=(DOG, CAT))
    made.crowd = boxers.people(made)
    return made


def settle(campaign, image, topic, *values):
    """The open question of that pair is answered so, one value a question."""
    for value in values:
        question = campaign.questions.get(state="open", item__image__name=image, topic=topic)
        for person in campaign.crowd:
            question.refresh_from_db()
            if question.state != "open":
                break
            for seat in boxers.claim(person, campaign, 30):
                if seat.question_id == question.pk:
                    result = boxers.answer(person, seat, value)
                    assert result.status == "accepted", result.message
        following.advance(campaign)


def read(campaign):
    release = freezing.freeze(campaign)
    return freezing.read(release)


def test_every_pair_has_its_state_and_every_box_how_it_came(alice, campaign):
    clicks = {
        "box": [2, 2, 22, 22],
        "how": "clicks",
        "points": [[2, 5], [7, 2], [22, 9], [8, 22]],
        "flags": ["occluded"],
    }
    settle(
        campaign, "0.png", DOG, clicks, "good", {"missing": [[40, 20]]}, box(B), "good", "complete"
    )
    settle(campaign, "0.png", CAT, box(B, "group"), "good")
    settle(campaign, "1.png", DOG, "none", "none", "none")
    question = campaign.questions.get(state="review")
    reviewing.decide(campaign, question.pk, alice, {"boxes": [], "state": "absent"})
    settle(campaign, "1.png", CAT, box(A))
    following.advance(campaign)

    release = read(campaign)

    assert [
        (line["image"], line["wnid"], line["state"]) for line in release.lines("coverage.jsonl")
    ] == [
        ("0.png", DOG, "complete"),
        ("0.png", CAT, "partial"),
        ("1.png", DOG, "absent"),
        ("1.png", CAT, "unknown"),
    ]
    boxes = list(release.lines("boxes.jsonl"))
    assert [(row["image"], row["wnid"], row["box"], row["came"]) for row in boxes] == [
        ("0.png", DOG, [2.0, 2.0, 22.0, 22.0], "clicked"),
        ("0.png", DOG, B, "drawn"),
        ("0.png", CAT, B, "drawn"),
    ]
    assert [(row["occluded"], row["group"], row["truncated"]) for row in boxes] == [
        (True, False, False),
        (False, False, False),
        (False, True, False),
    ]
    assert release.meta["unlisted"] == "unknown"
    assert release.meta["counts"]["boxes"] == 3
    steps = [(line["wnid"], line["step"], line["value"]) for line in release.answers()]
    assert (DOG, "cover", {"missing": [[40.0, 20.0]]}) in steps
    # Nobody is named, and who voted for what is.
    votes = list(release.votes())
    assert {vote["step"] for vote in votes} == {"draw", "check", "cover"}
    assert all(vote["annotator"].startswith("annotator-") for vote in votes)


def test_labels_are_yes_with_boxes_no_where_it_is_absent_and_else_unknown(alice, campaign):
    settle(campaign, "0.png", DOG, box(A), "good", "complete")
    settle(campaign, "0.png", CAT, "none", "none", "none")
    [question] = campaign.questions.filter(state="review")
    reviewing.decide(campaign, question.pk, alice, {"boxes": [], "state": "absent"})

    labels = list(read(campaign).labels())

    assert [
        (label["wnid"], label["value"], label["boxes"], label["coverage"]) for label in labels
    ] == [(DOG, "yes", [A], "complete"), (CAT, "no", [], "absent")]


def test_the_same_state_gives_the_same_release_however_it_is_cut(campaign, monkeypatch):
    for image in ("0.png", "1.png", "2.png"):
        settle(campaign, image, DOG, box(A), "good", "complete")
    first = freezing.freeze(campaign)

    monkeypatch.setattr("labeling.releases.snapshots.CHUNK", 1)

    assert freezing.freeze(campaign) == first


def test_gold_teaches_how_far_off_people_are_and_the_release_states_it(campaign):
    settle(campaign, "0.png", DOG, box(A), "good", "complete")
    assert read(campaign).meta["stated"][DOG]["iou_error"] == pytest.approx(0.0913, abs=0.001)

    [drawer] = campaign.questions.filter(step="draw", state="settled").values_list(
        "seats__annotator", flat=True
    )
    content = {"annotators": {str(drawer): {"sigma": 0.01, "sides": 400, "answers": 9, "gold": 9}}}
    campaign.calibration = Calibration.objects.create(campaign=campaign, number=1, content=content)
    campaign.save()

    stated = read(campaign).meta["stated"][DOG]
    low, high = stated["interval"]
    assert stated["iou_error"] == pytest.approx(0.0314, abs=0.001)
    assert low < stated["iou_error"] < high
    assert (stated["boxes"], stated["proposed"]) == (1, 0)


def test_proposals_state_no_error(alice, dataset):
    campaign = boxers.make(alice, dataset, images=0)
    factories.make_image(dataset, "2.png")
    boxers.proposals(campaign, {("2.png", DOG): [A]})
    lifecycle.launch(campaign, alice)
    boxers.settle(campaign, boxers.people(campaign), "good", "complete")

    stated = read(campaign).meta["stated"][DOG]

    assert stated == {"iou_error": None, "boxes": 0, "proposed": 1}


@pytest.mark.parametrize("kind", ["contains", "hierarchy"])
def test_what_the_first_labels_decided_is_kept(alice, dataset, kind):
    """Of a campaign whose labels come from another one's release: a class that was said not to be
    in an image is absent from it, without a row for every pair, and images that have none of the
    classes are there, which detectors must find nothing in."""
    names = [factories.make_image(dataset, f"{number}.png").name for number in range(3)]
    labels = {("0.png", DOG): "yes", ("0.png", CAT): "no", ("2.png", DOG): "yes"}
    labels[("1.png", DOG)] = "no"
    source = boxers.labeled(alice, dataset, kind, labels)
    release = freezing.freeze(source)

    campaign = boxers.make(alice, dataset, images=0)
    lifecycle.define_topics(campaign, [{"key": CAT, "name": "cat"}])
    box_campaigns.record_source_release(campaign, release)
    asking.add_questions(campaign, [("0.png", DOG), ("2.png", DOG)])
    lifecycle.launch(campaign, alice)
    campaign.crowd = boxers.people(campaign)
    for name in ("0.png", "2.png"):
        settle(campaign, name, DOG, box(A), "good", "complete")

    frozen = read(campaign)
    values = {(line["image"], line["wnid"]): line["value"] for line in frozen.labels()}

    assert [line["name"] for line in frozen.images()] == names
    assert values[("0.png", CAT)] == values[("1.png", DOG)] == "no"
    # The graph asked of this image too, and nobody has answered.
    assert values.get(("2.png", CAT), "unknown") == "unknown"
    assert not campaign.questions.filter(topic=CAT).exists()


def test_labels_of_another_dataset_are_refused(alice, dataset):
    factories.make_image(dataset, "0.png")
    release = freezing.freeze(boxers.labeled(alice, dataset, "contains", {("0.png", DOG): "yes"}))

    with pytest.raises(Refusal, match="images of the dataset pond"):
        box_campaigns.draft(
            alice,
            factories.make_dataset(alice, "elsewhere"),
            pairs=[("0.png", DOG)],
            release=release,
            name="boxes",
            title="Boxes",
            kind="boxes",
        )
    assert not Campaign.objects.filter(name="boxes").exists()
