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
# The control socket would be in the home folder, which a service lacks.
control_socket_disable = True
# A slow disk must not look like a hanging worker.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108

# Log gunicorn's own lines in the site's format. The settings are not imported, so that SIGHUP reads
# them again.
if runpy.run_path(str(ROOT / "annotator" / "settings.py"))["LOG_FORMAT"] == "json":
    logconfig_dict: dict[str, Any] = {
        "formatters": {"json": {"()": "annotator.request_log.json_formatter"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"level": "INFO", "handlers": ["stderr"]},
        "loggers": {
            "gunicorn.error": {"level": "INFO", "handlers": ["stderr"], "propagate": False}
        },
    }

# The folder in which the workers add up their metrics (annotator/metrics.py).
METRICS_PREFIX = "assay-metrics-"
if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix=METRICS_PREFIX)


def on_starting(server: Any) -> None:
    """Remove the metrics of earlier processes; they would be added to the new ones."""
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.db"):
        file.unlink()


def post_worker_init(worker: Any) -> None:
    """Load the pages before the worker accepts requests: else its first visitor waits for them."""
    from annotator.health import load_pages

    load_pages()


def on_exit(server: Any) -> None:
    """Remove the folder that was made here, also by an earlier reading of this file (SIGHUP)."""
    folder = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
    if folder.name.startswith(METRICS_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
