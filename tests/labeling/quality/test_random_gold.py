"""Gold drawn at random: answered blind by trusted people, it measures the error of the labels."""

import pytest

from labeling.assignment import claiming
from labeling.errors import Conflict, Refusal
from labeling.models import Audit, Campaign, Gold, Job, Question, Seat
from labeling.quality import auditing, stated_errors
from labeling.quality.gold import add_gold, gold_from_settled, retire_gold
from tests import factories
from tests.labeling.audits import settle
from tests.labeling.crowd import answer_all, give, query_count, vote


@pytest.fixture
def campaign(alice, bob, charlie, dataset):
    """A campaign of thirty open questions with one vote each; Bob labels and Charlie reviews."""
    campaign = factories.make_campaign(
        alice, dataset, "campaign", images=30, policy={"votes": 1, "gold_share": 0.0}
    )
    factories.join(bob, campaign)
    factories.join(charlie, campaign, "reviewer")
    return campaign


def draw(campaign, user, n, seed=0):
    return auditing.draw(campaign, user, n, seed, for_gold=True)


def answer_drawn(campaign, user, value="yes"):
    """Answer everything that waits; return the audits."""
    audits = []
    while (audit := auditing.next_for(user, campaign)) is not None:
        audits.append(auditing.answer(audit, user, value))
    return audits


def test_a_drawn_question_becomes_gold_when_a_reviewer_answers_it(campaign, alice, charlie):
    draw(campaign, alice, 3, seed=5)
    drawn = set(Audit.objects.values_list("question", flat=True))
    assert not Gold.objects.exists()

    answer_drawn(campaign, charlie)

    gold = Gold.objects.filter(question__campaign=campaign)
    assert set(gold.values_list("question", flat=True)) == drawn
    assert {(row.answer, row.at_random) for row in gold} == {("yes", True)}
    assert campaign.questions.filter(state="gold").count() == 3
    decision = campaign.decisions.get(kind="gold")
    assert decision.content == {"drawn": 3, "of": 30, "seed": 5, "sample": 1}


@pytest.mark.parametrize("for_gold", [True, False])
def test_a_draw_without_a_seed_records_one(settled, alice, for_gold):
    auditing.draw(settled, alice, 3, for_gold=for_gold)

    decision = settled.decisions.filter(kind="gold" if for_gold else "audit").latest("pk")
    assert decision.content["seed"] is not None


def test_two_draws_at_once_draw_no_question_twice(campaign, alice, monkeypatch):
    locked = []
    lock = Campaign.objects.select_for_update
    monkeypatch.setattr(Campaign.objects, "select_for_update", lambda: locked.append(1) or lock())
    drawable = auditing._drawable
    monkeypatch.setattr(
        auditing, "_drawable", lambda *args: locked.append("read") or drawable(*args)
    )

    draw(campaign, alice, 3)

    assert locked == [1, "read"]


def test_a_drawn_question_that_is_gold_meanwhile_waits_no_more(campaign, alice):
    draw(campaign, alice, 1)
    question = Audit.objects.get().question
    row = {"image": question.item.image.name, "topic": question.topic, "answer": "yes"}

    add_gold(campaign, alice, [row], replace=True)

    assert (auditing.gold_waiting(campaign), auditing.unanswered(campaign)) == (0, 0)


def test_another_answer_to_gold_chosen_by_hand_has_people_recounted(settled, alice):
    gold_from_settled(settled, alice, settled.questions.values_list("pk", flat=True))
    draw(settled, alice, 1)
    [audit] = Audit.objects.all()
    recounts = Job.objects.filter(kind="recount")

    wrong = "no" if audit.question.settlements.latest("pk").value == "yes" else "yes"
    auditing.answer(audit, alice, wrong)

    assert recounts.exists()


def test_whoever_answered_it_is_never_asked_it(campaign, alice, charlie):
    draw(campaign, alice, 1)

    answer_drawn(campaign, charlie)

    seat = Seat.objects.get(annotator=charlie)
    assert (seat.state, seat.question.state) == ("barred", "gold")


def test_too_hard_makes_no_gold(campaign, alice):
    draw(campaign, alice, 1)

    answer_drawn(campaign, alice, "hard")

    assert not Gold.objects.exists()
    assert auditing.unanswered(campaign) == 0


def test_a_question_at_work_waits_until_it_is_settled_and_then_a_copy_is_gold(campaign, alice, bob):
    draw(campaign, alice, 30)
    vote(bob, campaign, size=1)
    question = Seat.objects.get(annotator=bob, state="answered").question
    [held] = claiming.next_page(bob, campaign, 1).seats

    answer_drawn(campaign, alice, "no")

    assert not Gold.objects.filter(question=held.question_id).exists()
    assert auditing.unanswered(campaign) == 1
    copy = Question.objects.get(item=question.item, topic=question.topic, state="gold")
    assert (copy.subject, copy.gold.answer) == (question.pk, "no")
    audit = Audit.objects.get(question=question)
    assert audit.label == question.settlements.get()


