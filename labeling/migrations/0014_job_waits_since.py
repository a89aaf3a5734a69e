"""Since when a job waits for its object store, so that it does not wait for ever."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0013_job_child_process")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="waits_since",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
