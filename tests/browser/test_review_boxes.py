"""Boxes in review, in a real browser: all of a class drawn by a reviewer, single steps, boxes that
overlap; and the pair's history on the page of a question."""

import pytest

from labeling.follow_ups import chaining, following
from labeling.models import Item, Question
from tests import factories
from tests.browser import box_hands as hands
from tests.browser.conftest import add_photographs, expect
from tests.labeling import boxers
from tests.labeling.boxers import DOG, box

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# Of chelsea.png, 451 × 300.
HEAD, CORNER, SHIFTED = (
    [110.0, 40.0, 330.0, 260.0],
    [10.0, 200.0, 90.0, 290.0],
    [150.0, 60.0, 340.0, 270.0],
)
REVIEW = "/campaigns/boxes/review/"


@pytest.fixture
def campaign(alice, dataset):
    """One photograph whose box is rejected twice, which a reviewer must then look at."""
    add_photographs(dataset, "chelsea.png")

    def make(**policy):
        campaign = boxers.make(alice, dataset, images=0, policy={"most_draws": 2} | policy)
        boxers.asking.add_questions(campaign, [("chelsea.png", DOG)])
        boxers.lifecycle.launch(campaign, alice)
        return campaign

    return make


def reviewed(campaign, crowd, *values):
    boxers.settle(campaign, crowd, *values)
    return campaign.questions.get(state="review")


@pytest.fixture
def in_review(campaign):
    made = campaign()
    crowd = boxers.people(made, 6)
    first = [box(HEAD), "good", {"missing": [[40, 250]]}]
    loose = {"reason": "loose", "sides": ["left"]}
    return reviewed(made, crowd, *first, box(SHIFTED), loose, box([0, 0, 100, 290.0]), loose)


@pytest.fixture
def page(browser_as, alice):
    return browser_as(alice, reduced_motion="reduce")


def open_review(page, site):
    page.goto(site(REVIEW))
    page.wait_for_selector("[data-editor]:not([hidden])")


def chain_of(campaign):
    [pairs] = chaining.replay_pairs(campaign, Item.objects.values_list("pk", flat=True)).values()
    return pairs[DOG].chain


def test_a_reviewer_draws_every_box_and_says_that_it_is_all(page, site, in_review, looked_at):
    open_review(page, site)
    assert page.inner_text("[data-count]") == "1 box"
    looked_at(page, "boxes-review")
    hands.draw(page, CORNER)
    hands.press(page, "t")
    # The edge of the other is taken in hand and moved.
    hands.drag(page, (HEAD[2], 150), (HEAD[2] - 30, 150))
    assert page.get_attribute("[data-choose='0']", "aria-pressed") == "true"
    page.click("[data-verdict=complete]")
    page.wait_for_selector("text=Decided:")

    chain = chain_of(in_review.campaign)
    first, second = chain.boxes
    assert first.box == pytest.approx([110, 40, 300, 260], abs=1)
    assert second.box == pytest.approx(CORNER, abs=1)
    assert (second.flags, second.origin) == (("truncated",), "clicked")
    assert (chain.step, chain.coverage) == ("complete", "complete")


def test_what_is_drawn_survives_a_reload_and_is_undone(page, site, in_review):
    open_review(page, site)
    page.click("[data-do=way-drag]")
    hands.drag(page, CORNER[:2], CORNER[2:])
    page.click("[data-remove='0']")
    assert page.inner_text("[data-count]") == "1 box"

    page.reload()
    page.wait_for_selector("[data-editor]:not([hidden])")
    assert page.inner_text("[data-count]") == "1 box"
    hands.press(page, "Control+z", "Control+z")
    assert page.inner_text("[data-count]") == "1 box"
    hands.press(page, "Control+y")
    assert page.inner_text("[data-count]") == "2 boxes"


@pytest.mark.ci
def test_there_is_none_is_said_once_no_box_is_left_and_all_of_it_by_key(page, site, in_review):
    open_review(page, site)
    hands.press(page, "n")
    expect(page.locator("[data-announce]")).to_contain_text("Take the boxes away first")
    hands.press(page, "ArrowRight")
    page.click("[data-choose='0']")
    hands.press(page, "Backspace")
    hands.press(page, "n")
    page.wait_for_selector("text=Decided:")

    assert chain_of(in_review.campaign).coverage == "absent"


@pytest.mark.ci
def test_people_look_for_more_where_a_reviewer_says_so(page, site, in_review):
    open_review(page, site)
    hands.draw(page, CORNER)
    page.click("[data-verdict=look]")
    page.wait_for_selector("text=Decided:")
    following.advance(in_review.campaign)

    question = in_review.campaign.questions.get(state="open")
    assert question.step == "cover"
    assert len(question.content["boxes"]) == 2


