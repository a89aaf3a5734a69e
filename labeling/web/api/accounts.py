"""The user's account, tokens and invitations."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.throttling import UserRateThrottle

from labeling.models import ApiToken, Membership
from labeling.quality import memberships
from labeling.web import tokens
from labeling.web.api.base import BaseViewSet, Body
from labeling.web.forms.people import TokenForm
from labeling.web.serializers.common import Plain
from labeling.web.serializers.derived import FormBody


class SecretSerializer(Body):
    secret = serializers.CharField(max_length=200)


class HeldRoleSerializer(serializers.ModelSerializer):
    campaign = serializers.CharField(source="campaign.name")

    class Meta:
        model = Membership
        fields = ("campaign", "role", "answered", "joined_at")


class MeSerializer(Plain):
    username = serializers.CharField()
    pseudonym = serializers.CharField()
    is_researcher = serializers.BooleanField(
        help_text="Whether the account was granted the right to open campaigns."
    )
    is_staff = serializers.BooleanField(help_text="An administrator of the site.")
    may_open_campaigns = serializers.BooleanField(
        help_text="Whether the account may open campaigns, by that right or as an administrator."
    )
    memberships = HeldRoleSerializer(many=True)


class TokenSerializer(serializers.ModelSerializer):
    key = serializers.CharField(
        source="token_key", help_text="Public id of the token, not its secret."
    )
    expires_at = serializers.DateTimeField(source="expiry")
    created_at = serializers.DateTimeField(source="created")

    class Meta:
        model = ApiToken
        fields = ("key", "name", "scope", "created_at", "expires_at")


class NewTokenSerializer(FormBody):
    form = TokenForm
    name = serializers.CharField(max_length=100, allow_blank=True, default="")


class TokenSecretSerializer(TokenSerializer):
    secret = serializers.CharField(help_text="Shown only once.")

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "secret")  # type: ignore[assignment]


class SecretsThrottle(UserRateThrottle):
    """Throttles requests that create or try secrets. Answers and reads are never throttled."""

    scope = "secrets"
    rate = "60/hour"

    def get_rate(self) -> str:
        return self.rate


class MeViewSet(BaseViewSet):
    queryset = Membership.objects.none()
    serializer_class = MeSerializer
    pagination_class = None

    @extend_schema(responses=MeSerializer)
    def retrieve(self, request: Request) -> Response:
        """Return the authenticated user and their campaigns."""
        user = self.user
        held = Membership.objects.active().filter(user=user).select_related("campaign")
        return self.answer(
            MeSerializer,
            {
                "username": user.username,
                "pseudonym": user.pseudonym,
                "is_researcher": user.is_researcher,
                "is_staff": user.is_staff,
                "may_open_campaigns": user.may_open_campaigns,
                "memberships": held.order_by("pk"),
            },
        )


class TokenViewSet(BaseViewSet):
    queryset = ApiToken.objects.none()
    serializer_class = TokenSerializer
    ordering: tuple[str, ...] = ("-created", "digest")
    lookup_field = "token_key"
    lookup_value_converter = "slug"

    def get_permissions(self) -> list[BasePermission]:
        more: list[Any] = [tokens.LoggedInBySession] if self.action == "create" else []
        return [permission() for permission in [*api_settings.DEFAULT_PERMISSION_CLASSES, *more]]

    def get_throttles(self) -> list[Any]:
        return [SecretsThrottle()] if self.action == "create" else []

    def list(self, request: Request) -> Response:
        """Return the user's tokens, including expired ones, without their secrets."""
        return self.paged(tokens.tokens_of(self.user), TokenSerializer)

    @extend_schema(request=NewTokenSerializer, responses={201: TokenSecretSerializer})
    def create(self, request: Request) -> Response:
        """Create a token and return its secret, which is shown only once. Requires a session, not a
        token.
        """
        address = tokens.address_of(request)
        token, secret = tokens.create_token(
            self.user, **self.read(NewTokenSerializer), address=address
        )
        token.secret = secret
        return self.answer(TokenSecretSerializer, token, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, token_key: str) -> Response:
        """Revoke a token immediately. A token may revoke itself; other tokens require a session."""
        if isinstance(request.auth, ApiToken) and request.auth.token_key != token_key:
            raise PermissionDenied(tokens.LoggedInBySession.message, "session_needed")
        tokens.revoke_token(self.user, token_key, tokens.address_of(request))
        return Response(status=204)


class AcceptViewSet(BaseViewSet):
    queryset = Membership.objects.none()
    serializer_class = HeldRoleSerializer
    throttle_classes = [SecretsThrottle]

    @extend_schema(request=SecretSerializer, responses=HeldRoleSerializer)
    def create(self, request: Request) -> Response:
        """Join the campaign of an invitation. Joining again does not use it up."""
        body = self.read(SecretSerializer)
        return self.answer(HeldRoleSerializer, memberships.accept(body["secret"], self.user))
