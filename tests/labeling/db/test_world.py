"""One of everything: its questions are counted as it is made, and by the migration."""

from importlib import import_module
from types import SimpleNamespace

from django.apps import apps
from django.db import connection

from labeling.db import question_counts
from labeling.models import Campaign, QuestionCount

MIGRATION = import_module("labeling.migrations.0010_count_questions")


def differences() -> dict[int, dict[str, int]]:
    pks = Campaign.objects.values_list("pk", flat=True)
    return {pk: diff for pk in pks if (diff := question_counts.differences(pk))}


def test_every_campaign_of_the_world_is_counted(world):
    assert Campaign.objects.count() > 2
    assert differences() == {}


def test_the_migration_counts_what_is_there_and_forgets_it(world):
    editor = SimpleNamespace(connection=connection)
    QuestionCount.objects.all().delete()

    MIGRATION.count(apps, editor)
    MIGRATION.count(apps, editor)

    assert differences() == {}
    assert question_counts.of_campaign(world.campaign.pk).questions
    MIGRATION.forget(apps, editor)
    assert not QuestionCount.objects.exists()
