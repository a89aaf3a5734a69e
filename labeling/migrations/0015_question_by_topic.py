"""Whether a question is handed out on pages of one topic, whatever made it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0014_job_waits_since")]

    operations = [
        migrations.AddField(
            model_name="question",
            name="by_topic",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
