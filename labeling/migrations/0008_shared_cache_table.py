"""The table of the shared cache, which counts logins that failed for all processes together."""

from django.core.management import call_command
from django.db import migrations

TABLE = "assay_cache"


def create_table(apps, schema_editor):
    call_command(
        "createcachetable", TABLE, database=schema_editor.connection.alias, verbosity=0
    )


def drop_table(apps, schema_editor):
    schema_editor.execute(f"DROP TABLE {schema_editor.quote_name(TABLE)}")


class Migration(migrations.Migration):
    dependencies = [("labeling", "0007_name_the_right_to_open_campaigns")]

    operations = [migrations.RunPython(create_table, drop_table)]
