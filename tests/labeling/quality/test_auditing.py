"""Asking again, blind and at random: how often the settled labels are wrong."""

import numpy as np
import pytest
from scipy.stats import binomtest

from labeling.errors import Conflict, NotAllowed, NotYours, Refusal
from labeling.models import Audit, Question, Settlement
from labeling.quality import auditing, stated_errors
from tests import factories
from tests.cases import for_each
from tests.labeling.audits import audit_all
from tests.labeling.crowd import give, query_count


def test_a_sample_is_drawn_from_settled_questions_and_never_from_gold(settled, alice):
    open_one = settled.questions.filter(state="settled").first()
    Question.objects.filter(pk=open_one.pk).update(state="review")

    sample = auditing.draw(settled, alice, 39, seed=1)

    drawn = set(Audit.objects.filter(sample=sample).values_list("question", flat=True))
    assert drawn == set(settled.questions.filter(state="settled").values_list("pk", flat=True))
    decision = settled.decisions.get(kind="audit")
    assert decision.content == {"sample": 1, "drawn": 39, "of": 39, "seed": 1}


def test_the_same_seed_draws_the_same_and_samples_are_numbered(settled, alice):
    numbers = [auditing.draw(settled, alice, 5, seed) for seed in (7, 7, 8)]

    first, second, third = (
        set(Audit.objects.filter(sample=number).values_list("question", flat=True))
        for number in numbers
    )
    assert numbers == [1, 2, 3]
    assert first == second != third


def test_every_settled_question_is_as_likely_as_any_other(settled, alice):
    for seed in range(100):
        auditing.draw(settled, alice, 10, seed)

    counts = np.unique(list(Audit.objects.values_list("question", flat=True)), return_counts=True)[
        1
    ]
    # 1000 draws over 40 questions: 25 each, with a standard deviation of 4.3.
    assert len(counts) == 40
    assert 8 <= counts.min() <= counts.max() <= 45


@for_each(("n", "error"), [(0, Refusal), (41, Conflict), (10_001, Refusal)])
def test_an_impossible_sample_is_refused_and_nothing_is_drawn(settled, alice, n, error):
    with pytest.raises(error) as caught:
        auditing.draw(settled, alice, n)

    assert caught.value.field == "n"
    assert not Audit.objects.exists()


def test_the_settlement_that_stands_is_compared(settled, alice):
    question = settled.questions.filter(state="settled").first()
    newer = question.settlements.create(policy=settled.policy, value="no", probability=0.99)

    auditing.draw(settled, alice, 40, seed=0)

    assert Audit.objects.get(question=question).settlement == newer


def test_auditors_are_researchers_and_reviewers_of_the_campaign(settled, alice, bob, charlie):
    auditing.draw(settled, alice, 3, seed=0)
    audit = Audit.objects.first()

    with pytest.raises(NotAllowed):
        auditing.next_for(bob, settled)
    with pytest.raises(NotAllowed):
        auditing.answer(audit, bob, "yes")
    with pytest.raises(NotYours):
        auditing.answer(audit, charlie, "yes")
    factories.join(charlie, settled, "reviewer")
    assert auditing.next_for(charlie, settled) is not None


def test_nobody_audits_what_they_answered_or_decided(settled, alice):
    questions = list(settled.questions.filter(state="settled").order_by("pk"))
    auditing.draw(settled, alice, 40, seed=0)
    give(alice, questions[:38], ["yes"] * 38)
    settled.decisions.create(kind="review", actor=alice, content={"question": questions[38].pk})

    assert audit_all(settled, alice) == 1
    assert Audit.objects.get(auditor=alice).question == questions[39]
    for question in questions[0], questions[38]:
        with pytest.raises(NotAllowed, match="yourself"):
            auditing.answer(Audit.objects.get(question=question), alice, "yes")


def test_an_audit_is_answered_once(settled, alice, charlie):
    factories.join(charlie, settled, "reviewer")
    auditing.draw(settled, alice, 1, seed=0)
    mine = auditing.next_for(alice, settled)
    theirs = auditing.next_for(charlie, settled)
    assert mine == theirs

    auditing.answer(mine, alice, "yes")

    with pytest.raises(Conflict):
        auditing.answer(theirs, charlie, "no")
    assert Audit.objects.get().auditor == alice
    assert auditing.next_for(charlie, settled) is None


