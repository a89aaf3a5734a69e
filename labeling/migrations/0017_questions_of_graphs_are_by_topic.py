"""Questions of graphs, until now the only ones that are handed out on pages of one topic."""

from django.db import migrations
from django.db.models import Max

BATCH = 20_000


def mark(apps, schema_editor):
    Question = apps.get_model("labeling", "Question")
    last = Question.objects.aggregate(at=Max("pk"))["at"] or 0
    for start in range(0, last + 1, BATCH):
        rows = Question.objects.filter(pk__gte=start, pk__lt=start + BATCH, graph__isnull=False)
        rows.filter(by_topic=False).update(by_topic=True)


class Migration(migrations.Migration):
    # A batch stands as soon as it is written: a failure loses one batch's work.
    atomic = False

    dependencies = [("labeling", "0016_question_by_topic")]

    operations = [migrations.RunPython(mark, migrations.RunPython.noop)]
