"""Settings. Values that differ between machines come from the environment (or `.env`).

The default needs no server: SQLite and Celery on the file system. `DATABASE_URL` and
`CELERY_BROKER_URL` scale it up; see docs/how-to/deploy.md. deploy/settings_page.py copies comments
that begin with `#:` to docs/reference/settings.md.
"""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import environ
import environ.fileaware_mapping
from django.core.exceptions import ImproperlyConfigured

from annotator.job_handlers import ASSAY_JOB_HANDLERS as ASSAY_JOB_HANDLERS
from labeling.web.api.subjects import TAGS

BASE_DIR = Path(__file__).resolve().parent.parent


class _Variables(environ.fileaware_mapping.FileAwareMapping):
    """The environment.

    NAME_FILE names a file with the value of NAME; empty variables count as unset.
    """

    def __getitem__(self, key: str) -> str:
        try:
            value = str(super().__getitem__(key)).strip()
        except OSError as error:
            raise ImproperlyConfigured(
                f"{key}_FILE is {os.environ[key + '_FILE']!r}, which cannot be read: "
                f"{error.strerror}."
            ) from None
        if not value:
            raise KeyError(key)
        return value


class _Env(environ.Env):
    ENVIRON = _Variables()
    SWITCHES = {*environ.Env.BOOLEAN_TRUE_STRINGS, "0", "false", "off", "n", "no"}

    def get_value(self, var: str, cast: Any = None, *args: Any, **kwargs: Any) -> Any:
        if cast is bool and (text := self.ENVIRON.get(var, "0")).lower() not in self.SWITCHES:
            # An unknown word would otherwise count as off.
            raise ImproperlyConfigured(f"{var} is {text!r}, expected 0 or 1.")
        try:
            return super().get_value(var, cast, *args, **kwargs)
        except ValueError:
            if cast not in (int, float):
                raise
            kind = "a whole number" if cast is int else "a number"
            raise ImproperlyConfigured(
                f"{var} is {self.ENVIRON[var]!r}, expected {kind}."
            ) from None


env = _Env()
# A job's child process gets only what the job passes to it (labeling/jobs/child.py).
if (BASE_DIR / ".env").exists() and "ASSAY_CHILD" not in os.environ:
    environ.Env.read_env(BASE_DIR / ".env")

#: Folder for everything that the site writes: database, images, releases, messages.
DATA_DIR = Path(env.str("ASSAY_DATA", default=str(BASE_DIR / "var")))

#: 1 shows tracebacks to everybody; never use it on a site that others can reach.
DEBUG = env.bool("DEBUG", default=False)


def _kept_key() -> str:
    """Return the key that deploy/serve.py or `restore` saved in the data folder."""
    try:
        return (DATA_DIR / "secret-key").read_text().strip()
    except OSError:
        return ""


# Development and tests run without a key; deployment refuses to (annotator/checks.py).
#: Signs sessions, seats and invitations: long, random, the same for web and worker processes. If
#: empty, the key in `secret-key` of `ASSAY_DATA` is used, which `make demo` or `restore` writes;
#: without either the web process refuses to start.
SECRET_KEY = env.str("SECRET_KEY", default="") or _kept_key() or "insecure: set SECRET_KEY"
#: Former values of `SECRET_KEY`, so that images removed for privacy stay refused after a change.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
#: Host names of the site.
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
#: Origins, with scheme, from which forms are accepted, `https://assay.example.org`.
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "annotator",
    "labeling",
    "evaluation",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "csp",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "knox",
    "rest_framework",
]

MIDDLEWARE = [
    "annotator.health.HealthCheck",
    "annotator.request_log.RequestLog",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "annotator.language.Language",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "annotator.accounts.LoginRequired",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "annotator.caching.PrivateByDefault",
    "annotator.refusals.RefusalMiddleware",
]

ROOT_URLCONF = "annotator.urls"
WSGI_APPLICATION = "annotator.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["django.templatetags.i18n"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotator.language.context",
            ],
        },
    }
]

#: `postgres://user:password@host:5432/name`; the default is SQLite in `ASSAY_DATA`.
DATABASES = {"default": env.db("DATABASE_URL", default=f"sqlite:///{DATA_DIR / 'assay.sqlite3'}")}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # FULL: accepted answers are on disk.
        "init_command": (
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;"
            "PRAGMA mmap_size=1073741824; PRAGMA temp_store=MEMORY"
        ),
    }
