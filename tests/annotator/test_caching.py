import pytest


def test_what_a_member_sees_stays_out_of_caches(client, alice, coots):
    client.force_login(alice)

    for path in ("/", "/campaigns/", "/campaigns/coots/", "/tokens/"):
        assert "no-store" in client.get(path).headers["Cache-Control"], path


@pytest.mark.parametrize("path", ["/accounts/logout/", "/admin/logout/"])
def test_logging_out_empties_the_browsers_cache(client, alice, path):
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    client.force_login(alice)

    assert "Clear-Site-Data" not in client.get("/").headers
    assert client.post(path).headers["Clear-Site-Data"] == '"cache"'


def test_a_page_for_nobody_is_left_alone(client, db):
    assert "Cache-Control" not in client.get("/").headers


def test_a_password_reset_without_a_mail_server_is_no_error(client, alice):
    alice.email = "alice@example.org"
    alice.save(update_fields=["email"])

    for address in ("alice@example.org", "nobody@example.org"):
        answer = client.post("/accounts/password/reset/", {"email": address})
        assert answer.status_code == 302, address
