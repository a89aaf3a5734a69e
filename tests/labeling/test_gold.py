import pytest

from labeling import campaigns, quality
from labeling.errors import Conflict, Refusal
from labeling.gold import add_gold, gold_from_settled, retire_gold
from labeling.models import Assignment, Question
from tests import factories
from tests.labeling.crowd import COOT, answer_all


@pytest.fixture
def gold(coots, alice, dataset):
    """Four gold questions whose answer is yes."""
    for index in range(4):
        factories.make_image(dataset, f"gold/{index}.png")
    add_gold(
        coots,
        alice,
        [{"image": f"gold/{index}.png", "topic": COOT, "answer": "yes"} for index in range(4)],
    )
    return list(coots.questions.filter(state="gold"))


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
        campaigns.add_questions(coots, [("gold/0.png", COOT)])


def test_gold_answers_make_the_standing_and_no_consensus(coots, alice, bob, gold):
    campaigns.change_policy(coots, alice, {"gold_share": 0.5})
    coots.refresh_from_db()

    answer_all(bob, coots, "yes")

    standing = quality.standing(bob, coots)
    assert standing["total"] >= 1
    assert standing["right"] == standing["total"]
    assert not Question.objects.filter(state="gold", settlements__isnull=False).exists()


def test_gold_is_never_given_twice_to_one_person(coots, alice, bob, gold):
    campaigns.change_policy(coots, alice, {"gold_share": 0.5})
    coots.refresh_from_db()
    answer_all(bob, coots, "no")

    seats = [question.assignments.filter(annotator=bob).count() for question in gold]

    assert max(seats) == 1


def test_retired_gold_is_given_to_nobody(coots, alice, bob, gold):
    campaigns.change_policy(coots, alice, {"gold_share": 0.5})
    coots.refresh_from_db()
    for question in gold:
        retire_gold(coots, alice, question.pk, "the label was wrong")

    answer_all(bob, coots, "yes")

    assert quality.standing(bob, coots)["total"] == 0
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

    added = campaigns.add_questions(coots, [(gold[0].item.image.name, COOT)])

    assert added.created == 1
    assert quality.standing(alice, coots)["total"] == 0


def test_gold_that_was_retired_and_comes_again_is_not_given_twice(coots, alice, bob, gold):
    coots.policy.content["gold_share"] = 0.5
    coots.policy.save()
    answer_all(bob, coots, "yes")
    met = set(Assignment.objects.filter(question__in=gold).values_list("question", flat=True))
    assert met
    rows = []
    for question in gold:
        retire_gold(coots, alice, question.pk)
        rows.append({"image": question.item.image.name, "topic": COOT, "answer": "yes"})
    add_gold(coots, alice, rows)
    for index in range(6):
        factories.make_image(coots.dataset, f"more/{index}.png")
    campaigns.add_questions(coots, [(f"more/{index}.png", COOT) for index in range(6)])

    answer_all(bob, coots, "yes")

    seats = Assignment.objects.filter(annotator=bob, question__state="gold")
    images = list(seats.values_list("question__item", flat=True))
    assert len(images) == len(set(images))
