"""Quality: signals, blocks, calibrations, pilots, audits and figures of a campaign."""

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.consensus import calibrating
from labeling.db.lookups import get_or_404
from labeling.errors import NotYours
from labeling.models import Audit, Calibration, Campaign, Membership
from labeling.quality import auditing, blocking, piloting
from labeling.quality.blocking import BlockOutcome
from labeling.quality.box_audit import RedrawnError
from labeling.reports import proposal_figures, quality_page
from labeling.web.api.base import CampaignViewSet, Key
from labeling.web.api.people import MemberReasonSerializer, WatchedSerializer
from labeling.web.forms.questions import AuditForm, PilotForm
from labeling.web.serializers.campaigns import CostSerializer
from labeling.web.serializers.common import AnyField, JobSerializer, Plain
from labeling.web.serializers.derived import FormBody, RowSerializer, rows_of


class NewBlockSerializer(MemberReasonSerializer):
    member = Key(help_text="The id of a member.")


class BlockSerializer(RowSerializer):
    row, without = BlockOutcome, ("answerable",)
    member = serializers.IntegerField()


class CalibrationSerializer(serializers.ModelSerializer):
    class Meta:
        model = Calibration
        fields = ("number", "reason", "created_at")


class WholeCalibrationSerializer(serializers.ModelSerializer):
    content = AnyField()

    class Meta:
        model = Calibration
        fields = ("number", "reason", "created_at", "content")


class NewPilotSerializer(FormBody):
    form, options = PilotForm, {"per_topic": {"required": True}, "seed": {"default": 0}}


class PilotPlanSerializer(CostSerializer):
    """Questions that a pilot would add, and their cost."""

    without = ("gold",)


class PilotStateSerializer(RowSerializer):
    row, without = piloting.PilotProgress, ("questions",)
    asked = serializers.IntegerField(source="questions", help_text="Questions that get ten votes.")


class NewAuditSerializer(FormBody):
    form, options = AuditForm, {"n": {"required": True}}


class BinSerializer(Plain):
    low = serializers.FloatField()
    high = serializers.FloatField()
    n = serializers.IntegerField()
    stated = serializers.FloatField()
    right = serializers.FloatField()
    interval = serializers.ListField(child=serializers.FloatField())


ErrorShareSerializer = rows_of(auditing.ErrorShare, "ErrorShare")


class ReliabilitySerializer(Plain):
    bins = BinSerializer(many=True)
    error = serializers.FloatField(help_text="Expected calibration error.")
    n = serializers.IntegerField()


class BoxErrorSerializer(RowSerializer):
    """Audited boxes of one class; "" stands for all classes."""

    row = RedrawnError


class AuditEstimateSerializer(RowSerializer):
    """The estimate from the latest sample; `audited` excludes abstentions."""

    row, without = auditing.ErrorEstimate, ("measured",)
    calibration = ReliabilitySerializer(allow_null=True)


HistogramSerializer = rows_of(quality_page.VoteBar, "Histogram", "share")


QualitySerializer = rows_of(quality_page.QualityFigures, "Quality")


def member_of(campaign: Campaign, pk: int) -> Membership:
    """Return a current or former member by id. Raises NotYours."""
    return get_or_404(
        campaign.memberships.select_related("user", "campaign"),
        "The campaign has no such member.",
        pk=pk,
    )


class StandingFilters(django_filters.FilterSet):
    class Meta:
        model = Membership
        fields = ("role", "stage")


class StandingViewSet(CampaignViewSet):
    queryset = Membership.objects.none()
    serializer_class = WatchedSerializer
    filterset_class = StandingFilters

    def list(self, request: Request, campaign: str) -> Response:
        """Return every member's stage and signals at the last check."""
        rows = self.campaign(RESEARCHER).memberships.active().select_related("user")
        return self.paged(rows, WatchedSerializer)