def test_the_error_is_measured_on_gold_by_the_label_that_people_would_give(campaign, alice, bob):
    draw(campaign, alice, 20)
    answer_drawn(campaign, alice, "no")
    gold = Question.objects.filter(state="gold").order_by("pk")
    give(bob, gold, ["yes"] * 5 + ["no"] * 15)

    measured = stated_errors.measure(campaign)

    assert (measured.gold, measured.audited, sum(measured.wrong)) == (20, 0, 5)
    assert measured.stated.basis == "gold"
    assert measured.reliability.wrong == 0.25
    assert measured.reliability.verdict == "holds"
    assert measured.reliability.interval[0] < measured.reliability.stated


def test_gold_and_audits_are_one_basis(settled, alice):
    draw(settled, alice, 10)
    auditing.draw(settled, alice, 20, seed=1)
    answer_drawn(settled, alice)

    measured = stated_errors.measure(settled)

    assert measured.stated.basis == "gold+audit"
    assert measured.known == measured.gold + measured.audited
    assert measured.gold


def test_gold_chosen_by_hand_does_not_count(settled, alice):
    gold_from_settled(settled, alice, settled.questions.values_list("pk", flat=True))

    assert stated_errors.measure(settled).stated.basis is None
    assert not any(gold.at_random for gold in Gold.objects.all())


def test_gold_that_a_person_retires_or_replaces_no_longer_counts(settled, alice):
    draw(settled, alice, 10)
    answer_drawn(settled, alice)
    first, second, third = Gold.objects.filter(draw__isnull=False)[:3]

    retire_gold(settled, alice, first.question_id)
    retire_gold(settled, None, second.question_id)
    Gold.objects.filter(pk=third.pk).update(draw=None)

    assert stated_errors.measure(settled).gold == 8


def test_adding_a_drawn_question_by_hand_makes_it_chosen_by_hand(campaign, alice):
    draw(campaign, alice, 1)
    answer_drawn(campaign, alice)
    question = Gold.objects.get().question

    row = {"image": question.item.image.name, "topic": question.topic, "answer": "no"}
    add_gold(campaign, alice, [row])

    assert [(gold.answer, gold.at_random) for gold in Gold.objects.all()] == [("no", False)]


def test_nothing_is_drawn_twice_and_gold_never(campaign, alice):
    add_gold(
        campaign,
        alice,
        [
            {"image": q.item.image.name, "topic": q.topic, "answer": "yes"}
            for q in campaign.questions.all()[:1]
        ],
        replace=True,
    )
    draw(campaign, alice, 20)

    with pytest.raises(Conflict, match="Only 9 questions are left"):
        draw(campaign, alice, 10)
    draw(campaign, alice, 9)


def test_drawings_are_not_drawn(campaign, alice):
    campaign.kind = "boxes"

    with pytest.raises(Refusal, match="Add known boxes and parts yourself"):
        draw(campaign, alice, 1)


def test_an_annotator_of_a_question_does_not_make_it_gold(campaign, alice, charlie):
    answer_all(charlie, campaign, "yes")
    draw(campaign, alice, 3)

    assert auditing.next_for(charlie, campaign) is None
    assert auditing.next_for(alice, campaign) is not None


def test_the_night_draws_what_was_never_drawn_once_the_last_is_answered(settled, alice):
    assert auditing.draw_nightly(settled) == 0
    settled.nightly_audit = 15

    assert auditing.draw_nightly(settled) == 15
    assert auditing.draw_nightly(settled) == 0
    answer_drawn(settled, alice)
    assert auditing.draw_nightly(settled) == 15
    answer_drawn(settled, alice)
    assert auditing.draw_nightly(settled) == 10
    assert Audit.objects.values("question").distinct().count() == 40


def test_the_queries_do_not_grow_with_the_gold(campaign, alice, bob):
    counts = []
    for n in (2, 10):
        draw(campaign, alice, n, seed=n)
        answer_drawn(campaign, alice)
        counts.append(query_count(lambda: stated_errors.measure(campaign)))

    assert counts[0] == counts[1] <= 12


def test_settling_does_not_touch_a_drawn_question(campaign, alice):
    draw(campaign, alice, 5)
    settle(campaign, campaign.questions.filter(state="open"))

    assert len(answer_drawn(campaign, alice)) == 5
    assert stated_errors.measure(campaign).gold == 5
