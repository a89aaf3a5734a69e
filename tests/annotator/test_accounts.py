"""Logging in: its limits, one login for site and administration, and what a new password ends."""

import re
from importlib import import_module
from unittest import mock

import pytest
from django.apps import apps
from django.conf import settings as project
from django.core import mail
from django.core.cache import caches
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.test import Client

from annotator import settings as defaults
from labeling.models import ApiToken, User
from labeling.quality import memberships
from labeling.web import tokens
from tests import factories
from tests.cases import for_each
from tests.clients import logged_in

LOGIN = "/accounts/login/"
LOCKED = "Too many failed login attempts"
NEW = "a-new-pass-phrase-9"
# One for all logins: making a client loads the whole middleware.
BROWSER = Client()


def log_in(username: str, password: str, address: str = "", proxied: str = ""):
    """What the login page answers to a fresh browser. proxied: X-Forwarded-For as it arrives."""
    headers = {"REMOTE_ADDR": address} if address else {}
    if proxied:
        headers["HTTP_X_FORWARDED_FOR"] = proxied
    BROWSER.cookies.clear()
    return BROWSER.post(LOGIN, {"login": username, "password": password}, **headers)


def is_in(response) -> bool:
    return response.status_code == 302 and response["Location"] == "/"


def fail(username: str, times: int, **where) -> None:
    for _ in range(times):
        response = log_in(username, "wrong", **where)
        assert response.status_code == 200
        assert LOCKED not in response.content.decode()


@pytest.fixture
def behind_proxy(settings):
    settings.ALLAUTH_TRUSTED_PROXY_COUNT = 1


def test_the_administration_sends_everybody_to_the_login_of_the_site(client, alice):
    alice.is_staff = True
    alice.save()
    form = {"username": "alice", "password": "password", "next": "/admin/"}

    page = client.get("/admin/", follow=True)
    posted = client.post("/admin/login/", form)

    assert page.redirect_chain[-1][0].startswith(LOGIN + "?next=")
    assert posted["Location"].startswith(LOGIN)
    assert "_auth_user_id" not in client.session


def test_a_login_on_the_way_to_the_administration_leads_there(client, alice):
    alice.is_staff = True
    alice.save()
    address = client.get("/admin/", follow=True).redirect_chain[-1][0]

    form = {"login": "alice", "password": "password", "next": "/admin/"}
    response = client.post(address, form, follow=True)

    assert response.redirect_chain[-1][0] == "/admin/"
    assert response.status_code == 200


def test_who_is_logged_in_but_no_staff_is_not_asked_to_log_in_again(client, bob):
    client.force_login(bob)

    assert client.get("/admin/login/").status_code == 403


def test_staff_change_their_password_where_everybody_does(client, alice):
    alice.is_staff = True
    alice.save()
    client.force_login(alice)

    response = client.get("/admin/password_change/")

    assert response["Location"] == "/accounts/password/change/"


def test_no_page_sends_people_to_a_mail_that_nobody_sends(client, bob):
    assert "/password/reset/" not in client.get(LOGIN).content.decode()
    client.force_login(bob)
    assert "/password/reset/" not in client.get("/accounts/password/change/").content.decode()


def test_five_failures_close_an_account_to_that_address_alone(bob):
    fail("bob", 5, address="192.0.2.1")

    again = log_in("bob", "password", address="192.0.2.1")

    assert LOCKED in again.content.decode()
    assert is_in(log_in("bob", "password", address="192.0.2.2"))


def test_tries_that_are_under_way_at_once_are_counted(bob, monkeypatch):
    reached = []

    def tried(request, **credentials):
        reached.append(credentials)
        # The next one comes before this one has an answer.
        log_in("bob", "wrong", address="192.0.2.1")

    monkeypatch.setattr("allauth.account.adapter.authenticate", tried)

    log_in("bob", "wrong", address="192.0.2.1")

    assert len(reached) == 5


def test_failures_for_one_account_leave_others_at_that_address_alone(bob, charlie):
    fail("bob", 5, address="192.0.2.1")

    assert is_in(log_in("charlie", "password", address="192.0.2.1"))


