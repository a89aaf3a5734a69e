"""Annotators' pages in other languages than English."""

import json

from labeling.models import Answer
from tests.browser.conftest import expect, let_pass


def test_a_language_is_chosen_before_logging_in(browser_as, site, looked_at, db):
    page = browser_as()
    page.goto(site("/accounts/login/"))
    page.get_by_role("button", name="Deutsch").click()

    expect(page.get_by_role("heading", name="Anmelden")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")
    looked_at(page, "login-de")
    page.get_by_role("button", name="简体中文").click()
    expect(page.get_by_role("heading", name="登录")).to_be_visible()


def test_the_menu_of_the_account_has_the_languages(browser_as, site, bob, cats, looked_at):
    page = browser_as(bob, locale="de-DE")
    page.goto(site("/"))
    page.locator(".user-menu summary").click()

    expect(page.get_by_role("button", name="Deutsch")).to_have_attribute("aria-current", "true")
    looked_at(page, "home-de")
    page.get_by_role("button", name="English").click()
    expect(page.get_by_role("heading", name="Hello, bob")).to_be_visible()


def test_scripts_speak_the_language_of_the_page(browser_as, site, bob, cats):
    page = browser_as(bob, locale="de-DE")
    page.goto(site("/campaigns/cats/label/"))

    expect(page.locator("[data-saved-words]")).to_have_text("Alles gespeichert")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Ist auf diesem Bild zu sehen:")
    page.locator("[data-stage] img:not([data-first])").wait_for()
    let_pass(page)
    with page.expect_response("**/label/answers/"):
        page.keyboard.press("y")
    assert list(Answer.objects.values_list("language", flat=True)) == ["de"]


def test_words_per_language_are_uploaded_and_read(browser_as, site, alice, bob, cats, looked_at):
    page = browser_as(alice)
    page.goto(site("/campaigns/cats/edit/"))
    page.get_by_role("link", name="Translations").click()
    content = {"de": {"title": "Katzen und Espresso", "classes": {"n02123045": "Tigerkatze"}}}
    file = {
        "name": "texts.json",
        "mimeType": "application/json",
        "buffer": json.dumps(content).encode(),
    }
    page.get_by_label("File of texts").set_input_files(file)
    page.get_by_role("button", name="Replace the texts").click()
    expect(page.get_by_role("cell", name="classes.n07920052")).to_be_visible()
    looked_at(page, "texts")

    label = browser_as(bob, locale="de-DE")
    label.goto(site("/campaigns/cats/label/"))
    expect(label.locator(".label-title")).to_have_text("Katzen und Espresso")
    looked_at(label, "label-de")
