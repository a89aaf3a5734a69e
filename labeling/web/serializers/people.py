"""Roles and invitations, as the API has them."""

from rest_framework import serializers

from labeling.models import (
    Invitation,
    Membership,
)
from labeling.web.api.base import Body

Role = Membership.Role


class RoleSerializer(Body):
    role = serializers.ChoiceField(Role.choices)


class InvitationSerializer(serializers.ModelSerializer):
    class Meta:
        model = Invitation
        fields = (
            *("id", "role", "note", "max_uses", "uses", "created_at", "expires_at"),
            *("revoked_at",),
        )


class NewInvitationSerializer(Body):
    role = serializers.ChoiceField(Role.choices, default=Role.ANNOTATOR)
    days = serializers.IntegerField(default=7, min_value=1, max_value=90)
    max_uses = serializers.IntegerField(default=1, min_value=1, max_value=1000)
    note = serializers.CharField(allow_blank=True, default="", max_length=200)


class InvitationSecretSerializer(InvitationSerializer):
    secret = serializers.CharField(help_text="Shown this once; the link is /join/<secret>/.")

    class Meta(InvitationSerializer.Meta):
        fields = (*InvitationSerializer.Meta.fields, "secret")  # type: ignore[assignment]


class SecretSerializer(Body):
    secret = serializers.CharField(max_length=200)
