import uuid
from datetime import timedelta

import pytest
from django.utils import timezone
from scipy.stats import binomtest

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.estimators import intervals
from labeling.models import Answer
from labeling.quality import gold_results
from tests import factories
from tests.cases import for_each
from tests.labeling.crowd import answer, give, make_gold


@pytest.fixture
def gold(coots, alice):
    """Four gold questions whose answer is yes."""
    return make_gold(coots, alice, ["yes"] * 4)


def test_a_revised_gold_answer_counts_as_revised(coots, alice, bob, gold):
    lifecycle.change_policy(coots, alice, {"gold_share": 0.5, "page_size": 10})
    coots.refresh_from_db()
    seats = claiming.next_page(bob, coots).seats
    tokens = set(
        coots.questions.filter(state="gold", seats__annotator=bob).values_list(
            "seats__token", flat=True
        )
    )
    answer(bob, coots, seats, "no")
    assert gold_results.accuracy(bob, coots).right == 0

    submitting.submit(
        bob, coots, [submitting.SubmittedAnswer(uuid.uuid4(), token, "yes", 10) for token in tokens]
    )

    assert gold_results.accuracy(bob, coots).right == len(tokens) > 0


def test_nobody_has_a_standing_before_meeting_gold(coots, bob):
    assert gold_results.accuracy(bob, coots) == gold_results.Accuracy(0, 0, None, (0.0, 1.0))


@for_each(("right", "total"), [(0, 5), (5, 5), (8, 10), (97, 120)])
def test_the_wilson_interval_agrees_with_scipy(right, total):
    expected = binomtest(right, total).proportion_ci(0.95, method="wilson")

    assert intervals.wilson_interval(right, total) == pytest.approx(
        (expected.low, expected.high), abs=1e-12
    )


def test_gold_answered_before_work_began_counts_for_nothing(coots, bob, gold):
    early = timezone.now() - timedelta(hours=2)
    [seat, *_] = give(bob, gold[:2], ["yes", "no"], at=early)
    give(bob, gold[2:], ["yes", "no"])
    # Revised later: when it was first answered decides.
    Answer.objects.create(
        id=uuid.uuid4(), assignment=seat, revision=1, value="yes", created_at=timezone.now()
    )

    coots.memberships.filter(user=bob).update(working_since=early + timedelta(hours=1))

    assert gold_results.rights(coots, [bob.pk]) == {bob.pk: [True, False]}
    assert gold_results.accuracy(bob, coots).total == 2


def test_rights_come_in_the_order_of_the_answers(coots, bob, gold):
    give(bob, [gold[2], gold[0], gold[3], gold[1]], ["no", "yes", "yes", "no"])

    assert gold_results.rights(coots)[bob.pk] == [False, True, True, False]


def test_standings_of_some_are_theirs_alone(coots, bob, charlie, gold):
    factories.join(charlie, coots)
    give(bob, gold[:2], ["yes", "no"])
    give(charlie, gold, ["yes"] * 4)

    assert set(gold_results.accuracies(coots)) == {bob.pk, charlie.pk}
    assert {pk: row.right for pk, row in gold_results.accuracies(coots, [charlie.pk]).items()} == {
        charlie.pk: 4
    }
    assert gold_results.accuracies(coots, []) == {}
