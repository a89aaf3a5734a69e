from django.db import migrations
from django.db.models import F

BATCH = 1_000


def mark_reviewed(apps, schema_editor):
    """Settlements that reviewers made before the column was there, by their Decisions."""
    Decision = apps.get_model("labeling", "Decision")
    Settlement = apps.get_model("labeling", "Settlement")
    verdicts = Decision.objects.filter(kind="review").order_by("pk")
    for content in verdicts.values_list("content", flat=True).iterator(BATCH):
        latest = Settlement.objects.filter(question_id=content.get("question")).order_by("-pk")
        pk = latest.values_list("pk", flat=True).first()
        if pk is not None:
            Settlement.objects.filter(pk=pk).update(reviewed=True)


def count_gold_from_joining(apps, schema_editor):
    """Gold answered before there was training counts, as it did."""
    apps.get_model("labeling", "Membership").objects.update(working_since=F("joined_at"))


class Migration(migrations.Migration):
    dependencies = [("labeling", "0002_quality_and_question_graphs")]

    operations = [
        migrations.RunPython(mark_reviewed, migrations.RunPython.noop),
        migrations.RunPython(count_gold_from_joining, migrations.RunPython.noop),
    ]
