import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from labeling.json_text import canonical_sha256


def add_versions(apps, schema_editor):
    """Make the release of each benchmark its version 1, and each applied review a later one."""
    benchmarks = apps.get_model("evaluation", "Benchmark")
    reviews = apps.get_model("evaluation", "MistakeReview")
    versions = apps.get_model("evaluation", "TruthVersion")
    with_release = benchmarks.objects.exclude(release=None).select_related("release")
    for row in with_release.iterator():
        inputs = {"kind": row.kind, "release": row.release.sha256, "settings": row.settings}
        versions.objects.create(
            benchmark=row,
            number=1,
            release=row.release,
            sha256=canonical_sha256(inputs),
            made_at=row.created_at,
        )
    applied = reviews.objects.exclude(version=None).select_related("benchmark")
    for review in applied.order_by("benchmark", "version").iterator():
        versions.objects.create(
            benchmark=review.benchmark,
            number=review.version,
            release_id=review.benchmark.release_id,
            review=review,
            sha256=review.sha256,
            changed=review.result.get("counts", {}).get("changed", 0),
            made_at=review.applied_at or review.created_at,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("evaluation", "0006_release_splits"),
        ("labeling", "0036_gold_drawn_at_random"),
    ]

    operations = [
        migrations.AddField(
            model_name="benchmark",
            name="compared_with",
            field=models.CharField(blank=True, db_default="", max_length=40),
        ),
        migrations.AddField(
            model_name="benchmark",
            name="every",
            field=models.CharField(
                choices=[
                    ("night", "every night"),
                    ("week", "once a week"),
                    ("manual", "only on “Score now”"),
                ],
                db_default="night",
                default="night",
                max_length=8,
            ),
        ),
        migrations.AddField(
            model_name="benchmark",
            name="is_pinned",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="benchmark",
            name="min_images",
            field=models.PositiveIntegerField(db_default=50, default=50),
        ),
        migrations.AddField(
            model_name="submission",
            name="version",
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
        migrations.CreateModel(
            name="TruthVersion",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("added", models.PositiveIntegerField(default=0)),
                ("removed", models.PositiveIntegerField(default=0)),
                ("changed", models.PositiveIntegerField(default=0)),
                ("report", models.JSONField(default=dict)),
                ("made_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "benchmark",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="truth_versions",
                        to="evaluation.benchmark",
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="labeling.release",
                    ),
                ),
                (
                    "review",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="truth_version",
                        to="evaluation.mistakereview",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("benchmark", "number"),
                        name="one_truth_version_per_benchmark_and_number",
                    )
                ],
            },
        ),
        migrations.RunPython(add_versions, migrations.RunPython.noop),
    ]
