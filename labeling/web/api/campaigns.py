"""Campaigns: details, state, cost, progress, policies and decisions."""

import django_filters
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns import lifecycle
from labeling.campaigns.access import (
    RESEARCHER,
    REVIEWER,
    campaign_for,
    campaigns_for,
    check_may_open,
    dataset_for,
)
from labeling.campaigns.names import VisibleNames
from labeling.exchange import part_campaigns
from labeling.follow_ups import opening
from labeling.kinds import KINDS, policies
from labeling.kinds.base import OBJECTS
from labeling.models import Campaign, Decision, Policy
from labeling.quality import asking_more, monitoring
from labeling.removal.undo import CampaignUndo
from labeling.reports import forecasts, progress
from labeling.web.api.base import CampaignViewSet
from labeling.web.api.undo import ArchiveFilters, RenameSerializer, UndoActions
from labeling.web.serializers.campaigns import (
    AppliedPolicySerializer,
    CampaignSerializer,
    ChangedCampaignSerializer,
    DecisionSerializer,
    EstimateSerializer,
    NewCampaignSerializer,
    NewPolicySerializer,
    PolicySerializer,
    ProgressSerializer,
    StoppedSerializer,
)

MAX_QUESTIONS = 1_000_000_000


class CampaignFilters(ArchiveFilters):
    class Meta:
        model = Campaign
        fields = ("state", "kind")


class CampaignsViewSet(UndoActions):
    queryset = Campaign.objects.none()
    serializer_class = CampaignSerializer
    filterset_class = CampaignFilters
    ordering = "name"
    ordering_fields = ("title", "created_at")
    lookup_field = "name"
    lookup_value_converter = "slug"

    def get_serializer_context(self) -> dict[str, object]:
        context = dict(super().get_serializer_context())
        if not getattr(self, "swagger_fake_view", False):
            readable = campaigns_for(self.user, RESEARCHER, REVIEWER)
            context["reads_all_of"] = set(readable.values_list("pk", flat=True))
        return context

    def undo_of(self, name: str) -> CampaignUndo:
        return CampaignUndo(campaign_for(self.user, name, RESEARCHER), self.user)

    def list(self, request: Request) -> Response:
        """Return the user's campaigns."""
        rows = campaigns_for(self.user).select_related("dataset", "policy")
        return self.paged(self.listed_rows(rows), CampaignSerializer)

    @extend_schema(request=NewCampaignSerializer, responses={201: CampaignSerializer})
    def create(self, request: Request) -> Response:
        """Create a campaign as a draft. Add topics and questions, then launch it."""
        check_may_open(self.user)
        body = self.read(NewCampaignSerializer)
        dataset = dataset_for(self.user, body.pop("dataset"))
        if KINDS[body["kind"]].asks == OBJECTS:
            made = part_campaigns.create(self.user, dataset, **body)
        else:
            made = opening.create(self.user, dataset=dataset, **body)
        return self.answer(CampaignSerializer, made, 201)

    @extend_schema(responses=CampaignSerializer)
    def retrieve(self, request: Request, name: str) -> Response:
        """Return one campaign."""
        return self.answer(CampaignSerializer, campaign_for(self.user, name))

    @extend_schema(request=ChangedCampaignSerializer, responses=CampaignSerializer)
    def partial_update(self, request: Request, name: str) -> Response:
        """Change title, instructions or settings."""
        campaign = campaign_for(self.user, name, RESEARCHER)
        body = self.read(ChangedCampaignSerializer)
        if not body:
            raise ValidationError("Send at least one of title, instructions and settings.")
        return self.answer(CampaignSerializer, lifecycle.change(campaign, self.user, **body))

    def _move(self, name: str, action: str) -> Response:
        campaign = campaign_for(self.user, name, RESEARCHER)
        return self.answer(CampaignSerializer, lifecycle.change_state(campaign, self.user, action))

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(["post"], detail=True)
    def launch(self, request: Request, name: str) -> Response:
        """Open a draft to its annotators. Idempotent."""
        return self._move(name, "launch")

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(["post"], detail=True)
    def pause(self, request: Request, name: str) -> Response:
        """Stop handing out questions until the campaign is resumed. Idempotent."""
        return self._move(name, "pause")

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(["post"], detail=True)
    def resume(self, request: Request, name: str) -> Response:
        """Hand out questions again. Idempotent."""
        return self._move(name, "resume")

    @extend_schema(request=None, responses=CampaignSerializer)
    @action(["post"], detail=True)
    def close(self, request: Request, name: str) -> Response:
        """Close the campaign permanently. Idempotent."""
        return self._move(name, "close")

    @extend_schema(request=RenameSerializer, responses={201: CampaignSerializer})
    @action(["post"], detail=True)
    def clone(self, request: Request, name: str) -> Response:
        """Create a draft with the same texts, classes, examples and rules, without questions."""
        undo = self.undo_of(name)
        check_may_open(self.user)
        return self.answer(CampaignSerializer, undo.clone(**self.read(RenameSerializer)), 201)

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "questions", int, description="Rules that replace those of the current policy."
            )
        ],
        responses=EstimateSerializer,
    )
    @action(detail=True)
    def estimate(self, request: Request, name: str) -> Response:
        """Return the cost of the campaign's questions under its policy."""
        campaign = campaign_for(self.user, name, RESEARCHER)
        stated = request.query_params.get("questions")
        if stated is None:
            return self.answer(EstimateSerializer, progress.estimate_of(campaign))
        # Check the length first: Python refuses to parse very long numbers.
        whole = stated.isascii() and stated.isdigit() and len(stated) <= len(str(MAX_QUESTIONS))
        if not whole or int(stated) > MAX_QUESTIONS:
            raise ValidationError({"questions": "Send a whole number, at most a billion."})
        estimate = forecasts.estimate(
            forecasts.known_number(int(stated)), policies.for_campaign(campaign)
        )
        return self.answer(EstimateSerializer, estimate)

    @extend_schema(responses=ProgressSerializer)
    @action(detail=True)
    def progress(self, request: Request, name: str) -> Response:
        """Return progress, cost so far and remaining work."""
        campaign = campaign_for(self.user, name, RESEARCHER)
        return self.answer(ProgressSerializer, progress.progress(campaign))


