"""Shared by all API actions: bounded bodies, cursor pages, strict filters, error descriptions."""

import json
import math
import re
from collections.abc import Callable
from typing import IO, Any, Literal

from django.conf import settings
from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.files.base import File
from django.db.models import QuerySet
from django.http import FileResponse
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers, viewsets
from rest_framework.exceptions import ErrorDetail, NotFound, ParseError, ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.metadata import SimpleMetadata
from rest_framework.pagination import CursorPagination
from rest_framework.parsers import BaseParser, DataAndFiles, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from labeling.campaigns.access import campaign_for, dataset_for
from labeling.errors import NotYours, TooLarge
from labeling.files import is_storable
from labeling.jobs import partial_uploads
from labeling.models import Campaign, Dataset, User
from labeling.web.api import subjects
from labeling.web.problems import MEDIA_TYPE

MIB = 1024 * 1024
ORDERING = "ordering"


class StrictJSONParser(BaseParser):
    """Parses JSON of at most the view's `max_body_bytes`; rejects NaN, NUL and lone surrogates.

    Not a JSONParser: the framework passes `request.body` to those, and Django limits the body to
    `DATA_UPLOAD_MAX_MEMORY_SIZE` in every view. Other parsers read the stream.
    """

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        limit = getattr((parser_context or {}).get("view"), "max_body_bytes", MIB)
        # Read one byte past the limit to catch a missing or forged length.
        raw = stream.read(limit + 1)
        if len(raw) > limit:
            size = f"{limit // MIB} MiB" if limit >= MIB else f"{limit // 1024} KiB"
            raise TooLarge(f"The body has more than {size}. Send less per request.")
        try:
            return strict_json(raw.decode("utf-8"), "body")
        except UnicodeDecodeError as error:
            raise ParseError("The body is not UTF-8.") from error


class JSONText(serializers.JSONField):
    """A JSON value; in a form it is text, parsed as strictly as a body."""

    def to_internal_value(self, data: Any) -> Any:
        if not getattr(data, "is_json_string", False):
            return super().to_internal_value(data)
        try:
            return strict_json(data, "text")
        except ParseError as error:
            raise ValidationError(error.detail) from error


def strict_json(text: str, name: str) -> object:
    """Return the value of a JSON text. Raises ParseError, whose message calls the text `name`."""
    try:
        value = json.loads(text, parse_constant=_refuse_number, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"The {name} is not JSON: {error}.") from error
    if "\\u" in text and not is_storable(value):
        raise ParseError(f"The {name} contains a NUL or a lone surrogate, which is not valid text.")
    return value


def _refuse_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large a number")
    return value


