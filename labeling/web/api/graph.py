"""API of a campaign's question graph: read, replace, open questions for images, and prices."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import RESEARCHER, REVIEWER
from labeling.errors import NotYours
from labeling.follow_ups import opening
from labeling.graphs import store
from labeling.models import Graph
from labeling.question_graph.inferring import PricePoint
from labeling.reports import graph_price_page
from labeling.reports.graph_price_page import PriceCurve
from labeling.web.api.base import MIB, Body, CampaignViewSet
from labeling.web.serializers.common import AnyField, Plain
from labeling.web.serializers.derived import rows_of


class GraphSerializer(serializers.ModelSerializer):
    graph = AnyField(source="content", help_text='{"nodes": [{"id", "question", "parents", …}]}.')

    class Meta:
        model = Graph
        fields = ("version", "sha256", "created_at", "graph")


class NewGraphSerializer(Body):
    graph = serializers.DictField(help_text="The format of docs/explanation/question-graphs.md.")
    reason = serializers.CharField(allow_blank=True, default="", max_length=500)
    version = serializers.IntegerField(
        min_value=1,
        max_value=2**31,
        allow_null=True,
        default=None,
        help_text="The version that was edited. Refused if it is not the current one.",
    )


class OpenImagesSerializer(Body):
    images = serializers.ListField(
        child=serializers.CharField(max_length=400),
        default=list,
        max_length=50_000,
        help_text="Image names; empty for every image of the dataset.",
    )


class OpenedSerializer(Plain):
    opened = serializers.IntegerField(
        allow_null=True, help_text="First questions opened; null while a job opens them."
    )


PricePointSerializer = rows_of(PricePoint, "PricePoint")


class PriceSerializer(Plain):
    price = serializers.FloatField(
        allow_null=True, help_text="Missed labels that a question must save; null without a price."
    )
    false_cost = serializers.FloatField(help_text="Cost of a false label, in missed labels.")
    finished = serializers.IntegerField(
        allow_null=True,
        source="learned.finished",
        default=None,
        help_text="Finished images that the scenes were learned from; null before that.",
    )
    scenes = serializers.SerializerMethodField()
    error = serializers.FloatField(allow_null=True, source="learned.error", default=None)
    curve = PricePointSerializer(many=True)
    algorithm_1 = PricePointSerializer(allow_null=True)

    def get_scenes(self, curve: PriceCurve) -> int:
        return len(curve.learned.weights) if curve.learned else 0


class GraphViewSet(CampaignViewSet):
    queryset = Graph.objects.none()
    serializer_class = GraphSerializer
    max_body_bytes = 16 * MIB

    @extend_schema(responses=GraphSerializer)
    def retrieve(self, request: Request, campaign: str) -> Response:
        """Return the graph in force."""
        version = store.version_of(self.campaign(RESEARCHER, REVIEWER))
        if version is None:
            raise NotYours("The campaign has no question graph yet.")
        return self.answer(GraphSerializer, version)

    @extend_schema(request=NewGraphSerializer, responses=GraphSerializer)
    def update(self, request: Request, campaign: str) -> Response:
        """Replace the graph. An equal graph changes nothing; the error lists every fault."""
        row = self.campaign(RESEARCHER)
        body = self.read(NewGraphSerializer)
        version = store.define(
            row, self.user, body["graph"], body["reason"], instead_of=body["version"]
        )
        return self.answer(GraphSerializer, version)

    @extend_schema(request=OpenImagesSerializer, responses={202: OpenedSerializer})
    @action(["post"], detail=False, url_name="graph-images")
    def images(self, request: Request, campaign: str) -> Response:
        """Open the graph's first questions for these images. Existing questions stay."""
        row = self.campaign(RESEARCHER)
        names = self.read(OpenImagesSerializer)["images"]
        opened = opening.open_images(row, names)
        return self.answer(OpenedSerializer, {"opened": opened}, 202)

    @extend_schema(responses=PriceSerializer)
    @action(["get"], detail=False, url_name="graph-price")
    def price(self, request: Request, campaign: str) -> Response:
        """Return questions, missed labels and false labels by price, as stated by the learned
        scenes.
        """
        row = self.campaign(RESEARCHER, REVIEWER)
        return self.answer(PriceSerializer, graph_price_page.price_curve(row))