else:
    #: Connection to the database of `DATABASE_URL` without PgBouncer, for long reads such as
    #: freezing: `postgres://user:password@host:5432/name`. Empty: `DATABASE_URL`.
    BATCH_DATABASE_URL = env.str("BATCH_DATABASE_URL", default="")
    if BATCH_DATABASE_URL:
        DATABASES["batch"] = environ.Env.db_url_config(BATCH_DATABASE_URL)
    for _database in DATABASES.values():
        _database["CONN_HEALTH_CHECKS"] = True
        # Seconds. A server that accepts a connection and stays silent must not block a request.
        _database.setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
    #: 1 if `DATABASE_URL` leads to PgBouncer in transaction mode, where the next statement may use
    #: another connection: long lists are then read at once, without a server-side cursor.
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = env.bool(
        "DISABLE_SERVER_SIDE_CURSORS", default=False
    )
# Connections stay open on SQLite too. Measured by HTTP in batches of eight: 117 answers a second
# with a connection for each request, 223 with kept ones.
#: Seconds to keep a database connection; 0 opens one per request.
DATABASES["default"]["CONN_MAX_AGE"] = env.int("CONN_MAX_AGE", default=60)
DATABASE_ROUTERS = ["labeling.db.batch.BatchRouter"]
# Without this, knox would create a table for its own token model, which prevents truncating tables
# in tests on PostgreSQL.
MIGRATION_MODULES = {"knox": None}

# "default" is shared by all processes, for counters such as failed logins: a database table unless
# CACHE_URL names another cache. "local" is in each process's memory, for values that it can
# recompute.
#: Cache shared by all processes: `redis://host:6379/1`, or a table of the database.
CACHES = {
    "default": env.cache("CACHE_URL", default="dbcache://assay_cache"),
    "local": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
}
CACHES["default"]["OPTIONS"] = {
    "django.core.cache.backends.db.DatabaseCache": {
        # Django drops a third of the entries of a fuller table, active counters among them.
        "MAX_ENTRIES": 100_000
    },
    "django.core.cache.backends.redis.RedisCache": {
        "socket_connect_timeout": 1,  # seconds
        "socket_timeout": 1,
    },
}.get(CACHES["default"]["BACKEND"], {}) | CACHES["default"].get("OPTIONS", {})
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "labeling.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
] + [{"NAME": "labeling.web.tokens.EndTokensWithPassword"}]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "annotator.accounts.InvitationOnlyAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_RATE_LIMITS = {
    # All attempts of one address. A class behind one router logs in within a minute.
    "login": "100/m/ip",
    "signup": "100/m/ip",
    # Failed attempts of one address, for any account.
    "login_failed": "30/m/ip",
    # Failed attempts for one account, from one address and from all together
    # (annotator/accounts.py). One address can fail 60 times an hour, which is below the second
    # limit, so a single stranger cannot lock an account.
    "login_failed_here": "5/5m/key",
    "login_failed_anywhere": "100/h/key",
}
EMAIL_TIMEOUT = 10
#: Mail server, `smtp://user:password@host:587`. Without one, password resets are written to the web
#: log for an administrator to pass on.
vars().update(env.email_url("EMAIL_URL", default="consolemail://"))

