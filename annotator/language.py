"""The language of a page: the reader's choice on annotators' pages, English elsewhere."""

import functools
import hashlib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.urls import reverse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.views.i18n import JavaScriptCatalog

# Prefixes of modules: views in TRANSLATED are translated, except the API (ENGLISH).
TRANSLATED = ("annotator.pages.", "allauth.", "django.views.")
ENGLISH = "annotator.pages.api"


class Language(LocaleMiddleware):
    """Middleware that activates the language of the cookie or Accept-Language, as LocaleMiddleware
    does, and English on researchers' pages. It restores the previous language afterwards.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with translation.override(translation.get_language()):
            return super().__call__(request)  # type: ignore[return-value]

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        module = f"{view.__module__}."
        if module.startswith(TRANSLATED) and not module.startswith(ENGLISH):
            return
        translation.activate(settings.LANGUAGE_CODE)
        request.LANGUAGE_CODE = settings.LANGUAGE_CODE
        request.is_english_only = True  # type: ignore[attr-defined]

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if is_translated(request) and response.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Language", translation.get_language() or "")
            patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


def is_translated(request: HttpRequest) -> bool:
    """Return whether the page is translated."""
    return not getattr(request, "is_english_only", False)


def context(request: HttpRequest) -> dict[str, object]:
    """Return template context: the languages to choose from, if there is a choice, and the URL of
    the scripts' translations, if they are needed.
    """
    language = translation.get_language() or settings.LANGUAGE_CODE
    return {
        "languages": settings.LANGUAGES if is_translated(request) else (),
        "catalog_url": "" if language == settings.LANGUAGE_CODE else catalog_url(language),
    }


@functools.cache
def catalog_url(language: str) -> str:
    """Return the URL of a language's translations for scripts; it changes with the translations."""
    folder = Path(settings.LOCALE_PATHS[0]) / translation.to_locale(language) / "LC_MESSAGES"
    version = hashlib.sha256((folder / "djangojs.mo").read_bytes()).hexdigest()[:12]
    return reverse("catalog", args=[language, version])


class Catalog(JavaScriptCatalog):
    """Translations for scripts, in the language of the URL."""

    packages = ["annotator"]

    def get_paths(self, packages: list[str]) -> list[str]:
        return [str(path) for path in settings.LOCALE_PATHS]

    def get(
        self, request: HttpRequest, language: str, version: str, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        if language not in dict(settings.LANGUAGES):
            language = settings.LANGUAGE_CODE
        with translation.override(language):
            response: HttpResponse = super().get(request, *args, **kwargs)
        response["Cache-Control"] = "public, max-age=31536000, immutable"
        return response
