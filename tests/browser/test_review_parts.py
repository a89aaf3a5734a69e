"""Drawings in review, in a real browser: accepted, corrected and sent back by key, and how far
people agree."""

import uuid

import pytest
from shapely import Polygon

from labeling.answers import submitting
from labeling.assignment import claiming
from labeling.campaigns import lifecycle
from labeling.datasets import objects, vocabulary_store
from labeling.exchange import part_campaigns
from labeling.models import Question, SentBack
from labeling.parts.model import Part, PartedObject
from tests import factories
from tests.browser import drawing_hands as hands
from tests.browser.conftest import add_photographs
from tests.labeling.parted import CAT, VOCABULARY, drawn

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HEAD = ((((120, 60), (180, 20), (260, 30), (300, 90), (280, 200), (190, 240), (130, 190)),),)
TORSO = ((((10, 180), (120, 190), (190, 240), (260, 215), (280, 295), (20, 295)),),)
LATER = ((((20, 190), (120, 200), (190, 245), (250, 225), (270, 290), (30, 290)),),)
NOTE = "The torso goes on to the left."


def send(person, campaign, value, question=None):
    seats = claiming.next_page(person, campaign).seats
    seat = next(s for s in seats if question is None or s.question_id == question.pk)
    sent = submitting.SubmittedAnswer(uuid.uuid4(), seat.token, value, 95_000)
    assert submitting.submit(person, campaign, [sent])[0].status == "accepted"
    return Question.objects.get(pk=seat.question_id)


def chelsea(alice, dataset, **policy):
    """A campaign on two photographs of a cat, of which the import knows the head."""
    add_photographs(dataset, "chelsea.png", "coffee.png")
    vocabulary_store.add_version(dataset, VOCABULARY, alice)
    cats = [
        PartedObject(name, CAT, (5, 5, 440, 298), parts=(Part("head", HEAD),))
        for name in ("chelsea.png", "coffee.png")
    ]
    objects.put(dataset, cats, "the importer", words={CAT: "cat"})
    return part_campaigns.draft(
        alice, dataset, name="cats", title="Parts of cats", policy={"gold_share": 0} | policy
    )


@pytest.fixture
def opened(alice, dataset):
    def make(**policy):
        campaign = chelsea(alice, dataset, **policy)
        lifecycle.launch(campaign, alice)
        return campaign

    return make


@pytest.fixture
def reviewed(browser_as, bob, opened):
    """Opens a campaign with Bob's drawings of these; it and Rita's page, who reviews them."""
    campaign, rita = opened(), factories.make_user("rita")
    factories.join(rita, campaign, "reviewer")
    factories.join(bob, campaign)

    def make(*values):
        return [send(bob, campaign, value) for value in values], browser_as(rita)

    return make


def test_a_reviewer_accepts_sends_back_and_goes_on_by_key(
    browser_as, bob, reviewed, site, looked_at
):
    drawings = [drawn(torso=torso, leg="occluded", tail="not_visible") for torso in (TORSO, LATER)]
    questions, page = reviewed(*drawings)
    page.goto(site("/campaigns/cats/review/"))
    looked_at(page, "review-parts")
    first, second = sorted(questions, key=lambda question: question.pk)

    page.keyboard.press("n")
    page.wait_for_url("**?after=*")
    page.keyboard.press("a")
    page.wait_for_selector("text=Accepted:")
    second.refresh_from_db()
    assert second.state == "settled"

    page.keyboard.press("b")
    page.keyboard.type(NOTE)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("text=Sent back:")
    page.wait_for_selector("text=Nothing waits for review")

    assert SentBack.objects.get().note == NOTE
    first.refresh_from_db()
    assert first.state == "open"
    theirs = browser_as(bob)
    theirs.goto(site("/campaigns/cats/label/"))
    theirs.wait_for_selector(f"text={NOTE}")


@pytest.mark.ci
def test_a_note_is_asked_for(reviewed, site):
    _, page = reviewed(drawn(torso=TORSO))
    page.goto(site("/campaigns/cats/review/"))

    page.click("[data-send-back]")

    page.wait_for_selector("text=Say what to correct")
    assert not SentBack.objects.exists()


