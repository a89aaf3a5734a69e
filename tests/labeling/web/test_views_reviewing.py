"""The review of drawings, agreement and gold of drawings, as researchers' pages; and whether the
pages made for words can show drawings."""

import json
import uuid

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from labeling.answers import submitting
from labeling.assignment import claiming, gold_mixing
from labeling.campaigns import lifecycle
from labeling.consensus import calibrating, calibration_store
from labeling.datasets import objects
from labeling.errors import Conflict, Refusal
from labeling.models import Answer, Campaign, Question, SentBack
from labeling.parts.model import PartedObject
from labeling.quality import gold, gold_results, qualifying
from tests import factories
from tests.labeling.parted import BOX, CAT, drawn, parts_campaign, square

TAIL = drawn(tail=square(40, 30, 50, 40), leg="occluded", torso="not_visible")
BETTER = drawn(tail=square(41, 30, 50, 40), leg="occluded", torso="not_visible")


@pytest.fixture
def cats(alice, dataset):
    return parts_campaign(alice, dataset, count=2)


@pytest.fixture
def bob(bob, cats):
    factories.join(bob, cats)
    return bob


def draw(person, campaign, value=TAIL, question=None):
    seats = claiming.next_page(person, campaign).seats
    seat = next(s for s in seats if question is None or s.question_id == question.pk)
    sent = submitting.SubmittedAnswer(uuid.uuid4(), seat.token, value, 60_000)
    assert submitting.submit(person, campaign, [sent])[0].status == "accepted"
    return Question.objects.get(pk=seat.question_id)


def url(name, *args):
    return reverse(f"labeling:{name}", args=["cats", *args])


def several(campaign, alice, people, **policy):
    """The first question, drawn by all of these people."""
    content = campaign.policy.content | {"votes": len(people), "max_votes": len(people)} | policy
    lifecycle.change_policy(campaign, alice, content)
    latest = campaign.policies.latest("version")
    waiting = campaign.questions.filter(state="open")
    question = waiting.order_by("pk").first()
    held = question.seats.filter(state="leased").count()
    waiting.update(policy=latest, seats_free=len(people) - held)
    campaign.refresh_from_db()
    for person, value in people:
        draw(person, campaign, value, question)
    return question


def test_the_review_shows_the_drawing_and_what_the_engine_begins_with(cats, bob, as_alice):
    question = draw(bob, cats)

    page = as_alice.get(url("review"))

    assert page.status_code == 200
    assert 'd="M40 30 50 30 50 40 40 40Z"' in page.content.decode()
    setup = page.context["setup"]
    assert setup["value"]["parts"] == TAIL["parts"]
    assert setup["object"]["missing"] == ["torso", "leg", "tail"]
    assert setup["keep"].startswith(f"correction:{question.pk}:")
    assert not setup["begin"]


def test_the_review_takes_as_many_queries_for_three_drawings_as_for_one(cats, alice, bob, as_alice):
    crowd = [(bob, TAIL)]
    for name in ("dora", "zoe"):
        person = factories.make_user(name)
        factories.join(person, cats)
        crowd.append((person, BETTER))
    draw(bob, cats, TAIL, cats.questions.order_by("-pk").first())
    with CaptureQueriesContext(connection) as few:
        as_alice.get(url("review"))

    question = several(cats, alice, crowd)
    with CaptureQueriesContext(connection) as three:
        page = as_alice.get(url("review") + f"?question={question.pk}")

    assert len(page.context["picture"].people) == 3
    assert len(three) == len(few) <= 24


def test_a_correction_that_was_refused_goes_on_where_it_was(cats, bob, as_alice):
    question = draw(bob, cats)
    faulty = drawn(tail=square(40, 30, 500, 40))

    page = as_alice.post(url("question_decide", question.pk), {"value": json.dumps(faulty)})

    assert "lies outside the image" in page.content.decode()
    assert page.context["setup"]["value"] == faulty
    assert page.context["setup"]["begin"]
    question.refresh_from_db()
    assert question.state == "review"


def test_nonsense_in_place_of_a_correction_is_refused(cats, bob, as_alice):
    question = draw(bob, cats)

    for value in ("", "{", "[[[", '{"parts": 3}', '{"parts": {"tail": ' + "[" * 9_999, "yes"):
        page = as_alice.post(url("question_decide", question.pk), {"value": value})
        assert page.status_code == 200
    question.refresh_from_db()
    assert question.state == "review"


def test_what_was_decided_meanwhile_is_said(cats, alice, bob, as_alice):
    question = draw(bob, cats)
    seen = question.settlements.get().pk
    as_alice.post(url("question_send_back", question.pk), {"note": "Look again.", "seen": seen})
    assert SentBack.objects.count() == 1
    draw(bob, cats, BETTER, question)

    page = as_alice.post(url("question_accept", question.pk), {"seen": seen}, follow=True)

    assert "Another reviewer decided first" in page.content.decode()
    question.refresh_from_db()
    assert question.state == "review"


