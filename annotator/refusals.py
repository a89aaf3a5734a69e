"""The only place that turns a Refusal into a page or an HTTP status."""

import sys

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views import defaults

from labeling.errors import NotYours, Refusal, Unavailable
from labeling.web import problems


class RefusalMiddleware:
    """Middleware that answers a Refusal of any view: JSON for scripts, a page for people."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # PostgreSQL takes no NUL in any text, so a URL with one matches nothing.
        if "\0" in request.path or "%00" in request.META.get("QUERY_STRING", ""):
            return self._no_such_address(request)
        return self.get_response(request)

    def _no_such_address(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith("/api/"):
            return problems.not_found(request)
        return answer(
            request, NotYours(gettext("There is no such address. It has a NUL character."))
        )

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        refusal = problems.as_unavailable(exception) or exception
        return answer(request, refusal) if isinstance(refusal, Refusal) else None


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an exception raised outside any view, such as in session middleware."""
    refusal = problems.as_unavailable(sys.exception())
    return answer(request, refusal) if refusal else defaults.server_error(request)


def wants_json(request: HttpRequest) -> bool:
    """Return whether a script asks: the view says so, or the Accept header names JSON."""
    return getattr(request, "speaks_json", False) or (
        "application/json" in request.headers.get("Accept", "")
    )


def answer(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    """Return the response to a Refusal: a problem for the API, {"code", "message", "field"} for
    scripts, a page for people.
    """
    if request.path.startswith("/api/"):
        return problems.respond(refusal)
    if wants_json(request):
        response: HttpResponse = JsonResponse(
            {"code": refusal.code, "message": refusal.message, "field": refusal.field},
            status=refusal.status,
        )
    else:
        # Without a database there is no user for the page's header.
        reader = None if isinstance(refusal, Unavailable) else request
        response = render(reader, "refusal.html", {"refusal": refusal}, status=refusal.status)
    for name, value in problems.retry_after(refusal).items():
        response.headers[name] = value
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page that says the form is out of date; it has a fresh token for the next try."""
    get_token(request)
    refusal = Refusal(
        gettext(
            "This page was open for too long or in another session. Open it again and repeat what "
            "you did."
        ),
        code="csrf_failed",
    )
    refusal.status = 403
    if request.path.startswith("/api/") or wants_json(request):
        return answer(request, refusal)
    again = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(again, {request.get_host()}):
        again = reverse("home")
    context = {"refusal": refusal, "again": again}
    return render(request, "refusal.html", context, status=refusal.status)
