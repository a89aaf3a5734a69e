"""Members of a campaign and its invitations, for researchers."""

from collections.abc import Sequence

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.assignment import quotas
from labeling.campaigns.access import RESEARCHER
from labeling.campaigns.names import name_of
from labeling.db.lookups import get_or_404
from labeling.models import Campaign, Invitation, Membership
from labeling.quality import memberships, monitoring
from labeling.quality.gold_results import Accuracy
from labeling.reports import progress
from labeling.web.api.base import Body, CampaignViewSet
from labeling.web.forms.people import InvitationForm, ReasonForm, RoleForm
from labeling.web.serializers import common
from labeling.web.serializers.common import NAME_HELP
from labeling.web.serializers.derived import FormBody, body_of, rows_of


class WatchedSerializer(serializers.ModelSerializer):
    """A member's stage and signals at the last check."""

    member = serializers.IntegerField(source="pk")
    pseudonym = serializers.CharField(source="user.pseudonym")
    name = serializers.SerializerMethodField(help_text=NAME_HELP)
    standing = common.AnyField(help_text="{} before the first check.")

    class Meta:
        model = Membership
        fields = (
            "member",
            "pseudonym",
            "name",
            "role",
            "stage",
            "working_since",
            "attempts",
            "gold_share",
            "answered",
            "standing",
        )

    def get_name(self, row: Membership) -> str:
        return name_of(row)


class MemberReasonSerializer(FormBody):
    form = ReasonForm


RoleSerializer = body_of(RoleForm, "Role")


class InvitationSerializer(serializers.ModelSerializer):
    class Meta:
        model = Invitation
        fields = (
            "id",
            "role",
            "note",
            "max_uses",
            "uses",
            "created_at",
            "expires_at",
            "revoked_at",
        )


NewInvitationSerializer = body_of(InvitationForm, "NewInvitation")


class InvitationSecretSerializer(InvitationSerializer):
    secret = serializers.CharField(help_text="Shown only once. The link is /join/<secret>/.")

    class Meta(InvitationSerializer.Meta):
        fields = (*InvitationSerializer.Meta.fields, "secret")  # type: ignore[assignment]


StandingSerializer = rows_of(Accuracy, "Standing")


class MemberSerializer(serializers.ModelSerializer):
    pseudonym = serializers.CharField(source="user.pseudonym")
    name = serializers.SerializerMethodField(help_text=NAME_HELP)
    seconds_per_answer = serializers.SerializerMethodField()
    standing = serializers.SerializerMethodField()

    class Meta:
        model = Membership
        fields = (
            "id",
            "pseudonym",
            "name",
            "role",
            "joined_at",
            "left_at",
            "stage",
            "answered",
            "seconds_per_answer",
            "last_answered_at",
            "standing",
        )

    def get_name(self, row: Membership) -> str:
        return name_of(row)

    def get_seconds_per_answer(self, row: Membership) -> float | None:
        return row.worked_ms / 1000 / row.answered if row.answered else None

    @extend_schema_field(StandingSerializer(allow_null=True))
    def get_standing(self, row: Membership) -> dict[str, object] | None:
        accuracy = self.context["accuracies"].get(row.user_id)
        return StandingSerializer(accuracy).data if accuracy else None


class QuotaSerializer(Body):
    topic = serializers.CharField(max_length=64)
    images = serializers.IntegerField(min_value=1, max_value=quotas.MAX_QUOTA)
    done = serializers.IntegerField(read_only=True)


class QuotasSerializer(Body):
    quotas = QuotaSerializer(many=True)
    reason = serializers.CharField(max_length=500, default="", write_only=True)


