"""Whom the model helps tells nothing of gold; and a release of what it had a hand in."""

import hashlib
import itertools
import json
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from labeling.answers import submitting
from labeling.answers.submitted_answers import SubmittedAnswer
from labeling.assignment import claiming
from labeling.assistance import networks
from labeling.assistance import seats as arms
from labeling.errors import Refusal
from labeling.models import (
    Assistance,
    Campaign,
    Gold,
    ImageEmbedding,
    Membership,
    Proposal,
    Question,
    Seat,
    SegmentationNetwork,
    Settlement,
)
from labeling.quality import gold
from labeling.releases import freezing
from tests import factories
from tests.clients import html_of, logged_in
from tests.labeling import parted
from tests.labeling.crowd import people
from tests.labeling.quality.test_indistinguishable import CHANCE, odds_of

pytestmark = pytest.mark.django_db
IMAGES, GOLD, PEOPLE, PAGE = 48, 12, 12, 3
TAIL = parted.square(10, 10, 30, 30)


def network_of(campaign: Campaign) -> SegmentationNetwork:
    """Named and embedded without files: nothing is decoded here."""
    network = SegmentationNetwork.objects.create(
        campaign=campaign,
        name="Made up",
        sha256="a" * 64,
        encoder_sha256="b" * 64,
        decoder_sha256="c" * 64,
        preparation={},
        embedding_bytes=1,
        budget=1 << 20,
    )
    ImageEmbedding.objects.bulk_create(
        ImageEmbedding(network=network, image=image, file="x", sha256="d", bytes=1)
        for image in campaign.dataset.images.all()
    )
    return network


def seat(user: Any, question: Question) -> Seat:
    return Seat.objects.create(
        question=question, annotator=user, subject=question.pk, leased_until="2100-01-01T00:00Z"
    )


def claimed(user: Any, campaign: Campaign) -> Seat:
    claiming.next_page(user, campaign)
    return Seat.objects.select_related("question__campaign").get(annotator=user)


def draw(user: Any, seat: Seat, value: dict[str, Any]) -> None:
    sent = SubmittedAnswer(uuid.uuid4(), seat.token, value, 9000, None)
    (result,) = submitting.submit(user, seat.question.campaign, [sent])
    assert result.status == "accepted", result


def helped(seat: Seat, polygons: Any) -> dict[str, Any]:
    """A drawing that is what the model proposed."""
    Assistance.objects.create(assignment=seat, assisted=True)
    row = Proposal.objects.create(
        assignment=seat,
        part="tail",
        prompts={},
        digest=uuid.uuid4().hex,
        polygons=parted._nested(polygons),
        sha256="a" * 64,
    )
    value = parted.drawn(tail=polygons)
    value["parts"]["tail"]["came"] = {"proposal": row.token, "edits": 0}
    return value


def test_whom_the_model_helps_tells_nothing_of_gold(alice, dataset):
    campaign = parted.parts_campaign(alice, dataset, count=IMAGES, policy={"votes": 2})
    network = network_of(campaign)
    questions = list(campaign.questions.order_by("pk"))
    golden = {question.pk for question in questions[::4]}
    assert len(golden) == GOLD
    Question.objects.filter(pk__in=golden).update(state="gold", seats_free=1)
    crowd = people(campaign, PEOPLE)
    # Everybody gets all gold, and of the rest two people each, a page at a time in turns.
    turns = itertools.cycle(crowd)
    plans: dict[int, list[Question]] = {user.pk: [] for user in crowd}
    for question in questions:
        takers = crowd if question.pk in golden else [next(turns), next(turns)]
        for user in takers:
            plans[user.pk].append(question)
    for at in range(0, max(map(len, plans.values())), PAGE):
        for user in crowd:
            page = [seat(user, question) for question in plans[user.pk][at : at + PAGE]]
            arms.assistance_by_seat(page, campaign, network)

    rows = Assistance.objects.values_list("assignment__question", "assisted")
    ordinary, gold_seats = Counter[bool](), Counter[bool]()
    for question, assisted in rows:
        (gold_seats if question in golden else ordinary)[assisted] += 1

    assert gold_seats.total() == GOLD * PEOPLE
    assert set(gold_seats) == {True, False}
    assert odds_of(True, [(ordinary, gold_seats)]) > CHANCE
    assert ordinary[True] == ordinary[False]


