"""Training on boxes: the known box beside the person's, what was missed; the form without scripts,
and the preview."""

import json
import uuid

import pytest
from django.urls import reverse

from labeling.db import question_counts
from labeling.models import Answer, Gold, Item, Question, Seat
from tests import factories
from tests.clients import logged_in, text_of
from tests.labeling import boxers
from tests.labeling.boxers import DOG, A, B

pytestmark = pytest.mark.django_db
NEAR = [3.0, 2.0, 22.0, 22.0]


@pytest.fixture
def campaign(alice, dataset):
    return boxers.make(alice, dataset, policy={"training_questions": 1, "gold_share": 0.1})


@pytest.fixture
def golden(campaign, dataset):
    """Makes a gold question of this step, with what it shows and its known answer."""

    def make(step, answer, explanation="", **content):
        image = factories.make_image(dataset, f"gold-{step}.png")
        question = Question.objects.create(
            campaign=campaign,
            item=Item.objects.get_or_create(image=image, region=None)[0],
            topic=DOG,
            step=step,
            content={"boxes": [], **content},
            state="gold",
            lane=2,
            ticket=campaign.questions.count(),
            seats_free=100,
            policy=campaign.policy,
        )
        question_counts.add(campaign.pk, {"gold": 1})
        Gold.objects.create(question=question, answer=answer, explanation=explanation)
        return question

    return make


@pytest.fixture
def as_bob(bob, campaign):
    factories.join(bob, campaign)
    return logged_in(bob)


def send(client, value):
    client.get(reverse("label", args=["boxes"]))
    page = client.get(reverse("training", args=["boxes"]))
    text = value if isinstance(value, str) else json.dumps(value)
    body = {"id": str(uuid.uuid4()), "seat": page.context["first"]["seat"], "value": text}
    return page, client.post(reverse("training", args=["boxes"]), body | {"duration_ms": "900"})


def drawn(box):
    return {"box": box, "how": "drag", "flags": []}


def layers_of(response):
    [row] = response.context["results"]
    return {
        layer.look: [list(box) for box in layer.boxes]
        for layer in row["compared"].picture.layers
        if layer.boxes
    }


def test_a_drawing_is_shown_beside_the_known_box_with_their_iou(golden, as_bob):
    golden("draw", {"boxes": [A, B], "small": [False, False]}, "Only what is seen.")

    page, answer = send(as_bob, drawn(NEAR))

    assert page.context["first"]["heading"] == "draw"
    text = text_of(answer)
    assert "✓ Right" in text
    assert "0.95 of what they cover together (IoU); 0.7 is needed" in text
    assert "Only what is seen." in text
    assert layers_of(answer) == {"known": [A, B], "mine": [NEAR]}


def test_a_loose_drawing_of_a_small_object_says_what_is_needed_of_small_ones(golden, as_bob):
    golden("draw", {"boxes": [A], "small": [True]})

    _, answer = send(as_bob, drawn([0.0, 0.0, 40.0, 40.0]))

    assert "0.6 is needed, as it is small" in text_of(answer)
    assert "Not right" in text_of(answer)


@pytest.mark.parametrize(
    ("known", "value", "message"),
    [
        ("none", drawn(A), "nothing was left to draw"),
        ({"boxes": [A], "small": [False]}, "none", "was still to be drawn"),
        ("none", "none", "✓ Right"),
    ],
)
def test_nothing_left_is_told_both_ways(golden, as_bob, known, value, message):
    golden("draw", known, boxes=[B])

    _, answer = send(as_bob, value)

    assert message in text_of(answer)


@pytest.mark.parametrize(
    ("known", "value", "message"),
    [
        ("bad", "good", "This box is not good"),
        ("bad", {"reason": "loose", "sides": ["left"]}, "✓ Right:</strong> Not good"),
        ("good", "loose", "You said “Too loose”; the answer is <strong>Good</strong>"),
    ],
)
def test_a_check_is_told_right_or_wrong_with_the_reason(golden, as_bob, known, value, message):
    golden("check", known, "The tail is cut off.", box=A, came="drawn")

    _, answer = send(as_bob, value)

    assert message in text_of(answer)
    assert "The tail is cut off." in text_of(answer)
    assert layers_of(answer) == {"checked": [A]}


def test_what_was_missed_is_outlined_apart_from_what_was_seen(golden, as_bob):
    golden("cover", {"missing": [A, B]})

    _, answer = send(as_bob, {"missing": [[10, 10], [60, 5]]})

    assert "1 of 2 without a box were seen" in text_of(answer)
    assert layers_of(answer) == {"found": [A], "missed": [B]}


def test_every_one_had_a_box(golden, as_bob):
    golden("cover", "complete", boxes=[A])

    _, answer = send(as_bob, {"missing": [[10, 10]]})

    assert "Every one has a box here." in text_of(answer)


@pytest.mark.parametrize(
    ("step", "content", "value", "kept"),
    [
        ("draw", {}, "none", "none"),
        ("check", {"box": A, "came": "drawn"}, "loose", "loose"),
        ("cover", {"boxes": [A]}, "complete", "complete"),
    ],
)
def test_without_scripts_what_is_said_without_drawing_can_be_said(
    alice, bob, dataset, step, content, value, kept
):
    campaign = boxers.make(alice, dataset)
    factories.join(bob, campaign)
    campaign.questions.update(step=step, content={"boxes": [], **content})
    client = logged_in(bob)
    page = client.get(reverse("label", args=["boxes"]))
    text = page.content.decode()

    assert f'value="{value}"' in text
    body = {"id": str(uuid.uuid4()), "seat": page.context["first"]["seat"], "value": value}
    client.post(reverse("label", args=["boxes"]), body)
    assert Answer.objects.get().value == kept


def test_gold_and_other_questions_bring_the_same_keys(golden, as_bob, campaign, bob):
    """Whatever a page gets of a seat, gold has it too, and nothing more."""
    gold = golden("draw", {"boxes": [A], "small": [False]}, boxes=[], number=3)
    campaign.questions.exclude(state="gold").update(content={"number": 3, "boxes": []})
    campaign.memberships.filter(user=bob).update(stage="working")
    rows = {}
    for question in campaign.questions.all():
        seat = Seat.objects.create(
            question=question, annotator=bob, subject=question.pk, leased_until="2100-01-01T00:00Z"
        )
        page = as_bob.get(f"{reverse('label', args=['boxes'])}?seat={seat.token}")
        [row] = page.context["setup"]["seats"]
        rows[question.pk == gold.pk] = {key: type(value) for key, value in row["shows"].items()}

    assert rows[True] == rows[False]


def test_a_researcher_previews_each_step(alice, campaign):
    client = logged_in(alice)
    for step, message in (
        ("draw", "Draw a box"),
        ("check", "Is this box"),
        ("cover", "Does every"),
    ):
        campaign.questions.update(step=step, content={"boxes": [A], "box": A, "came": "drawn"})

        page = client.get(reverse("preview", args=["boxes"]))

        assert page.status_code == 200
        assert message in text_of(page)