class BoundedMultiPartParser(MultiPartParser):
    """Parses multipart forms of at most the view's `max_upload_bytes`, by Content-Length."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Any = None
    ) -> "DataAndFiles[Any, Any]":
        context = parser_context or {}
        limit = getattr(context.get("view"), "max_upload_bytes", settings.ASSAY_MAX_UPLOAD_BYTES)
        stated = context["request"].META.get("CONTENT_LENGTH") or 0
        if not str(stated).isdigit() or int(stated) > limit:
            raise TooLarge(f"The upload has more than {limit // MIB} MiB. Send less per request.")
        return super().parse(stream, media_type, parser_context)


class SentFile(serializers.FileField):
    """An uploaded file, or the id of an upload in parts. See `uploads/`."""

    def to_internal_value(self, data: Any) -> File:
        if isinstance(data, str):
            view = self.context["view"]
            most = getattr(view, "max_upload_bytes", settings.ASSAY_MAX_UPLOAD_BYTES)
            try:
                upload = partial_uploads.find(view.user, data)
                if upload.size > most:
                    size = f"{most // MIB:,} MiB"
                    raise TooLarge(f"The file is larger than {size}.", field=self.field_name)
                data = upload.whole()
            except NotYours as error:
                raise ValidationError(error.message, code="no_upload") from error
            view.used_uploads = (*view.used_uploads, (upload, data))
        return super().to_internal_value(data)


class Pages(CursorPagination):
    """Cursor pages, sorted by the view's `ordering` or one of its `ordering_fields`, up or down.

    `ordering` must end with a unique column.
    """

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500

    def get_ordering(self, request: Any, queryset: Any, view: Any) -> tuple[str, ...]:
        chosen, known = request.query_params.get(ORDERING), _orderings(view)
        if chosen is None:
            return _columns(view)
        if chosen not in known:
            raise ValidationError({ORDERING: [f"Use one of: {', '.join(known)}."]}, code="unknown")
        return known[chosen]

    def get_schema_operation_parameters(self, view: Any) -> list[Any]:
        words = {"type": "string", "enum": list(_orderings(view))}
        parameter = {"name": ORDERING, "in": "query", "required": False, "schema": words}
        return [*super().get_schema_operation_parameters(view), parameter]

    def decode_cursor(self, request: Any) -> Any:
        cursor = super().decode_cursor(request)
        if cursor is not None and "\0" in str(cursor.position or ""):
            raise NotFound(self.invalid_cursor_message)
        return cursor

    def paginate_queryset(self, queryset: Any, request: Any, view: Any = None) -> Any:
        try:
            return super().paginate_queryset(queryset, request, view)
        except (ValueError, OverflowError, DjangoValidationError) as error:
            # An invalid cursor: its position is not a value of the column.
            raise NotFound(self.invalid_cursor_message) from error


def _columns(view: Any) -> tuple[str, ...]:
    ordering = view.ordering
    return (ordering,) if isinstance(ordering, str) else tuple(ordering)


def _orderings(view: Any) -> dict[str, tuple[str, ...]]:
    """Return the orders of the list by the value of the query parameter."""
    default = _columns(view)
    name = default[0].lstrip("-").replace("pk", "id")
    forward = default if default[0][0] != "-" else _reversed(default)
    orders = {name: forward, f"-{name}": _reversed(forward)}
    for field in view.ordering_fields:
        columns = (field, forward[-1].lstrip("-"))
        orders |= {field: columns, f"-{field}": _reversed(columns)}
    return orders


def _reversed(columns: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name[1:] if name[0] == "-" else f"-{name}" for name in columns)


class StrictFilters(DjangoFilterBackend):
    """django-filter that rejects unknown query parameters."""

    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        filterset_class = self.get_filterset_class(view, queryset)
        known = {Pages.cursor_query_param, Pages.page_size_query_param, ORDERING, "format"}
        if filterset_class is not None:
            known |= set(filterset_class.base_filters)
        if unknown := sorted(set(request.query_params) - known):
            filters = ", ".join(sorted(known - {"format"}))
            raise ValidationError(
                {name: [f"Unknown filter. Use one of: {filters}."] for name in unknown},
                code="unknown",
            )
        return super().filter_queryset(request, queryset, view)


class ErrorSerializer(serializers.Serializer):
    field = serializers.CharField(allow_null=True, help_text="The faulty field of the request.")
    message = serializers.CharField(help_text="The fault.")
    cure = serializers.CharField(help_text="The cure.")


class ProblemSerializer(serializers.Serializer):
    """RFC 9457 problem details."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField(help_text="A stable code for programs.")
    errors = ErrorSerializer(many=True)  # type: ignore[assignment]


class Schema(AutoSchema):
    """The framework's schema, plus the problem response of every action, tags, summaries and
    examples.
    """

    def get_tags(self) -> list[str]:
        return [subjects.subject_of(self.path)]

    def get_summary(self) -> str | None:
        """Return the first sentence of the description."""
        text = " ".join((self.get_description() or "").split("\n\n")[0].split())
        return re.split(r"(?<=\.) (?=[A-Z])", text)[0].rstrip(".") or None

    def _get_paginator(self) -> Pages | None:
        # Only GET returns pages.
        return super()._get_paginator() if self.method == "GET" else None

    def get_examples(self) -> list[OpenApiExample]:
        body = subjects.example_of(self.method, self.path)
        if body is None:
            return list(super().get_examples())
        return [OpenApiExample("example", value=body, request_only=True)]

    def _get_response_bodies(self, direction: Literal["request", "response"] = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        if direction == "response":
            bodies["default"] = self._get_response_for_code(
                ProblemSerializer, "default", media_types=[MEDIA_TYPE]
            )
        return bodies


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "labeling.web.tokens.ScopedTokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API token's secret."}


