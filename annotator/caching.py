"""What a signed-in person sees stays out of every cache, unless a view says otherwise."""

from collections.abc import Callable

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
        return response