def test_case_makes_no_second_account(bob):
    fail("bob", 3, address="192.0.2.1")
    fail("BOB", 2, address="192.0.2.1")

    assert LOCKED in log_in("Bob", "password", address="192.0.2.1").content.decode()


def test_an_account_that_is_tried_from_many_addresses_closes_to_all(bob, settings):
    settings.ACCOUNT_RATE_LIMITS = {
        **settings.ACCOUNT_RATE_LIMITS,
        "login_failed_anywhere": "15/h/key",
    }
    for number in range(3):
        fail("bob", 5, address=f"192.0.2.{number}")

    assert LOCKED in log_in("bob", "password", address="203.0.113.9").content.decode()


def test_a_browser_that_logged_in_before_is_not_locked_out_by_strangers(bob, charlie, settings):
    settings.ACCOUNT_RATE_LIMITS = {
        **settings.ACCOUNT_RATE_LIMITS,
        "login_failed_anywhere": "5/h/key",
    }
    known, stranger = Client(REMOTE_ADDR="203.0.113.9"), Client(REMOTE_ADDR="203.0.113.9")
    form = {"login": "bob", "password": "password"}
    for client, username in ((known, "charlie"), (known, "bob"), (stranger, "charlie")):
        assert is_in(client.post(LOGIN, {"login": username, "password": "password"}))
        client.post("/accounts/logout/")
    fail("bob", 5, address="192.0.2.1")

    assert LOCKED in stranger.post(LOGIN, form).content.decode()
    assert is_in(known.post(LOGIN, form))
    known.post("/accounts/logout/")
    for number in range(5):
        known.post(LOGIN, form | {"password": "wrong"}, REMOTE_ADDR=f"198.51.100.{number}")
    assert LOCKED in known.post(LOGIN, form).content.decode()


def test_failed_logins_and_tokens_are_logged_with_user_and_address(bob, caplog, settings):
    caplog.set_level("INFO")
    log_in("bob\nforged", "wrong", address="192.0.2.1")
    client = logged_in(bob)
    made = client.post("/api/v1/tokens/", {"scope": "write"}, "application/json").json()
    client.delete(f"/api/v1/tokens/{made['key']}/")

    assert "login failed: user 'bob\\nforged' from 192.0.2.1" in caplog.text
    for event in ("made", "revoked"):
        assert f"token {made['key']} {event}: user {bob.pk} from 127.0.0.1" in caplog.text
    assert made["secret"] not in caplog.text


def test_a_token_revokes_itself_and_no_other(bob):
    first, secret = tokens.create_token(bob, scope="write")
    second, _ = tokens.create_token(bob)
    headers = {"Authorization": f"Bearer {secret}"}

    refused = Client().delete(f"/api/v1/tokens/{second.token_key}/", headers=headers)
    itself = Client().delete(f"/api/v1/tokens/{first.token_key}/", headers=headers)

    assert (refused.status_code, refused.json()["code"]) == (403, "session_needed")
    assert itself.status_code == 204
    assert list(ApiToken.objects.all()) == [second]


@pytest.mark.parametrize("typed", ["Bärbel", "BÄRBEL", "bärbel", "Ba\u0308rbel", "Ｂärbel"])
def test_usernames_are_compared_alike_on_every_database(db, typed):
    factories.make_user("Bärbel")

    assert is_in(log_in(typed, "password"))
    with pytest.raises(ValidationError, match="already exists"):
        User(username=typed, password="x").full_clean()
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(username=typed)


def test_a_name_of_another_case_is_taken_at_sign_up(client, coots, alice):
    factories.make_user("ÄRNE")
    _, secret = memberships.invite(coots, alice)
    client.get(f"/join/{secret}/")
    form = {"username": "ärne", "password1": NEW, "password2": NEW}

    response = client.post("/accounts/signup/", form)

    assert "username already exists" in response.content.decode()


