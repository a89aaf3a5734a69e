"""The style guide shows every component in both themes, and nothing of it fails axe."""

import pytest
from django.urls import path

from annotator import urls
from annotator.pages import styleguide

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
urlpatterns = [path("styleguide/", styleguide.styleguide), *urls.urlpatterns]


@pytest.mark.urls(__name__)
def test_every_component_is_shown_in_both_themes(browser_as, site, looked_at):
    page = browser_as(None)
    page.goto(site("/styleguide/"))

    looked_at(page, "styleguide")
    grounds = [
        section.evaluate("element => getComputedStyle(element).backgroundColor")
        for section in page.locator(".guide-theme").all()
    ]
    assert grounds == ["rgb(250, 248, 243)", "rgb(20, 22, 26)"]
    assert page.locator(".guide-theme .icons li").count() > 40


def test_nobody_finds_it_outside_debug(client):
    assert client.get("/styleguide/").status_code == 404
