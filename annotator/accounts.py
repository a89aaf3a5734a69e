"""Accounts: sign-up by invitation alone, and limits on logins that fail."""

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.internal import ratelimit
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext

from labeling.errors import Refusal
from labeling.models import Invitation, Membership, User
from labeling.quality import memberships

INVITATION_KEY = "invitation"


def person(request: HttpRequest) -> User:
    """Who is logged in, where a view lets nobody else come."""
    user = request.user
    assert isinstance(user, User)
    return user


def remember(request: HttpRequest, secret: str) -> None:
    """Keeps an invitation's secret while the person signs up or logs in."""
    request.session[INVITATION_KEY] = secret


def forget(request: HttpRequest) -> None:
    request.session.pop(INVITATION_KEY, None)


def remembered(request: HttpRequest) -> Invitation | None:
    """The invitation that brought this person here, while it can be used."""
    return memberships.find_invitation(request.session.get(INVITATION_KEY, ""))


def join(request: HttpRequest, secret: str) -> Membership:
    """The membership that the invitation gives to whoever is logged in; says so on the next page.

    Raises Refusal with the reason when the invitation cannot be used.
    """
    membership = memberships.accept(secret, person(request))
    forget(request)
    said = {
        Membership.Role.RESEARCHER: gettext("You joined “%(title)s” as researcher."),
        Membership.Role.REVIEWER: gettext("You joined “%(title)s” as reviewer."),
        Membership.Role.ANNOTATOR: gettext("You joined “%(title)s” as annotator."),
    }[Membership.Role(membership.role)]
    messages.success(request, said % {"title": membership.campaign.title})
    return membership


class InvitationOnlyAdapter(DefaultAccountAdapter):
    """allauth's accounts, where sign-up takes an invitation.

    allauth counts logins that failed by address; here they are counted by account as well, from one
    address and from all. The numbers are ACCOUNT_RATE_LIMITS.
    """

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return remembered(request) is not None

    def post_login(
        self, request: HttpRequest, user: User, *, signup: bool, **kwargs: Any
    ) -> HttpResponse:
        """Whoever signs up does so by an invitation, and joins with it. People who had an account
        are asked first: they may be logged in as somebody else."""
        response: HttpResponse = super().post_login(request, user, signup=signup, **kwargs)
        secret = request.session.get(INVITATION_KEY)
        if not (signup and secret):
            return response
        try:
            join(request, secret)
        except Refusal:
            # Its page says why, which is where they are led.
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
        """Counts the try as failed until it succeeds, or tries at once would pass together.

        Raises ValidationError when address or account had too many failures.
        """
        super().pre_authenticate(request, **credentials)
        self._failures = []
        for action, key in self._failure_counters(request, credentials):
            failure = ratelimit.consume(request, app="allauth.account", action=action, key=key)
            if not failure:
                self._rollback_login_failed_rl_usage()
                raise self.validation_error("too_many_login_attempts")
            self._failures.append(failure)

    def _rollback_login_failed_rl_usage(self) -> None:
        """What allauth calls when a login succeeds."""
        super()._rollback_login_failed_rl_usage()
        for failure in self._failures:
            failure.rollback()

    def _failure_counters(
        self, request: HttpRequest, credentials: dict[str, Any]
    ) -> list[tuple[str, str]]:
        account = str(credentials.get("username", "")).lower()
        return [
            ("login_failed_here", f"{ratelimit.get_ip(request)} {account}"),
            ("login_failed_anywhere", account),
        ]
