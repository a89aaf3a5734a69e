"""docs/reference/settings.md: what the settings read, no more and no less."""

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from deploy import settings_page
from tests.cases import for_each

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_settings_say():
    made = settings_page.page(settings_page.SETTINGS.read_text())

    assert settings_page.PAGE.read_text() == made, "run python deploy/settings_page.py"


def test_every_variable_that_the_code_reads_is_on_the_page():
    code = [
        file
        for folder in ("annotator", "labeling", "evaluation", "deploy")
        for file in (ROOT / folder).rglob("*.py")
    ]
    read = re.compile(
        r"""os\.environ(?:\.get\(|\[|\.setdefault\()\s*"([A-Z_]+)"|getenv\("([A-Z_]+)"""
    )
    names = {a or b for file in code for a, b in read.findall(file.read_text())}

    # Where a command keeps machine code, by the XDG specification; what is set, and not read.
    names -= {"XDG_CACHE_HOME", "RAY_USAGE_STATS_ENABLED", "CELERY_SKIP_CHECKS"}
    names -= {"CUBLAS_WORKSPACE_CONFIG"}
    page = settings_page.PAGE.read_text()
    assert "WEB_BIND" in names
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


def test_a_row_has_name_type_default_and_the_comment_above():
    source = '#: How many seats\n#: there are.\nSEATS = env.int("SEATS", default=3)\n'

    (row,) = settings_page.variables(source)

    assert row == settings_page.Variable("SEATS", "whole number", "3", "How many seats there are.")


@for_each(
    ("default", "expected"),
    [
        ('""', "empty"),
        ("[]", "empty"),
        ('["a", "b"]', "`a,b`"),
        ("True", "1"),
        ("x / 2", "`x / 2`"),
    ],
)
def test_a_default_is_shown_as_it_would_be_written(default, expected):
    (row,) = settings_page.variables(f'#: Meaning.\nA = env.str("A", default={default})\n')

    assert row.default == expected


@for_each(
    ("source", "sentence"),
    [
        ('A = env.int("A", default=1)', "line 1: A has no meaning"),
        ('# Aside.\nA = env.int("A", default=1)', "line 2: A has no meaning"),
        ('#: Meaning.\n\nA = env.int("A", default=1)', "line 3: A has no meaning"),
        ('#: Meaning.\nA = env.int("A")', "line 2: expected env.TYPE"),
        ("#: Meaning.\nA = env.int(name, default=1)", "line 2: expected env.TYPE"),
    ],
)
def test_a_variable_that_is_not_explained_is_refused_with_its_place(source, sentence):
    with pytest.raises(settings_page.Unexplained, match=sentence):
        settings_page.variables(source)


def test_a_number_that_is_none_is_refused_by_name(fresh_settings):
    with pytest.raises(ImproperlyConfigured, match="ASSAY_SWEEP_SECONDS is 'often', expected a wh"):
        fresh_settings({"ASSAY_SWEEP_SECONDS": "often"})


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ASSAY_HTTPS", "ture", "0 or 1"),
        ("DEBUG", "never", "0 or 1"),
        ("ASSAY_NIGHTLY_HOUR", "24", "0 to 23"),
        ("ASSAY_NIGHTLY_HOUR", "-1", "0 to 23"),
        ("ASSAY_SWEEP_SECONDS", "0", "at least 1"),
        ("ASSAY_RESCORE_SECONDS", "0", "at least 1"),
        ("ASSAY_JOB_LEASE_SECONDS", "0", "at least 1"),
        ("ASSAY_TRUSTED_PROXIES", "-1", "at least 0"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(fresh_settings, name, value, expected):
    with pytest.raises(ImproperlyConfigured, match=f"{name} is '?{value}'?, expected {expected}"):
        fresh_settings({name: value})


@for_each(
    ("value", "meant"), [("", False), ("0", False), ("Off", False), ("1", True), ("True", True)]
)
def test_a_switch_is_on_or_off(fresh_settings, value, meant):
    assert fresh_settings({"ASSAY_HTTPS": value}).ASSAY_HTTPS is meant


@pytest.mark.parametrize(
    "name", ["ASSAY_DATA", "DATABASE_URL", "CACHE_URL", "EMAIL_URL", "ASSAY_NIGHTLY_HOUR"]
)
def test_an_empty_variable_is_as_one_that_is_not_set(fresh_settings, monkeypatch, name):
    monkeypatch.delenv(name, raising=False)
    names = {"DATA_DIR", "DATABASES", "CACHES", "EMAIL_BACKEND", "ASSAY_NIGHTLY_HOUR"}
    unset, empty = (vars(fresh_settings(each)) for each in ({}, {name: ""}))

    assert {key: empty[key] for key in names} == {key: unset[key] for key in names}


def test_a_value_may_stand_in_a_file(fresh_settings, tmp_path):
    (tmp_path / "key").write_text("of the file\n")

    assert fresh_settings({"SECRET_KEY_FILE": str(tmp_path / "key")}).SECRET_KEY == "of the file"


def test_a_file_that_is_not_there_is_refused_by_name(fresh_settings):
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL_FILE is '/none', which cannot be"):
        fresh_settings({"DATABASE_URL_FILE": "/none"})


@pytest.mark.parametrize("value", ["0", "1"])
def test_cursors_on_the_server_can_be_turned_off(fresh_settings, value):
    url = "postgres://assay@127.0.0.1/assay"

    settings = fresh_settings({"DATABASE_URL": url, "DISABLE_SERVER_SIDE_CURSORS": value})

    assert settings.DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] is (value == "1")
