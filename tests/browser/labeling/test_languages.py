"""Annotators' pages in other languages than English."""

from tests.browser.conftest import expect


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
