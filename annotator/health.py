"""Health checks for load balancers and monitoring, without a login.

| address | 200 while | asks |
|---|---|---|
| `/livez` | the process answers | nothing |
| `/healthz` | the database answers | the database |
| `/readyz` | every dependency works | pages, database, migrations, broker, cache, image store |
| `/metrics` | ASSAY_MONITORING_TOKEN is sent | database, cache |
"""

import contextlib
import importlib
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache as once_in_a_process

from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import Error, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import get_resolver
from django.utils.cache import add_never_cache_headers
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe

from labeling.jobs import rounds

logger = logging.getLogger(__name__)

# Seconds for which a check of the dependencies is reused: strangers may ask any number of times.
KEPT_SECONDS = 5.0
BROKER_SECONDS = 2.0


class HealthCheck:
    """Middleware that answers health checks before all other middleware.

    Checks use plain HTTP and IP addresses, so the redirect to HTTPS and ALLOWED_HOSTS must not
    reject them.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        view = VIEWS.get(request.path_info)
        if view is None:
            return self.get_response(request)
        response = view(request)
        add_never_cache_headers(response)
        return response


@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """Return 200 if this process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Return 200 if the database answers, else 503."""
    try:
        _ask_database()
    except Error:
        return JsonResponse({"status": "no database"}, status=503)
    return JsonResponse({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Return 200 if every dependency works, else 503 with the names of those that fail.

    age_seconds: time since each round of the clock last began; null if the cache does not know.
    Error messages of dependencies are logged, and shown to callers with ASSAY_MONITORING_TOKEN.
    """
    state = _looked_up()
    body: dict[str, object] = {
        "status": "not ready" if state.failures else "ready",
        "dependencies": {name: name not in state.failures for name in DEPENDENCIES},
        "failing": list(state.failures),
        "age_seconds": state.ages,
    }
    if has_token(request):
        body["errors"] = state.failures
    return JsonResponse(body, status=503 if state.failures else 200)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return Prometheus metrics; 404 if no token is set, 401 without it."""
    if not settings.ASSAY_MONITORING_TOKEN:
        return HttpResponse("Not found.", status=404, content_type="text/plain")
    if not has_token(request):
        refused = HttpResponse("Unauthorized.", status=401, content_type="text/plain")
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused
    from annotator.metrics import page

    return page()


def has_token(request: HttpRequest) -> bool:
    """Return whether a token is set and the request has `Authorization: Bearer
    ASSAY_MONITORING_TOKEN`.
    """
    token = settings.ASSAY_MONITORING_TOKEN
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    return bool(token) and scheme == "Bearer" and constant_time_compare(sent.strip(), token)


@dataclass(frozen=True)
class Readiness:
    """The result of a check. failures: error message by dependency."""

    at: float
    failures: dict[str, str]
    ages: dict[rounds.Round, float | None]


_asking = threading.Lock()
_last: Readiness | None = None


def _looked_up() -> Readiness:
    """Return a result at most KEPT_SECONDS old.

    While one request checks, the others get the previous result, so a hanging dependency blocks one
    thread only.
    """
    global _last
    last = _last
    if last is not None and time.monotonic() - last.at <= KEPT_SECONDS:
        return last
    if not _asking.acquire(blocking=last is None):
        assert last is not None
        return last
    try:
        if _last is last:
            _last = look()
        return _last or look()
    finally:
        _asking.release()


def look() -> Readiness:
    """Check every dependency and log the errors of those that fail."""
    failures: dict[str, str] = {}
    for name, ask in DEPENDENCIES.items():
        try:
            ask()
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
            logger.warning("not ready: %s does not work (%s)", name, failures[name])
    ages: dict[rounds.Round, float | None] = dict.fromkeys(rounds.ROUNDS)
    if "cache" not in failures:
        # The cache may fail between two checks; the next round reports it.
        with contextlib.suppress(Exception):
            ages = {name: age and round(age, 1) for name, age in rounds.ages().items()}
    return Readiness(time.monotonic(), failures, ages)


def load_pages() -> None:
    """Import every view, and scipy.

    Servers call this before they accept requests, since it takes seconds. scipy is imported here
    because two threads that import parts of it at once fail while scipy itself is half imported.
    """
    assert get_resolver().url_patterns
    importlib.import_module("scipy")


@once_in_a_process
def _start_loading() -> None:
    threading.Thread(target=load_pages, daemon=True, name="load pages").start()


def _ask_pages() -> None:
    """Raise RuntimeError until the views are imported; import them where no server has."""
    if "url_patterns" not in vars(get_resolver()):
        _start_loading()
        raise RuntimeError("the pages are being loaded")


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()


def _ask_migrations() -> None:
    missing = _newest_migrations() - set(MigrationRecorder(connection).applied_migrations())
    if missing:
        names = ", ".join(".".join(key) for key in sorted(missing))
        raise RuntimeError(f"not applied: {names}; run manage.py migrate")


@once_in_a_process
def _newest_migrations() -> frozenset[tuple[str, str]]:
    """Return the last migration of each app in this process's code, as (app, name)."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


def _ask_broker() -> None:
    """Raise the broker transport's error, or TimeoutError after BROKER_SECONDS."""
    errors: list[Exception] = []

    def connect() -> None:
        try:
            with current_app.connection_for_write() as broker:
                broker.connect()
        except Exception as error:
            errors.append(error)

    # Use a thread, as in labeling/jobs/queue.py: no timeout of a transport covers everything.
    asking = threading.Thread(target=connect, daemon=True, name="ask the broker")
    asking.start()
    asking.join(BROKER_SECONDS)
    if asking.is_alive():
        raise TimeoutError(f"no answer within {BROKER_SECONDS:g} s")
    if errors:
        raise errors[0]


def _ask_cache() -> None:
    """Raise RuntimeError if a stored value is missing."""
    key, value = "ready", secrets.token_hex(8)
    cache.set(key, value, timeout=60)
    # Another process may have stored its own value in between.
    if cache.get(key) is None:
        raise RuntimeError("a value that was stored is not there")


def _ask_image_store() -> None:
    # Backups leave out files with this ending.
    name = default_storage.save(f"ready/{secrets.token_hex(8)}.part", ContentFile(b"ready"))
    default_storage.delete(name)


DEPENDENCIES: dict[str, Callable[[], None]] = {
    "pages": _ask_pages,
    "database": _ask_database,
    "migrations": _ask_migrations,
    "broker": _ask_broker,
    "cache": _ask_cache,
    "image store": _ask_image_store,
}
VIEWS: dict[str, Callable[[HttpRequest], HttpResponse]] = {
    "/livez": live,
    "/healthz": health,
    "/readyz": ready,
    "/metrics": metrics,
}
