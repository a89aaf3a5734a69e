"""Classes of candidates: what is stated of them, and when nobody is asked any more."""

import pytest

from evaluation.benchmarks import runs
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.consensus import calibrating, calibration_store
from labeling.consensus.calibration_store import CalibrationContent
from labeling.errors import Conflict, NotYours, Refusal
from labeling.estimators import precision
from labeling.estimators.vote_tables import VoteTable
from labeling.follow_ups import asking, candidate_lists
from labeling.jobs import queue
from labeling.models import Answer, Audit, Calibration, Job, Verification
from labeling.quality import auditing, class_figures, verifying
from tests import factories
from tests.labeling.candidates import CAT, DOG, make, rows, settle
from tests.labeling.crowd import answer, make_gold, query_count, vote

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("candidate_glossary")]
RULES = {"wanted": 2, "audited": 0, "precision": 0.997}


@pytest.fixture
def pets(alice, bob, dataset):
    """Six candidates of a cat, of which three are settled as it and one as none, and four of a
    dog, of which nothing is known. A class is done with two images."""
    candidates = [*rows(dataset, CAT, 6), *rows(dataset, DOG, 4)]
    campaign = make(alice, dataset, candidates, settings=RULES, cost_per_hour=36)
    factories.join(bob, campaign)
    cats = list(campaign.questions.filter(topic=CAT).order_by("pk"))
    settle(campaign, bob, cats[:3], "yes")
    settle(campaign, bob, cats[3:4], "no", ms=2_000)
    return campaign


def of(campaign, key=CAT):
    return Verification.objects.get(topic__campaign=campaign, topic__key=key)


def audit(campaign, user, value):
    """Answers an audit of as many settled yes as there are words, in the order of their ids."""
    yes = campaign.questions.filter(state="settled", settlements__value="yes").order_by("pk")
    for question, word in zip(yes, value, strict=False):
        settlement = question.settlements.latest("pk")
        row = Audit.objects.create(
            question=question, campaign=campaign, sample=1, settlement=settlement
        )
        auditing.answer(row, user, word)


def put_table(campaign, key, cells):
    """A calibration in force whose table of that class has these cells."""
    table = VoteTable(tuple(map(tuple, cells)), 10)
    content = CalibrationContent(tables={key: table.as_dict()})
    campaign.calibration = calibration_store.create(campaign.pk, content, "test")
    campaign.save(update_fields=["calibration"])


def states(campaign, key=CAT):
    return sorted(campaign.questions.filter(topic=key).values_list("state", flat=True))


def test_each_class_is_counted_by_itself_and_its_cost_follows_its_answers(pets):
    make_gold(pets, pets.created_by, ["yes"], topic=CAT)

    verifying.check_classes(pets)

    cat, dog = of(pets), of(pets, DOG)
    assert (cat.candidates, cat.asked, cat.yes, cat.no) == (6, 4, 3, 1)
    assert (dog.candidates, dog.asked, dog.yes, dog.no, dog.open) == (4, 0, 0, 0, 4)
    # 3 answers of a second and one of two, at 36 an hour.
    assert (cat.answers, cat.cost) == (4, pytest.approx(0.05))
    assert dog.precision is dog.by_table is None
    assert cat.looked_at is not None


def test_answers_to_gold_cost_their_class_and_count_as_no_candidate(pets, bob):
    make_gold(pets, pets.created_by, ["yes"], topic=DOG)
    gold = pets.questions.filter(state="gold").get()
    gold.seats.create(
        annotator=bob, subject=gold.pk, state="answered", leased_until=pets.opened_at, ordinal=1
    ).answers.create(id="0" * 31 + "1", value="yes", duration_ms=10_000)

    figures = class_figures.read(pets)[DOG]

    assert (figures.answers, figures.worked_ms, figures.candidates) == (1, 10_000, 4)


