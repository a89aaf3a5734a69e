"""Settings of gunicorn: `gunicorn annotator.wsgi --config deploy/gunicorn_config.py`.

WEB_BIND and WEB_CONCURRENCY (processes) come from the environment.
"""

import os
import runpy
import shutil
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

bind = os.environ.get("WEB_BIND", "127.0.0.1:8000")
workers = int(os.environ.get("WEB_CONCURRENCY", "4"))
threads = 4
# It would listen in the home folder, which a service has not.
control_socket_disable = True
# A disk that is slow must not look like a worker that hangs.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108

# gunicorn's own lines in the form of the site's. Not imported: SIGHUP reads the settings again.
if runpy.run_path(str(ROOT / "annotator" / "settings.py"))["LOG_FORMAT"] == "json":
    logconfig_dict: dict[str, Any] = {
        "formatters": {"json": {"()": "annotator.request_log.json_formatter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"level": "INFO", "handlers": ["stderr"]},
        "loggers": {
            "gunicorn.error": {"level": "INFO", "handlers": ["stderr"], "propagate": False}
        },
    }

# Where the workers add up their figures (annotator/metrics.py).
OWN = "assay-metrics-"
if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix=OWN)


def on_starting(server: Any) -> None:
    """Figures are of the processes that run: those of earlier ones would be added."""
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.db"):
        file.unlink()


def post_worker_init(worker: Any) -> None:
    """Load the pages before the worker accepts: otherwise its first visitor waits for them."""
    from annotator.health import load_pages

    load_pages()


def on_exit(server: Any) -> None:
    """Removes the folder that was made here, also by an earlier reading of this file (SIGHUP)."""
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    if folder.name.startswith(OWN):
        shutil.rmtree(folder, ignore_errors=True)
