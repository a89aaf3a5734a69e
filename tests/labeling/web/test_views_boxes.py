"""Pages of boxes for staff: the review without scripts, the pair on a question's page, overlaps."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from labeling.follow_ups import chaining
from labeling.models import Item, Question
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in, text_of
from tests.labeling import boxers
from tests.labeling.boxers import DOG, A, B, box

pytestmark = pytest.mark.django_db
LOOSE = {"reason": "loose", "sides": ["left"]}
NEAR_A = [8.0, 2.0, 28.0, 22.0]


@pytest.fixture
def campaign(alice, dataset):
    return boxers.make(alice, dataset, policy={"most_draws": 1})


@pytest.fixture
def crowd(campaign):
    return boxers.people(campaign)


@pytest.fixture
def as_alice(alice):
    return logged_in(alice)


def pair_of(campaign):
    [pairs] = chaining.replay_pairs(campaign, Item.objects.values_list("pk", flat=True)).values()
    return pairs[DOG]


def page_of(client, name, *args):
    return client.get(reverse(f"labeling:{name}", args=["boxes", *args]))


@pytest.fixture
def in_review(campaign, crowd):
    """A box stands; the next one was drawn once and found loose."""
    first = [box(A), "good", {"missing": [[31, 11]]}]
    boxers.settle(campaign, crowd, *first, box(B), LOOSE)
    return campaign.questions.get(state="review")


@pytest.mark.parametrize(("state", "count"), [("complete", 1), ("partial", 1), ("look", 1)])
def test_the_boxes_that_stand_are_taken_without_scripts(
    campaign, crowd, in_review, as_alice, state, count
):
    page = page_of(as_alice, "review")
    values = {
        json.loads(choice.value)["state"]: choice.value for choice in page.context["verdicts"]
    }

    address = reverse("labeling:question_decide", args=["boxes", in_review.pk])
    as_alice.post(address, {"value": values[state], "reason": ""})

    chain = pair_of(campaign).chain
    assert len(chain.boxes) == count
    assert chain.coverage == ("partial" if state == "look" else state)


def test_a_verdict_that_is_none_comes_back_with_what_was_drawn(in_review, as_alice):
    address = reverse("labeling:question_decide", args=["boxes", in_review.pk])
    outside = {"boxes": [{"box": [0, 0, 900, 900], "flags": []}], "state": "complete"}

    page = as_alice.post(address, {"value": json.dumps(outside)})

    assert "extends beyond the upright image" in text_of(page)
    assert page.context["setup"]["value"] == outside["boxes"]
    assert Question.objects.get(pk=in_review.pk).state == "review"


def test_the_history_names_people_by_pseudonym_alone_for_reviewers(in_review, campaign, crowd):
    rita = factories.make_user("rita")
    factories.join(rita, campaign, "reviewer")

    text = text_of(page_of(logged_in(rita), "review"))

    assert "Too loose: left" in text
    assert crowd[0].pseudonym in text
    assert crowd[0].username not in text


def test_a_question_shows_its_pair_in_as_many_queries_as_ever(campaign, crowd, as_alice):
    boxers.settle(campaign, crowd, box(A))
    first = campaign.questions.order_by("pk").first()
    page_of(as_alice, "question", first.pk)
    with CaptureQueriesContext(connection) as short:
        page_of(as_alice, "question", first.pk)
    boxers.settle(campaign, crowd, "good", {"missing": [[31, 11]]}, box(B), "good", "complete")
    with CaptureQueriesContext(connection) as long:
        page = page_of(as_alice, "question", first.pk)

    assert len(long) <= len(short) + 1
    assert [step.words for step in page.context["pair"].steps] == [
        *("Draw", "Check", "Look for more", "Draw", "Check", "Look for more")
    ]
    assert page.context["pair"].words == "every one has a box"


def test_a_pair_whose_question_was_withdrawn_waits_for_nothing(campaign, crowd, as_alice):
    boxers.settle(campaign, crowd, box(A))
    check = campaign.questions.get(state="open")
    as_alice.post(reverse("labeling:question_withdraw", args=["boxes", check.pk]), {"reason": ""})

    text = text_of(page_of(as_alice, "question", check.pk))

    assert "withdrawn" in text
    assert "next: check" not in text


def test_the_list_of_questions_names_each_step(campaign, crowd, as_alice):
    boxers.settle(campaign, crowd, box(A), "good")

    text = text_of(page_of(as_alice, "questions"))

    assert all(
        f'<small class="muted">{step}</small>' in text for step in ("draw", "check", "cover")
    )


@pytest.fixture
def overlapping(campaign, crowd):
    boxers.settle(campaign, crowd, box(A), "good", {"missing": [[27, 3]]})
    boxers.settle(campaign, crowd, box(NEAR_A), "good", "complete")


def test_an_overlap_is_decided_and_told_among_the_decisions(overlapping, campaign, as_alice):
    page = page_of(as_alice, "overlaps")
    [row] = page.context["rows"]
    form = {"item": row.finding.item, "finding": row.finding.key, "after": "0"}

    answer = as_alice.post(
        reverse("labeling:overlap_decide", args=["boxes"]), form | {"action": "second"}
    )

    assert answer.url.endswith("?after=0")
    assert [list(drawn.box) for drawn in pair_of(campaign).chain.boxes] == [A]
    assert "No boxes overlap" in text_of(page_of(as_alice, "overlaps"))
    assert "removed a box" in text_of(page_of(as_alice, "campaign"))
    question = campaign.questions.get(step="review")
    assert "removed a box" in text_of(page_of(as_alice, "question", question.pk))


@for_each(
    "form", [{}, {"item": "x", "finding": "y", "action": "first"}, {"item": "1", "action": "\0"}]
)
def test_a_decision_about_nothing_is_a_sentence(overlapping, campaign, as_alice, form):
    address = reverse("labeling:overlap_decide", args=["boxes"])

    page = as_alice.post(address, form, follow=True)

    assert "The boxes changed" in text_of(page)
    assert len(pair_of(campaign).chain.boxes) == 2


def test_the_pages_of_overlaps_are_empty_in_other_campaigns(as_alice, coots):
    page = as_alice.get(reverse("labeling:overlaps", args=[coots.name]))

    assert "Only box campaigns have overlaps" in text_of(page)
    as_alice.post(reverse("labeling:overlap_decide", args=[coots.name]), {}, follow=True)
