"""Download responses of results: file names and headers."""

from pathlib import Path
from typing import IO

from django.http import FileResponse, HttpRequest, HttpResponse

from evaluation.figures import FORMS
from evaluation.models import Benchmark, Run
from labeling.web.attachments import as_attachment


def name_of(row: Benchmark, run: Run, end: str) -> str:
    """Return the file name of a run's download, such as cats-run-7-summary.csv."""
    return f"{row.name}-run-{run.pk}{end}"


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


def figure(
    request: HttpRequest, row: Benchmark, run: Run, name: str, form: str, content: bytes
) -> HttpResponse:
    """Return a figure of a run's result, as an attachment if the address has ?download."""
    response = HttpResponse(content, content_type=FORMS[form])
    # A run's result and its figures never change.
    response["Cache-Control"] = "private, max-age=3600"
    if "download" in request.GET:
        as_attachment(response, name_of(row, run, f"-{name}.{form}"))
    return response
