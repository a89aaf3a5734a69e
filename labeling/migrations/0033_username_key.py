"""Usernames are compared by a key, in NFKC and casefolded, on every database alike."""

import sys
import unicodedata
from collections import defaultdict

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

MAX_KEY = 450
BATCH = 1_000


def key_of(username: str) -> str:
    folded = unicodedata.normalize("NFKC", username).casefold()
    return unicodedata.normalize("NFKC", folded)[:MAX_KEY]


def set_keys(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Give each key to its oldest account; list the names that collide, which stay as they are."""
    users = apps.get_model("labeling", "User").objects
    names = defaultdict(list)
    first = []
    for user in users.order_by("pk").only("username").iterator(BATCH):
        user.username_key = key_of(user.username)
        if not names[user.username_key]:
            first.append(user)
        names[user.username_key].append(user.username)
    users.bulk_update(first, ["username_key"], BATCH)
    for alike in names.values():
        if len(alike) > 1:
            sys.stdout.write(
                f"\n  These usernames differ in case or form alone: {', '.join(map(repr, alike))}. "
                "Each logs in by its exact spelling; rename all but one in the administration."
            )


class Migration(migrations.Migration):
    dependencies = [("labeling", "0032_plan_graph_campaigns_again")]
    operations = [
        migrations.AlterModelManagers(name="user", managers=[]),
        migrations.AddField(
            model_name="user",
            name="username_key",
            field=models.CharField(editable=False, max_length=MAX_KEY, null=True, unique=True),
        ),
        migrations.RunPython(set_keys, migrations.RunPython.noop),
    ]
