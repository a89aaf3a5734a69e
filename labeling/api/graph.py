"""The question graph of a campaign, and the images that are asked by it."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from labeling import drafting, graphs
from labeling.access import RESEARCHER, REVIEWER
from labeling.api.base import MIB, CampaignDoors
from labeling.api.bodies import (
    GraphSerializer,
    NewGraphSerializer,
    OpenedSerializer,
    OpenImagesSerializer,
)
from labeling.errors import NotYours
from labeling.models import Graph


class GraphDoors(CampaignDoors):
    queryset = Graph.objects.none()
    serializer_class = GraphSerializer
    max_body_bytes = 16 * MIB

    @extend_schema(responses=GraphSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """The graph in force."""
        version = graphs.version_of(self.campaign(RESEARCHER, REVIEWER))
        if version is None:
            raise NotYours("The campaign has no question graph yet.")
        return self.answer(GraphSerializer, version)

    @extend_schema(request=NewGraphSerializer, responses=GraphSerializer)
    def update(self, request: Request, campaign: str) -> Response:
        """Puts a graph in force. The same one again changes nothing; every fault is named."""
        row = self.campaign(RESEARCHER)
        body: dict[str, Any] = self.read(NewGraphSerializer)
        made = graphs.define(
            row, self.user, body["graph"], body["reason"], instead_of=body["version"]
        )
        return self.answer(GraphSerializer, made)

    @extend_schema(request=OpenImagesSerializer, responses={202: OpenedSerializer})
    def images(self, request: Request, campaign: str) -> Response:
        """Asks the graph's first questions of these images. What is asked already stays."""
        row = self.campaign(RESEARCHER)
        names = self.read(OpenImagesSerializer)["images"]
        opened = drafting.open_images(row, names)
        return self.answer(OpenedSerializer, {"opened": opened}, 202)
