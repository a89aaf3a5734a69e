"""Quality: reputations, blocks, calibrations, audits, and the figures of a campaign."""

import django_filters
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.consensus import calibrating
from labeling.errors import NotYours
from labeling.models import Audit, Calibration, Campaign, Membership
from labeling.quality import auditing, blocking, piloting
from labeling.reports import campaign_figures, proposal_figures
from labeling.web.api.base import Body, CampaignViewSet, Key
from labeling.web.api.people import MemberReasonSerializer, WatchedSerializer
from labeling.web.serializers.common import AnyField, JobSerializer, Plain


class NewBlockSerializer(MemberReasonSerializer):
    member = Key(help_text="The id of a member.")


class BlockSerializer(Plain):
    member = serializers.IntegerField()
    changed = serializers.BooleanField(help_text="False where the person was blocked already.")
    answers = serializers.IntegerField(help_text="Answers that count no more.")
    decided = serializers.IntegerField(help_text="Questions that stand otherwise now.")
    reopened = serializers.IntegerField(help_text="Decided questions that need more answers.")


class CalibrationSerializer(serializers.ModelSerializer):
    class Meta:
        model = Calibration
        fields = ("number", "reason", "created_at")


class WholeCalibrationSerializer(serializers.ModelSerializer):
    content = AnyField()

    class Meta:
        model = Calibration
        fields = ("number", "reason", "created_at", "content")


class NewPilotSerializer(Body):
    per_topic = serializers.IntegerField(
        min_value=1, max_value=10_000, help_text="Questions of each topic, drawn at random."
    )
    seed = serializers.IntegerField(
        default=0, min_value=0, max_value=2**31 - 1, help_text="The same draws the same sample."
    )


class PilotPlanSerializer(Plain):
    """What a pilot would ask beyond what is asked already."""

    questions = serializers.IntegerField()
    answers = serializers.IntegerField(help_text="Gold mixed in.")
    hours = serializers.FloatField()
    cost = serializers.FloatField()
    currency = serializers.CharField()


class PilotStateSerializer(Plain):
    asked = serializers.IntegerField(source="questions", help_text="Questions that want ten votes.")
    decided = serializers.IntegerField()
    topics = serializers.IntegerField(help_text="Topics of those questions.")
    tables = serializers.IntegerField(help_text="How many of the topics have a vote table.")
    missing = serializers.ListField(
        child=serializers.CharField(), help_text="Names of some that have none."
    )
    missing_count = serializers.IntegerField()


class NewAuditSerializer(Body):
    n = serializers.IntegerField(min_value=1, max_value=10_000, help_text="Questions.")
    seed = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=2**31 - 1,
        help_text="For a sample that can be drawn again.",
    )


class BinSerializer(Plain):
    low = serializers.FloatField()
    high = serializers.FloatField()
    n = serializers.IntegerField()
    stated = serializers.FloatField()
    right = serializers.FloatField()
    interval = serializers.ListField(child=serializers.FloatField())


class ErrorShareSerializer(Plain):
    audited = serializers.IntegerField()
    wrong = serializers.IntegerField()
    error = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(child=serializers.FloatField(), help_text="95 %.")


class ReliabilitySerializer(Plain):
    bins = BinSerializer(many=True)
    error = serializers.FloatField(help_text="Expected calibration error.")
    n = serializers.IntegerField()


class BoxErrorSerializer(Plain):
    """Boxes of one class, of all under "", that were drawn again."""

    words = serializers.CharField()
    audited = serializers.IntegerField()
    missed = serializers.IntegerField(help_text="Where nothing was drawn: an error of 1.")
    error = serializers.FloatField(help_text="Mean 1 − IoU of the two drawings.")
    interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="95 %."
    )
    stated = serializers.FloatField(help_text="What both drawings state of themselves.")
    good_at_0_5 = serializers.FloatField()
    good_at_0_7 = serializers.FloatField()


