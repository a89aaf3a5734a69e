"""Responses that a browser saves as a file."""

from collections.abc import Iterable
from typing import TypeVar

from django.http import HttpResponse, HttpResponseBase
from django.utils.http import content_disposition_header

from labeling.csv_rows import csv_lines

Response = TypeVar("Response", bound=HttpResponseBase)
CSV = "text/csv; charset=utf-8"


def as_attachment(response: Response, name: str) -> Response:
    """Return the response as an attachment of this name."""
    response["Content-Disposition"] = content_disposition_header(True, name) or ""
    return response


def text(content: str, media_type: str, name: str) -> HttpResponse:
    return as_attachment(HttpResponse(content, content_type=media_type), name)


def csv(rows: Iterable[Iterable[object]], name: str) -> HttpResponse:
    """Return the rows as a CSV file of this name."""
    return text("".join(csv_lines(rows)), CSV, name)
