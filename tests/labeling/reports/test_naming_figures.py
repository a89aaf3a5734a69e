"""What people looked at, and what seeing models' names did to their answers."""

import pytest

from labeling.models import Answer, Assignment, Question, SecondAnswer
from labeling.quality import gold
from labeling.reports import naming_figures
from tests import factories
from tests.labeling.answers.test_second_pass import (
    COOT,
    DRAKE,
    TENCH,
    answer,
    draft,
    images,  # noqa: F401 - a fixture
    names,  # noqa: F401 - a fixture
)


def second(seat: Assignment, value: object, shown: list[str]) -> None:
    SecondAnswer.objects.create(
        assignment=seat, value=value, shown=shown, answered_at=seat.created_at
    )


@pytest.fixture
def seen(names, alice, bob, dataset):  # noqa: F811 - the fixture
    """Four gold coots: right and kept, right and taken over wrong, wrong and put right, wrong and
    kept; and one image that is no gold, on which the order changes to the proposal's."""
    rows = []
    for number in range(4):
        image = factories.make_image(dataset, f"gold{number}.png").name
        rows.append({"image": image, "topic": "label", "answer": {"key": COOT}})
    gold.add_gold(names, alice, rows)
    said = [([COOT], [COOT]), ([COOT, TENCH], [DRAKE]), ([TENCH], [TENCH, COOT]), ([TENCH],) * 2]
    questions = Question.objects.filter(state="gold").order_by("pk")
    for question, (first, after) in zip(questions, said, strict=True):
        seat = Assignment.objects.create(
            question=question, annotator=bob, subject=question.pk, leased_until=names.created_at
        )
        answer(bob, names, *first, seat=seat.token)
        second(seat, {"keys": after}, [DRAKE, COOT])
    token, _ = answer(bob, names, TENCH, DRAKE)
    second(Assignment.objects.get(token=token), {"keys": [DRAKE, TENCH]}, [DRAKE])
    return names


def test_the_bias_of_seeing_proposals_is_measured_by_gold(seen):
    bias = naming_figures.figures(seen).bias

    assert (bias.answers, bias.changed, bias.toward, bias.away) == (5, 3, 3, 1)
    assert bias.changed_share == 0.6
    assert (bias.known, bias.right_to_wrong, bias.wrong_to_right) == (4, 1, 1)
    assert (bias.first.top5_error, bias.second.top5_error) == (0.5, 0.5)
    assert (bias.first.top1_error, bias.second.top1_error) == (0.5, 0.75)
    assert bias.difference == 0
    low, high = bias.difference_interval
    assert (low, high) == (pytest.approx(-high), pytest.approx(1.3, abs=0.01))


def test_looks_are_summed_over_the_answers_that_tell(names, bob):  # noqa: F811 - the fixture
    for _ in range(3):
        answer(bob, names, COOT)
    looks = [{"did": "search", "what": "co", "at": 5}, {"did": "siblings", "what": COOT, "at": 9}]
    for row, own in zip(Answer.objects.all()[:2], (looks, []), strict=True):
        Answer.objects.filter(pk=row.pk).update(looks=own)

    found = naming_figures.figures(names).looks

    assert (found.answers, found.searches, found.siblings, found.examples) == (2, 0.5, 0.5, 0)
    assert (found.with_siblings, found.with_examples) == (0.5, 0)


def test_nothing_is_said_of_campaigns_of_one_class_or_before_answers(names, alice, dataset):  # noqa: F811
    assert naming_figures.figures(names) == naming_figures.NamingFigures(None, None)
    other = draft(alice, dataset, name="single", settings={}, images=["a.png"])
    assert naming_figures.figures(other) is None


def test_the_page_and_the_api_tell_the_researcher_alone(seen, as_alice, as_bob):
    page = as_alice.get("/campaigns/names/quality/").content.decode()

    assert "What seeing models’ names does" in page
    found = as_alice.get("/api/v1/campaigns/names/naming-figures/").json()
    assert found["bias"]["changed_share"] == 0.6
    assert as_bob.get("/campaigns/names/quality/").status_code in (403, 404)
    assert as_bob.get("/api/v1/campaigns/names/naming-figures/").status_code == 403