class PolicyViewSet(CampaignViewSet):
    queryset = Policy.objects.none()
    serializer_class = PolicySerializer
    ordering = "-version"

    def list(self, request: Request, campaign: str) -> Response:
        """Return every version of the policy, the newest first."""
        return self.paged(self.campaign(RESEARCHER, REVIEWER).policies.all(), PolicySerializer)

    @extend_schema(request=AppliedPolicySerializer, responses={201: PolicySerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Create the next version of the policy. Open questions keep their version; `apply` moves
        those without answers.
        """
        row = self.campaign(RESEARCHER)
        body = self.read(AppliedPolicySerializer)
        content = policies.clean_next(row, body["content"])
        monitoring.check_policy(row, content, confirmed=body["confirmed"])
        made = lifecycle.change_policy(row, self.user, content)
        if body["apply"]:
            asking_more.apply_policy(row, self.user)
        return self.answer(PolicySerializer, made, 201)

    @extend_schema(request=NewPolicySerializer, responses=StoppedSerializer(many=True))
    @action(["post"], detail=False)
    def preview(self, request: Request, campaign: str) -> Response:
        """Return whom this policy would retrain, pause or block if it were in force."""
        row = self.campaign(RESEARCHER)
        content = policies.clean_next(row, self.read(NewPolicySerializer)["content"])
        stopped = monitoring.preview(row, content)
        return Response(StoppedSerializer(stopped, many=True).data)


class DecisionFilters(django_filters.FilterSet):
    class Meta:
        model = Decision
        fields = ("kind",)


class DecisionViewSet(CampaignViewSet):
    queryset = Decision.objects.none()
    serializer_class = DecisionSerializer
    filterset_class = DecisionFilters
    ordering = "-pk"

    def list(self, request: Request, campaign: str) -> Response:
        """Return the decisions with actor and reason, the newest first."""
        row = self.campaign(RESEARCHER)
        rows = row.decisions.select_related("actor")
        return self.paged(rows, DecisionSerializer, lambda page: {"names": VisibleNames(row)})