class MemberFilters(django_filters.FilterSet):
    left = django_filters.BooleanFilter("left_at", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Membership
        fields = ("role", "left")


class MemberViewSet(CampaignViewSet):
    queryset = Membership.objects.none()
    serializer_class = MemberSerializer
    filterset_class = MemberFilters

    def _members(self, campaign: Campaign) -> QuerySet[Membership]:
        return campaign.memberships.select_related("user", "campaign")

    def _member(self, pk: int) -> Membership:
        return get_or_404(
            self._members(self.campaign(RESEARCHER)), "The campaign has no such member.", pk=pk
        )

    def list(self, request: Request, campaign: str) -> Response:
        """Return all current and former members with their work and accuracy."""
        rows = self._members(self.campaign(RESEARCHER))
        return self.paged(rows, MemberSerializer, self._about)

    def _about(self, page: Sequence[Membership]) -> dict[str, object]:
        return {"accuracies": progress.accuracies_of(self.campaign(RESEARCHER), page)}

    def _member_response(self, row: Membership) -> Response:
        return self.answer(MemberSerializer, row, 200, **self._about([row]))

    @extend_schema(responses=MemberSerializer)
    def retrieve(self, request: Request, campaign: str, pk: int) -> Response:
        """Return one member."""
        return self._member_response(self._member(pk))

    @extend_schema(request=RoleSerializer, responses=MemberSerializer)
    def partial_update(self, request: Request, campaign: str, pk: int) -> Response:
        """Change a member's role. The last researcher keeps theirs."""
        member = self._member(pk)
        role = self.read(RoleSerializer)["role"]
        return self._member_response(memberships.change_role(member, self.user, role))

    @extend_schema(responses=QuotasSerializer)
    @action(detail=True)
    def quotas(self, request: Request, campaign: str, pk: int) -> Response:
        """Return the member's quota and answered images by topic."""
        return self._quotas(self._member(pk))

    @extend_schema(request=QuotasSerializer, responses=QuotasSerializer)
    @quotas.mapping.put
    def set_quotas(self, request: Request, campaign: str, pk: int) -> Response:
        """Replace the member's quotas. Without any, all topics are handed out."""
        member = self._member(pk)
        body = self.read(QuotasSerializer)
        images_by_topic = {row["topic"]: row["images"] for row in body["quotas"]}
        quotas.assign(member, self.user, images_by_topic, body["reason"])
        return self._quotas(self._member(pk))

    def _quotas(self, member: Membership) -> Response:
        rows = [row for row in quotas.for_member(member) if row.images is not None]
        return self.answer(QuotasSerializer, {"quotas": rows})

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, campaign: str, pk: int) -> Response:
        """End a membership. Answers are kept; open seats are released."""
        memberships.remove(self._member(pk), self.user)
        return Response(status=204)

    @extend_schema(request=MemberReasonSerializer, responses=WatchedSerializer)
    @action(["post"], detail=True)
    def pause(self, request: Request, campaign: str, pk: int) -> Response:
        """Stop handing out questions to a member. Their answers still count."""
        member = self._member(pk)
        reason = self.read(MemberReasonSerializer)["reason"]
        return self.answer(WatchedSerializer, monitoring.pause(member, self.user, reason))

    @extend_schema(request=MemberReasonSerializer, responses=WatchedSerializer)
    @action(["post"], detail=True)
    def pardon(self, request: Request, campaign: str, pk: int) -> Response:
        """Let a member work who is paused, failed the test, or is in training or the test."""
        member = self._member(pk)
        reason = self.read(MemberReasonSerializer)["reason"]
        return self.answer(WatchedSerializer, monitoring.pardon(member, self.user, reason))


class InvitationViewSet(CampaignViewSet):
    queryset = Invitation.objects.none()
    serializer_class = InvitationSerializer
    ordering = "-pk"

    def list(self, request: Request, campaign: str) -> Response:
        """Return the invitations without their secrets, the newest first."""
        return self.paged(self.campaign(RESEARCHER).invitations.all(), InvitationSerializer)

    @extend_schema(request=NewInvitationSerializer, responses={201: InvitationSecretSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Create an invitation. Its secret is shown only once; the link is /join/<secret>/."""
        row = self.campaign(RESEARCHER)
        made, secret = memberships.invite(row, self.user, **self.read(NewInvitationSerializer))
        made.secret = secret  # type: ignore[attr-defined]
        return self.answer(InvitationSecretSerializer, made, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, campaign: str, pk: int) -> Response:
        """Revoke an invitation. People who joined with it stay."""
        memberships.revoke(self._invitation(pk), self.user)
        return Response(status=204)

    @extend_schema(request=None, responses={204: None})
    @action(["post"], detail=True, url_path="delete", url_name="invitation-delete")
    def erase(self, request: Request, campaign: str, pk: int) -> Response:
        """Delete an invitation. People who joined with it stay."""
        self._invitation(pk).delete()
        return Response(status=204)

    def _invitation(self, pk: int) -> Invitation:
        rows = self.campaign(RESEARCHER).invitations
        return get_or_404(rows, "The campaign has no such invitation.", pk=pk)
