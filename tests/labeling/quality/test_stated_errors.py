import pytest

from labeling.models import Question, Settlement
from labeling.quality import auditing, stated_errors
from tests.clients import logged_in, text_of
from tests.labeling.audits import answer_ids, audit_all
from tests.labeling.crowd import query_count


def settle_with(campaign, votes, probability):
    Settlement.objects.filter(question__campaign=campaign).update(
        answers=answer_ids(votes), probability=probability
    )


def test_without_audits_the_error_is_not_measured_and_a_range_is_given(settled):
    settle_with(settled, 3, 1.0)

    measured = stated_errors.measure(settled)

    assert measured.stated.to_json().keys() == {"value", "interval", "basis", "range"}
    assert (measured.stated.value, measured.stated.basis) == (None, None)
    assert measured.stated.range[0] < measured.stated.range[1]
    assert measured.error_of(1.0, 3) is None


def test_audits_give_the_error_of_the_labels_and_of_each_label(settled, alice):
    settle_with(settled, 3, 1.0)
    auditing.draw(settled, alice, 40, seed=0)
    audit_all(settled, alice, wrong=8)

    measured = stated_errors.measure(settled)

    assert measured.stated.basis == "audit"
    assert measured.stated.interval[0] < 0.2 < measured.stated.interval[1]
    assert measured.stated.value == pytest.approx(0.2, abs=0.05)
    assert measured.error_of(1.0, 3) == pytest.approx(measured.stated.value, abs=1e-6)
    assert measured.error_of(0.67, 3) > measured.error_of(1.0, 3)
    assert measured.error_of(None, 0) is None
    assert (measured.audited, sum(measured.wrong)) == (40, 8)
    assert len(measured.errors) == 40


def test_below_twenty_audits_only_an_interval_is_stated(settled, alice):
    auditing.draw(settled, alice, 19, seed=0)
    audit_all(settled, alice)

    stated = stated_errors.measure(settled).stated

    assert stated.value is None
    assert stated.interval is not None


def test_too_hard_says_nothing_and_a_question_counts_once(settled, alice):
    for seed in (0, 1):
        auditing.draw(settled, alice, 40, seed=seed)
        audit_all(settled, alice, hard=10)

    assert stated_errors.measure(settled).audited == 40 - len(hard_in_both(settled))


def hard_in_both(campaign):
    """Return the questions whose audits were all too hard."""
    answers = {}
    for audit in campaign.audits.all():
        answers.setdefault(audit.question_id, set()).add(audit.value)
    return [question for question, values in answers.items() if values == {"hard"}]


def test_a_campaign_with_nothing_settled_has_neither_number_nor_range(settled):
    Question.objects.update(state="open")

    stated = stated_errors.measure(settled).stated

    assert (stated.value, stated.interval, stated.range) == (None, None, None)


def test_more_audits_narrow_the_interval_that_is_foretold(settled, alice):
    before = stated_errors.measure(settled)
    auditing.draw(settled, alice, 40, seed=0)
    audit_all(settled, alice, wrong=4)

    assert 0 < stated_errors.measure(settled).gain < before.gain


def test_the_queries_do_not_grow_with_the_audits(settled, alice):
    few = query_count(lambda: stated_errors.measure(settled))
    auditing.draw(settled, alice, 40, seed=0)
    audit_all(settled, alice)

    assert query_count(lambda: stated_errors.measure(settled)) == few <= 4


def test_the_page_says_not_measured_before_an_audit_and_the_basis_after(settled, alice):
    client = logged_in(alice)
    address = f"/campaigns/{settled.name}/quality/"

    before = text_of(client.get(address))
    auditing.draw(settled, alice, 20, seed=0)
    audit_all(settled, alice, wrong=2)
    after = text_of(client.get(address))

    assert "<strong>Not measured:</strong>" in before
    assert "60 images to measure the error to within about ± " in before
    assert f"/campaigns/{settled.name}/gold/#random" in before
    assert f"/campaigns/{settled.name}/audit/#draw" in before
    assert "Not measured" not in after
    assert "measured on 20 audited labels" in after
