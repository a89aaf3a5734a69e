"""Questions that follow one another: which step each is, and what it shows beside the image."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0014_job_waits_since")]

    operations = [
        migrations.AddField(
            model_name="question",
            name="step",
            field=models.CharField(blank=True, db_default="", default="", max_length=8),
        ),
        migrations.AddField(
            model_name="question",
            name="content",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="assignment",
            name="state",
            field=models.CharField(
                choices=[
                    ("leased", "leased"),
                    ("answered", "answered"),
                    ("returned", "returned"),
                    ("closed", "closed"),
                    ("barred", "barred"),
                ],
                default="leased",
                max_length=8,
            ),
        ),
    ]
