"""Gold of boxes: of every step, told from the rest by nothing, and graded by what is known."""

from collections import Counter

import pytest

from labeling.assignment import claiming
from labeling.boxes.cleaning import holds
from labeling.errors import Conflict, Refusal
from labeling.follow_ups import asking
from labeling.kinds import KINDS, policies
from labeling.kinds.boxes import SIDES
from labeling.models import Gold, Question, Seat
from labeling.quality import box_gold, gold_results
from labeling.quality.box_gold import KnownPair
from labeling.quality.gold import add_gold, gold_from_settled
from tests import factories
from tests.cases import for_each
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A, B, box

pytestmark = pytest.mark.django_db
A_BOX, B_BOX = (2.0, 2.0, 22.0, 22.0), (30.0, 10.0, 50.0, 40.0)


def rows(*images, topic=DOG, boxes=(A, B)):
    return [
        {"image": image, "topic": topic, "answer": [list(box) for box in boxes]} for image in images
    ]


@pytest.fixture
def campaign(alice, dataset):
    return boxers.make(alice, dataset, images=1, topics=(DOG, CAT), policy={"gold_share": 0.5})


@pytest.fixture
def images(campaign, dataset):
    return [factories.make_image(dataset, f"gold-{number}.png").name for number in range(40)]


def known(number, boxes=((2.0, 2.0, 22.0, 22.0), (30.0, 10.0, 50.0, 40.0))):
    return KnownPair(1, f"{number}.png", DOG, 64, 48, tuple(boxes))


def test_a_pair_gives_a_question_of_every_step_of_which_a_person_gets_one(alice, campaign, images):
    assert add_gold(campaign, alice, rows(images[0])) == 3

    questions = Question.objects.filter(state="gold").order_by("pk")
    assert [question.step for question in questions] == ["draw", "check", "cover"]
    first = questions[0]
    assert [question.subject for question in questions] == [None, first.pk, first.pk]


def test_known_answers_are_balanced_and_shown_as_people_would():
    made = [gold for number in range(400) for gold in box_gold.make(known(number), proposals=True)]

    checks = [gold for gold in made if gold.step == "check"]
    assert 0.4 < sum(check.answer == "good" for check in checks) / len(checks) < 0.6
    assert set(Counter(check.content["came"] for check in checks)) == {
        "drawn",
        "clicked",
        "proposed",
    }
    covers = [gold for gold in made if gold.step == "cover"]
    assert 0.4 < sum(cover.answer == "complete" for cover in covers) / len(covers) < 0.6
    draws = [gold for gold in made if gold.step == "draw"]
    # First boxes, next ones where somebody has pointed, again after one was rejected, and none.
    assert {frozenset(gold.content) for gold in draws} == {
        frozenset(),
        frozenset({"boxes", "at"}),
        frozenset({"boxes", "rejected"}),
        frozenset({"boxes", "at", "rejected"}),
    }
    assert 0.05 < sum(draw.answer == "none" for draw in draws) / len(draws) < 0.15
    # Where somebody has pointed is in the object, and not its exact middle.
    aims = [gold.content["at"] for gold in draws if gold.answer != "none" and "at" in gold.content]
    assert all(any(holds(known_box, aim) for known_box in (A_BOX, B_BOX)) for aim in aims)
    assert sum(aim in ([12.0, 12.0], [40.0, 25.0]) for aim in aims) < len(aims) / 20
    # No box that is shown is exactly the known one.
    sides_of_boxes = [sides for gold in made for sides in gold.content.get("boxes", ())]
    assert sum(sides in (A, B) for sides in sides_of_boxes) < len(sides_of_boxes) / 100