def test_names_that_collided_before_log_in_by_their_exact_spelling_and_are_listed(db, capsys):
    older, newer = factories.make_user("Bob"), factories.make_user("charlie")
    User.objects.update(username_key=None)
    User.objects.filter(pk=newer.pk).update(username="bob")
    migration = import_module("labeling.migrations.0033_username_key")

    migration.set_keys(apps, None)

    assert "'Bob', 'bob'" in capsys.readouterr().out
    assert [User.objects.get_by_natural_key(name).pk for name in ("Bob", "bob", "BOB")] == [
        *(older.pk, newer.pk, older.pk)
    ]
    newer.refresh_from_db()
    newer.email = "bob@example.org"
    newer.save()
    assert newer.username_key is None
    newer.username = "robert"
    newer.save()
    assert User.objects.get_by_natural_key("Robert") == newer


def test_who_answered_is_switched_off_not_deleted(client, alice, bob, coots):
    alice.is_staff = alice.is_superuser = True
    alice.save()
    client.force_login(alice)

    page = client.get(f"/admin/labeling/user/{bob.pk}/delete/", follow=True).content.decode()

    assert "uncheck Active" in page


def test_a_form_that_is_too_old_links_to_its_page(bob):
    client = Client(enforce_csrf_checks=True)
    client.force_login(bob)
    for referer, link in (("http://testserver/accounts/login/?next=/x/", "?next=/x/"), ("", "/")):
        page = client.post("/language/", {"language": "de"}, headers={"Referer": referer})

        assert page.status_code == 403
        assert "This page is too old" in page.content.decode()
        assert f'{link}">Open the page again' in page.content.decode()


def test_one_address_alone_cannot_close_an_account_to_all():
    limits = {
        name: int(rate.split("/")[0]) / {"5m": 5 / 60, "h": 1}[rate.split("/")[1]]
        for name, rate in project.ACCOUNT_RATE_LIMITS.items()
        if name in ("login_failed_here", "login_failed_anywhere")
    }

    assert limits["login_failed_here"] < limits["login_failed_anywhere"]


def test_an_address_that_tries_many_accounts_is_stopped(bob):
    for number in range(30):
        fail(f"nobody{number}", 1, address="192.0.2.1")

    assert LOCKED in log_in("bob", "password", address="192.0.2.1").content.decode()
    assert is_in(log_in("bob", "password", address="192.0.2.2"))


def test_a_class_behind_one_router_logs_in_within_a_minute(db):
    for number in range(60):
        factories.make_user(f"pupil{number}")

    assert all(is_in(log_in(f"pupil{n}", "password", address="192.0.2.1")) for n in range(60))


def test_too_many_tries_get_a_page_of_the_site(bob, settings):
    settings.ACCOUNT_RATE_LIMITS = {**settings.ACCOUNT_RATE_LIMITS, "login": "1/m/ip"}
    log_in("bob", "password")

    response = log_in("bob", "password")

    assert response.status_code == 429
    assert "Wait a minute" in response.content.decode()
    assert "assay.css" in response.content.decode()


def test_behind_the_proxy_each_person_has_an_address(bob, behind_proxy):
    for number in range(30):
        fail(f"nobody{number}", 1, address="127.0.0.1", proxied="192.0.2.1")

    assert LOCKED in log_in("bob", "password", "127.0.0.1", "192.0.2.1").content.decode()
    assert is_in(log_in("bob", "password", "127.0.0.1", "192.0.2.2"))


def test_behind_the_proxy_what_a_client_claims_is_not_believed(bob, behind_proxy):
    for number in range(5):
        fail("bob", 1, address="127.0.0.1", proxied=f"203.0.113.{number}, 192.0.2.1")

    claimed = log_in("bob", "password", "127.0.0.1", "203.0.113.99, 192.0.2.1")

    assert LOCKED in claimed.content.decode()


def test_without_a_proxy_no_forwarded_address_is_believed(bob):
    for number in range(5):
        fail("bob", 1, address="192.0.2.1", proxied=f"203.0.113.{number}")

    assert LOCKED in log_in("bob", "password", "192.0.2.1", "203.0.113.99").content.decode()


@for_each(
    ("value", "trusted"),
    [
        ({}, 0),
        ({"ASSAY_HTTPS": "1"}, 1),
        ({"ASSAY_HTTPS": "1", "ASSAY_TRUSTED_PROXIES": "0"}, 0),
        ({"ASSAY_TRUSTED_PROXIES": "2"}, 2),
    ],
)
def test_trusted_proxies_come_from_the_environment(value, trusted, fresh_settings):
    settings = fresh_settings(value)

    assert trusted == settings.ALLAUTH_TRUSTED_PROXY_COUNT
    assert settings.REST_FRAMEWORK["NUM_PROXIES"] == trusted