def test_a_reviewer_corrects_with_the_engine(reviewed, site, looked_at):
    [question], page = reviewed(drawn(torso=TORSO, leg="occluded", tail="not_visible"))
    page.goto(site("/campaigns/cats/review/"))

    page.keyboard.press("c")
    page.wait_for_selector("[data-editor] .drawing")
    looked_at(page, "review-parts-correct")
    page.click("[data-choose=tail]")
    page.click("[data-state=drawn]")
    hands.draw(page, (200, 250), (360, 210), (350, 280))
    page.keyboard.press("Shift+Enter")
    assert page.inner_text("[data-overlap-pairs]") == "torso and tail"
    looked_at(page, "review-parts-overlap")
    page.click("#incomplete header [data-close]")
    page.click("[data-choose=torso]")
    page.click("[data-do=overlap]")
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("text=Decided:")

    question.refresh_from_db()
    value = question.settlements.latest("pk").value
    assert question.state == "settled"
    assert value["parts"]["leg"] == {"state": "occluded"}
    [[torso]], [[tail]] = (value["parts"][key]["polygons"] for key in ("torso", "tail"))
    assert Polygon(torso).symmetric_difference(Polygon(TORSO[0][0])).area < 5
    assert Polygon(torso).intersection(Polygon(tail)).area < 5
    assert hands.near([corner for corner in tail if corner[0] > 300], [(360, 210), (350, 280)])


@pytest.mark.ci
def test_a_correction_survives_a_reload_and_leaving_it_forgets_it(reviewed, site):
    _, page = reviewed(drawn(torso=TORSO))
    page.goto(site("/campaigns/cats/review/"))
    page.keyboard.press("c")
    page.wait_for_selector("[data-editor] .drawing")
    page.click("[data-choose=leg]")
    page.keyboard.press("3")
    hands.expect_state(page, "leg", "occluded")

    page.reload()
    page.keyboard.press("c")
    page.wait_for_selector("[data-editor] .drawing")
    hands.expect_state(page, "leg", "occluded")
    page.keyboard.press("Shift+Escape")
    page.wait_for_selector("[data-review]")
    page.keyboard.press("c")

    page.wait_for_selector("[data-editor] .drawing")
    hands.expect_state(page, "leg", "missing")


@pytest.mark.ci
def test_several_drawings_are_compared(page, bob, opened, site, looked_at):
    campaign = opened(votes=2, agree_iou=0.3)
    dora = factories.make_user("dora")
    for person in (bob, dora):
        factories.join(person, campaign)
    question = send(bob, campaign, drawn(torso=TORSO, leg="occluded"))
    send(dora, campaign, drawn(torso=LATER, leg="not_visible"), question)
    zoe = factories.make_user("zoe")
    factories.join(zoe, campaign)
    send(zoe, campaign, drawn(torso=TORSO, leg="occluded"), question)
    page.goto(site("/campaigns/cats/review/"))

    page.keyboard.press("2")
    page.keyboard.press("3")
    assert page.locator(".person:not(.off)").count() == 2
    looked_at(page, "review-parts-several")
    page.click("[data-correct]")
    page.wait_for_selector("[data-editor] .drawing")
    page.keyboard.press("Shift+Escape")
    page.locator(".whose input[type=checkbox]").first.uncheck()
    page.fill("#id_note", NOTE)
    page.click("[data-send-back]")
    page.wait_for_selector("text=Sent back:")
    assert SentBack.objects.count() == 2

    page.goto(site("/campaigns/cats/agreement/"))
    looked_at(page, "agreement-parts")
    page.click("table.agreement a >> nth=0")
    page.wait_for_selector("text=Sent back")
    looked_at(page, "question-parts")


def test_a_researcher_draws_gold_and_is_told_what_is_wrong(
    page, bob, opened, site, looked_at, dataset
):
    campaign = opened()
    free = PartedObject("coffee.png", CAT, (100, 100, 300, 300), name="spare")
    objects.put(dataset, [free], "somebody")
    item = objects.in_dataset(dataset).get(name="spare")
    page.goto(site("/campaigns/cats/gold/add/"))
    looked_at(page, "gold-parts-objects")
    page.click("text=spare")
    page.wait_for_selector("[data-editor] .drawing")
    looked_at(page, "gold-parts-draw")

    page.click("[data-choose=tail]")
    hands.draw(page, (150, 150), (200, 150), (200, 200))
    page.click("[data-choose=leg]")
    page.keyboard.press("2")
    page.keyboard.press("Shift+Enter")
    page.wait_for_selector("text=is gold now")
    looked_at(page, "gold-parts")

    [gold] = [question.gold for question in campaign.questions.filter(item=item)]
    assert gold.answer["parts"]["leg"] == {"state": "not_visible"}
    [[ring]] = gold.answer["parts"]["tail"]["polygons"]
    assert hands.near(ring, [(150, 150), (200, 150), (200, 200)])
    page.click("tbody a:has-text('spare')")
    page.wait_for_selector("[data-editor] .drawing")
    hands.expect_state(page, "tail", "drawn")
