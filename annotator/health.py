"""`/healthz`: 200 while the database answers, for a load balancer or a container's health check."""

from collections.abc import Callable

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.cache import add_never_cache_headers
from django.views.decorators.http import require_safe

PATH = "healthz"


class HealthCheck:
    """Answers `/healthz` before any other middleware: a check comes by plain HTTP and by address,
    so neither the redirect to HTTPS nor ALLOWED_HOSTS may turn it away."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return health(request) if request.path_info == f"/{PATH}" else self.get_response(request)


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """200 while the database answers, 503 otherwise."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()
    except Error:
        response = JsonResponse({"status": "no database"}, status=503)
    else:
        response = JsonResponse({"status": "ok"})
    add_never_cache_headers(response)
    return response
