"""Databases that tests may fill, race for and throw away, on SQLite and on PostgreSQL."""

import os
import shutil
import sqlite3
import uuid
from contextlib import closing, contextmanager

import environ
import pytest
from django.db import connections

from tests import tables
from tests.conftest import skip_or_fail
from tests.labeling import part_files
from tests.labeling.crowd import people

POSTGRES = os.environ.get("ASSAY_TEST_POSTGRES", "postgres://postgres@127.0.0.1:5432/postgres")


def _postgres():
    psycopg = pytest.importorskip("psycopg")
    try:
        return psycopg.connect(POSTGRES, autocommit=True, connect_timeout=3)
    except psycopg.OperationalError as error:
        return skip_or_fail(f"no PostgreSQL server at {POSTGRES}: {error}".strip())


def _point_to(url: str) -> None:
    """Makes this process use the database, as annotator/settings.py would."""
    config = environ.Env.db_url_config(url)
    if url.startswith("sqlite"):
        config["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
        }
    connections.settings["default"] = {**connections.settings["default"], "OPTIONS": {}, **config}
    del connections["default"]


@contextmanager
def _away_from_the_test_database(blocker):
    original, kept = connections.settings["default"], connections["default"]
    with blocker.unblock():
        try:
            yield
        finally:
            connections["default"].close()
            connections.settings["default"] = original
            connections["default"] = kept


def _make_tables(url, blocker):
    with _away_from_the_test_database(blocker):
        _point_to(url)
        tables.make()


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory, django_db_blocker):
    """The path of an SQLite database with all tables and no rows."""
    path = tmp_path_factory.mktemp("template") / "template.sqlite3"
    _make_tables(f"sqlite:///{path}", django_db_blocker)
    with closing(sqlite3.connect(path)) as made:
        made.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture(
    scope="session", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def template(request, sqlite_tables, django_db_blocker):
    """The name of an empty database with all tables, of which every test gets a copy."""
    if request.param == "sqlite":
        yield str(sqlite_tables)
        return
    name = f"assay_template_{uuid.uuid4().hex[:12]}"
    with _postgres() as server:
        server.execute(f'CREATE DATABASE "{name}"')
    _make_tables(f"{POSTGRES.rsplit('/', 1)[0]}/{name}", django_db_blocker)
    yield name
    with _postgres() as server:
        server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def throwaway(template, tmp_path, django_db_blocker):
    """The DATABASE_URL of a database of this test alone, also used in this process."""
    postgres = template.startswith("assay_template_")
    name = f"assay_hammer_{uuid.uuid4().hex[:12]}"
    if postgres:
        url = f"{POSTGRES.rsplit('/', 1)[0]}/{name}"
        with _postgres() as server:
            server.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
    else:
        url = f"sqlite:///{shutil.copy(template, tmp_path / 'hammer.sqlite3')}"
    with _away_from_the_test_database(django_db_blocker):
        _point_to(url)
        yield url
    if postgres:
        with _postgres() as server:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def crowd(coots, bob):
    """Nine people who label the six questions of `coots`."""
    return [bob, *people(coots, 8, "p")]


@pytest.fixture
def meadow(alice):
    return part_files.meadow(alice)


@pytest.fixture
def candidate_glossary(settings):
    """The site's glossary is that of tests/labeling/candidates.py."""
    settings.ASSAY_GLOSSARY = "tests.labeling.candidates.glossary"
