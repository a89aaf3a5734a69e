from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0007_truth_versions")]
    operations = [
        migrations.AddField(
            "Submission",
            "missing_frames",
            models.PositiveIntegerField(db_default=0, default=0),
        ),
    ]
