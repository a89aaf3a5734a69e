"""Flags on images, read and answered by researchers."""

from uuid import UUID

import django_filters
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.answers import flagging
from labeling.campaigns.access import RESEARCHER
from labeling.models import Flag
from labeling.web.api.base import CampaignViewSet
from labeling.web.forms.people import ReplyForm
from labeling.web.serializers.derived import body_of


class FlagSerializer(serializers.ModelSerializer):
    """A note on an image. `reply` is empty until a researcher answers."""

    image = serializers.CharField(source="assignment.question.item.image.name")
    topic = serializers.CharField(source="assignment.question.topic")
    pseudonym = serializers.CharField(source="annotator.pseudonym")

    class Meta:
        model = Flag
        fields = ("id", "image", "topic", "pseudonym", "note", "created_at", "reply", "replied_at")


ReplySerializer = body_of(ReplyForm, "Reply")


class FlagFilters(django_filters.FilterSet):
    answered = django_filters.BooleanFilter("replied_at", lookup_expr="isnull", exclude=True)

    class Meta:
        model = Flag
        fields = ("answered",)


class FlagViewSet(CampaignViewSet):
    queryset = Flag.objects.none()
    serializer_class = FlagSerializer
    filterset_class = FlagFilters
    lookup_value_converter = "uuid"
    ordering = ("-created_at", "id")

    def list(self, request: Request, campaign: str) -> Response:
        """Return the flags of the campaign, the newest first."""
        rows = self.campaign(RESEARCHER).flags.select_related(
            "annotator", "assignment__question__item__image"
        )
        return self.paged(rows, FlagSerializer)

    @extend_schema(request=ReplySerializer, responses=FlagSerializer)
    @action(["post"], detail=True, url_name="flag-reply")
    def reply(self, request: Request, campaign: str, pk: UUID) -> Response:
        """Reply to a flag. The annotator sees the reply; a later one replaces it."""
        row = self.campaign(RESEARCHER)
        text = self.read(ReplySerializer)["reply"]
        return self.answer(FlagSerializer, flagging.reply(row, pk, self.user, text))
