"""A model that outlines parts, in a real browser: asked, taken, mended, refused; and away."""

import pytest

from labeling.assignment import claiming
from labeling.models import Answer, Draft, Proposal, Seat
from tests import factories
from tests.browser import drawing_hands as hands
from tests.browser.conftest import expect
from tests.labeling import prompted

pytest.importorskip("onnxruntime")
ASK, TAKE, REFUSE = "[data-do=tool-ask]", "[data-do=take-proposal]", "[data-do=refuse-proposal]"
PROPOSED = ".drawing-proposal[d^=M]"
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def campaign(alice, bob, dataset, tmp_path):
    campaign = prompted.campaign_of(alice, dataset, tmp_path, ask_half=False, count=1)
    factories.join(bob, campaign)
    claiming.next_page(bob, campaign)
    prompted.seat_of(bob, campaign)
    return campaign


@pytest.fixture
def page(browser_as, bob, campaign, site):
    page = browser_as(bob)
    hands.open_page(page, site)
    return page


def middle(page):
    return hands.at(page, tuple(prompted.MIDDLE[:2]))


def ask(page):
    hands.press(page, "4")
    page.mouse.click(*middle(page))
    expect(page.locator(PROPOSED)).to_be_visible()


def came(part="torso"):
    return Answer.objects.get().value["parts"][part]["came"]


def test_a_click_is_answered_by_an_outline_that_is_taken(page):
    ask(page)
    hands.press(page, "Enter")
    hands.expect_state(page, "torso", "drawn")
    hands.press(page, "2", "j", "2")
    hands.send(page, "Shift+Enter")

    assert (came()["how"], came()["edits"]) == ("taken", 0)
    assert came()["proposal"] == Proposal.objects.get().token
    assert not Draft.objects.exists()


def test_by_buttons_and_a_long_press_as_on_a_phone(page):
    page.click(ASK)
    page.mouse.click(*middle(page))
    page.click(REFUSE)
    expect(page.locator(PROPOSED)).to_have_count(0)

    x, y = middle(page)
    page.mouse.move(x - 5, y - 5)
    page.mouse.down()
    page.mouse.move(x + 60, y + 60, steps=4)
    page.mouse.up()
    expect(page.locator(PROPOSED)).to_be_visible()
    page.click(TAKE)

    hands.expect_state(page, "torso", "drawn")
    boxes = [row.prompts["box"] for row in Proposal.objects.order_by("pk")]
    assert boxes[0] is None
    assert boxes[-1] is not None


def test_points_beside_the_part_refine_it_and_backspace_takes_one_back(page):
    ask(page)
    first = page.locator(PROPOSED).get_attribute("d")
    page.keyboard.down("Alt")
    with page.expect_response("**/label/propose/"):
        page.mouse.click(*hands.at(page, (40, 30)))
    page.keyboard.up("Alt")
    page.mouse.click(*hands.at(page, (5, 5)), button="right")
    with page.expect_response("**/label/propose/"):
        hands.press(page, "Backspace")

    points = [row.prompts["points"] for row in Proposal.objects.order_by("pk")]
    assert points[0][0][2] == 1
    assert first
    hands.press(page, "Escape")
    expect(page.locator(PROPOSED)).to_have_count(0)
    hands.expect_state(page, "torso", "missing")


def test_another_tool_mends_what_is_proposed_and_a_draft_keeps_it(page, site):
    ask(page)
    hands.press(page, "e")
    hands.expect_state(page, "torso", "drawn")
    page.click("[data-choose=torso]")
    page.evaluate("document.querySelector('.drawing[tabindex]').focus()")
    hands.press(page, "n", "Enter", "ArrowLeft", "ArrowLeft", "ArrowLeft", "Enter")
    hands.wait_for_draft(page)
    hands.open_page(page, site)
    hands.expect_state(page, "torso", "drawn")
    hands.press(page, "j", "2", "j", "2")
    hands.send(page, "Shift+Enter")

    assert came()["edits"] >= 1
    assert came()["iou"] < 1


def test_all_of_it_by_keys(page):
    hands.press(page, "4")
    page.evaluate("document.querySelector('.drawing[tabindex]').focus()")
    hands.press(page, "ArrowRight", "Enter")
    expect(page.locator(PROPOSED)).to_be_visible()
    hands.press(page, "Enter")

    hands.expect_state(page, "torso", "drawn")


def test_a_model_that_is_away_is_a_sentence_and_hands_go_on(page):
    page.route("**/label/propose/", lambda route: route.abort())
    hands.press(page, "4")
    page.mouse.click(*middle(page))
    expect(page.locator("[data-announce]")).to_contain_text("Draw the part by hand")

    hands.press(page, "p")
    hands.draw(page, (24, 10), (50, 10), (50, 30), (24, 30))

    hands.expect_state(page, "torso", "drawn")


def test_what_is_proposed_moves_nothing_and_is_accessible(page, axe):
    stage = page.locator("[data-stage]").bounding_box()
    ask(page)

    assert page.locator("[data-stage]").bounding_box() == stage
    axe(page)


def test_a_proposal_that_waits_is_not_sent_over(page):
    ask(page)
    hands.press(page, "Shift+Enter")

    expect(page.locator("[data-announce]")).to_contain_text("First accept")
    assert not Answer.objects.exists()


def test_a_drawing_without_the_model_has_the_tool_off(browser_as, bob, campaign, site):
    seat = Seat.objects.get(annotator=bob)
    prompted.seat_of(bob, campaign, assisted=False)
    page = browser_as(bob)
    hands.open_page(page, site)

    expect(page.locator(ASK)).to_have_attribute("aria-disabled", "true")
    hands.press(page, "4")
    expect(page.locator("[data-announce]")).to_contain_text("without the model")
    page.mouse.click(*middle(page))
    assert not Proposal.objects.filter(assignment=seat).exists()
