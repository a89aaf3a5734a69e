"""Whether an object's row had a box; of objects that are there, by size and what is given of them."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

BATCH = 2_000


def mark_whole_images(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Mark objects as large as their image of which neither a part nor an outline is given."""
    items = apps.get_model("labeling", "Item").objects.filter(region__isnull=False)
    plain = items.exclude(given_labels__geometry__isnull=False).select_related("image")
    whole = []
    for item in plain.only("region", "image__width", "image__height").iterator(BATCH):
        if item.region == [0, 0, item.image.width, item.image.height]:
            whole.append(item.pk)
    for start in range(0, len(whole), BATCH):
        items.filter(pk__in=whole[start : start + BATCH]).update(is_boxed=False)


class Migration(migrations.Migration):
    dependencies = [("labeling", "0029_campaign_texts")]
    operations = [
        migrations.AddField(
            model_name="item",
            name="is_boxed",
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.RunPython(mark_whole_images, migrations.RunPython.noop),
    ]
