"""What lists, counters of subjects and watching read, so that none reads all of a campaign or person."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0010_count_questions")]

    operations = [
        migrations.RemoveIndex(model_name="question", name="question_by_state"),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(fields=["campaign", "state", "id"], name="question_by_state_and_id"),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("subject__isnull", False)),
                fields=["campaign", "subject"],
                name="question_about_subject",
            ),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("ordinal__isnull", False)),
                fields=["annotator", "ordinal"],
                name="assignment_by_ordinal",
            ),
        ),
    ]
