"""Keep pages of signed-in users out of every cache unless a view says otherwise.

What their browser does keep, such as photographs, is cleared at logout.
"""

from collections.abc import Callable

from django.contrib.auth.signals import user_logged_out
from django.http import HttpRequest, HttpResponse


class PrivateByDefault:
    """Middleware that marks responses to signed-in users `private, no-store` unless the view set a
    cache header.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        # Check only users that the view has looked up; pages that did not need the user stay
        # cacheable.
        if hasattr(request, "_cached_user") and request.user.is_authenticated:
            response.headers.setdefault("Cache-Control", "private, no-store")
        if hasattr(request, "_logged_out"):
            response.headers["Clear-Site-Data"] = '"cache"'
        return response


def mark_logged_out(request: HttpRequest, **_: object) -> None:
    """Mark the request for the middleware, whether a page of the site or of Django's logged out."""
    request._logged_out = True  # type: ignore[attr-defined]


user_logged_out.connect(mark_logged_out)