def test_failures_are_counted_in_a_table_that_all_processes_share(bob, settings):
    settings.CACHES = {**settings.CACHES, "default": defaults.CACHES["default"]}
    fail("bob", 5, address="192.0.2.1")
    # What a second process has: a cache of its own that was never written to.
    settings.CACHES = {**settings.CACHES, "default": dict(defaults.CACHES["default"])}

    assert "DatabaseCache" in type(caches["default"]).__name__
    assert LOCKED in log_in("bob", "password", address="192.0.2.1").content.decode()
    assert is_in(log_in("bob", "password", address="192.0.2.2"))


def test_the_migrations_make_the_table_of_the_shared_cache(db):
    table = defaults.CACHES["default"]["LOCATION"]

    assert table in connection.introspection.table_names()


def test_redis_is_the_shared_cache_where_it_is_named(fresh_settings):
    cache = fresh_settings({"CACHE_URL": "redis://127.0.0.1:6379/1"}).CACHES["default"]

    assert cache["BACKEND"].endswith("RedisCache")
    assert cache["OPTIONS"]["socket_timeout"] <= 1
    assert cache["OPTIONS"]["socket_connect_timeout"] <= 1


def through_the_site(user) -> None:
    client = logged_in(user)
    form = {"oldpassword": "password", "password1": NEW, "password2": NEW}
    assert client.post("/accounts/password/change/", form).status_code == 302


def through_a_reset(user) -> None:
    user.email = "bob@example.org"
    user.save(update_fields=["email"])
    client = Client()
    client.post("/accounts/password/reset/", {"email": user.email})
    link = re.search(r"/accounts/password/reset/key/\S+", mail.outbox[-1].body)
    form = client.get(link[0], follow=True).redirect_chain[-1][0]
    assert client.post(form, {"password1": NEW, "password2": NEW}).status_code == 302


def as_administrator(user, **form) -> None:
    client = logged_in(factories.make_user("root", is_staff=True, is_superuser=True))
    address = f"/admin/labeling/user/{user.pk}/password/"
    assert client.post(address, form).status_code == 302


def through_the_administration(user) -> None:
    as_administrator(user, password1=NEW, password2=NEW, usable_password="true")


def by_command(user) -> None:
    with mock.patch("getpass.getpass", return_value=NEW):
        call_command("changepassword", user.username)


def in_code(user) -> None:
    user.set_password(NEW)
    user.save()


@pytest.mark.parametrize(
    "change", [through_the_site, through_a_reset, through_the_administration, by_command, in_code]
)
def test_a_new_password_ends_the_tokens(bob, alice, change):
    tokens.create_token(bob, "nightly")
    tokens.create_token(alice, "hers")

    change(bob)

    bob.refresh_from_db()
    assert bob.check_password(NEW)
    assert list(ApiToken.objects.values_list("user__username", flat=True)) == ["alice"]


def test_a_password_that_is_switched_off_ends_the_tokens(bob):
    tokens.create_token(bob, "nightly")

    as_administrator(bob, **{"usable_password": "false", "unset-password": "1"})

    bob.refresh_from_db()
    assert not bob.has_usable_password()
    assert not ApiToken.objects.exists()


def test_a_login_that_stores_the_password_under_a_newer_hash_keeps_the_tokens(bob, settings):
    tokens.create_token(bob, "nightly")
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "django.contrib.auth.hashers.MD5PasswordHasher",
    ]

    assert is_in(log_in("bob", "password"))

    bob.refresh_from_db()
    assert bob.password.startswith("pbkdf2")
    assert ApiToken.objects.exists()


def test_a_refused_change_of_password_keeps_the_tokens(client, bob):
    tokens.create_token(bob, "nightly")
    client.force_login(bob)

    form = {"oldpassword": "password", "password1": "12345", "password2": "12345"}
    assert client.post("/accounts/password/change/", form).status_code == 200

    assert ApiToken.objects.exists()
