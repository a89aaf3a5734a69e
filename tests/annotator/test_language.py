"""The reader's language on annotators' pages, English on researchers'."""

import pytest
from django.conf import settings

from tests.cases import for_each
from tests.clients import text_of

GERMAN = {"Accept-Language": "de-AT,de;q=0.9"}


@pytest.fixture
def as_german(client, alice):
    client.force_login(alice)
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "de"
    return client


def test_browser_says_the_language(client, db):
    for browser_language, language, words in (
        ("de-AT,de;q=0.9", "de", "Anmelden"),
        ("zh-CN", "zh-hans", "登录"),
        ("en-US", "en-gb", "Log in"),
        ("fr", "en-gb", "Log in"),
        ("", "en-gb", "Log in"),
    ):
        response = client.get("/accounts/login/", headers={"Accept-Language": browser_language})
        page = text_of(response)

        assert f'<html lang="{language}">' in page, browser_language
        assert f"<h1>{words}</h1>" in page
        assert response["Content-Language"] == language
        assert {"Accept-Language", "Cookie"} <= set(response["Vary"].split(", "))


def test_a_choice_is_kept_and_goes_before_the_browsers_language(client, db):
    response = client.post(
        "/language/", {"language": "zh-hans", "next": "/accounts/login/"}, headers=GERMAN
    )
    assert response["Location"] == "/accounts/login/"

    assert "登录" in text_of(client.get("/accounts/login/", headers=GERMAN))


@for_each("goal", ["https://elsewhere.example/", "//elsewhere.example", ""])
def test_choosing_leads_to_pages_of_this_site_alone(client, db, goal):
    response = client.post("/language/", {"language": "de", "next": goal})

    assert response["Location"] == "/"


def test_an_unknown_language_changes_nothing(client, db):
    client.post("/language/", {"language": "tlh", "next": "/accounts/login/"})

    assert settings.LANGUAGE_COOKIE_NAME not in client.cookies
    assert client.get("/language/").status_code == 405


def test_researchers_pages_are_english_and_offer_no_choice(as_german, coots):
    home, campaign = (text_of(as_german.get(path)) for path in ("/", "/campaigns/coots/"))

    assert '<html lang="de">' in home
    assert 'value="zh-hans"' in home
    assert '<html lang="en-gb">' in campaign
    assert 'value="zh-hans"' not in campaign
    assert "Startseite" not in campaign


def test_an_error_page_is_in_the_readers_language(as_german, client):
    assert "Nicht gefunden" in text_of(as_german.get("/no/such/page/"), 404)


def test_the_api_for_programs_is_english(as_german):
    missing = as_german.get("/api/v1/campaigns/no-such/").json()

    assert missing["errors"][0]["message"].isascii()
    assert "There is no" in missing["errors"][0]["message"]


def test_a_request_leaves_the_language_of_its_thread_alone(as_german):
    from django.utils import translation

    before = translation.get_language()
    text_of(as_german.get("/"))

    assert translation.get_language() == before


def test_scripts_get_their_translations_from_a_file_that_caches_may_keep(as_german, client):
    page = text_of(as_german.get("/"))
    address = page.split('<script src="')[1].split('"')[0]
    response = client.get(address)

    assert address.startswith("/language/de-")
    assert response["Content-Type"].startswith("text/javascript")
    assert "immutable" in response["Cache-Control"]
    assert "Vary" not in response or "Cookie" not in response["Vary"]
    assert "Alle Ihre Antworten sind gespeichert." in text_of(response)


def test_english_pages_load_no_translations(client, alice):
    client.force_login(alice)

    assert "/language/en" not in text_of(client.get("/"))