def test_what_is_stated_follows_the_table_of_the_class_in_force(pets):
    verifying.check_classes(pets)
    # Before there is a table, what the settlements state.
    assert of(pets).by_table == pytest.approx(0.999)

    put_table(pets, CAT, [[0.5, 0.1], [0.8]])
    verifying.check_classes(pets)

    cat = of(pets)
    assert (cat.by_table, cat.precision, cat.low) == (pytest.approx(0.8), None, None)
    assert cat.has_table
    assert not of(pets, DOG).has_table


def test_reviewers_are_believed_and_majorities_state_their_share(pets):
    first, second, third = pets.questions.filter(settlements__value="yes").order_by("pk")
    first.settlements.update(reviewed=True, probability=None)
    majority = lifecycle.change_policy(pets, pets.created_by, {"method": "majority", "votes": 3})
    second.settlements.update(policy=majority, probability=1.0)
    third.settlements.update(probability=0.9)

    figures = class_figures.read(pets)[CAT]

    assert figures.doubt == pytest.approx(0.1)


def test_an_audit_of_other_classes_moves_what_is_stated(pets, alice, bob):
    dogs = list(pets.questions.filter(topic=DOG))
    settle(pets, bob, dogs, "yes")
    audit(pets, alice, ["yes", "hard", "yes", "no"])

    verifying.check_classes(pets)

    cat, dog = of(pets), of(pets, DOG)
    # The fourth is of the dog; "too hard" says nothing.
    assert (cat.audited, cat.wrong, dog.audited, dog.wrong) == (2, 0, 1, 1)
    expected = precision.precisions(
        [precision.VerifiedClass(3, 0.003, 2, 0), precision.VerifiedClass(4, 0.004, 1, 1)]
    )
    assert (cat.precision, cat.low, cat.high) == pytest.approx(
        (expected[0].stated, *expected[0].interval)
    )
    assert dog.precision < cat.precision < cat.by_table


def test_only_settled_yes_count_as_audited_and_the_last_audit_of_a_question(pets, alice, charlie):
    factories.join(charlie, pets, "reviewer")
    audit(pets, alice, ["no"])
    audited = Audit.objects.get()
    again = Audit.objects.create(
        question=audited.question, campaign=pets, sample=2, settlement=audited.settlement
    )
    auditing.answer(again, charlie, "yes")

    figures = class_figures.read(pets)[CAT]
    assert (figures.audited, figures.wrong) == (1, 0)

    asking.withdraw_questions(pets, [], alice, "")
    pets.questions.filter(pk=audited.question_id).update(state="open")
    assert class_figures.read(pets)[CAT].audited == 0


def test_a_class_whose_precision_is_reached_is_stopped_and_the_others_go_on(pets):
    looked = verifying.check_classes(pets)

    assert looked.stopped == [CAT]
    cat = of(pets)
    assert (cat.state, cat.reason, cat.open, len(cat.withdrawn)) == ("stopped", "precision", 0, 2)
    assert states(pets) == ["settled"] * 4 + ["withdrawn"] * 2
    assert states(pets, DOG) == ["open"] * 4
    decision = pets.decisions.get(kind="class")
    assert decision.content["stopped"] == "precision"
    assert decision.actor is None
    assert "3 images at a stated precision of 99.90%" in decision.reason
    assert verifying.check_classes(pets).stopped == []


@pytest.mark.parametrize(
    ("rules", "stopped"),
    [
        ({"wanted": 4}, ""),
        ({"precision": 0.9995}, ""),
        ({"audited": 1}, ""),
        ({"budget": 0.04}, "money"),
        ({"budget": 0.06, "wanted": 4}, ""),
        ({"budget": 0.05, "precision": 0.9995}, "money"),
    ],
)
def test_the_rules_say_when_a_class_is_stopped(pets, alice, rules, stopped):
    lifecycle.change(pets, alice, settings=RULES | rules)

    verifying.check_classes(pets)

    assert of(pets).reason == stopped