class AuditEstimateSerializer(ErrorShareSerializer):
    """What the latest sample says; `audited` leaves out what was too hard to tell."""

    sample = serializers.IntegerField()
    drawn = serializers.IntegerField()
    answered = serializers.IntegerField()
    unclear = serializers.IntegerField()
    stated = serializers.FloatField(
        allow_null=True, help_text="The error that the consensus itself states, on average."
    )
    stated_holds = serializers.BooleanField(
        allow_null=True, help_text="Whether that lies in the interval."
    )
    calibration = ReliabilitySerializer(allow_null=True)
    by_answer = serializers.DictField(child=ErrorShareSerializer())
    boxes = BoxErrorSerializer(many=True, help_text="Of campaigns of boxes.")


class HistogramSerializer(Plain):
    n = serializers.IntegerField()
    count = serializers.IntegerField()


class QualitySerializer(Plain):
    decided = serializers.IntegerField()
    sampled = serializers.IntegerField(help_text="Decided questions that the figures come from.")
    alpha = serializers.FloatField(allow_null=True, help_text="Krippendorff's alpha.")
    votes = serializers.FloatField(allow_null=True, help_text="Mean answers a question.")
    abstained = serializers.FloatField(allow_null=True)
    histogram = HistogramSerializer(many=True)
    disputed = serializers.ListField(
        child=serializers.IntegerField(), help_text="Ids of questions, the most divided first."
    )


def member_of(campaign: Campaign, pk: int) -> Membership:
    """Return the member of that id, also one who has left. Raises NotYours."""
    member = campaign.memberships.select_related("user", "campaign").filter(pk=pk).first()
    if member is None:
        raise NotYours("The campaign has no such member.")
    return member


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


