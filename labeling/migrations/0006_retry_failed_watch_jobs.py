"""Watch jobs failed for good where somebody with a perfect record had failed gold since they were last watched."""

from django.db import migrations
from django.utils import timezone


def retry_failed(apps, schema_editor):
    """Queues failed watch jobs again, once for each person; the sweep sends them.

    Of several that failed for one person the latest is queued, and none where one waits already:
    the others are done with it.
    """
    Job = apps.get_model("labeling", "Job")
    failed = Job.objects.filter(kind="watch", state="failed")
    waiting = set(Job.objects.filter(kind="watch", state="queued").values_list("key", flat=True))
    latest = dict(failed.order_by("pk").values_list("key", "pk"))
    again = {"attempts": 0, "claim": "", "error": "", "finished_at": None}
    for key, pk in latest.items():
        if key not in waiting:
            now = timezone.now()
            Job.objects.filter(pk=pk).update(state="queued", leased_until=now, **again)
    failed.update(state="done", error="")


class Migration(migrations.Migration):
    dependencies = [("labeling", "0005_parts_vocabularies_drafts_and_quotas")]

    operations = [migrations.RunPython(retry_failed, migrations.RunPython.noop)]