class Description(SimpleMetadata):
    """The answer to OPTIONS: name, description and media types.

    Omits the framework's `actions`: they describe the response, not the request body, and fail for
    PUT without a queryset. The schema describes the bodies.
    """

    def determine_actions(self, request: Request, view: Any) -> dict[str, object]:
        return {}


class BaseViewSet(viewsets.GenericViewSet):
    """Base of all viewsets."""

    schema = Schema()
    metadata_class = Description
    pagination_class: type[Pages] | None = Pages
    filter_backends: Any = [StrictFilters]
    parser_classes: Any = [StrictJSONParser]
    ordering: str | tuple[str, ...] = "pk"
    # Columns that the list can be ordered by as well.
    ordering_fields: tuple[str, ...] = ()
    # Path converter of lookup_field.
    lookup_value_converter = "int"
    max_body_bytes = MIB
    # Uploads in parts that this request uses; removed if the request succeeds.
    used_uploads: tuple[tuple[partial_uploads.PartialUpload, IO[bytes]], ...] = ()

    def finalize_response(self, *args: Any, **kwargs: Any) -> Response:
        response: Response = super().finalize_response(*args, **kwargs)
        for upload, file in self.used_uploads:
            file.close()
            if response.status_code < 400:
                upload.remove()
        return response

    @property
    def user(self) -> User:
        user = self.request.user
        assert isinstance(user, User)
        return user

    def paged(
        self: GenericAPIView,
        rows: QuerySet[Any],
        serializer: type[serializers.BaseSerializer],
        context_of: Callable[[list[Any]], dict[str, object]] = lambda page: {},
    ) -> Response:
        """Return a page of the filtered rows.

        context_of: returns further serializer context for the rows of the page.
        """
        page = list(self.paginate_queryset(self.filter_queryset(rows)) or [])
        context = {**self.get_serializer_context(), **context_of(page)}
        serialized = serializer(page, many=True, context=context)
        return self.get_paginated_response(serialized.data)

    def read(self, serializer: type[serializers.BaseSerializer], **more: Any) -> dict[str, Any]:
        """Return the validated body. Raises ValidationError for invalid or unknown fields."""
        context = self.get_serializer_context()
        body = serializer(data=self.request.data, context=context, **more)
        body.is_valid(raise_exception=True)
        return dict(body.validated_data)

    def answer(
        self,
        serializer: type[serializers.BaseSerializer],
        row: Any,
        status: int = 200,
        **context: Any,
    ) -> Response:
        serialized = serializer(row, context={**self.get_serializer_context(), **context})
        return Response(serialized.data, status=status)


class CampaignViewSet(BaseViewSet):
    """Base of actions in the campaign that the URL names."""

    def campaign(self, *roles: str) -> Campaign:
        return campaign_for(self.user, self.kwargs["campaign"], *roles)


class InDataset(BaseViewSet):
    """Base of actions in the dataset that the URL names."""

    @property
    def dataset(self) -> Dataset:
        return dataset_for(self.user, self.kwargs["dataset"])


class Body(serializers.Serializer):
    """A request body; unknown fields are rejected."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and (unknown := sorted(set(data) - set(self.fields))):
            known = ", ".join(self.fields)
            raise ValidationError(
                {
                    str(name): [ErrorDetail(f"Unknown field. Use one of: {known}.", "unknown")]
                    for name in unknown
                }
            )
        return super().to_internal_value(data)


class Key(serializers.IntegerField):
    """A primary key."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=1, max_value=2**63 - 1, **kwargs)


def download(file: Any, name: str, media_type: str) -> FileResponse:
    """Return an open file as an attachment that is not cached."""
    response = FileResponse(file, as_attachment=True, filename=name, content_type=media_type)
    response["Cache-Control"] = "private, no-store"
    return response
