"""Which query found the image of a question, how far each class is, and what it is taken for."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0018_index_free_questions_by_topic")]

    operations = [
        migrations.AddField(
            model_name="topic",
            name="siblings",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AlterField(
            model_name="decision",
            name="kind",
            field=models.CharField(choices=[("state", "state changed"), ("policy", "policy changed"), ("member", "member changed"), ("gold", "gold changed"), ("review", "review verdict"), ("drop", "image replaced"), ("block", "person blocked"), ("unblock", "block lifted"), ("stage", "person trained, paused or let in"), ("graph", "question graph changed"), ("audit", "audit sample drawn"), ("quota", "quota changed"), ("vocabulary", "vocabulary changed"), ("class", "class stopped or resumed")], max_length=10),
        ),
        migrations.CreateModel(
            name="Verification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(choices=[("asking", "being asked"), ("stopped", "stopped")], default="asking", max_length=8)),
                ("reason", models.CharField(blank=True, choices=[("precision", "precision reached"), ("money", "money spent"), ("hand", "by hand")], default="", max_length=10)),
                ("waived", models.CharField(blank=True, choices=[("precision", "precision reached"), ("money", "money spent"), ("hand", "by hand")], default="", max_length=10)),
                ("withdrawn", models.JSONField(blank=True, default=list)),
                ("candidates", models.PositiveIntegerField(default=0)),
                ("asked", models.PositiveIntegerField(default=0)),
                ("open", models.PositiveIntegerField(default=0)),
                ("yes", models.PositiveIntegerField(default=0)),
                ("no", models.PositiveIntegerField(default=0)),
                ("answers", models.PositiveIntegerField(default=0)),
                ("cost", models.FloatField(default=0)),
                ("by_table", models.FloatField(null=True)),
                ("precision", models.FloatField(null=True)),
                ("low", models.FloatField(null=True)),
                ("high", models.FloatField(null=True)),
                ("audited", models.PositiveIntegerField(default=0)),
                ("wrong", models.PositiveIntegerField(default=0)),
                ("has_table", models.BooleanField(default=False)),
                ("looked_at", models.DateTimeField(null=True)),
                ("topic", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name="verification", to="labeling.topic")),
            ],
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("query", models.CharField(max_length=200)),
                ("question", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="candidates", to="labeling.question")),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("question", "query"), name="one_candidate_per_question_and_query")],
            },
        ),
    ]