def test_two_people_at_once_are_given_different_ones_and_a_reload_the_same(settled, alice, charlie):
    factories.join(charlie, settled, "reviewer")
    auditing.draw(settled, alice, 20, seed=0)

    assert auditing.next_for(alice, settled) == auditing.next_for(alice, settled)
    assert auditing.next_for(alice, settled) != auditing.next_for(charlie, settled)


def test_an_audit_changes_no_settlement(settled, alice):
    auditing.draw(settled, alice, 10, seed=0)
    before = list(Settlement.objects.order_by("pk").values())

    audit_all(settled, alice, wrong=5)

    assert list(Settlement.objects.order_by("pk").values()) == before
    assert not settled.questions.exclude(state__in=["settled", "gold"]).exists()


def test_the_estimate_is_the_share_that_was_wrong_with_an_exact_interval(settled, alice):
    auditing.draw(settled, alice, 30, seed=0)
    audit_all(settled, alice, wrong=4, hard=2)

    estimate = auditing.estimate(settled)

    expected = binomtest(4, 28).proportion_ci(0.95, method="exact")
    assert (estimate.drawn, estimate.answered, estimate.unclear) == (30, 30, 2)
    assert (estimate.audited, estimate.wrong) == (28, 4)
    assert estimate.error == pytest.approx(4 / 28)
    assert estimate.interval == pytest.approx([expected.low, expected.high])
    assert estimate.stated == pytest.approx(0.1)
    assert estimate.measured.stated.basis == "audit"
    assert estimate.stated_holds is True
    assert sum(row.audited for row in estimate.by_answer.values()) == 28
    assert sum(row.wrong for row in estimate.by_answer.values()) == 4
    assert sum(row["n"] for row in estimate.calibration["bins"]) == 28
    assert len(auditing.disagreements(settled)) == 4


def test_labels_worse_than_they_state_are_seen(settled, alice):
    Settlement.objects.update(probability=0.999)
    auditing.draw(settled, alice, 40, seed=0)
    audit_all(settled, alice, wrong=8)

    estimate = auditing.estimate(settled)

    assert estimate.stated == pytest.approx(0.001)
    assert estimate.stated_holds is False


def test_before_any_answer_the_estimate_says_nothing(settled, alice):
    assert auditing.estimate(settled) is None
    auditing.draw(settled, alice, 5, seed=0)

    estimate = auditing.estimate(settled)

    assert (estimate.audited, estimate.error, estimate.interval) == (0, None, (0.0, 1.0))
    assert estimate.stated_holds is None
    assert estimate.calibration is None


def test_reviewers_verdicts_state_no_probability(settled, alice):
    Settlement.objects.update(probability=None)
    auditing.draw(settled, alice, 5, seed=0)
    audit_all(settled, alice, wrong=1)

    estimate = auditing.estimate(settled)

    assert (estimate.stated, estimate.measured.stated.basis, estimate.error) == (None, None, 0.2)


def test_the_stated_error_is_of_the_settlements_that_stand(settled, monkeypatch):
    for question in settled.questions.filter(state="settled"):
        question.settlements.create(
            policy=settled.policy, value="yes", probability=0.8, answers=["a"]
        )
    assert stated_errors.measure(settled).believed == pytest.approx(0.2)

    # Over an even part of many: ten of forty here.
    monkeypatch.setattr(stated_errors, "SAMPLE", 10)
    newest = Settlement.objects.filter(probability=0.8)
    part = list(settled.questions.filter(state="settled").order_by("pk"))[::4]
    newest.filter(question__in=part).update(probability=0.6)
    assert stated_errors.measure(settled).believed == pytest.approx(0.4)


def test_the_estimate_takes_as_many_queries_for_a_larger_sample(settled, alice):
    auditing.draw(settled, alice, 2, seed=0)
    audit_all(settled, alice)
    few = query_count(lambda: auditing.estimate(settled))
    auditing.draw(settled, alice, 40, seed=0)
    audit_all(settled, alice, wrong=3)

    assert query_count(lambda: auditing.estimate(settled)) == few <= 5
