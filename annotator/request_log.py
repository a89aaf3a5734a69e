"""A request id, one log line for each response, and the id in every log line between.

The id is the caller's `X-Request-ID` if well formed, else a new one. It is in the response header
and in the jobs that the request queues (annotator/celery.py), so workers log it too.
"""

import logging
import re
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar

from django.conf import settings
from django.core.signals import request_finished
from django.http import HttpRequest, HttpResponse

logger = logging.getLogger(__name__)

HEADER = "X-Request-ID"
# Callers' ids appear in logs: allow nothing that breaks a line, a shell or a search.
WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,64}")

request_id: ContextVar[str] = ContextVar("request_id", default="")
job: ContextVar[int | None] = ContextVar("job", default=None)


class LogContext(logging.Filter):
    """Log filter that adds request_id and job to each record, and `context`, both as text.

    In Django's records of refused requests it replaces the path by the route.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        match = getattr(getattr(record, "request", None), "resolver_match", None)
        if match is not None and record.args and isinstance(record.args, tuple):
            record.args = (*record.args[:-1], f"/{match.route}")
        known = {"request_id": request_id.get(), "job": job.get()}
        for name, value in known.items():
            if value:
                setattr(record, name, value)
        record.context = "".join(f" {name}={value}" for name, value in known.items() if value)
        return True


def json_formatter() -> logging.Formatter:
    """Return a formatter that writes a record as one JSON line: timestamp (ISO 8601, UTC), level,
    logger, message, request_id, job, exc_info and the caller's `extra`.
    """
    from pythonjsonlogger.core import RESERVED_ATTRS
    from pythonjsonlogger.json import JsonFormatter

    return JsonFormatter(
        ["levelname", "name", "message"],
        rename_fields={"levelname": "level", "name": "logger"},
        timestamp=True,
        # Attributes that Django and Celery add for their own handlers: requests, task arguments.
        reserved_attrs=[*RESERVED_ATTRS, "context", "request", "server_time", "data"],
    )


class RequestLog:
    """Middleware around all but monitoring: sets the request id and logs the route.

    It never logs the path, which may hold secrets of seats, invitations and password resets.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        start = time.perf_counter()
        sent = request.headers.get(HEADER, "")
        name = sent if WELL_FORMED.fullmatch(sent) else uuid.uuid4().hex
        request_id.set(name)
        response = self.get_response(request)
        response.headers[HEADER] = name
        seconds = time.perf_counter() - start
        if settings.ASSAY_MONITORING_TOKEN:
            # Import metrics only if monitoring is on.
            from annotator import metrics

            try:
                metrics.count_request(request, response.status_code, seconds)
            except OSError as error:
                # The response must be sent even if the metrics folder is gone or full.
                logger.warning("a request was not counted: %s", error)
        if request.resolver_match is not None:
            facts = {
                "method": request.method,
                "route": request.resolver_match.route,
                "status": response.status_code,
                "milliseconds": round(1000 * seconds),
            }
            logger.info(
                "%(method)s /%(route)s %(status)d in %(milliseconds)d ms", facts, extra=facts
            )
        return response


def forget(**_: object) -> None:
    """Clear the context after the body is sent: Django logs statuses from 400 outside
    middleware.
    """
    request_id.set("")


request_finished.connect(forget)
