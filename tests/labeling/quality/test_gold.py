import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.db import question_counts
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking
from labeling.graphs import store
from labeling.models import Answer, Question, Seat
from labeling.quality import gold_results, monitoring
from labeling.quality.gold import (
    add_gold,
    balance,
    conflicts,
    failing,
    failing_lately,
    gold_from_settled,
    note_failing,
    retire_failed,
    retire_gold,
)
from tests import factories
from tests.labeling import hierarchies
from tests.labeling.crowd import COOT, answer_all, give, make_gold, people


@pytest.fixture
def gold(coots, alice):
    """Four gold questions whose answer is yes."""
    return make_gold(coots, alice, ["yes"] * 4)


def test_gold_on_a_question_being_asked_is_refused_by_its_row(coots, alice):
    rows = [{"image": "coots/000.png", "topic": COOT, "answer": "yes"}]

    with pytest.raises(Conflict, match="Row 1"):
        add_gold(coots, alice, rows)

    assert not coots.questions.filter(state="gold").exists()


@pytest.mark.parametrize(
    "row",
    [
        {"image": "gone.png", "topic": COOT, "answer": "yes"},
        {"image": "coots/000.png", "topic": "n00000000", "answer": "yes"},
        {"image": "coots/000.png", "topic": COOT, "answer": "perhaps"},
    ],
)
def test_bad_gold_is_refused_and_nothing_is_added(coots, alice, dataset, row):
    factories.make_image(dataset, "ok.png")

    with pytest.raises(Refusal):
        add_gold(coots, alice, [{"image": "ok.png", "topic": COOT, "answer": "no"}, row])

    assert not coots.questions.filter(state="gold").exists()


def test_a_question_that_is_gold_cannot_be_asked_as_well(coots, gold):
    with pytest.raises(Conflict, match="gold"):
        asking.add_questions(coots, [(gold[0].item.image.name, COOT)])


def test_gold_answers_make_the_standing_and_no_consensus(coots, alice, bob, gold):
    lifecycle.change_policy(coots, alice, {"gold_share": 0.5})
    coots.refresh_from_db()

    answer_all(bob, coots, "yes")

    standings = gold_results.accuracy(bob, coots)
    assert standings.total >= 1
    assert standings.right == standings.total
    assert not Question.objects.filter(state="gold", settlements__isnull=False).exists()


def test_gold_is_never_given_twice_to_one_person(coots, alice, bob, gold):
    lifecycle.change_policy(coots, alice, {"gold_share": 0.5})
    coots.refresh_from_db()
    answer_all(bob, coots, "no")

    seats = [question.seats.filter(annotator=bob).count() for question in gold]

    assert max(seats) == 1


def test_retired_gold_is_given_to_nobody(coots, alice, bob, gold):
    lifecycle.change_policy(coots, alice, {"gold_share": 0.5})
    coots.refresh_from_db()
    for question in gold:
        retire_gold(coots, alice, question.pk, "the label was wrong")

    answer_all(bob, coots, "yes")

    assert gold_results.accuracy(bob, coots).total == 0
    assert coots.decisions.filter(kind="gold", content__has_key="retired").count() == 4


def test_promoted_gold_never_meets_those_who_answered_the_original(coots, alice, bob):
    people = [bob, *(factories.make_user(f"p{index}") for index in range(5))]
    for person in people[1:]:
        factories.join(person, coots)
    for person in people[:5]:
        answer_all(person, coots, "yes")
    settled = list(coots.questions.filter(state="settled").values_list("pk", flat=True))
    assert len(settled) == 6

    made = gold_from_settled(coots, alice, settled)

    assert made == 6
    assert gold_from_settled(coots, alice, settled) == 0
    subjects = set(coots.questions.filter(state="gold").values_list("subject", flat=True))
    assert subjects == set(settled)


def test_retired_gold_makes_way_for_the_question_itself(coots, alice, gold):
    retire_gold(coots, alice, gold[0].pk, "needed in earnest")

    added = asking.add_questions(coots, [(gold[0].item.image.name, COOT)])

    assert added.created == 1
    assert gold_results.accuracy(alice, coots).total == 0


