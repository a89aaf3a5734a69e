"""Counters of each campaign's questions by state, so that no page counts rows."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0008_shared_cache_table")]

    operations = [
        migrations.CreateModel(
            name="QuestionCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("open", models.BigIntegerField(default=0)),
                ("settled", models.BigIntegerField(default=0)),
                ("dropped", models.BigIntegerField(default=0)),
                ("review", models.BigIntegerField(default=0)),
                ("withdrawn", models.BigIntegerField(default=0)),
                ("gold", models.BigIntegerField(default=0)),
                ("free", models.BigIntegerField(default=0)),
                ("seats_free", models.BigIntegerField(default=0)),
                ("repeated", models.BigIntegerField(default=0)),
                ("images", models.BigIntegerField(default=0)),
                ("campaign", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="question_counts", to="labeling.campaign")),
            ],
        ),
    ]
