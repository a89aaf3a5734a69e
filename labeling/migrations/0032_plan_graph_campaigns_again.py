"""Plan the images of open question-graph campaigns again: labels given while a campaign was open
withdrew the questions of sibling classes unasked."""

from django.db import migrations
from django.utils import timezone


def plan_again(apps, schema_editor):
    """Queue the job "look again" for each, once; the sweep sends it."""
    Campaign, Job = apps.get_model("labeling", "Campaign"), apps.get_model("labeling", "Job")
    by_graph = Campaign.objects.filter(graph__isnull=False).exclude(state="closed")
    for pk in by_graph.order_by("pk").values_list("pk", flat=True):
        Job.objects.get_or_create(
            kind="look again",
            key=str(pk),
            state="queued",
            defaults={"campaign_id": pk, "leased_until": timezone.now()},
        )


class Migration(migrations.Migration):
    dependencies = [("labeling", "0031_replaced_releases")]

    operations = [migrations.RunPython(plan_again, migrations.RunPython.noop)]
