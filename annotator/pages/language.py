"""Choosing the language of one's pages."""

from django.http import HttpRequest, HttpResponseBase
from django.views import i18n
from django.views.decorators.http import require_POST


@require_POST
def set_language(request: HttpRequest) -> HttpResponseBase:
    """Keep the posted `language` in a cookie; leads back to `next`, or to where one was."""
    return i18n.set_language(request)
