"""The view that sets the language of a user's pages."""

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponseBase
from django.views import i18n
from django.views.decorators.http import require_POST


@login_not_required
@require_POST
def set_language(request: HttpRequest) -> HttpResponseBase:
    """Save the posted `language` in a cookie; redirect to `next` or the previous page."""
    return i18n.set_language(request)