def test_gold_that_was_retired_and_comes_again_is_not_given_twice(coots, alice, bob, gold):
    coots.policy.content["gold_share"] = 0.5
    coots.policy.save()
    answer_all(bob, coots, "yes")
    met = set(Seat.objects.filter(question__in=gold).values_list("question", flat=True))
    assert met
    rows = []
    for question in gold:
        retire_gold(coots, alice, question.pk)
        rows.append({"image": question.item.image.name, "topic": COOT, "answer": "yes"})
    add_gold(coots, alice, rows)
    for index in range(6):
        factories.make_image(coots.dataset, f"more/{index}.png")
    asking.add_questions(coots, [(f"more/{index}.png", COOT) for index in range(6)])

    answer_all(bob, coots, "yes")

    seats = Seat.objects.filter(annotator=bob, question__state="gold")
    images = list(seats.values_list("question__item", flat=True))
    assert len(images) == len(set(images))


def trusted(campaign, count, name="trusted"):
    """Annotators whom the sequential test has accepted."""
    users = people(campaign, count, name)
    campaign.memberships.filter(user__in=users).update(
        standing={"test": {"accepted": 1, "verdict": "accepted", "right": 20, "total": 20}}
    )
    return users


def test_gold_that_many_trusted_people_fail_is_retired_with_its_reason(coots, gold):
    crowd = trusted(coots, 5)
    for user in crowd[:3]:
        give(user, gold[:2], ["no", "yes"])
    for user in crowd[3:]:
        give(user, gold[:2], ["yes", "yes"])

    retired = retire_failed(coots)

    assert retired == [gold[0].pk]
    decision = coots.decisions.get(content__retired=gold[0].pk)
    assert decision.actor is None
    assert decision.reason.startswith("3 of 5 trusted people answered otherwise")
    assert retire_failed(coots) == []


def test_too_few_trusted_people_retire_no_gold(coots, gold):
    for user in trusted(coots, 4):
        give(user, gold[:1], ["no"])
    for user in people(coots, 6):
        give(user, gold[:1], ["no"])

    assert retire_failed(coots) == []
    [met] = failing(coots)
    assert (met.answered, met.failed, met.trusted, met.trusted_failed) == (10, 10, 4, 4)
    note_failing(coots)
    coots.refresh_from_db()
    assert coots.gold_failing == 1


def test_a_page_reads_the_latest_answers_to_gold_and_then_only_what_failed_in_them(
    coots, bob, charlie, gold, monkeypatch, django_assert_num_queries
):
    factories.join(charlie, coots)
    give(bob, gold, ["no", "no", "yes", "yes"])
    give(charlie, gold[1:], ["no", "no", "yes"])
    coots.refresh_from_db()

    with django_assert_num_queries(4):
        failing_rows = failing_lately(coots, 12)
    assert failing_rows == failing(coots)
    assert failing_lately(coots, 1) == failing_rows[:1]
    # Charlie's three answers are the latest: the first question was failed before them.
    monkeypatch.setattr("labeling.quality.gold.LATEST", 3)
    lately = {met.question_id: (met.answered, met.failed) for met in failing_lately(coots, 12)}
    assert lately == {gold[1].pk: (2, 2), gold[2].pk: (2, 1)}


def test_half_of_the_trusted_people_is_not_more_than_half(coots, gold):
    crowd = trusted(coots, 6)
    for user in crowd:
        give(user, gold[:1], ["no" if user in crowd[:3] else "yes"])

    assert retire_failed(coots) == []


def test_somebody_right_elsewhere_is_trusted_before_the_test_ends(coots, bob, gold):
    give(bob, gold[:1], ["no"])
    membership = coots.memberships.get(user=bob)

    for right, total, expected in [(20, 21, 1), (8, 21, 0)]:
        membership.standing = {
            "test": {"accepted": 0, "verdict": "undecided", "right": right, "total": total}
        }
        membership.save()
        assert failing(coots)[0].trusted == expected


def test_gold_failed_since_the_last_watch_is_not_taken_off_the_figures_of_that_watch(
    coots, bob, gold
):
    give(bob, gold[:2], ["yes", "yes"])
    monitoring.watch(coots, bob)
    give(bob, gold[2:3], ["no"])

    [met] = failing(coots)

    assert (met.question_id, met.failed, met.trusted) == (gold[2].pk, 1, 0)


