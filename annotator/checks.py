"""System checks: every kind of question has a page, and a site that others can reach has its own
secret key.

Commands, tests and `runserver` with DEBUG work without a key; `manage.py check --deploy` and the
WSGI application (which a web server loads) do not.
"""

from collections.abc import Collection, Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils.module_loading import import_string

from annotator import job_handlers

INSECURE_KEY = "insecure: set SECRET_KEY"
CURE = (
    "Set SECRET_KEY in the environment or in .env to a long random string, the same for web and "
    "worker; python -c 'import secrets; print(secrets.token_urlsafe(48))' makes one."
)

# Last commit of the second edition; the squashed migrations start from its database.
SECOND_EDITION = "commit afbc3f1d"


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
    """Import the configured handlers; settings of older sites may name old paths."""
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
    """Check only the form of the device's name: only the worker knows whether the device exists."""
    from evaluation import devices

    name = settings.ASSAY_SCORING_DEVICE
    if devices.NAMES.fullmatch(name):
        return []
    return [Error(f"ASSAY_SCORING_DEVICE is {name!r}.", devices.CURE, id="assay.E003")]


@register(Tags.database)
def database_is_of_the_second_edition(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None, **kwargs: Any
) -> list[CheckMessage]:
    """Return an error for databases older than the second edition, before `migrate`
    changes them.
    """
    applied = [
        MigrationRecorder(connections[name]).applied_migrations() for name in databases or ()
    ]
    if not any(map(is_before_second_edition, applied)):
        return []
    cure = f"Migrate with the second edition ({SECOND_EDITION}) first, then with this version."
    return [Error("The database is older than the second edition.", cure, id="assay.E005")]


def is_before_second_edition(applied: Collection[tuple[str, str]]) -> bool:
    """Return whether some but not all migrations that a squashed migration replaces were
    applied.
    """
    squashed = MigrationLoader(None).disk_migrations.values()
    replaced = [[key in applied for key in migration.replaces] for migration in squashed]
    return any(any(keys) and not all(keys) for keys in replaced)


def refuse_insecure_key() -> None:
    """Raise ImproperlyConfigured without a secret key: anybody could sign a session."""
    if has_insecure_key() and not settings.DEBUG:
        raise ImproperlyConfigured(
            f"SECRET_KEY is not set. {CURE} On your own machine DEBUG=1 does as well."
        )