@pytest.mark.ci
def test_the_history_tells_who_said_what(page, site, in_review, looked_at):
    page.goto(site(f"/campaigns/boxes/questions/{in_review.pk}/"))

    steps = page.locator(".pair-steps > li")
    assert steps.count() == in_review.campaign.questions.count()
    text = page.inner_text(".pair-steps")
    assert "Too loose: left" in text
    assert "1 missing" in text
    looked_at(page, "boxes-question")


def test_each_step_is_reviewed_by_its_own_answers(page, site, campaign, looked_at):
    made = campaign(review="all")
    crowd = boxers.people(made, 6)
    boxers.settle(made, crowd, box(HEAD))
    open_review(page, site)
    hands.drag(page, (HEAD[2], 150), (HEAD[2] - 30, 150))
    looked_at(page, "boxes-review-draw")
    page.click("[data-verdict='']")
    page.wait_for_selector("text=Decided:")
    following.advance(made)

    boxers.settle(made, crowd, "good")
    page.goto(site(REVIEW))
    page.wait_for_selector("text=Accept: Good")
    hands.press(page, "a")
    page.wait_for_selector("text=Accepted:")
    following.advance(made)

    boxers.settle(made, crowd, "complete")
    open_review(page, site)
    hands.click(page, (50, 250))
    page.click("[data-verdict='']")
    page.wait_for_selector("text=Decided:")
    following.advance(made)

    question = made.questions.get(state="open")
    assert question.content["at"] == pytest.approx([50, 250], abs=1)
    assert question.content["boxes"][0] == pytest.approx([110, 40, 300, 260], abs=1)


@pytest.mark.ci
def test_a_refused_drawing_goes_on_where_it_was(page, site, in_review):
    open_review(page, site)
    hands.draw(page, CORNER)
    page.evaluate("document.querySelector('[name=reason]').value = 'x'.repeat(600)")
    page.evaluate("document.querySelector('[name=reason]').removeAttribute('maxlength')")
    page.click("[data-verdict=complete]")
    page.wait_for_selector("[data-editor]:not([hidden])")

    assert page.inner_text("[data-count]") == "2 boxes"
    assert Question.objects.get(pk=in_review.pk).state == "review"


@pytest.mark.ci
def test_overlaps_are_decided_by_mouse_and_by_key(page, site, campaign, looked_at):
    made = campaign()
    crowd = boxers.people(made, 6)
    boxes = [HEAD, SHIFTED, CORNER]

    def says(question, person):
        left = [
            corners for corners in boxes if corners not in (question.content or {}).get("boxes", [])
        ]
        if question.step == "draw":
            return box(left[0])
        if question.step == "check":
            return "good"
        return {"missing": [[left[0][0] + 1, left[0][1] + 1]]} if left else "complete"

    boxers.work(made, crowd, says)
    page.goto(site("/campaigns/boxes/overlaps/"))
    page.wait_for_selector(".overlaps > li")
    looked_at(page, "boxes-overlaps")

    page.click("button[value=merge]")
    page.wait_for_selector("text=No boxes overlap")

    assert len(chain_of(made).boxes) == 2
    assert chain_of(made).boxes[0].box == pytest.approx([130, 50, 335, 265], abs=1)
    looked_at(page, "boxes-overlaps-none")


@pytest.mark.ci
def test_an_auditor_draws_what_stands_again_without_seeing_it(page, site, campaign, looked_at):
    made = campaign()
    crowd = boxers.people(made, 6)
    boxers.settle(made, crowd, box(HEAD), "good", "complete")
    page.goto(site("/campaigns/boxes/audit/"))
    page.fill("[name=n]", "1")
    page.click("text=Draw sample")
    page.wait_for_selector("[data-editor]:not([hidden])")
    assert page.locator(".boxes-standing").get_attribute("d") in (None, "")
    looked_at(page, "boxes-audit")
    hands.draw(page, HEAD)
    page.click("[data-verdict='']")
    page.wait_for_selector("text=All answered")

    audit = made.audits.get()
    assert hands.overlap(audit.value, HEAD) > 0.98
    page.click("text=See what it says")
    assert "all 1 0.0" in " ".join(page.inner_text("[aria-label='Error of boxes']").split())
    looked_at(page, "boxes-audited")


@pytest.mark.ci
def test_a_reviewer_who_is_no_researcher_decides_too(browser_as, site, in_review):
    rita = factories.make_user("rita")
    factories.join(rita, in_review.campaign, "reviewer")
    page = browser_as(rita)
    open_review(page, site)

    page.click("[data-verdict=partial]")
    page.wait_for_selector("text=Decided:")

    assert chain_of(in_review.campaign).coverage == "partial"
