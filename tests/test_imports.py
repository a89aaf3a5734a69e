"""What processes leave unimported: each of these costs start-up time and memory."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEAVY = ("numpy", "scipy", "shapely", "matplotlib", "numba", "torch")


def imported(code: str) -> list[str]:
    """Return which of HEAVY a new process has after the code."""
    show = f"import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import annotator.celery, django; {code}; {show}", "beat"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return eval(done.stdout)


@pytest.mark.parametrize(
    "code", ["django.setup()", "annotator.celery.app.loader.import_default_modules()"]
)
def test_django_and_beat_start_without_numeric_packages(code):
    assert imported(f"django.setup(); {code}") == []


def test_a_web_process_has_no_figures_kernels_and_networks():
    pages = "django.setup(); from annotator.health import load_pages; load_pages()"

    packages = set(imported(pages))
    assert not {"matplotlib", "numba", "torch"} & packages
    # Imported here, before there are two threads that could do it at once.
    assert "scipy" in packages


def test_a_worker_child_ends_after_a_task_that_took_it_above_600_mb():
    from annotator.celery import app

    assert app.conf.worker_max_memory_per_child == 600_000
