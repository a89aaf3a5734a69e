"""API errors as problem+json (RFC 9457): message, field and cure."""

import logging
import re
import sqlite3
from collections.abc import Iterator
from typing import Any, TypedDict

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, JsonResponse
from django.utils.translation import gettext
from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from labeling.db.sql import LostRace
from labeling.errors import NotAllowed, NotYours, Refusal, TooLarge, Unavailable
from labeling.files import BadInput

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
NON_FIELD = "non_field_errors"

TITLES = {
    400: "The request is invalid",
    401: "Authentication is required",
    403: "You may not do this",
    404: "Not found",
    405: "The address does not allow this method",
    406: "The requested media type is not available",
    409: "The request conflicts with the current state",
    413: "The request is too large",
    415: "The media type of the body is not supported",
    429: "Too many requests",
    503: "The site cannot do this at the moment",
}
CURES = {
    400: "Correct the request and send it again.",
    401: "Send Authorization: Bearer <token>, or log in on the site.",
    403: "Ask a researcher of the campaign, or an administrator, for the right to do this.",
    404: "Check the address, which ends in a slash, and whether you have access.",
    405: "Use one of the methods in the Allow header.",
    406: "Ask for application/json.",
    409: "Read the current state, then try again.",
    413: "Send less per request.",
    415: "Send application/json; files go as multipart/form-data.",
    429: "Wait as long as the Retry-After header says.",
    503: "Wait as long as the Retry-After header says, then send the request again.",
}
# The cure by Django REST framework's error code.
FIELD_CURES = {
    "required": "Send {field}.",
    "null": "Send a value for {field}, or leave it out.",
    "blank": "Give {field} at least one character.",
    "empty": "Send at least one entry in {field}.",
    "max_length": "Shorten {field}.",
    "max_string_length": "Shorten {field}.",
    "invalid_choice": "Choose a value that the schema lists for {field}.",
    "not_a_list": "Send {field} as a list.",
    "not_a_dict": "Send {field} as an object.",
    "unknown": "Leave {field} out, or correct its spelling.",
}


class RequestFault(TypedDict):
    """An error in a request, with its field and cure."""

    field: str | None
    message: str
    cure: str


def handle(exception: Exception, context: dict[str, object]) -> Response | None:
    """Return the problem of an exception; None for an unexpected one."""
    exception = _as_refusal(exception)
    if isinstance(exception, Refusal):
        errors = list(_from_refusals(exception))
        return _respond(exception.status, exception.code, errors, retry_after(exception))
    response = exception_handler(exception, context)
    if response is None or not isinstance(exception, exceptions.APIException):
        return None
    errors = list(_from_detail(exception.detail, "", response.status_code))
    headers = {
        name: response[name] for name in ("WWW-Authenticate", "Retry-After") if name in response
    }
    return _respond(response.status_code, _code_of(exception), errors, headers)


def _as_refusal(exception: Exception) -> Exception:
    if unavailable := as_unavailable(exception):
        return unavailable
    if isinstance(exception, BadInput):
        return _from_bad_input(exception)
    if isinstance(exception, RequestDataTooBig):
        size = f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 1024:,} KiB"
        return TooLarge(f"The form has more than {size} without its files. Send less per request.")
    if isinstance(exception, SuspiciousOperation):
        return Refusal("The request is malformed. Correct it and send it again.", code="malformed")
    if isinstance(exception, Http404):
        return NotYours("There is no such object, or you have no access to it.")
    if isinstance(exception, PermissionDenied):
        return NotAllowed("You may not do this.")
    return exception


def as_unavailable(exception: BaseException | None) -> Unavailable | None:
    """Return a refusal for a lost race or an unreachable database, else None."""
    if isinstance(exception, LostRace):
        return Unavailable(gettext("Many requests changed the same rows at once."), code="busy")
    if not isinstance(exception, OperationalError | InterfaceError) or _is_faulty(exception):
        return None
    logger.error("the database does not answer: %s", exception)
    return Unavailable(gettext("The database does not answer."))


def _is_faulty(error: Exception) -> bool:
    """Return whether our SQL is wrong; SQLite has no separate exception class for that."""
    cause = error.__cause__
    generic = isinstance(error, InterfaceError) and isinstance(cause, sqlite3.Error)
    return generic or getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR


