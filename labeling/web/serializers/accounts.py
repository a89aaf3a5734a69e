"""The account and its tokens, as the API has them."""

from rest_framework import serializers

from labeling.models import (
    ApiToken,
    Membership,
)
from labeling.web.api.base import Body
from labeling.web.serializers.common import Plain


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
        help_text="By that right or as an administrator. The role in each campaign is below."
    )
    memberships = HeldRoleSerializer(many=True)


class TokenSerializer(serializers.ModelSerializer):
    key = serializers.CharField(source="token_key", help_text="Names the token; no secret.")
    expires_at = serializers.DateTimeField(source="expiry")
    created_at = serializers.DateTimeField(source="created")

    class Meta:
        model = ApiToken
        fields = ("key", "name", "scope", "created_at", "expires_at")


class NewTokenSerializer(Body):
    name = serializers.CharField(max_length=100, allow_blank=True, default="")
    scope = serializers.ChoiceField(ApiToken.Scope.choices, default=ApiToken.Scope.READ)
    days = serializers.IntegerField(default=90, min_value=1, max_value=365)


class TokenSecretSerializer(TokenSerializer):
    secret = serializers.CharField(help_text="Shown this once.")

    class Meta(TokenSerializer.Meta):
        fields = (*TokenSerializer.Meta.fields, "secret")  # type: ignore[assignment]
