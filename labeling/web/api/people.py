"""Members of a campaign and invitations into it: for its researchers."""

from collections.abc import Sequence
from typing import Any

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.assignment import quotas
from labeling.campaigns.access import RESEARCHER
from labeling.errors import NotYours
from labeling.models import Campaign, Invitation, Membership
from labeling.quality import memberships
from labeling.reports import progress
from labeling.web.api.base import CampaignViewSet
from labeling.web.api.bodies import MemberSerializer, QuotasSerializer
from labeling.web.serializers.people import (
    InvitationSecretSerializer,
    InvitationSerializer,
    NewInvitationSerializer,
    RoleSerializer,
)


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
        member = self._members(self.campaign(RESEARCHER)).filter(pk=pk).first()
        if member is None:
            raise NotYours("The campaign has no such member.")
        return member

    def list(self, request: Request, campaign: str) -> Response:
        """Everybody who belongs or belonged to the campaign, with their work and standing."""
        rows = self._members(self.campaign(RESEARCHER))
        return self.paged(rows, MemberSerializer, self._about)

    def _about(self, page: Sequence[Membership]) -> dict[str, Any]:
        return {"standings": progress.standings_of(self.campaign(RESEARCHER), page)}

    def _said(self, row: Membership) -> Response:
        return self.answer(MemberSerializer, row, **self._about([row]))

    @extend_schema(responses=MemberSerializer)
    def retrieve(self, request: Request, campaign: str, pk: int) -> Response:
        """One member."""
        return self._said(self._member(pk))

    @extend_schema(request=RoleSerializer, responses=MemberSerializer)
    def partial_update(self, request: Request, campaign: str, pk: int) -> Response:
        """Gives a member another role. The last researcher stays one."""
        member = self._member(pk)
        role = self.read(RoleSerializer)["role"]
        return self._said(memberships.change_role(member, self.user, role))

    @extend_schema(responses=QuotasSerializer)
    def quotas(self, request: Request, campaign: str, pk: int) -> Response:
        """How many images of which topics the member shall answer, and has answered."""
        return self._quotas(self._member(pk))

    @extend_schema(request=QuotasSerializer, responses=QuotasSerializer)
    def set_quotas(self, request: Request, campaign: str, pk: int) -> Response:
        """Sets all quotas of the member; none lifts them, and any topic comes."""
        member = self._member(pk)
        said = self.read(QuotasSerializer)
        wanted = {row["topic"]: row["images"] for row in said["quotas"]}
        quotas.assign(member, self.user, wanted, said["reason"])
        return self._quotas(self._member(pk))

    def _quotas(self, member: Membership) -> Response:
        rows = [row for row in quotas.of(member) if row.images is not None]
        return self.answer(QuotasSerializer, {"quotas": rows})

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, campaign: str, pk: int) -> Response:
        """Ends a membership. Answers stay; open seats go to others."""
        memberships.remove(self._member(pk), self.user)
        return Response(status=204)


class InvitationViewSet(CampaignViewSet):
    queryset = Invitation.objects.none()
    serializer_class = InvitationSerializer
    ordering = "-pk"

    def list(self, request: Request, campaign: str) -> Response:
        """Invitations, without their secrets, the newest first."""
        return self.paged(self.campaign(RESEARCHER).invitations.all(), InvitationSerializer)

    @extend_schema(request=NewInvitationSerializer, responses={201: InvitationSecretSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """A new invitation. Its secret is shown this once; the link is /join/<secret>/."""
        row = self.campaign(RESEARCHER)
        made, secret = memberships.invite(row, self.user, **self.read(NewInvitationSerializer))
        made.secret = secret  # type: ignore[attr-defined]
        return self.answer(InvitationSecretSerializer, made, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, campaign: str, pk: int) -> Response:
        """Revokes an invitation. Who joined by it stays."""
        invitation = self.campaign(RESEARCHER).invitations.filter(pk=pk).first()
        if invitation is None:
            raise NotYours("The campaign has no such invitation.")
        memberships.revoke(invitation, self.user)
        return Response(status=204)
