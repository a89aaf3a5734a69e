"""The error on gold by how answers were given: counted, with an interval, in one query."""

import uuid

import pytest
from django.utils import timezone

from labeling.estimators.intervals import wilson_interval
from labeling.models import Answer, Seat
from labeling.quality import gold_results
from labeling.quality.gold import retire_gold
from tests import factories
from tests.labeling.crowd import make_gold


def give(user, question, *answers):
    """The person's revisions on the question, each (value, input method)."""
    seat = Seat.objects.create(
        question=question,
        annotator=user,
        subject=question.pk,
        state="answered",
        leased_until=timezone.now(),
    )
    for revision, (value, method) in enumerate(answers):
        Answer.objects.create(
            id=uuid.uuid4(), assignment=seat, revision=revision, value=value, input_method=method
        )


@pytest.fixture
def gold(coots, alice):
    return make_gold(coots, alice, ["yes"] * 4)


def test_the_last_revision_counts_under_its_own_method(
    coots, alice, bob, gold, django_assert_num_queries
):
    second = factories.make_user("other")
    give(bob, gold[0], ("no", "swipe"), ("yes", "key"))
    give(bob, gold[1], ("no", "swipe"))
    give(bob, gold[2], ("yes", "swipe"))
    give(second, gold[0], ("hard", "tap"))
    give(second, gold[1], ("yes", None))
    give(second, gold[3], ("no", "tap"))
    retire_gold(coots, alice, gold[3].pk, "the label was wrong")

    with django_assert_num_queries(1):
        errors = gold_results.errors_by_method(coots)

    assert [(row.group, row.wrong, row.total) for row in errors] == [
        *(("key", 0, 1), ("tap", 1, 1), ("swipe", 1, 2), ("", 0, 1))
    ]
    assert (errors[2].error, errors[2].interval) == (0.5, wilson_interval(1, 2))


def test_answers_that_say_nothing_make_no_table(coots, bob, gold):
    give(bob, gold[0], ("no", None))

    assert gold_results.errors_by_method(coots) == []


def test_of_many_answers_the_latest_are_read(coots, gold, monkeypatch):
    monkeypatch.setattr(gold_results, "LATEST", 3)
    for number, value in enumerate(["no", "no", "yes", "yes", "yes"]):
        give(factories.make_user(f"p{number}"), gold[0], (value, "key"))

    assert [(row.wrong, row.total) for row in gold_results.errors_by_method(coots)] == [(0, 3)]


def test_the_error_is_told_by_language(coots, bob, gold, django_assert_num_queries):
    second = factories.make_user("other")
    for question, user, value, language in (
        (gold[0], bob, "yes", "de"),
        (gold[1], bob, "no", "de"),
        (gold[0], second, "yes", "en-gb"),
        (gold[1], second, "yes", None),
    ):
        give(user, question, (value, "key"))
        Answer.objects.filter(assignment__annotator=user, assignment__question=question).update(
            language=language
        )

    with django_assert_num_queries(1):
        errors = gold_results.errors_by_language(coots)

    assert [(row.group, row.wrong, row.total) for row in errors] == [
        *(("en-gb", 0, 1), ("de", 1, 2), ("", 0, 1))
    ]


def test_agreement_is_told_within_and_across_languages(coots, django_assert_num_queries):
    people = [factories.make_user(f"p{number}") for number in range(3)]
    for question, values in zip(
        coots.questions.order_by("pk")[:2], [("yes", "yes", "no"), ("no", "no", "no")], strict=True
    ):
        for user, value, language in zip(people, values, ("de", "de", "en-gb"), strict=True):
            give(user, question, (value, None))
            answers = Answer.objects.filter(assignment__annotator=user)
            answers.filter(assignment__question=question).update(language=language)

    with django_assert_num_queries(1):
        agreement = gold_results.agreement_by_language(coots)

    assert [(row.first, row.second, row.agreed, row.total) for row in agreement] == [
        ("en-gb", "de", 2, 4),
        ("de", "de", 2, 2),
    ]
    # Languages that the site no longer offers.
    Answer.objects.filter(language="en-gb").update(language="xx")
    Answer.objects.filter(language="de").update(language="yy")
    agreement = gold_results.agreement_by_language(coots)
    assert [(row.first, row.second, row.total) for row in agreement] == [
        ("xx", "yy", 4),
        ("yy", "yy", 2),
    ]
    Answer.objects.update(language="de")
    assert gold_results.agreement_by_language(coots) == []
