"""Download responses of results: file names and headers."""

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.http import content_disposition_header

from evaluation.benchmarks.tables import as_csv
from evaluation.figures import FORMS
from evaluation.models import Benchmark, Run

Response = TypeVar("Response", bound=HttpResponseBase)


def name_of(row: Benchmark, run: Run, end: str) -> str:
    """Return the file name of a run's download, such as cats-run-7-summary.csv."""
    return f"{row.name}-run-{run.pk}{end}"


def attached(response: Response, name: str) -> Response:
    """Return the response as an attachment of this name."""
    response["Content-Disposition"] = content_disposition_header(True, name) or ""
    return response


def text(content: str, media_type: str, name: str) -> HttpResponse:
    return attached(HttpResponse(content, content_type=media_type), name)


TYPES = {
    ".jsonl": "application/jsonl",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".zip": "application/zip",
}


def type_of(name: str) -> str:
    return TYPES.get(Path(name).suffix, "application/octet-stream")


def file(content: IO[bytes], name: str) -> FileResponse:
    """Return an open file, which the response closes."""
    return FileResponse(content, as_attachment=True, filename=name, content_type=type_of(name))


def csv(
    row: Benchmark, run: Run, table: str, head: Sequence[str], rows: Sequence[Sequence[Any]]
) -> HttpResponse:
    """Return a table of a run's result."""
    name = name_of(row, run, f"-{table}.csv")
    return text(as_csv(head, rows), "text/csv; charset=utf-8", name)


def figure(
    request: HttpRequest, row: Benchmark, run: Run, name: str, form: str, content: bytes
) -> HttpResponse:
    """Return a figure of a run's result, as an attachment if the address has ?download."""
    response = HttpResponse(content, content_type=FORMS[form])
    # A run's result and its figures never change.
    response["Cache-Control"] = "private, max-age=3600"
    if "download" in request.GET:
        attached(response, name_of(row, run, f"-{name}.{form}"))
    return response