def test_what_is_said_of_boxes_is_said_of_gold_too():
    """Boxes of people come with flags, and rejected ones with the sides that were pointed at: gold
    without either would be told from the rest."""
    edge = (0.0, 2.0, 22.0, 22.0)
    flags = {A_BOX: ("occluded",)}
    made = [
        gold
        for number in range(200)
        for gold in box_gold.make(
            KnownPair(1, f"{number}.png", DOG, 64, 48, (A_BOX, B_BOX, edge), flags), proposals=True
        )
    ]

    checks = [gold.content for gold in made if gold.step == "check"]
    flags_of_checks = {
        tuple(check.get("flags", ())) for check in checks if check["came"] != "proposed"
    }
    assert flags_of_checks == {(), ("occluded",), ("truncated",)}
    assert not any("flags" in check for check in checks if check["came"] == "proposed")
    rejected = [gold.content["rejected"] for gold in made if "rejected" in gold.content]
    assert {len(box["sides"]) for box in rejected} == {0, 1}
    # A side that is off is pointed at.
    assert {side for box in rejected for side in box["sides"]} == set(SIDES)


def test_one_instance_is_never_withheld_since_nobody_looks_where_no_box_stands():
    made = [gold for n in range(50) for gold in box_gold.make(known(n, [(2.0, 2.0, 22.0, 22.0)]))]

    assert {gold.answer for gold in made if gold.step == "cover"} == {"complete"}


@for_each(
    ("value", "answer", "right"),
    [
        (box(A), {"boxes": [A, B], "small": [False, False]}, True),
        (box([2, 2, 22, 17]), {"boxes": [A], "small": [False]}, True),
        (box([2, 2, 22, 15]), {"boxes": [A], "small": [False]}, False),
        (box([2, 2, 22, 15]), {"boxes": [A], "small": [True]}, True),
        (box([2, 2, 22, 13]), {"boxes": [A], "small": [True]}, False),
        ("none", {"boxes": [A], "small": [False]}, False),
        ("none", "none", True),
        (box(A), "none", False),
        ("good", "good", True),
        ("loose", "bad", True),
        ({"reason": "shifted", "sides": ["left"]}, "bad", True),
        ({"box": A, "flags": []}, "good", True),
        ("good", "bad", False),
        ("complete", "complete", True),
        ("complete", {"missing": [B]}, False),
        ({"missing": [[40, 20]]}, {"missing": [B]}, True),
        ({"missing": [[5, 5]]}, {"missing": [B]}, False),
        ({"missing": [[40, 20]]}, "complete", False),
    ],
)
def test_what_is_right(value, answer, right):
    kind = KINDS["boxes"]
    policy = policies.DEFAULTS | kind.policy_defaults

    assert kind.is_right(value, answer, policy) is right


def test_gold_is_mixed_in_only_where_it_looks_like_what_lies_beside_it(alice, campaign, images):
    """Nobody has drawn yet: a box to check would be seen to be gold, and so would one to draw with
    others around it."""
    add_gold(campaign, alice, rows(*images))
    bob = boxers.people(campaign, 1)[0]

    seats = claiming.next_page(bob, campaign, 2).seats
    for _ in range(15):
        questions = Question.objects.filter(pk__in=[seat.question_id for seat in seats])
        assert {(question.step, question.content) for question in questions} <= {("draw", None)}
        for seat in seats:
            boxers.answer(bob, seat, box(A))
        seats = claiming.next_page(bob, campaign, 2).seats


def test_gold_of_a_step_comes_once_others_have_it(alice, campaign, images):
    add_gold(campaign, alice, rows(*images))
    crowd = boxers.people(campaign)
    met = Counter()

    def says(question, person):
        if question.state == "gold":
            met[question.step] += 1
        if question.step == "draw":
            boxes = (question.content or {}).get("boxes", [])
            return box(B) if any(abs(sides[0] - A[0]) < 5 for sides in boxes) else box(A)
        return "good" if question.step == "check" else "complete"

    boxers.work(campaign, crowd, says)

    assert set(met) == {"draw", "check", "cover"}
    counted = gold_results.rights(campaign)
    assert sum(map(len, counted.values())) == sum(met.values())