# Templates and code are written in en-gb; locale/ has the translations. Each language's name is in
# that language.
LANGUAGE_CODE = "en-gb"
LANGUAGES = [("en-gb", "English"), ("de", "Deutsch"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = True
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
# Images are served by views that check who asks, so there is no MEDIA_URL.
MEDIA_ROOT = DATA_DIR / "media"
STORAGES: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    # Files other than images that every machine of a site must see: uploads, releases, benchmarks.
    "data": {"BACKEND": "annotator.data_folder.DataFolder", "OPTIONS": {"allow_overwrite": True}},
    # 644: the user that runs collectstatic need not be the one that serves the files.
    "staticfiles": {
        "BACKEND": "annotator.static_files.HashedFiles",
        "OPTIONS": {"file_permissions_mode": 0o644},
    },
}
#: Private bucket of an object store (S3's protocol) for all files; empty: files in `ASSAY_DATA`.
ASSAY_S3_BUCKET = env.str("ASSAY_S3_BUCKET", default="")
#: URL of the object store, `https://s3.example.org`; empty: Amazon's.
ASSAY_S3_ENDPOINT = env.str("ASSAY_S3_ENDPOINT", default="")
#: Region of the bucket.
ASSAY_S3_REGION = env.str("ASSAY_S3_REGION", default="us-east-1")
#: Access key id for the bucket.
ASSAY_S3_KEY_ID = env.str("ASSAY_S3_KEY_ID", default="")
#: Secret access key for the bucket.
ASSAY_S3_SECRET = env.str("ASSAY_S3_SECRET", default="")
if ASSAY_S3_BUCKET:
    for name in ("ASSAY_S3_KEY_ID", "ASSAY_S3_SECRET"):
        if not globals()[name]:
            raise ImproperlyConfigured(f"ASSAY_S3_BUCKET is set and {name} is empty: set both.")
    from annotator.object_storage import storage_of_bucket

    _S3 = storage_of_bucket(
        ASSAY_S3_BUCKET,
        endpoint=ASSAY_S3_ENDPOINT,
        region=ASSAY_S3_REGION,
        key_id=ASSAY_S3_KEY_ID,
        secret=ASSAY_S3_SECRET,
    )
    STORAGES["default"] = _S3
    STORAGES["data"] = _S3 | {"OPTIONS": _S3["OPTIONS"] | {"location": "data"}}
WHITENOISE_USE_FINDERS = True
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_PERMISSIONS = 0o640

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "annotator.refusals.csrf_failure"
#: 1 behind a proxy that terminates TLS and sets `X-Forwarded-Proto`: secure cookies, redirect,
#: HSTS.
ASSAY_HTTPS = env.bool("ASSAY_HTTPS", default=False)
#: Number of proxies in front of the site that append to `X-Forwarded-For`: that many of its last
#: entries are trusted, none with 0. `ASSAY_HTTPS` implies one proxy.
ASSAY_TRUSTED_PROXIES = env.int("ASSAY_TRUSTED_PROXIES", default=int(ASSAY_HTTPS))
ALLAUTH_TRUSTED_PROXY_COUNT = ASSAY_TRUSTED_PROXIES
#: 1 if every subdomain of the site's name has HTTPS, too; browsers then refuse HTTP from them.
ASSAY_HSTS_SUBDOMAINS = env.bool("ASSAY_HSTS_SUBDOMAINS", default=False)
#: 1 to be on browsers' HSTS preload lists; needs `ASSAY_HSTS_SUBDOMAINS`.
ASSAY_HSTS_PRELOAD = env.bool("ASSAY_HSTS_PRELOAD", default=False)
if ASSAY_HTTPS:
    SECURE_HSTS_INCLUDE_SUBDOMAINS = ASSAY_HSTS_SUBDOMAINS
    SECURE_HSTS_PRELOAD = ASSAY_HSTS_PRELOAD
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = True
    SECURE_SSL_REDIRECT = True
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "manifest-src": ["'self'"],
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "labeling.web.tokens.ScopedTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "labeling.web.tokens.ScopeCoversMethod",
    ],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.CursorPagination",
    "PAGE_SIZE": 50,
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "labeling.web.problems.handle",
    "NUM_PROXIES": ASSAY_TRUSTED_PROXIES,
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Assay API",
    "DESCRIPTION": "Campaigns, answers, releases and scores.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "TAGS": TAGS,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "CampaignState": "labeling.models.Campaign.State",
        "QuestionState": "labeling.models.Question.State",
        "JobState": "labeling.models.Job.State",
        "SelectionState": "evaluation.models.Selection.State",
        "BenchmarkKind": "evaluation.models.Benchmark.Kind",
        "ReleasedKind": "evaluation.benchmarks.kinds.labeled.truth.ground_truth.KINDS",
    },
}
KNOX_TOKEN_MODEL = "labeling.ApiToken"
REST_KNOX = {"TOKEN_TTL": timedelta(days=90), "TOKEN_LIMIT_PER_USER": 50}

#: Broker for job ids: `redis://…`, `amqp://…`, or files in `ASSAY_DATA`.
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="filesystem://")
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = TIME_ZONE
# KiB: a child process exits after a task that took it above this, such as reading a large model.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 600_000
# Seconds, also for workers and beat. Requests wait at most 1 s for the broker (labeling/jobs).
CELERY_BROKER_CONNECTION_TIMEOUT = 3
if CELERY_BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {
        "socket_connect_timeout": 3,
        "socket_timeout": 5,
        "socket_keepalive": True,
    }
elif CELERY_BROKER_URL.startswith("amqp"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {"read_timeout": 5, "write_timeout": 5}
elif CELERY_BROKER_URL == "filesystem://":
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(DATA_DIR / "queue"),
        "data_folder_out": str(DATA_DIR / "queue"),
        "control_folder": str(DATA_DIR / "queue-control"),
        "polling_interval": 0.05,
    }
