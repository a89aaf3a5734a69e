"""Sign-up is by invitation: without one in the session the door is closed."""

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest
from django.urls import reverse

from labeling import people
from labeling.models import Invitation, User

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
    return people.find_invitation(request.session.get(INVITATION_KEY, ""))


class InvitationOnlyAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return remembered(request) is not None

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        return self._join_url(request) or super().get_login_redirect_url(request)

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return self._join_url(request) or super().get_signup_redirect_url(request)

    def _join_url(self, request: HttpRequest) -> str | None:
        secret = request.session.get(INVITATION_KEY)
        return reverse("join", args=[secret]) if secret else None
