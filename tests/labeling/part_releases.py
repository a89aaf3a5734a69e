"""A release of cats and a cow with parts: of four objects three drawn and one skipped."""

import uuid
from typing import Any

from django.utils import timezone

from labeling.campaigns import lifecycle
from labeling.datasets import objects, vocabulary_store
from labeling.exchange import part_campaigns
from labeling.models import Answer, Campaign, Dataset, Question, Release, Seat, Settlement, User
from labeling.parts.model import Merge, Part, PartedObject
from labeling.releases import freezing
from tests import factories
from tests.labeling.parted import BOX, CAT, COW, VOCABULARY, drawn, square

HEAD, TAIL = square(10, 8, 22, 20), square(50, 20.5, 56, 24)
TORSO = square(22.0, 12.0, 50.3, 30.0)
OUTLINE = ((((8.0, 6.0), (56.0, 6.0), (56.0, 42.0), (8.0, 42.0)),),)
LEGS = (*square(24, 30, 28, 42), *square(40, 30, 44, 42))
ANSWER = drawn(torso=TORSO, leg=LEGS, tail="not_visible")
REDRAWN = drawn(head=square(11, 8, 22, 20), torso=TORSO, tail="occluded")
POLICY = {"votes": 1, "review": "disputed", "gold_share": 0}


def parted_objects() -> list[PartedObject]:
    """Two on one photograph: a cat whose head was merged, and a cow; two cats on others."""
    pieces = (square(10, 8, 22, 13), square(10, 15, 22, 20))
    merge = Merge(pieces, 6.5, cap=40.0, instance="", names=("head_1", "head_2"))
    head = Part("head", HEAD, names=("head_1", "head_2"), merges=(merge,), radius=6.5)
    return [
        PartedObject("cats/0.png", CAT, BOX, (head,), OUTLINE, name="cat-1"),
        PartedObject("cats/0.png", COW, (0, 0, 20, 20), (), name="cow-1"),
        PartedObject("cats/1.png", CAT, BOX, (Part("head", HEAD),), name="cat-1"),
        PartedObject("cats/2.png", CAT, BOX, (Part("head", HEAD),), name="cat-1"),
    ]


def campaign_of(owner: User, dataset: Dataset, **fields: Any) -> Campaign:
    """An open campaign about them all."""
    vocabulary_store.add_version(dataset, VOCABULARY, owner)
    for number in range(3):
        factories.make_image(dataset, f"cats/{number}.png")
    objects.put(dataset, parted_objects(), "the importer", words={CAT: "cat", COW: "cow"})
    campaign = part_campaigns.draft(
        owner, dataset, name="cats", title="Cats", policy=POLICY, **fields
    )
    lifecycle.launch(campaign, owner)
    return campaign


def settle(question: Question, user: User, value: dict[str, Any], **fields: Any) -> Settlement:
    """The question settled, or dropped, by this one person's answer."""
    seat = Seat.objects.create(
        question=question,
        annotator=user,
        subject=question.pk,
        state=Seat.State.ANSWERED,
        leased_until=timezone.now(),
    )
    answer = Answer.objects.create(id=uuid.uuid4(), assignment=seat, value=value, duration_ms=900)
    dropped = "skip" in value
    state = Question.State.DROPPED if dropped else Question.State.SETTLED
    factories.put(question.campaign, [question.pk], state=state, seats_free=0)
    question.refresh_from_db(fields=["state", "seats_free"])
    return Settlement.objects.create(
        question=question,
        policy=question.policy,
        answers=[str(answer.pk)],
        value="dropped" if dropped else value,
        probability=1.0,
        **fields,
    )


def settled(owner: User, annotator: User, dataset: Dataset) -> Campaign:
    """Of the four, three drawn and one skipped. The second cat's head was drawn again."""
    campaign = campaign_of(owner, dataset)
    factories.join(annotator, campaign)
    values = {
        ("cats/0.png", "cat-1"): ANSWER,
        ("cats/0.png", "cow-1"): drawn(head=square(2, 2, 9.5, 9.5), horn="not_visible"),
        ("cats/1.png", "cat-1"): REDRAWN,
        ("cats/2.png", "cat-1"): {"skip": "too_small"},
    }
    for question in campaign.questions.select_related("item__image", "policy"):
        settle(question, annotator, values[question.item.image.name, question.item.name])
    return campaign


def release(owner: User, annotator: User, dataset: Dataset) -> Release:
    return freezing.freeze(settled(owner, annotator, dataset), owner)