def test_training_deals_every_step(alice, dataset):
    campaign = boxers.make(
        alice, dataset, policy={"training_questions": 6, "test_questions": 3, "test_pass": 0.5}
    )
    names = [factories.make_image(dataset, f"gold-{number}.png").name for number in range(20)]
    add_gold(campaign, alice, rows(*names))
    bob = boxers.people(campaign, 1)[0]
    steps = Counter()
    for _ in range(6):
        [seat] = boxers.train(bob, campaign)
        question = Question.objects.get(pk=seat.question_id)
        steps[question.step] += 1
        boxers.answer(bob, seat, boxers.right(question))

    assert steps == {"draw": 2, "check": 2, "cover": 2}


def test_a_complete_pair_becomes_gold_for_those_who_did_not_work_on_it(alice, campaign):
    crowd = boxers.people(campaign)

    def says(question, person):
        if question.step == "draw":
            return box(A)
        return "good" if question.step == "check" else "complete"

    boxers.work(campaign, crowd[:4], says)
    pair = campaign.questions.filter(topic=DOG, step="draw")

    made = gold_from_settled(campaign, alice, pair.values_list("pk", flat=True))

    assert made == 3
    assert gold_from_settled(campaign, alice, pair.values_list("pk", flat=True)) == 0
    gold = Question.objects.filter(state="gold").order_by("pk").first()
    barred = Seat.objects.filter(question=gold, state="barred")
    worked = set(
        Seat.objects.filter(question__topic=DOG, question__round__gte=0).values_list(
            "annotator", flat=True
        )
    )
    assert set(barred.values_list("annotator", flat=True)) == worked


@for_each(
    ("row", "message"),
    [
        ({"image": "x.png"}, "Row 1: pond has no image 'x.png'"),
        ({"answer": [[0, 0, 90, 10]]}, "Row 1: The box extends beyond the upright image"),
        ({"answer": [[9, 9, 9, 20]]}, "Row 1: The box has no area"),
        ({"answer": []}, "Row 1: give the boxes of all instances"),
        ({"answer": "good"}, "Row 1: give the boxes of all instances"),
        ({"topic": "n1"}, "such as 'n1'"),
    ],
)
def test_gold_that_does_not_fit_is_refused_and_nothing_is_made(
    alice, campaign, images, row, message
):
    [good] = rows(images[0])

    with pytest.raises(Refusal, match=message):
        add_gold(campaign, alice, [{**good, **row}])

    assert not Gold.objects.exists()


def test_what_is_asked_is_no_gold(alice, campaign, images):
    with pytest.raises(Conflict, match="is being asked"):
        add_gold(campaign, alice, rows("0.png"))
    add_gold(campaign, alice, rows(images[0]))
    with pytest.raises(Conflict, match="gold already"):
        add_gold(campaign, alice, rows(images[0]))


def test_a_pair_that_is_gold_is_not_asked_as_well(alice, campaign, images):
    # Whoever drew in its gold would draw in the same image again, and know.
    add_gold(campaign, alice, rows(images[0]))
    before = campaign.questions.count()

    with pytest.raises(Conflict, match=f"{DOG!r} of {images[0]!r} is gold"):
        asking.add_questions(campaign, [(images[1], DOG), (images[0], DOG)])
    with pytest.raises(Conflict, match="is gold"):
        boxers.proposals(campaign, {(images[0], DOG): [A]})

    assert campaign.questions.count() == before
    assert asking.add_questions(campaign, [(images[0], CAT)]).created == 1


def test_a_pair_that_became_gold_of_its_boxes_may_be_listed_again(alice, campaign):
    crowd = boxers.people(campaign)
    boxers.work(campaign, crowd, lambda question, _: "none" if question.step == "draw" else "good")
    done = campaign.questions.filter(topic=DOG)
    gold_from_settled(campaign, alice, list(done.values_list("pk", flat=True)))

    added = asking.add_questions(campaign, [("0.png", DOG), ("0.png", CAT)])

    assert (added.created, added.existing) == (0, 2)
