"""Translations of a campaign's texts."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns import texts
from labeling.campaigns.access import RESEARCHER
from labeling.models import CampaignText
from labeling.web.api.base import Body, CampaignViewSet


class CoverageSerializer(serializers.Serializer):
    language = serializers.CharField()
    given = serializers.IntegerField(source="translated")
    missing = serializers.ListField(child=serializers.CharField())


class TextsSerializer(serializers.Serializer):
    texts = serializers.DictField(help_text="The format of docs/how-to/campaigns.md.")
    coverage = CoverageSerializer(many=True)


class NewTextsSerializer(Body):
    texts = serializers.DictField(help_text="The format of docs/how-to/campaigns.md.")


class TextsViewSet(CampaignViewSet):
    queryset = CampaignText.objects.none()
    serializer_class = TextsSerializer
    pagination_class = None
    max_body_bytes = texts.MAX_BYTES

    @extend_schema(responses=TextsSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return the annotators' texts in each language, and those missing."""
        row = self.campaign(RESEARCHER)
        content = {"texts": texts.for_campaign(row), "coverage": texts.coverage(row)}
        return self.answer(TextsSerializer, content)

    @extend_schema(request=NewTextsSerializer, responses=TextsSerializer)
    def update(self, request: Request, campaign: str) -> Response:
        """Replace the texts of all languages."""
        row = self.campaign(RESEARCHER)
        texts.replace(row, self.user, self.read(NewTextsSerializer)["texts"])
        return self.retrieve(request, campaign)