def test_a_stop_waits_for_the_audit_that_the_rules_want(pets, alice):
    lifecycle.change(pets, alice, settings=RULES | {"audited": 3, "precision": 0.6})
    audit(pets, alice, ["yes", "yes"])
    assert verifying.check_classes(pets).stopped == []

    audit_third = pets.questions.filter(settlements__value="yes").order_by("pk")[2]
    row = Audit.objects.create(
        question=audit_third,
        campaign=pets,
        sample=2,
        settlement=audit_third.settlements.latest("pk"),
    )
    auditing.answer(row, alice, "yes")

    assert verifying.check_classes(pets).stopped == [CAT]


def test_resumed_questions_come_back_with_their_answers_and_the_rule_is_waived(pets, alice, bob):
    open_cat = pets.questions.filter(topic=CAT, state="open").first()
    factories.join(factories.make_user("eve"), pets)
    eve = pets.memberships.get(user__username="eve").user
    seats = [s for s in claiming.next_page(eve, pets, 9).seats if s.question_id == open_cat.pk]
    answer(eve, pets, seats)
    verifying.check_classes(pets)
    assert states(pets).count("withdrawn") == 2

    verifying.resume(pets, CAT, alice, "more of them")

    cat = of(pets)
    assert (cat.state, cat.reason, cat.waived, cat.withdrawn) == ("asking", "", "precision", [])
    assert states(pets).count("open") == cat.open == 2
    open_cat.refresh_from_db()
    # One of the two votes that the policy asks for is there.
    assert open_cat.seats_free == 1
    assert pets.decisions.filter(kind="class").latest("pk").content["resumed"] == 2
    assert verifying.check_classes(pets).stopped == []
    lifecycle.change(pets, alice, settings=RULES | {"budget": 0.001})
    assert verifying.check_classes(pets).stopped == [CAT]


def test_a_class_is_stopped_by_hand_and_the_rules_hold_once_it_is_resumed(pets, alice):
    row = verifying.stop(pets, DOG, alice, "wrong queries")

    assert (row.state, row.reason) == ("stopped", "hand")
    assert states(pets, DOG) == ["withdrawn"] * 4
    verifying.stop(pets, DOG, alice)
    row = verifying.resume(pets, DOG, alice)
    assert (row.state, row.waived) == ("asking", "")
    assert states(pets, DOG) == ["open"] * 4
    verifying.resume(pets, DOG, alice)
    reasons = pets.decisions.filter(kind="class").order_by("pk").values_list("reason", flat=True)
    assert list(reasons) == ["wrong queries", ""]


def test_what_a_researcher_withdrew_stays_withdrawn_when_a_class_is_resumed(pets, alice):
    question = pets.questions.filter(topic=DOG).first()
    asking.withdraw_questions(pets, [question.pk], alice, "a drawing")

    verifying.stop(pets, DOG, alice)
    verifying.resume(pets, DOG, alice)

    assert states(pets, DOG) == ["open"] * 3 + ["withdrawn"]


def test_answers_under_way_when_a_class_is_stopped_are_kept_as_late(pets, alice, bob):
    factories.join(factories.make_user("eve"), pets)
    eve = pets.memberships.get(user__username="eve").user
    seats = claiming.next_page(eve, pets, 20).seats

    verifying.stop(pets, seats[0].topic, alice)
    answer(eve, pets, seats)

    assert Answer.objects.filter(assignment__annotator=eve, late=True).count() == len(seats)
    assert {seat.topic for seat in claiming.next_page(eve, pets, 20).seats} != {seats[0].topic}


def test_candidates_that_come_to_a_stopped_class_wait_for_it(pets, alice, dataset):
    verifying.stop(pets, DOG, alice)
    candidate_lists.ask(pets, rows(dataset, DOG, 7))
    assert states(pets, DOG).count("open") == 3 + 4

    verifying.check_classes(pets)

    assert states(pets, DOG) == ["withdrawn"] * 7
    verifying.resume(pets, DOG, alice)
    assert states(pets, DOG) == ["open"] * 7


