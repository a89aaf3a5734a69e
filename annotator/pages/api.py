"""The labeling API: the same actions as the page, with the same secrecy.

It is in this package because seats and their signed URLs are (annotator/pages/seats.py).
"""

from typing import Any

import django_filters
from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response

from annotator.pages import seats
from annotator.pages.bodies import MAX_BODY_BYTES
from labeling.answers import flagging, submitting
from labeling.answers.submitted_answers import MAX_BATCH, MAX_DURATION_MS, SubmittedAnswer
from labeling.assignment import claiming
from labeling.campaigns.access import RESEARCHER, campaign_for
from labeling.errors import NotYours
from labeling.models import Answer, Question, Seat
from labeling.quality import monitoring, qualifying
from labeling.web.api.base import BaseViewSet, Body, CampaignViewSet
from labeling.web.serializers.common import AnyField

TOKEN = r"^[0-9a-z]{1,32}$"  # noqa: S105 - a pattern


class NextSeatsSerializer(Body):
    size = serializers.IntegerField(
        required=False, min_value=1, max_value=100, help_text="Open seats count too."
    )
    known = serializers.ListField(
        child=serializers.CharField(max_length=64),
        default=list,
        max_length=5_000,
        help_text="Topics that need not be described again.",
    )


class SeatSerializer(serializers.Serializer):
    seat = serializers.CharField(help_text="A random token; answers name it.")
    topic = serializers.CharField()
    image = serializers.CharField(help_text="The image's address, signed for you, for 12 hours.")
    shows = AnyField(
        required=False,
        help_text="Where boxes are asked for: the step (draw, check, cover), the image's size, and "
        "boxes, in pixels of the upright image.",
    )


class SeatsSerializer(serializers.Serializer):
    seats = SeatSerializer(many=True)
    topics = serializers.DictField(help_text="What people are told of each topic, by its key.")
    left = serializers.IntegerField(help_text="About how many more you could answer.")


class DurationField(serializers.IntegerField):
    """Milliseconds, capped at one hour as on the page."""

    def to_internal_value(self, data: Any) -> int:
        return min(super().to_internal_value(data), MAX_DURATION_MS)


class AnswerSerializer(Body):
    id = serializers.UUIDField(help_text="Made by you; the same again is the same answer.")
    seat = serializers.RegexField(TOKEN)
    value = AnyField()
    duration_ms = DurationField(
        required=False, allow_null=True, default=None, min_value=0, max_value=MAX_DURATION_MS
    )
    input_method = serializers.ChoiceField(
        Answer.InputMethod.choices,
        required=False,
        default=None,
        help_text="How it was given, for the researchers' figures alone.",
    )
    language = serializers.ChoiceField(
        settings.LANGUAGES,
        required=False,
        default=None,
        help_text="Of the page on which a person gave it, for the researchers' figures alone.",
    )
    looks = AnyField(required=False, allow_null=True, help_text="Ignored; earlier pages sent it.")
    along = AnyField(required=False, allow_null=True, help_text="Ignored.")


class AnswersSerializer(Body):
    answers = AnswerSerializer(many=True, allow_empty=False, max_length=MAX_BATCH)  # type: ignore[call-arg]


class NewFlagSerializer(Body):
    id = serializers.UUIDField(help_text="Made by you; the same again is the same flag.")
    note = serializers.CharField(max_length=flagging.MAX_TEXT)


class ResultSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    status = serializers.ChoiceField([submitting.ACCEPTED, submitting.REFUSED])
    code = serializers.CharField(allow_blank=True)
    message = serializers.CharField(allow_blank=True)
    revision = serializers.IntegerField(allow_null=True)


class ResultsSerializer(serializers.Serializer):
    results = ResultSerializer(many=True)


class AnswerRowSerializer(serializers.ModelSerializer):
    question = serializers.IntegerField(source="assignment.question_id")
    image = serializers.CharField(source="assignment.question.item.image.name")
    topic = serializers.CharField(source="assignment.question.topic")
    step = serializers.CharField(source="assignment.question.step", help_text="Of boxes.")
    annotator = serializers.CharField(source="assignment.annotator.pseudonym")
    value = AnyField()
    gold = serializers.SerializerMethodField(help_text="Whether the right answer was known.")

    class Meta:
        model = Answer
        fields = (
            "id",
            "question",
            "image",
            "topic",
            "step",
            "annotator",
            "value",
            "gold",
            "revision",
            "duration_ms",
            "late",
            "created_at",
        )

    def get_gold(self, row: Answer) -> bool:
        return row.assignment.question.state == Question.State.GOLD


class AnswerFilters(django_filters.FilterSet):
    question = django_filters.NumberFilter("assignment__question", max_value=2**63 - 1)
    image = django_filters.CharFilter("assignment__question__item__image__name")
    topic = django_filters.CharFilter("assignment__question__topic")

    class Meta:
        model = Answer
        fields = ("question", "image", "topic", "late")


