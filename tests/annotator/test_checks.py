"""A site that others reach has a secret key of its own, or does not start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from annotator import checks
from tests.cases import for_each

ROOT = Path(__file__).resolve().parents[2]


def load_wsgi(tmp_path: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import annotator.wsgi"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "ASSAY_DATA": str(tmp_path), "LOG_LEVEL": "ERROR", **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_what_gunicorn_loads_refuses_the_published_key(tmp_path):
    refused = load_wsgi(tmp_path, SECRET_KEY=checks.INSECURE_KEY)

    assert refused.returncode != 0
    assert "SECRET_KEY is not set" in refused.stderr
    assert load_wsgi(tmp_path, SECRET_KEY="a key of its own").returncode == 0
    # As serve.py and restore write it.
    (tmp_path / "secret-key").write_text("a key of this folder\n")
    assert load_wsgi(tmp_path).returncode == 0


def test_the_published_key_is_the_one_of_the_settings():
    assert f'or "{checks.INSECURE_KEY}"' in (ROOT / "annotator" / "settings.py").read_text()


@pytest.mark.parametrize(
    ("key", "debug"), [("a key of its own", False), (checks.INSECURE_KEY, True)]
)
def test_own_keys_and_development_pass(settings, key, debug):
    settings.SECRET_KEY, settings.DEBUG = key, debug

    checks.refuse_insecure_key()


def test_the_published_key_is_refused(settings):
    settings.SECRET_KEY, settings.DEBUG = checks.INSECURE_KEY, False

    with pytest.raises(ImproperlyConfigured, match="token_urlsafe"):
        checks.refuse_insecure_key()


def test_check_deploy_names_the_key_and_a_plain_check_does_not(settings):
    settings.SECRET_KEY = checks.INSECURE_KEY

    with pytest.raises(SystemCheckError, match=r"assay\.E001"):
        call_command("check", deploy=True)
    assert checks.secret_key_is_set(None)
    call_command("check")


@for_each("name", ["auto", "cpu", "cuda", "cuda:1"])
def test_a_scoring_device_is_one_of_the_names(settings, name):
    settings.ASSAY_SCORING_DEVICE = name
    assert checks.scoring_device_has_a_name(None) == []

    settings.ASSAY_SCORING_DEVICE = f"{name}!"
    with pytest.raises(SystemCheckError, match=r"assay\.E003"):
        call_command("check")


def test_a_job_handler_that_moved_is_named_with_its_present_path(settings):
    settings.ASSAY_JOB_HANDLERS = {
        **settings.ASSAY_JOB_HANDLERS,
        "watch": "labeling.watching.execute",
        "mail": "tests.annotator.test_checks.load_wsgi",
    }

    [error] = checks.job_handlers_are_functions(None)

    assert "labeling.watching.execute" in error.msg
    assert error.hint == "Use 'labeling.quality.monitoring.execute'."


def test_an_own_key_passes_the_check(settings):
    settings.SECRET_KEY = "a key of its own"

    assert checks.secret_key_is_set(None) == []