def test_agreement_is_by_category_and_part_with_the_worst_first(cats, alice, bob, as_alice):
    dora = factories.make_user("dora")
    factories.join(dora, cats)
    question = several(cats, alice, [(bob, TAIL), (dora, BETTER)])

    agreement = as_alice.get(url("agreement")).context["found"]

    [category] = agreement.categories
    assert (category.key, category.objects) == (CAT, 1)
    rows = {row.key: row for row in category.parts}
    assert list(rows) == ["torso", "leg", "tail"]
    assert rows["tail"].iou == pytest.approx(0.9)
    [worst] = rows["tail"].worst
    assert (worst.question, worst.iou) == (question.pk, 0.9)
    assert (rows["leg"].worst, rows["leg"].boundary_f) == ([], None)
    assert "0.90" in as_alice.get(url("question", question.pk)).content.decode()


def test_nothing_to_compare_is_said(cats, bob, as_alice):
    draw(bob, cats)

    assert "Nothing to compare yet" in as_alice.get(url("agreement")).content.decode()


PAGES = ["campaign", "questions", "quality", "audit", "gold", "people", "campaign_policy", "jobs"]


@pytest.mark.parametrize("name", PAGES)
def test_pages_made_for_words_show_drawings(name, cats, alice, bob, as_alice):
    dora = factories.make_user("dora")
    factories.join(dora, cats)
    several(cats, alice, [(bob, TAIL), (dora, BETTER)])
    calibrating.calibrate(cats)

    assert as_alice.get(url(name)).status_code == 200


def test_a_person_sees_and_is_seen_with_drawings(cats, alice, bob, as_alice):
    question = draw(bob, cats)
    as_alice.post(url("question_accept", question.pk), {})

    page = as_alice.get(url("person", cats.memberships.get(user=bob).pk)).content.decode()

    assert "Drawn" in page
    assert "polygons&quot;" not in page
    assert "polygons&#x27;" not in page


def test_an_audit_of_drawings_is_refused_with_the_reason(cats, alice, bob, as_alice):
    page = as_alice.post(url("audit"), {"n": 1})

    assert "To check drawings, let a reviewer check everything" in page.content.decode()


def test_a_table_of_votes_cannot_be_chosen(cats, as_alice):
    policy = {**cats.policy.content, "method": "vote-table"}

    page = as_alice.post(url("campaign_policy"), policy)

    assert "counts words" in page.content.decode()
    cats.refresh_from_db()
    assert cats.policy.content["method"] == "majority"


def test_standing_weighs_drawings_under_posterior(cats, alice, bob):
    dora = factories.make_user("dora")
    factories.join(dora, cats)
    several(cats, alice, [(bob, TAIL), (dora, drawn(tail=square(2, 2, 9, 9)))])

    content = calibrating.calibrate(cats).content

    assert content["classes"] == ["drawn"]
    assert {row["answers"] for row in content["annotators"].values()} == {1}
    known = calibration_store.in_force(Campaign.objects.get(pk=cats.pk))
    assert set(known.accuracy) == {bob.pk, dora.pk}
    assert all(0 < accuracy < 0.8 for accuracy in known.accuracy.values())


@pytest.fixture
def with_gold(cats, alice, dataset):
    """Gold on an object of its own, drawn as TAIL."""
    spare = PartedObject("cats/0.png", CAT, BOX, name="spare")
    objects.put(dataset, [spare], "somebody")
    row = {"image": "cats/0.png", "object": "spare", "answer": TAIL}
    assert gold.add_gold(cats, alice, [row]) == 1
    return cats.questions.get(state="gold")


def test_gold_is_dealt_and_graded_by_overlap(cats, alice, bob, with_gold, as_alice, monkeypatch):
    policy = cats.policy.content | {"gold_share": 0.5, "gold_iou": 0.8, "page_size": 3}
    lifecycle.change_policy(cats, alice, policy)
    monkeypatch.setattr(gold_mixing, "slots", lambda count, share: min(count, 1))
    draw(bob, cats, BETTER, with_gold)

    assert gold_results.accuracies(Campaign.objects.get(pk=cats.pk))[bob.pk].right == 1
    page = as_alice.get(url("gold")).content.decode()
    assert "spare" in page
    assert Answer.objects.filter(assignment__question=with_gold).count() == 1


def test_training_says_how_right_each_part_is(cats, alice, bob, with_gold):
    policy = cats.policy.content | {"training_questions": 1, "gold_share": 0}
    lifecycle.change_policy(cats, alice, policy)
    membership = cats.memberships.get(user=bob)
    membership.refresh_from_db()
    qualifying.begin(membership)
    [seat] = qualifying.next_gold(bob, Campaign.objects.get(pk=cats.pk)).seats

    [result] = qualifying.feedback(
        bob, cats, [submitting.SubmittedAnswer(uuid.uuid4(), seat.token, BETTER, 9_000)]
    )

    assert result.right is True
    assert result.parts == {"leg": 1, "tail": pytest.approx(0.9), "torso": 1}
    assert result.answer["parts"] == TAIL["parts"]


def test_gold_rows_name_their_object(cats, alice):
    row = {"image": "cats/0.png", "object": "dog-7", "answer": TAIL}
    with pytest.raises(Refusal, match="Row 1: pond has no object 'dog-7'"):
        gold.add_gold(cats, alice, [row])
    with pytest.raises(Refusal, match=r"Row 1: .*part 'tail'"):
        gold.add_gold(
            cats, alice, [row | {"object": "cat-1", "answer": drawn(tail=square(0, 0, 0, 9))}]
        )
    with pytest.raises(Conflict, match="already exists"):
        gold.add_gold(cats, alice, [row | {"object": "cat-1"}])
