"""Quality: standings, blocks, calibrations, audits, and the figures of a campaign."""

from typing import Any

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.consensus import calibrating
from labeling.errors import NotYours
from labeling.models import Calibration, Campaign, Membership
from labeling.quality import auditing, blocking, monitoring, piloting
from labeling.reports import campaign_figures
from labeling.web.api.base import CampaignViewSet
from labeling.web.api.bodies import (
    AuditEstimateSerializer,
    BlockSerializer,
    CalibrationSerializer,
    MemberReasonSerializer,
    NewAuditSerializer,
    NewBlockSerializer,
    NewPilotSerializer,
    PilotPlanSerializer,
    PilotStateSerializer,
    QualitySerializer,
    WatchedSerializer,
    WholeCalibrationSerializer,
)
from labeling.web.serializers.common import JobSerializer


def member_of(campaign: Campaign, pk: int) -> Membership:
    """The member of that id, also one who has left. Raises NotYours."""
    found = campaign.memberships.select_related("user", "campaign").filter(pk=pk).first()
    if found is None:
        raise NotYours("The campaign has no such member.")
    return found


class StandingFilters(django_filters.FilterSet):
    class Meta:
        model = Membership
        fields = ("role", "stage")


class StandingViewSet(CampaignViewSet):
    queryset = Membership.objects.none()
    serializer_class = WatchedSerializer
    filterset_class = StandingFilters

    def list(self, request: Request, campaign: str) -> Response:
        """Everybody's stage and signals, as they were last looked at."""
        rows = self.campaign(RESEARCHER).memberships.active().select_related("user")
        return self.paged(rows, WatchedSerializer)

    @extend_schema(request=MemberReasonSerializer, responses=WatchedSerializer)
    def pause(self, request: Request, campaign: str, pk: int) -> Response:
        """Gives somebody no more questions. Their answers stay and count."""
        member = member_of(self.campaign(RESEARCHER), pk)
        reason = self.read(MemberReasonSerializer)["reason"]
        return self.answer(WatchedSerializer, monitoring.pause(member, self.user, reason))

    @extend_schema(request=MemberReasonSerializer, responses=WatchedSerializer)
    def pardon(self, request: Request, campaign: str, pk: int) -> Response:
        """Lets somebody work who is paused, did not pass, or is in training or the test."""
        member = member_of(self.campaign(RESEARCHER), pk)
        reason = self.read(MemberReasonSerializer)["reason"]
        return self.answer(WatchedSerializer, monitoring.pardon(member, self.user, reason))


class BlockViewSet(CampaignViewSet):
    queryset = Membership.objects.none()
    serializer_class = WatchedSerializer

    def list(self, request: Request, campaign: str) -> Response:
        """Who is blocked."""
        rows = self.campaign(RESEARCHER).memberships.filter(stage=Membership.Stage.BLOCKED)
        return self.paged(rows.select_related("user"), WatchedSerializer)

    @extend_schema(request=NewBlockSerializer, responses={201: BlockSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Blocks somebody: their answers are void and questions reopen. Twice changes nothing."""
        row, body = self.campaign(RESEARCHER), self.read(NewBlockSerializer)
        member = member_of(row, body["member"])
        outcome = blocking.block(row, member, self.user, body["reason"])
        return self.answer(BlockSerializer, {"member": member.pk, **vars(outcome)}, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, campaign: str, pk: int) -> Response:
        """Lifts a block: the answers count again, as they stood. Twice changes nothing."""
        row = self.campaign(RESEARCHER)
        blocking.unblock(row, member_of(row, pk), self.user, "lifted through the API")
        return Response(status=204)


class CalibrationViewSet(CampaignViewSet):
    queryset = Calibration.objects.none()
    serializer_class = CalibrationSerializer
    ordering = "-number"
    lookup_field = "number"

    def list(self, request: Request, campaign: str) -> Response:
        """Every calibration, the newest first."""
        return self.paged(self.campaign(RESEARCHER).calibrations.all(), CalibrationSerializer)

    @extend_schema(request=None, responses={202: JobSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Works standings and vote tables out anew, in the background."""
        job = calibrating.ask_now(self.campaign(RESEARCHER), self.user)
        return self.answer(JobSerializer, job, 202)

    @extend_schema(responses=WholeCalibrationSerializer)
    def retrieve(self, request: Request, campaign: str, number: int) -> Response:
        """One calibration with all that it says: skills by user id, tables, who is void."""
        found = self.campaign(RESEARCHER).calibrations.filter(number=number).first()
        if found is None:
            raise NotYours("The campaign has no such calibration.")
        return self.answer(WholeCalibrationSerializer, found)


class PilotViewSet(CampaignViewSet):
    serializer_class = PilotStateSerializer

    @extend_schema(responses=PilotStateSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """How far the pilots are, and which topics still lack a vote table."""
        return self.answer(PilotStateSerializer, piloting.state(self.campaign(RESEARCHER)))

    @extend_schema(request=NewPilotSerializer, responses=PilotPlanSerializer)
    def preview(self, request: Request, campaign: str) -> Response:
        """What a pilot would ask and cost. Nothing is asked."""
        row, body = self.campaign(RESEARCHER), self.read(NewPilotSerializer)
        return self.answer(PilotPlanSerializer, piloting.plan(row, **body))

    @extend_schema(request=NewPilotSerializer, responses={202: JobSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Asks ten votes on a random sample of each topic, in the background; the same sample
        again asks nothing."""
        row, body = self.campaign(RESEARCHER), self.read(NewPilotSerializer)
        return self.answer(JobSerializer, piloting.ask(row, self.user, **body), 202)


class AuditViewSet(CampaignViewSet):
    serializer_class = AuditEstimateSerializer

    def get_queryset(self) -> Any:
        return self.campaign(RESEARCHER, REVIEWER).audits.all()

    @extend_schema(responses=AuditEstimateSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """How often the settled labels are wrong, by the latest audit sample."""
        found = auditing.estimate(self.campaign(RESEARCHER, REVIEWER))
        if found is None:
            raise NotYours("No audit was drawn yet. Draw one: POST here.")
        return self.answer(AuditEstimateSerializer, found)

    @extend_schema(request=NewAuditSerializer, responses={201: AuditEstimateSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Draws settled questions at random, to be answered again on the audit page."""
        row, body = self.campaign(RESEARCHER, REVIEWER), self.read(NewAuditSerializer)
        sample = auditing.draw(row, self.user, body["n"], body.get("seed"))
        return self.answer(AuditEstimateSerializer, auditing.estimate(row, sample), 201)


class QualityViewSet(CampaignViewSet):
    serializer_class = QualitySerializer

    @extend_schema(responses=QualitySerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Agreement, answers a question and what is disputed, from an even sample."""
        row = self.campaign(RESEARCHER, REVIEWER)
        return self.answer(QualitySerializer, campaign_figures.figures(row))
