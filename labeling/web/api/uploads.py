"""Files sent in parts by the protocol tus 1.0.0, with its extension creation."""

import binascii
from base64 import b64decode
from io import BytesIO
from typing import Any

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from labeling.campaigns.access import check_researches
from labeling.errors import Refusal
from labeling.jobs import partial_uploads
from labeling.models import User
from labeling.web.api.base import BaseViewSet
from labeling.web.serializers.common import Plain

VERSION = "1.0.0"
OFFSET, LENGTH, METADATA = "Upload-Offset", "Upload-Length", "Upload-Metadata"


class OtherVersion(Refusal):
    """The client speaks another version of the protocol."""

    status = 412
    code = "other_version"


class PartialUploadSerializer(Plain):
    id = serializers.CharField(
        source="sha256", help_text="SHA-256 of the file. Send it as text in place of the file."
    )
    name = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes of the whole file.")
    offset = serializers.IntegerField(help_text="Bytes that have arrived.")


class OffsetParser(BaseParser):
    """Leaves the body unread."""

    media_type = "application/offset+octet-stream"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        return stream


def _header(name: str, example: str, description: str) -> OpenApiParameter:
    return OpenApiParameter(
        name,
        location=OpenApiParameter.HEADER,
        required=True,
        description=description,
        examples=[OpenApiExample("example", value=example)],
    )


class UploadViewSet(BaseViewSet):
    queryset = User.objects.none()
    serializer_class = PartialUploadSerializer
    parser_classes = [OffsetParser]
    lookup_field = "sha256"
    lookup_value_converter = "slug"

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.headers.get("Tus-Resumable", VERSION) != VERSION:
            raise OtherVersion(f"This site speaks version {VERSION} of tus.", field="Tus-Resumable")

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Tus-Resumable"] = response["Tus-Version"] = VERSION
        response["Tus-Extension"] = "creation"
        response["Tus-Max-Size"] = str(settings.ASSAY_MAX_UPLOAD_BYTES)
        response["Cache-Control"] = "no-store"
        return response

    @extend_schema(
        request=None,
        responses={201: PartialUploadSerializer},
        parameters=[
            _header(LENGTH, "734003200", "Bytes of the whole file."),
            _header(
                METADATA,
                "filename cHJlZGljdGlvbnMuY3N2,sha256 OWY4NmQwODE4ODRjN2Q2NTlhMmZlYWEwYzU1YWQwMTVh"
                "M2JmNGYxYjJiMGI4MjJjZDE1ZDZjMTViMGYwMGEwOA==",
                "filename and sha256 (in hex), each followed by its value in Base64.",
            ),
        ],
    )
    def create(self, request: Request) -> Response:
        """Start an upload, or return yours of the same file with what has arrived.

        By tus 1.0.0 (https://tus.io): existing clients work. The location is in `Location`. Large
        files then arrive by PATCH in parts. Fields of files take the upload's id in place of a
        file. The upload is removed once it was used, or after three days.
        """
        check_researches(self.user)
        metadata = _metadata(request.headers.get(METADATA, ""))
        upload = partial_uploads.begin(
            self.user,
            metadata.get("sha256", ""),
            metadata.get("filename", ""),
            _bytes(request, LENGTH),
        )
        return self._answer(upload, 201)

    @extend_schema(responses=PartialUploadSerializer)
    def retrieve(self, request: Request, sha256: str) -> Response:
        """Return how many bytes of an upload have arrived. HEAD returns the same headers."""
        return self._answer(partial_uploads.find(self.user, sha256), 200)

    @extend_schema(
        request={OffsetParser.media_type: OpenApiTypes.BINARY},
        responses={204: None},
        parameters=[_header(OFFSET, "8388608", "Where the bytes begin: bytes that have arrived.")],
    )
    def partial_update(self, request: Request, sha256: str) -> Response:
        """Append bytes to an upload. Responds 409 if it ends elsewhere; GET returns where."""
        upload = partial_uploads.find(self.user, sha256)
        # An empty body is parsed to an empty dict.
        content: Any = request.data or BytesIO()
        upload.append(_bytes(request, OFFSET), content)
        return self._answer(upload, 204)

    def _answer(self, upload: partial_uploads.PartialUpload, status: int) -> Response:
        response = Response(status=204)
        if status != 204:
            response = self.answer(PartialUploadSerializer, upload, status)
        response[OFFSET], response[LENGTH] = str(upload.offset()), str(upload.size)
        response["Location"] = reverse("api:upload", kwargs={"sha256": upload.sha256})
        return response


def _bytes(request: Request, header: str) -> int:
    """Return the number in a header. Raises Refusal unless it is a natural number."""
    text = request.headers.get(header, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise Refusal(f"{header} is {text[:40]!r}, expected a number of bytes.", field=header)
    return int(text)


def _metadata(text: str) -> dict[str, str]:
    """Return the values of Upload-Metadata. Raises Refusal if one is not Base64 of UTF-8."""
    pairs = (pair.strip().partition(" ") for pair in text.split(","))
    try:
        return {key: b64decode(value, validate=True).decode() for key, _, value in pairs}
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Refusal(f"A value in {METADATA} is not Base64 of UTF-8.", field=METADATA) from error