class AnswerViewSet(CampaignViewSet):
    queryset = Answer.objects.none()
    serializer_class = AnswerRowSerializer
    filterset_class = AnswerFilters
    ordering = ("assignment_id", "revision")
    max_body_bytes = MAX_BODY_BYTES

    def list(self, request: Request, campaign: str) -> Response:
        """Return every answer, also replaced and late ones, under pseudonyms.

        For researchers alone: annotators must not learn which questions are gold.
        """
        rows = Answer.objects.filter(assignment__question__campaign=self.campaign(RESEARCHER))
        related = "assignment__annotator", "assignment__question__item__image"
        return self.paged(rows.select_related(*related), AnswerRowSerializer)

    @extend_schema(request=AnswersSerializer, responses={200: ResultsSerializer})
    def create(self, request: Request, campaign: str) -> Response:
        """Return the result of each answer, in order. Accepted ones are on disk."""
        row = self.campaign()
        body = self.read(AnswersSerializer)
        for answer in body["answers"]:
            for key in ("looks", "along"):
                answer.pop(key, None)
        sent = [SubmittedAnswer(**answer) for answer in body["answers"]]
        results = submitting.submit(self.user, row, sent, monitoring.watch_now)
        return self.answer(ResultsSerializer, {"results": results})


class RootSerializer(serializers.Serializer):
    """Addresses of the first level, and of the schema."""

    me = serializers.CharField()
    datasets = serializers.CharField()
    campaigns = serializers.CharField()
    benchmarks = serializers.CharField()
    models = serializers.CharField()
    tokens = serializers.CharField()
    schema = serializers.CharField()
    docs = serializers.CharField()


class RootViewSet(BaseViewSet):
    queryset = Answer.objects.none()
    serializer_class = RootSerializer
    pagination_class = None

    @extend_schema(responses=RootSerializer)
    def retrieve(self, request: Request) -> Response:
        """Return the addresses of the first level, of the schema and of its page."""
        names = RootSerializer().fields
        return self.answer(RootSerializer, {name: reverse(f"api:{name}") for name in names})


class LabelViewSet(CampaignViewSet):
    queryset = Answer.objects.none()
    serializer_class = SeatsSerializer
    pagination_class = None
    max_body_bytes = MAX_BODY_BYTES

    @extend_schema(request=NextSeatsSerializer, responses=SeatsSerializer)
    def seats(self, request: Request, campaign: str) -> Response:
        """Return my open seats, filled up to `size` with new ones.

        Asking twice claims nothing twice.
        """
        row = self.campaign()
        body = self.read(NextSeatsSerializer)
        page = qualifying.next_page(self.user, row, body.get("size"))
        payload = seats.describe(page.seats, self.user, row, body["known"])
        for seat in payload["seats"]:
            _, signature = seat["image"].split("?", 1)
            seat["image"] = f"{reverse('api:seat-image', args=[seat['seat']])}?{signature}"
        for topic in payload["topics"].values():
            for example in topic.get("examples", []):
                example["image"] = request.build_absolute_uri(example["image"])
        return self.answer(SeatsSerializer, {**payload, "left": page.left})


class Anything(BaseContentNegotiation):
    """Content negotiation that sends images in their own type whatever the client accepts."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class SeatViewSet(BaseViewSet):
    queryset = Seat.objects.none()
    serializer_class = SeatSerializer
    pagination_class = None
    content_negotiation_class = Anything
    lookup_field = "token"
    lookup_value_converter = "slug"
    filter_backends: list[Any] = []

    @extend_schema(
        parameters=[OpenApiParameter("s", str, required=True, description="The signature.")],
        responses={(200, "image/*"): OpenApiTypes.BINARY},
    )
    @action(detail=True, url_name="seat-image")
    def image(self, request: Request, token: str) -> HttpResponse:
        """Return the image of my own seat, by the address that came with it."""
        seats.check_signature(token, self.user, request.query_params.get("s", ""))
        seat = seats.seat_of(self.user, token)
        campaign_for(self.user, seat.question.campaign.name)
        return seats.image_response(seat.question.item.image)

    @extend_schema(request=None, responses={204: None})
    @action(["post"], detail=True, url_name="seat-skip")
    def skip(self, request: Request, token: str) -> Response:
        """Give the seat back unanswered. Twice is no error."""
        claiming.return_seat(self.user, token)
        return Response(status=204)

    @extend_schema(request=NewFlagSerializer, responses={204: None})
    @action(["post"], detail=True, url_name="seat-flag")
    def flag(self, request: Request, token: str) -> Response:
        """Tell the campaign's researchers about the image of my own seat."""
        seat = Seat.objects.filter(token=token, annotator=self.user)
        row = seat.select_related("question__campaign").first()
        if row is None:
            raise NotYours("This image is not with you.")
        body = self.read(NewFlagSerializer)
        flagging.flag(self.user, row.question.campaign, body["id"], token, body["note"])
        return Response(status=204)