class BlockViewSet(CampaignViewSet):
    queryset = Membership.objects.none()
    serializer_class = WatchedSerializer

    def list(self, request: Request, campaign: str) -> Response:
        """Return the blocked members."""
        rows = self.campaign(RESEARCHER).memberships.filter(stage=Membership.Stage.BLOCKED)
        return self.paged(rows.select_related("user"), WatchedSerializer)

    @extend_schema(request=NewBlockSerializer, responses={201: BlockSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Block a member: their answers are voided and questions reopen. Idempotent."""
        row, body = self.campaign(RESEARCHER), self.read(NewBlockSerializer)
        member = member_of(row, body["member"])
        outcome = blocking.block(row, member, self.user, body["reason"])
        return self.answer(BlockSerializer, {"member": member.pk, **vars(outcome)}, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, campaign: str, pk: int) -> Response:
        """Lift a block: the answers count again. Idempotent."""
        row = self.campaign(RESEARCHER)
        blocking.unblock(row, member_of(row, pk), self.user, "lifted through the API")
        return Response(status=204)


class CalibrationViewSet(CampaignViewSet):
    queryset = Calibration.objects.none()
    serializer_class = CalibrationSerializer
    ordering = "-number"
    lookup_field = "number"

    def list(self, request: Request, campaign: str) -> Response:
        """Return every calibration, the newest first."""
        return self.paged(self.campaign(RESEARCHER).calibrations.all(), CalibrationSerializer)

    @extend_schema(request=None, responses={202: JobSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Recompute reputations and vote tables in the background."""
        job = calibrating.enqueue_now(self.campaign(RESEARCHER), self.user)
        return self.answer(JobSerializer, job, 202)

    @extend_schema(responses=WholeCalibrationSerializer)
    def retrieve(self, request: Request, campaign: str, number: int) -> Response:
        """Return one calibration: skills by user id, vote tables and blocked members."""
        calibration = get_or_404(
            self.campaign(RESEARCHER).calibrations,
            "The campaign has no such calibration.",
            number=number,
        )
        return self.answer(WholeCalibrationSerializer, calibration)


class PilotViewSet(CampaignViewSet):
    serializer_class = PilotStateSerializer

    @extend_schema(responses=PilotStateSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return the progress of pilots and the topics without a vote table."""
        return self.answer(PilotStateSerializer, piloting.state(self.campaign(RESEARCHER)))

    @extend_schema(request=NewPilotSerializer, responses=PilotPlanSerializer)
    @action(["post"], detail=False, url_name="pilot-preview")
    def preview(self, request: Request, campaign: str) -> Response:
        """Return the questions and cost of a pilot without starting it."""
        row, body = self.campaign(RESEARCHER), self.read(NewPilotSerializer)
        return self.answer(PilotPlanSerializer, piloting.plan(row, **body))

    @extend_schema(request=NewPilotSerializer, responses={202: JobSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Ask for ten votes on a random sample of each topic, in the background. Repeating the same
        sample changes nothing.
        """
        row, body = self.campaign(RESEARCHER), self.read(NewPilotSerializer)
        return self.answer(JobSerializer, piloting.enqueue_pilot(row, self.user, **body), 202)


class AuditViewSet(CampaignViewSet):
    serializer_class = AuditEstimateSerializer

    def get_queryset(self) -> QuerySet[Audit]:
        return self.campaign(RESEARCHER, REVIEWER).audits.all()

    @extend_schema(responses=AuditEstimateSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return the error rate of settled labels, estimated from the latest audit sample."""
        estimate = auditing.estimate(self.campaign(RESEARCHER, REVIEWER))
        if estimate is None:
            raise NotYours("No audit sample yet. POST to this address to draw one.")
        return self.answer(AuditEstimateSerializer, estimate)

    @extend_schema(request=NewAuditSerializer, responses={201: AuditEstimateSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Draw a random sample of settled questions for the audit page."""
        row, body = self.campaign(RESEARCHER, REVIEWER), self.read(NewAuditSerializer)
        sample = auditing.draw(row, self.user, body["n"], body.get("seed"))
        return self.answer(AuditEstimateSerializer, auditing.estimate(row, sample), 201)


# Share is its name in the schema.
ShareSerializer = rows_of(proposal_figures.ProposalShare, "Share")
ProposalFiguresSerializer = rows_of(proposal_figures.ProposalFigures, "ProposalFigures")


class QualityViewSet(CampaignViewSet):
    serializer_class = QualitySerializer

    @extend_schema(responses=QualitySerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return agreement, answers per question and disputed questions, from a random sample."""
        row = self.campaign(RESEARCHER, REVIEWER)
        return self.answer(QualitySerializer, quality_page.figures(row))


class ProposalFiguresViewSet(CampaignViewSet):
    serializer_class = ProposalFiguresSerializer

    @extend_schema(responses=ProposalFiguresSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return quality and time of the latest drawings with and without a model's proposals.

        Without a model all counts are 0.
        """
        row = self.campaign(RESEARCHER)
        figures = proposal_figures.of_page(row) or proposal_figures.figures(row, 0)
        return self.answer(ProposalFiguresSerializer, figures)
