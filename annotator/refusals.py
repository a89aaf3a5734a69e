"""The one place where a Refusal becomes a page or an HTTP status."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from labeling.errors import Refusal


class RefusalMiddleware:
    """Answers a Refusal raised by any view: JSON for scripts, a page for people."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, Refusal):
            return None
        if "application/json" in request.headers.get("Accept", ""):
            return JsonResponse(
                {
                    "code": exception.code,
                    "message": exception.message,
                    "field": exception.field,
                },
                status=exception.status,
            )
        return render(request, "refusal.html", {"refusal": exception}, status=exception.status)
