"""What models name is shown once a person has answered; both answers are kept."""

import pytest

from annotator.pages import seats
from labeling.answers import second_pass, submitting
from labeling.answers.sent import Sent, uuid7
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.errors import CampaignClosed, Conflict, NotYours, Refusal
from labeling.exchange import naming_campaigns
from labeling.models import Answer, Assignment, Question, SecondAnswer
from labeling.quality import gold
from tests import factories

COOT, DRAKE, TENCH = "n02018207", "n01847000", "n01440764"
CLASSES = [{"key": key, "name": key, "path": []} for key in (COOT, DRAKE, TENCH)]


def draft(alice, dataset, **fields):
    return naming_campaigns.draft(
        alice,
        dataset,
        **{
            "name": "names",
            "title": "Names",
            "kind": "naming",
            "vocabulary": CLASSES,
            "settings": {"most": 5},
            "policy": {"votes": 1, "max_votes": 1, "gold_share": 0, "training_questions": 0}
            | {"test_questions": 0},
        }
        | fields,
    )


@pytest.fixture
def images(dataset):
    return [factories.make_image(dataset, f"{name}.png").name for name in "abcde"]


@pytest.fixture
def names(alice, bob, dataset, images):
    made = draft(alice, dataset, second_pass={name: [DRAKE, TENCH] for name in images})
    lifecycle.launch(made, alice)
    factories.join(bob, made)
    return made


def answer(bob, campaign, *keys, seat=None):
    token = seat or claiming.next_page(bob, campaign, 1).seats[0].token
    sent = Sent(uuid7(), token, {"keys": list(keys)})
    [result] = submitting.submit(bob, campaign, [sent])
    return token, result


def test_nothing_is_shown_before_the_first_answer(names, bob):
    claiming.next_page(bob, names, 2)

    assert second_pass.next_of(bob, names) is None


def test_the_first_answer_stands_from_when_the_proposal_is_seen(names, bob):
    token, _ = answer(bob, names, COOT)
    assert answer(bob, names, TENCH, seat=token)[1].status == "accepted"

    row = second_pass.next_of(bob, names)

    assert (row.assignment.token, row.shown) == (token, [DRAKE, TENCH])
    assert second_pass.first_answer(row) == {"keys": [TENCH]}
    assert answer(bob, names, COOT, seat=token)[1].code == "revision_closed"
    # The same again until it is answered, in any tab.
    assert second_pass.next_of(bob, names) == row
    assert seats.is_viewable(bob, row.assignment)


def test_a_second_answer_is_kept_beside_the_first_and_changes_nothing_that_counts(names, bob):
    token, _ = answer(bob, names, COOT)
    second_pass.next_of(bob, names)

    second_pass.submit(bob, names, token, {"keys": [DRAKE, COOT]}, 900, [])

    again = second_pass.submit(bob, names, token, {"keys": [DRAKE, COOT]})
    assert (again.value, again.duration_ms) == ({"keys": [DRAKE, COOT]}, 900)
    assert Answer.objects.get().value == {"keys": [COOT]}
    assert Question.objects.get(state="settled").settlements.get().value == {"key": COOT}
    with pytest.raises(Conflict):
        second_pass.submit(bob, names, token, "none")
    assert second_pass.next_of(bob, names) is None
    assert not seats.is_viewable(bob, Assignment.objects.get(token=token))


def test_gold_is_seen_a_second_time_as_the_rest_is(names, alice, bob, dataset):
    factories.make_image(dataset, "gold.png")
    naming_campaigns.propose(names, {"gold.png": [COOT]}, {"gold.png"})
    row = {"image": "gold.png", "topic": "label", "answer": {"key": COOT}}
    gold.add_gold(names, alice, [row])
    [question] = Question.objects.filter(state="gold")
    seat = Assignment.objects.create(
        question=question,
        annotator=bob,
        subject=question.pk,
        leased_until=names.created_at,
    )
    answer(bob, names, DRAKE, seat=seat.token)

    assert second_pass.next_of(bob, names).assignment_id == seat.pk


@pytest.mark.parametrize("who", ["charlie", "alice"])
def test_nobody_sees_or_answers_for_another(names, bob, who, request):
    token, _ = answer(bob, names, COOT)
    second_pass.next_of(bob, names)
    other = request.getfixturevalue(who)

    with pytest.raises(NotYours):
        second_pass.submit(other, names, token, "none")


def test_a_bad_second_answer_is_refused(names, bob):
    token, _ = answer(bob, names, COOT)
    second_pass.next_of(bob, names)

    with pytest.raises(Refusal):
        second_pass.submit(bob, names, token, {"keys": ["n99999999"]})


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"second_pass": {"a.png": [COOT]}}, "second_pass"),
        ({"second_pass": {"a.png": [COOT], "x.png": []}, "images": ["a.png"]}, "second_pass"),
        ({"second_pass": {"a.png": ["n9"]}, "images": ["a.png"]}, "second_pass"),
        ({"examples": [("x.png", COOT)]}, "examples"),
        ({"examples": [("a.png", "n9")]}, "examples"),
        ({"examples": [("a.png", COOT)], "images": ["a.png"]}, "examples"),
        ({"examples": [("a.png", COOT)], "settings": {}}, "examples"),
    ],
)
def test_what_does_not_fit_is_refused_whole(alice, dataset, images, fields, field):
    with pytest.raises(Refusal) as refused:
        draft(alice, dataset, **fields)

    assert refused.value.field == field
    assert not dataset.campaigns.exists()


def test_gold_without_a_proposal_comes_too(names, alice, bob, dataset):
    factories.make_image(dataset, "late.png")
    gold.add_gold(names, alice, [{"image": "late.png", "topic": "label", "answer": {"key": COOT}}])
    question = Question.objects.get(state="gold")
    seat = Assignment.objects.create(
        question=question, annotator=bob, subject=question.pk, leased_until=names.created_at
    )
    answer(bob, names, DRAKE, seat=seat.token)

    row = second_pass.next_of(bob, names)

    assert (row.assignment_id, row.shown) == (seat.pk, [])


def test_examples_are_shown_with_their_class_and_never_asked_about(alice, dataset, images):
    made = draft(alice, dataset, examples=[("a.png", COOT), ("b.png", COOT)])

    asked = set(made.questions.values_list("item__image__name", flat=True))
    assert asked == {"c.png", "d.png", "e.png"}
    assert made.topics.get(key=COOT).examples.count() == 2
    assert {image for image, _ in naming_campaigns.pairs_of(made, ())} == asked


def test_a_paused_campaign_shows_no_further_image_but_takes_what_was_begun(names, alice, bob):
    answer(bob, names, COOT)
    answer(bob, names, TENCH)
    begun = second_pass.next_of(bob, names)
    lifecycle.pause(names, alice)

    assert second_pass.next_of(bob, names) == begun
    second_pass.submit(bob, names, begun.assignment.token, {"keys": [DRAKE]})
    with pytest.raises(CampaignClosed, match="paused"):
        second_pass.next_of(bob, names)

    assert SecondAnswer.objects.count() == 1
