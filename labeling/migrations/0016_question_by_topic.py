"""Whether a question is handed out on pages of one topic, whatever made it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0015_question_step_and_content")]

    operations = [
        migrations.AddField(
            model_name="question",
            name="by_topic",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