def retry_after(refusal: Refusal) -> dict[str, str]:
    """Return the Retry-After header, if there is a time."""
    return {"Retry-After": str(refusal.retry_after)} if refusal.retry_after else {}


def respond(refusal: Refusal) -> JsonResponse:
    """Return the problem response of a refusal outside the framework's views."""
    content = body(refusal.status, refusal.code, list(_from_refusals(refusal)))
    return JsonResponse(
        content, status=refusal.status, content_type=MEDIA_TYPE, headers=retry_after(refusal)
    )


def _from_bad_input(bad: BadInput) -> Refusal:
    prefix = f"Line {bad.line}: " if bad.line is not None else ""
    cure = f" {bad.cure[0].upper()}{bad.cure[1:]}." if bad.cure else ""
    return Refusal(f"{prefix}{bad.message}.{cure}", field="file", code="bad_input")


def body(status_code: int, code: str, errors: list[RequestFault]) -> dict[str, object]:
    """Return the members of a problem; `code` and `errors` extend RFC 9457."""
    first = errors[0]
    detail = first["message"] if first["field"] is None else f"{first['field']}: {first['message']}"
    return {
        "type": f"urn:assay:problem:{code.replace('_', '-')}",
        "title": TITLES.get(status_code, "The request failed"),
        "status": status_code,
        "detail": detail,
        "code": code,
        "errors": errors,
    }


@login_not_required
def not_found(request: Any, *args: Any, **kwargs: Any) -> JsonResponse:
    """Return the problem response for unknown addresses of the API."""
    error: RequestFault = {
        "field": None,
        "message": "There is no such address.",
        "cure": CURES[404],
    }
    return JsonResponse(body(404, "not_found", [error]), status=404, content_type=MEDIA_TYPE)


def _respond(
    status_code: int, code: str, errors: list[RequestFault], headers: dict[str, str] | None = None
) -> Response:
    return Response(
        body(status_code, code, errors),
        status=status_code,
        content_type=MEDIA_TYPE,
        headers=headers,
    )


def _from_refusals(refusal: Refusal) -> Iterator[RequestFault]:
    """Yield one error, or one per fault for refusals with several faults, such as of a graph."""
    faults = getattr(refusal, "faults", ())
    if len(faults) < 2:
        yield _from_refusal(refusal)
    for fault in faults if len(faults) > 1 else ():
        message, _, cure = fault.rstrip(".").partition("; ")
        cure = f"{cure[:1].upper()}{cure[1:]}." if cure else _default_cure(refusal)
        yield {"field": refusal.field, "message": message, "cure": cure}


def _from_refusal(refusal: Refusal) -> RequestFault:
    # The first sentence of a message is the fault. The others, if any, are the cure.
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", refusal.message.strip(), maxsplit=1)
    fault = sentences[0]
    cure = sentences[1] if len(sentences) > 1 else _default_cure(refusal)
    return {"field": refusal.field, "message": fault, "cure": cure}


def _default_cure(refusal: Refusal) -> str:
    if refusal.field and refusal.status == status.HTTP_400_BAD_REQUEST:
        return f"Correct {refusal.field} and send the request again."
    return CURES.get(refusal.status, CURES[400])


def _from_detail(detail: Any, field: str, status_code: int) -> Iterator[RequestFault]:
    """Yield an error for every leaf of the framework's nested details."""
    if isinstance(detail, dict):
        for key, inner in detail.items():
            name = field if key == NON_FIELD else f"{field}.{key}".lstrip(".")
            yield from _from_detail(inner, name, status_code)
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, dict | list)
            where = f"{field}.{index}".lstrip(".") if nested else field
            yield from _from_detail(inner, where, status_code)
    else:
        code = getattr(detail, "code", "")
        yield {
            "field": field or None,
            "message": str(detail),
            "cure": _cure(code, field, status_code),
        }


def _cure(code: str, field: str, status_code: int) -> str:
    if not field:
        return CURES.get(status_code, CURES[400])
    return FIELD_CURES.get(code, "Correct {field} and send the request again.").format(field=field)


def _code_of(exception: exceptions.APIException) -> str:
    codes = exception.get_codes()
    return codes if isinstance(codes, str) else "invalid"
