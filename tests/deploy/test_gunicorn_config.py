"""What gunicorn is told: its folder of figures goes with it."""

import os
import runpy
import tempfile
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "deploy" / "gunicorn_config.py"


@pytest.fixture(autouse=True)
def figures(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # Set first, so that what the file sets is taken back.
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "")
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR")


def test_the_folder_of_figures_is_removed_at_the_end_also_after_a_reload(tmp_path):
    runpy.run_path(str(FILE))
    again = runpy.run_path(str(FILE))
    assert os.environ["PROMETHEUS_MULTIPROC_DIR"] in map(str, tmp_path.iterdir())

    again["on_exit"](None)

    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_somebody_else_made_stays(tmp_path, monkeypatch):
    folder = tmp_path / "figures"
    folder.mkdir()
    (folder / "counter_1.db").touch()
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(folder))
    config = runpy.run_path(str(FILE))

    config["on_starting"](None)
    config["on_exit"](None)

    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


def test_a_worker_loads_the_pages_before_it_accepts(monkeypatch):
    loaded = []
    monkeypatch.setattr("annotator.health.load_pages", lambda: loaded.append(True))

    runpy.run_path(str(FILE))["post_worker_init"](None)

    assert loaded == [True]
