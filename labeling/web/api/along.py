"""Questions that people took along, as the campaign's researchers see and call them back."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.assignment import taking_along
from labeling.campaigns.access import RESEARCHER
from labeling.models import TakenAlong
from labeling.web.api.base import CampaignViewSet


class TakenAlongSerializer(serializers.ModelSerializer):
    """`left` of the `seats` are still out; `late` of those answered count nowhere."""

    pseudonym = serializers.CharField(source="membership.user.pseudonym")
    member = serializers.IntegerField(source="membership_id")
    answered = serializers.IntegerField()
    late = serializers.IntegerField()
    left = serializers.IntegerField()

    class Meta:
        model = TakenAlong
        fields = (
            *("id", "member", "pseudonym", "seats", "taken_at", "until", "ended_at"),
            *("answered", "late", "left"),
        )


class TakenAlongViewSet(CampaignViewSet):
    queryset = TakenAlong.objects.none()
    serializer_class = TakenAlongSerializer
    ordering = "-pk"

    def list(self, request: Request, campaign: str) -> Response:
        """What people took along, the latest first."""
        return self.paged(taking_along.sets_of(self.campaign(RESEARCHER)), TakenAlongSerializer)

    @extend_schema(request=None, responses=TakenAlongSerializer)
    @action(["post"], detail=True, url_path="call-back", url_name="along-call-back")
    def call_back(self, request: Request, campaign: str, pk: int) -> Response:
        """Ends its lease now: others get what is left. Answers under way are kept. Twice is no
        error."""
        row = self.campaign(RESEARCHER)
        taking_along.call_back(row, pk, self.user)
        return self.answer(TakenAlongSerializer, taking_along.sets_of(row).get(pk=pk))