def test_a_stop_or_a_resumption_that_was_cut_short_is_finished_by_the_next_look(
    pets, alice, monkeypatch
):
    monkeypatch.setattr(verifying, "BATCH", 3)
    action = asking.withdraw_in_states
    monkeypatch.setattr(asking, "withdraw_in_states", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        verifying.stop(pets, DOG, alice)
    assert (of(pets, DOG).state, states(pets, DOG)) == ("stopped", ["open"] * 4)
    monkeypatch.setattr(asking, "withdraw_in_states", action)
    verifying.check_classes(pets)
    assert states(pets, DOG) == ["withdrawn"] * 4

    action = asking.reopen
    monkeypatch.setattr(asking, "reopen", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        verifying.resume(pets, DOG, alice)
    monkeypatch.setattr(asking, "reopen", action)
    verifying.check_classes(pets)
    assert states(pets, DOG) == ["open"] * 4
    assert of(pets, DOG).withdrawn == []


def test_other_campaigns_and_closed_ones_stop_no_class(pets, alice, dataset):
    contains = factories.make_campaign(alice, dataset, "coots", images=1)
    for action in (verifying.check_classes, verifying.enqueue_check):
        with pytest.raises(Refusal, match="has no candidates"):
            action(contains)
    with pytest.raises(NotYours):
        verifying.stop(pets, "n99", alice)

    lifecycle.change_state(pets, alice, "close")

    assert verifying.check_classes(pets).stopped == []
    assert of(pets).yes == 3
    for change in (verifying.stop, verifying.resume):
        with pytest.raises(Conflict, match="closed"):
            change(pets, CAT, alice)


def test_classes_are_looked_at_by_their_job_every_night_and_after_a_calibration_or_an_audit(
    pets, alice
):
    Job.objects.all().delete()
    runs.NIGHT_STEPS["calibrate"](pets)
    assert of(pets).state == "stopped"

    calibrating.enqueue_now(pets, alice)
    queue.run_all()
    assert Job.objects.get(kind="verify").state == "done"

    Job.objects.all().delete()
    auditing.draw(pets, alice, 2, seed=1)
    for _ in range(2):
        assert not Job.objects.filter(kind="verify").exists()
        auditing.answer(auditing.next_for(alice, pets), alice, "yes")
    assert Job.objects.filter(kind="verify", state="queued").count() == 1


def test_queries_do_not_grow_with_the_questions_of_a_chunk(pets, alice, bob, dataset):
    verifying.check_classes(pets)
    few = query_count(lambda: class_figures.read(pets))
    more = [row._replace(topic=DOG) for row in rows(dataset, CAT, 30)]
    candidate_lists.ask(pets, more)
    settle(pets, bob, list(pets.questions.filter(topic=DOG, state="open")), "yes")

    assert query_count(lambda: class_figures.read(pets)) == few


def test_a_pilot_gives_each_class_its_table_and_votes_then_count_by_it(alice, dataset):
    campaign = make(alice, dataset, rows(dataset, CAT, 8), target_error=0.1, page_size=50)
    people = [factories.make_user(f"p{number}") for number in range(10)]
    for person in people:
        factories.join(person, campaign)
    from labeling.quality import piloting

    piloting.ask_pilot(campaign, alice, 4, seed=0)
    policies = dict(campaign.questions.values_list("pk", "policy__version"))
    truth = {pk: "yes" if index % 2 else "no" for index, pk in enumerate(sorted(policies))}
    for person in people:
        vote(person, campaign, truth)
    calibrating.calibrate(campaign)

    verifying.check_classes(campaign)

    assert Calibration.objects.latest("pk").content["tables"].keys() == {CAT}
    row = of(campaign)
    assert row.has_table
    assert 0.9 < row.by_table <= 1
