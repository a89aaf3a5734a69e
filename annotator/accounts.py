"""Accounts: sign-up by invitation only, and rate limits for failed logins."""

import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal import ratelimit
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core import signing
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext

from labeling.errors import Refusal
from labeling.models import Invitation, Membership, User, canonical_username
from labeling.quality import memberships

logger = logging.getLogger(__name__)

INVITATION_KEY = "invitation"
# Lifetime of the cookie of known accounts, and how many accounts it holds.
DEVICE_COOKIE, DEVICE_SECONDS, DEVICE_ACCOUNTS = "device", 365 * 24 * 3600, 10


class LoginRequired(LoginRequiredMiddleware):
    """Redirects visitors to the login, except from the admin, which checks staff itself, and from
    views marked login_not_required.

    Unlike Django's, it reads no session for those, so that caches may keep their responses.
    """

    def process_view(
        self,
        request: HttpRequest,
        view_func: Callable[..., HttpResponseBase],
        view_args: tuple[object, ...],
        view_kwargs: dict[str, object],
    ) -> HttpResponseBase | None:
        in_admin = request.resolver_match and request.resolver_match.app_name == "admin"
        if in_admin or not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)


def person(request: HttpRequest) -> User:
    """Return the logged-in user, in a view that requires login."""
    user = request.user
    assert isinstance(user, User)
    return user


def remember(request: HttpRequest, secret: str) -> None:
    """Keep an invitation's secret while the person signs up or logs in."""
    request.session[INVITATION_KEY] = secret


def forget(request: HttpRequest) -> None:
    request.session.pop(INVITATION_KEY, None)


def remembered_invitation(request: HttpRequest) -> Invitation | None:
    """Return the invitation that brought this visitor here, as long as it is valid."""
    return memberships.find_invitation(request.session.get(INVITATION_KEY, ""))


def join(request: HttpRequest, secret: str) -> Membership:
    """Join the logged-in user by the invitation and return the membership; add a message for the
    next page.

    Raises Refusal with the reason if the invitation cannot be used.
    """
    membership = memberships.accept(secret, person(request))
    forget(request)
    greeting = {
        Membership.Role.RESEARCHER: gettext("You joined “%(title)s” as researcher."),
        Membership.Role.REVIEWER: gettext("You joined “%(title)s” as reviewer."),
        Membership.Role.ANNOTATOR: gettext("You joined “%(title)s” as annotator."),
    }[Membership.Role(membership.role)]
    messages.success(request, greeting % {"title": membership.campaign.title})
    return membership


class InvitationOnlyAdapter(DefaultAccountAdapter):
    """allauth adapter that requires an invitation to sign up.

    allauth counts failed logins by address. This adapter also counts them by account, both per
    address and over all addresses; ACCOUNT_RATE_LIMITS has the limits. A browser that has logged in
    to the account before has its own counter instead of the overall one, so that strangers cannot
    lock it out.
    """

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return remembered_invitation(request) is not None

    def clean_username(self, username: str, shallow: bool = False) -> str:
        name: str = super().clean_username(username, shallow)
        if not shallow and User.objects.filter(username_key=canonical_username(name)).exists():
            raise self.validation_error("username_taken")
        return name

    def post_login(
        self, request: HttpRequest, user: User, *, signup: bool, **kwargs: Any
    ) -> HttpResponse:
        """Join new users by the invitation they signed up with.

        Existing users are asked first: they may be logged in to another account than they think.
        """
        response: HttpResponse = super().post_login(request, user, signup=signup, **kwargs)
        _remember_device(request, response, user)
        secret = request.session.get(INVITATION_KEY)
        if not (signup and secret):
            return response
        try:
            join(request, secret)
        except Refusal:
            # The invitation's page gives the reason, so redirect there.
            return response
        return redirect("home")

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return self._join_url(request) or super().get_login_redirect_url(request)

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return self._join_url(request) or super().get_signup_redirect_url(request)

    def _join_url(self, request: HttpRequest) -> str | None:
        secret = request.session.get(INVITATION_KEY)
        return reverse("join", args=[secret]) if secret else None

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count the attempt as failed until it succeeds; otherwise simultaneous attempts would all
        pass.

        Raises ValidationError if the address or the account has too many failures.
        """
        super().pre_authenticate(request, **credentials)
        self._failures = []
        for action, key in self._failure_counters(request, credentials):
            failure = ratelimit.consume(request, app="allauth.account", action=action, key=key)
            if not failure:
                self._rollback_login_failed_rl_usage()
                _log_failure(f"refused ({action})", request, credentials)
                raise self.validation_error("too_many_login_attempts")
            self._failures.append(failure)

    def _rollback_login_failed_rl_usage(self) -> None:
        """Take back the counted failure; allauth calls this when a login succeeds."""
        super()._rollback_login_failed_rl_usage()
        for failure in self._failures:
            failure.rollback()

    def _failure_counters(
        self, request: HttpRequest, credentials: Mapping[str, object]
    ) -> list[tuple[str, str]]:
        account = canonical_username(str(credentials.get("username", "")))
        device = _devices(request).get(_unreadable(account), "")
        return [
            ("login_failed_here", f"{ratelimit.get_ip(request)} {account}"),
            ("login_failed_anywhere", f"{account} {device}" if device else account),
        ]

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        _log_failure("failed", request, credentials)


def _log_failure(event: str, request: HttpRequest, credentials: Mapping[str, object]) -> None:
    account = str(credentials.get("username", ""))[:150]
    logger.warning("login %s: user %r from %s", event, account, ratelimit.get_ip(request))


def _unreadable(account: str) -> str:
    """Return a hash of the account, so that the cookie reveals no name."""
    return salted_hmac(DEVICE_COOKIE, account).hexdigest()[:16]


def _devices(request: HttpRequest) -> dict[str, str]:
    """Return {hashed account: random word} of the accounts that logged in from this browser."""
    try:
        devices: dict[str, str] = signing.loads(
            request.COOKIES.get(DEVICE_COOKIE, ""), salt=DEVICE_COOKIE, max_age=DEVICE_SECONDS
        )
    except signing.BadSignature:
        return {}
    return devices


def _remember_device(request: HttpRequest, response: HttpResponse, user: User) -> None:
    account = _unreadable(canonical_username(user.username))
    devices = _devices(request)
    # The latest account goes to the end: the first ones are dropped when the cookie is full.
    devices[account] = devices.pop(account, "") or secrets.token_hex(8)
    kept = dict(list(devices.items())[-DEVICE_ACCOUNTS:])
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps(kept, salt=DEVICE_COOKIE),
        max_age=DEVICE_SECONDS,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
