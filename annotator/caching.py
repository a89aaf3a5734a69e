"""What a signed-in person sees stays out of every cache, unless a view says otherwise; what their
browser keeps nevertheless, such as photographs, leaves it as they log out."""

from collections.abc import Callable

from django.contrib.auth.signals import user_logged_out
from django.http import HttpRequest, HttpResponse


class PrivateByDefault:
    """Marks answers to signed-in people `private, no-store` where the view set nothing itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Whoever was asked for has been looked up already; a page that asked nobody stays as it is.
        if hasattr(request, "_cached_user") and request.user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-store")
        if hasattr(request, "_logged_out"):
            response.headers["Clear-Site-Data"] = '"cache"'
        return response


def mark_logged_out(request: HttpRequest, **_: object) -> None:
    """Mark the request for the middleware, whichever page of the site or of Django's logs out."""
    request._logged_out = True  # type: ignore[attr-defined]


user_logged_out.connect(mark_logged_out)
