"""API tokens: created and revoked here, hashed, expiring, limited to a scope.

The secret is shown once; knox stores its digest. Only this module writes ApiToken.
"""

import binascii
import logging
from datetime import timedelta
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, cast

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext
from knox.auth import TokenAuthentication
from knox.crypto import hash_token
from knox.settings import CONSTANTS
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from labeling.errors import Conflict, NotYours, Refusal
from labeling.models import ApiToken, User

if TYPE_CHECKING:
    # A real import would be circular: DRF's views import this module through the settings.
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)

MAX_DAYS = 365
MAX_SECRET = 200
INVALID = "This token is unknown, expired or revoked. Create a new one."


def create_token(
    user: User, name: str = "", scope: str = ApiToken.Scope.READ, days: int = 90, address: str = ""
) -> tuple[ApiToken, str]:
    """Create a token; return it with its secret, of which only a digest is stored."""
    if scope not in ApiToken.Scope.values:
        raise Refusal(
            f"There is no scope {scope!r}. Choose one of: {', '.join(ApiToken.Scope.values)}.",
            field="scope",
        )
    if not 1 <= days <= MAX_DAYS:
        raise Refusal(f"The token is for {days} days; expected 1 to {MAX_DAYS}.", field="days")
    limit = settings.REST_KNOX["TOKEN_LIMIT_PER_USER"]
    if tokens_of(user).filter(expiry__gt=timezone.now()).count() >= limit:
        raise Conflict(f"You have {limit} tokens already. Revoke one you no longer use.")
    made: tuple[ApiToken, str] = ApiToken.objects.create(
        user=user, expiry=timedelta(days=days), name=name[:100], scope=scope
    )
    _log("made", user, made[0].token_key, address)
    return made


def revoke_token(user: User, key: str, address: str = "") -> None:
    """Revoke the user's token with this key. Raises NotYours if there is none."""
    deleted, _ = tokens_of(user).filter(token_key=key).delete()
    if not deleted:
        raise NotYours("There is no such token, or it was revoked already.")
    _log("revoked", user, key, address)


def revoke_all(user: User) -> None:
    """Revoke all tokens of the user."""
    deleted, _ = ApiToken.objects.filter(user=user).delete()
    if deleted:
        _log("revoked", user, "all")


def _log(event: str, user: User, key: str, address: str = "") -> None:
    logger.info("token %s %s: user %s from %s", key, event, user.pk, address or "no request")


def address_of(request: HttpRequest | Request) -> str:
    """Return the client's address behind the trusted proxies."""
    return str(BaseThrottle().get_ident(cast(Request, request)))


class EndTokensWithPassword:
    """Revokes a user's tokens whenever their password changes.

    It is a password validator, because Django calls validators after every change of a password. It
    accepts every password. A login that only rehashes the password does not call it.
    """

    def validate(self, password: str, user: User | None = None) -> None:
        pass

    def get_help_text(self) -> str:
        return gettext("Changing the password ends the account’s API tokens.")

    def password_changed(self, password: str, user: User | None = None) -> None:
        if user is not None:
            revoke_all(user)


def tokens_of(user: User):
    """Return the user's tokens, including expired ones, the newest first."""
    return ApiToken.objects.filter(user=user).order_by("-created", "digest")


class ScopedTokenAuthentication(TokenAuthentication):
    """`Authorization: Bearer <secret>`. Unlike in knox, requests do not delete expired tokens."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        try:
            user_and_token: tuple[User, ApiToken] | None = super().authenticate(request)
        except AuthenticationFailed:
            logger.warning("token refused: from %s", address_of(request))
            raise
        return user_and_token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"

    def authenticate_credentials(self, token: bytes) -> tuple[User, ApiToken]:
        try:
            secret = token[:MAX_SECRET].decode("ascii")
        except UnicodeDecodeError as error:
            raise AuthenticationFailed(INVALID) from error
        rows = ApiToken.objects.filter(
            token_key=secret[: CONSTANTS.TOKEN_KEY_LENGTH], expiry__gt=timezone.now()
        )
        for row in rows.select_related("user"):
            if compare_digest(_digest(secret), row.digest):
                return self.validate_user(row)
        raise AuthenticationFailed(INVALID)


def _digest(secret: str) -> str:
    try:
        return hash_token(secret)
    except (TypeError, binascii.Error):
        return ""


class ScopeCoversMethod(BasePermission):
    """Allows reads with scope `read`; changes need scope `write` or a session."""

    message = "This token may only read. Create one with the scope write."
    code = "scope"

    def has_permission(self, request: Request, view: "APIView") -> bool:
        token: Any = request.auth
        if not isinstance(token, ApiToken) or request.method in SAFE_METHODS:
            return True
        return token.scope == ApiToken.Scope.WRITE


class LoggedInBySession(BasePermission):
    """Requires a session to create tokens, so that a leaked token cannot create others."""

    message = "To create or revoke tokens, log in with a password instead of a token."
    code = "session_needed"

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return request.auth is None
