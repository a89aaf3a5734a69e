"""What the child process of a job says: last seen alive, exit status, last line."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0012_index_question_sample")]

    operations = [
        migrations.AddField(
            model_name="job",
            name="child_seen_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="job",
            name="exit_code",
            field=models.SmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="job",
            name="last_line",
            field=models.CharField(blank=True, default="", max_length=500),
        ),
    ]