class BlockViewSet(CampaignViewSet):
    queryset = Membership.objects.none()
    serializer_class = WatchedSerializer

    def list(self, request: Request, campaign: str) -> Response:
        """Who is blocked."""
        rows = self.campaign(RESEARCHER).memberships.filter(stage=Membership.Stage.BLOCKED)
        return self.paged(rows.select_related("user"), WatchedSerializer)

    @extend_schema(request=NewBlockSerializer, responses={201: BlockSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Block somebody: their answers are void and questions reopen. Twice changes nothing."""
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
        """Return every calibration, the newest first."""
        return self.paged(self.campaign(RESEARCHER).calibrations.all(), CalibrationSerializer)

    @extend_schema(request=None, responses={202: JobSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Recompute reputations and vote tables, in the background."""
        job = calibrating.ask_now(self.campaign(RESEARCHER), self.user)
        return self.answer(JobSerializer, job, 202)

    @extend_schema(responses=WholeCalibrationSerializer)
    def retrieve(self, request: Request, campaign: str, number: int) -> Response:
        """Return one calibration with all that it says: skills by user id, tables, who is void."""
        calibration = self.campaign(RESEARCHER).calibrations.filter(number=number).first()
        if calibration is None:
            raise NotYours("The campaign has no such calibration.")
        return self.answer(WholeCalibrationSerializer, calibration)


class PilotViewSet(CampaignViewSet):
    serializer_class = PilotStateSerializer

    @extend_schema(responses=PilotStateSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return how far the pilots are, and which topics still lack a vote table."""
        return self.answer(PilotStateSerializer, piloting.state(self.campaign(RESEARCHER)))

    @extend_schema(request=NewPilotSerializer, responses=PilotPlanSerializer)
    @action(["post"], detail=False, url_name="pilot-preview")
    def preview(self, request: Request, campaign: str) -> Response:
        """What a pilot would ask and cost. Nothing is asked."""
        row, body = self.campaign(RESEARCHER), self.read(NewPilotSerializer)
        return self.answer(PilotPlanSerializer, piloting.plan(row, **body))

    @extend_schema(request=NewPilotSerializer, responses={202: JobSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Ask ten votes on a random sample of each topic, in the background; the same sample
        again asks nothing.
        """
        row, body = self.campaign(RESEARCHER), self.read(NewPilotSerializer)
        return self.answer(JobSerializer, piloting.ask(row, self.user, **body), 202)


class AuditViewSet(CampaignViewSet):
    serializer_class = AuditEstimateSerializer

    def get_queryset(self) -> QuerySet[Audit]:
        return self.campaign(RESEARCHER, REVIEWER).audits.all()

    @extend_schema(responses=AuditEstimateSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return how often the settled labels are wrong, by the latest audit sample."""
        estimate = auditing.estimate(self.campaign(RESEARCHER, REVIEWER))
        if estimate is None:
            raise NotYours("No audit was drawn yet. Draw one: POST here.")
        return self.answer(AuditEstimateSerializer, estimate)

    @extend_schema(request=NewAuditSerializer, responses={201: AuditEstimateSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Draw settled questions at random, to be answered again on the audit page."""
        row, body = self.campaign(RESEARCHER, REVIEWER), self.read(NewAuditSerializer)
        sample = auditing.draw(row, self.user, body["n"], body.get("seed"))
        return self.answer(AuditEstimateSerializer, auditing.estimate(row, sample), 201)


class MeanSerializer(Plain):
    value = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="95 %."
    )
    n = serializers.IntegerField()


class ShareSerializer(Plain):
    count = serializers.IntegerField()
    of = serializers.IntegerField()
    value = serializers.FloatField(allow_null=True)
    interval = serializers.ListField(
        child=serializers.FloatField(), allow_null=True, help_text="95 %."
    )


class ArmSerializer(Plain):
    """Drawings that may ask the model, or may not."""

    drawings = serializers.IntegerField()
    parts = serializers.IntegerField()
    seconds_per_part = MeanSerializer()
    median_seconds_per_part = serializers.FloatField(allow_null=True)
    gold_iou = MeanSerializer(help_text="Likeness to gold, by part.")
    others_iou = MeanSerializer(
        help_text="With drawings of other people that were made without the model."
    )
    bad = ShareSerializer(help_text="Parts of gold drawn with an IoU below 0.5.")


class NetworkSerializer(Plain):
    name = serializers.CharField()
    sha256 = serializers.CharField()
    images = serializers.IntegerField(help_text="That questions are about.")
    embedded = serializers.IntegerField(help_text="With an embedding.")
    fits = serializers.IntegerField(help_text="For how many the budget has room.")
    bytes = serializers.IntegerField(help_text="That embeddings take.")
    budget = serializers.IntegerField()


class ProposalFiguresSerializer(Plain):
    network = NetworkSerializer(allow_null=True)
    seats = serializers.IntegerField(help_text="Answered ones that these figures are of.")
    with_model = ArmSerializer()
    without_model = ArmSerializer()
    time_ratio = serializers.FloatField(
        allow_null=True, help_text="Seconds a part with the model over those without."
    )
    iou_difference = serializers.FloatField(allow_null=True, help_text="Of gold_iou.")
    asked = serializers.IntegerField(
        source="requests", help_text="Parts about which the model was asked."
    )
    taken = serializers.IntegerField()
    mended = serializers.IntegerField()
    refused = serializers.IntegerField()
    bad_proposals = ShareSerializer(
        help_text="Of proposals for gold with an IoU below 0.5, how many were sent like that."
    )


class QualityViewSet(CampaignViewSet):
    serializer_class = QualitySerializer

    @extend_schema(responses=QualitySerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Agreement, answers a question and what is disputed, from an even sample."""
        row = self.campaign(RESEARCHER, REVIEWER)
        return self.answer(QualitySerializer, campaign_figures.figures(row))


class ProposalFiguresViewSet(CampaignViewSet):
    serializer_class = ProposalFiguresSerializer

    @extend_schema(responses=ProposalFiguresSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return where a model outlines parts: quality and time with it and without, of the latest
        drawings, and what became of its proposals. Without a model all counts are 0.
        """
        row = self.campaign(RESEARCHER)
        figures = proposal_figures.of_page(row) or proposal_figures.figures(row, 0)
        return self.answer(ProposalFiguresSerializer, figures)
