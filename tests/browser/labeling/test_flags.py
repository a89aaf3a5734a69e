"""An image is flagged from the labeling page; a researcher answers; who flagged reads it."""

import pytest

from labeling.models import Flag
from tests.browser.conftest import expect
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
    desk.get_by_role("link", name="The flags").click()
    looked_at(desk, "flags-researcher")
    desk.get_by_label("Your answer").fill("It is meant to be there.")
    desk.get_by_role("button", name="Answer the flag").click()
    expect(desk.get_by_role("heading", name="No flag waits")).to_be_visible()

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
