"""What a site must not be without: a page for each kind of question and, where others can reach
it, a secret key of its own.

Commands, tests and `runserver` with DEBUG work without a key; `manage.py check --deploy` and the
WSGI application (what a web server loads) do not.
"""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from annotator import job_handlers

INSECURE_KEY = "insecure: set SECRET_KEY"
CURE = (
    "Set SECRET_KEY in the environment or in .env to a long random string, the same for web and "
    "worker; python -c 'import secrets; print(secrets.token_urlsafe(48))' makes one."
)


def has_insecure_key() -> bool:
    return bool(settings.SECRET_KEY == INSECURE_KEY)


@register(Tags.security, deploy=True)
def secret_key_is_set(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    if not has_insecure_key():
        return []
    return [Error("SECRET_KEY is the one that is published with the code.", CURE, id="assay.E001")]


@register()
def kinds_have_pages(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    from annotator import kinds

    try:
        kinds.pages()
    except (ImportError, TypeError) as error:
        return [Error(f"ASSAY_QUESTION_KINDS: {error}", id="assay.E002")]
    return []


@register()
def job_handlers_are_functions(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Import the handlers that differ from the defaults; settings of older sites name old paths."""
    errors: list[CheckMessage] = []
    for kind, path in settings.ASSAY_JOB_HANDLERS.items():
        default = job_handlers.ASSAY_JOB_HANDLERS.get(kind)
        if path == default:
            continue
        try:
            import_string(path)
        except ImportError as error:
            cure = f"Use {default!r}." if default else "Name a function by its dotted path."
            text = f"ASSAY_JOB_HANDLERS[{kind!r}] is {path!r}: {error}."
            errors.append(Error(text, cure, id="assay.E004"))
    return errors


@register()
def scoring_device_has_a_name(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Whether it is here only the worker knows."""
    from evaluation import devices

    name = settings.ASSAY_SCORING_DEVICE
    if devices.NAMES.fullmatch(name):
        return []
    return [Error(f"ASSAY_SCORING_DEVICE is {name!r}.", devices.CURE, id="assay.E003")]


def refuse_insecure_key() -> None:
    """Passes in silence, or raises ImproperlyConfigured: anybody could sign a session."""
    if has_insecure_key() and not settings.DEBUG:
        raise ImproperlyConfigured(
            f"SECRET_KEY is not set. {CURE} On your own machine DEBUG=1 does as well."
        )
