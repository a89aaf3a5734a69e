import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Existing gold was chosen by hand and has no draw; existing audits make no gold."""

    dependencies = [
        ('labeling', '0035_rename_assignment_to_seat'),
    ]

    operations = [
        migrations.AddField(
            model_name='audit',
            name='for_gold',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='campaign',
            name='nightly_audit',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='gold',
            name='draw',
            field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='gold', to='labeling.audit'),
        ),
        migrations.AlterField(
            model_name='audit',
            name='settlement',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='labeling.settlement'),
        ),
    ]