#: Hour (UTC) of the nightly round.
ASSAY_NIGHTLY_HOUR = env.int("ASSAY_NIGHTLY_HOUR", default=2)
#: Seconds between sweeps, which send unclaimed jobs again.
ASSAY_SWEEP_SECONDS = env.int("ASSAY_SWEEP_SECONDS", default=15)
#: Seconds between automatic rescorings, during the day, of a benchmark with newly settled
#: questions.
ASSAY_RESCORE_SECONDS = env.int("ASSAY_RESCORE_SECONDS", default=60)
#: Number of sequences whose frames are kept after somebody viewed them (a few MB each).
ASSAY_FRAME_SEQUENCES = env.int("ASSAY_FRAME_SEQUENCES", default=500)
#: Seconds without a sign of life after which a worker counts as dead and its job goes to another.
ASSAY_JOB_LEASE_SECONDS = env.float("ASSAY_JOB_LEASE_SECONDS", default=60)

#: Device for benchmark runs, also at night: auto (a GPU if the worker's machine has one), cpu, cuda
#: or cuda:1. The differences between a CPU's and a GPU's scores were not measured.
ASSAY_SCORING_DEVICE = env.str("ASSAY_SCORING_DEVICE", default="auto")
#: Queue of workers that score and predict, such as gpu (`celery … worker -Q gpu`); empty: all
#: workers.
ASSAY_SCORING_QUEUE = env.str("ASSAY_SCORING_QUEUE", default="")
#: Queue for jobs that somebody waits for (imports, exports, frames, releases), such as soon
#: (`celery … worker -Q soon`); empty: they share the default queue.
ASSAY_WAITED_QUEUE = env.str("ASSAY_WAITED_QUEUE", default="")
_WAITED = (
    "choose proposals",
    "export labels",
    "frame campaign",
    "frames",
    "freeze",
    "freeze range",
    "import images",
    "import labels",
    "import parts",
    "open images",
    "pilot",
)
# Kind of job → its queue; other kinds go to Celery's default queue.
_SCORING = ("score", "predict", "open model", "select", "submit model")
ASSAY_JOB_QUEUES = {kind: q for kind in _SCORING if (q := ASSAY_SCORING_QUEUE)}
ASSAY_JOB_QUEUES |= {kind: q for kind in _WAITED if (q := ASSAY_WAITED_QUEUE)}
#: Engine for the site's predictions, as in `--on`: local:4, ray:…; empty: one process.
ASSAY_ENGINE = env.str("ASSAY_ENGINE", default="")
#: Storage of the engine's results, as in `--work`: a folder or s3://BUCKET/PREFIX.
ASSAY_WORK = env.str("ASSAY_WORK", default="")
#: Memory limit of each process of a job's child, in GiB.
ASSAY_CHILD_GIB = env.float("ASSAY_CHILD_GIB", default=16)
#: Processor time limit of each process of a job's child, in hours.
ASSAY_CHILD_CPU_HOURS = env.float("ASSAY_CHILD_CPU_HOURS", default=24)

