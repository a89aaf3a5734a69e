"""The index of pages of one topic holds the questions that are by topic, with a graph or without."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("labeling", "0017_questions_of_graphs_are_by_topic")]

    operations = [
        migrations.RemoveIndex(model_name="question", name="question_free_by_topic"),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("by_topic", True), ("seats_free__gt", 0)),
                fields=["campaign", "lane", "topic", "ticket"],
                name="question_free_by_topic",
            ),
        ),
    ]
