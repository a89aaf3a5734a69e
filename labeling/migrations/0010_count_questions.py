"""The counters of the questions that are there, a campaign at a time."""

from django.db import migrations

ASKED = "('open', 'settled', 'dropped', 'review')"
COUNT = f"""
INSERT INTO labeling_questioncount
    (campaign_id, open, settled, dropped, review, withdrawn, gold, free, seats_free, repeated,
    images)
SELECT campaign_id, COUNT(CASE WHEN state = 'open' THEN 1 END),
    COUNT(CASE WHEN state = 'settled' THEN 1 END), COUNT(CASE WHEN state = 'dropped' THEN 1 END),
    COUNT(CASE WHEN state = 'review' THEN 1 END), COUNT(CASE WHEN state = 'withdrawn' THEN 1 END),
    COUNT(CASE WHEN state = 'gold' THEN 1 END),
    COUNT(CASE WHEN state = 'open' AND seats_free > 0 THEN 1 END),
    COALESCE(SUM(CASE WHEN state = 'open' THEN seats_free END), 0),
    COUNT(CASE WHEN state IN {ASKED} THEN subject END)
    - COUNT(DISTINCT CASE WHEN state IN {ASKED} THEN subject END),
    COUNT(DISTINCT CASE WHEN graph_id IS NOT NULL AND state <> 'gold' THEN item_id END)
FROM labeling_question WHERE campaign_id = %s GROUP BY campaign_id
"""


def count(apps, schema_editor):
    QuestionCount = apps.get_model("labeling", "QuestionCount")
    for campaign in apps.get_model("labeling", "Campaign").objects.order_by("pk"):
        # Counted again where an earlier try left something.
        QuestionCount.objects.filter(campaign=campaign).delete()
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(COUNT, [campaign.pk])


def forget(apps, schema_editor):
    apps.get_model("labeling", "QuestionCount").objects.all().delete()


class Migration(migrations.Migration):
    # A campaign's counters stand as soon as they are written: a failure loses one campaign's work.
    atomic = False

    dependencies = [("labeling", "0009_question_counts")]

    operations = [migrations.RunPython(count, forget)]
