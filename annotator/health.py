"""What load balancers and monitoring ask, without a login.

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

# Strangers may ask as often as they like, and cost the dependencies one round in so many seconds.
KEPT_SECONDS = 5.0
BROKER_SECONDS = 2.0


class HealthCheck:
    """Answers its addresses before any other middleware: a check comes by plain HTTP and by
    address, so neither the redirect to HTTPS nor ALLOWED_HOSTS may turn it away."""

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
    """200: this process answers."""
    return JsonResponse({"status": "ok"})


@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """200 while the database answers, 503 otherwise."""
    try:
        _ask_database()
    except Error:
        return JsonResponse({"status": "no database"}, status=503)
    return JsonResponse({"status": "ok"})


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 while every dependency works, else 503 with the names of those that do not; how many
    seconds ago the last sweep and the last nightly round began, null where the cache does not know.
    What a dependency said is for whoever has ASSAY_MONITORING_TOKEN, and in the log."""
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
    """Figures for Prometheus; 404 where no token is set, 401 to whoever does not send it."""
    if not settings.ASSAY_MONITORING_TOKEN:
        return HttpResponse("Not found.", status=404, content_type="text/plain")
    if not has_token(request):
        refused = HttpResponse("Unauthorized.", status=401, content_type="text/plain")
        refused.headers["WWW-Authenticate"] = "Bearer"
        return refused
    from annotator.metrics import page

    return page()


def has_token(request: HttpRequest) -> bool:
    """Return whether the request has `Authorization: Bearer ASSAY_MONITORING_TOKEN`, and there is
    one.
    """
    token = settings.ASSAY_MONITORING_TOKEN
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    return bool(token) and scheme == "Bearer" and constant_time_compare(sent.strip(), token)


@dataclass(frozen=True)
class Readiness:
    """What one round of asking found. failures: dependency → what it said."""

    at: float
    failures: dict[str, str]
    ages: dict[rounds.Round, float | None]


_asking = threading.Lock()
_last: Readiness | None = None


def _looked_up() -> Readiness:
    """What was found at most KEPT_SECONDS ago. While one request asks, the others get what was
    found before: a dependency that is silent holds one thread."""
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
    """Ask every dependency, and logs what those said that do not work."""
    failures: dict[str, str] = {}
    for name, ask in DEPENDENCIES.items():
        try:
            ask()
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {error}"
            logger.warning("not ready: %s does not work (%s)", name, failures[name])
    ages: dict[rounds.Round, float | None] = dict.fromkeys(rounds.ROUNDS)
    if "cache" not in failures:
        # The cache may go away between two questions; the next round names it.
        with contextlib.suppress(Exception):
            ages = {name: age and round(age, 1) for name, age in rounds.ages().items()}
    return Readiness(time.monotonic(), failures, ages)


def load_pages() -> None:
    """Import every view, and scipy. Servers call this before they accept: it takes seconds.

    Two threads that import parts of scipy at once fail while scipy itself is half imported.
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
    """The last migration of each app, as (app, name), in the code of this process."""
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


def _ask_broker() -> None:
    """Raises what the broker's transport raises, and TimeoutError after BROKER_SECONDS."""
    errors: list[Exception] = []

    def connect() -> None:
        try:
            with current_app.connection_for_write() as broker:
                broker.connect()
        except Exception as error:
            errors.append(error)

    # In a thread, as in labeling/jobs/queue.py: no timeout of a transport covers all.
    asking = threading.Thread(target=connect, daemon=True, name="ask the broker")
    asking.start()
    asking.join(BROKER_SECONDS)
    if asking.is_alive():
        raise TimeoutError(f"no answer within {BROKER_SECONDS:g} s")
    if errors:
        raise errors[0]


def _ask_cache() -> None:
    """Raises RuntimeError where a value that was stored is not there."""
    key, value = "ready", secrets.token_hex(8)
    cache.set(key, value, timeout=60)
    # Another process may have stored its own in between.
    if cache.get(key) is None:
        raise RuntimeError("a value that was stored is not there")


def _ask_image_store() -> None:
    # A backup leaves out what ends so.
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