# Kinds of question in the order of the form, with their pages (docs/how-to/develop.md).
ASSAY_QUESTION_KINDS = {
    "labeling.kinds.contains.Contains": "annotator.kinds.base.Page",
    "labeling.kinds.hierarchy.Hierarchy": "annotator.kinds.grid.Grid",
    "labeling.kinds.candidates.Candidates": "annotator.kinds.grid.Grid",
    "labeling.kinds.naming.Naming": "annotator.kinds.naming.NamingPage",
    "labeling.kinds.mistake.Mistake": "annotator.kinds.mistake.MistakesPage",
    "labeling.kinds.parts.Parts": "annotator.kinds.parts.PartsPage",
    "labeling.kinds.boxes.Boxes": "annotator.kinds.boxes.BoxesPage",
}
# Kinds of benchmark in the order of the pages, one package each (docs/how-to/develop.md).
ASSAY_BENCHMARK_KINDS = [
    "evaluation.benchmarks.kinds.mad.kind.Mad",
    "evaluation.benchmarks.kinds.cds.kind.Cds",
    "evaluation.benchmarks.kinds.labeled.kind.Labeled",
]
# Functions in evaluation that labeling calls by path (see evaluation/hooks.py).
ASSAY_GLOSSARY = "evaluation.hooks.glossary"
ASSAY_ANCESTORS = "evaluation.hooks.ancestors"
ASSAY_CLASS_TREE = "evaluation.hooks.class_tree"
ASSAY_CAMPAIGN_LINKS = ["evaluation.hooks.links_of"]
ASSAY_SEALED_IMAGES = "evaluation.hooks.sealed_images"
ASSAY_IMAGE_USES = ["evaluation.hooks.uses_of_image"]
ASSAY_IMAGE_PREDICTIONS = "evaluation.hooks.Predictions"
# Functions that remove the pixels of an image from one place each (labeling/removal/privacy.py).
ASSAY_PIXEL_PLACES = [
    "labeling.removal.privacy.remove_stored",
    "labeling.removal.privacy.remove_embeddings",
    "labeling.removal.privacy.remove_exports",
    "labeling.removal.privacy.remove_uploads",
    "evaluation.benchmarks.removed_images.remove_frames",
]
# The page that makes a campaign from a selection. The page “New campaign” links to it.
ASSAY_SELECTION_PAGE = "evaluation:benchmark_new"
RELEASES_DIR = DATA_DIR / "releases"
#: Seconds that an annotator's browser may cache a photograph, at most the campaign's lease: 0 to
#: 1,200. 0 forbids caching, for shared computers.
ASSAY_PHOTOGRAPH_CACHE_SECONDS = env.int("ASSAY_PHOTOGRAPH_CACHE_SECONDS", default=1200)
for name, least, most in (
    ("ASSAY_TRUSTED_PROXIES", 0, None),
    ("ASSAY_NIGHTLY_HOUR", 0, 23),
    ("ASSAY_SWEEP_SECONDS", 1, None),
    ("ASSAY_RESCORE_SECONDS", 1, None),
    ("ASSAY_JOB_LEASE_SECONDS", 1, None),
    ("ASSAY_PHOTOGRAPH_CACHE_SECONDS", 0, 1200),
):
    if globals()[name] < least or (most is not None and globals()[name] > most):
        _limits = f"at least {least}" if most is None else f"{least} to {most}"
        raise ImproperlyConfigured(f"{name} is {globals()[name]:g}, expected {_limits}.")
#: Token that monitoring sends as `Authorization: Bearer …` to read `/metrics` and the error
#: messages of `/readyz`. At least 20 characters; empty: no access, and nothing is counted.
ASSAY_MONITORING_TOKEN = env.str("ASSAY_MONITORING_TOKEN", default="")
if 0 < len(ASSAY_MONITORING_TOKEN) < 20:
    raise ImproperlyConfigured(
        f"ASSAY_MONITORING_TOKEN has {len(ASSAY_MONITORING_TOKEN)} characters, expected at least "
        "20; python -c 'import secrets; print(secrets.token_urlsafe(32))' makes one."
    )
#: The only folder from which the API and the pages may read files on the server; empty: none.
ASSAY_IMPORT_ROOT = env.str("ASSAY_IMPORT_ROOT", default="")
#: Largest accepted image file, in bytes.
ASSAY_MAX_IMAGE_BYTES = env.int("ASSAY_MAX_IMAGE_BYTES", default=50 * 1024 * 1024)
#: Largest accepted image, in pixels.
ASSAY_MAX_IMAGE_PIXELS = env.int("ASSAY_MAX_IMAGE_PIXELS", default=100_000_000)
#: Largest accepted file of one request, in bytes; a proxy must let it through.
ASSAY_MAX_UPLOAD_BYTES = env.int("ASSAY_MAX_UPLOAD_BYTES", default=2 * 1024**3)

#: Log format on stderr: `text`, or `json` for log collectors.
LOG_FORMAT = env.str("LOG_FORMAT", default="text")
if LOG_FORMAT not in ("text", "json"):
    raise ImproperlyConfigured(f"LOG_FORMAT is {LOG_FORMAT!r}, expected text or json.")
#: Lowest logged level: DEBUG, INFO, WARNING, ERROR or CRITICAL.
LOG_LEVEL = env.str("LOG_LEVEL", default="INFO")
if LOG_LEVEL not in (levels := ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")):
    raise ImproperlyConfigured(f"LOG_LEVEL is {LOG_LEVEL!r}, expected one of {', '.join(levels)}.")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"context": {"()": "annotator.request_log.LogContext"}},
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s%(context)s: %(message)s"},
        "json": {"()": "annotator.request_log.json_formatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "filters": ["context"],
            "formatter": LOG_FORMAT,
        }
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    # Celery warns that filesystem:// names no host, in the middle of command output.
    # matplotlib says at INFO that it built its cache of fonts.
    "loggers": {"kombu.connection": {"level": "ERROR"}, "matplotlib": {"level": "WARNING"}},
}