def test_gold_answered_since_the_last_watch_leaves_the_figures_of_that_watch_whole(
    coots, bob, gold
):
    membership = coots.memberships.get(user=bob)
    membership.standing = {
        "test": {"accepted": 0, "verdict": "undecided", "right": 9, "total": 9},
        "at": timezone.now().isoformat(),
    }
    membership.save()
    give(bob, gold[:1], ["no"])

    # 9 of 9 is trusted, 8 of 8 is not: the lower ends are 0.701 and 0.676.
    assert failing(coots)[0].trusted == 1

    membership.standing["at"] = (timezone.now() + timedelta(minutes=1)).isoformat()
    membership.standing["test"]["right"] = 8
    membership.save()
    assert failing(coots)[0].trusted == 0


def test_an_answer_revised_since_the_last_watch_breaks_nothing(coots, bob, gold):
    [*_, seat] = give(bob, gold[:2], ["yes", "yes"])
    monitoring.watch(coots, bob)
    Answer.objects.create(id=uuid.uuid4(), assignment=seat, revision=1, value="no")

    assert [met.question_id for met in failing(coots)] == [gold[1].pk]


def test_answers_from_training_retire_no_gold(coots, gold):
    for user in trusted(coots, 6):
        give(user, gold[:1], ["no"], at=timezone.now() - timedelta(hours=1))

    assert failing(coots) == []


def test_retired_gold_counts_for_nobody(coots, alice, bob, gold):
    give(bob, gold[:3], ["no", "yes", "yes"])
    assert gold_results.accuracy(bob, coots).right == 2
    assert gold_results.accuracy(bob, coots).total == 3

    retire_gold(coots, alice, gold[0].pk)

    assert gold_results.accuracy(bob, coots).right == 2
    assert gold_results.accuracy(bob, coots).total == 2


def test_balance_counts_answers_and_names_classes_with_one(
    coots, alice, gold, django_assert_num_queries
):
    lifecycle.define_topics(coots, [{"key": "n1", "name": "a drake"}])
    make_gold(coots, alice, ["yes", "no", "no"], topic="n1")
    retire_gold(coots, alice, gold[0].pk)

    with django_assert_num_queries(1):
        counts = balance(coots)

    assert counts.total == 6
    assert counts.by_answer == {"no": 2, "yes": 4}
    assert counts.one_sided == [COOT]


def test_gold_decided_by_a_reviewer_says_so(coots, alice, bob):
    question = coots.questions.first()
    Question.objects.filter(pk=question.pk).update(state="settled", seats_free=0)
    question.settlements.create(policy=coots.policy, value="yes", reviewed=True)

    assert gold_from_settled(coots, alice, [question.pk]) == 1

    copy = coots.questions.get(state="gold")
    assert copy.gold.source == "decided by a reviewer"
    assert copy.gold.answer == "yes"
    assert copy.round == -1


GRAPH = {
    "name": "pond",
    "nodes": [
        {"id": "animal", "question": "an animal", "parents": []},
        {"id": "bird", "question": "a bird", "parents": ["animal"]},
        {"id": "coot", "question": "a coot", "parents": ["bird"], "class": "n02018207"},
        {"id": "cat", "question": "a cat", "parents": ["animal"], "class": "n02121620"},
    ],
}


@pytest.fixture
def graph_campaign(alice, dataset):
    """A hierarchical campaign about two photographs."""
    campaign = lifecycle.create(alice, name="pond", title="Pond", kind="hierarchy", dataset=dataset)
    store.define(campaign, alice, GRAPH)
    for name in ("a.png", "b.png"):
        factories.make_image(dataset, name)
    campaign.refresh_from_db()
    return campaign


def gold_rows(*values):
    return [{"image": image, "topic": node, "answer": answer} for image, node, answer in values]


