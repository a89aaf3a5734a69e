"""The question graph of a campaign, and the images that are asked by it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.errors import NotYours
from labeling.follow_ups import opening
from labeling.graphs import store
from labeling.models import Graph
from labeling.web.api.base import MIB, CampaignViewSet
from labeling.web.api.bodies import (
    GraphSerializer,
    NewGraphSerializer,
    OpenedSerializer,
    OpenImagesSerializer,
)


class GraphViewSet(CampaignViewSet):
    queryset = Graph.objects.none()
    serializer_class = GraphSerializer
    max_body_bytes = 16 * MIB

    @extend_schema(responses=GraphSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """The graph in force."""
        version = store.version_of(self.campaign(RESEARCHER, REVIEWER))
        if version is None:
            raise NotYours("The campaign has no question graph yet.")
        return self.answer(GraphSerializer, version)

    @extend_schema(request=NewGraphSerializer, responses=GraphSerializer)
    def update(self, request: Request, campaign: str) -> Response:
        """Puts a graph in force. The same one again changes nothing; every fault is named."""
        row = self.campaign(RESEARCHER)
        body: dict[str, Any] = self.read(NewGraphSerializer)
        made = store.define(
            row, self.user, body["graph"], body["reason"], instead_of=body["version"]
        )
        return self.answer(GraphSerializer, made)

    @extend_schema(request=OpenImagesSerializer, responses={202: OpenedSerializer})
    def images(self, request: Request, campaign: str) -> Response:
        """Asks the graph's first questions of these images. What is asked already stays."""
        row = self.campaign(RESEARCHER)
        names = self.read(OpenImagesSerializer)["images"]
        opened = opening.open_images(row, names)
        return self.answer(OpenedSerializer, {"opened": opened}, 202)