def two_drawings(alice, bob, dataset, *, assisted: bool) -> Campaign:
    campaign = parted.parts_campaign(
        alice, dataset, count=1, policy={"votes": 2, "review": "disputed"}
    )
    factories.join(bob, campaign)
    (second,) = people(campaign, 1)
    mine, theirs = (claimed(user, campaign) for user in (bob, second))
    draw(bob, mine, helped(mine, TAIL) if assisted else parted.drawn(tail=TAIL))
    draw(second, theirs, parted.drawn(tail=parted.square(10, 10, 30, 29)))
    return campaign


def files_of(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def test_a_release_says_which_votes_the_model_had_a_hand_in(alice, bob, dataset, tmp_path):
    campaign = two_drawings(alice, bob, dataset, assisted=True)
    settled = Settlement.objects.get()

    freezing.freeze(campaign, alice, tmp_path / "out")

    votes, lines = (
        [json.loads(line) for line in (tmp_path / "out" / name).read_text().splitlines()]
        for name in ("votes.jsonl", "objects.jsonl")
    )
    (line,) = lines
    (part,) = [part for part in line["parts"] if part["key"] == "tail"]
    assert sorted("came" in vote["value"]["parts"]["tail"] for vote in votes) == [False, True]
    assert part["agreement"]["assisted"] == 1
    assert settled.value["agreement"]["tail"]["assisted"] == 1
    assert "came" not in json.dumps(settled.value["parts"])


def test_a_release_is_the_same_bytes_with_a_network_that_nobody_asked(
    alice, bob, dataset, tmp_path
):
    campaign = two_drawings(alice, bob, dataset, assisted=False)
    freezing.freeze(campaign, alice, tmp_path / "before")
    network_of(campaign)
    freezing.freeze(campaign, alice, tmp_path / "after")

    before, after = (files_of(tmp_path / name) for name in ("before", "after"))
    assert before == after
    text = b"".join(path.read_bytes() for path in sorted((tmp_path / "before").iterdir()))
    assert b"came" not in text
    assert b"assisted" not in text


def test_what_settles_without_a_model_names_none(alice, bob, dataset):
    two_drawings(alice, bob, dataset, assisted=False)

    text = json.dumps(Settlement.objects.get().value)

    assert "assisted" not in text
    assert "came" not in text


def test_what_several_drew_with_the_model_is_no_gold(alice, bob, dataset):
    campaign = two_drawings(alice, bob, dataset, assisted=True)
    question = parted.question(campaign)

    with pytest.raises(Refusal, match="was drawn with the model, and gold is drawn without it"):
        gold.gold_from_settled(campaign, alice, [question.pk])
    assert not Gold.objects.exists()


def test_a_network_that_leaves_leaves_the_answers(alice, bob, dataset):
    campaign = two_drawings(alice, bob, dataset, assisted=True)
    network_of(campaign)

    assert networks.remove(Campaign.objects.get(pk=campaign.pk))

    assert Proposal.objects.count() == 1
    assert Settlement.objects.get().value["agreement"]["tail"]["assisted"] == 1


def test_whoever_trains_draws_without(alice, bob, dataset):
    campaign = parted.parts_campaign(alice, dataset, policy={"votes": 2})
    network = network_of(campaign)
    factories.join(bob, campaign)
    Membership.objects.filter(user=bob).update(stage=Membership.Stage.TRAINING)

    assert arms.assistance_by_seat([seat(bob, parted.question(campaign))], campaign, network) == {}


def test_an_answer_from_before_the_network_is_in_no_arm(alice, bob, dataset):
    campaign = parted.parts_campaign(alice, dataset, policy={"votes": 2})
    factories.join(bob, campaign)
    old_seat = seat(bob, parted.question(campaign))
    old_seat.state = Seat.State.ANSWERED

    assert arms.assistance_by_seat([old_seat], campaign, network_of(campaign)) == {}


def test_the_campaigns_page_tells_images_and_bytes(alice, dataset):
    campaign = parted.parts_campaign(alice, dataset, policy={"votes": 2})
    network_of(campaign)

    page = html_of(logged_in(alice).get(reverse("labeling:campaign", args=["cats"])))

    assert "The model Made up proposes outlines of parts. It is prepared for 3 images" in page
