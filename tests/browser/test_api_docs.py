"""The page to browse the API works under the site's content security policy."""

import pytest

pytestmark = pytest.mark.browser


def test_the_api_can_be_browsed_and_tried_in_a_session(page, alice, site):
    errors: list[str] = []
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))

    page.goto(site("/api/docs/"))
    # Swagger draws the actions that are in view: those of the account are the first.
    page.locator(".opblock").first.wait_for()
    # A write, which a session may do only with its CSRF token.
    action = page.locator(".opblock-post", has_text="/api/v1/tokens/").first
    action.locator(".opblock-summary-control").click()
    action.locator(".try-out__btn").click()
    action.locator("button.execute").click()
    action.locator(".live-responses-table .response-col_status", has_text="201").wait_for()

    assert errors == []
    assert alice.auth_token_set.count() == 1
