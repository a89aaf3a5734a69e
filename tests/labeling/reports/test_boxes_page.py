"""What the page of a campaign of boxes says follows from its answers."""

import pytest

from labeling.consensus import calibrating
from labeling.quality.gold import add_gold
from labeling.reports import boxes_page
from tests import factories
from tests.clients import logged_in, text_of
from tests.labeling import boxers
from tests.labeling.boxers import CAT, DOG, A, B, box

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(alice, dataset):
    """Two dogs in one image, and a cat of which nobody has looked for more."""
    made = boxers.make(alice, dataset, images=1, topics=(DOG, CAT), policy={"gold_share": 0})
    crowd = boxers.people(made)

    def says(question, person):
        if question.step == "check":
            return "good"
        boxed = (question.content or {}).get("boxes", [])
        if question.step == "draw":
            return box(B if boxed else A)
        if question.topic == CAT:
            return {"missing": [[1.0, 1.0]]} if len(boxed) < 2 else "complete"
        return "complete" if len(boxed) == 2 else {"missing": [[40.0, 20.0]]}

    boxers.work(made, crowd, says)
    calibrating.calibrate(made)
    made.refresh_from_db()
    return made


def test_pairs_boxes_and_steps_are_counted(campaign):
    figures = boxes_page.figures(campaign)

    assert {row.words: row.count for row in figures.pairs if row.count} == {
        "Every instance has a box": 2
    }
    assert figures.boxes == 4
    assert [(row.words, row.answers, row.each, row.seconds) for row in figures.steps] == [
        ("Draw", 4, 1.0, 1.0),
        ("Check", 8, 2.0, 1.0),
        ("Look for more", 4, 1.0, 1.0),
    ]
    # Each answer of these people takes a second.
    assert figures.seconds_per_box == 4.0
    assert [(row.pairs, row.done, row.boxes) for row in figures.classes] == [(1, 1, 2), (1, 1, 2)]
    assert figures.assisted == []


def test_planted_objects_and_gold_by_step(alice, dataset, campaign):
    names = [factories.make_image(dataset, f"gold-{number}.png").name for number in range(12)]
    answer = [list(A), list(B)]
    add_gold(campaign, alice, [{"image": name, "topic": DOG, "answer": answer} for name in names])
    [bob] = boxers.people(campaign, 1, "late")
    planted = right = 0
    for seat in boxers.seat_all_gold(bob, campaign):
        question = seat.question
        known = question.gold.answer
        if question.step == "cover" and known != "complete":
            planted += 1
            value = boxers.right(question) if planted % 2 else "complete"
            right += planted % 2
        else:
            value = boxers.right(question)
        boxers.answer_seat(bob, seat, value)

    calibrating.calibrate(campaign)
    campaign.refresh_from_db()

    figures = boxes_page.figures(campaign)
    assert (figures.planted.count, figures.planted.total) == (right, planted)
    assert sum(row.gold.total for row in figures.steps) == 12
    content = campaign.calibration.content
    assert content["annotators"][str(bob.pk)]["sigma"] < 0.03


def test_the_page_and_its_table(alice, campaign):
    page = logged_in(alice).get(f"/campaigns/{campaign.name}/boxes/")
    campaign.topics.filter(key=CAT).update(name="=1+1")
    table = logged_in(alice).get(f"/campaigns/{campaign.name}/boxes/?csv=1")

    assert "seconds per finished box" in text_of(page)
    assert table.content.decode().splitlines() == [
        "class,pairs,done,boxes,proposals,accepted,low,high",
        f"{DOG},1,1,2,0,0,,",
        # What a spreadsheet would run.
        "'=1+1,1,1,2,0,0,,",
    ]


def test_before_anything_was_learned_the_page_says_when_it_comes(alice, dataset):
    campaign = boxers.make(alice, dataset)

    assert "No figures yet" in text_of(logged_in(alice).get("/campaigns/boxes/boxes/"))
    assert boxes_page.figures(campaign) is None


def test_proposals_are_compared_with_pairs_that_show_none(alice, dataset):
    campaign = boxers.make(alice, dataset, images=0)
    names = [factories.make_image(dataset, f"{number}.png").name for number in range(30)]
    boxers.proposals(campaign, {(name, DOG): [A] for name in names})
    from labeling.campaigns import lifecycle

    lifecycle.launch(campaign, alice)
    crowd = boxers.people(campaign)
    steps = {"draw": box(A), "check": "good", "cover": "complete"}
    boxers.work(campaign, crowd, lambda question, person: steps[question.step])
    calibrating.calibrate(campaign)
    campaign.refresh_from_db()

    figures = boxes_page.figures(campaign)
    with_proposals, none = figures.assisted
    assert with_proposals.pairs + none.pairs == 30
    # Two checks and a look for more, beside a drawing as well.
    assert (with_proposals.seconds_per_box, none.seconds_per_box) == (3.0, 4.0)
    [row] = figures.classes
    assert (row.accepted.count, row.accepted.total, row.uses_proposals) == (
        with_proposals.pairs,
        with_proposals.pairs,
        True,
    )
