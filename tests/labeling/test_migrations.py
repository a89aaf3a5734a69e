"""Squashed migrations make the same database, and take earlier ones as they are."""

import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from tests.replaced_migrations import replaced_migrations

pytestmark = pytest.mark.ci

SECOND_EDITION = [("labeling", "0029_campaign_texts"), ("evaluation", "0005_mistake_reviews")]
COLUMNS = """
SELECT table_name, column_name, data_type, character_maximum_length, column_default, is_nullable,
    is_identity, collation_name
FROM information_schema.columns WHERE table_schema = 'public'
"""
INDEXES = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'"
CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = 'public'::regnamespace
"""


def rows(query):
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


def schema():
    """Everything of the schema but the order of columns."""
    if connection.vendor == "postgresql":
        return [sorted(map(str, rows(query))) for query in (COLUMNS, INDEXES, CONSTRAINTS)]
    tables = rows("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return sorted((kind, name, definitions(sql)) for kind, name, sql in tables)


def definitions(sql):
    """Columns and constraints of a table, sorted."""
    if not sql.startswith("CREATE TABLE"):
        return [sql]
    return sorted(re.split(r', (?="|CONSTRAINT)', sql.removesuffix(")").partition("(")[2]))


def empty():
    """Remove everything from the database of this test."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    else:
        connection.close()
        Path(connection.settings_dict["NAME"]).unlink()


def applied():
    return set(MigrationRecorder(connection).applied_migrations())


def migrate():
    """Migrate as manage.py does, with its checks."""
    call_command("migrate", verbosity=0, skip_checks=False)


def test_a_new_site_gets_the_tables_that_other_tests_have(throwaway):
    expected = schema()
    empty()

    migrate()

    assert schema() == expected


def test_a_site_of_the_second_edition_gets_the_schema_of_a_new_site(throwaway):
    expected = schema()
    empty()
    with replaced_migrations():
        for label, name in SECOND_EDITION:
            call_command("migrate", label, name, verbosity=0)
        historical = MigrationLoader(connection).project_state(SECOND_EDITION).apps
    historical.get_model("labeling", "User").objects.create(username="Alice")

    migrate()

    assert schema() == expected
    assert rows("SELECT username_key FROM labeling_user") == [("alice",)]
    names = "SELECT model FROM django_content_type WHERE model IN ('assignment', 'seat')"
    assert rows(names) == [("seat",)]
    assert not {key for key in MigrationLoader(None).graph.nodes if key not in applied()}


def test_a_site_of_the_previous_version_stays_as_it_is(throwaway):
    recorded, before = MigrationRecorder.Migration.objects, applied()
    recorded.filter(name__contains="squashed").delete()

    migrate()

    assert applied() == before


def test_an_older_site_is_refused_with_the_version_to_pass_through(throwaway):
    recorded = MigrationRecorder.Migration.objects
    recorded.filter(app="labeling", name__contains="squashed").delete()
    recorded.filter(app="labeling", name__gte="0029").delete()
    before = applied()

    with pytest.raises(SystemCheckError, match=r"second edition \(commit afbc3f1d\) first"):
        migrate()

    assert applied() == before
