"""Classes of candidates: figures, and whether they are still asked about."""

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.db.lookups import get_or_404
from labeling.errors import NotYours
from labeling.models import Campaign, Verification
from labeling.quality import verifying
from labeling.reports import verification_page
from labeling.web.api.base import CampaignViewSet
from labeling.web.api.results import JobSerializer
from labeling.web.serializers.questions import ReasonSerializer


class VerificationSerializer(serializers.ModelSerializer):
    key = serializers.CharField(source="topic.key")
    name = serializers.CharField(source="topic.name")
    by_table = serializers.FloatField(allow_null=True, help_text="Precision by the vote table.")
    precision = serializers.FloatField(
        allow_null=True, help_text="Precision corrected by the audit of all classes."
    )
    low = serializers.FloatField(
        allow_null=True, help_text="Lower end of the precision's 95 % interval."
    )
    high = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(
        help_text="Why the class is stopped: precision (reached), money (spent) or by hand."
    )
    waived = serializers.CharField(
        help_text="The stop rule that was waived when the class was resumed."
    )

    class Meta:
        model = Verification
        fields = (
            "key",
            "name",
            "state",
            "reason",
            "waived",
            "candidates",
            "asked",
            "open",
            "yes",
            "no",
            "by_table",
            "precision",
            "low",
            "high",
            "audited",
            "wrong",
            "has_table",
            "answers",
            "cost",
            "looked_at",
        )


class VerificationFilters(django_filters.FilterSet):
    class Meta:
        model = Verification
        fields = ("state", "reason")


class VerificationViewSet(CampaignViewSet):
    queryset = Verification.objects.none()
    serializer_class = VerificationSerializer
    filterset_class = VerificationFilters
    lookup_field = "key"
    lookup_value_converter = "str"

    def _campaign(self, *roles: str) -> Campaign:
        campaign = self.campaign(*roles)
        if not verifying.fits(campaign):
            raise NotYours(verifying.NO_CLASSES)
        return campaign

    def list(self, request: Request, campaign: str) -> Response:
        """Return the classes of candidates as of the last check."""
        rows = verification_page.matching_classes(self._campaign(RESEARCHER, REVIEWER))
        return self.paged(rows, VerificationSerializer)

    @extend_schema(request=None, responses={202: JobSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Check the classes in the background and stop those that meet a stop rule."""
        return self.answer(JobSerializer, verifying.enqueue_check(self._campaign(RESEARCHER)), 202)

    @extend_schema(responses=VerificationSerializer)
    def retrieve(self, request: Request, campaign: str, key: str) -> Response:
        """Return one class."""
        rows = verification_page.matching_classes(self._campaign(RESEARCHER, REVIEWER))
        row = get_or_404(rows, "The campaign has no candidates of such a class.", topic__key=key)
        return self.answer(VerificationSerializer, row)

    @extend_schema(request=ReasonSerializer, responses=VerificationSerializer)
    @action(["post"], detail=True, url_name="class-stop")
    def stop(self, request: Request, campaign: str, key: str) -> Response:
        """Withdraw the open questions of the class. Idempotent."""
        reason, row = self.read(ReasonSerializer)["reason"], self._campaign(RESEARCHER)
        return self.answer(VerificationSerializer, verifying.stop(row, key, self.user, reason))

    @extend_schema(request=ReasonSerializer, responses=VerificationSerializer)
    @action(["post"], detail=True, url_name="class-resume")
    def resume(self, request: Request, campaign: str, key: str) -> Response:
        """Reopen the withdrawn questions and waive the rule that stopped the class. Idempotent."""
        reason, row = self.read(ReasonSerializer)["reason"], self._campaign(RESEARCHER)
        return self.answer(VerificationSerializer, verifying.resume(row, key, self.user, reason))