def test_gold_that_contradicts_the_graph_is_refused_and_nothing_is_added(graph_campaign, alice):
    with pytest.raises(
        Refusal, match=r"a\.png: coot is yes, but animal, above it, is no"
    ) as caught:
        add_gold(
            graph_campaign,
            alice,
            gold_rows(
                ("b.png", "coot", "yes"), ("a.png", "coot", "yes"), ("a.png", "animal", "no")
            ),
        )

    assert caught.value.code == "gold_contradicts_graph"
    assert not graph_campaign.questions.exists()


def test_gold_that_contradicts_gold_which_stands_is_refused(graph_campaign, alice):
    add_gold(graph_campaign, alice, gold_rows(("a.png", "animal", "no")))

    with pytest.raises(Refusal, match="above it, is no"):
        add_gold(graph_campaign, alice, gold_rows(("a.png", "cat", "yes")))

    # What replaces the other in the same list can stand; so can another image, and too hard.
    add_gold(
        graph_campaign,
        alice,
        gold_rows(
            ("a.png", "cat", "yes"),
            ("a.png", "animal", "yes"),
            ("b.png", "coot", "hard"),
            ("b.png", "animal", "no"),
        ),
    )
    assert graph_campaign.questions.filter(state="gold").count() == 4


def test_gold_of_a_graph_is_given_out_with_its_questions(graph_campaign, alice):
    add_gold(graph_campaign, alice, gold_rows(("a.png", "animal", "yes")))

    assert graph_campaign.questions.get().graph_id == graph_campaign.graph_id


def test_gold_of_a_class_goes_to_the_question_that_asks_for_it(graph_campaign, alice):
    add_gold(graph_campaign, alice, gold_rows(("a.png", "n02121620", "yes")))

    assert graph_campaign.questions.get().topic == "cat"
    with pytest.raises(Refusal, match="n99999999"):
        add_gold(graph_campaign, alice, gold_rows(("a.png", "n99999999", "yes")))
    with pytest.raises(Refusal, match="above it, is no"):
        add_gold(graph_campaign, alice, gold_rows(("a.png", "animal", "no")))


def test_gold_that_a_changed_graph_contradicts_is_told(graph_campaign, alice):
    add_gold(graph_campaign, alice, gold_rows(("a.png", "cat", "no"), ("a.png", "coot", "yes")))
    assert conflicts(graph_campaign) == []
    nodes = [
        {**node, "parents": ["cat"]} if node["id"] == "bird" else node for node in GRAPH["nodes"]
    ]
    nodes[3] = {"id": "cat", "question": "a cat", "parents": ["animal"]}

    store.define(graph_campaign, alice, {"name": "pond", "nodes": nodes})

    [sentence] = conflicts(graph_campaign)
    assert "coot is yes, but cat, above it, is no" in sentence


def test_retired_gold_contradicts_nothing(graph_campaign, alice):
    add_gold(graph_campaign, alice, gold_rows(("a.png", "animal", "no")))
    retire_gold(graph_campaign, alice, graph_campaign.questions.get().pk)

    assert add_gold(graph_campaign, alice, gold_rows(("a.png", "cat", "yes"))) == 1


def test_gold_replaces_a_question_that_nobody_answered_or_holds(alice, bob, dataset, run_jobs):
    home = hierarchies.make(alice, dataset)
    factories.join(bob, home)
    row = {"image": "0.png", "topic": "animal", "answer": "yes"}

    with pytest.raises(Conflict, match="already exists"):
        add_gold(home, alice, [row])
    add_gold(home, alice, [row], replace=True)
    run_jobs()

    assert hierarchies.question(home, "animal").state == "gold"
    assert {"dog", "cat"} <= set(hierarchies.open_nodes(home))
    assert question_counts.differences(home.pk) == {}


def test_gold_replaces_no_question_that_somebody_holds_or_answered(alice, bob, dataset):
    home = hierarchies.make(alice, dataset, images=1)
    factories.join(bob, home)
    [seat, *_] = claiming.next_page(bob, home).seats
    row = {"image": "0.png", "topic": seat.topic, "answer": "no"}

    with pytest.raises(Conflict, match="already exists"):
        add_gold(home, alice, [row], replace=True)
    submitting.submit(bob, home, [submitting.SubmittedAnswer(uuid.uuid4(), seat.token, "no", 9)])
    with pytest.raises(Conflict, match="already exists"):
        add_gold(home, alice, [row], replace=True)
