"""An image is flagged from the labeling page; a researcher answers; who flagged reads it."""

import pytest

from labeling.campaigns import lifecycle
from labeling.follow_ups import asking
from labeling.models import Answer, Flag, Question
from tests import factories
from tests.browser import box_hands as hands
from tests.browser.conftest import add_photographs, expect
from tests.browser.labeling.test_labeling import open_label

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

FLAG = "**/label/flag/"


def test_a_flag_survives_a_broken_network_and_is_answered(
    browser_as, alice, bob, coots, site, looked_at
):
    page = browser_as(bob)
    open_label(page, site)
    page.keyboard.press("!")
    page.get_by_label("What should the researchers know").fill("This is a drawing.")
    looked_at(page, "flag")
    page.route(FLAG, lambda route: route.abort())
    page.get_by_role("button", name="Send to the researchers").click()
    expect(page.get_by_role("alert")).to_contain_text("No connection")
    page.unroute(FLAG)
    page.get_by_role("button", name="Send to the researchers").click()
    expect(page.locator("#flag")).to_be_hidden()
    assert Flag.objects.get().note == "This is a drawing."

    desk = browser_as(alice)
    desk.goto(site("/campaigns/coots/"))
    desk.get_by_role("link", name="Open flags").click()
    looked_at(desk, "flags-researcher")
    desk.get_by_label("Your answer").fill("It is meant to be there.")
    desk.get_by_role("button", name="Answer the flag").click()
    expect(desk.get_by_role("heading", name="No open flags")).to_be_visible()

    page.goto(site("/"))
    page.get_by_role("link", name="A researcher answered your flag").click()
    expect(page.get_by_text("It is meant to be there.")).to_be_visible()
    looked_at(page, "flags-mine")
    page.goto(site("/"))
    expect(page.get_by_role("link", name="A researcher answered")).to_have_count(0)


def test_an_image_is_flagged_without_scripts(new_context, bob, coots, site):
    from tests.browser.conftest import log_in

    context = new_context(java_script_enabled=False)
    log_in(context, bob, site("/"))
    page = context.new_page()
    page.goto(site("/campaigns/coots/label/"))
    page.get_by_role("button", name="Flag this image").click()
    page.get_by_label("What should the researchers know").fill("Upside down.")
    page.get_by_role("button", name="Send to the researchers").click()
    expect(page.get_by_text("The researchers see your note")).to_be_visible()

    assert Flag.objects.get().note == "Upside down."


@pytest.mark.parametrize("step", ["draw", "check"])
def test_an_image_to_box_is_flagged_while_the_step_waits(
    browser_as, alice, bob, dataset, site, step
):
    add_photographs(dataset, "chelsea.png")
    campaign = lifecycle.create(
        alice, name="boxes", title="Cats, boxed", kind="boxes", dataset=dataset
    )
    lifecycle.define_topics(campaign, [{"key": "n02123045", "name": "tabby"}])
    asking.add_questions(campaign, [("chelsea.png", "n02123045")])
    lifecycle.launch(campaign, alice)
    factories.join(bob, campaign)
    if step == "check":
        content = {"number": 1, "boxes": [], "box": [110, 40, 330, 260], "flags": []}
        Question.objects.update(step=step, content=content)
    page = browser_as(bob)
    hands.open_page(page, site)

    page.get_by_role("button", name="Flag this image to the researchers").click()
    page.get_by_label("What should the researchers know").press_sequentially("A dog, not a cat!")
    page.get_by_role("button", name="Send to the researchers").click()

    expect(page.locator("#flag")).to_be_hidden()
    assert Flag.objects.get().note == "A dog, not a cat!"
    assert not Answer.objects.exists()
    if step == "draw":
        difficult = page.locator("[data-flag=difficult]:visible")
        expect(difficult).to_have_attribute("aria-pressed", "false")
